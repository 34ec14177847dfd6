#include "tenon/kernel/passes/divide_updates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/analysis/updates.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using Loop = Updates::Loop;

Dim divide_up(const Dim& n, std::int64_t by) { return floor_div(n + (by - 1), by); }

// A nest that goes over these loops, in this order, with other variables for some.
Nest nest_over(const Nest& n, const std::vector<Loop>& loops, const std::map<std::uint32_t, Expr>& vars, bool independent) {
  Rewrite rewrite;
  rewrite.vars = vars;
  Nest result{{}, {}, {}, independent, n.where, n.combines && !independent};
  for (const Loop& l : loops) result.vars.push_back(l.var), result.sizes.push_back(l.size);
  for (const Store& s : n.stores)
    result.stores.push_back({s.slot, rewrite(s.offset), rewrite(s.value), rewrite(s.condition)});
  return result;
}

// Those that lie beside each other last.
std::vector<Loop> by_stride(std::vector<Loop> loops) {
  std::ranges::stable_sort(loops, [](const Loop& x, const Loop& y) { return estimate(x.stride) > estimate(y.stride); });
  return loops;
}
std::vector<Loop> all_loops(const Updates& u) {
  std::vector<Loop> loops = u.ordered;
  for (const Loop& l : by_stride(u.free)) loops.push_back(l);
  return loops;
}

// What a store combines with what is there.
Expr update_of(const Store& s) { return s.value.operand(1); }

// One number goes at a time where no columns lie beside each other, and vectors would compute it faster.
bool goes_by_vectors(const Updates& u) {
  return !u.free.empty() && by_stride(u.free).back().stride == Dim(1) && !at_most(by_stride(u.free).back().size, 3);
}
bool is_costly(const Nest& n) {
  constexpr double most = 8;  // instructions
  Instructions all;
  for (const Store& s : n.stores) all.add(update_of(s));
  return all.in_functions() > 0 || all.number() > most;
}

// What the ways cost, in nanoseconds; infinite where one is not to be had.
struct Prices {
  double serial = 0, columns = 0, owners = 0, parts = 0;
};

class Divider {
 public:
  Divider(Function& function, const Target& target) : f_(function), target_(target), threads_(std::max(target.threads, 2)) {}
  void run() { block(f_.body, true); }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t chunk = 1024;  // updates

  void block(Block& statements, bool may_fork) {
    Block result;
    for (Statement& s : statements) {
      const bool divided = std::holds_alternative<Blocks>(s.held()), choice = std::holds_alternative<Switch>(s.held());
      for_each_block(s, [&](Block& inside) { block(inside, may_fork && !divided && choice); });
      const auto* n = std::get_if<Nest>(&s.held());
      if (n == nullptr || !divide(*n, may_fork, result)) result.push_back(std::move(s));
    }
    statements = std::move(result);
  }

  bool divide(const Nest& n, bool may_fork, Block& to) {
    const std::optional<Updates> found = updates_of(n);
    if (!found) return false;
    const Updates& u = *found;
    const Prices p = prices(n, u);
    const double least = std::min({p.columns, p.owners, p.parts});
    if (may_fork && p.serial >= target_.worth_forking && least < 0.8 * p.serial) {
      if (p.columns == least)
        by_columns(n, u, to);
      else if (p.owners == least)
        by_owners(n, u, to);
      else
        in_parts(n, u, to);
      return true;
    }
    const bool moves = n.vars.back() != all_loops(u).back().var && goes_by_vectors(u);
    if (!moves && !computes_first(n, u)) return false;
    append(updates(n, u, all_loops(u)), to);
    return true;
  }

  // --- prices ---
  double each(const Nest& n, const Updates& u) const {
    double value = 0;
    for (const Store& s : n.stores) value += nanoseconds(update_of(s)) + 0.1;
    const double columns = estimate(u.columns());
    return goes_by_vectors(u) ? 2 + columns * value : columns * (1 + value);
  }
  double bytes(const Updates& u) const { return static_cast<double>(size_of(f_.slots[u.slot].dtype)); }

