// From a Program to what runs it: native code where it has a native form, else the reference evaluator.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "tenon/base/dump.h"
#include "tenon/base/fork.h"
#include "tenon/base/log.h"
#include "tenon/compile/codegen.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/list_values.h"
#include "tenon/compile/plan.h"
#include "tenon/compile/stages.h"
#include "tenon/compile/units.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ir/replay.h"
#include "tenon/ir/unify.h"
#include "tenon/kernel/rows.h"
#include "tenon/rewrite/count_steps.h"
#include "tenon/rewrite/pass.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/host_calls.h"
#include "tenon/runtime/lists.h"
#include "tenon/runtime/subnormals.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

class ReferenceExecutable final : public Executable {
 public:
  explicit ReferenceExecutable(const ProgramRef& program) : program_(count_steps(program)) {}
  std::vector<Value> run(std::span<const Value> inputs) const override { return evaluate(*program_, {}, inputs); }

 private:
  ProgramRef program_;
};

// Memory for the intermediate values of a call. A thread keeps its last block: calls in a row take no lock and find it
// in their caches.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    Kept& kept = mine;
    if (kept.bytes >= bytes && !kept.busy) {
      kept.busy = borrowed_ = true;
      block_ = kept.block;
      return;
    }
    block_ = allocate_block(bytes);
  }
  ~Arena() {
    Kept& kept = mine;
    if (borrowed_) {
      kept.busy = false;
    } else if (block_ != nullptr && !kept.busy && bytes_ > kept.bytes && bytes_ <= most_kept) {
      free_block(kept.block, kept.bytes);
      kept.block = block_;
      kept.bytes = bytes_;
    } else {
      free_block(block_, bytes_);
    }
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  void* block() const { return block_; }

 private:
  static constexpr std::size_t most_kept = std::size_t(64) << 20;
  struct Kept {
    ~Kept() { free_block(block, bytes); }
    void* block = nullptr;
    std::size_t bytes = 0;
    bool busy = false;
  };
  static thread_local Kept mine;
  std::size_t bytes_;
  void* block_ = nullptr;
  bool borrowed_ = false;
};
thread_local Arena::Kept Arena::mine;

// The largest of a program's intermediate values, for the error where memory lacks.
class LargestValue {
 public:
  explicit LargestValue(const kernel::Function& function) {
    const kernel::Slot* largest = nullptr;
    for (const kernel::Slot& s : function.slots)
      if (s.place == kernel::Slot::Place::arena && (largest == nullptr || s.bytes() > largest->bytes())) largest = &s;
    if (largest == nullptr) return;
    text_ = fmt::format("{} elements of {}", largest->elements, name(largest->dtype));
    slot_ = static_cast<kernel::SlotId>(largest - function.slots.data());
    find(function.body);
  }
  [[noreturn]] void explain(const MemoryError& e) const {
    throw MemoryError(fmt::format("{} They are for the intermediate values of a compiled function; the largest has {}.",
                                  e.asked(), text_),
                      e.advice(), where_.known() ? where_ : e.where());
  }

 private:
  // Where the user asked for the statement that writes it.
  void find(const kernel::Block& block) {
    for (const kernel::Statement& s : block) std::visit([&](const auto& held) { look_at(s, held); }, s.held());
  }
  template <class Held>
  void look_at(const kernel::Statement& s, const Held& held) {
    if constexpr (requires { held.where; }) {
      if (!where_.known())
        kernel::visit_slots(s, [&](kernel::SlotId slot, bool write) {
          if (write && slot == slot_) where_ = held.where;
        });
    } else if constexpr (requires { held.branches; }) {
      for (const kernel::Block& branch : held.branches) find(branch);
    } else if constexpr (requires { held.body; }) {
      find(held.body);
      if constexpr (requires { held.before; }) find(held.before);
      if constexpr (requires { held.tail; }) find(held.tail);
    }
  }

  std::string text_;
  kernel::SlotId slot_ = 0;
  Source where_;
};

