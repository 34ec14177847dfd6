// Sizes that vary from call to call of a jitted function: which axes of its arguments are variables of what is traced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/api/trace.h"
#include "tenon/base/fork.h"
#include "tenon/base/generations.h"

namespace tenon {

enum class Sizes : std::uint8_t {
  // The first call is traced for its sizes. Axes in which a later one differs are variables from then on: what is
  // traced
  // then is for all their sizes. Where that fails, since the function has to know a size, it is traced for each again.
  automatic,
  fixed,     // it is traced for each size
  symbolic,  // all axes but random keys' are variables from the first call on; where that fails, its error is thrown
};

// Names for sizes of one argument, counted from 0, an axis each; those named the same are one size, in all arguments.
// Axes that are named "", or not at all, are as JitOptions::sizes says. Leaves of fewer axes have no names.
struct NamedSizes {
  std::size_t argument;
  std::vector<std::string> axes;
};

namespace api_detail {

// TENON_SIZES=symbolic, by which tests reach what only calls of several sizes do: where sizes are automatic, all axes
// are variables from the first call on.
bool sizes_are_symbolic();

// An axis of a leaf of the arguments.
struct SizedAxis {
  std::uint32_t leaf, axis;
  bool operator==(const SizedAxis&) const = default;
};

// The variables of one specialisation: of each, the axes that have that size. Sizes of 0 and 1 make other programs: a
// variable is at least 2.
struct SizeVariables {
  std::vector<std::vector<SizedAxis>> axes;
  bool distinct = false;  // two variables are never equal: where they are, it is another specialisation

  bool empty() const { return axes.empty(); }
  bool operator==(const SizeVariables&) const = default;
  std::optional<std::uint32_t> variable(SizedAxis of) const;
  // Of leaves, their types with variables in these places, numbered from 0.
  Type type(const Array& leaf, std::uint32_t number, std::span<const Dim> sizes) const;
  // Whether sizes of leaves are of this form, which are known to be of the others' types.
  bool agree(const Array* const* leaves) const;
};

// The axes of which the user has named the sizes, one group a name.
struct SizeNames {
  struct Group {
    std::string name;
    std::vector<SizedAxis> axes;
  };
  std::vector<Group> groups;
  // Throws ShapeError where an argument that is an array has fewer axes than names.
  static SizeNames of(const std::vector<NamedSizes>& named, std::span<const std::size_t> leaves_of_arguments,
                      std::span<const Array> leaves);
  // Throws ShapeError where axes of one name have other sizes in these leaves; `leaf_names` tells their names.
  void require_agreement(std::span<const Array> leaves, FunctionRef<std::vector<std::string>()> leaf_names) const;
};

// A hash of the types of leaves that is the same whatever the sizes are, as long as they are at least 2.
void hash_form(const Array& leaf, Hasher& hasher);

// What is known of the sizes that one function was called with, for each form of its arguments. Thread-safe.
class SizeHistory {
 public:
  // Of a call that needs a trace: which axes shall be variables in it.
  SizeVariables variables(Sizes sizes, std::uint64_t form, std::span<const Array> leaves, const SizeNames& names);
  // A trace needed the numbers of these.
  void fix(std::uint64_t form, const SizeVariables& variables);

 private:
  struct Form {
    struct Axis {
      std::int64_t size;
      bool varies = false, fixed = false;
    };
    std::vector<std::vector<Axis>> leaves;
  };
  static bool fits(const Form& form, std::span<const Array> leaves);
  ForkMutex mutex_;
  Generations<std::uint64_t, Form> forms_{256};
};

// How a call is traced that needs a trace.
struct SizedTrace {
  Sizes sizes = Sizes::fixed;
  SizeHistory* history = nullptr;
  std::uint64_t form = 0;
  const SizeNames* names = nullptr;
  std::string_view function;                       // its name, for the log
  FunctionRef<std::vector<std::string>()> leaves;  // their names
  // What an exception says that is being handled; nothing where it ends the call.
  FunctionRef<std::optional<std::string>(const std::exception&)> why;
};
// Traced to be called often, for all values of the variables that it finds; see trace_for_calls().
TracedFunction trace_for_sizes(FlatFunction f, std::span<const Array> arguments, const SizedTrace& how,
                               SizeVariables& variables, std::optional<TracedFor>& what_for, std::string_view name);

}  // namespace api_detail
}  // namespace tenon
