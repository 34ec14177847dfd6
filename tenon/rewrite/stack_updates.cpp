#include "tenon/rewrite/stack_updates.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/step_numbers.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// All rows along one axis, as many in each step, one after the other.
struct Rows {
  std::size_t axis;
  std::int64_t count;  // a step
  bool backwards;      // the step of element 0 has the last ones
  friend bool operator==(const Rows&, const Rows&) = default;
};
// A carry whose rows are overwritten.
struct Written {
  std::size_t carry;
  Rows rows;
  Var update;  // what a step writes
  // Of rows behind others, and before others: the first one, and the reads of rows that a step before has written, or
  // that are there, by how many rows they lie before the written one, or, of rows that are written backwards, behind.
  std::int64_t first = 0, steps = 0;
  std::vector<std::pair<const Eqn*, std::int64_t>> own = {};
  std::function<Array(const Array& there, const Array& rows)> combined = {};  // of rows that do not overwrite

  std::int64_t most_before() const {
    std::int64_t most = 0;
    for (const auto& [eqn, before] : own) most = std::max(most, before);
    return most;
  }
};

// Finds these carries of one loop, and the constants that its steps read nothing else of than one row each, all rows in
// their order: they are xs. `is_read`: of each result of the loop.
class Search {
 public:
  Search(const LoopLevel& around, const Eqn& loop, const LoopParams& p, std::vector<bool> is_read)
      : p_(p), roles_(p), body_(*p.body), is_read_(std::move(is_read)) {
    if (p.cond || !p.length || p.lanes || p.checkpoints || *p.length == Dim(0)) return;
    try {
      search(around, loop);
    } catch (const ShapeError&) {  // numbers that are no indices
      written.clear(), taken.clear();
    }
    if (changes()) find_needed();
  }

  bool changes() const { return !written.empty() || !taken.empty(); }
  std::vector<Written> written;
  struct Taken {
    std::vector<const Eqn*> eqns;  // that read it
    bool backwards = false;
  };
  std::map<Var, Taken> taken;  // constants of the body
  bool turned = false;         // the loop is to go through its elements the other way round

  // What is left: of the body, and of carries and stacks. Other carries are read by nothing but themselves.
  bool is_needed(const Eqn& eqn) const {
    return stays(eqn) || std::ranges::any_of(eqn.out, [&](Var v) { return needed_[v]; });
  }
  bool is_needed(Var v) const { return needed_[v]; }
  bool is_needed_result(std::size_t i) const { return result_needed_[i]; }
  // The variable that a choice is decided for.
  Var decided(Var v) const {
    for (auto found = decided_.find(v); found != decided_.end(); found = decided_.find(v)) v = found->second;
    return v;
  }
  bool is_decided(const Eqn& eqn) const { return eqn.out.size() == 1 && decided_.contains(eqn.out[0]); }

 private:
  void search(const LoopLevel& around, const Eqn& loop) {
    bool updates = false;
    std::vector<const Eqn*> reads;
    const std::set<Var> consts(body_.inputs().begin(), body_.inputs().begin() + p_.consts);
    for (const Eqn& eqn : body_.eqns()) {
      updates = updates || is_update(*eqn.op);
      if (eqn.op == &dynamic_slice_op() && consts.contains(eqn.in[0])) reads.push_back(&eqn);
    }
    if (!updates && reads.empty()) return;
    numbers_.emplace(around, loop, p_);
    for (const Eqn& eqn : body_.eqns())
      if (const auto chosen = eqn.op == &select_op() ? numbers_->truth(eqn.in[0]) : std::nullopt)
        decided_.emplace(eqn.out[0], eqn.in[*chosen ? 1 : 2]);
    find_needed();
    count_reads();
    for (std::size_t k = 0; k < roles_.carries; ++k)
      if (result_needed_[k]) write(k, around, loop);
    std::erase_if(written, [&](const Written& w) {
      return around.is_carried(loop.in[roles_.consts + w.carry], loop.out[w.carry]);
    });
    for (const Eqn* eqn : reads)
      if (is_needed(*eqn)) taken[eqn->in[0]].eqns.push_back(eqn);
    for (auto read = taken.begin(); read != taken.end();) {
      auto& [eqns, backwards] = read->second;
      const auto rows = row_taken(*eqns[0]);
      const bool alike = rows && reads_[read->first] == static_cast<int>(eqns.size()) &&
                         std::ranges::all_of(eqns, [&](const Eqn* eqn) { return row_taken(*eqn) == rows; });
      if (rows) backwards = rows->backwards;
      read = alike ? std::next(read) : taken.erase(read);
    }
    choose_direction();
  }

