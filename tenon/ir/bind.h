// bind_op: the only way an op is applied, by users, rules, transformations and importers alike.
#pragma once

#include "tenon/ir/scope.h"

namespace tenon {

// No trace on this thread: run now, through the executor. Else type-check, append an eqn to the top scope (also when no
// operand is traced), and return handles of that scope.
Arrays bind_op(const OpInfo& op, const Params& params, std::span<const Array> operands);
Arrays bind_op(const OpInfo& op, const Params& params, std::initializer_list<Array> operands);
Array bind1(const OpInfo& op, const Params& params, std::initializer_list<Array> operands);
// Asks when it runs whether two sizes are equal; `asked` says who needs it (require_equal, literal.h).
void require_equal(const Dim& a, const Dim& b, std::string asked);

// What runs Programs and single ops; `api` installs the compiler, tests may install the reference evaluator.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                                 std::span<const Value> inputs) = 0;
  virtual std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) = 0;
};
Executor& executor();                        // throws RuntimeError when none is installed
Executor* install_executor(Executor* next);  // returns the one before; not owned

// The types of an op's results for operands of these types, with all errors it may raise; new sizes are numbered fresh.
std::vector<Type> result_types(const OpInfo& op, const Params& params, std::span<const Type> in);

std::vector<Type> types_of(std::span<const Array> arrays);
Arrays joined(std::initializer_list<std::span<const Array>> parts);

// A one-eqn Program of an op.
ProgramRef program_of(const OpInfo& op, const Params& params, std::span<const Type> in);

}  // namespace tenon
