#include "tenon/kernel/passes/divide_updates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/analysis/updates.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/passes/compute_updates.h"

namespace tenon::kernel {
namespace {

using Loop = Updates::Loop;

Dim divide_up(const Dim& n, std::int64_t by) { return floor_div(n + (by - 1), by); }

Updates renamed(Updates u, std::uint32_t from, const Loop& to) {
  for (std::vector<Loop>* loops : {&u.free, &u.ordered})
    for (Loop& l : *loops)
      if (l.var == from) l = to;
  return u;
}
void append(Block some, Block& to) { std::ranges::move(some, std::back_inserter(to)); }
Nest set(SlotId slot, const Expr& value) { return Nest{{}, {}, {{slot, Expr(0), value, {}}}}; }

// What a slot holds before the updates: from one place on an element for each index of one loop.
struct Start {
  std::uint32_t var;
  Dim elements;
  Expr value;
};
// Takes out of a block what stores all of that, if a statement does that which may as well happen at the block's end.
std::optional<Start> taken_start(const Updates& u, DType dtype, std::uint32_t& vars, Block& block) {
  std::size_t at = block.size();
  while (at > 0 && !touches(block[at - 1], u.slot)) --at;
  if (at-- == 0) return {};
  std::optional<Start> start;
  Expr offset;
  if (const auto* n = std::get_if<Nest>(&block[at].held())) {
    if (!n->independent || n->vars.size() != 1 || n->stores.size() != 1 || n->stores[0].condition) return {};
    start = {n->vars[0], n->sizes[0], n->stores[0].value};
    offset = n->stores[0].offset;
  } else if (const auto* c = std::get_if<Copy>(&block[at].held())) {
    const std::uint32_t var = vars++;
    start = {var, c->elements, load(c->from, dtype, c->from_offset + variable(var))};
    offset = c->to_offset + variable(var);
  } else {
    return {};
  }
  Affine there{u.first, {}};
  there.add(start->var, 1);
  const auto form = affine(offset);
  if (!form || *form != there) return {};
  bool moves = !changes(block, at + 1, block.size(), start->value);
  visit_loads(start->value, [&](const Expr& e) { moves = moves && e.node().id != u.slot; });
  if (!moves) return {};
  block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
  const std::uint32_t var = vars++;
  Rewrite rename;
  rename.vars.emplace(start->var, variable(var));
  return Start{var, start->elements, rename(start->value)};
}

// What the ways cost, in nanoseconds; infinite where one is not to be had.
struct Prices {
  double serial, columns, owners, parts;
};

class UpdateDivider {
 public:
  UpdateDivider(Function& function, const Target& target)
      : f_(function), target_(target), threads_(std::max(target.threads, 2)) {}
  void run() { block(f_.body); }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  void block(Block& statements) {
    Block result;
    for (Statement& s : statements) {
      if (auto* choice = std::get_if<Switch>(&s.held()))
        for (Block& branch : choice->branches) block(branch);
      const auto* n = std::get_if<Nest>(&s.held());
      if (n == nullptr || !divide(*n, result)) result.push_back(std::move(s));
    }
    statements = std::move(result);
  }

  bool divide(const Nest& n, Block& to) {
    const std::optional<Updates> found = updates_of(n);
    if (!found) return false;
    const Updates& u = *found;
    // Shares of the threads, lists of updates and parts are of sizes that are known here.
    if (!std::ranges::all_of(n.sizes, [](const Dim& size) { return size.known(); })) return false;
    // Lanes that have rows of their own are divided with what makes and reads these.
    if (!u.free.empty() && u.free[0].var == n.vars[0] && !at_most(n.sizes[0], threads_ - 1)) return false;
    const Prices p = prices(n, u);
    const double least = std::min({p.columns, p.owners, p.parts});
    constexpr double worthwhile = 0.8;
    if (p.serial < target_.worth_forking || least > worthwhile * p.serial) return false;
    if (p.columns == least)
      by_columns(n, u, to);
    else if (p.owners == least)
      by_owners(n, u, to);
    else
      in_parts(n, u, to);
    return true;
  }

