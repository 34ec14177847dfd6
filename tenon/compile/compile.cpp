// From a Program to what runs it: native code where it has a native form, else pieces of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include "tenon/base/caches.h"
#include "tenon/base/dump.h"
#include "tenon/base/fork.h"
#include "tenon/base/generations.h"
#include "tenon/base/log.h"
#include "tenon/compile/cache/kept.h"
#include "tenon/compile/compilation.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/islands.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/compile/native/native_executable.h"
#include "tenon/compile/specialise.h"
#include "tenon/compile/units.h"
#include "tenon/eval/evaluate.h"
#include "tenon/runtime/masks/masks.h"
#include "tenon/runtime/threads/tasks.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

// A Program that has no native form as a whole.
class PiecesExecutable final : public Executable {
 public:
  explicit PiecesExecutable(ProgramRef program) : program_(std::move(program)) {}
  std::vector<Value> run(std::span<const Value> inputs, std::span<const std::int64_t>) const override {
    return run_pieces(*program_, {}, inputs, PieceOf::program);
  }

 private:
  ProgramRef program_;
};

// A Program with size parameters and no native form for all sizes: compiled for each that it meets.
class SpecialisedExecutable final : public Executable, public Unit {
 public:
  SpecialisedExecutable(ProgramRef program, std::vector<bool> donated)
      : program_(std::move(program)), donated_(std::move(donated)) {}
  std::vector<Value> run(std::span<const Value> inputs, std::span<const std::int64_t> sizes) const override {
    if (sizes.size() != program_->size_params().size()) throw VerifyError("run: sizes are missing.");
    return of(sizes)->run(inputs);
  }
  const Unit* unit() const override { return this; }
  std::int32_t call_within(void* const* addresses) const noexcept override {
    const std::size_t count = program_->inputs().size() + program_->outputs().size();
    try {
      const auto one = of({static_cast<const std::int64_t*>(addresses[count]), program_->size_params().size()});
      return one->unit() == nullptr ? sizes_differ : one->unit()->call_within(addresses);
    } catch (const MemoryError&) {
      return lacked_memory;
    } catch (...) {  // a size is none
      return sizes_differ;
    }
  }

 private:
  std::shared_ptr<const Executable> of(std::span<const std::int64_t> sizes) const {
    return compile(specialised(*program_, sizes), donated_);
  }
  ProgramRef program_;
  std::vector<bool> donated_;
};

Hash128 key_of(const ProgramRef& program, const std::vector<bool>& donated) {
  Hasher h;
  h(program->hash());
  for (const bool d : donated) h(d);
  return h.finish();
}

void compile_unit(UnitSlot& slot) {
  slot.executable = compile(slot.program);
  slot.unit = slot.executable->unit();
  if (slot.unit == nullptr)
    throw CompileError(fmt::format("{} has no native form, though what calls it has.", slot.program->name()));
}

// The keys of the units among a function's objects, in their order; nothing where there are others, such as functions
// of this process that it calls.
std::optional<std::vector<Hash128>> keys_of_objects(const kernel::Function& function, const Units& units) {
  std::unordered_map<const void*, ProgramRef> programs;
  for (const std::shared_ptr<UnitSlot>& slot : units) programs.emplace(&slot->unit, slot->program);
  std::vector<Hash128> keys;
  for (const void* object : function.objects) {
    const auto program = programs.find(object);
    if (program == programs.end()) return {};
    keys.push_back(key_of(program->second, {}));
  }
  return keys;
}

OfOtherSizes of_other_sizes(const ProgramRef& program, const std::vector<bool>& donated) {
  if (program->size_params().empty()) return {};
  return [=](std::span<const std::int64_t> sizes) { return compile(specialised(*program, sizes), donated); };
}

// By the reference evaluator, which says what is wrong with sizes that code has found.
ByEvaluator by_evaluator(const ProgramRef& program) {
  if (program == nullptr) return {};
  return [=](std::span<const Value> inputs, std::span<const std::int64_t> sizes) {
    return evaluate(*program, sizes, inputs);
  };
}

