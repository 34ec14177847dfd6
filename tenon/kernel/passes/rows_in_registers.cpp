#include "tenon/kernel/passes/rows_in_registers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ranges>
#include <set>
#include <unordered_set>

#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/analysis/row_values.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Whether a reduction begins with an infinity that no number, and no NaN, is beyond.
bool begins_with_nothing(const Reduce& r) {
  if (!is_real(r.initial.dtype()) || (r.combine != Combine::max && r.combine != Combine::min)) return false;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return r.initial.kind() == Expr::Kind::constant &&
         r.initial.node().bits ==
             constant_like(r.initial, r.combine == Combine::max ? -infinity : infinity).node().bits;
}

constexpr std::int64_t most_elements = 64;       // of a row, in one statement
constexpr std::int64_t most_terms = 256;         // of all sums of a row, in one statement
constexpr std::size_t most_instructions = 4000;  // of a nest's body
// Of all nests of one row in a function, which run once in a call: more takes longer to compile than many calls gain.
constexpr std::size_t most_of_one_row = most_instructions;
constexpr std::size_t look_back = 16;      // nests
constexpr std::int64_t longest_run = 16;   // elements of a row that leave side by side
constexpr std::int64_t vector_bytes = 64;  // what prices are for
constexpr double worth_it = 1.25, numbers_at_once = 4, most_lanes = 16, fewest_rows = 16;

using Rows = Sizes;

double lanes_of(DType dtype) {
  const auto lanes = vector_bytes / static_cast<std::int64_t>(std::max<std::size_t>(size_of(dtype), 4));
  return static_cast<double>(lanes);
}

// Statements that do the same rows.
class RowGroup {
 public:
  RowGroup(const Function& f, const Rows& rows, std::vector<std::uint32_t> vars)
      : f_(&f), rows_(rows), vars_(std::move(vars)) {
    for (std::size_t i = 0; i < rows_.size(); ++i) ranges_[vars_[i]] = below(rows_[i]);
  }
  // A statement that is no rows of few elements.
  RowGroup(const Function& f, Statement s) : f_(&f), opaque_(true) { note(s), members_.push_back(std::move(s)); }

  const Rows& rows() const { return rows_; }
  std::size_t instructions() const { return shared_.instructions(); }
  bool is_opaque() const { return opaque_; }
  const std::vector<Statement>& members() const { return members_; }
  bool independent_of(const RowGroup& other) const {
    const auto apart = [](const std::set<SlotId>& x, const std::set<SlotId>& y) {
      return std::ranges::none_of(x, [&](SlotId s) { return y.contains(s); });
    };
    return apart(writes_, other.reads_) && apart(writes_, other.writes_) && apart(reads_, other.writes_);
  }

  // Takes the statement in, where each row does its part of it.
  bool join(const Statement& s) {
    if (opaque_ || shared_.instructions() > most_instructions) return false;
    const bool gains = may_gain(s);
    if (!gains && !gains_ && has_several(s)) return false;
    std::set<SlotId> touched;
    visit_slots_and_sizes(*f_, s, [&](SlotId slot, bool) { touched.insert(slot); });
    // Sizes of other statements are what stands in memory, not what a register holds.
    if (std::ranges::any_of(touched, [&](SlotId slot) { return f_->slots[slot].place == Slot::Place::size; }))
      return false;
    SlotsOfRows before;
    for (const SlotId slot : touched)
      if (const auto found = uses_.find(slot); found != uses_.end()) before.insert(*found);
    const std::size_t instructions = shared_.instructions();
    const double cost = cost_;
    const auto joined = [&](bool walked) {
      if (walked && shared_.instructions() <= most_instructions && apart(touched)) return true;
      for (const SlotId slot : touched) uses_.erase(slot);
      uses_.insert(before.begin(), before.end());
      shared_.forget_after(instructions);
      cost_ = cost;
      return false;
    };
    const Nest* flat = flat_nest(s);
    if (!joined(std::visit([&](const auto& held) { return walk(held); }, s.held())) &&
        !(flat != nullptr && joined(walk(*flat, most_elements, Flat::columns))))
      return false;
    note(s);
    members_.push_back(s);
    gains_ = gains_ || gains;
    return true;
  }