  // --- prices ---
  static double each(const Nest& n, const Updates& u) {
    double value = 0;
    for (const Store& s : n.stores) value += nanoseconds(update_of(s)) + 0.1;
    const double columns = estimate(u.columns());
    return go_by_vectors(u) ? 2 + columns * value : columns * (1 + value);
  }
  double bytes(const Updates& u) const { return static_cast<double>(size_of(f_.slots[u.slot].dtype)); }

  Prices prices(const Nest& n, const Updates& u) const {
    // Nanoseconds of an update that is looked at, and of an element of a part.
    constexpr double looked_at = 0.8, found = 0.3, of_part = 0.2, of_part_in_memory = 0.8;
    constexpr double cached = 1 << 20, most_bytes = 256 << 20;
    const double run = 4. * static_cast<double>(target_.vector_bytes);
    const double count = estimate(u.updates()), threads = static_cast<double>(threads_), all = count * each(n, u);
    Prices p{all, never, never, never};
    if (const auto l = column(u); l && estimate(l->size) * estimate(l->stride) * bytes(u) >= threads * run)
      p.columns = all / threads + count * found;
    if (has_owners(u)) p.owners = all / threads + count * looked_at;
    const double elements = estimate(part_stride(u) * turns(u)), parts = estimate(part_count(longest(u).size, u));
    const double part_bytes = parts * elements * bytes(u);
    if (u.in_any_order && part_bytes <= most_bytes)
      p.parts = all / threads + parts * elements * (part_bytes > cached ? of_part_in_memory : of_part);
    return p;
  }
  // The loop that is divided by columns: the one of most elements.
  static std::optional<Loop> column(const Updates& u) {
    std::optional<Loop> best;
    for (const Loop& l : u.free)
      if (!best || estimate(l.size) * estimate(l.stride) > estimate(best->size) * estimate(best->stride)) best = l;
    return best;
  }
  static const Loop& longest(const Updates& u) {
    return *std::ranges::max_element(u.ordered, {}, [](const Loop& l) { return estimate(l.size); });
  }

  // Blocks of `length` of a loop; `part` makes the statements for some of its indices, as a loop of its own.
  template <class Part>
  Blocks divided(const Loop& whole, const Dim& length, Part&& part) {
    Blocks blocks{f_.vars++, floor_div(whole.size, length), modulo(whole.size, length), {}, {}, true, 1, {}};
    const auto some = [&](const Dim& count) {
      const Loop within{f_.vars++, count, whole.stride};
      return part(
          variable(blocks.var), within,
          std::map<std::uint32_t, Expr>{{whole.var, variable(blocks.var) * size(length) + variable(within.var)}});
    };
    blocks.body = some(length);
    if (blocks.rest != Dim(0)) blocks.tail = some(blocks.rest);
    return blocks;
  }

  // --- by columns ---
  void by_columns(const Nest& n, const Updates& u, Block& to) {
    const Loop whole = *column(u);
    const std::int64_t unit = whole.stride == Dim(1) ? target_.vector_bytes : 1;  // a line at least
    const Dim width = divide_up(divide_up(whole.size, threads_), unit) * unit;
    to.push_back(divided(whole, width, [&](const Expr&, const Loop& within, const auto& vars) {
      const Updates part = renamed(u, whole.var, within);
      return combined_updates(f_, target_, nest_over(n, loops_of(part), vars, false), part, loops_of(part));
    }));
  }

  // --- by owners ---
  // A power of two of rows that one thread owns: whole pages, or so many that each thread has several such blocks.
  std::int64_t owned_shift(const Updates& u) const {
    constexpr double blocks_each = 8;
    const auto line = static_cast<double>(target_.vector_bytes), page = 64 * line;
    const double row = estimate(u.unit) * bytes(u);
    const double most = estimate(u.rows) / (blocks_each * static_cast<double>(threads_)) * row;
    const double wanted = std::clamp(std::min(page, most), line, page) / row;
    return static_cast<std::int64_t>(std::max(std::floor(std::log2(wanted)), 0.));
  }
  bool has_owners(const Updates& u) const {
    return estimate(u.rows) >= 4. * static_cast<double>((std::int64_t(1) << owned_shift(u)) * threads_);
  }

