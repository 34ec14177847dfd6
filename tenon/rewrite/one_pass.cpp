#include "tenon/rewrite/one_pass.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/one_pass_search.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Parts of arrays of one shape, all in one axis: with those axes that lie before the divided one, so that there are
// many rows of them. Behind it lie a part's elements, and the axes that lie behind the divided one.
class PartsOfRows {
 public:
  PartsOfRows(const OnePass& pass, const Shape& whole, bool left)
      : divided_(pass.divided), left_(left), parts_(left ? 1 : pass.divided.parts) {
    const auto is_reduced = [&](std::int64_t axis) { return std::ranges::count(pass.first.axes, axis) > 0; };
    const std::int64_t a = divided_.axis, each = left ? divided_.left : divided_.each;
    Dim before = parts_;
    std::vector<Dim> sizes{0, each}, results;
    for (std::int64_t axis = 0; at(axis) < whole.rank(); ++axis) {
      const Dim size = whole[at(axis)];
      const auto place = static_cast<std::int64_t>(results.size());
      if (axis < a) before = before * size;
      if (axis > a) sizes.push_back(size);
      if (axis > a && is_reduced(axis))
        within_.push_back(axis - a + 1), elements_ *= static_cast<double>(size.value());
      else
        results.push_back(axis == a ? Dim(parts_) : size);
      if (axis > a && !is_reduced(axis)) behind_.push_back(axis - a + 1);
      if (axis <= a && is_reduced(axis)) among_.push_back(place);
      if (!is_reduced(axis)) rows_.push_back(place);
    }
    elements_ *= static_cast<double>(each);
    sizes[0] = before;
    within_.insert(within_.begin(), 1);
    behind_.insert(behind_.begin(), 0);
    shape_ = Shape(sizes), results_ = Shape(results);
  }

  const Shape& shape() const { return shape_; }
  double elements() const { return elements_; }  // of each part
  Array of(const Array& x) const {
    const DividedAxis& d = divided_;
    if (d.left == 0) return reshape(x, shape_);
    const std::int64_t whole = d.parts * d.each;
    return reshape(slice_in_dim(x, left_ ? whole : 0, left_ ? whole + d.left : whole, d.axis), shape_);
  }
  // A result for each part, in the shape of the whole but for what is reduced in them: by an op, of all parts.
  template <class Reduce>
  Array reduced(Reduce reduce) const {
    return reshape(reduce(within_), results_);
  }
  // These results for all of their parts' elements, and what each row has for its parts.
  Array along(const Array& x) const {
    std::vector<Dim> sizes;
    for (const std::int64_t axis : behind_) sizes.push_back(shape_[at(axis)]);
    return broadcast_in_dim(reshape(x, Shape(sizes)), shape_, behind_);
  }
  Array of_row(const Array& x) const { return broadcast_in_dim(x, results_, rows_); }
  const std::vector<std::int64_t>& among() const { return among_; }  // axes of results, that are reduced in the end

 private:
  const DividedAxis divided_;
  bool left_;
  std::int64_t parts_;
  double elements_ = 1;
  Shape shape_, results_;
  std::vector<std::int64_t> within_, behind_, among_, rows_;
};

// What some parts have of their own, in the dtype of a sum.
struct AroundCentre {
  Array x, own;  // elements, and what each part has: its maximum, or its mean
  Array centre;  // the same, of parts that have no finite maximum 0
  Array off;     // the elements' distances from it
};

// Writes one pass anew.
class OnePassRebuild {
 public:
  OnePassRebuild(const Program& program, const OnePass& pass, const std::vector<std::size_t>& maker,
                 std::vector<bool>& done)
      : program_(program), pass_(pass), maker_(maker), done_(done) {}

