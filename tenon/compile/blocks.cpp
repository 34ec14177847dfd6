#include "tenon/compile/blocks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "tenon/base/settings.h"
#include "tenon/compile/cost.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/rows.h"
#include "tenon/runtime/parallel_for.h"

namespace tenon {
namespace {

using kernel::at_most;
using kernel::Block;
using kernel::estimate;
using kernel::Expr;
using kernel::product_of;
using kernel::RowAccess;
using kernel::SlotId;
using kernel::Statement;

constexpr std::int64_t own_limit = 64 * 1024;  // bytes of one own slot: it lies on the stack
constexpr std::int64_t parts_limit = 1 << 16;  // elements of all parts of a sum
constexpr std::size_t longest_group = 64;      // statements

// How a group touches a slot: by rows of one stride, or otherwise.
struct Use {
  Dim stride = 0;
  bool written = false, by_rows = true, high = false;
};
using Uses = std::map<SlotId, Use>;

bool agrees(const Uses& uses) {
  return std::ranges::all_of(uses, [](const auto& use) { return !use.second.written || use.second.by_rows; });
}

void merge(Uses& uses, std::span<const RowAccess> accesses, const Dim& rows) {
  for (const RowAccess& a : accesses) {
    const kernel::RowStride s = row_stride(a, rows);
    Use& use = uses[a.slot];
    use.by_rows = use.by_rows && s.stride != Dim(0) && (use.stride == Dim(0) || use.stride == s.stride);
    use.stride = s.stride;
    use.written = use.written || a.write;
    use.high = use.high || s.high;
  }
}

bool contains_loop(const Statement& s) { return std::holds_alternative<kernel::For>(s.held()); }

class Divider {
 public:
  Divider(kernel::Function& function, const BlockLimits& limits)
      : f_(function),
        limits_(limits),
        threads_(std::max(limits.threads, 2)),
        references_(kernel::SlotUses(function).references) {}

  void run() { f_.body = block(std::move(f_.body), true); }

 private:
  struct Group {
    Dim rows = 0;
    std::vector<Statement> members;
    Uses uses;
    std::set<SlotId> sums;  // results of divided sums: not there before the group ends
    std::set<SlotId> reads, writes;
  };

  Block block(Block statements, bool may_fork) {
    Block result;
    Group group;
    for (Statement& s : statements) {
      if (join(group, s)) continue;
      if (!group.members.empty() && independent(group, s)) {
        finish_single(std::move(s), may_fork, result);
        continue;
      }
      close(group, may_fork, result);
      if (!join(group, s)) finish_single(std::move(s), may_fork, result);
    }
    close(group, may_fork, result);
    return result;
  }

  // --- forming groups ---
  bool join(Group& group, const Statement& s) {
    if (group.members.size() >= longest_group) return false;
    if (group.members.empty()) {
      for (const Dim& rows : row_counts(s)) {
        Group fresh{rows};
        if (extend(fresh, s)) {
          group = std::move(fresh);
          return true;
        }
      }
      return false;
    }
    if (extend(group, s)) return true;
    // The group may be divided otherwise: a flat nest has any number of rows.
    for (const Dim& rows : row_counts(s)) {
      if (rows == group.rows) continue;
      Group again{rows};
      if (std::ranges::all_of(group.members, [&](const Statement& m) { return extend(again, m); }) &&
          extend(again, s)) {
        group = std::move(again);
        return true;
      }
    }
    return false;
  }

  bool extend(Group& group, const Statement& s) {
    bool after_sum = false;
    visit_slots(s, [&](SlotId slot, bool) { after_sum = after_sum || group.sums.contains(slot); });
    if (after_sum) return false;
    std::vector<RowAccess> accesses;
    if (!row_accesses(s, group.rows, may_divide_sums_, contains_loop(s), accesses)) return false;
    Uses uses = group.uses;
    merge(uses, accesses, group.rows);
    if (!agrees(uses)) return false;
    group.uses = std::move(uses);
    if (const auto* r = std::get_if<kernel::Reduce>(&s.held()); r != nullptr && divides_sum(*r, group.rows)) {
      if (group.uses.contains(r->slot) || !product_of(r->outer_sizes).known()) return false;
      group.sums.insert(r->slot);
    }
    group.members.push_back(s);
    visit_slots(s, [&](SlotId slot, bool write) { (write ? group.writes : group.reads).insert(slot); });
    return true;
  }

