#include "tenon/rewrite/sink_operands.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "tenon/base/estimate.h"
#include "tenon/base/settings.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Elements. Where blocks are small (settings.h) rows of one are taken too, so that small arrays test everything.
std::int64_t shortest_row() { return blocks_are_small() ? 1 : 32; }

// One step's part of an array of which equal parts, one behind the other, belong to the steps: a row, or, of a longer
// first axis, several. Nothing where its sizes are not known, or the first axis has no such parts.
std::optional<Shape> part_of(const Type& t, const Dim& steps) {
  if (!t.is_array() || t.rank() == 0 || steps == Dim(0)) return {};
  Shape row = t.shape.without_axis(0);
  if (!row.known()) return {};
  if (t.shape[0] == steps) return row;
  if (!t.shape[0].known() || !steps.known() || t.shape[0].value() % steps.value() != 0) return {};
  return row.with_axis(0, t.shape[0].value() / steps.value());
}
Shape row_shape(const Type& t, std::size_t axis = 0) { return t.shape.without_axis(axis); }
bool has_rows(const Type& t, std::size_t axis = 0) {
  return t.is_array() && t.rank() > axis && row_shape(t, axis).known();
}

// What step t takes of a variable: row t + from along an axis, or, where `several` belong to a step, those of its own
// along the first one.
struct Part {
  Var of;
  std::int64_t from = 0;
  bool several = false;
  std::size_t axis = 0;
  auto operator<=>(const Part&) const = default;
};

// An array that is concatenated along its first axis, and padded: each piece gives some rows, `around` is the padding.
struct Piece {
  Part part;
  std::int64_t rows;
};
struct Pieces {
  std::vector<Piece> behind_each_other;
  std::optional<Var> around = {};  // before them and behind them
};

// What the rows of a loop's operands are made of.
struct Made {
  std::vector<std::size_t> xs;                    // which of the loop's operands
  std::set<std::pair<const Eqn*, Part>> results;  // of eqns that make them, in the order of the Program
  std::set<Part> read;                            // of what is in memory
  std::set<Var> whole;                            // what is read as it is
  void add(Made& more) { results.merge(more.results), read.merge(more.read), whole.merge(more.whole); }
};