  // Where the first reduction stood: what parts have, and its own result.
  void bind(Replay& replay) {
    const Eqn& first = program_.eqns()[pass_.first.eqn];
    bind_what_is_read(replay);
    const EqnScope place(first);
    const Array& x = replay.get(pass_.first.x);
    const Type result = replay.type(first.out[0]);
    for (const bool left : {false, true})
      if (!left || pass_.divided.left > 0) parts_.emplace_back(pass_, program_.type(pass_.first.x).shape, left);
    around_.resize(parts_.size());
    for (const PartsOfRows& parts : parts_) {
      const Array elements = parts.of(x);
      const Array wide = pass_.first.largest ? elements : convert(elements, computed_in(result.dtype));
      own_.push_back(parts.reduced([&](const auto& axes) { return reduced(first, wide, axes); }));
    }
    for (const WaitingSum& sum : pass_.sums) {
      const EqnScope of_sum(program_.eqns()[sum.eqn]);
      of_parts_.push_back(sums_of_parts(sum, replay));
    }
    Array all;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Array part = reduced(first, own_[i], parts_[i].among());
      all = i == 0 ? part : pass_.first.largest ? max(all, part) : all + part;
    }
    replay.set(first.out[0], convert(all, result.dtype));
  }

  // Where a sum stood.
  void finish(std::size_t k, Replay& replay) {
    const WaitingSum& sum = pass_.sums[k];
    const Eqn& eqn = program_.eqns()[sum.eqn];
    const EqnScope place(eqn);
    const Type result = replay.type(eqn.out[0]);
    const DType dtype = computed_in(result.dtype);
    Array all;
    for (std::size_t t = 0; t < sum.terms.size(); ++t) {
      Array of_term;
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        const Array part =
            tenon::sum(moved(sum.terms[t], i, of_parts_[k][t][i], dtype, replay), Axes(parts_[i].among()));
        of_term = i == 0 ? part : of_term + part;
      }
      if (sum.terms[t].coefficient != 1) of_term = of_term * sum.terms[t].coefficient;
      for (const auto& row : sum.terms[t].rows) {
        const Array factor = convert(of_rows(row.of, replay), dtype);
        of_term = row.divides ? of_term / factor : of_term * factor;
      }
      all = t == 0 ? of_term : all + of_term;
    }
    replay.set(eqn.out[0], convert(all, result.dtype));
  }

 private:
  // Of each term and each of its parts: sums with no distance, with one, and so on; nothing for what needs none.
  using SumsOfParts = std::vector<std::vector<Arrays>>;

  void bind_what_is_read(Replay& replay) {
    std::vector<Var> read;
    for (const WaitingSum& sum : pass_.sums)
      for (const Var v : elements_read(sum)) read.push_back(v);
    for (const std::size_t e : makers_behind(program_, maker_, pass_.first.eqn, std::move(read),
                                             [&](std::size_t e) { return bool(done_[e]); })) {
      done_[e] = true;
      replay.bind_eqn(program_.eqns()[e]);
    }
  }
  static Array reduced(const Eqn& eqn, const Array& x, const std::vector<std::int64_t>& axes) {
    return bind1(*eqn.op, reduction_params(axes), {x});
  }

  const AroundCentre& around(std::size_t i, DType dtype, const Replay& replay) {
    if (const auto found = around_[i].find(dtype); found != around_[i].end()) return found->second;
    AroundCentre a;
    a.x = convert(parts_[i].of(replay.get(pass_.first.x)), dtype);
    a.own = convert(own_[i], dtype);
    if (!pass_.first.largest) a.own = a.own / parts_[i].elements();
    a.centre = pass_.first.largest ? where(is_finite(a.own), a.own, 0) : a.own;
    a.off = a.x - parts_[i].along(a.centre);
    return around_[i].emplace(dtype, std::move(a)).first->second;
  }

  static bool is_plain(const SummedTerm& term) {
    return term.elements.empty() && term.choices.empty() && term.exponents.empty();
  }
  SumsOfParts sums_of_parts(const WaitingSum& sum, const Replay& replay) {
    const DType dtype = computed_in(program_.type(program_.eqns()[sum.eqn].out[0]).dtype);
    SumsOfParts all;
    for (const SummedTerm& term : sum.terms) {
      all.emplace_back();
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        all.back().emplace_back();
        for (std::size_t distances = 0; distances <= term.distances.size(); ++distances)
          all.back().back().push_back(sum_of_part(term, i, distances, dtype, replay));
      }
    }
    return all;
  }
  // Computed again in each sum where a part's rows, which lie side by side, are more than a block has room for.
  Array exponential(std::size_t i, DType dtype, const Replay& replay) {
    constexpr std::int64_t most_kept = 64 << 10;  // bytes
    const Array& off = around(i, dtype, replay).off;
    const std::int64_t together = parts_[i].shape().without_axis(0).elements().value();
    if (together * static_cast<std::int64_t>(size_of(dtype)) <= most_kept) return exp(off);
    Scope& scope = *Scope::top();
    const RecomputeScope before = std::exchange(scope.recompute, scope.recompute + ++exponentials_);
    const Array e = exp(off);
    scope.recompute = before;
    return e;
  }
  // Of the distances from a mean nothing is left, and of nothing but ones their number.
  Array sum_of_part(const SummedTerm& term, std::size_t i, std::size_t distances, DType dtype, const Replay& replay) {
    if (is_plain(term) && (distances == 0 || (distances == 1 && !pass_.first.largest))) return {};
    const PartsOfRows& parts = parts_[i];
    Array value;
    const auto times = [&](const Array& x) { value = !value.empty() ? value * x : x; };
    if (!term.exponents.empty()) {
      const Array e = exponential(i, dtype, replay);
      for (std::size_t k = 0; k < term.exponents.size(); ++k) times(e);
    }
    for (std::size_t k = 0; k < distances; ++k) times(around(i, dtype, replay).off);
    const auto part_of = [&](Var v) { return convert(parts.of(replay.get(v)), dtype); };
    for (const auto& factor : term.elements)
      if (!factor.divides) times(part_of(factor.of));
    for (const auto& factor : term.elements)
      if (factor.divides) value = (!value.empty() ? value : Array(Scalar(1.0).convert(dtype))) / part_of(factor.of);
    if (value.empty()) value = full(parts.shape(), Array(Scalar(1.0).convert(dtype)));
    for (const auto& [condition, met] : term.choices) {
      const Array mask = parts.of(replay.get(condition));
      value = met ? where(mask, value, 0) : where(mask, 0, value);
    }
    return parts.reduced([&](const auto& axes) { return tenon::sum(value, Axes(axes)); });
  }

  // A part's sums as those of a term around what the whole has.
  Array moved(const SummedTerm& term, std::size_t i, const Arrays& sums, DType dtype, const Replay& replay) {
    const PartsOfRows& parts = parts_[i];
    const auto reference = [&](Var r) { return parts.of_row(convert(of_rows(r, replay), dtype)); };
    const auto sum_of = [&](std::size_t distances) {
      if (!sums[distances].empty() || !is_plain(term) || distances > 0) return sums[distances];
      return parts.of_row(full(row_shape(), Array(Scalar(parts.elements()).convert(dtype))));
    };
    Array value = sum_of(term.distances.size());
    Arrays apart;
    for (const Var r : term.distances) apart.push_back(around(i, dtype, replay).centre - reference(r));
    const Arrays factors = polynomial(apart);
    for (std::size_t j = factors.size(); j-- > 0;) {
      const Array sum = sum_of(j);
      if (sum.empty()) continue;
      value = !value.empty() ? value + sum * factors[j] : sum * factors[j];
    }
    for (const Var r : term.exponents) value = value * exp(around(i, dtype, replay).own - reference(r));
    return value;
  }

  Shape row_shape() const { return program_.type(program_.eqns()[pass_.first.eqn].out[0]).shape; }
  // What is broadcast along the reduced axes, in the shape of their results.
  Array of_rows(Var v, const Replay& replay) const {
    const Eqn& eqn = program_.eqns()[maker_[v]];
    return tenon::of_rows(replay.get(eqn.in[0]), broadcast_form(eqn.params).dims, pass_.first.axes, row_shape());
  }

  const Program& program_;
  const OnePass& pass_;
  const std::vector<std::size_t>& maker_;
  std::vector<bool>& done_;
  std::vector<PartsOfRows> parts_;  // those that are equal, and what is left
  Arrays own_;                      // of each, its maxima or sums
  std::vector<std::map<DType, AroundCentre>> around_;
  std::vector<SumsOfParts> of_parts_;  // of each waiting sum
  RecomputeScope exponentials_ = 0;    // that are computed apart
};

ProgramRef rebuilt(const Program& program, const std::vector<OnePass>& passes) {
  return rewritten_together<OnePassRebuild>(
      program, passes, [](const OnePass& pass) { return pass.first.eqn; },
      [](const OnePass& pass) -> const auto& { return pass.sums; });
}

}  // namespace

ProgramRef one_pass(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("one_pass")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, one_pass);
    const std::vector<OnePass> passes = find_one_passes(*inner);
    return passes.empty() ? inner : compose_views(rebuilt(*inner, passes));
  });
}

}  // namespace tenon