  // What a nest of few elements stores, where all of it is known; else nothing.
  std::map<SlotId, std::vector<std::byte>> constants(const Nest& n) {
    std::map<SlotId, std::vector<std::byte>> all;
    if (!walk(n, most_terms)) return {};
    for (const auto& [slot, use] : uses_) {
      if (!use.written) continue;
      const auto size = size_of(f_->slots[slot].dtype);
      std::vector<std::byte>& bytes = all[slot];
      for (const auto& [at, value] : use.values) {
        if (value.kind() != Expr::Kind::constant || at * static_cast<std::int64_t>(size) != std::ssize(bytes))
          return {};
        bytes.insert(bytes.end(), value.node().bits.begin(),
                     value.node().bits.begin() + static_cast<std::ptrdiff_t>(size));
      }
      if (f_->slots[slot].bytes() != Dim(std::ssize(bytes)) || !use.terms->empty()) return {};
    }
    return all;
  }

  // The nest that does it all; nothing where the statements do better.
  std::optional<Nest> nest(const std::vector<int>& references) const {
    if (opaque_ || members_.empty() || !gains_) return {};
    std::map<SlotId, int> inside;
    for (const Statement& s : members_) visit_slots(s, [&](SlotId slot, bool) { ++inside[slot]; });
    Nest n{vars_, rows_, {}, true, where()};
    for (const auto& [slot, use] : uses_) {
      if (!use.written) continue;
      if (f_->slots[slot].temporary() && !use.old_read && inside[slot] == references[slot]) continue;
      if (!leaves_in_runs(slot, use)) return {};
      const Expr base = to_expr(Affine{0, *use.terms});
      for (const auto& [at, value] : use.values) n.stores.push_back({slot, base + Expr(at), value, {}});
    }
    if (n.stores.empty() || price(n) * worth_it > cost_) return {};
    return n;
  }

 private:
  Source where() const {
    Source last;
    for (const Statement& s : members_)
      std::visit(
          [&](const auto& held) {
            if constexpr (requires { held.where; }) last = held.where.known() ? held.where : last;
          },
          s.held());
    return last;
  }
  void note(const Statement& s) {
    visit_slots_and_sizes(*f_, s, [&](SlotId slot, bool write) { (write ? writes_ : reads_).insert(slot); });
  }

