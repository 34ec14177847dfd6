// Executable: a compiled Program; and the Executor that everything runs through.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/ir/bind.h"

namespace tenon {

// Immutable and shared between threads.
class Executable {
 public:
  virtual ~Executable() = default;
  // Inputs have the Program's types; they are read, never written.
  virtual std::vector<Value> run(std::span<const Value> inputs) const = 0;
};

// Compiles a Program whose sizes are all known, or finds what was compiled before under the same structural hash.
// Programs (or parts of them) that have no native form run by the reference evaluator; why_not() says so.
std::shared_ptr<const Executable> compile(const ProgramRef& program);

// Compiles everything it is given, and keeps it.
class CompilingExecutor final : public Executor {
 public:
  std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                         std::span<const Value> inputs) override;
  std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override;
};

}  // namespace tenon