  void write(std::size_t k, const LoopLevel& around, const Eqn& loop) {
    const Var before = body_.inputs()[roles_.consts + k];
    const auto found = all_rows(k);
    if (!found || reads_[before] != 1) return write_part(k, around, loop);
    if (is_stacked_well(found->rows, body_.type(before).shape)) written.push_back(*found);
  }
  // From what the carry is after the step back to what it was before: where each update on the way, which nothing else
  // reads, overwrites the same rows, and the steps together all of them.
  std::optional<Written> all_rows(std::size_t k) {
    const Var before = body_.inputs()[roles_.consts + k];
    std::optional<Written> found;
    for (Var v = decided(body_.outputs()[k]); v != before; v = decided(v)) {
      const Eqn* eqn = numbers_->body().makers[v];
      if (eqn == nullptr || reads_[v] != 1) return {};
      const auto set = rows_set(*eqn, body_);
      const auto rows = set ? rows_of(*eqn, set->axis, set->number, set->count) : std::nullopt;
      if (!rows || (found && found->rows != *rows)) return {};
      if (!found) found = Written{k, *rows, eqn->in[set->rows]};
      v = eqn->in[0];
    }
    return found;
  }
  // Rows of an array that is made for the loop, most of them, row by row, by one update; steps may read rows that steps
  // before them have written. The stack is made in its place among the others.
  void write_part(std::size_t k, const LoopLevel& around, const Eqn& loop) {
    constexpr std::int64_t furthest = 4;
    const Var before = body_.inputs()[roles_.consts + k], after = decided(body_.outputs()[k]);
    const Eqn* update = numbers_->body().makers[after];
    if (update == nullptr || reads_[after] != 1 || update->in[0] != before) return;
    auto set = rows_set(*update, body_);
    const auto combined = set ? std::nullopt : rows_combined(*update, body_);
    if (combined) set = combined->rows;
    if (!set) return;
    const Shape& shape = body_.type(before).shape;
    const auto at = row_of_step(*update, set->axis, set->number, set->count);
    const auto steps = numbers_->steps().try_value(), rows = shape[0].try_value();
    if (p_.reverse || !at || !steps || !rows || 2 * *steps < *rows ||
        around.makers[loop.in[roles_.consts + k]] == nullptr)
      return;
    const bool backwards = at->by < 0;
    const std::int64_t first = backwards ? at->first - (*steps - 1) : at->first;
    if (first < 0 || first + *steps > *rows) return;
    Written found{k, {0, 1, backwards}, update->in[set->rows], first, *steps, {}};
    if (combined) found.combined = combined->combined;
    for (const Eqn* eqn : readers_of(before)) {
      if (eqn == update) continue;
      const auto part = eqn->in[0] == before ? rows_taken(*eqn, body_) : std::nullopt;
      const auto read = part ? row_of_step(*eqn, part->axis, part->number, part->count) : std::nullopt;
      if (!read || read->by != at->by || read->first < 0 || read->first >= *rows) return;
      const std::int64_t apart = (at->first - read->first) * at->by;
      if (apart < 1 || apart > furthest) return;
      found.own.emplace_back(eqn, apart);
    }
    if (reads_[before] == static_cast<int>(found.own.size()) + 1) written.push_back(std::move(found));
  }
  // The needed eqns that read an input.
  std::span<const Eqn* const> readers_of(Var input) {
    if (readers_.empty())
      for (const Eqn& eqn : body_.eqns())
        if (!is_decided(eqn) && is_needed(eqn))
          for (const Var v : std::set<Var>(eqn.in.begin(), eqn.in.end()))
            if (numbers_->body().makers[decided(v)] == nullptr) readers_[decided(v)].push_back(&eqn);
    return readers_[input];
  }
  // Of an eqn that reads or writes one row, along the first axis, and the next one in the next step, or the one before:
  // that of the first step.
  struct RowOfStep {
    std::int64_t first, by;
  };
  std::optional<RowOfStep> row_of_step(const Eqn& eqn, std::size_t axis, std::size_t number, const Dim& count) {
    const auto at = numbers_->number(eqn.in[number]);
    if (axis != 0 || count != Dim(1) || !at || at->terms.size() != 1) return {};
    const auto by = at->coefficient(step_element).try_value(), first = at->constant.try_value();
    if (!first || !by || (*by != 1 && *by != -1)) return {};
    return RowOfStep{*first, *by};
  }
  // Rows that lie in one piece, but not behind each other, are written best where they belong; a stack would be copied
  // there. Rows of single elements here and there are not.
  static bool is_stacked_well(const Rows& rows, const Shape& shape) {
    return rows.axis == 0 || (rows.count == 1 && std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(rows.axis) + 1,
                                                             shape.end(), [](const Dim& d) { return d == Dim(1); }));
  }
  std::optional<Rows> row_taken(const Eqn& eqn) {
    const auto part = rows_taken(eqn, body_);
    const auto rows = part ? rows_of(eqn, part->axis, part->number, part->count) : std::nullopt;
    return rows && rows->axis == 0 && rows->count == 1 ? rows : std::nullopt;
  }

  static bool stays(const Eqn& eqn) { return effect_of(eqn) != Effect::none || !eqn.new_sizes.empty(); }

  // From the results that are read, and from effects, back; a carry is needed for what it is in the next step too.
  void find_needed() {
    result_needed_.assign(roles_.results(), false);
    needed_.assign(body_.vars(), false);
    std::map<std::size_t, Var> updates;
    for (const Written& w : written) updates.emplace(w.carry, w.update);
    std::set<const Eqn*> takes;
    for (const auto& [v, read] : taken) takes.insert(read.eqns.begin(), read.eqns.end());
    for (const Written& w : written)
      for (const auto& [eqn, before] : w.own) takes.insert(eqn);
    std::vector<Var> open;
    const auto need = [&](Var v) {
      if (!needed_[v]) open.push_back(v);
      needed_[v] = true;
    };
    const auto need_result = [&](std::size_t i) {
      const auto update = updates.find(i);
      if (!result_needed_[i]) need(update == updates.end() ? body_.outputs()[i] : update->second);
      result_needed_[i] = true;
    };
    for (std::size_t i = 0; i < is_read_.size(); ++i)
      if (is_read_[i]) need_result(i);
    for (const Eqn& eqn : body_.eqns())
      if (stays(eqn)) std::ranges::for_each(eqn.in, need);
    while (!open.empty()) {
      const Var v = open.back();
      open.pop_back();
      const Eqn* eqn = numbers_->body().makers[v];
      if (eqn == nullptr) {
        if (const auto k = numbers_->carry(v)) need_result(*k);
      } else if (is_decided(*eqn)) {
        need(decided(v));
      } else if (!takes.contains(eqn)) {
        std::ranges::for_each(eqn->in, need);
      }
    }
  }
  // By what is needed.
  void count_reads() {
    reads_.assign(body_.vars(), 0);
    for (const Eqn& eqn : body_.eqns())
      if (!is_decided(eqn) && is_needed(eqn))
        for (const Var v : eqn.in) ++reads_[decided(v)];
    for (std::size_t i = 0; i < result_needed_.size(); ++i)
      if (result_needed_[i]) ++reads_[decided(body_.outputs()[i])];
  }

  // Of an eqn that reads or writes rows of its first operand. All of them lie inside.
  std::optional<Rows> rows_of(const Eqn& eqn, std::size_t axis, std::size_t number, const Dim& count) {
    if (!count.known() || count.value() < 1) return std::nullopt;
    const auto at = numbers_->number(eqn.in[number]);
    if (!at || at->terms.size() != 1 || !at->terms.contains(step_element)) return std::nullopt;
    const Dim by = at->coefficient(step_element), &n = numbers_->steps();
    if (by != count && by != 0 - count) return std::nullopt;
    const bool backwards = by != count;
    const Dim first = backwards ? at->constant + by * (n - 1) : at->constant;
    if (first != Dim(0) || numbers_->body().type(eqn.in[0]).shape[axis] != n * count) return std::nullopt;
    return Rows{axis, count.value(), backwards};
  }

  // Steps may go through the rows from the last to the first: where all that write do so, and elements of other arrays
  // are but numbers of steps, the loop goes through its elements the other way round. Rows that are taken in the other
  // order stay reads.
  void choose_direction() {
    const auto writes = [](const Written& w) { return w.rows.backwards; };
    const auto takes = [](const auto& t) { return t.second.backwards; };
    const bool back = written.empty() ? std::ranges::all_of(taken, takes) : std::ranges::all_of(written, writes);
    if (std::ranges::none_of(written, writes) && std::ranges::none_of(taken, takes)) return;
    const auto leave = [&](bool backwards) {
      std::erase_if(written, [&](const Written& w) { return writes(w) != backwards; });
      std::erase_if(taken, [&](const auto& t) { return takes(t) != backwards; });
    };
    if (back) {
      const auto all_written = written;
      const auto all_taken = taken;
      leave(true);
      if (can_turn()) {
        turned = true;
        return;
      }
      written = all_written, taken = all_taken;
    }
    leave(false);
  }
  bool can_turn() {
    find_needed();
    for (std::size_t i = roles_.carries; i < roles_.results(); ++i)
      if (result_needed_[i]) return false;
    for (std::size_t i = roles_.consts + roles_.carries; i < body_.inputs().size(); ++i) {
      const Var v = body_.inputs()[i];
      if (!needed_[v]) continue;
      const auto number = numbers_->number(v);
      if (body_.type(v).rank() != 0 || !number || number->terms.size() > number->terms.count(step_element))
        return false;
    }
    return true;
  }

  const LoopParams& p_;
  const LoopRoles roles_;
  const Program& body_;
  const std::vector<bool> is_read_;
  std::optional<StepNumbers> numbers_;
  std::map<Var, Var> decided_;                      // choices of the body whose condition is the same in all steps
  std::vector<bool> needed_;                        // variables of the body
  std::map<Var, std::vector<const Eqn*>> readers_;  // of inputs
  std::vector<bool> result_needed_;
  std::vector<int> reads_;
};