class NativeExecutable final : public Executable, public NativeForm, public Unit {
 public:
  NativeExecutable(const Program& program, const kernel::Function& function,
                   std::vector<std::optional<std::size_t>> shared_inputs, Units units)
      : units_(std::move(units)),
        code_(compile_native(function)),
        arena_bytes_(static_cast<std::size_t>(function.arena_bytes)),
        largest_(function),
        makes_lists_(function.lists) {
    const auto operands = [&](std::span<const Var> vars, std::vector<Operand>& to) {
      for (Var v : vars) {
        const Type& type = program.type(v);
        to.push_back({type.dtype, type.shape.sizes()});
        lists_.push_back(type.is_list() ? type.element : nullptr);
        takes_lists_ = takes_lists_ || type.is_list();
      }
    };
    operands(program.inputs(), inputs);
    operands(program.outputs(), outputs);
    shared = std::move(shared_inputs);
  }

  const NativeForm* native() const override { return takes_lists_ ? nullptr : this; }

  const Unit* unit() const override { return makes_lists_ || takes_lists_ ? nullptr : this; }

  std::int32_t call_within(void* const* addresses) const noexcept override {
    try {
      const Arena arena(arena_bytes_);
      return code_->entry(addresses, arena.block(), Context::current().flag());
    } catch (const MemoryError&) {
      return lacked_memory;
    }
  }

  void call(void* const* addresses) const override {
    if (!makes_lists_) [[likely]]
      return enter(addresses, nullptr);
    const ListPool lists;
    enter(addresses, &lists);
  }

  // Lists are copied in and out.
  std::vector<Value> run(std::span<const Value> given) const override {
    check(given);
    std::optional<ListPool> lists;
    if (makes_lists_ || takes_lists_) lists.emplace();
    std::vector<Value> results;
    results.reserve(outputs.size());
    std::vector<Buffer> copies;
    copies.reserve(given.size());  // once: what is in it stays where it is
    std::vector<std::int64_t> handles(takes_lists_ ? lists_.size() : 0);
    std::vector<void*> addresses;
    addresses.reserve(lists_.size());
    for (const Value& value : given) {
      const std::size_t i = addresses.size();
      if (const auto* list = std::get_if<ListValue>(&value)) {
        handles[i] = list_handle(*list);
        addresses.push_back(&handles[i]);
        continue;
      }
      const auto* b = std::get_if<Buffer>(&value);
      if (!b->contiguous()) b = &copies.emplace_back(b->contiguous_copy());
      addresses.push_back(const_cast<std::byte*>(b->data()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (lists_[given.size() + i] != nullptr) {
        addresses.push_back(&handles[given.size() + i]);
        results.emplace_back(Buffer());  // until it is known
        continue;
      }
      Buffer out = Buffer::allocate(outputs[i].dtype, outputs[i].dims);
      if (i < shared.size() && shared[i]) {
        std::memcpy(out.data(), addresses[*shared[i]], out.bytes());
        addresses[*shared[i]] = out.data();
      }
      addresses.push_back(out.data());
      results.emplace_back(std::move(out));
    }
    enter(addresses.data(), lists ? &*lists : nullptr);
    for (std::size_t i = 0; i < outputs.size() && takes_lists_; ++i)
      if (const auto& element = lists_[given.size() + i]) results[i] = list_value(handles[given.size() + i], *element);
    return results;
  }

 private:
  void enter(void* const* addresses, const ListPool* lists) const {
    const Context& context = Context::current();
    context.check();
    const Arena arena = room();
    const SubnormalScope flushed(true);
    const std::int32_t status = code_->entry(addresses, arena.block(), context.flag());
    if (status != 0 || context.cancelled()) [[unlikely]]
      fail(status, lists);
  }

  Arena room() const {
    try {
      return Arena(arena_bytes_);
    } catch (const MemoryError& e) {
      largest_.explain(e);
    }
  }

  [[noreturn]] static void fail(std::int32_t status, const ListPool* lists) {
    if ((status & host_call_failed) != 0) rethrow_host_failure();
    if (lists != nullptr && lists->failure) std::rethrow_exception(lists->failure);
    if ((status & lacked_memory) != 0)
      throw MemoryError("a matrix product, or a function that is called, had no memory for its intermediate values.");
    Context::throw_cancelled();
  }

  void check(std::span<const Value> given) const {
    if (given.size() != inputs.size())
      throw RuntimeError(fmt::format("a compiled program takes {} arrays, {} are given.", inputs.size(), given.size()));
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (lists_[i] != nullptr && type_of(given[i]) == Type::list(*lists_[i])) continue;
      const auto* b = std::get_if<Buffer>(&given[i]);
      if (lists_[i] != nullptr || b == nullptr || b->dtype() != inputs[i].dtype ||
          !std::ranges::equal(b->dims(), inputs[i].dims))
        throw RuntimeError(fmt::format("a compiled program takes {} as input {}, {} is given.",
                                       lists_[i] != nullptr
                                           ? Type::list(*lists_[i]).text()
                                           : Type::array(inputs[i].dtype, Shape(inputs[i].dims)).text(),
                                       i, type_of(given[i]).text()));
    }
  }

  Units units_;
  std::shared_ptr<const NativeCode> code_;
  std::size_t arena_bytes_;
  LargestValue largest_;
  bool makes_lists_, takes_lists_ = false;
  std::vector<std::shared_ptr<const Type>> lists_;  // the element of each input and output that is a list
};

// The Program for sizes that are known.
ProgramRef specialised(const Program& program, std::span<const std::int64_t> sizes) {
  static constinit Memo<ProgramRef> memo;
  Hasher h;
  h("specialised")(program.hash())(sizes.size());
  for (const std::int64_t s : sizes) h(s);
  return memo.get(h.finish(), [&] {
    const CompileTime no_trace;
    const std::vector<Dim> dims(sizes.begin(), sizes.end());
    Scope scope;
    const Replay types(program, dims);
    Arrays inputs;
    for (Var v : program.inputs()) inputs.push_back(scope.input(types.type(v)));
    return scope.finish(inline_program(program, dims, inputs), program.name()).program;
  });
}

// Native code before and behind what decides sizes; the sizes of each call are compiled for once.
class StagedExecutable final : public Executable {
 public:
  StagedExecutable(ProgramRef whole, Stages stages)
      : whole_(std::move(whole)),
        stages_(std::move(stages)),
        first_(compile(stages_.first.program)),
        deciding_(count_steps(stages_.deciding.program)) {}

