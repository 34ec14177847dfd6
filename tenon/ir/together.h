// Functions of several ops that run as one Program where nothing is traced.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/ir/array.h"

namespace tenon {

// f(x). Where nothing is traced on this thread and x is large, its ops run as one Program, so that what is between them
// is not stored.
Array bind_together(const Array& x, FunctionRef<Array(const Array&)> f);

}  // namespace tenon
