// Executable: a compiled Program; and the Executor that everything runs through.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenon/ir/bind.h"
#include "tenon/runtime/units.h"

namespace tenon {

// How the native code of a Program is called: with the addresses of contiguous arrays, inputs then outputs.
class NativeForm {
 public:
  struct Operand {
    DType dtype;
    std::vector<std::int64_t> dims;
    bool operator==(const Operand&) const = default;
  };
  virtual ~NativeForm() = default;
  // Allocates nothing that outlives it; small programs allocate nothing at all. Takes no lock. Throws MemoryError,
  // CancelledError.
  virtual void call(void* const* addresses) const = 0;

  std::vector<Operand> inputs, outputs;
  // The donated input in whose memory an output is computed: both addresses are the same then, and what the input held
  // is lost. No entry where an output has memory of its own.
  std::vector<std::optional<std::size_t>> shared;
};

// Immutable and shared between threads.
class Executable {
 public:
  virtual ~Executable() = default;
  // Inputs have the Program's types; they are read, never written.
  virtual std::vector<Value> run(std::span<const Value> inputs) const = 0;
  virtual const NativeForm* native() const { return nullptr; }
  // As native code of another calls it, if it is native and has no lists.
  virtual const Unit* unit() const { return nullptr; }
};

// Compiles a Program whose sizes are all known, or finds what was compiled before under the same structural hash, by
// whomever: one compilation a key at a time, others wait for it. Programs that have no native form run by the reference
// evaluator. The memory of inputs in `donated` may be reused for outputs (NativeForm::shared).
std::shared_ptr<const Executable> compile(const ProgramRef& program, const std::vector<bool>& donated = {});

// Compiles everything it is given, and keeps it.
class CompilingExecutor final : public Executor {
 public:
  std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                         std::span<const Value> inputs) override;
  std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override;
};

}  // namespace tenon
