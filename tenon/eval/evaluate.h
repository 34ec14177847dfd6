// The reference evaluator: a Program on values, eqn by eqn, through the ops' eval slots. Simple, and independent of
// every compiler: the oracle.
#pragma once

#include "tenon/ir/bind.h"

namespace tenon {

// Throws ShapeError where inputs do not have the Program's types, and what the ops throw.
std::vector<Value> evaluate(const Program& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs);

// The same, where `nested` runs the Programs that eqns hold.
using RunNested = FunctionRef<std::vector<Value>(const Program& program, std::span<const std::int64_t> sizes,
                                                 std::span<const Value> inputs)>;
std::vector<Value> evaluate(const Program& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs,
                            RunNested nested);

// The same by another executor, op by op; what holds Programs itself is still evaluated. `seen` is told of each eqn
// when it has run, with the values of its operands and its results, of those in regions and calls before the eqn that
// has them.
using EqnSeen = FunctionRef<void(const Eqn& eqn, std::span<const Value> operands, std::span<const Value> results)>;
std::vector<Value> evaluate(const Program& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs,
                            Executor& by, EqnSeen seen);

// Runs everything by the reference evaluator.
class ReferenceExecutor final : public Executor {
 public:
  std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                         std::span<const Value> inputs) override;
  std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override;
};

}  // namespace tenon
