// From a Program to what runs it: native code where the whole Program has a native form, else the reference evaluator.
#include <fmt/format.h>

#include <mutex>
#include <unordered_map>

#include "tenon/base/log.h"
#include "tenon/compile/executable.h"
#include "tenon/eval/evaluate.h"

namespace tenon {
namespace {

class ReferenceExecutable final : public Executable {
 public:
  explicit ReferenceExecutable(ProgramRef program) : program_(std::move(program)) {}
  std::vector<Value> run(std::span<const Value> inputs) const override { return evaluate(*program_, {}, inputs); }

 private:
  ProgramRef program_;
};

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
    if (!entry->executable) entry->executable = std::make_shared<ReferenceExecutable>(program);
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
  static ExecutableCache all;
  return all;
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
  static OpCache ops;
  return ops.get(op, params, operands)->run(operands);
}

}  // namespace tenon
