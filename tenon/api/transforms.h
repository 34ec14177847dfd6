// The transformations of functions on trees, in any order and nesting; each in a room of its own.
#pragma once

#include "tenon/api/custom.h"
#include "tenon/api/grad.h"
#include "tenon/api/jacobian.h"
#include "tenon/api/placement.h"
#include "tenon/api/residuals.h"
#include "tenon/api/tangents.h"
#include "tenon/api/vmap.h"
