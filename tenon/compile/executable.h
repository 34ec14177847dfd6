// Executable: a compiled Program; and the Executor that everything runs through.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/bind.h"
#include "tenon/runtime/units.h"

namespace tenon {

struct Compilation;  // tenon/compile/compilation.h

// What a call of code for all sizes works out of its sizes: the bytes of its arena, then of each output its sizes, one
// behind the other.
class CallValues {
 public:
  std::int64_t* room(std::size_t count) {
    if (count <= few_.size()) return few_.data();
    many_.resize(count);
    return many_.data();
  }
  const std::int64_t* begin() const { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<std::int64_t, 32> few_;
  std::vector<std::int64_t> many_;
};

// How the native code of a Program is called: with the addresses of contiguous arrays, inputs then outputs, and the
// sizes that its size parameters stand for.
class NativeForm {
 public:
  struct Operand {
    DType dtype;
    std::vector<Dim> dims;  // of size variables numbered as the Program's size parameters: 0, 1, …
    bool operator==(const Operand&) const = default;
  };
  virtual ~NativeForm() = default;
  // Allocates nothing that outlives it; small programs allocate nothing at all. Takes no lock. Throws MemoryError,
  // CancelledError; ShapeError where a size that it computes from the given ones is none.
  virtual void call(void* const* addresses, std::span<const std::int64_t> sizes = {}) const = 0;

  // The same in two steps, where there are size parameters: in between there is memory to be had for outputs. False
  // where the code is not for these sizes: call() finds out what is to be done.
  virtual bool work_out(std::span<const std::int64_t> sizes, CallValues& values) const = 0;
  // The word behind the addresses is written.
  virtual void call(void** addresses, std::span<const std::int64_t> sizes, const CallValues& values) const = 0;

  std::size_t sizes = 0;  // how many size parameters there are
  std::vector<Operand> inputs, outputs;
  // The donated input in whose memory an output is computed: both addresses are the same then, and what the input held
  // is lost. No entry where an output has memory of its own.
  std::vector<std::optional<std::size_t>> shared;
};

// Immutable and shared between threads.
class Executable {
 public:
  virtual ~Executable() = default;
  // Inputs have the Program's types, with `sizes` for its size parameters; they are read, never written.
  virtual std::vector<Value> run(std::span<const Value> inputs, std::span<const std::int64_t> sizes = {}) const = 0;
  virtual const NativeForm* native() const { return nullptr; }
  // As native code of another calls it, if it is native and has no lists.
  virtual const Unit* unit() const { return nullptr; }
};

// Compiles a Program, once for all that its size parameters may be, or finds what was compiled before under the same
// structural hash, by whomever: one compilation a key at a time, others wait for it. Programs that have no native form
// run by the reference evaluator. The memory of inputs in `donated` may be reused for outputs (NativeForm::shared).
std::shared_ptr<const Executable> compile(const ProgramRef& program, const std::vector<bool>& donated = {});
// The same of a Program that has to become what `check` demands, which throws where it does not: it is planned with
// reasons even where its code is there.
std::shared_ptr<const Executable> compile(const ProgramRef& program, const std::vector<bool>& donated,
                                          FunctionRef<void(const Compilation&)> check);

// Compiles everything it is given, and keeps it.
class CompilingExecutor final : public Executor {
 public:
  std::vector<Value> run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                         std::span<const Value> inputs) override;
  std::vector<Value> run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override;
};

}  // namespace tenon