std::shared_ptr<const Executable> make_native(const Compilation& c) {
  const auto& [function, shared, units, found] = *c.planned;
  const auto keys = keys_of_objects(function, units);
  NativeParts parts;
  run_tasks(units.size() + 1, [&](std::size_t task) {
    if (task < units.size()) return compile_unit(*units[task]);
    parts = native_parts(*c.flat, function, shared, keys.value_or(std::vector<Hash128>()), found);
  });
  if (keys) keep(key_of(c.program, c.donated), *c.program, parts);
  return native_executable(parts, units, function.objects, of_other_sizes(c.program, c.donated),
                           function.checks_sizes ? by_evaluator(c.program) : ByEvaluator(), line_of_largest(function));
}

std::shared_ptr<const Executable> make_executable(const Compilation& c) {
  if (c.native()) return make_native(c);
  const bool tell = log_enabled(LogTopic::compile);
  if (c.for_each_size()) {
    if (tell)
      log_line(LogTopic::compile,
               fmt::format("{} is compiled for each of its sizes: {}", c.program->name(), c.not_native));
    return std::make_shared<SpecialisedExecutable>(c.program, c.donated);
  }
  if (tell) log_line(LogTopic::compile, fmt::format("in pieces: {}", c.not_native));
  if (dumping()) dump("islands.txt", islands_text(*c.flat));
  return std::make_shared<PiecesExecutable>(c.flat);
}

// Executables by key; one compilation a key at a time, others wait for it. In shards, so that threads that compile
// different programs do not wait for each other.
class ExecutableCache final : public Cache {
 public:
  ExecutableCache() { enlist(); }
  // What `make` gives may be null, and is not remembered then.
  std::shared_ptr<const Executable> get(const Hash128& key, FunctionRef<std::shared_ptr<const Executable>()> make) {
    Shard& shard = shards_[key.high % shards_.size()];
    std::shared_ptr<Entry> entry;
    Entries::Map gone;  // ends outside of the lock
    {
      const std::lock_guard lock(shard.mutex);
      if (const auto* found = shard.entries.find(key)) {
        ++shard.hits;
        entry = *found;
      } else {
        ++shard.misses;
        gone = shard.entries.insert(key, entry = std::make_shared<Entry>());
      }
    }
    const std::lock_guard lock(entry->mutex);
    if (!entry->executable) entry->executable = make();
    return entry->executable;
  }
  CacheInfo info() override {
    CacheInfo all{.name = "executables"};
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      all.entries += shard.entries.size();
      all.bound += shard.entries.bound();
      all.hits += shard.hits;
      all.misses += shard.misses;
    }
    return all;
  }
  void clear() override {
    for (Shard& shard : shards_) {
      std::pair<Entries::Map, Entries::Map> gone;
      const std::lock_guard lock(shard.mutex);
      gone = shard.entries.clear();
    }
  }

 private:
  static constexpr std::size_t capacity = 4096, shards = 16;
  struct Entry {
    ForkMutex mutex;
    std::shared_ptr<const Executable> executable;
  };
  using Entries = Generations<Hash128, std::shared_ptr<Entry>>;
  struct Shard {
    ForkMutex mutex;
    Entries entries{capacity / shards};
    std::size_t hits = 0, misses = 0;
  };
  std::array<Shard, shards> shards_;
};

ExecutableCache& cache() {
  static constinit Lasting<ExecutableCache> all;  // outlives every static that may still compile or hold code
  return all.get();
}

// What is on disk; null where that, or a unit that it calls, is not.
std::shared_ptr<const Executable> kept_executable(const Hash128& key, const ProgramRef& program,
                                                  const std::vector<bool>& donated) {
  const std::optional<NativeParts> parts = kept_parts(key, program.get());
  if (!parts) return nullptr;
  Units units;
  std::vector<const void*> objects;
  for (const Hash128& of : parts->units) {
    const auto& slot = units.emplace_back(std::make_shared<UnitSlot>(nullptr));
    slot->executable = cache().get(of, [&] { return kept_executable(of, nullptr, {}); });
    slot->unit = slot->executable ? slot->executable->unit() : nullptr;
    if (slot->unit == nullptr) return nullptr;
    objects.push_back(&slot->unit);
  }
  try {
    return native_executable(*parts, std::move(units), objects,
                             program == nullptr ? OfOtherSizes() : of_other_sizes(program, donated),
                             by_evaluator(program), line_of_largest(*parts, program));
  } catch (const CompileError& e) {  // this process lacks what the code calls
    if (log_enabled(LogTopic::cache)) log_line(LogTopic::cache, e.what());
    return nullptr;
  }
}