  // Of a chunk of updates: the row of each, 1 for those that are the owner's and else 0, the numbers of these within
  // the chunk, how many they are, and how many have been taken.
  struct List {
    SlotId rows, owned, numbers, count, at;
  };
  // An element of one of these, whatever integer it is kept as.
  Expr number(SlotId slot, const Expr& at = Expr(0)) const {
    return convert(DType::i64, load(slot, f_.slots[slot].dtype, at));
  }

  void by_owners(Nest n, const Updates& u, Block& to) {
    const std::uint32_t owner = f_.vars++;
    const std::optional<Start> start =
        u.whole_rows ? taken_start(u, f_.slots[u.slot].dtype, f_.vars, to) : std::nullopt;
    if (are_computed_first(n, u)) store_first(n, u, to);
    const std::int64_t chunk = chunk_of(target_);
    Blocks owners{owner, threads_, 0, {}, {}, true, 1, {}};
    const auto local = [&](DType dtype, std::int64_t elements) {
      f_.slots.push_back({dtype, elements, Slot::Place::local});
      owners.own.push_back(static_cast<SlotId>(f_.slots.size() - 1));
      return owners.own.back();
    };
    const List list{local(index_dtype(u.rows), chunk), local(DType::i32, chunk), local(DType::i32, chunk),
                    local(DType::i64, 1), local(DType::i64, 1)};
    const Dim all = u.updates();
    Blocks chunks{f_.vars++, floor_div(all, chunk), modulo(all, chunk), {}, {}, false, 1, {}};
    const auto part = [&](const Dim& size) {
      const Expr first = variable(chunks.var) * Expr(chunk);
      Block body = collect(n, u, owner, first, size, list);
      append(take(n, u, first, list), body);
      return body;
    };
    chunks.body = part(chunk);
    if (chunks.rest != Dim(0)) chunks.tail = part(chunks.rest);
    if (start) append(started(n, u, owner, *start), owners.body);
    owners.body.push_back(std::move(chunks));
    to.push_back(std::move(owners));
  }

  // What an owner's rows hold before the updates, in the memory near it.
  Block started(const Nest& n, const Updates& u, std::uint32_t owner, const Start& start) {
    const Dim run = u.unit * (std::int64_t(1) << owned_shift(u)), round = run * threads_;
    const Dim rounds = floor_div(start.elements, round);
    const auto nest = [&](const Expr& number, bool whole) {
      const std::uint32_t var = f_.vars++;
      const Expr at = (number * Expr(threads_) + variable(owner)) * size(run) + variable(var);
      Rewrite here;
      here.vars.emplace(start.var, at);
      const Expr exists = whole ? Expr() : binary(Binary::lt, at, size(start.elements));
      return Nest{{var}, {run}, {{u.slot, size(u.first) + at, here(start.value), exists}}, true, n.where};
    };
    const std::uint32_t number = f_.vars++;
    Block all;
    if (rounds != Dim(0)) all.push_back(For{number, rounds, {nest(variable(number), true)}});
    if (modulo(start.elements, round) != Dim(0)) all.push_back(nest(size(rounds), false));
    return all;
  }

  // Updates that are costly and go one by one, in memory first.
  void store_first(Nest& n, const Updates& u, Block& to) {
    Dim elements = 1;
    Expr index(std::int64_t(0));
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      elements = elements * n.sizes[i];
      index = index * size(n.sizes[i]) + variable(n.vars[i]);
    }
    Nest values{n.vars, n.sizes, {}, true, n.where};
    for (Store& s : n.stores) {
      const DType dtype = s.value.dtype();
      f_.slots.push_back({dtype, room_for(f_, dtype, elements), Slot::Place::arena});
      const auto slot = static_cast<SlotId>(f_.slots.size() - 1);
      values.stores.push_back({slot, index, update_of(s), {}});
      s.value = binary(u.combine, s.value.operand(0), load(slot, dtype, index));
    }
    to.push_back(std::move(values));
  }

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

