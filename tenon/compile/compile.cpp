// From a Program to what runs it: native code where the whole Program has a native form, else the reference evaluator.
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "tenon/base/log.h"
#include "tenon/compile/codegen.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/plan.h"
#include "tenon/eval/evaluate.h"
#include "tenon/rewrite/pass.h"
#include "tenon/runtime/allocator.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

class ReferenceExecutable final : public Executable {
 public:
  explicit ReferenceExecutable(ProgramRef program) : program_(std::move(program)) {}
  std::vector<Value> run(std::span<const Value> inputs) const override { return evaluate(*program_, {}, inputs); }

 private:
  ProgramRef program_;
};

// Subnormals are flushed inside compiled programs; the caller's mode comes back.
class FlushSubnormals {
 public:
  FlushSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  ~FlushSubnormals() { _mm_setcsr(before_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_;
};

class NativeExecutable final : public Executable {
 public:
  NativeExecutable(const Program& program, const kernel::Function& function)
      : code_(compile_native(function)), arena_bytes_(static_cast<std::size_t>(function.arena_bytes)) {
    for (const Type& t : program.input_types()) inputs_.push_back(t);
    for (Var v : program.outputs()) outputs_.push_back({program.type(v).dtype, program.type(v).shape.sizes()});
  }

  std::vector<Value> run(std::span<const Value> inputs) const override {
    check(inputs);
    std::vector<Value> results;
    results.reserve(outputs_.size());
    std::vector<Buffer> copies;
    constexpr std::size_t few = 32;
    void* on_stack[few];
    std::vector<void*> on_heap;
    void** arguments = on_stack;
    if (inputs.size() + outputs_.size() > few) {
      on_heap.resize(inputs.size() + outputs_.size());
      arguments = on_heap.data();
    }
    std::size_t at = 0;
    for (const Value& value : inputs) {
      const auto* b = std::get_if<Buffer>(&value);
      if (!b->contiguous()) {
        copies.reserve(inputs.size());  // once: what is in it stays where it is
        b = &copies.emplace_back(b->contiguous_copy());
      }
      arguments[at++] = const_cast<std::byte*>(b->data());
    }
    for (const Output& o : outputs_) {
      Buffer out = Buffer::allocate(o.dtype, o.dims);
      arguments[at++] = out.data();
      results.emplace_back(std::move(out));
    }
    const Arena arena(arena_bytes_);
    const FlushSubnormals flush;
    if (code_->entry(arguments, arena.block) != 0)
      throw MemoryError("a matrix product had no memory for its intermediate values.");
    return results;
  }

 private:
  struct Output {
    DType dtype;
    std::vector<std::int64_t> dims;
  };
  struct Arena {
    explicit Arena(std::size_t size) : bytes(size), block(size == 0 ? nullptr : allocate_block(size)) {}
    ~Arena() { free_block(block, bytes); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    std::size_t bytes;
    void* block;
  };

  void check(std::span<const Value> inputs) const {
    if (inputs.size() != inputs_.size())
      throw RuntimeError(
          fmt::format("a compiled program takes {} arrays, {} are given.", inputs_.size(), inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* b = std::get_if<Buffer>(&inputs[i]);
      const Type& t = inputs_[i];
      bool good = b != nullptr && b->dtype() == t.dtype && b->rank() == t.rank();
      for (std::size_t k = 0; good && k < t.rank(); ++k) good = b->dims()[k] == t.shape[k].value();
      if (!good)
        throw RuntimeError(fmt::format("a compiled program takes {} as input {}, {} is given.", t.text(), i,
                                       type_of(inputs[i]).text()));
    }
  }

  std::shared_ptr<const NativeCode> code_;
  std::size_t arena_bytes_;
  std::vector<Type> inputs_;
  std::vector<Output> outputs_;
};

std::shared_ptr<const Executable> make_executable(const ProgramRef& program) {
  const ProgramRef flat = run_passes(compile_passes(), program);
  const std::string reason = why_not_native(*flat);
  if (!reason.empty()) {
    if (log_enabled(LogTopic::compile))
      log_line(LogTopic::compile, fmt::format("by the reference evaluator: {}", reason));
    return std::make_shared<ReferenceExecutable>(program);
  }
  return std::make_shared<NativeExecutable>(*flat, plan(*flat));
}

// Executables by structural hash; one compilation a key at a time, others wait for it.
class ExecutableCache {
 public:
  std::shared_ptr<const Executable> get(const ProgramRef& program) {
    std::shared_ptr<Entry> entry;
    {
      const std::lock_guard lock(mutex_);
      if (entries_.size() >= capacity) entries_.clear();
      auto& slot = entries_[program->hash()];
      if (!slot) slot = std::make_shared<Entry>();
      entry = slot;
    }
    const std::lock_guard lock(entry->mutex);
    if (!entry->executable) entry->executable = make_executable(program);
    return entry->executable;
  }

 private:
  static constexpr std::size_t capacity = 4096;
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const Executable> executable;
  };
  std::mutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<Entry>> entries_;
};

ExecutableCache& cache() {
  static auto* all = new ExecutableCache;  // outlives every static that may still compile or hold code
  return *all;
}

// One-eqn Programs of ops, by op, params and operand types.
class OpCache {
 public:
  std::shared_ptr<const Executable> get(const OpInfo& op, const Params& params, std::span<const Value> operands) {
    Hasher h;
    h(op.name);
    params.hash(h);
    for (const Value& v : operands) {
      const auto* b = std::get_if<Buffer>(&v);
      if (b == nullptr) {
        type_of(v).hash(h);
        continue;
      }
      h(b->dtype())(b->rank());
      for (std::int64_t d : b->dims()) h(d);
    }
    const Hash128 key = h.finish();
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
    }
    std::vector<Type> types;
    for (const Value& v : operands) types.push_back(type_of(v));
    auto executable = compile(program_of(op, params, types));
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= 4096) entries_.clear();
    return entries_.emplace(key, std::move(executable)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<const Executable>> entries_;
};

}  // namespace

std::shared_ptr<const Executable> compile(const ProgramRef& program) { return cache().get(program); }

std::vector<Value> CompilingExecutor::run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                                          std::span<const Value> inputs) {
  if (!sizes.empty() || !program->size_params().empty()) return evaluate(*program, sizes, inputs);
  return compile(program)->run(inputs);
}

std::vector<Value> CompilingExecutor::run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) {
  static auto& ops = *new OpCache;
  return ops.get(op, params, operands)->run(operands);
}

}  // namespace tenon
