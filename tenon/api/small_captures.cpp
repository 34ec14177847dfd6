#include "tenon/api/small_captures.h"

#include <mutex>

#include "tenon/base/caches.h"
#include "tenon/base/fork.h"
#include "tenon/base/generations.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/structure/table.h"

namespace tenon {
namespace {

// Whether these are the first numbers that a Program of this hash has been met with.
bool are_first(const Hash128& program, const Hash128& numbers) {
  static constinit ForkMutex mutex;
  static constinit Lasting<Generations<Hash128, Hash128>> first;
  Generations<Hash128, Hash128>::Map gone;  // ends outside of the lock
  const std::lock_guard lock(mutex);
  auto& met = first.get([] { return Generations<Hash128, Hash128>(4096); });
  if (const Hash128* known = met.find(program)) return *known == numbers;
  gone = met.insert(program, numbers);
  return true;
}

bool is_table(const Array& capture) { return capture.buffer() != nullptr && fits_table(capture.type()); }

}  // namespace

TracedFunction with_tables(TracedFunction traced) {
  const std::size_t captures = traced.captures.size(), refs = traced.refs.size();
  const Program& old = *traced.program;
  Hasher numbers;
  std::vector<bool> known(captures, false);
  bool any = false;
  for (std::size_t i = refs; i < captures; ++i) {
    if (!is_table(traced.captures[i])) continue;
    known[i] = any = true;
    table_params(*traced.captures[i].buffer()).hash(numbers(i));
  }
  if (!any || !are_first(old.hash(), numbers.finish())) return traced;
  const CompileTime no_trace;
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(old);
  Replay replay(old, sizes);
  Arrays left;
  const std::size_t arguments = old.inputs().size() - captures;
  for (std::size_t i = 0; i < old.inputs().size(); ++i) {
    const Var v = old.inputs()[i];
    const bool is_capture = i >= arguments;
    if (is_capture && known[i - arguments]) continue;
    replay.set(v, scope.input(replay.type(v)));
    if (is_capture) left.push_back(traced.captures[i - arguments]);
  }
  for (std::size_t i = 0; i < captures; ++i)
    if (known[i])
      replay.set(old.inputs()[arguments + i], scope.add(table_op(), table_params(*traced.captures[i].buffer()), {})[0]);
  for (const Eqn& eqn : old.eqns()) replay.bind_eqn(eqn);
  Arrays out;
  for (const Var v : old.outputs()) out.push_back(replay.get(v));
  traced.program = scope.finish(out, old.name()).program;
  traced.captures = std::move(left);
  return traced;
}

}  // namespace tenon
