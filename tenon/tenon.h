// Tenon: composable transformations of array programs. The only header a user includes.
#pragma once

#include "tenon/api/data.h"
#include "tenon/api/jit.h"
#include "tenon/api/loops.h"
#include "tenon/api/transforms.h"
#include "tenon/ir/print.h"
#include "tenon/ops/activations.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/dot.h"
#include "tenon/ops/index.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/random.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/statistics.h"
#include "tenon/version.h"
