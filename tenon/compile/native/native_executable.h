// Executables of native code, from parts that may come from a file as well as from the code generator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/compile/executable.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/compile/units.h"
#include "tenon/kernel/function.h"

namespace tenon {

// All that is known of a compiled Program, nothing of it of this process.
struct NativeParts {
  CodeImage code;
  // Of sizes that vary, with the Program's size parameters as variables 0, 1, …: the code runs where they are at least
  // that.
  std::uint64_t sizes = 0;
  std::vector<CallSizes::AtLeast> limits;
  Dim arena_bytes = 0;
  std::string largest;                             // intermediate value, for the error where memory lacks
  bool makes_lists = false;                        // or reads some
  std::vector<std::optional<std::size_t>> shared;  // NativeForm::shared
  std::vector<Type> inputs;
  // Sizes of outputs that are found as the code runs: as many, numbered behind the Program's size parameters. The code
  // writes them to the array whose address stands behind those of the outputs. The memory of an output has so many
  // elements, the most that there may be; or `given` says that the code finds it, and gives it (FoundMemory).
  std::uint64_t found = 0;
  std::vector<Type> outputs;
  std::vector<Dim> rooms;
  std::vector<std::uint8_t> given;
  bool finds_memory = false;
  std::vector<Hash128> units;  // the keys of those that it calls
};
// Generates the code.
NativeParts native_parts(const Program& program, const kernel::Function& function,
                         std::vector<std::optional<std::size_t>> shared, std::vector<Hash128> units,
                         std::span<const SizeVar> found = {});

// What runs sizes that are out of the limits of the code: that compiled for these sizes.
using OfOtherSizes = std::function<std::shared_ptr<const Executable>(std::span<const std::int64_t> sizes)>;

// What runs where the code has found sizes that do not go with each other: it tells what was wrong.
using ByEvaluator =
    std::function<std::vector<Value>(std::span<const Value> inputs, std::span<const std::int64_t> sizes)>;

// Finds the user's line that asked for the largest intermediate value, for the error where memory lacks: that of the
// statement which writes it, or, of code that was kept, of the first eqn of the Program (not of a region) that makes
// as many elements of that dtype.
using LineOfLargest = std::function<Source()>;
LineOfLargest line_of_largest(const kernel::Function& function);
LineOfLargest line_of_largest(const NativeParts& parts, const std::shared_ptr<const Program>& program);

// `objects` are those of the Function, of which `units` are some.
std::shared_ptr<const Executable> native_executable(const NativeParts& parts, Units units,
                                                    std::span<const void* const> objects, OfOtherSizes of_other_sizes,
                                                    ByEvaluator by_evaluator, LineOfLargest line_of_largest);

// As bytes, and back; nothing where they are no parts. The types of lists are not among them: `types_of`, where there
// is one, has those of the operands.
std::string to_bytes(const NativeParts& parts);
std::optional<NativeParts> from_bytes(std::string_view bytes, const Program* types_of);

}  // namespace tenon