// What the carry, which has been `given`, is behind the loop.
Array whole(const Written& w, const Array& given, Array stack) {
  const Shape& shape = given.shape();
  stack = move_axis(stack, 0, static_cast<std::int64_t>(w.rows.axis));
  if (w.rows.count != 1) return reshape(stack, shape);
  if (stack.shape() == shape) return stack;
  const Dim behind = stack.shape()[0] + w.first;
  Arrays parts;
  if (w.first > 0) parts.push_back(slice_in_dim(given, 0, w.first, 0));
  parts.push_back(stack);
  if (behind != shape[0]) parts.push_back(slice_in_dim(given, behind, shape[0], 0));
  return concatenate(parts, 0);
}

// The loop with carries whose rows are written as stacks, with constants whose rows are taken as xs, and without what
// nobody needs.
Arrays rebuilt(const Search& search, LoopParams p, Arrays operands) {
  const ProgramRef body = p.body;
  const LoopRoles roles(p);
  std::vector<bool> stays;  // each result
  for (std::size_t i = 0; i < roles.results(); ++i) stays.push_back(search.is_needed_result(i));
  for (const Written& w : search.written) stays[w.carry] = false;
  const auto is_dropped = [&](std::size_t i) {
    return roles.is_carry(i) ? !stays[i - roles.consts] : !search.is_needed(body->inputs()[i]);
  };
  if (search.turned) {
    p.reverse = !p.reverse;
    for (std::size_t i = roles.consts + roles.carries; i < operands.size(); ++i)
      if (!is_dropped(i)) operands[i] = reverse(operands[i], {0});
  }
  LoopEdit edit(p, operands);
  std::map<Var, LoopEdit::Added> rows;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Var v = body->inputs()[i];
    if (search.taken.contains(v)) rows.emplace(v, edit.add_xs(operands[i]));
    if (rows.contains(v) || is_dropped(i)) edit.drop(i);
  }
  for (std::size_t i = roles.carries; i < roles.results(); ++i)
    if (!stays[i]) edit.drop_result(i);
  std::map<std::size_t, LoopEdit::Added> there;  // rows that those of a written one are combined with
  std::vector<std::vector<LoopEdit::Added>> before(
      search.written.size());  // the rows before the written one, the last first
  for (std::size_t k = 0; k < search.written.size(); ++k) {
    const Written& w = search.written[k];
    const Array& given = operands[roles.consts + w.carry];
    for (std::int64_t k_before = 1; k_before <= w.most_before(); ++k_before) {
      const std::int64_t row = w.rows.backwards ? w.first + w.steps - 1 + k_before : w.first - k_before;
      before[k].push_back(edit.add_carry(squeeze(slice_in_dim(given, row, row + 1, 0), 0)));
    }
    if (w.combined) there.emplace(k, edit.add_xs(slice_in_dim(given, w.first, w.first + w.steps, 0)));
  }
  const auto write = [&](LoopEdit::Step& step) {
    std::map<const Eqn*, Array> taken;  // by the eqns that read them
    for (std::size_t k = 0; k < search.written.size(); ++k)
      for (const auto& [eqn, row] : search.written[k].own)
        taken.emplace(eqn, step.at(before[k][static_cast<std::size_t>(row) - 1]));
    for (const auto& [v, added] : rows)
      for (const Eqn* eqn : search.taken.at(v).eqns) taken.emplace(eqn, step.at(added));
    for (const Eqn& eqn : body->eqns()) {
      if (const auto row = taken.find(&eqn); row != taken.end())
        step.old.set(eqn.out[0], reshape(row->second, step.old.type(eqn.out[0]).shape));
      else if (search.is_needed(eqn) && search.is_decided(eqn))
        step.old.set(eqn.out[0], step.old.get(search.decided(eqn.out[0])));
      else if (search.is_needed(eqn))
        step.old.bind_eqn(eqn);
    }
    for (std::size_t k = 0; k < search.written.size(); ++k) {
      const Written& w = search.written[k];
      const Shape row = operands[roles.consts + w.carry].shape().without_axis(w.rows.axis);
      Array made =
          reshape(step.old.get(w.update), w.rows.count == 1 ? row : row.with_axis(w.rows.axis, Dim(w.rows.count)));
      if (w.combined) made = w.combined(step.at(there.at(k)), made);
      step.stack(made);
      for (std::size_t i = 0; i < before[k].size(); ++i)
        step.carry_on(before[k][i], i == 0 ? made : step.at(before[k][i - 1]));
    }
  };
  LoopEdit::Built built = edit.build(write);
  for (std::size_t k = 0; k < search.written.size(); ++k) {
    const Written& w = search.written[k];
    built.results[w.carry] = whole(w, operands[roles.consts + w.carry], built.stacks[k]);
  }
  return built.results;
}

