#include "tenon/kernel/passes/row_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/passes/row_groups.h"

namespace tenon::kernel {
namespace {

constexpr std::int64_t parts_limit = 1 << 16;  // elements of all parts of a sum
constexpr std::size_t longest_group = 64;      // statements

bool ends_apart(const Statement& s) { return std::holds_alternative<While>(s.held()); }
bool contains_loop(const Statement& s) { return std::holds_alternative<For>(s.held()) || ends_apart(s); }

class Divider {
 public:
  Divider(Function& function, const Target& target)
      : f_(function),
        target_(target),
        threads_(std::max(target.threads, 2)),
        writer_(function, target),
        long_calls_(is_long_calls(function.body)),
        last_reader_(function.slots.size()) {
    for (std::size_t i = 0; i < function.body.size(); ++i)
      visit_slots(function.body[i], [&](SlotId slot, bool write) {
        if (!write) last_reader_[slot] = i;
      });
  }

  void run() { f_.body = block(std::move(f_.body), true); }

 private:
  // What groups may do, by what is around them.
  struct May {
    // Parts of sums, and copies of matrices, lie in memory that threads of parallel blocks share.
    bool divide_sums = true, have_copies = true;
    bool join_products = true;
  };
  Block within(Block statements, const May& may, bool may_fork) {
    const May before = std::exchange(may_, may);
    Block result = block(std::move(statements), may_fork);
    may_ = before;
    return result;
  }

  // Groups that are open are independent of each other: what needs some of them and joins none closes these alone.
  Block block(Block statements, bool may_fork) {
    constexpr std::size_t most_open = 4;
    ++depth_;
    Block result;
    std::vector<RowGroup> open;
    const auto close_if = [&](auto which) {
      for (RowGroup& group : open)
        if (which(group)) close(group, may_fork, result);
      std::erase_if(open, [](const RowGroup& group) { return group.members.empty(); });
    };
    for (std::size_t i = 0; i < statements.size(); ++i) {
      Statement& s = statements[i];
      if (depth_ == 1) next_ = i;
      // A group that waited behind a unit's call would keep its operands and results, and those of all further calls.
      if (long_calls_ && std::holds_alternative<Call>(s.held())) close_if([](const RowGroup&) { return true; });
      std::vector<bool> needed;
      for (const RowGroup& group : open) needed.push_back(!independent(group, s));
      std::size_t joined = open.size();
      for (const bool of_needed : {true, false})  // those that hand something to it first
        for (std::size_t i = 0; i < open.size() && joined == open.size(); ++i)
          if (needed[i] == of_needed && (of_needed || is_free(open[i], s)) && join(open[i], s)) joined = i;
      const bool joins = joined < open.size();
      const auto is_needed = [&](const RowGroup& group) {
        const auto i = static_cast<std::size_t>(&group - open.data());
        return i != joined && needed[i];
      };
      close_if(is_needed);
      if (joins) continue;
      if (open.size() == most_open) close_if([&](const RowGroup& group) { return &group == open.data(); });
      RowGroup fresh;
      if (join(fresh, s))
        open.push_back(std::move(fresh));
      else
        finish_single(std::move(s), may_fork, result);
    }
    if (depth_ == 1) next_ = statements.size();
    close_if([](const RowGroup&) { return true; });
    --depth_;
    return result;
  }