  Prices prices(const Nest& n, const Updates& u) const {
    constexpr double looked_at = 0.8, cleared_and_combined = 0.3, lines = 256, most_bytes = 64 << 20;
    const double count = estimate(u.updates()), threads = static_cast<double>(threads_), all = count * each(n, u);
    Prices p{all, never, never, never};
    if (const auto l = column(u); l && estimate(l->size) * run_bytes(u, *l) >= threads * lines)
      p.columns = all / threads + count * 0.3;
    if (has_owners(u)) p.owners = all / threads + count * looked_at;
    const double elements = estimate(u.elements), parts = estimate(part_count(longest(u).size, elements));
    if (u.in_any_order && parts * elements * bytes(u) <= most_bytes)
      p.parts = all / threads + parts * elements * cleared_and_combined / 1.5;
    return p;
  }
  // The loop that is divided by columns: the one of most bytes.
  std::optional<Loop> column(const Updates& u) const {
    std::optional<Loop> best;
    for (const Loop& l : u.free)
      if (!best || estimate(l.size) * estimate(l.stride) > estimate(best->size) * estimate(best->stride)) best = l;
    return best;
  }
  double run_bytes(const Updates& u, const Loop& l) const { return estimate(l.stride) * bytes(u); }
  const Loop& longest(const Updates& u) const {
    return *std::ranges::max_element(u.ordered, {}, [](const Loop& l) { return estimate(l.size); });
  }

  // --- the nest for some of its indices ---
  static void append(Block some, Block& to) { std::ranges::move(some, std::back_inserter(to)); }

  bool computes_first(const Nest& n, const Updates& u) const {
    constexpr std::int64_t few = 4;
    return !goes_by_vectors(u) && is_costly(n) && !at_most(n.sizes.back(), few) && !n.vars.empty();
  }

  // With updates that are costly computed first, a chunk at a time.
  Block updates(const Nest& n, const Updates& u, const std::vector<Loop>& loops) {
    if (!computes_first(n, u)) return {nest_over(n, loops, {}, false)};
    const Loop last = loops.back();
    const std::int64_t step = last.size.known() ? std::min(last.size.value(), chunk) : chunk;
    Blocks chunks{f_.vars++, floor_div(last.size, step), modulo(last.size, step), {}, {}, false, 1, {}};
    for (const Store& s : n.stores) {
      f_.slots.push_back({s.value.dtype(), step, Slot::Place::local});
      chunks.own.push_back(static_cast<SlotId>(f_.slots.size() - 1));
    }
    const auto part = [&](const Dim& size) {
      const Loop within{f_.vars++, size, last.stride};
      Nest now = nest_over(n, {within}, {{last.var, variable(chunks.var) * Expr(step) + variable(within.var)}}, false);
      Nest values{now.vars, now.sizes, {}, true, n.where};
      for (std::size_t k = 0; k < now.stores.size(); ++k) {
        Store& s = now.stores[k];
        values.stores.push_back({chunks.own[k], variable(within.var), update_of(s), {}});
        s.value = binary(u.combine, s.value.operand(0), load(chunks.own[k], s.value.dtype(), variable(within.var)));
      }
      return Block{std::move(values), std::move(now)};
    };
    chunks.body = part(step);
    if (chunks.rest != Dim(0)) chunks.tail = part(chunks.rest);
    Statement all = std::move(chunks);
    for (std::size_t i = loops.size() - 1; i-- > 0;) all = For{loops[i].var, loops[i].size, {std::move(all)}};
    return {std::move(all)};
  }

  // How many blocks a thread takes at least: where only running tells how many updates there are, all of them if these
  // are few.
  Dim grain(const Nest& n, const Updates& u, std::int64_t blocks) const {
    if (u.updates().known() && u.columns().known()) return 1;
    const double each_update = each(n, u);
    const auto few = static_cast<std::int64_t>(std::max(target_.worth_forking / std::max(each_update, 1.), 1.));
    return max(Dim(blocks) - floor_div(u.updates(), few), 1);
  }