  static bool independent(const Group& group, const Statement& s) {
    bool apart = true;
    visit_slots(s, [&](SlotId slot, bool write) {
      apart = apart && !group.writes.contains(slot) && (!write || !group.reads.contains(slot));
    });
    return apart;
  }

  // --- what becomes of a group ---
  void close(Group& group, bool may_fork, Block& result) {
    if (group.members.empty()) return;
    Group closed = std::move(group);
    group = {};
    double cost = 0;
    for (const Statement& s : closed.members) cost += nanoseconds(s);
    const bool fork = may_fork && cost >= limits_.worth_forking;
    const std::int64_t step = block_rows(closed, fork);
    if (at_most(closed.rows, step) || !(fork || worth_blocking(closed))) {
      for (Statement& s : closed.members) finish_single(std::move(s), may_fork, result);
      return;
    }
    std::optional<Dim> of_threads;
    if (fork) of_threads = grain(closed, step, cost);
    divide(std::move(closed), step, std::move(of_threads), result);
  }

  void finish_single(Statement s, bool may_fork, Block& result) {
    kernel::for_each_block(s, [&](Block& inside) { inside = block(std::move(inside), may_fork); });
    result.push_back(std::move(s));
  }

  double cache_bytes() const { return static_cast<double>(limits_.cache_bytes); }
  static constexpr double most_bytes = 0x1p62;
  double estimated_bytes(SlotId slot, const Dim& elements) const {
    return estimate(elements) * static_cast<double>(size_of(f_.slots[slot].dtype));
  }
  // Bytes that one row touches: all that moves with it, or only what stays while a loop runs.
  std::int64_t row_bytes(const Group& group, bool resident) const {
    double sum = 0;
    for (const auto& [slot, use] : group.uses)
      if (use.by_rows && !(resident && (use.high || !use.written))) sum += estimated_bytes(slot, use.stride);
    return static_cast<std::int64_t>(std::clamp(sum, 1., most_bytes));
  }

  // Members that hand something to each other through more memory than the cache holds.
  bool worth_blocking(const Group& group) const {
    const bool loops = std::ranges::any_of(group.members, contains_loop);
    if (loops) return static_cast<double>(row_bytes(group, true)) * estimate(group.rows) > 2. * cache_bytes();
    double between = 0;  // a row
    for (const auto& [slot, use] : group.uses)
      if (use.written && group.reads.contains(slot)) between += estimated_bytes(slot, use.stride);
    return between * estimate(group.rows) > cache_bytes();
  }

  // Bytes of the narrowest run that some rows make together.
  std::int64_t narrowest_run(const Group& group, std::int64_t rows) const {
    double least = most_bytes;
    for (const auto& [slot, use] : group.uses)
      if (use.by_rows && use.stride != Dim(0))
        least = std::min(least, static_cast<double>(rows) * estimated_bytes(slot, use.stride));
    return static_cast<std::int64_t>(least);
  }

  // A thread that has less than a vector to do takes as long as one that has all.
  std::int64_t block_rows(const Group& group, bool fork) const {
    const std::int64_t rows = group.rows.try_value().value_or(std::numeric_limits<std::int32_t>::max());
    std::int64_t share = (rows + threads_ - 1) / threads_;
    if (narrowest_run(group, share) < limits_.narrowest) share = rows;
    if (std::ranges::any_of(group.members, contains_loop)) {
      const bool products = std::ranges::any_of(group.members, contains_product);
      const std::int64_t each = row_bytes(group, true);
      const std::int64_t in_cache =
          std::max(limits_.cache_bytes / each, std::max<std::int64_t>(limits_.shortest_run / each, 1));
      std::int64_t step = products ? (fork ? share : rows) : std::min(in_cache, fork ? share : rows);
      while (step < rows && narrowest_run(group, step) < limits_.narrowest) step *= 2;  // each step of a loop is short
      return even(group, step);
    }
    std::int64_t step = std::max<std::int64_t>(limits_.cache_bytes / row_bytes(group, false), 1);
    for (const Statement& s : group.members)
      if (const auto* r = std::get_if<kernel::Reduce>(&s.held()); r != nullptr && divides_sum(*r, group.rows)) {
        const auto each = std::max<std::int64_t>(static_cast<std::int64_t>(estimate(r->outer_sizes)), 1);
        const std::int64_t blocks = std::max<std::int64_t>(parts_limit / each, 2 * threads_);
        if (group.rows.known()) step = std::max(step, (rows + blocks - 1) / blocks);
      }
    return even(group, fork ? std::min(step, share) : step);
  }

