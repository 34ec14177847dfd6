#include "tenon/kernel/passes/compute_updates.h"

#include <algorithm>
#include <utility>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using Loop = Updates::Loop;

bool are_costly(const Nest& n) {
  constexpr double most = 8;  // instructions
  Instructions all;
  for (const Store& s : n.stores) all.add(update_of(s));
  return all.in_functions() > 0 || all.number() > most;
}

// Where one store's offsets and values are that another nest computes.
struct Computed {
  SlotId offsets, values;
};
void compute_first(Nest& first, Store& s, const Updates& u, const Computed& slots, const Expr& spare) {
  const Expr here = variable(first.vars[0]), nowhere = spare ? spare : Expr(std::int64_t(-1));
  const DType dtype = s.value.dtype();
  first.stores.push_back({slots.offsets, here, s.condition ? select(s.condition, s.offset, nowhere) : s.offset, {}});
  first.stores.push_back({slots.values, here, update_of(s), {}});
  s.offset = load(slots.offsets, DType::i64, here);
  s.value = binary(u.combine, load(s.slot, dtype, s.offset), load(slots.values, dtype, here));
  if (s.condition) s.condition = spare ? Expr() : binary(Binary::ge, s.offset, Expr(std::int64_t(0)));
}

void compute(Function& function, const Target& target, Block& statements) {
  Block result;
  for (Statement& s : statements) {
    for_each_block(s, [&](Block& inside) { compute(function, target, inside); });
    const auto* n = std::get_if<Nest>(&s.held());
    const std::optional<Updates> u = n == nullptr ? std::nullopt : updates_of(*n);
    const auto moves = [&] { return n->vars.back() != loops_of(*u).back().var && go_by_vectors(*u); };
    if (u && (moves() || are_computed_first(*n, *u)))
      std::ranges::move(combined_updates(function, target, *n, *u, loops_of(*u)), std::back_inserter(result));
    else
      result.push_back(std::move(s));
  }
  statements = std::move(result);
}

}  // namespace

std::vector<Loop> by_stride(std::vector<Loop> loops) {
  std::ranges::stable_sort(loops, [](const Loop& x, const Loop& y) { return estimate(x.stride) > estimate(y.stride); });
  return loops;
}
std::vector<Loop> loops_of(const Updates& u) {
  std::vector<Loop> loops = u.ordered;
  for (const Loop& l : by_stride(u.free)) loops.push_back(l);
  return loops;
}

Nest nest_over(const Nest& n, const std::vector<Loop>& loops, const std::map<std::uint32_t, Expr>& vars,
               bool independent) {
  Rewrite rewrite;
  rewrite.vars = vars;
  Nest result{{}, {}, {}, independent, n.where, n.combines && !independent};
  for (const Loop& l : loops) result.vars.push_back(l.var), result.sizes.push_back(l.size);
  for (const Store& s : n.stores)
    result.stores.push_back({s.slot, rewrite(s.offset), rewrite(s.value), rewrite(s.condition)});
  return result;
}

bool go_by_vectors(const Updates& u) {
  constexpr std::int64_t few = 3;
  if (u.free.empty()) return false;
  const Loop last = by_stride(u.free).back();
  return last.stride == Dim(1) && !at_most(last.size, few);
}
bool are_computed_first(const Nest& n, const Updates& u) {
  constexpr std::int64_t few = 4;
  return !go_by_vectors(u) && !at_most(loops_of(u).back().size, few) && are_costly(n);
}

Block combined_updates(Function& function, const Target& target, const Nest& n, const Updates& u,
                       const std::vector<Loop>& loops, const Expr& spare) {
  constexpr std::int64_t few = 4;
  const std::int64_t chunk = chunk_of(target);
  const Loop last = loops.back();
  const bool pays = are_computed_first(n, u) || (spare && !go_by_vectors(u));
  if (!pays || at_most(last.size, few)) return {nest_over(n, loops, {}, false)};
  const std::int64_t step = last.size.known() ? std::min(last.size.value(), chunk) : chunk;
  Blocks chunks{function.vars++, floor_div(last.size, step), modulo(last.size, step), {}, {}, false, 1, {}};
  const auto local = [&](DType dtype) {
    function.slots.push_back({dtype, step, Slot::Place::local});
    chunks.own.push_back(static_cast<SlotId>(function.slots.size() - 1));
    return chunks.own.back();
  };
  std::vector<Computed> slots;
  for (const Store& s : n.stores) slots.push_back({local(DType::i64), local(s.value.dtype())});
  const auto part = [&](const Dim& size) {
    const Loop within{function.vars++, size, last.stride};
    Nest now = nest_over(n, {within}, {{last.var, variable(chunks.var) * Expr(step) + variable(within.var)}}, false);
    Nest first{now.vars, now.sizes, {}, true, n.where};
    for (std::size_t k = 0; k < now.stores.size(); ++k) compute_first(first, now.stores[k], u, slots[k], spare);
    return Block{std::move(first), std::move(now)};
  };
  chunks.body = part(step);
  if (chunks.rest != Dim(0)) chunks.tail = part(chunks.rest);
  Statement all = std::move(chunks);
  for (std::size_t i = loops.size() - 1; i-- > 0;) all = For{loops[i].var, loops[i].size, {std::move(all)}};
  return {std::move(all)};
}

void compute_updates(Function& function, const Target& target) { compute(function, target, function.body); }

}  // namespace tenon::kernel