  std::vector<Value> run(std::span<const Value> inputs) const override {
    std::vector<Value> values(whole_->vars());
    for (std::size_t i = 0; i < inputs.size(); ++i) values[whole_->inputs()[i]] = inputs[i];
    const auto run = [&](const Stages::Stage& stage, const auto& by) {
      std::vector<Value> in;
      for (Var v : stage.in) in.push_back(values[v]);
      std::vector<Value> out = by(in);
      for (std::size_t i = 0; i < out.size(); ++i) values[stage.out[i]] = out[i];
      return out;
    };
    using In = std::vector<Value>;
    run(stages_.first, [&](const In& in) { return first_->run(in); });
    run(stages_.deciding, [&](const In& in) { return evaluate(*deciding_, {}, in); });
    SizeBinding found;
    for (Var v : stages_.deciding.out) unify(whole_->type(v), type_of(values[v]), found);
    std::vector<std::int64_t> sizes;
    for (SizeVar s : stages_.sizes) sizes.push_back(found.at(s).value());
    const Program& rest = *stages_.rest.program;
    return run(stages_.rest, [&](const In& in) {
      return has_regions(rest) ? compile(specialised(rest, sizes))->run(in) : evaluate(rest, sizes, in);
    });
  }

 private:
  ProgramRef whole_;
  Stages stages_;
  std::shared_ptr<const Executable> first_;
  ProgramRef deciding_;
};

void compile_units(const Units& units) {
  for (const std::shared_ptr<UnitSlot>& slot : units) {
    slot->executable = compile(slot->program);
    slot->unit = slot->executable->unit();
    if (slot->unit == nullptr)
      throw CompileError(fmt::format("{} has no native form, though what calls it has.", slot->program->name()));
  }
}

std::shared_ptr<const Executable> make_executable(const ProgramRef& program, const std::vector<bool>& donated) {
  const DumpFolder folder(program->name().empty() ? "program" : program->name());
  if (dumping()) dump("traced.tn", print(*program));
  const ProgramRef flat = flattened(program);
  const std::string reason = why_not_native(*flat);
  if (!reason.empty()) {
    if (auto cut = stages(*flat)) return std::make_shared<StagedExecutable>(flat, *std::move(cut));
    if (log_enabled(LogTopic::compile))
      log_line(LogTopic::compile, fmt::format("by the reference evaluator: {}", reason));
    if (dumping()) dump("by-the-reference-evaluator.txt", reason + "\n");
    return std::make_shared<ReferenceExecutable>(program);
  }
  auto [function, shared, units] = plan(*flat, donated);
  if (dumping()) dump("kernels.txt", kernel::print(function));
  compile_units(units);
  return std::make_shared<NativeExecutable>(*flat, function, std::move(shared), std::move(units));
}

// Executables by structural hash; one compilation a key at a time, others wait for it. In shards, so that threads that
// compile different programs do not wait for each other.
class ExecutableCache {
 public:
  std::shared_ptr<const Executable> get(const ProgramRef& program, const std::vector<bool>& donated) {
    Hasher h;
    h(program->hash());
    for (const bool d : donated) h(d);
    const Hash128 key = h.finish();
    Shard& shard = shards_[key.high % shards_.size()];
    std::shared_ptr<Entry> entry;
    {
      const std::lock_guard lock(shard.mutex);
      auto found = shard.entries.find(key);
      if (found == shard.entries.end()) {
        if (shard.entries.size() >= capacity / shards_.size()) shard.entries.clear();
        found = shard.entries.emplace(key, std::make_shared<Entry>()).first;
      }
      entry = found->second;
    }
    const std::lock_guard lock(entry->mutex);
    if (log_enabled(LogTopic::cache))
      log_line(LogTopic::cache, fmt::format("{} @{} {}", entry->executable ? "found" : "not found", program->name(),
                                            program->hash().hex()));
    if (!entry->executable) entry->executable = make_executable(program, donated);
    return entry->executable;
  }
  void clear() {
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      shard.entries.clear();
    }
  }