  Block collect(const Nest& n, const Updates& u, std::uint32_t owner, const Expr& first, const Dim& some,
                const List& to) {
    const std::uint32_t var = f_.vars++, next = f_.vars++;
    Rewrite here;
    here.vars = by_number(u, first + variable(var));
    const bool narrow = f_.slots[to.rows].dtype == DType::i32;
    const Expr row = narrow ? narrow_index(here(u.row)) : here(u.row);
    const auto like_row = [&](std::int64_t value) { return constant_like(row, static_cast<double>(value)); };
    const Expr group = binary(Binary::shift_right, row, like_row(owned_shift(u)));
    const bool power = (threads_ & (threads_ - 1)) == 0;
    const Expr turn = power ? binary(Binary::and_, group, like_row(threads_ - 1)) : group % like_row(threads_);
    Expr mine = binary(Binary::eq, turn, convert(row.dtype(), variable(owner)));
    if (of_update(n, u)) {
      const Expr made = here(n.stores[0].condition);
      mine = binary(Binary::and_, mine, narrow ? narrow_truth(made) : made);
    }
    Nest found{{var}, {some}, {}, true, n.where};
    found.stores.push_back({to.rows, variable(var), row, {}});
    found.stores.push_back({to.owned, variable(var), convert(DType::i32, mine), {}});
    const Expr count = number(to.count);
    Nest listed{{next}, {some}, {}, false, n.where};
    listed.stores.push_back({to.numbers, count, convert(DType::i32, variable(next)), {}});
    listed.stores.push_back({to.count, Expr(0), count + number(to.owned, variable(next)), {}});
    return {std::move(found), set(to.count, Expr(std::int64_t(0))), std::move(listed)};
  }

  Block take(const Nest& n, const Updates& u, const Expr& first, const List& from) {
    const Expr at = number(from.at), taken = number(from.numbers, at);
    Nest each = nest_over(n, by_stride(u.free), by_number(u, first + taken), true);
    Expr place = number(from.rows, taken) * size(u.unit) + size(u.first);
    for (const Loop& l : u.free) place = place + variable(l.var) * size(l.stride);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Store& s : n.stores) least = std::min(least, without_constant(s.offset).second);
    for (std::size_t k = 0; k < each.stores.size(); ++k) {
      Store& s = each.stores[k];
      s.offset = place + Expr(without_constant(n.stores[k].offset).second - least);
      s.value = binary(u.combine, load(s.slot, s.value.dtype(), s.offset), update_of(s));
      if (of_update(n, u)) s.condition = {};
    }
    While all{{}, binary(Binary::lt, at, number(from.count)), {}};
    all.body = {std::move(each), set(from.at, at + Expr(1))};
    return {set(from.at, Expr(std::int64_t(0))), std::move(all)};
  }

  // --- in parts ---
  // From one part to the next: its elements and a spare one, in whole lines.
  Dim part_stride(const Updates& u) const {
    const std::int64_t line = Slot::line / static_cast<std::int64_t>(bytes(u));
    return divide_up(u.elements + 1, line) * line;
  }
  std::int64_t most_parts(const Updates& u) const {
    constexpr std::int64_t few = 4096;
    return at_most(u.elements, few) ? 4 * threads_ : threads_;
  }
  Dim part_count(const Dim& updates, const Updates& u) const {
    const Dim length = divide_up(updates, most_parts(u));
    return floor_div(updates + length - 1, length);
  }