class Sink {
 public:
  explicit Sink(const Program& program)
      : program_(program),
        maker_(makers_of(program)),
        stored_for_(program.vars(), 0),
        by_steps_(program.vars(), 0),
        only_for_(program.vars()),
        reductions_(program.vars(), 0),
        overwritten_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns()) {
      for (std::size_t i = 0; i < eqn.in.size(); ++i) {
        if (rule_of<LowerReduction>(*eqn.op) != nullptr) ++reductions_[eqn.in[i]];
        if (may_overwrite(eqn, i)) overwritten_[eqn.in[i]] = true;
      }
      if (eqn.op == &loop_op()) {
        for (const Var v : read_by_steps(eqn)) ++by_steps_[v];
        if (is_of_elements(*eqn.params.as<LoopParams>().body)) of_elements_.insert(&eqn);
      }
      if (is_element(eqn) || rule_of<LowerReduction>(*eqn.op) != nullptr) continue;
      for (const Var v : eqn.in) ++stored_for_[v];
    }
    for (const Var v : program.outputs()) ++stored_for_[v];
    note_only_readers();
  }

  Made made_for(const Eqn& loop) const {
    const auto& p = loop.params.as<LoopParams>();
    Made made;
    if (p.cond || p.lanes || !p.length) return made;
    Able able;
    for (std::size_t i = LoopRoles(p).consts + LoopRoles(p).carries; i < loop.in.size(); ++i) {
      const Var v = loop.in[i];
      if (!has_rows(program_.type(v))) continue;
      const Type& type = program_.type(v);
      if (type.shape[0] == Dim(0) || (row_shape(type).elements().value() < shortest_row() && !is_fill(v))) continue;
      if (is_stored(v, loop)) continue;
      decide({v}, loop, able);
      if (able.at({v}))
        collect({v}, loop, able, made);
      else if (auto more = truths_in_steps({v}, loop, made.read))
        made.add(*more);
      else
        continue;
      made.xs.push_back(i);
    }
    make_truths(loop, made);
    return made;
  }

  // What loops behind this one find, once it makes that.
  void note(const Eqn& loop, const Made& made) {
    for (const std::size_t i : made.xs) --stored_for_[loop.in[i]], --by_steps_[loop.in[i]];
    for (const Part& part : made.read) ++stored_for_[part.of];
    for (const Var v : made.whole) ++stored_for_[v];
  }

  Arrays bind(const Eqn& eqn, const LoopParams& p, const Made& made, const Replay& replay) const {
    const Dim& steps = steps_of(eqn);  // in the sizes of the Program, as its types
    LoopEdit edit(p, replay.operands(eqn));
    for (const std::size_t i : made.xs) edit.drop(i);
    std::map<Var, LoopEdit::Added> whole;
    std::map<Part, LoopEdit::Added> parts;
    std::set<Var> all = made.whole;
    for (const Part& part : made.read) {
      if (!is_own(part, steps)) {
        all.insert(part.of);
        continue;
      }
      const Array& x = replay.get(part.of);
      const Shape shape = shape_of(part, steps);
      parts.emplace(part, edit.add_xs(x.shape()[0] == *p.length ? x : reshape(x, shape.with_axis(0, *p.length))));
    }
    for (const Var v : all) whole.emplace(v, edit.add_const(replay.get(v)));
    std::optional<LoopEdit::Added> number;
    if (is_numbered(made, steps)) number = edit.add_xs(arange(*p.length, DType::i64));
    const auto write = [&](LoopEdit::Step& body) {
      Step step;
      for (const auto& [v, added] : whole) step.whole.emplace(v, body.at(added));
      for (const auto& [part, added] : parts) step.parts.emplace(part, body.at(added));
      if (number) step.number = body.at(*number);
      for (const Part& part : made.read)
        if (!is_own(part, steps))
          step.parts.emplace(part, row_at(step.whole.at(part.of), step.number + part.from, part.axis));
      for (const auto& [maker, part] : made.results) {
        const EqnScope place(*maker);
        step.parts.emplace(part, made_part(*maker, part, eqn, step));
      }
      for (const std::size_t i : made.xs) body.old.set(p.body->inputs()[i], step.parts.at({eqn.in[i]}));
      body.bind_all();
    };
    return edit.build(write).results;
  }

 private:
  using Able = std::map<Part, bool>;

  // Which loop alone reads a variable, reductions aside: what elementwise ops and views make of it, too.
  void note_only_readers() {
    const auto read = [&](Var v, const Eqn* by) { only_for_[v] = !only_for_[v] || *only_for_[v] == by ? by : nullptr; };
    for (const Var v : program_.outputs()) read(v, nullptr);
    for (const Eqn& eqn : program_.eqns() | std::views::reverse) {
      if (rule_of<LowerReduction>(*eqn.op) != nullptr) continue;
      const bool passes = (is_elementwise(eqn) || is_view(eqn)) && eqn.out.size() == 1;
      if (passes && !only_for_[eqn.out[0]]) continue;
      for (const Var v : eqn.in) read(v, passes ? *only_for_[eqn.out[0]] : &eqn);
    }
  }
  static const Dim& steps_of(const Eqn& loop) { return *loop.params.as<LoopParams>().length; }

  // Whether a step's part is the one that a loop along the array has in that step.
  bool is_own(const Part& part, const Dim& steps) const {
    return part.several || (part.from == 0 && part.axis == 0 && program_.type(part.of).shape[0] == steps);
  }
  Shape shape_of(const Part& part, const Dim& steps) const {
    const Type& type = program_.type(part.of);
    return part.several ? *part_of(type, steps) : row_shape(type, part.axis);
  }
  bool is_numbered(const Made& made, const Dim& steps) const {
    const auto chooses = [&](const auto& result) {
      const auto rows = pieces(*result.first, result.second);
      return rows && (rows->around || rows->behind_each_other.size() > 1);
    };
    return std::ranges::any_of(made.results, chooses) ||
           std::ranges::any_of(made.read, [&](const Part& part) { return !is_own(part, steps); });
  }

  // Whether memory has it anyway, without this loop; a slice, which costs no step anything: without any loop. Rows of a
  // transpose lie apart: where several loops read them, making it once takes less time.
  bool is_stored(Var v, const Eqn& loop) const {
    const Eqn* made = maker_[v];
    if (made == nullptr || rule_of<LowerElement>(*made->op) == nullptr) return true;
    return stored_for_[v] > (made->op == &slice_op() ? by_steps_[v] : std::ranges::count(read_by_steps(loop), v));
  }
  // The arrays of which a loop's steps read a row each.
  static std::span<const Var> read_by_steps(const Eqn& loop) {
    const LoopRoles roles(loop.params.as<LoopParams>());
    return std::span(loop.in).subspan(roles.consts + roles.carries);
  }

  // Elementwise, for nobody else, and of long rows of a large array, while the steps do no more than such things: it
  // costs a step what it costs anyway, on as many threads. One reduction may compute it, too, where it reads it: a
  // round trip through memory takes longer.
  bool is_for(const Eqn& eqn, const Part& part, const Eqn& loop) const {
    constexpr double large = 1 << 20, long_row = 256;  // bytes, elements
    if (!is_elementwise(eqn) || eqn.in.empty() || only_for_[part.of] != &loop || reductions_[part.of] > 1 ||
        part.several)
      return false;
    if (!is_own(part, steps_of(loop))) return false;
    const Type& t = program_.type(part.of);
    const double bytes = estimate(t.shape.elements()) * static_cast<double>(size_of(t.dtype));
    return bytes >= large && estimate(row_shape(t).elements()) >= long_row && of_elements_.contains(&loop);
  }
  // Elementwise, and less than a round trip through memory.
  bool is_cheap(const Eqn& eqn) const {
    constexpr double cheap = 3;  // operations
    return is_elementwise(eqn) && !eqn.in.empty() && element_form(program_, eqn).operations <= cheap;
  }
  // Truths are a byte each: stored, they are less to read than what they compare, unless that is read anyway.
  bool compares(const Eqn& eqn) const {
    return is_elementwise(eqn) && !eqn.in.empty() && program_.type(eqn.out[0]).dtype == DType::bool_;
  }
  bool is_number(Var v) const { return maker_[v] != nullptr && maker_[v]->op == &literal_op(); }
  // One number everywhere: no step reads anything for it.
  bool is_fill(Var v) const {
    return maker_[v] != nullptr && maker_[v]->op == &broadcast_op() && is_number(maker_[v]->in[0]);
  }
  // What a broadcast repeats along the axis of a part.
  std::optional<Var> repeated(const Eqn& eqn, const Part& part) const {
    if (eqn.op != &broadcast_op()) return {};
    const BroadcastForm form = broadcast_form(eqn.params);
    return std::ranges::count(form.dims, static_cast<std::int64_t>(part.axis)) == 0 ? std::optional(eqn.in[0])
                                                                                    : std::nullopt;
  }
  // The axis of the operand of a broadcast or a transpose along which a part of the result is made of that step's part
  // of it. Where that is another one than the result's, the last axis stays the last: rows are read along memory.
  std::optional<std::size_t> kept_axis(const Eqn& eqn, const Part& part) const {
    if (eqn.in.empty()) return {};
    const Type &from = program_.type(eqn.in[0]), &to = program_.type(eqn.out[0]);
    std::optional<std::size_t> axis;
    if (eqn.op == &broadcast_op()) {
      const BroadcastForm form = broadcast_form(eqn.params);
      const auto at = std::ranges::find(form.dims, static_cast<std::int64_t>(part.axis));
      if (at != form.dims.end()) axis = static_cast<std::size_t>(at - form.dims.begin());
      if (axis && from.shape[*axis] != to.shape[part.axis]) return {};
    } else if (eqn.op == &transpose_op() && from.rank() > part.axis) {
      const auto permutation = permutation_of(eqn.params);
      axis = static_cast<std::size_t>(permutation[part.axis]);
      if (*axis != part.axis && permutation.back() + 1 != static_cast<std::int64_t>(from.rank())) return {};
    }
    return part.several && axis && *axis != 0 ? std::nullopt : axis;
  }
  // Rows of several arrays may be read of what only arranges them.
  static bool is_view(const Eqn& eqn) {
    return eqn.op == &broadcast_op() || eqn.op == &transpose_op() || eqn.op == &reshape_op();
  }
  // Of rows that are those of other arrays.
  std::optional<Pieces> pieces(const Eqn& eqn, const Part& part) const {
    constexpr std::size_t most = 4;  // each is chosen in each step
    const std::size_t axis = part.axis;
    if (part.several || eqn.in.empty() || (axis != 0 && eqn.op != &slice_op())) return {};
    const Type &x = program_.type(eqn.in[0]), &y = program_.type(eqn.out[0]);
    if (!has_rows(x, axis) || !has_rows(y, axis) || row_shape(x, axis) != row_shape(y, axis)) return {};
    if (!std::ranges::all_of(eqn.in, [&](Var v) { return program_.type(v).shape.known(); })) return {};
    if (eqn.op == &slice_op()) {
      const SliceForm form = slice_form(eqn.params);
      const std::int64_t rows = x.shape[axis].value();
      if (form.stride[axis] != 1 || !form.start[axis].known() || (axis != 0 && rows == 1)) return {};
      return Pieces{{{{eqn.in[0], part.from + form.start[axis].value(), false, axis}, rows}}};
    }
    if (eqn.op == &pad_op()) {
      const PadForm form = pad_form(eqn.params);
      if (form.interior[0] != 0) return {};
      return Pieces{{{{eqn.in[0], part.from - form.low[0]}, rows_in(eqn.in[0])}}, eqn.in[1]};
    }
    if (concatenated_axis(eqn) != 0 || eqn.in.size() > most) return {};
    Pieces all;
    std::int64_t before = 0;
    for (const Var v : eqn.in) {
      all.behind_each_other.push_back({{v, part.from - before}, rows_in(v)});
      before += rows_in(v);
    }
    return all;
  }
  std::int64_t rows_in(Var v) const { return program_.type(v).shape[0].value(); }

  // What an eqn reads a step's part of.
  std::vector<Part> read_by_parts(const Eqn& eqn, const Part& part, const Eqn& loop) const {
    if (repeated(eqn, part)) return {};
    const Dim& steps = steps_of(loop);
    std::vector<Part> read;
    if (const auto rows = pieces(eqn, part)) {
      for (const Piece& piece : rows->behind_each_other)
        if (!is_one_row(piece)) read.push_back(piece.part);
    } else if (eqn.op == &reshape_op()) {
      if (part.axis != 0) return {};
      const Dim &of = program_.type(eqn.in[0]).shape[0], &to = program_.type(eqn.out[0]).shape[0];
      if (is_own(part, steps))
        read.push_back({eqn.in[0], 0, of != steps});
      else if (of == to)
        read.push_back({eqn.in[0], part.from});
    } else if (const auto axis = kept_axis(eqn, part)) {
      read.push_back({eqn.in[0], part.from, part.several, *axis});
    } else if (is_cheap(eqn) || is_for(eqn, part, loop)) {
      for (const Var v : eqn.in) read.push_back({v, part.from, part.several, part.axis});
    }
    return read;
  }
  // It is stored, as the one that it is.
  static bool is_one_row(const Piece& piece) { return piece.rows == 1; }

  // Whether parts of what memory has can be read.
  bool can_be_read(const Part& part, const Dim& steps) const {
    const Type& type = program_.type(part.of);
    if (overwritten_[part.of] || !has_rows(type, part.axis)) return false;
    if (part.several || is_own(part, steps)) return part_of(type, steps).has_value();
    if (!type.shape.known() || type.shape[part.axis] == Dim(0)) return false;
    return part.axis == 0 || has_long_ends(type, part.axis);
  }
  // Whether rows along another axis than the first fill lines of the cache.
  static bool has_long_ends(const Type& t, std::size_t axis) {
    constexpr std::size_t line = 64;  // bytes
    return axis + 1 < t.rank() &&
           (blocks_are_small() || static_cast<std::size_t>(t.shape[t.rank() - 1].value()) * size_of(t.dtype) >= line);
  }
  // An operand that an eqn widens is stored, if its parts cannot be made: the result is the larger one.
  bool may_be_stored(const Eqn& eqn, const std::vector<Part>& read, const Dim& steps) const {
    return eqn.op == &broadcast_op() && can_be_read(read[0], steps);
  }

  // Whether a step reads no more bytes for it than its truths would have: rows of what is not read anyway, and of what
  // is the same at each step as much as stays in the first-level cache.
  bool reads_less(const Part& truths, const Made& more, const std::set<Part>& read, const Dim& steps) const {
    constexpr double cached = 1 << 14;  // bytes
    const auto bytes = [&](Var v, const Shape& shape) {
      return estimate(shape.elements()) * static_cast<double>(size_of(program_.type(v).dtype));
    };
    double own = 0, same = 0;
    for (const Part& part : more.read)
      if (!read.contains(part)) own += bytes(part.of, shape_of(part, steps));
    for (const Var v : more.whole) same += bytes(v, program_.type(v).shape);
    return own <= bytes(truths.of, shape_of(truths, steps)) && same <= cached;
  }
  // What makes a comparison in the steps where all that it reads is read there anyway, or less than its truths.
  std::optional<Made> truths_in_steps(const Part& part, const Eqn& loop, const std::set<Part>& read) const {
    if (is_stored(part.of, loop) || !compares(*maker_[part.of])) return {};
    Able able;
    decide(part, loop, able, true);
    if (!able.at(part)) return {};
    Made more;
    collect(part, loop, able, more);
    if (!std::ranges::includes(read, more.read) && !reads_less(part, more, read, steps_of(loop))) return {};
    return more;
  }
  // Comparisons that were to be stored.
  void make_truths(const Eqn& loop, Made& made) const {
    const std::set<Part> read = made.read;
    for (const Part& part : read)
      if (auto more = truths_in_steps(part, loop, read)) made.read.erase(part), made.add(*more);
  }

  // Decides for all that a part is made of, down to what is stored, whether it can be made in the steps; comparisons
  // are stored unless `truths_too`.
  void decide(const Part& first, const Eqn& loop, Able& able, bool truths_too = false) const {
    std::set<std::pair<const Eqn*, Part>> cone;
    std::vector<Part> open{first};
    while (!open.empty()) {
      const Part u = open.back();
      open.pop_back();
      if (able.contains(u)) continue;
      if (is_stored(u.of, loop)) {
        able.emplace(u, can_be_read(u, steps_of(loop)));
      } else if ((!truths_too && compares(*maker_[u.of])) || is_made_otherwise(u, cone, able)) {
        able.emplace(u, false);
      } else if (cone.emplace(maker_[u.of], u).second) {
        for (const Part& x : read_by_parts(*maker_[u.of], u, loop)) open.push_back(x);
      }
    }
    for (const auto& [eqn, part] : cone) able.emplace(part, can_make(*eqn, part, loop, able));
  }
  // Whether as many other parts of what is no view are made already as a step may make: of sums of neighbours of such
  // sums there would be many.
  bool is_made_otherwise(const Part& u, const std::set<std::pair<const Eqn*, Part>>& cone, const Able& able) const {
    constexpr int most = 4;
    const Eqn* eqn = maker_[u.of];
    if (!is_cheap(*eqn) || is_view(*eqn)) return false;
    const Part first{u.of, std::numeric_limits<std::int64_t>::min()};
    int others = 0;
    for (auto made = cone.lower_bound({eqn, first}); made != cone.end() && made->first == eqn; ++made)
      others += made->second != u;
    for (auto made = able.lower_bound(first); made != able.end() && made->first.of == u.of; ++made)
      others += made->second && made->first != u;
    return others + 1 > most;
  }
  bool can_make(const Eqn& eqn, const Part& part, const Eqn& loop, const Able& able) const {
    const Dim& steps = steps_of(loop);
    const Type& type = program_.type(part.of);
    if (!has_rows(type, part.axis) || (part.several && !part_of(type, steps))) return false;
    if (const auto alike = repeated(eqn, part)) return program_.type(*alike).shape.known() && !overwritten_[*alike];
    const auto rows = pieces(eqn, part);
    const auto is_read_whole = [&](const Piece& piece) { return !is_one_row(piece) || !overwritten_[piece.part.of]; };
    if (rows && !std::ranges::all_of(rows->behind_each_other, is_read_whole)) return false;
    const std::vector<Part> read = read_by_parts(eqn, part, loop);
    const auto is_able = [&](const Part& x) {
      return able.at(x) || (maker_[x.of] != nullptr && compares(*maker_[x.of]) && can_be_read(x, steps));
    };
    if (rows) return std::ranges::all_of(read, is_able);
    return !read.empty() && (may_be_stored(eqn, read, steps) || std::ranges::all_of(read, is_able));
  }

  // Notes what a part that can be made is made of.
  void collect(const Part& first, const Eqn& loop, const Able& able, Made& made) const {
    std::vector<Part> open{first};
    while (!open.empty()) {
      const Part u = open.back();
      open.pop_back();
      if (is_stored(u.of, loop) || !able.at(u)) {  // the latter is a comparison, or an operand that is widened
        made.read.insert(u);
        continue;
      }
      const Eqn& eqn = *maker_[u.of];
      if (!made.results.emplace(&eqn, u).second) continue;
      if (const auto alike = repeated(eqn, u); alike && !is_number(*alike)) made.whole.insert(*alike);
      if (const auto rows = pieces(eqn, u)) {
        for (const Piece& piece : rows->behind_each_other)
          if (is_one_row(piece)) made.whole.insert(piece.part.of);
        if (rows->around && !is_number(*rows->around)) made.whole.insert(*rows->around);
      }
      for (const Part& x : read_by_parts(eqn, u, loop)) open.push_back(x);
    }
  }

  // In the body that is being made: the handles of what rows are made of, and the parts that are there.
  struct Step {
    std::map<Var, Array> whole;
    std::map<Part, Array> parts;
    Array number;
  };
  // A number, or what is read as it is.
  Array whole(Var v, const Step& step) const {
    return is_number(v) ? bind1(literal_op(), maker_[v]->params, {}) : step.whole.at(v);
  }

  Array made_part(const Eqn& eqn, const Part& part, const Eqn& loop, const Step& step) const {
    const Dim& steps = steps_of(loop);
    const Shape shape = shape_of(part, steps);
    const auto of_part = [&](const std::vector<std::int64_t>& axes, std::size_t axis) {
      return part.several ? axes : without_axis(axes, static_cast<std::int64_t>(axis));
    };
    if (const auto alike = repeated(eqn, part)) {
      const std::vector<std::int64_t> dims = of_part(broadcast_form(eqn.params).dims, part.axis);
      const Array x = whole(*alike, step);
      return x.shape() == shape ? x : broadcast_in_dim(x, shape, dims);
    }
    if (const auto rows = pieces(eqn, part)) return chosen(*rows, shape, steps, step);
    Arrays operands;
    for (const Part& x : read_by_parts(eqn, part, loop)) operands.push_back(step.parts.at(x));
    if (eqn.op == &reshape_op()) return reshape(operands[0], shape);
    if (eqn.op == &broadcast_op())
      return broadcast_in_dim(operands[0], shape, of_part(broadcast_form(eqn.params).dims, part.axis));
    if (eqn.op == &transpose_op())
      return transpose(operands[0], of_part(permutation_of(eqn.params), *kept_axis(eqn, part)));
    return bind_op(*eqn.op, eqn.params, operands)[0];
  }
  // The row of the piece in which it lies.
  Array chosen(const Pieces& rows, const Shape& shape, const Dim& steps, const Step& step) const {
    const auto& pieces = rows.behind_each_other;
    const auto row_of = [&](const Piece& piece) {
      return is_one_row(piece) ? squeeze(step.whole.at(piece.part.of), 0) : step.parts.at(piece.part);
    };
    const auto is_before_end = [&](const Piece& piece) { return step.number + (piece.part.from - piece.rows) < 0; };
    Array row = row_of(pieces.back());
    if (rows.around) {
      const Piece& only = pieces.back();
      const Array number = whole(*rows.around, step);
      const Array other = shape.rank() == 0 ? number : broadcast_in_dim(number, shape, {});
      if (const auto n = steps.try_value(); !n || *n + only.part.from > only.rows)
        row = where(is_before_end(only), row, other);
      if (only.part.from < 0) row = where(step.number + only.part.from < 0, other, row);
    }
    for (std::size_t i = pieces.size() - 1; i-- > 0;) row = where(is_before_end(pieces[i]), row_of(pieces[i]), row);
    return row;
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<int> stored_for_;                      // how many readers have it in memory
  std::vector<int> by_steps_;                        // of these, loops whose steps read a row each
  std::vector<std::optional<const Eqn*>> only_for_;  // the loop that alone reads each variable; null: others do
  std::vector<int> reductions_;                      // of each variable, that read it
  std::set<const Eqn*> of_elements_;                 // loops whose steps compute elements, and reduce them
  std::vector<bool> overwritten_;                    // a later reader would make what updates it in place copy it
};

}  // namespace

ProgramRef sink_operands(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("sink_operands")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      Sink sink(*program);
      for (const Eqn& eqn : program->eqns()) {
        const Made made = eqn.op == &loop_op() ? sink.made_for(eqn) : Made();
        if (made.xs.empty()) {
          replay.bind_eqn(eqn, sink_operands);
          continue;
        }
        sink.note(eqn, made);
        const EqnScope place(eqn);
        const Params params =
            replay.params(eqn).map_programs([](const ProgramRef& p) { return p ? sink_operands(p) : p; });
        replay.set_results(eqn, sink.bind(eqn, params.as<LoopParams>(), made, replay));
      }
    });
  });
}

}  // namespace tenon