  // --- by columns ---
  void by_columns(const Nest& n, const Updates& u, Block& to) {
    const Loop whole = *column(u);
    constexpr std::int64_t line = 64;
    const std::int64_t unit = at_most(whole.stride, line) ? line : 1;
    const Dim width = whole.size.known() ? divide_up(divide_up(whole.size, threads_), unit) * unit
                                         : max(divide_up(divide_up(whole.size, threads_), unit) * unit, 1);
    Blocks blocks{f_.vars++, floor_div(whole.size, width), modulo(whole.size, width), {}, {}, true, 1, {}};
    blocks.grain = grain(n, u, threads_);
    const auto part = [&](const Dim& size) {
      const Loop within{f_.vars++, size, whole.stride};
      std::vector<Loop> loops = all_loops(u);
      for (Loop& l : loops)
        if (l.var == whole.var) l = within;
      const Nest now =
          nest_over(n, loops, {{whole.var, variable(blocks.var) * kernel::size(width) + variable(within.var)}}, false);
      return updates(now, renamed(u, whole.var, within), loops);
    };
    blocks.body = part(width);
    if (blocks.rest != Dim(0)) blocks.tail = part(blocks.rest);
    to.push_back(std::move(blocks));
  }
  static Updates renamed(Updates u, std::uint32_t from, const Loop& to) {
    for (std::vector<Loop>* loops : {&u.free, &u.ordered})
      for (Loop& l : *loops)
        if (l.var == from) l = to;
    return u;
  }

  // --- by owners ---
  // A block of rows that one thread owns: whole pages, or what leaves each thread several.
  std::int64_t owned_elements(const Updates& u) const {
    constexpr double page = 4096, line = 64, blocks_each = 8;
    const double most = estimate(u.reach) * bytes(u) / (blocks_each * static_cast<double>(threads_));
    const double wanted = std::clamp(std::min(page, most), line, page) / bytes(u);
    return std::int64_t(1) << static_cast<int>(std::floor(std::log2(wanted)));
  }
  bool has_owners(const Updates& u) const {
    return estimate(u.reach) >= 4. * static_cast<double>(owned_elements(u) * threads_);
  }

  void by_owners(Nest n, const Updates& u, Block& to) {
    if (computes_first(n, u)) store_first(n, u, to);
    const std::uint32_t owner = f_.vars++;
    const auto local = [&](std::int64_t elements) {
      f_.slots.push_back({DType::i64, elements, Slot::Place::local});
      return static_cast<SlotId>(f_.slots.size() - 1);
    };
    const SlotId list = local(chunk), count = local(1), at = local(1);
    const Dim all = u.updates();
    Blocks chunks{f_.vars++, floor_div(all, chunk), modulo(all, chunk), {}, {}, false, 1, {}};
    const auto part = [&](const Dim& size) {
      Block body = collect(n, u, owner, variable(chunks.var) * Expr(chunk), size, {list, count});
      append(take(n, u, {list, count}, at), body);
      return body;
    };
    chunks.body = part(chunk);
    if (chunks.rest != Dim(0)) chunks.tail = part(chunks.rest);
    to.push_back(Blocks{owner, threads_, 0, {std::move(chunks)}, {}, true, grain(n, u, threads_), {list, count, at}});
  }