 private:
  static constexpr std::size_t capacity = 4096;
  struct Entry {
    ForkMutex mutex;
    std::shared_ptr<const Executable> executable;
  };
  struct Shard {
    ForkMutex mutex;
    std::unordered_map<Hash128, std::shared_ptr<Entry>> entries;
  };
  std::array<Shard, 16> shards_;
};

ExecutableCache& cache() {
  static constinit Lasting<ExecutableCache> all;  // outlives every static that may still compile or hold code
  return all.get();
}

// One-eqn Programs of ops, by op, params and operand types. Each thread remembers those it used last, so that a
// repeated op takes no lock.
class OpCache {
 public:
  std::shared_ptr<const Executable> get(const OpInfo& op, const Params& params, std::span<const Value> operands) {
    Hasher h;
    h.word(reinterpret_cast<std::uintptr_t>(&op));
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
    Recent& recent = recent_of_thread()[key.low % recents];
    if (recent.key == key && recent.executable) return recent.executable;
    recent.executable = find(key, op, params, operands);
    recent.key = key;
    return recent.executable;
  }
  void clear() {  // of the recent ones, this thread's
    std::fill_n(recent_of_thread(), recents, Recent());
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  std::shared_ptr<const Executable> find(const Hash128& key, const OpInfo& op, const Params& params,
                                         std::span<const Value> operands) {
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

  struct Recent {
    Hash128 key;
    std::shared_ptr<const Executable> executable;
  };
  static constexpr std::size_t recents = 256;
  // Not a thread's own storage itself: a library that is opened late has little room for that.
  static Recent* recent_of_thread() {
    static thread_local const auto recent = std::make_unique<Recent[]>(recents);
    return recent.get();
  }
  ForkMutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<const Executable>> entries_;
};

OpCache& ops() {
  static constinit Lasting<OpCache> all;
  return all.get();
}

}  // namespace

void clear_compiled() {
  cache().clear();
  ops().clear();
}

std::shared_ptr<const Executable> compile(const ProgramRef& program, const std::vector<bool>& donated) {
  return cache().get(program, donated);
}

std::vector<Value> CompilingExecutor::run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                                          std::span<const Value> inputs) {
  if (program->size_params().empty()) return compile(program)->run(inputs);
  if (sizes.size() != program->size_params().size()) throw VerifyError("run: sizes are missing.");
  return compile(specialised(*program, sizes))->run(inputs);
}

std::vector<Value> CompilingExecutor::run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) {
  return ops().get(op, params, operands)->run(operands);
}

}  // namespace tenon