  static bool contains_product(const Statement& s) {
    if (const auto* f = std::get_if<kernel::For>(&s.held())) return std::ranges::any_of(f->body, contains_product);
    return std::holds_alternative<kernel::Product>(s.held());
  }

  // A step near the wished one that leaves no rest, and whole vectors where rows are single elements.
  static std::int64_t even(const Group& group, std::int64_t step) {
    std::int64_t narrowest = 0;
    for (const auto& [slot, use] : group.uses)
      if (use.by_rows && use.stride != Dim(0)) {
        const auto stride = static_cast<std::int64_t>(std::min(estimate(use.stride), most_bytes));
        narrowest = narrowest == 0 ? stride : std::min(narrowest, stride);
      }
    const std::int64_t unit =
        narrowest > 0 && narrowest < 16 && step >= 64 ? 64 / std::max<std::int64_t>(narrowest, 1) : 1;
    step = std::max<std::int64_t>(step / unit * unit, 1);
    for (std::int64_t s = step; s > step / 2 && group.rows.known(); s -= unit)
      if (group.rows.value() % s == 0) return s;
    return step;
  }

  // --- writing it anew ---
  using Own = std::map<SlotId, kernel::RestrictToRows::Own>;
  struct Sum {
    kernel::Reduce whole;
    SlotId parts;
    Dim elements;  // of one part
  };

  // How many blocks a thread has at least. Where only running tells how many there are, or how long their rows, it
  // shows only then whether a fork is worth it.
  std::optional<Dim> grain(const Group& group, std::int64_t step, double cost) const {
    Dim longest = 1;
    for (const auto& [slot, use] : group.uses)
      if (estimate(use.stride) > estimate(longest)) longest = use.stride;
    if (group.rows.known() && longest.known()) return Dim(1);
    const double rows = estimate(group.rows), row = longest.known() ? 1 : estimate(longest);
    const double units =
        std::ceil(limits_.worth_forking / 2 / std::max(cost / rows / row, 1e-3) / static_cast<double>(step));
    const Dim least(static_cast<std::int64_t>(std::min(units, most_bytes)));
    return longest.known() ? max(least, 1) : max(floor_div(least, longest), 1);
  }

  // `grain`: of threads; nothing where one does it all.
  void divide(Group group, std::int64_t step, std::optional<Dim> grain, Block& result) {
    const bool fork = grain.has_value();
    const Dim whole = floor_div(group.rows, step), rest = modulo(group.rows, step);
    const Dim count = floor_div(group.rows + (step - 1), step);
    const std::uint32_t var = f_.vars++;
    kernel::Blocks blocks{var, whole, rest, {}, {}, fork, grain.value_or(1), {}};
    const Own own = own_slots(group, step, blocks.own);
    const std::vector<Sum> sums = divided_sums(group, count);
    blocks.body = part(group, {{0, {{var, step}}}, step, group.rows}, own, sums, {0, {{var, 1}}});
    // In the rest the variable is the number of whole blocks.
    if (rest != Dim(0)) blocks.tail = part(group, {{0, {{var, step}}}, rest, group.rows}, own, sums, {0, {{var, 1}}});
    count_references(blocks.own, blocks);
    if (step == 1) {
      // The parts of a sum lie in memory that all threads share.
      const bool before = std::exchange(may_divide_sums_, may_divide_sums_ && !fork);
      blocks.body = block(std::move(blocks.body), false);
      may_divide_sums_ = before;
    }
    result.push_back(std::move(blocks));
    for (const Sum& s : sums) result.push_back(sum_of_parts(s, count));
  }

