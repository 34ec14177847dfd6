// Which operations there are of operands of which dtypes.
#pragma once

#include <string_view>

#include "tenon/kernel/expr.h"

namespace tenon::kernel {

// What is wrong with an operation on operands of these dtypes, whatever it stands in; empty where nothing is.
std::string_view wrong_operation(const Expr::Node& node);

}  // namespace tenon::kernel
