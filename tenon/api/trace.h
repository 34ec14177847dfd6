// From a C++ function to a Program, and from Programs to derivatives: the part that knows no trees.
#pragma once

#include <functional>

#include "tenon/ir/bind.h"

namespace tenon {

// Whether a trace is open on this thread: only then is there anything to differentiate or batch.
bool tracing();

using FlatFunction = std::function<Arrays(std::span<const Array>)>;

// A function traced at given arguments. `captures` are arrays from outside that it read; they are inputs behind the
// others.
struct TracedFunction {
  ProgramRef program;
  Arrays captures;
  std::vector<Dim> sizes;
  std::size_t arguments = 0;
  std::vector<bool> weak;  // of the outputs
};

// Inputs have the arguments' types. With known_values, x.item() and host effects may look at concrete arguments.
TracedFunction trace_flat(const FlatFunction& f, std::span<const Array> arguments, bool known_values = false);

TracedFunction trace_types(const FlatFunction& f, std::span<const Type> types, const std::vector<bool>& weak);

// Runs (or, inside a trace, binds a call of) a traced function.
Arrays apply(const TracedFunction& f, std::span<const Array> arguments);

// A Program on handles or values: a call where a trace is open, else it runs.
Arrays run_or_call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands);

namespace api_detail {

// Whether derivatives may look at values: nothing is traced, and every argument is there.
bool all_concrete(std::span<const Array> arrays);
// A path in the tuple of arguments, as "<1>.w", as users speak of it: "argument 1, leaf .w".
std::string argument_name(const std::string& path);
// A tangent or cotangent that a user gives for something of a type: nothing is zero, and a number takes the dtype.
// Throws ShapeError or DTypeError that names it.
Array fitted(const Array& given, const Type& wanted, std::string_view op, const std::function<std::string()>& what);

}  // namespace api_detail
}  // namespace tenon