  // Slots that nothing outside of the group touches: a block needs no more than its own rows of them.
  Own own_slots(const Group& group, std::int64_t step, std::vector<SlotId>& list) {
    std::map<SlotId, int> inside;
    for (const Statement& s : group.members) visit_slots(s, [&](SlotId slot, bool) { ++inside[slot]; });
    Own own;
    for (const auto& [slot, use] : group.uses) {
      const kernel::Slot whole = f_.slots[slot];
      if (!whole.temporary() || !use.written || use.high || inside[slot] != references_[slot]) continue;
      if (!at_most(use.stride * step, own_limit / static_cast<std::int64_t>(size_of(whole.dtype)))) continue;
      f_.slots.push_back({whole.dtype, use.stride * step, kernel::Slot::Place::local});
      list.push_back(static_cast<SlotId>(f_.slots.size() - 1));
      own.emplace(slot, kernel::RestrictToRows::Own{list.back(), use.stride});
    }
    return own;
  }

  std::vector<Sum> divided_sums(const Group& group, const Dim& count) {
    std::vector<Sum> sums;
    for (const Statement& s : group.members) {
      const auto* r = std::get_if<kernel::Reduce>(&s.held());
      if (r == nullptr || !divides_sum(*r, group.rows)) continue;
      const Dim elements = product_of(r->outer_sizes);
      f_.slots.push_back({r->value.dtype(), elements * count, kernel::Slot::Place::arena});
      sums.push_back({*r, static_cast<SlotId>(f_.slots.size() - 1), elements});
    }
    return sums;
  }

  Block part(const Group& group, kernel::RowBlock rows, const Own& own, const std::vector<Sum>& sums,
             const kernel::Affine& number) {
    std::map<SlotId, kernel::RestrictToRows::Part> parts;
    for (const Sum& s : sums) {
      const std::int64_t elements = s.elements.value();
      kernel::Affine offset{number.constant * elements, {}};
      for (const auto& [var, coefficient] : number.terms) offset.add(var, coefficient * elements);
      parts.emplace(s.whole.slot, kernel::RestrictToRows::Part{s.parts, std::move(offset)});
    }
    kernel::RestrictToRows restrict_to_rows(std::move(rows), own, std::move(parts));
    Block body;
    for (const Statement& s : group.members) body.push_back(restrict_to_rows(s));
    return body;
  }

  kernel::Reduce sum_of_parts(const Sum& s, const Dim& count) {
    kernel::Reduce r = s.whole;
    const std::uint32_t var = f_.vars++;
    Expr offset = kernel::variable(var) * kernel::size(s.elements);
    Dim stride = 1;
    for (std::size_t i = r.outer_vars.size(); i-- > 0; stride = stride * r.outer_sizes[i])
      offset = offset + kernel::variable(r.outer_vars[i]) * kernel::size(stride);
    r.inner_vars = {var};
    r.inner_sizes = {count};
    r.value = kernel::load(s.parts, r.value.dtype(), offset);
    return r;
  }

  void count_references(const std::vector<SlotId>& slots, const Statement& s) {
    references_.resize(f_.slots.size());
    visit_slots(s, [&](SlotId slot, bool) {
      if (std::ranges::find(slots, slot) != slots.end()) ++references_[slot];
    });
  }

  kernel::Function& f_;
  BlockLimits limits_;
  std::int64_t threads_;
  std::vector<int> references_;  // of each slot, by all statements
  bool may_divide_sums_ = true;
};

}  // namespace

BlockLimits block_limits() {
  BlockLimits limits{.threads = threads()};
  if (setting("TENON_BLOCKS") == "small")
    limits.worth_forking = 0, limits.cache_bytes = 1, limits.shortest_run = 1, limits.narrowest = 1;
  return limits;
}

void divide_into_blocks(kernel::Function& function, const BlockLimits& limits) { Divider(function, limits).run(); }

}  // namespace tenon
