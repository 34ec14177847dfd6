// From a C++ function to a Program, and from Programs to derivatives: the part that knows no trees.
#pragma once

#include <functional>

#include "tenon/api/ref_cells.h"
#include "tenon/base/function_ref.h"
#include "tenon/ir/bind.h"
#include "tenon/rewrite/rule.h"

namespace tenon {

// Whether a trace is open on this thread: only then is there anything to differentiate or batch.
bool tracing();

using FlatFunction = FunctionRef<Arrays(std::span<const Array>)>;
using KeptFlatFunction = std::function<Arrays(std::span<const Array>)>;  // that outlives the call it is given to

// A function traced at given arguments. `captures` are arrays from outside that it read; they are inputs behind the
// others.
struct TracedFunction {
  ProgramRef program;
  Arrays captures;
  std::vector<Dim> sizes;
  std::size_t arguments = 0;
  std::vector<bool> weak;        // of the outputs
  std::vector<TakesPart> parts;  // of the outputs, where inputs and captures take part as they did when it was traced
  // Mutable references from outside: the first captures, in order. What was written to them last are the last outputs.
  std::vector<api_detail::RefUse> refs;
  Placement placement = Placement::priced;  // of its calls
  std::vector<Applied> applied = {};        // rules of the user's, of a jitted function

  std::vector<api_detail::CellRef> written() const;
  std::size_t results() const;             // outputs of the function itself
  std::vector<Type> output_types() const;  // in the sizes of the trace that it is in
};

// Where mutable references from outside may be written; else by whom that is refused.
inline constexpr std::string_view writes_refs;

// For which transformations a function is traced, and in which of them each input takes part. It decides which rules of
// the user's are traced.
struct TracedFor {
  Ahead ahead;
  std::vector<TakesPart> inputs;
  // Of a function that is called where the caller is: as its arguments.
  static TracedFor call(std::span<const Array> arguments);
  // One derivative more than there, in the arguments of the mask; or one batch more, of so many lanes.
  static TracedFor derivative(std::span<const Array> arguments, const std::vector<bool>& mask);
  static TracedFor lanes(std::span<const Array> arguments, const std::vector<bool>& mask, const Dim& size);
  bool operator==(const TracedFor&) const = default;
};
// How often what is traced on this thread has asked what it is traced for, or was found traced for that.
std::uint64_t& asked_what_for();

// Inputs have the arguments' types. With known_values, x.item() may look at those arguments whose values are known.
TracedFunction trace_flat(FlatFunction f, std::span<const Array> arguments, std::string_view refs_refused_by,
                          bool known_values = false, const std::optional<TracedFor>& what_for = {},
                          std::string_view name = {});

// An input takes part in everything, if it is not said otherwise.
TracedFunction trace_types(FlatFunction f, std::span<const Type> types, const std::vector<bool>& weak,
                           std::string_view refs_refused_by, const std::optional<TracedFor>& what_for = {});

// The same where values of some inputs are known: value(i) is asked for when it is looked at.
struct InputOf {
  Type type;
  bool weak = false;
  std::function<Value()> value = {};  // empty: not known
};
TracedFunction trace_inputs(FlatFunction f, std::span<const InputOf> inputs, std::string_view refs_refused_by,
                            const std::optional<TracedFor>& what_for, std::string_view name = {});

// Results, weakly typed where the flags say so; those that are not there stay away.
Arrays weakly_typed(Arrays results, const std::vector<bool>& weak);
std::vector<bool> weak_flags_of(std::span<const Array> arrays);

// What a traced function gives, of what its Program gave: weakly typed as it says, what it wrote to references written.
Arrays with_writes_done(const TracedFunction& f, Arrays results);

// Runs (or, inside a trace, binds a call of) a traced function.
Arrays apply(const TracedFunction& f, std::span<const Array> arguments);
// The function with references, used or not, as arguments behind its first `at`, and their values at its end as outputs
// behind its first `out`, where that is given. The references' types are those that they have here.
TracedFunction with_refs_as_arguments(const TracedFunction& f, std::span<const api_detail::CellRef> cells,
                                      std::size_t at, std::optional<std::size_t> out);

// A Program on handles or values: a call where a trace is open, else it runs.
Arrays run_or_call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands,
                   Placement placement = Placement::priced);

namespace api_detail {

// Whether values may be looked at here: nothing is traced, or what traces knows them.
bool knows_values();
// A path in the tuple of arguments, as "<1>.w", as users speak of it: "argument 1, leaf .w".
std::string argument_name(const std::string& path);
// A tangent or cotangent that a user gives for something of a type: nothing is zero, and a number takes the dtype.
// Throws ShapeError or DTypeError that names it.
Array fitted(const Array& given, const Type& wanted, std::string_view op, FunctionRef<std::string()> what);

}  // namespace api_detail
}  // namespace tenon
