// jit: a function traced once and compiled once for each kind of arguments, as one native program.
#pragma once

#include <algorithm>
#include <any>
#include <mutex>
#include <unordered_map>

#include "tenon/api/transforms.h"
#include "tenon/compile/executable.h"

namespace tenon {

namespace api_detail {

// One specialisation of a jitted function; compiled when it is first run on values.
class JitEntry {
 public:
  explicit JitEntry(TracedFunction traced) : traced_(std::move(traced)) {}
  // Inside a trace, a call of the traced Program; else native code.
  Arrays run(std::span<const Array> arguments) const;
  const TracedFunction& traced() const { return traced_; }

 private:
  TracedFunction traced_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const Executable> executable_;
  mutable std::vector<Value> captured_;
};
void hash_types(std::span<const Array> arguments, Hasher& hasher);

}  // namespace api_detail

// A callable like f. The object is its own cache: by the structure of the arguments, their static fields, and the
// leaves' types. Concrete arrays that f captures are snapshots, taken when it is traced. Copies share the cache.
// Thread-safe.
template <class F>
class Jitted {
 public:
  explicit Jitted(F f, const Source& where) : state_(std::make_shared<State>(std::move(f))), where_(where) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Args&...>>;
    const SourceScope place(where_);
    const auto tied = std::tie(args...);
    const Arrays leaves = tree::leaves(tied);
    const auto entry = find<Result>(leaves, args...);
    const Arrays results = entry->entry.run(leaves);
    return tree::with_leaves(std::any_cast<const Result&>(entry->result), results);
  }

 private:
  struct Cached {
    Cached(TracedFunction traced, std::any tree) : entry(std::move(traced)), result(std::move(tree)) {}
    api_detail::JitEntry entry;
    std::any result;  // the tree that f returned, to be filled with new leaves
  };
  struct State {
    explicit State(F function) : f(std::move(function)) {}
    F f;
    std::mutex mutex;
    std::unordered_map<Hash128, std::shared_ptr<const Cached>> entries;
  };

  template <class Result, class... Args>
  std::shared_ptr<const Cached> find(const Arrays& leaves, const Args&... args) const {
    Hasher hasher;
    hasher(typeid(std::tuple<Args...>).hash_code());
    tree::hash_structure(std::tie(args...), hasher);
    api_detail::hash_types(leaves, hasher);
    const Hash128 key = hasher.finish();
    {
      const std::lock_guard lock(state_->mutex);
      if (const auto found = state_->entries.find(key); found != state_->entries.end()) return found->second;
    }
    api_detail::Flattened<F, Args...> flat(state_->f, args...);
    TracedFunction traced = trace_flat(flat.function, leaves);
    const bool borrowed = std::ranges::any_of(traced.captures, [](const Array& a) { return a.traced() != nullptr; });
    auto cached = std::make_shared<const Cached>(std::move(traced), std::any(**flat.result));
    if (borrowed) return cached;  // it reads an enclosing trace: good for this call alone
    const std::lock_guard lock(state_->mutex);
    return state_->entries.emplace(key, cached).first->second;
  }

  std::shared_ptr<State> state_;
  Source where_;
};

template <class F>
Jitted<F> jit(F f, const Source& where = std::source_location::current()) {
  return Jitted<F>(std::move(f), where);
}

// The Program that a function is at these arguments: std::cout << tn::trace(f)(x).
template <class F>
auto trace(F f) {
  return [f](const auto&... args) mutable {
    api_detail::Flattened<F, std::remove_cvref_t<decltype(args)>...> flat(f, args...);
    return trace_flat(flat.function, flat.arguments).program;
  };
}

}  // namespace tenon