  // Whether rows write places of their own, which no other row reads.
  bool apart(const std::set<SlotId>& slots) const {
    return std::ranges::all_of(slots, [&](SlotId slot) {
      const auto use = uses_.find(slot);
      return use == uses_.end() || !use->second.written || (use->second.agree && rows_apart(use->second));
    });
  }
  bool rows_apart(const SlotOfRows& use) const {
    std::vector<std::pair<std::int64_t, Dim>> strides;
    for (std::size_t i = 0; i < vars_.size(); ++i) {
      const auto term = use.terms->find(vars_[i]);
      if (rows_[i] == Dim(1)) continue;
      if (term == use.terms->end() || !term->second.known()) return false;
      strides.emplace_back(std::abs(term->second.value()), rows_[i]);
    }
    if (strides.size() == 1) return apart_along(use.touched, strides[0].first, strides[0].second);
    std::ranges::sort(strides, {}, [](const auto& s) { return s.first; });
    std::int64_t reach = *use.touched.rbegin() - *use.touched.begin();
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (strides[i].first <= reach) return false;
      if (i + 1 == strides.size()) break;
      if (!strides[i].second.known()) return false;
      reach += strides[i].first * (strides[i].second.value() - 1);
    }
    return true;
  }

  // Whether elements that differ by whole strides are further apart than all rows.
  static bool apart_along(const std::set<std::int64_t>& elements, std::int64_t stride, const Dim& rows) {
    if (*elements.rbegin() - *elements.begin() < stride) return true;
    if (!rows.known()) return false;
    std::map<std::int64_t, std::int64_t> last;  // by what is left of the stride
    for (const std::int64_t at : elements) {
      const auto [before, first] = last.try_emplace((at % stride + stride) % stride, at);
      if (!first && at - before->second < stride * rows.value()) return false;
      before->second = at;
    }
    return true;
  }

  // --- what a statement does in a row ---
  // Its axes: those of the rows, and those that a row walks by itself.
  struct Axes {
    std::map<std::uint32_t, Expr> vars;  // of the rows' variables, and of those below
    std::vector<std::uint32_t> own;
    std::vector<std::int64_t> sizes;
    std::uint32_t flat = 0;  // the variable of which a row has several
    Expr flat_base;          // of them the first; empty: there is none
    Expr flat_step;          // from one to the next
  };
  // The number of the row.
  Expr number() const {
    Expr n(std::int64_t(0));
    for (std::size_t i = 0; i < rows_.size(); ++i) n = n * size(rows_[i]) + variable(vars_[i]);
    return n;
  }
  // How the elements of a row lie in an axis of all: beside each other, or a column of all rows for each.
  enum class Flat : std::uint8_t { rows, columns };
  std::optional<Axes> axes_of(const std::vector<std::uint32_t>& vars, const Sizes& sizes,
                              Flat flat = Flat::rows) const {
    Axes axes;
    std::size_t next = rows_.size(), end = sizes.size();
    const bool fits = sizes.size() >= rows_.size();
    if (fits && std::equal(rows_.begin(), rows_.end(), sizes.begin())) {
      for (std::size_t i = 0; i < rows_.size(); ++i) axes.vars[vars[i]] = variable(vars_[i]);
    } else if (fits && std::equal(rows_.rbegin(), rows_.rend(), sizes.rbegin())) {
      next = 0, end -= rows_.size();
      for (std::size_t i = 0; i < rows_.size(); ++i) axes.vars[vars[end + i]] = variable(vars_[i]);
    } else {
      const auto each = sizes.empty() ? std::nullopt : each_row_of(sizes[0], product_of(rows_));
      if (!each || !each->known()) return {};
      axes.flat = vars[0];
      axes.flat_base = flat == Flat::columns ? number() : number() * Expr(each->value());
      axes.flat_step = flat == Flat::columns ? size(product_of(rows_)) : Expr(std::int64_t(1));
      axes.own.push_back(vars[0]), axes.sizes.push_back(each->value());
      next = 1;
    }
    std::int64_t elements = axes.sizes.empty() ? 1 : axes.sizes[0];
    for (std::size_t i = next; i < end; ++i) {
      if (!at_most(sizes[i], most_terms) || sizes[i] == Dim(0)) return {};
      axes.own.push_back(vars[i]), axes.sizes.push_back(sizes[i].value());
      elements *= sizes[i].value();
      if (elements > most_terms) return {};
    }
    return axes;
  }
  static std::int64_t count(const Axes& axes) {
    std::int64_t n = 1;
    for (const std::int64_t s : axes.sizes) n *= s;
    return n;
  }
  // f at each index of a row, in order, until it is false.
  bool each(const Axes& axes, FunctionRef<bool(RowValue&)> f) {
    std::vector<std::int64_t> index(axes.own.size(), 0);
    for (std::int64_t left = count(axes); left > 0; --left) {
      RowValue value(*f_, ranges_, shared_, uses_);
      value.vars = axes.vars;
      for (std::size_t i = 0; i < index.size(); ++i) {
        const Expr at(index[i]);
        value.vars[axes.own[i]] =
            axes.flat_base && axes.own[i] == axes.flat ? axes.flat_base + axes.flat_step * at : at;
      }
      if (!f(value) || value.failed()) return false;
      for (std::size_t i = index.size(); i-- > 0;) {
        if (++index[i] < axes.sizes[i]) break;
        index[i] = 0;
      }
    }
    return true;
  }

  bool write(SlotId slot, const Expr& offset, const Expr& value) {
    const auto at = affine(offset);
    const auto e = at ? element_of(*at) : std::nullopt;
    SlotOfRows& use = uses_[slot];
    use.touch(e);
    use.written = true;
    if (!use.agree) return false;
    use.values.insert_or_assign(e->at, shared_(convert(f_->slots[slot].dtype, value)));
    return true;
  }

  bool walk(const Nest& n, std::int64_t most = most_elements, Flat flat = Flat::rows) {
    const auto axes = axes_of(n.vars, n.sizes, flat);
    if (!axes || count(*axes) > most) return false;
    // A nest that runs in order is walked in that order.
    if (!n.independent && !std::equal(rows_.begin(), rows_.end(), n.sizes.begin())) return false;
    // As vectors along the last axis; a flat one is whole vectors.
    Instructions each_index;
    double lanes = most_lanes;
    for (const Store& s : n.stores)
      each_index.add(s.value), each_index.add(s.offset), lanes = std::min(lanes, lanes_of(f_->slots[s.slot].dtype));
    cost_ += vectors(*axes, lanes, !rows_.empty()) * (each_index.number() + static_cast<double>(n.stores.size()));
    return each(*axes, [&](RowValue& value) {
      std::vector<std::pair<Expr, Expr>> written;  // where, what
      std::vector<bool> stays;
      for (const Store& s : n.stores) {
        const auto holds = s.condition ? truth_of(value(s.condition)) : std::optional(true);
        if (!holds) return false;
        stays.push_back(*holds);
        written.emplace_back(value(s.offset), value(s.value));
      }
      for (std::size_t i = 0; i < written.size(); ++i)
        if (stays[i] && !write(n.stores[i].slot, written[i].first, written[i].second)) return false;
      return true;
    });
  }
  bool walk(const Reduce& r) {
    if (!r.stores.empty() || !r.others.empty()) return false;
    const auto axes = axes_of(r.outer_vars, r.outer_sizes);
    if (!axes || count(*axes) > most_elements) return false;
    Axes inner;
    for (std::size_t i = 0; i < r.inner_vars.size(); ++i) {
      if (!at_most(r.inner_sizes[i], most_terms)) return false;
      inner.own.push_back(r.inner_vars[i]), inner.sizes.push_back(r.inner_sizes[i].value());
    }
    if (count(*axes) * count(inner) > most_terms) return false;
    Instructions each_index;
    each_index.add(r.value);
    const double lanes = lanes_of(r.value.dtype());
    const auto terms = static_cast<double>(count(inner));
    cost_ +=
        static_cast<double>(count(*axes)) * (std::ceil(terms / lanes) * (each_index.number() + 1) + std::log2(lanes));
    return each(*axes, [&](RowValue& outer) {
      std::vector<Expr> terms;
      if (count(inner) == 0 || !begins_with_nothing(r)) terms.push_back(outer(r.initial));
      inner.vars = outer.vars;
      const auto add = [&](RowValue& value) { return terms.push_back(value(r.value)), true; };
      if (!each(inner, add)) return false;
      // Pair by pair, so that none waits for all before it.
      const Binary op = binary_of(r.combine);
      while (terms.size() > 1) {
        std::vector<Expr> pairs;
        for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
          pairs.push_back(shared_(folded(binary(op, terms[i], terms[i + 1]))));
        if (terms.size() % 2 != 0) pairs.push_back(terms.back());
        terms = std::move(pairs);
      }
      return write(r.slot, outer(r.offset), terms[0]);
    });
  }
  bool walk(const Copy& c) {
    const auto elements = each_row_of(c.elements, product_of(rows_));
    if (!elements || !at_most(*elements, most_elements)) return false;
    const std::int64_t per_row = elements->value();
    cost_ += std::ceil(static_cast<double>(per_row) / lanes_of(f_->slots[c.to].dtype)) * 2;
    const Expr base = number() * Expr(per_row);
    RowValue value(*f_, ranges_, shared_, uses_);
    std::vector<Expr> moved;
    for (std::int64_t i = 0; i < per_row; ++i)
      moved.push_back(value(load(c.from, f_->slots[c.from].dtype, c.from_offset + (base + Expr(i)))));
    for (std::int64_t i = 0; i < per_row; ++i)
      if (!write(c.to, value(c.to_offset + (base + Expr(i))), moved[static_cast<std::size_t>(i)])) return false;
    return !value.failed();
  }
  template <class Other>
  bool walk(const Other&) {
    return false;
  }

  // How many vectors along its last axis a statement takes for a row.
  static double vectors(const Axes& axes, double lanes, bool rows) {
    const auto all = static_cast<double>(count(axes));
    if (axes.flat_base && axes.own.size() == 1) return all / lanes;
    if (axes.own.empty()) return rows ? 1 / lanes : 1;
    const auto last = static_cast<double>(axes.sizes.back());
    return all / last * std::ceil(last / lanes);
  }

  // --- what the nest is ---
  // Whether vectors of rows leave as whole vectors of memory: element by element beside each other, or as runs of all
  // that lie between one row's and the next one's.
  bool leaves_in_runs(SlotId slot, const SlotOfRows& use) const {
    if (vars_.empty()) return true;
    const auto term = use.terms->find(vars_.back());
    const Dim along = term == use.terms->end() ? Dim(0) : term->second;
    if (along == Dim(1)) return true;
    if (!along.known() || along.value() < 2 || along.value() > longest_run) return false;
    const std::int64_t run = along.value();
    if (modulo(f_->slots[slot].elements, run) != Dim(0)) return false;
    for (const auto& [var, coefficient] : *use.terms)
      if (!exact_quotient(coefficient, run)) return false;
    std::int64_t next = 0;
    for (const auto& [at, value] : use.values) {
      if (next % run == 0 ? at % run != 0 : at != next) return false;
      next = at + 1;
    }
    return next % run == 0;
  }

  // Instructions of a row.
  double price(const Nest& n) const {
    Instructions all;
    // Of one row, numbers: a processor does several at once where vectors of few elements wait for each other.
    double lanes = rows_.empty() ? numbers_at_once : std::min(most_lanes, estimate(rows_.back()));
    for (const Store& s : n.stores) all.add(s.value), lanes = std::min(lanes, lanes_of(f_->slots[s.slot].dtype));
    double moved = 0;  // runs are taken apart and put together
    const auto move = [&](const Expr& offset) {
      if (vars_.empty()) return;
      const auto at = affine(offset);
      const Dim along = at ? at->coefficient(vars_.back()) : Dim(0);
      if (at && (along == Dim(0) || along == Dim(1))) return;
      moved += along.known() && std::abs(along.value()) <= longest_run ? std::log2(std::abs(along.value())) + 1 : lanes;
    };
    for (const Store& s : n.stores) move(s.offset);
    for (const Expr& load : all.loads()) move(load.operand(0));
    // A polynomial of one number is as long as one of a vector.
    const double alone = rows_.empty() ? all.in_functions() : 0;
    return alone + (all.number() - alone + static_cast<double>(n.stores.size()) + moved) / lanes;
  }

  // Whether vectors along the rows may be fewer than those along a row's elements: these are few, or in no order.
  bool may_gain(const Statement& s) const {
    // Whether vectors along an axis are not full.
    const auto wastes = [](const Dim& size, double lanes) {
      if (!at_most(size, most_elements)) return false;
      const auto n = static_cast<double>(size.value());
      return n <= 2 * lanes && std::ceil(n / lanes) * lanes >= worth_it * n;
    };
    if (const auto* n = std::get_if<Nest>(&s.held())) {
      double lanes = most_lanes;
      bool in_order = n->independent;
      for (const Store& store : n->stores) {
        lanes = std::min(lanes, lanes_of(f_->slots[store.slot].dtype));
        visit_loads(store.value, [&](const Expr& load) { in_order = in_order && affine(load.operand(0)); });
      }
      return n->sizes.size() > rows_.size() && (!in_order || wastes(n->sizes.back(), lanes));
    }
    if (const auto* r = std::get_if<Reduce>(&s.held())) {
      return !r->inner_sizes.empty() && wastes(r->inner_sizes.back(), lanes_of(r->value.dtype()));
    }
    return false;
  }
  // A nest with one axis, of which a row has several elements.
  const Nest* flat_nest(const Statement& s) const {
    const auto* n = std::get_if<Nest>(&s.held());
    return n != nullptr && n->sizes.size() == 1 && rows_.size() == 1 && n->sizes != rows_ ? n : nullptr;
  }
  // Whether a row has several elements of it.
  bool has_several(const Statement& s) const {
    const auto* n = std::get_if<Nest>(&s.held());
    return n == nullptr || n->sizes != rows_;
  }

  const Function* f_;
  bool opaque_ = false, gains_ = false;
  Rows rows_;
  std::vector<std::uint32_t> vars_;
  IndexRanges ranges_;
  std::vector<Statement> members_;
  std::set<SlotId> reads_, writes_;
  SlotsOfRows uses_;
  SharedValues shared_;
  double cost_ = 0;  // of the statements as they are: instructions of a row
};