  // --- forming groups ---
  // Whether what a group has no part in may join it, to share its fork: not beside products, whose rows are theirs.
  static bool is_free(const RowGroup& group, const Statement& s) {
    return group.scores.empty() && !std::holds_alternative<Product>(s.held());
  }
  bool join(RowGroup& group, const Statement& s) {
    if (group.members.size() >= longest_group) return false;
    if (group.members.empty()) {
      for (const Dim& rows : row_counts(s)) {
        RowGroup fresh{rows};
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
      RowGroup again{rows};
      if (std::ranges::all_of(group.members, [&](const Statement& m) { return extend(again, m); }) &&
          extend(again, s)) {
        group = std::move(again);
        return true;
      }
    }
    return false;
  }

  bool extend(RowGroup& group, const Statement& s) {
    bool after_sum = false;
    visit_slots_and_sizes(f_, s, [&](SlotId slot, bool) { after_sum = after_sum || group.sums.contains(slot); });
    if (after_sum) return false;
    const auto* product = std::get_if<Product>(&s.held());
    const std::optional<SlotId> scores = product != nullptr ? scores_of(*product, group) : std::nullopt;
    const bool by_rows = extend(group, s, contains_loop(s) || scores ? ProductParts::rows : ProductParts::none);
    if (!by_rows) {
      if (!scores || is_half(product->dtype) || group.uses.contains(product->c) ||
          !extend(group, s, ProductParts::terms))
        return false;
      group.sums.insert(product->c), group.added.insert(product->c);
    }
    if (const auto* r = std::get_if<Reduce>(&s.held()); r != nullptr && divides_sum(*r, group.rows)) {
      if (group.uses.contains(r->slot) || !product_of(r->outer_sizes).known()) return false;
      group.sums.insert(r->slot);
    }
    group.members.push_back(s);
    if (scores) group.scores.insert(*scores);
    visit_slots_and_sizes(f_, s, [&](SlotId slot, bool write) { (write ? group.writes : group.reads).insert(slot); });
    return true;
  }

  // Outside of loops a product is divided along its batch, or the rows of its one matrix, where one of its matrices is
  // larger than the others together and temporary: others of the group make it or take it, as the scores of attention.
  std::optional<SlotId> scores_of(const Product& p, const RowGroup& group) const {
    const Dim& rows = group.rows;
    const bool one = p.batch == Dim(1);
    const bool fits = one ? rows == p.m || rows == p.k : rows != Dim(1) && each_row_of(p.batch, rows);
    const auto is_found = [](const Dim& size) { return has_found_size(size); };
    if (!may_.join_products || !fits || std::ranges::any_of(std::array{p.batch, p.m, p.n, p.k}, is_found)) return {};
    const auto in_group = [&](SlotId slot) { return group.scores.contains(slot); };
    std::array all{p.c, p.a, p.b};
    std::ranges::stable_sort(all, std::greater(), in_group);
    const auto found = std::ranges::find_if(all, [&](SlotId slot) { return is_largest(p, slot); });
    return found == all.end() ? std::nullopt : std::optional(*found);
  }
  // Each block of rows packs all of the other matrix, which one matrix alone has to pay for. An axis that the largest
  // lacks is short where nothing is known of it.
  bool is_largest(const Product& p, SlotId slot) const {
    constexpr double short_axis = 64;
    const auto size = [&](const Dim& axis, SlotId lacking) {
      return slot == lacking && !axis.known() ? short_axis : estimate(axis);
    };
    const double m = size(p.m, p.b), n = size(p.n, p.a), k = size(p.k, p.c);
    const auto all = [&](const Dim& stride, double elements) {
      return stride == Dim(0) ? elements : elements * estimate(p.batch);
    };
    const double a = all(p.a_batch, m * k), b = all(p.b_batch, k * n), c = all(p.c_batch, m * n);
    const double elements = slot == p.a ? a : slot == p.b ? b : c, others = a + b + c - elements;
    const Slot& whole = f_.slots[slot];
    return whole.temporary() && elements >= (p.batch == Dim(1) ? 8 : 1.5) * others &&
           elements * static_cast<double>(size_of(whole.dtype)) >= 2. * static_cast<double>(target_.product_bytes);
  }

  bool extend(RowGroup& group, const Statement& s, ProductParts products) {
    std::vector<RowAccess> accesses;
    if (!row_accesses(s, group.rows, may_.divide_sums, products, accesses)) return false;
    if (!std::ranges::all_of(accesses,
                             [&](const RowAccess& a) { return !a.own || writer_.is_known_to_none_but(s, a.slot); }))
      return false;
    Uses uses = group.uses;
    merge(uses, accesses, group.rows, contains_loop(s));
    if (!agrees(uses)) return false;
    if (!std::ranges::all_of(accesses, [&](const RowAccess& a) {
          const Use& use = uses.at(a.slot);
          return !use.same || writer_.may_be_same(a.slot, use);
        }))
      return false;
    group.uses = std::move(uses);
    return true;
  }

  bool independent(const RowGroup& group, const Statement& s) const {
    bool apart = true;
    visit_slots_and_sizes(f_, s, [&](SlotId slot, bool write) {
      apart = apart && !group.writes.contains(slot) && (!write || !group.reads.contains(slot));
    });
    return apart;
  }

  // --- what becomes of a group ---
  void close(RowGroup& group, bool may_fork, Block& result) {
    if (group.members.empty()) return;
    RowGroup closed = std::move(group);
    group = {};
    if (!closed.scores.empty()) return close_products(std::move(closed), may_fork, result);
    double cost = 0;
    for (const Statement& s : closed.members) cost += nanoseconds(s);
    const bool fork = may_fork && most_work(closed, cost) >= target_.worth_forking;
    std::int64_t step = block_rows(closed, fork);
    if (fork && !closed.rows.known()) step = even(closed, std::min(step, shortest_tail(closed, cost)), fork);
    if (bound_of(f_, closed.rows).value_or(step + 1) <= step || !(fork || worth_blocking(closed))) {
      for (Statement& s : closed.members) finish_single(std::move(s), may_fork, result);
      return;
    }
    std::optional<Dim> of_threads;
    if (fork) of_threads = grain(closed, step, cost);
    divide(std::move(closed), step, std::move(of_threads), result);
  }

  // Where the matrices stay in the caches for a block of rows, blocks of each thread take turns with the same memory.
  // Else its products are no members.
  void close_products(RowGroup group, bool may_fork, Block& result) {
    const std::optional<std::int64_t> step = product_rows(group);
    if (step) {
      const Forks forks = !may_fork ? Forks::none : forks_within(group, *step) ? Forks::inside : Forks::here;
      return divide_in_shares(std::move(group), *step, forks, result);
    }
    May may = may_;
    may.join_products = false;
    for (Statement& s : within(std::move(group.members), may, may_fork)) result.push_back(std::move(s));
  }

  // Which rows threads share: these, or those within each of them, one after another.
  enum class Forks : std::uint8_t { none, here, inside };
  // Matrices of a batch that are divided in their turn, where they may be no even share for each thread.
  bool forks_within(const RowGroup& group, std::int64_t step) const {
    constexpr std::int64_t few = 4;  // for each thread
    if (step > 1 || of_matrix(group)) return false;
    double work = 0;
    for (const Statement& s : group.members) work += nanoseconds(s);
    if (work / estimate(group.rows) < 8 * target_.worth_forking) return false;
    return !group.rows.known() || (group.rows.value() % threads_ != 0 && group.rows.value() < few * threads_);
  }
  static bool of_matrix(const RowGroup& group) {
    return std::ranges::any_of(group.members, [](const Statement& s) {
      const auto* product = std::get_if<Product>(&s.held());
      return product != nullptr && product->batch == Dim(1);
    });
  }

  std::optional<std::int64_t> product_rows(const RowGroup& group) const {
    constexpr std::int64_t wanted = 128, fewest = 32;  // rows of a matrix that are worth packing the other
    if (!may_.have_copies) return {};
    const std::map<SlotId, int> inside = writer_.touched_by(group);
    double each = 0;  // bytes of a row
    for (const auto& [slot, use] : group.uses)
      if (writer_.is_own(slot, use, inside)) each += writer_.bytes_of(slot, use.stride);
    const bool own = std::ranges::all_of(group.scores, [&](SlotId slot) {
      const auto use = group.uses.find(slot);
      return use != group.uses.end() && writer_.is_own(slot, use->second, inside);
    });
    if (!own) return {};
    const std::int64_t rows = group.rows.try_value().value_or(std::numeric_limits<std::int32_t>::max());
    const auto in_cache =
        static_cast<std::int64_t>(std::max(static_cast<double>(target_.product_bytes) / std::max(each, 1.), 1.));
    if (!of_matrix(group)) return std::min(in_cache, rows);  // matrices too large are divided in their turn
    const auto in_copy = static_cast<std::int64_t>(writer_.largest_copy() / std::max(each, 1.)) / 16 * 16;
    const std::int64_t step = std::min(std::max(in_cache, std::min(wanted, in_copy)), rows);
    return step >= std::min(fewest, rows) ? std::optional(step) : std::nullopt;
  }

  void finish_single(Statement s, bool may_fork, Block& result) {
    if (std::holds_alternative<Blocks>(s.held())) return result.push_back(std::move(s));  // divided before
    for_each_block(s, [&](Block& inside) { inside = block(std::move(inside), may_fork); });
    result.push_back(std::move(s));
  }

  double cache_bytes() const { return static_cast<double>(target_.cache_bytes); }
  static constexpr double most_bytes = 0x1p62;
  // What the loops of a group touch, or only what they write.
  static std::set<SlotId> touched_by_loops(const RowGroup& group, bool written) {
    std::set<SlotId> slots;
    for (const Statement& s : group.members)
      if (contains_loop(s))
        visit_slots(s, [&](SlotId slot, bool write) {
          if (write || !written) slots.insert(slot);
        });
    return slots;
  }
  // Bytes that one row touches: all that moves with it, or only what stays while a loop runs, of what it reads too.
  std::int64_t row_bytes(const RowGroup& group, bool resident) const {
    double sum = 0;
    std::set<SlotId> of_loops;
    if (resident) of_loops = touched_by_loops(group, false);
    for (const auto& [slot, use] : group.uses) {
      if (!use.by_rows || (resident && !of_loops.contains(slot))) continue;
      const double stays = !use.high && use.written ? estimate(use.stride) : use.elements_again();
      sum += resident ? stays * static_cast<double>(size_of(f_.slots[slot].dtype)) : writer_.bytes_of(slot, use.stride);
    }
    return static_cast<std::int64_t>(std::clamp(sum, 1., most_bytes));
  }

  static Dim longest_row(const RowGroup& group) {
    Dim longest = 1;
    for (const auto& [slot, use] : group.uses)
      if (estimate(use.stride) > estimate(longest)) longest = use.stride;
    return longest;
  }
  // What a group costs at most, in nanoseconds: `cost` is what it does with sizes as they are estimated.
  double most_work(const RowGroup& group, double cost) const {
    const auto more = [&](const Dim& size) {
      const std::optional<std::int64_t> most = bound_of(f_, size);
      return most ? static_cast<double>(*most) / std::max(estimate(size), 1.) : std::numeric_limits<double>::infinity();
    };
    // All members have these rows; some may have nothing of the longest.
    return cost * more(group.rows) * std::max(more(longest_row(group)), 1.);
  }
  // So many rows that what is left of them behind whole blocks, which one thread does, takes little of what makes a
  // fork worth it; and no fewer than vectors like.
  std::int64_t shortest_tail(const RowGroup& group, double cost) const {
    constexpr double part_of_fork = 16, vectors = 4;
    const double each = std::max(cost / estimate(group.rows), 1e-3);
    const double least = vectors * static_cast<double>(target_.vector_bytes) / estimate(longest_row(group));
    return static_cast<std::int64_t>(
        std::clamp(target_.worth_forking / part_of_fork / each, std::max(least, 1.), most_bytes));
  }

  // Members that hand something to each other, or read the same, through more memory than the cache holds.
  bool worth_blocking(const RowGroup& group) const {
    const bool loops = std::ranges::any_of(group.members, contains_loop);
    if (loops) return static_cast<double>(row_bytes(group, true)) * estimate(group.rows) > 2. * cache_bytes();
    std::map<SlotId, int> members;  // that touch a slot
    for (const Statement& s : group.members) {
      std::set<SlotId> touched;
      visit_slots(s, [&](SlotId slot, bool) { touched.insert(slot); });
      for (const SlotId slot : touched) ++members[slot];
    }
    double between = 0;  // a row
    for (const auto& [slot, use] : group.uses)
      if (use.by_rows && members[slot] > 1) between += writer_.bytes_of(slot, use.stride);
    return between * estimate(group.rows) > cache_bytes();
  }

  // Bytes of the longest run that a row writes: what is shorter, as a number a row, takes little beside it. Where there
  // are loops, each of their steps counts, and not what is beside them.
  double longest_run(const RowGroup& group) const {
    const std::set<SlotId> of_loops = touched_by_loops(group, true);
    double most = 0;
    for (const auto& [slot, use] : group.uses)
      if (use.by_rows && use.written && (of_loops.empty() || of_loops.contains(slot)))
        most = std::max(most, writer_.bytes_of(slot, use.stride));
    return most > 0 ? most : most_bytes;
  }

  // A user may ask for as many rows as an int64 holds: `rows + divisor - 1` would overflow.
  static std::int64_t divide_up(std::int64_t rows, std::int64_t divisor) {
    return rows / divisor + (rows % divisor != 0 ? 1 : 0);
  }

  // A thread that has less than a vector to do takes as long as one that has all.
  std::int64_t block_rows(const RowGroup& group, bool fork) const {
    const std::int64_t rows = group.rows.try_value().value_or(std::numeric_limits<std::int32_t>::max());
    std::int64_t share = divide_up(rows, threads_);
    const auto is_short = [&, run = longest_run(group)](std::int64_t some, double vectors) {
      return static_cast<double>(some) * run < vectors * static_cast<double>(target_.vector_bytes);
    };
    if (is_short(share, 1)) share = rows;
    if (std::ranges::any_of(group.members, contains_loop)) {
      const bool products =
          std::ranges::any_of(group.members, [&](const Statement& s) { return has_product_of_rows(s, group.rows); });
      const std::int64_t each = row_bytes(group, true);
      // Rows that are read on from step to step in long runs make up for state that comes from the second level.
      const std::int64_t in_cache =
          std::max(2 * target_.cache_bytes / each, std::max<std::int64_t>(target_.shortest_run / each, 1));
      std::int64_t step = products ? (fork ? share : rows) : std::min(in_cache, fork ? share : rows);
      double vectors = 1;  // at least: each step of a loop is short
      // Where rows end apart, a block takes as many steps as any of its rows: of short steps a block is what registers
      // hold, and of long ones few vectors, so that few rows wait for others, and no thread for another.
      if (!products && std::ranges::any_of(group.members, ends_apart)) {
        constexpr std::int64_t blocks_of_thread = 8;
        constexpr double short_step = 2;  // ns a row
        double of_step = 0;
        for (const Statement& s : group.members)
          if (ends_apart(s)) of_step += nanoseconds(s) / guessed_steps / estimate(group.rows);
        const bool in_registers = of_step < short_step && target_.register_elements < rows;
        const std::int64_t most =
            in_registers ? target_.register_elements  // nests of more stay loops
                         : std::min(2 * target_.register_elements, divide_up(rows, blocks_of_thread * threads_));
        step = std::min(step, most);
        vectors = in_registers ? 1 : 8;
      }
      while (step < rows && is_short(step, vectors)) step *= 2;
      return even(group, std::min(step, rows), fork);
    }
    std::int64_t step = std::max<std::int64_t>(target_.cache_bytes / row_bytes(group, false), 1);
    for (const Statement& s : group.members)
      if (const auto* r = std::get_if<Reduce>(&s.held()); r != nullptr && divides_sum(*r, group.rows)) {
        const auto each = std::max<std::int64_t>(static_cast<std::int64_t>(estimate(r->outer_sizes)), 1);
        const std::int64_t blocks = std::max<std::int64_t>(parts_limit / each, 2 * threads_);
        if (group.rows.known()) step = std::max(step, divide_up(rows, blocks));
      }
    return even(group, fork ? std::min(step, share) : step, fork);
  }

  // Whether it has a product that is better the more rows it has: one whose rows are those of a matrix, and no
  // matrices.
  static bool has_product_of_rows(const Statement& s, const Dim& rows) {
    if (const auto* f = std::get_if<For>(&s.held()))
      return std::ranges::any_of(f->body, [&](const Statement& inner) { return has_product_of_rows(inner, rows); });
    const auto* product = std::get_if<Product>(&s.held());
    return product != nullptr && (product->batch != rows || rows == Dim(1));
  }

  // A step near the wished one that leaves no rest, and whole vectors where rows are single elements. Of few blocks
  // that threads share, each thread has as many.
  std::int64_t even(const RowGroup& group, std::int64_t step, bool fork) const {
    std::int64_t narrowest = 0;
    for (const auto& [slot, use] : group.uses)
      if (use.by_rows && use.stride != Dim(0)) {
        const auto stride = static_cast<std::int64_t>(std::min(estimate(use.stride), most_bytes));
        narrowest = narrowest == 0 ? stride : std::min(narrowest, stride);
      }
    const std::int64_t unit =
        narrowest > 0 && narrowest < 16 && step >= 64 ? 64 / std::max<std::int64_t>(narrowest, 1) : 1;
    step = std::max<std::int64_t>(step / unit * unit, 1);
    if (!group.rows.known() || at_most(group.rows, step)) return step;
    const std::int64_t rows = group.rows.value(), few = 8 * threads_;
    const auto is_shared = [&](std::int64_t blocks) { return !fork || blocks >= few || blocks % threads_ == 0; };
    for (std::int64_t s = step; s > step / 2; s -= unit)
      if (rows % s == 0 && is_shared(rows / s)) return s;
    std::int64_t blocks = divide_up(rows, step);
    if (is_shared(blocks)) return step;
    blocks = divide_up(blocks, threads_) * threads_;
    return std::min(divide_up(divide_up(rows, blocks), unit) * unit, step);
  }

  // --- writing it anew ---
  // How many blocks a thread has at least. Where only running tells how many there are, or how long their rows, it
  // shows only then whether a fork is worth it.
  std::optional<Dim> grain(const RowGroup& group, std::int64_t step, double cost) const {
    const Dim longest = longest_row(group);
    if (group.rows.known() && longest.known()) return Dim(1);
    const double rows = estimate(group.rows), row = longest.known() ? 1 : estimate(longest);
    const double units =
        std::ceil(target_.worth_forking / 2 / std::max(cost / rows / row, 1e-3) / static_cast<double>(step));
    const Dim least(static_cast<std::int64_t>(std::min(units, most_bytes)));
    return longest.known() ? max(least, 1) : max(floor_div(least, max(longest, 1)), 1);
  }

  // What every block of a group computes for itself, once more for what reads it behind them. Of the function's own
  // statements it is known which come last.
  void compute_behind(const RowGroup& group, Block& result) {
    const std::map<SlotId, int> inside = writer_.touched_by(group);
    const auto is_read = [&](SlotId slot) {
      return writer_.is_known_outside(slot, inside) &&
             (depth_ > 1 || !f_.slots[slot].temporary() || last_reader_[slot] >= next_);
    };
    for (Statement& s : writer_.behind(group, is_read)) result.push_back(std::move(s));
  }

  // Whether code is compiled once for all blocks, the last of which has fewer rows. Else it is compiled twice, and the
  // loops of whole blocks have a number of rows that is known.
  bool is_long(const RowGroup& group) const { return instructions_in(group.members) > target_.long_rows; }
  // `grain`: of threads; nothing where one does it all.
  void divide(RowGroup group, std::int64_t step, std::optional<Dim> grain, Block& result) {
    const bool fork = grain.has_value();
    const Dim whole = floor_div(group.rows, step), rest = modulo(group.rows, step);
    const Dim count = floor_div(group.rows + (step - 1), step);
    const std::uint32_t var = f_.vars++;
    Blocks blocks{var, whole, rest, {}, {}, fork, grain.value_or(1), {}};
    const RowGroupWriter::Own own = writer_.own_slots(group, step, false, blocks.own);
    const std::vector<RowGroupWriter::Sum> sums = writer_.divided_sums(group, count);
    const auto part = [&](const Dim& rows) {
      return writer_.part(group, {{0, {{var, step}}}, rows, group.rows}, own, sums, {0, {{var, 1}}});
    };
    if (rest != Dim(0) && step > 1 && is_long(group)) {
      const Expr left = size(group.rows) - variable(var) * Expr(step);
      const SlotId rows = new_size(step);
      blocks.count = count, blocks.rest = 0;
      blocks.own.push_back(rows);
      blocks.body = {stored(rows, binary(Binary::min, left, Expr(step)))};
      std::ranges::move(part(size_in(rows)), std::back_inserter(blocks.body));
    } else {
      blocks.body = part(step);
      if (rest != Dim(0)) blocks.tail = part(rest);  // the variable is the number of whole blocks there
    }
    writer_.count_references(own, blocks);
    if (step == 1) {
      May may = may_;
      if (fork) may.divide_sums = may.have_copies = false;
      blocks.body = within(std::move(blocks.body), may, false);
    }
    result.push_back(std::move(blocks));
    for (const RowGroupWriter::Sum& s : sums) result.push_back(writer_.sum_of_parts(s, count));
    compute_behind(group, result);
  }

  // A share of the rows for each thread, one after another in blocks of `step` rows; what is left is a share of its
  // own.
  void divide_in_shares(RowGroup group, std::int64_t step, Forks forks, Block& result) {
    const bool fork = forks == Forks::here;
    const Dim rows = group.rows;
    const std::int64_t threads = fork ? std::min(threads_, rows.try_value().value_or(threads_)) : 1;
    // Where rows begin is affine in sizes, that of a share among them.
    const auto as_size = [&](const Dim& size) { return fork ? found(size, rows, result) : size; };
    const Dim share = as_size(floor_div(rows, threads)), left = modulo(rows, threads);
    step = std::min(step, share.try_value().value_or(step));
    const auto blocks_of = [&](const Dim& some) { return floor_div(some + (step - 1), step); };
    const Dim blocks = as_size(blocks_of(share)), parts = threads * blocks + blocks_of(left);
    const std::vector<RowGroupWriter::Sum> sums = writer_.divided_sums(group, parts);
    const RowGroupWriter::Copies before = writer_.copies;
    if (fork) writer_.copies = {f_.vars++, threads + (left == Dim(0) ? 0 : 1)};
    const std::vector<RowGroupWriter::Terms> terms = writer_.added_terms(group, fork);
    const RestrictToRows::Added added = RowGroupWriter::added_to(terms);
    RowGroupWriter::Own own;
    const auto share_of = [&](const Dim& some) {
      const std::uint32_t var = f_.vars++;
      Affine base{0, {{var, step}}}, number{0, {{var, 1}}};
      if (fork) base.add(*writer_.copies.thread, share), number.add(*writer_.copies.thread, blocks);
      Blocks b{var, floor_div(some, step), modulo(some, step), {}, {}, false, 1, {}};
      own = writer_.own_slots(group, step, true, b.own, own);
      b.body = writer_.part(group, {base, step, rows}, own, sums, number, added);
      if (b.rest != Dim(0)) b.tail = writer_.part(group, {base, b.rest, rows}, own, sums, number, added);
      writer_.count_references(own, b);
      May may = may_;
      may.join_products = may.join_products && step == 1;
      b.body = within(std::move(b.body), may, forks == Forks::inside);
      Block statements = writer_.zeros_of(terms);
      statements.push_back(std::move(b));
      return statements;
    };
    if (fork) {
      Blocks all{*writer_.copies.thread, threads, left, share_of(share), {}, true, grain(group, threads), {}};
      if (left != Dim(0)) all.tail = share_of(left);
      result.push_back(std::move(all));
    } else {
      for (Statement& s : share_of(rows)) result.push_back(std::move(s));
    }
    compute_behind(group, result);
    writer_.copies = before;
    for (const RowGroupWriter::Sum& s : sums) result.push_back(writer_.sum_of_parts(s, parts));
    for (const RowGroupWriter::Terms& t : terms)
      if (t.sum) result.push_back(writer_.sum_of_parts(*t.sum, threads + min(left, 1)));
  }
  // A slot of a size that the code finds, and what finds it.
  SlotId new_size(const Dim& most) {
    f_.slots.push_back({.dtype = DType::i64, .elements = 1, .place = Slot::Place::size, .most = most});
    return static_cast<SlotId>(f_.slots.size() - 1);
  }
  static Nest stored(SlotId slot, const Expr& value) {
    return Nest{{}, {}, {{slot, Expr(std::int64_t(0)), value, {}}}};
  }
  // A size as one that the code finds.
  Dim found(const Dim& size, const Dim& most, Block& result) {
    if (size.known()) return size;
    const SlotId slot = new_size(most);
    result.push_back(stored(slot, kernel::size(size)));
    return size_in(slot);
  }
  // How many shares a thread has at least: all of them where so few scores are no work for several.
  Dim grain(const RowGroup& group, std::int64_t threads) const {
    constexpr std::int64_t few = 1 << 14;
    const Dim& scores = f_.slots[*group.scores.begin()].elements;
    return scores.known() ? 1 : max(min(floor_div(few, max(scores, 1)), threads), 1);
  }

  Function& f_;
  Target target_;
  std::int64_t threads_;
  RowGroupWriter writer_;
  bool long_calls_;
  std::vector<std::size_t> last_reader_;  // of each slot that the function began with, among its statements
  std::size_t next_ = 0;                  // of its statements, the first that no group has
  int depth_ = 0;                         // of the statements that are divided: 1 for the function's own
  May may_;
};

}  // namespace

void divide_into_blocks(Function& function, const Target& target) { Divider(function, target).run(); }

}  // namespace tenon::kernel