  // Copies that the updates of a part go to in turn, a power of two: one that meets what another has just stored waits
  // for it, which they do often where there are few places.
  std::int64_t turns(const Updates& u) const {
    constexpr std::int64_t most = 4, cached_bytes = 16 << 10;
    if (!u.free.empty() || !u.elements.known()) return 1;
    const std::int64_t inner = loops_of(u).back().size.value(), copies = inner >= most ? most : inner >= 2 ? 2 : 1;
    // One thread clears and sums as many elements more as there are copies, for all threads.
    const std::int64_t least_each = std::max(target_.updates_of_copies, 2 * threads_);
    const Dim updates = floor_div(u.updates(), most_parts(u));
    const bool pays = at_most(u.elements, cached_bytes / (static_cast<std::int64_t>(bytes(u)) * copies)) &&
                      !at_most(updates, copies * least_each * u.elements.value());
    return pays ? copies : 1;
  }

  void in_parts(const Nest& n, const Updates& u, Block& to) {
    const Loop whole = longest(u);
    const DType dtype = f_.slots[u.slot].dtype;
    const std::int64_t copies = turns(u);
    const Dim part_elements = part_stride(u) * copies;
    f_.slots.push_back({dtype, room_for(f_, dtype, part_elements * most_parts(u)), Slot::Place::arena});
    const auto parts = static_cast<SlotId>(f_.slots.size() - 1);
    const auto part = [&](const Expr& number, const Loop& within, const auto& vars) {
      const Expr begin = number * size(part_elements);
      const std::uint32_t cleared = f_.vars++;
      const Expr place = begin + variable(cleared);
      // The spare element, too: updates that are not made read what is there.
      const Dim all = part_stride(u) * (copies - 1) + u.elements + 1;
      Block body{Nest{{cleared}, {all}, {{parts, place, identity_of(u.combine, dtype), {}}}, true, n.where}};
      const Updates now = renamed(u, whole.var, within);
      Nest nest = nest_over(n, loops_of(now), vars, false);
      Expr copy = begin;
      if (copies > 1) {
        const Expr turn = binary(Binary::and_, variable(loops_of(now).back().var), Expr(copies - 1));
        copy = begin + turn * size(part_stride(u));
      }
      for (Store& s : nest.stores) {
        s.slot = parts;
        s.offset = copy + (s.offset - size(u.first));
        s.value = binary(u.combine, load(parts, dtype, s.offset), update_of(s));
      }
      append(combined_updates(f_, target_, nest, now, loops_of(now), begin + size(u.elements)), body);
      return body;
    };
    to.push_back(divided(whole, divide_up(whole.size, most_parts(u)), part));
    combine(n, u, parts, part_count(whole.size, u) * copies, to);
  }

  void combine(const Nest& n, const Updates& u, SlotId parts, const Dim& count, Block& to) {
    const DType dtype = f_.slots[u.slot].dtype;
    const auto range = [&](const Expr& index, const Loop& elements) {
      const std::uint32_t p = f_.vars++;
      const Expr place = size(u.first) + index;
      const Expr value = load(parts, dtype, variable(p) * size(part_stride(u)) + index);
      const Expr so_far = load(u.slot, dtype, place);
      return Nest{{p, elements.var},
                  {count, elements.size},
                  {{u.slot, place, binary(u.combine, so_far, value), {}}},
                  false,
                  n.where};
    };
    const Loop all{f_.vars++, u.elements, 1};
    constexpr double each = 0.1;
    if (estimate(u.elements) * estimate(count) * each < target_.worth_forking || !u.elements.known())
      return to.push_back(range(variable(all.var), all));
    constexpr std::int64_t unit = 1024;
    const Dim length = divide_up(divide_up(u.elements, threads_), unit) * unit;
    to.push_back(divided(all, length, [&](const Expr&, const Loop& within, const auto& vars) {
      return Block{range(vars.at(all.var), within)};
    }));
  }

  Function& f_;
  const Target target_;
  const std::int64_t threads_;
};

}  // namespace

void divide_updates(Function& function, const Target& target) { UpdateDivider(function, target).run(); }

}  // namespace tenon::kernel