ProgramRef rewritten_in(const ProgramRef& program, std::size_t first_carry, std::size_t carries) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("stack_updates")(program->hash())(first_carry)(carries).finish(), [&] {
    const LoopLevel around{*program, makers_of(*program), {}, first_carry, carries};
    const std::vector<int> reads = reads_of(*program);
    return rewritten(*program, [&](Replay& replay) {
      for (const Eqn& eqn : program->eqns()) {
        if (eqn.op != &loop_op()) {
          replay.bind_eqn(eqn, stack_updates);
          continue;
        }
        const EqnScope place(eqn);
        LoopParams p = eqn.params.as<LoopParams>();
        const LoopRoles roles(p);
        p.body = rewritten_in(p.body, roles.consts, roles.carries);
        if (p.cond) p.cond = stack_updates(p.cond);
        std::vector<bool> is_read;
        for (const Var v : eqn.out) is_read.push_back(reads[v] > 0);
        const Search search(around, eqn, p, std::move(is_read));
        const Params here = make_params(p).map_dims([&](const Dim& d) { return substitute(d, replay.sizes()); });
        const Arrays operands = replay.operands(eqn);
        replay.set_results(eqn, search.changes() ? rebuilt(search, here.as<LoopParams>(), operands)
                                                 : bind_op(*eqn.op, here, operands));
      }
    });
  });
}

}  // namespace

ProgramRef stack_updates(const ProgramRef& program) { return rewritten_in(program, 0, 0); }

}  // namespace tenon
