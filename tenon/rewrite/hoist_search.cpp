#include "tenon/rewrite/hoist_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <unordered_set>

#include "tenon/base/estimate.h"
#include "tenon/base/settings.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/rewrite/steps_behind.h"
#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

class HoistSearch {
 public:
  explicit HoistSearch(const Program& program) : program_(program), readers_(program), maker_(maker_numbers(program)) {
    is_output_.assign(program.vars(), false);
    for (Var v : program.outputs()) is_output_[v] = true;
  }

  std::vector<Hoist> find() {
    std::vector<Hoist> found;
    std::vector<bool> taken(program_.eqns().size(), false), early(program_.eqns().size(), false);
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      if (program_.eqns()[e].op != &loop_op()) continue;
      Hoist hoist;
      hoist.loop = e;
      if (!fill(hoist)) continue;
      const std::set<std::size_t> needed = needed_early(hoist);
      const auto is_early = [&](std::size_t x) { return early[x]; };
      const auto is_taken = [&](std::size_t x) { return taken[x]; };
      if (std::ranges::any_of(hoist.taken, is_early) || std::ranges::any_of(hoist.taken, is_taken) ||
          std::ranges::any_of(needed, is_taken))
        continue;
      for (const std::size_t x : hoist.taken) taken[x] = true;
      for (const std::size_t x : needed) early[x] = true;
      found.push_back(std::move(hoist));
    }
    return found;
  }

  std::vector<HoistNote> notes_of_what_stays() {
    std::vector<HoistNote> notes;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      Hoist hoist;
      hoist.loop = e;
      if (program_.eqns()[e].op != &loop_op() || !enter(hoist)) continue;
      const std::size_t before = notes.size();
      std::vector<StreamEnd> ends;
      std::set<std::size_t> cone;
      look_behind(hoist, ends, cone);
      const auto note = [&](std::size_t end, std::string why) {
        notes.push_back(note_of(program_, end, e));
        notes.back().stays = std::move(why);
      };
      const std::vector<Kept> why = kept(ends, taken_by(ends, cone));
      for (std::size_t i = 0; i < ends.size(); ++i)
        if (ends[i].kind != StreamEnd::Kind::part && ends[i].kind != StreamEnd::Kind::row)
          note(ends[i].eqn, text(why[i].by));
      for (std::size_t end = e + 1; end < program_.eqns().size(); ++end)
        if (const auto why = why_no_end(program_.eqns()[end])) note(end, *why);
      if (notes.size() > before) continue;
      std::set<std::size_t> moves = cone;
      for (const StreamEnd& end : ends) moves.insert(end.eqn), moves.insert(end.absorbed.begin(), end.absorbed.end());
      const Eqn& loop = program_.eqns()[e];
      for (auto i = static_cast<std::size_t>(loop.params.as<LoopParams>().carries); i < loop.out.size(); ++i)
        if (const Eqn* reader = reader_besides(loop.out[i], moves); reader != nullptr && reader->op != &loop_op())
          notes.push_back(
              {type(loop.out[i]).text(),
               {},
               loop.where,
               fmt::format("{}{} reads it, and does not go step by step", reader->op->name, reader->where.at_text()),
               true});
    }
    return notes;
  }

 private:
  // What reads a stack, or what is made of it step by step, and is none of the eqns that could move.
  const Eqn* reader_besides(Var stack, const std::set<std::size_t>& moves) const {
    std::vector<Var> open{stack};
    std::unordered_set<Var> seen{stack};
    while (!open.empty()) {
      const Var v = open.back();
      open.pop_back();
      for (const std::size_t e : readers_[v]) {
        if (!moves.contains(e)) return &program_.eqns()[e];
        for (const Var x : program_.eqns()[e].out)
          if (steps_.contains(x) && seen.insert(x).second) open.push_back(x);
      }
    }
    return nullptr;
  }

  // What an end reads that is a result, or that others read which stay.
  struct Spoiler {
    Var of;
    std::optional<std::size_t> reader;
  };
  std::string text(const std::optional<Spoiler>& found) const {
    if (!found) return "what it reads is made of what another one that stays reads";
    const Eqn& made = *maker(found->of);
    const std::string what = fmt::format("{} {}{} is ", made.op == &loop_op() ? "the stack" : made.op->name,
                                         type(found->of).text(), made.where.at_text());
    if (!found->reader) return what + "a result";
    const Eqn& reader = program_.eqns()[*found->reader];
    return fmt::format("{}also read by {}{}", what, reader.op->name, reader.where.at_text());
  }
  // Of a reduction over the steps that is none which a loop takes in.
  std::optional<std::string> why_no_end(const Eqn& eqn) const {
    const auto steps = eqn.in.empty() ? std::nullopt : this->steps(eqn.in[0]);
    if (!steps) return {};
    if (const auto form = reduction_of(eqn, program_)) {
      if (eqn.numerics == Numerics::relaxed || !std::ranges::binary_search(form->axes, steps->axis)) return {};
      return "under Numerics::strict sums keep their order";
    }
    if (!first_in_order(eqn) || few_in_order(eqn) || steps->axis != last_axis(eqn.in[0])) return {};
    return fmt::format("no more than {} are kept in order", most_in_order);
  }
  // Where the steps of a loop lie in its stacks, if it has some.
  bool enter(Hoist& hoist) {
    const Eqn& loop = program_.eqns()[hoist.loop];
    const auto& p = loop.params.as<LoopParams>();
    // A loop without steps keeps its reductions behind it: their mean is NaN, and a stream would add multiples of that
    // to sums around the mean, which are 0.
    if (p.cond || !p.length || p.lanes || *p.length == Dim(0)) return false;
    const auto carries = static_cast<std::size_t>(p.carries);
    if (loop.out.size() == carries) return false;
    is_of_elements_ = is_of_elements(*p.body);
    reverse_ = p.reverse;
    steps_.clear();
    behind_.clear();
    narrowed_.clear();
    waiting_.clear();
    behind_.insert(loop.out.begin(), loop.out.end());
    note_unrolled(hoist);
    for (std::size_t i = carries; i < loop.out.size(); ++i)
      if (program_.type(loop.out[i]).is_array() && hoist.unrolled.empty())
        steps_[loop.out[i]] = StepsIn{0, {}, 0, *p.length};
    for (const auto& [v, i] : hoist.unrolled) steps_[v] = StepsIn{0, {}, 0, program_.type(v).shape[0]};
    return true;
  }
  bool fill(Hoist& hoist) {
    if (!enter(hoist)) return false;
    const Eqn& loop = program_.eqns()[hoist.loop];
    std::vector<StreamEnd> ends;
    std::set<std::size_t> cone;
    look_behind(hoist, ends, cone);
    // What is read outside of what moves needs its stack, and so does all that it is made of.
    while (true) {
      const Taken all = taken_by(ends, cone);
      const std::vector<Kept> why = kept(ends, all);
      if (!std::ranges::all_of(why, &Kept::moves)) {
        std::erase_if(ends, [&](const StreamEnd& end) { return !why[at(&end - ends.data())].moves(); });
        continue;
      }
      std::set<std::size_t> taken = all.taken;
      const auto is_taken = [&](std::size_t e) { return taken.contains(e); };
      const auto is_gone = [&](Var v) {
        return !is_output_[v] && !readers_[v].empty() && std::ranges::all_of(readers_[v], is_taken);
      };
      std::erase_if(
          ends, [&](const StreamEnd& end) { return is_whole_part(end) && is_gone(program_.eqns()[end.eqn].out[0]); });
      if (ends.empty()) return false;
      for (const auto& [v, output] : hoist.unrolled)
        if (is_gone(v)) taken.insert(maker_[v]);
      for (const Var v : loop.out) hoist.gone.push_back(is_gone(v));
      taken.insert(hoist.loop);
      hoist.taken = std::move(taken);
      hoist.moved = all.moved;
      hoist.ends = std::move(ends);
      hoist.steps = std::move(steps_);
      return true;
    }
  }

  // The reductions behind a loop that could be its own, and what lies in between.
  void look_behind(const Hoist& hoist, std::vector<StreamEnd>& ends, std::set<std::size_t>& cone) {
    for (std::size_t e = hoist.loop + 1; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      const bool early = effect_of(eqn) == Effect::none && eqn.new_sizes.empty() &&
                         std::ranges::all_of(eqn.in, [&](Var v) { return is_before(v); });
      if (!early) behind_.insert(eqn.out.begin(), eqn.out.end());
      if (!eqn.out.empty() && hoist.unrolled.contains(eqn.out[0])) continue;
      if (auto end = dependent_end(e)) {
        ends.push_back(std::move(*end));
      } else if (auto sum = waiting_end(e)) {
        ends.push_back(std::move(*sum));
      } else if (std::ranges::none_of(eqn.in, [&](Var v) { return steps_.contains(v); })) {
        continue;
      } else if (auto own = end_of_steps(e)) {
        note_what_waits(*own);
        ends.push_back(std::move(*own));
      } else if (auto row = row_of_steps(e)) {
        ends.push_back(std::move(*row));
      } else if (auto rows = rows_of_number(e)) {
        ends.push_back(std::move(*rows));
      } else if (const auto steps = is_of_few(hoist, e) ? std::nullopt : steps_along(eqn)) {
        cone.insert(e);
        steps_.emplace(eqn.out[0], *steps);
        const bool multiplies = is_product(*eqn.op), reduces = reduction_of(eqn, program_).has_value();
        const auto is_narrowed = [&](Var v) { return narrowed_.contains(v); };
        if (multiplies || reduces || std::ranges::any_of(eqn.in, is_narrowed)) narrowed_.insert(eqn.out[0]);
        if (multiplies ? makes_few_of_rows(program_, eqn) : reduces && !is_one_number(e))
          ends.push_back({e, StreamEnd::Kind::part, {{eqn.in[0], *this->steps(eqn.in[0])}}, {}, {}, {}, {}});
      }
    }
    // Each step would choose each of them.
    constexpr std::ptrdiff_t most_rows = 8;
    const auto is_row = [](const StreamEnd& end) { return end.kind == StreamEnd::Kind::row; };
    if (std::ranges::count_if(ends, is_row) > most_rows) std::erase_if(ends, is_row);
  }
  // The eqns of some ends: what becomes part of the body; what is written anew or goes; and reductions whose parts the
  // loop stacks. The second lacks what stays behind the loop for others that read it.
  struct Taken {
    std::set<std::size_t> moved, taken, stacked;
  };
  Taken taken_by(std::span<const StreamEnd> ends, const std::set<std::size_t>& cone) const {
    Taken all;
    for (const StreamEnd& end : ends) {
      collect(end, cone, all.moved);
      all.taken.insert(end.eqn);
      all.taken.insert(end.absorbed.begin(), end.absorbed.end());
      if (is_whole_part(end)) all.moved.insert(end.eqn), all.stacked.insert(end.eqn);
    }
    all.taken.insert(all.moved.begin(), all.moved.end());
    std::set<std::size_t> between = all.moved;
    for (const StreamEnd& end : ends) between.insert(end.absorbed.begin(), end.absorbed.end());
    for (const std::size_t e : between | std::views::reverse)
      if (!all.stacked.contains(e) && read_outside(program_.eqns()[e].out[0], all)) all.taken.erase(e);
    return all;
  }
  std::optional<Spoiler> read_outside(Var v, const Taken& all) const {
    if (is_output_[v]) return Spoiler{v, {}};
    for (const std::size_t e : readers_[v])
      if (!all.taken.contains(e)) return Spoiler{v, e};
    return {};
  }

  // Why what is made of the loop's results does not move: `by` keeps its stack. `again`: whether it moves all the same,
  // since what stays beside it costs less than reading the stack from memory once more: `operations` an element at
  // most.
  struct Kept {
    std::optional<Spoiler> by;
    bool again = true;
    double operations = 0;
    bool moves() const { return !by || again; }
    void add(const Kept& other) {
      if (!by) by = other.by;
      again = again && other.again;
      operations = std::max(operations, other.operations);
    }
    void may_cost(double most) { again = again && operations <= most; }
  };
  std::vector<Kept> kept(std::span<const StreamEnd> ends, const Taken& all) const {
    std::map<std::size_t, Kept> made;  // of what moves
    const auto kept_of = [&](Var v) {
      Kept kept;
      if (!steps_.contains(v)) return kept;
      const std::size_t e = maker_[v];
      const auto found = made.find(e);
      if (found != made.end()) kept = found->second;
      if (all.stacked.contains(e)) return kept;
      if (auto by = read_outside(v, all)) {
        kept.by = by;
        if (found == made.end())
          kept.again = kept.again && is_large(v);
        else
          kept.operations = std::max(kept.operations, operations_again(program_.eqns()[e]));
      }
      return kept;
    };
    for (const std::size_t e : all.moved) {
      Kept& kept = made[e];
      for (const Var v : program_.eqns()[e].in) kept.add(kept_of(v));
      kept.again = kept.again && !is_one_number(e);
    }
    // Sums that wait behind the loop are a pass of their own over the stack, and make what they wait with once more.
    constexpr double cheap = 3, cheap_for_waiting = 40;  // operations
    std::vector<Kept> result;
    for (const StreamEnd& end : ends) {
      Kept& kept = result.emplace_back();
      if (is_whole_part(end)) {
        kept = made.at(end.eqn);
        kept.may_cost(cheap);
        continue;
      }
      for (const Along& a : end.of) kept.add(kept_of(a.var));
      for (const std::size_t e : end.absorbed)
        if (const auto by = read_outside(program_.eqns()[e].out[0], all); by && !kept.by) kept.by = by;
      // Sums and the like of all elements are those of each, which the loop takes in; others wait for each other.
      const bool by_elements = end.kind == StreamEnd::Kind::monoid || end.kind == StreamEnd::Kind::product ||
                               end.kind == StreamEnd::Kind::part;
      kept.may_cost(end.kind == StreamEnd::Kind::waiting ? cheap_for_waiting : cheap);
      if (end.kind == StreamEnd::Kind::row) kept.again = false;  // it is there
      kept.again = kept.again && (by_elements || type(program_.eqns()[end.eqn].out[0]).rank() > 0);
    }
    return result;
  }
  // Of a stack: it would come from memory.
  bool is_large(Var v) const {
    constexpr double large = 1 << 20, shortest_row = 32;  // bytes, elements
    const Type& t = type(v);
    const double row = estimate(step_shape(t.shape, *steps(v)).elements());
    return blocks_are_small() ||
           (row >= shortest_row && estimate(t.shape.elements()) * static_cast<double>(size_of(t.dtype)) >= large);
  }
  // What it costs an element to make it once more.
  double operations_again(const Eqn& eqn) const {
    if (reduction_of(eqn, program_) || is_product(*eqn.op)) return std::numeric_limits<double>::infinity();
    return is_elementwise(eqn) ? element_form(program_, eqn).operations : 0;
  }
  static bool is_whole_part(const StreamEnd& end) { return end.kind == StreamEnd::Kind::part && end.axes.empty(); }
  // Whether a reduction takes few numbers of a step that has many others: it stays behind the loop, so that threads
  // share a step. Numbers that are made of more of a step's would keep these in memory.
  bool is_of_few(const Hoist& hoist, std::size_t e) const {
    constexpr double many_each = 16, least = 1 << 18;  // elements
    const Eqn& eqn = program_.eqns()[e];
    if (!reduction_of(eqn, program_) || !steps_along(eqn) || !is_of_elements_ || narrowed_.contains(eqn.in[0]))
      return false;
    const double row = estimate(step_shape(type(eqn.in[0]).shape, *steps(eqn.in[0])).elements());
    const Eqn& loop = program_.eqns()[hoist.loop];
    const auto& p = loop.params.as<LoopParams>();
    const double turns = estimate(*p.length);
    for (std::size_t i = 0; i < loop.out.size(); ++i) {
      const Type& out = type(loop.out[i]);
      if (!out.is_array()) continue;
      const double all = estimate(out.shape.elements());
      const double turn = i < static_cast<std::size_t>(p.carries) ? all : all / std::max(turns, 1.);
      if (turn >= many_each * row && (blocks_are_small() || turn * turns >= least)) return true;
    }
    return false;
  }
  // Of a reduction that makes one number of all that a large step has: as a part of the stack each step leaves its rows
  // reduced, which threads share; the number is made of these behind the loop.
  std::optional<StreamEnd> rows_of_number(std::size_t e) const {
    constexpr std::int64_t shortest_row = 64, most_rows = 256;
    const Eqn& eqn = program_.eqns()[e];
    const auto form = eqn.numerics == Numerics::relaxed ? reduction_of(eqn, program_) : std::nullopt;
    const auto steps = form ? this->steps(eqn.in[0]) : std::nullopt;
    if (!steps || steps->chunk || !steps_along(eqn) || !is_of_elements_) return {};
    const Type& x = type(eqn.in[0]);
    if (form->axes.size() < 2 || form->axes.size() + 1 != x.rank() || !is_large(eqn.in[0])) return {};
    if (x.dtype != type(eqn.out[0]).dtype || computed_in(x.dtype) != x.dtype) return {};
    const Dim rows = x.shape[at(form->axes[0])];
    Dim row = 1;
    for (const std::int64_t axis : form->axes | std::views::drop(1)) row = row * x.shape[at(axis)];
    if (!blocks_are_small() && (estimate(row) < shortest_row || !rows.known() || rows.value() > most_rows)) return {};
    const std::vector<std::int64_t> inner(form->axes.begin() + 1, form->axes.end());
    return StreamEnd{e, StreamEnd::Kind::part, {{eqn.in[0], *steps}}, inner, {}, {}, {}};
  }
  // A step that sums all that it has is one for one thread, unless it has so little that it is one anyway.
  bool is_one_number(std::size_t e) const {
    constexpr double few = 4096;  // elements
    const Eqn& eqn = program_.eqns()[e];
    return reduction_of(eqn, program_) && step_shape(type(eqn.out[0]).shape, *steps(eqn.out[0])).rank() == 0 &&
           (blocks_are_small() || estimate(step_shape(type(eqn.in[0]).shape, *steps(eqn.in[0])).elements()) > few);
  }

  // Stacks of which each turn makes the rows of several steps, one by one, and which are reshaped to rows of all steps.
  void note_unrolled(Hoist& hoist) const {
    constexpr std::int64_t most = 32;  // steps are written out in the body
    const Eqn& loop = program_.eqns()[hoist.loop];
    const auto& p = loop.params.as<LoopParams>();
    const std::vector<const Eqn*> makers = makers_of(*p.body);
    for (auto i = static_cast<std::size_t>(p.carries); i < loop.out.size(); ++i) {
      const Type& stack = type(loop.out[i]);
      const Eqn* made = makers[p.body->outputs()[i]];
      if (!stack.is_array() || stack.rank() < 2 || !stack.shape[0].known() || !stack.shape[1].known() ||
          made == nullptr || concatenated_axis(*made) != 0 ||
          stack.shape[1] != Dim(static_cast<std::int64_t>(made->in.size())))
        continue;
      const std::int64_t each = stack.shape[1].value();
      if (each < 2 || each > most || (hoist.steps_a_turn != 1 && hoist.steps_a_turn != each)) continue;
      const Shape all = stack.shape.without_axis(0).without_axis(0).with_axis(0, stack.shape[0] * each);
      for (const std::size_t reader : readers_[loop.out[i]]) {
        const Eqn& eqn = program_.eqns()[reader];
        if (eqn.op != &reshape_op() || type(eqn.out[0]).shape != all) continue;
        hoist.steps_a_turn = each;
        hoist.unrolled.emplace(eqn.out[0], i);
      }
    }
  }

  // The eqns behind the loop that make what it will read.
  std::set<std::size_t> needed_early(const Hoist& hoist) const {
    std::vector<Var> open;
    const auto read = [&](Var v) {
      if (!hoist.steps.contains(v)) open.push_back(v);
    };
    for (const std::size_t e : hoist.moved) std::ranges::for_each(program_.eqns()[e].in, read);
    for (const StreamEnd& end : hoist.ends)
      for (const Along& a : end.of) read(a.var);
    return makers_behind(program_, maker_, hoist.loop, std::move(open), [](std::size_t) { return false; });
  }

  std::optional<StepsIn> steps_along(const Eqn& eqn) const {
    return steps_behind(program_, eqn, [&](Var v) { return steps(v); }, [&](Var v) { return is_before(v); }, reverse_);
  }
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  const Type& type(Var v) const { return program_.type(v); }
  std::int64_t last_axis(Var v) const { return static_cast<std::int64_t>(type(v).rank()) - 1; }
  std::optional<StepsIn> steps(Var v) const {
    const auto found = steps_.find(v);
    return found == steps_.end() ? std::nullopt : std::optional(found->second);
  }
  // Whether it can be computed before the loop.
  bool is_before(Var v) const { return !behind_.contains(v); }

  // The eqns of the cone that an end is made of.
  void collect(const StreamEnd& end, const std::set<std::size_t>& cone, std::set<std::size_t>& into) const {
    std::vector<Var> open;
    for (const Along& a : end.of) open.push_back(a.var);
    while (!open.empty()) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || !cone.contains(e) || !into.insert(e).second) continue;
      open.insert(open.end(), program_.eqns()[e].in.begin(), program_.eqns()[e].in.end());
    }
  }

  // A slice of one step of several, which may cut other axes.
  std::optional<StreamEnd> row_of_steps(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    if (eqn.op != &slice_op()) return {};
    const auto steps = this->steps(eqn.in[0]);
    if (!steps || steps->chunk || type(eqn.out[0]).shape[at(steps->axis)] != Dim(1) ||
        type(eqn.in[0]).shape[at(steps->axis)] == Dim(1))
      return {};
    StepsIn row = *steps;
    row.first = row.first + slice_form(eqn.params).start[at(steps->axis)] * steps->stride;
    row.count = 1;
    row.stride = 1;
    return StreamEnd{e, StreamEnd::Kind::row, {{eqn.in[0], row}}, {}, {}, {}, {}};
  }
  // A reduction over the steps, or a product that sums over them, one of whose operands has no axes of its own: it
  // multiplies each element of the other one with one number.
  std::optional<StreamEnd> end_of_steps(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    if (eqn.numerics != Numerics::relaxed) return {};
    if (const auto form = reduction_of(eqn, program_)) {
      const auto steps = this->steps(eqn.in[0]);
      if (!steps || !std::ranges::binary_search(form->axes, steps->axis)) return {};
      return StreamEnd{e, StreamEnd::Kind::monoid, {{eqn.in[0], *steps}}, form->axes, {}, {}, {}};
    }
    if (const auto few = few_in_order(eqn)) {
      constexpr std::int64_t most = 64;  // places times rows of a step, which are written out
      const auto steps = this->steps(eqn.in[0]);
      if (!steps || steps->axis != last_axis(eqn.in[0])) return {};
      if (steps->chunk && steps->chunk->try_value().value_or(most + 1) * few->count.value() > most) return {};
      return StreamEnd{e, StreamEnd::Kind::first_in_order, {{eqn.in[0], *steps}}, {steps->axis}, {}, {}, {}};
    }
    if (!is_product(*eqn.op) || !is_real(type(eqn.out[0]).dtype)) return {};
    const Var a = eqn.in[0], b = eqn.in[1];
    const ProductForm form = product_form(eqn.params, type(a), type(b));
    if (!form.free_a.empty() && !form.free_b.empty()) return {};
    for (std::size_t i = 0; i < form.contract_a.size(); ++i) {
      auto of_a = steps(a), of_b = steps(b);
      if (of_a ? of_a->axis != form.contract_a[i] : !of_b || of_b->axis != form.contract_b[i]) continue;
      if (!of_a && is_before(a)) of_a = of_b, of_a->axis = form.contract_a[i];
      if (!of_b && is_before(b)) of_b = of_a, of_b->axis = form.contract_b[i];
      if (!of_a || !of_b || of_b->axis != form.contract_b[i] || of_a->chunk != of_b->chunk ||
          of_a->first != of_b->first || of_a->count != of_b->count || of_a->stride != of_b->stride)
        return {};
      return StreamEnd{e, StreamEnd::Kind::product, {{a, *of_a}, {b, *of_b}}, form.contract_a, {}, {}, {}};
    }
    return {};
  }

  // What compares elements with a result of all of them, which is known behind the loop only.
  std::optional<StreamEnd> dependent_end(std::size_t e) const {
    auto found = compared_end(program_, maker_, e);
    if (!found || is_before(found->against) || steps_.contains(found->against)) return {};
    const auto steps = this->steps(found->end.of[0].var);
    if (!steps || std::ranges::count(found->end.axes, steps->axis) == 0) return {};
    for (Along& along : found->end.of) {
      const auto own = this->steps(along.var);
      if (own ? *own != *steps : !is_before(along.var)) return {};
      along.steps = *steps;
    }
    return std::move(found->end);
  }

  // Notes the sums that wait for a reduction of the steps.
  void note_what_waits(const StreamEnd& end) {
    const auto first = end.kind == StreamEnd::Kind::monoid ? first_reduction(program_, end.eqn) : std::nullopt;
    if (!first) return;
    const auto is_late = [&](Var v) { return !steps_.contains(v) && !is_before(v); };
    for (WaitingSum& sum : sums_that_wait(program_, maker_, readers_, *first, true, is_late))
      waiting_.emplace(sum.eqn, std::make_shared<const WaitingEnd>(*first, std::move(sum)));
  }
  std::optional<StreamEnd> waiting_end(std::size_t e) const {
    for (auto [found, end] = waiting_.equal_range(e); found != end; ++found)
      if (auto made = waiting_end(found->second)) return made;
    return {};
  }
  std::optional<StreamEnd> waiting_end(const std::shared_ptr<const WaitingEnd>& waits) const {
    const auto& [first, sum] = *waits;
    const auto steps = this->steps(first.x);
    if (!steps || (sum.wider && steps->chunk)) return {};
    StreamEnd end{sum.eqn, StreamEnd::Kind::waiting, {{first.x, *steps}}, first.axes, {}, {}, {}, waits};
    for (const Var v : elements_read(sum)) {
      const bool in_wider = sum.wider && type(v).shape == sum.wider->shape;
      end.of.push_back({v, in_wider ? with_axis(*steps, sum.wider->of_elements[at(steps->axis)]) : *steps});
    }
    if (sum.wider && sum.wider->other) {
      const std::int64_t axis = sum.wider->of_elements[at(steps->axis)];
      end.of.push_back({*sum.wider->other, with_axis(*steps, place_of(sum.wider->of_other, axis))});
    }
    for (const Along& along : end.of)
      if (const auto own = this->steps(along.var); own ? *own != along.steps : !is_before(along.var)) return {};
    end.absorbed = terms_eqns(program_, maker_, sum, first);
    return end;
  }

  const Program& program_;
  const EqnReaders readers_;
  std::vector<std::size_t> maker_;
  std::vector<bool> is_output_;
  std::unordered_map<Var, StepsIn> steps_;
  std::unordered_set<Var> behind_;    // of a loop: what cannot be computed before it
  std::unordered_set<Var> narrowed_;  // of a step: what products and reductions make of its numbers
  std::multimap<std::size_t, std::shared_ptr<const WaitingEnd>> waiting_;  // by the eqn of the sum
  bool is_of_elements_ = false;  // of a loop's body: then threads share the rows of each step
  bool reverse_ = false;         // of a loop
};

}  // namespace

std::optional<FirstInOrder> few_in_order(const Eqn& eqn) {
  const auto asked = first_in_order(eqn);
  const std::int64_t k = asked ? asked->count.try_value().value_or(0) : 0;
  return k > 0 && k <= most_in_order ? asked : std::nullopt;
}

std::int64_t Hoist::lag(const Eqn& eqn, Var operand) const {
  const auto own = steps.find(operand), result = eqn.out.empty() ? steps.end() : steps.find(eqn.out[0]);
  if (!is_elementwise(eqn) || own == steps.end() || result == steps.end()) return 0;
  return std::abs((own->second.first - result->second.first).try_value().value_or(0));
}

std::vector<Hoist> find_hoists(const Program& program) { return HoistSearch(program).find(); }

HoistNote note_of(const Program& program, std::size_t eqn, std::size_t loop) {
  const Eqn& e = program.eqns()[eqn];
  return {fmt::format("{} {}", e.op->name, program.type(e.out[0]).text()), e.where, program.eqns()[loop].where};
}
std::vector<HoistNote> notes_of_what_stays(const Program& program) {
  return HoistSearch(program).notes_of_what_stays();
}

}  // namespace tenon
