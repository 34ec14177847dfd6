#include "tenon/rewrite/reduce_at_points.h"

#include <algorithm>
#include <utility>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/streams.h"
#include "tenon/rewrite/sums_at_points.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Writes a Program anew with these groups.
class PointsRebuild {
 public:
  PointsRebuild(const Program& program, PointPlan plan, Replay& replay)
      : program_(program),
        maker_(maker_numbers(program)),
        plan_(std::move(plan)),
        replay_(replay),
        done_(program.eqns().size(), false) {
    for (std::size_t g = 0; g < plan_.groups.size(); ++g)
      for (const PointEnd& end : plan_.groups[g].ends) group_of_.emplace(end.eqn, g);
  }

  void run() {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) bind(e);
  }

 private:
  void bind(std::size_t e) {
    if (done_[e]) return;
    const auto group = group_of_.find(e);
    if (group != group_of_.end()) return bind_end(e, plan_.groups[group->second]);
    done_[e] = true;
    replay_.bind_eqn(program_.eqns()[e]);
  }
  void bind_end(std::size_t e, const PointGroup& group) {
    if (!at_points_.contains(e)) bind_group(group);
    done_[e] = true;
    const auto end = std::ranges::find(group.ends, e, &PointEnd::eqn);
    const Eqn& eqn = program_.eqns()[e];
    Array result = at_points_.at(e);
    if (!end->besides.empty()) {
      for (const std::size_t other : end->besides) bind_besides(program_.eqns()[other]);
      const EqnScope place(eqn);
      result = result + bind_op(*eqn.op, eqn.params, terms_of_others(eqn))[0];
    }
    replay_.set(eqn.out[0], result);
  }
  // The sum of the terms that are of no source.
  void bind_besides(const Eqn& eqn) {
    if (besides_.contains(eqn.out[0])) return;
    const Arrays operands = terms_of_others(eqn);
    const EqnScope place(eqn);
    const auto is_left_out = [&](std::size_t k) { return is_of_sources_alone(eqn.in[k]); };
    const bool adds = eqn.op == &add_op() || eqn.op == &sub_op();
    Array sum = eqn.op == &scatter_op() || (adds && is_left_out(1)) ? operands[0]
                : eqn.op == &add_op() && is_left_out(0)             ? operands[1]
                                                                    : bind_op(*eqn.op, eqn.params, operands)[0];
    besides_.emplace(eqn.out[0], std::move(sum));
  }
  bool is_of_sources_alone(Var v) const { return !plan_.zero_with[v].empty() && !plan_.has_others[v]; }
  Arrays terms_of_others(const Eqn& eqn) {
    Arrays operands;
    for (const Var v : eqn.in) {
      const Type& type = program_.type(v);
      if (plan_.zero_with[v].empty()) bind_now(v);
      operands.push_back(plan_.has_others[v]      ? besides_.at(v)
                         : is_of_sources_alone(v) ? zeros(type.shape, type.dtype)
                                                  : replay_.get(v));
    }
    return operands;
  }
  // What a group reads is bound before it, none of it made by the group; groups before it, which are few.
  void bind_now(Var v) {
    std::set<std::size_t> found;
    for (std::vector<Var> open{v}; !open.empty();) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || done_[e] || !found.insert(e).second || group_of_.contains(e)) continue;
      const Eqn& eqn = program_.eqns()[e];
      open.insert(open.end(), eqn.in.begin(), eqn.in.end());
    }
    for (const std::size_t e : found) bind(e);
  }

  void bind_group(const PointGroup& group) {
    std::set<Var> read;
    for (const PointEnd& end : group.ends)
      for (const auto& [source, of] : end.of)
        for (const PointBody* body : {&of.at_points, &of.in_rows})
          for (const PointPart& leaf : body->leaves) read.insert(leaf.v);
    for (const Var v : read) bind_now(v);
    const EqnScope place(program_.eqns()[group.ends[0].eqn]);
    Array alone;  // whether each extremum is attained once
    Arrays operands;
    std::vector<std::size_t> first;  // of each source, its arrays among the operands
    for (const Var v : read) operands.push_back(replay_.get(v));
    for (const std::size_t s : group.sources) {
      first.push_back(operands.size());
      const PointSource& source = plan_.sources[s];
      const Eqn& eqn = program_.eqns()[source.eqn];
      if (!source.is_extremum()) {
        for (std::size_t k = 1; k < eqn.in.size(); ++k) bind_now(eqn.in[k]), operands.push_back(replay_.get(eqn.in[k]));
        continue;
      }
      bind_now(source.elements), bind_now(source.best);
      const Array &x = replay_.get(source.elements), &best = replay_.get(source.best);
      const TopK two = top_k(move_axis(x, source.axis, -1), 2, {.smallest = source.smallest});
      const auto of_two = [&](const Array& x, std::int64_t k) {
        return squeeze(slice_in_dim(x, k, k + 1, static_cast<std::int64_t>(x.rank()) - 1), -1);
      };
      const Array value = of_two(two.values, 0), next = of_two(two.values, 1);
      const Array once = all((value == best) & (source.smallest ? value < next : value > next));
      alone = alone.empty() ? once : alone & once;
      operands.push_back(of_two(two.indices, 0));
    }
    const auto computed = [&](std::span<const Array> given, bool rows) {
      std::map<Var, Array> whole;
      for (const Var v : read) whole.emplace(v, given[whole.size()]);
      Arrays results(group.ends.size());
      std::size_t k = 0;
      for (const std::size_t s : group.sources) {
        std::vector<const PointEnd*> ends;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < group.ends.size(); ++i)
          if (group.ends[i].of.contains(s)) ends.push_back(&group.ends[i]), places.push_back(i);
        const bool by_rows = rows && plan_.sources[s].is_extremum();
        const Arrays values =
            sums_at_points(program_, maker_, plan_, s, by_rows, whole, points(s, given.subspan(first[k++])), ends);
        for (std::size_t i = 0; i < places.size(); ++i) {
          Array& result = results[places[i]];
          result = result.empty() ? values[i] : result + values[i];
        }
      }
      return results;
    };
    const Arrays results = alone.empty() ? computed(operands, false) : by_branch(computed, alone, operands);
    for (std::size_t i = 0; i < results.size(); ++i) at_points_.emplace(group.ends[i].eqn, results[i]);
  }
  template <class Computed>
  static Arrays by_branch(const Computed& computed, const Array& alone, const Arrays& operands) {
    CondParams p;
    for (const bool rows : {true, false}) {
      Scope scope;
      Arrays inputs;
      for (const Array& x : operands) inputs.push_back(scope.input(x.type()));
      const TraceResult branch = scope.finish(computed(inputs, rows), rows ? "rows" : "points");
      p.branches.push_back(branch.program);
      p.sizes.push_back(branch.sizes);
    }
    return cond(p, convert(alone, DType::i32), operands);
  }
  // `given`: a source's arrays among the operands.
  SourcePoints points(std::size_t s, std::span<const Array> given) const {
    const PointSource& source = plan_.sources[s];
    SourcePoints points;
    if (source.is_extremum()) {  // the longest axis first
      const Shape& shape = program_.type(source.elements).shape;
      points.along.resize(shape.rank());
      std::vector<std::int64_t> axes;
      for (std::int64_t axis = 0; at(axis) < shape.rank(); ++axis)
        if (axis != source.axis) axes.push_back(axis);
      const auto longest =
          std::ranges::max_element(axes, {}, [&](std::int64_t axis) { return shape[at(axis)].value(); });
      if (longest != axes.end()) std::rotate(axes.begin(), longest, longest + 1);
      for (const std::int64_t axis : axes) {
        points.along[at(axis)].axis = static_cast<std::int64_t>(points.shape.size());
        points.shape.push_back(shape[at(axis)]);
      }
      if (points.shape.empty()) points.shape.push_back(1);  // the extremum of all
      for (std::int64_t& axis : axes) axis -= axis > source.axis;
      points.along[at(source.axis)].number = transpose(given[0], axes);
      return points;
    }
    const bool adds = source.kind == PointSource::Kind::added;
    const Array& indices = given[0];
    const Shape &all = program_.type(adds ? source.v : program_.eqns()[source.eqn].in[0]).shape,
                &own = adds ? given[1].shape() : program_.type(source.v).shape;
    points.shape = own.rank() == 0 ? std::vector<Dim>{1} : own.dims();
    const auto last = static_cast<std::int64_t>(indices.rank()) - 1;
    const bool is_promised = source.points.mode == IndexMode::promise_in_bounds;
    for (std::size_t axis = 0; axis < source.points.along.size(); ++axis) {
      const ElementPoints::Along& along = source.points.along[axis];
      SourcePoints::Place& place = points.along.emplace_back();
      if (along.axis) {
        place.axis = static_cast<std::int64_t>(*along.axis);
        continue;
      }
      const auto number = static_cast<std::int64_t>(*along.number);
      place.number = convert(squeeze(slice_in_dim(indices, number, number + 1, last), last), DType::i64);
      if (is_promised) continue;
      const Array moved = clamp(place.number, 0, all[axis].value() - 1), inside = moved == place.number;
      points.inside = points.inside.empty() ? inside : points.inside & inside;
      place.number = moved;
    }
    if (source.points.mode == IndexMode::fill) points.fill = source.points.fill;
    if (adds)
      points.added = source.points.mode == IndexMode::fill && !points.inside.empty() ? where(points.inside, given[1], 0)
                                                                                     : given[1];
    return points;
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  const PointPlan plan_;
  Replay& replay_;
  std::vector<bool> done_;
  std::map<std::size_t, std::size_t> group_of_;  // of each end's eqn
  std::map<std::size_t, Array> at_points_;       // of each end, what its sources give
  std::map<Var, Array> besides_;                 // what others give
};

}  // namespace

ProgramRef reduce_at_points(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("reduce_at_points")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, reduce_at_points);
    PointPlan plan = find_points(*inner);
    if (plan.groups.empty()) return inner;
    return rewritten(*inner, [&](Replay& replay) { PointsRebuild(*inner, std::move(plan), replay).run(); });
  });
}

}  // namespace tenon