// One-eqn Programs of ops, by op, params and operand types. Each thread remembers those it used last, so that a
// repeated op takes no lock.
class OpCache final : public Cache {
 public:
  OpCache() { enlist(); }
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
  CacheInfo info() override {
    const std::lock_guard lock(mutex_);
    return {.name = "ops", .entries = entries_.size(), .bound = entries_.bound(), .hits = hits_, .misses = misses_};
  }
  void clear() override {  // of the recent ones, this thread's
    std::fill_n(recent_of_thread(), recents, Recent());
    std::pair<Entries::Map, Entries::Map> gone;
    const std::lock_guard lock(mutex_);
    gone = entries_.clear();
  }

 private:
  std::shared_ptr<const Executable> find(const Hash128& key, const OpInfo& op, const Params& params,
                                         std::span<const Value> operands) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto* found = entries_.find(key)) {
        ++hits_;
        return *found;
      }
      ++misses_;
    }
    std::vector<Type> types;
    for (const Value& v : operands) types.push_back(type_of(v));
    auto executable = compile(program_of(op, params, types));
    Entries::Map gone;
    const std::lock_guard lock(mutex_);
    if (const auto* found = entries_.find(key)) return *found;
    gone = entries_.insert(key, executable);
    return executable;
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
  using Entries = Generations<Hash128, std::shared_ptr<const Executable>>;
  ForkMutex mutex_;
  Entries entries_{4096};
  std::size_t hits_ = 0, misses_ = 0;  // of what was not among a thread's recent ones
};

OpCache& ops() {
  static constinit Lasting<OpCache> all;
  return all.get();
}

}  // namespace

namespace {

// What is in memory or on disk; else made of the compilation.
std::shared_ptr<const Executable> find_or_make(const ProgramRef& program, const std::vector<bool>& donated,
                                               FunctionRef<std::shared_ptr<const Executable>()> make) {
  const Hash128 key = key_of(program, donated);
  const auto tell = [&](const char* what) {
    if (log_enabled(LogTopic::cache))
      log_line(LogTopic::cache, fmt::format("{} @{} {}", what, program->name(), program->hash().hex()));
  };
  bool found = true;
  auto executable = cache().get(key, [&] {
    found = false;
    tell("not found");
    auto kept = kept_executable(key, program, donated);
    return kept ? kept : make();
  });
  if (found) tell("found");
  return executable;
}

std::string folder_name(const Program& program) { return program.name().empty() ? "program" : program.name(); }

}  // namespace

std::shared_ptr<const Executable> compile(const ProgramRef& program, const std::vector<bool>& donated) {
  return find_or_make(program, donated, [&] {
    const DumpFolder folder(folder_name(*program));
    return make_executable(compilation_of(program, donated));
  });
}

std::shared_ptr<const Executable> compile(const ProgramRef& program, const std::vector<bool>& donated,
                                          FunctionRef<void(const Compilation&)> check) {
  const DumpFolder folder(folder_name(*program));
  const Compilation compilation = compilation_of(program, donated, Reasons::reported);
  check(compilation);
  return find_or_make(program, donated, [&] { return make_executable(compilation); });
}

std::vector<Value> CompilingExecutor::run(const ProgramRef& program, std::span<const std::int64_t> sizes,
                                          std::span<const Value> inputs) {
  return compile(program)->run(inputs, sizes);
}

std::vector<Value> CompilingExecutor::run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) {
  return ops().get(op, params, operands)->run(operands);
}

}  // namespace tenon
