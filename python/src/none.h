// None is an argument like any other of functions that take any object.
#pragma once

#include <nanobind/nanobind.h>

namespace nanobind::detail {

template <>
struct has_arg_defaults<handle> : std::true_type {};
template <>
struct has_arg_defaults<object> : std::true_type {};

}  // namespace nanobind::detail