class Keeper {
 public:
  explicit Keeper(Function& f) : f_(f), long_calls_(is_long_calls(f.body)) {
    SlotUses uses(f);
    references_ = std::move(uses.references), writers_ = std::move(uses.writers);
  }
  void run() { block(f_.body, f_.body.size() <= few_statements); }

 private:
  static constexpr std::size_t few_statements = 256;  // more of them share code where they are alike

  // `one_row`: also what has one row alone.
  void block(Block& statements, bool one_row) {
    std::vector<RowGroup> groups;
    for (Statement& s : statements) {
      for_each_block(s, [&](Block& inside) { block(inside, false); });
      one_row_ = one_row;
      if (!fold(s)) place(std::move(s), groups);
    }
    statements.clear();
    for (RowGroup& g : groups) {
      if (auto n = g.nest(references_); n && affords(g)) {
        for (const Statement& s : g.members()) visit_slots(s, [&](SlotId slot, bool) { --references_[slot]; });
        statements.emplace_back(std::move(*n));
        visit_slots(statements.back(), [&](SlotId slot, bool) { ++references_[slot]; });
      } else {
        for (const Statement& s : g.members()) statements.push_back(s);
      }
    }
  }

  // Takes a nest of one row from the instructions that are left; false where these are fewer.
  bool affords(const RowGroup& group) {
    if (!group.rows().empty()) return true;
    if (group.instructions() > of_one_row_) return false;
    of_one_row_ -= group.instructions();
    return true;
  }