  // Updates that are costly and go one by one, in memory first.
  void store_first(Nest& n, const Updates& u, Block& to) {
    Dim elements = 1;
    Expr index(std::int64_t(0));
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      elements = elements * n.sizes[i];
      index = index * size(n.sizes[i]) + variable(n.vars[i]);
    }
    const Loop& divided = longest(u);
    Nest values{n.vars, n.sizes, {}, true, n.where};
    for (Store& s : n.stores) {
      const DType dtype = s.value.dtype();
      f_.slots.push_back({dtype, room_for(f_, dtype, elements), Slot::Place::arena});
      const auto slot = static_cast<SlotId>(f_.slots.size() - 1);
      values.stores.push_back({slot, index, update_of(s), {}});
      s.value = binary(u.combine, s.value.operand(0), load(slot, dtype, index));
    }
    const std::int64_t blocks = 4 * threads_;
    const Dim length = divide_up(divided.size, blocks);
    Blocks all{f_.vars++, floor_div(divided.size, length), modulo(divided.size, length), {}, {}, true, 1, {}};
    all.grain = grain(n, u, blocks);
    const auto part = [&](const Dim& some) {
      const Loop within{f_.vars++, some, 0};
      std::vector<Loop> loops;
      for (std::size_t i = 0; i < n.vars.size(); ++i)
        loops.push_back(n.vars[i] == divided.var ? within : Loop{n.vars[i], n.sizes[i], 0});
      return Block{nest_over(values, loops,
                             {{divided.var, variable(all.var) * size(length) + variable(within.var)}}, true)};
    };
    all.body = part(length);
    if (all.rest != Dim(0)) all.tail = part(all.rest);
    to.push_back(std::move(all));
  }

  // A list of numbers, and how many there are.
  struct List {
    SlotId numbers, count;
    Expr counted() const { return load(count, DType::i64, Expr(0)); }
  };

  // The indices of an update by its number.
  static std::map<std::uint32_t, Expr> by_number(const Updates& u, Expr number) {
    std::map<std::uint32_t, Expr> vars;
    for (std::size_t i = u.ordered.size(); i-- > 0;) {
      const Expr extent = size(u.ordered[i].size);
      vars.emplace(u.ordered[i].var, i == 0 ? number : number % extent);
      if (i > 0) number = number / extent;
    }
    return vars;
  }
  // Whether an update is taken for all columns or none.
  static bool of_update(const Nest& n, const Updates& u) {
    const Expr& condition = n.stores[0].condition;
    if (!condition) return false;
    for (const Store& s : n.stores)
      if (!s.condition || s.condition.identity() != condition.identity()) return false;
    return std::ranges::none_of(u.free, [&](const Loop& l) { return depends_on(condition, l.var); });
  }

  Block collect(const Nest& n, const Updates& u, std::uint32_t owner, const Expr& first, const Dim& some, const List& to) {
    const std::uint32_t var = f_.vars++;
    const Expr number = first + variable(var);
    Rewrite here;
    here.vars = by_number(u, number);
    const std::int64_t owned = owned_elements(u);
    const Expr group = binary(Binary::shift_right, here(u.row), Expr(static_cast<std::int64_t>(std::log2(owned))));
    const bool power = (threads_ & (threads_ - 1)) == 0;
    const Expr turn = power ? binary(Binary::and_, group, Expr(threads_ - 1)) : group % Expr(threads_);
    Expr mine = binary(Binary::eq, turn, variable(owner));
    if (of_update(n, u)) mine = binary(Binary::and_, mine, here(n.stores[0].condition));
    Nest found{{var}, {some}, {}, false, n.where};
    found.stores.push_back({to.numbers, to.counted(), number, {}});
    found.stores.push_back({to.count, Expr(0), to.counted() + convert(DType::i64, mine), {}});
    return {Nest{{}, {}, {{to.count, Expr(0), Expr(std::int64_t(0)), {}}}}, std::move(found)};
  }

  Block take(const Nest& n, const Updates& u, const List& from, SlotId at) {
    const Expr now = load(at, DType::i64, Expr(0));
    Nest each = nest_over(n, by_stride(u.free), by_number(u, load(from.numbers, DType::i64, now)), true);
    if (of_update(n, u))
      for (Store& s : each.stores) s.condition = {};
    While all{{}, binary(Binary::lt, now, from.counted()), {}};
    all.body = {std::move(each), Nest{{}, {}, {{at, Expr(0), now + Expr(1), {}}}}};
    return {Nest{{}, {}, {{at, Expr(0), Expr(std::int64_t(0)), {}}}}, std::move(all)};
  }

  // --- in parts ---
  std::int64_t most_parts(double elements) const {
    constexpr double few = 4096;
    return elements > few ? threads_ : 4 * threads_;
  }
  Dim part_count(const Dim& updates, double elements) const {
    const Dim length = divide_up(updates, most_parts(elements));
    return floor_div(updates + length - 1, length);
  }

  void in_parts(const Nest& n, const Updates& u, Block& to) {
    const Loop whole = longest(u);
    const std::int64_t most = most_parts(estimate(u.elements));
    const Dim length = divide_up(whole.size, most), count = floor_div(whole.size + length - 1, length);
    const DType dtype = f_.slots[u.slot].dtype;
    f_.slots.push_back({dtype, room_for(f_, dtype, u.elements * most), Slot::Place::arena});
    const auto parts = static_cast<SlotId>(f_.slots.size() - 1);
    Blocks blocks{f_.vars++, floor_div(whole.size, length), modulo(whole.size, length), {}, {}, true, 1, {}};
    blocks.grain = grain(n, u, most);
    const Expr begin = variable(blocks.var) * size(u.elements);
    const auto part = [&](const Dim& some) {
      const std::uint32_t cleared = f_.vars++;
      Block body{Nest{{cleared},
                      {u.elements},
                      {{parts, begin + variable(cleared), identity_of(u.combine, dtype), {}}},
                      true,
                      n.where}};
      const Loop within{f_.vars++, some, whole.stride};
      std::vector<Loop> loops = all_loops(u);
      for (Loop& l : loops)
        if (l.var == whole.var) l = within;
      Nest now = nest_over(n, loops, {{whole.var, variable(blocks.var) * size(length) + variable(within.var)}}, false);
      for (Store& s : now.stores) {
        s.slot = parts;
        s.offset = begin + (s.offset - size(u.first));
        s.value = binary(u.combine, load(parts, dtype, s.offset), update_of(s));
      }
      append(updates(now, renamed(u, whole.var, within), loops), body);
      return body;
    };
    blocks.body = part(length);
    if (blocks.rest != Dim(0)) blocks.tail = part(blocks.rest);
    to.push_back(std::move(blocks));
    combine(n, u, parts, count, to);
  }

  void combine(const Nest& n, const Updates& u, SlotId parts, const Dim& count, Block& to) {
    const DType dtype = f_.slots[u.slot].dtype;
    const auto range = [&](const Expr& first, const Dim& some) {
      const std::uint32_t p = f_.vars++, i = f_.vars++;
      const Expr index = first + variable(i), place = size(u.first) + index;
      const Expr value = load(parts, dtype, variable(p) * size(u.elements) + index);
      return Nest{{p, i},
                  {count, some},
                  {{u.slot, place, binary(u.combine, load(u.slot, dtype, place), value), {}}},
                  false,
                  n.where};
    };
    constexpr double each = 0.1;
    if (estimate(u.elements) * estimate(count) * each < 2 * target_.worth_forking || !u.elements.known())
      return to.push_back(range(Expr(std::int64_t(0)), u.elements));
    constexpr std::int64_t unit = 1024;
    const Dim length = divide_up(divide_up(u.elements, threads_), unit) * unit;
    Blocks blocks{f_.vars++, floor_div(u.elements, length), modulo(u.elements, length), {}, {}, true, 1, {}};
    const Expr first = variable(blocks.var) * size(length);
    blocks.body = {range(first, length)};
    if (blocks.rest != Dim(0)) blocks.tail = {range(first, blocks.rest)};
    to.push_back(std::move(blocks));
  }

  Function& f_;
  const Target target_;
  const std::int64_t threads_;
};

}  // namespace

void divide_updates(Function& function, const Target& target) { Divider(function, target).run(); }

}  // namespace tenon::kernel
