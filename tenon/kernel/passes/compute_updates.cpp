#include "tenon/kernel/passes/compute_updates.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
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

class NarrowIndex {
 public:
  // What e, which fits, is modulo 2^32: sums and products may wrap on the way, and so may what is truncated before.
  Expr wrapped(const Expr& e) {
    if (const Expr same = exact(e)) return same;
    return kept(wrapped_, e, [&] {
      if (e.kind() == Expr::Kind::select)
        return select(truth(e.operand(0)), wrapped(e.operand(1)), wrapped(e.operand(2)));
      const Binary op = e.node().binary;
      const bool wraps = e.kind() == Expr::Kind::binary &&
                         (op == Binary::add || op == Binary::sub || op == Binary::mul || op == Binary::and_);
      return wraps ? binary(op, wrapped(e.operand(0)), wrapped(e.operand(1))) : convert(DType::i32, e);
    });
  }

  // A truth of comparisons, as one of narrow numbers where it can be.
  Expr truth(const Expr& e) {
    if (e.kind() != Expr::Kind::binary) return e;
    return kept(truths_, e, [&] {
      const Expr x = e.operand(0), y = e.operand(1);
      if (x.dtype() == DType::bool_) return binary(e.node().binary, truth(x), truth(y));
      const Expr narrow = x.dtype() == DType::i64 ? of_both(e.node().binary, exact(x), exact(y)) : Expr();
      return narrow ? narrow : e;
    });
  }

 private:
  // What is an i32, whatever the data are.
  Expr exact(const Expr& e) {
    return kept(exact_, e, [&] {
      switch (e.kind()) {
        case Expr::Kind::constant: {
          const auto value = static_cast<std::int32_t>(constant_value(e));
          return value == constant_value(e) ? constant(DType::i32, &value) : Expr();
        }
        case Expr::Kind::convert: {
          const DType from = e.operand(0).dtype();
          if (from == DType::i32) return e.operand(0);
          return is_integer(from) && size_of(from) < size_of(DType::i32) ? convert(DType::i32, e.operand(0)) : Expr();
        }
        case Expr::Kind::select:
          return chosen(e, exact(e.operand(1)), exact(e.operand(2)));
        case Expr::Kind::binary:
          if (e.node().binary != Binary::min && e.node().binary != Binary::max) return Expr();
          return of_both(e.node().binary, exact(e.operand(0)), exact(e.operand(1)));
        default:
          return Expr();
      }
    });
  }
  Expr chosen(const Expr& e, const Expr& yes, const Expr& no) {
    return yes && no ? select(truth(e.operand(0)), yes, no) : Expr();
  }
  static Expr of_both(Binary op, const Expr& x, const Expr& y) { return x && y ? binary(op, x, y) : Expr(); }
  template <class F>
  static Expr kept(std::unordered_map<const Expr::Node*, Expr>& known, const Expr& e, F&& made) {
    if (const auto found = known.find(e.identity()); found != known.end()) return found->second;
    const Expr narrow = made();
    return known[e.identity()] = narrow;
  }

  std::unordered_map<const Expr::Node*, Expr> exact_, wrapped_, truths_;
};

// Whether an update is a number, or read where its number says: nothing is won by computing it first.
bool is_at_hand(const Expr& update) {
  if (update.kind() == Expr::Kind::constant) return true;
  bool plain = update.kind() == Expr::Kind::load;
  if (plain) visit_loads(update.operand(0), [&](const Expr&) { plain = false; });
  return plain;
}

// Where one store's offsets and values are that another nest computes.
struct Computed {
  SlotId offsets;
  DType index;                   // of the offsets
  std::optional<SlotId> values;  // none that are at hand
};
void compute_first(Nest& first, Store& s, const Updates& u, const Computed& slots, const Expr& spare) {
  const Expr here = variable(first.vars[0]), nowhere = spare ? spare : Expr(std::int64_t(-1));
  const DType dtype = s.value.dtype();
  const Expr offset = s.condition ? select(s.condition, s.offset, nowhere) : s.offset;
  first.stores.push_back({slots.offsets, here, slots.index == DType::i32 ? narrow_index(offset) : offset, {}});
  if (slots.values) first.stores.push_back({*slots.values, here, update_of(s), {}});
  s.offset = convert(DType::i64, load(slots.offsets, slots.index, here));
  s.value =
      binary(u.combine, load(s.slot, dtype, s.offset), slots.values ? load(*slots.values, dtype, here) : update_of(s));
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

DType index_dtype(const Dim& places) {
  return at_most(places, std::numeric_limits<std::int32_t>::max()) ? DType::i32 : DType::i64;
}
Expr narrow_index(const Expr& index) { return NarrowIndex().wrapped(index); }
Expr narrow_truth(const Expr& condition) { return NarrowIndex().truth(condition); }

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
  for (const Store& s : n.stores) {
    const DType index = index_dtype(function.slots[s.slot].elements);
    slots.push_back({local(index), index, {}});
    if (!is_at_hand(update_of(s))) slots.back().values = local(s.value.dtype());
  }
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