  // A nest that stores what is known makes constants.
  bool fold(const Statement& s) {
    const auto* n = std::get_if<Nest>(&s.held());
    if (n == nullptr || !at_most(product_of(n->sizes), most_terms)) return false;
    bool known = true;
    visit_slots(s, [&](SlotId slot, bool write) {
      const Slot& at = f_.slots[slot];
      known = known && (write ? at.temporary() && writers_[slot] == 1 : at.place == Slot::Place::constant);
    });
    if (!known) return false;
    auto constants = RowGroup(f_, Rows(), {}).constants(*n);
    for (auto& [slot, bytes] : constants)
      f_.slots[slot].place = Slot::Place::constant, f_.slots[slot].values = std::move(bytes);
    return !constants.empty();
  }

  // Into one of the last groups: the statement moves up to it, or it moves down behind what is between.
  void place(Statement s, std::vector<RowGroup>& groups) {
    const RowGroup alone(f_, s);
    bool up = true;
    for (std::size_t back = 1; back <= std::min(look_back, groups.size()); ++back) {
      const std::size_t g = groups.size() - back;
      if (long_calls_ && groups[g].is_opaque()) break;  // each call's statements stay with it
      const auto moves_down = [&] {
        return std::all_of(groups.begin() + static_cast<std::ptrdiff_t>(g) + 1, groups.end(),
                           [&](const RowGroup& between) { return between.independent_of(groups[g]); });
      };
      const bool down = !up && moves_down();
      if ((up || down) && (groups[g].join(s) || join_anew(groups[g], s))) {
        if (!up)
          std::rotate(groups.begin() + static_cast<std::ptrdiff_t>(g),
                      groups.begin() + static_cast<std::ptrdiff_t>(g) + 1, groups.end());
        return;
      }
      up = up && groups[g].independent_of(alone);
    }
    const auto rows = rows_of(s);
    RowGroup fresh = rows ? group_of(*rows) : alone;
    if (!fresh.join(s)) fresh = alone;
    groups.push_back(std::move(fresh));
  }
  // Few statements that could be divided into other rows, too: those of this one, or those along the last axes that
  // both have.
  bool join_anew(RowGroup& group, const Statement& s) {
    constexpr std::size_t few = 4;
    const auto rows = rows_of(s);
    if (!rows || group.is_opaque() || group.members().size() > few || *rows == group.rows()) return false;
    const auto both = std::ranges::mismatch(std::views::reverse(*rows), std::views::reverse(group.rows()));
    for (const Rows& each : {*rows, Rows(both.in1.base(), rows->end())}) {
      if (each.empty() || each == group.rows() || estimate(each) < fewest_rows) continue;
      RowGroup again = group_of(each);
      const auto joins = [&](const Statement& m) { return again.join(m); };
      if (!std::ranges::all_of(group.members(), joins) || !again.join(s)) continue;
      group = std::move(again);
      return true;
    }
    return false;
  }
  RowGroup group_of(const Rows& rows) {
    std::vector<std::uint32_t> vars;
    for (std::size_t i = 0; i < rows.size(); ++i) vars.push_back(f_.vars++);
    return RowGroup(f_, rows, std::move(vars));
  }

  // The axes in front of those that make few elements; nothing where there are too few rows.
  std::optional<Rows> rows_of(const Statement& s) const {
    const Sizes* sizes = nullptr;
    if (const auto* n = std::get_if<Nest>(&s.held())) sizes = &n->sizes;
    if (const auto* r = std::get_if<Reduce>(&s.held())) sizes = &r->outer_sizes;
    if (sizes == nullptr || estimate(*sizes) == 0) return {};
    std::size_t rows = sizes->size();
    std::int64_t elements = 1;
    while (rows > 1 && at_most((*sizes)[rows - 1], most_elements / elements)) elements *= (*sizes)[--rows].value();
    Rows front{sizes->begin(), sizes->begin() + static_cast<std::ptrdiff_t>(rows)};
    if (estimate(front) >= fewest_rows) return front;
    return one_row_ && at_most(product_of(*sizes), most_elements) ? std::optional(Rows()) : std::nullopt;
  }

  Function& f_;
  std::vector<int> references_, writers_;
  bool long_calls_;
  bool one_row_ = false;
  std::size_t of_one_row_ = most_of_one_row;  // instructions that are left
};

}  // namespace

void keep_rows_in_registers(Function& function) { Keeper(function).run(); }

}  // namespace tenon::kernel
