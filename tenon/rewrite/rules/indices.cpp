// Reads and updates at indices that follow from counting, and sums of what lies amid zeros: parts of arrays, whose code
// knows where they are.
#include <cstdlib>

#include "tenon/ops/composites/index.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

constexpr int deepest = 24;  // ops that an index is computed by
constexpr std::int64_t largest = std::int64_t(1) << 31;

// start, start + step, … along one axis, and equal along the others.
struct Progression {
  std::int64_t start = 0, step = 0;
  std::size_t axis = 0;
  std::int64_t count = 1;
  std::int64_t last() const { return start + (count - 1) * step; }
  std::int64_t least() const { return std::min(start, last()); }
  std::int64_t most() const { return std::max(start, last()); }
  bool is_small() const { return least() > -largest && most() < largest; }
};
using Found = std::optional<Progression>;

Found small(Progression p) { return p.is_small() ? Found(p) : std::nullopt; }

class Counting {
 public:
  explicit Counting(const Match& m) : m_(m) {}

  Found of(const Array& x, int depth = 0) const {
    if (depth > deepest || !is_integer(x.dtype()) || !x.shape().known()) return {};
    if (const auto number = m_.constant(x)) {
      const double value = number->as_double();
      return std::abs(value) < static_cast<double>(largest) ? Found(Progression{static_cast<std::int64_t>(value)})
                                                            : std::nullopt;
    }
    const Eqn* eqn = m_.maker(x);
    if (eqn == nullptr) return {};
    const auto operand = [&](std::size_t i) { return of(m_.operand(*eqn, i), depth + 1); };
    if (const auto axis = counted_axis(*eqn)) {
      const auto at = static_cast<std::size_t>(*axis);
      return small(Progression{0, 1, at, x.shape()[at].value()});
    }
    const OpInfo* op = eqn->op;
    if (op == &convert_op())
      return is_integer(m_.operand(*eqn, 0).dtype()) ? kept(x.dtype(), operand(0)) : std::nullopt;
    if (op == &add_op()) return kept(x.dtype(), sum(operand(0), operand(1), 1));
    if (op == &sub_op()) return kept(x.dtype(), sum(operand(0), operand(1), -1));
    if (op == &mul_op()) return kept(x.dtype(), product(operand(0), operand(1)));
    if (op == &select_op()) return chosen(*eqn, depth);
    if (op == &reshape_op()) return reshaped(operand(0), m_.operand(*eqn, 0).shape(), x.shape());
    if (op == &broadcast_op()) return repeated(operand(0), *eqn, x.shape());
    if (op == &reverse_op()) return backwards(operand(0), *eqn);
    return {};
  }

 private:
  // Where no number of a narrow dtype wraps around.
  static Found kept(DType dtype, Found p) {
    if (!p || !p->is_small()) return {};
    const std::int64_t bits = static_cast<std::int64_t>(size_of(dtype)) * 8;
    const bool is_signed = is_signed_integer(dtype);
    if (!is_signed && p->least() < 0) return {};
    const std::int64_t end = bits >= 32 ? largest : std::int64_t(1) << (is_signed ? bits - 1 : bits);
    return p->most() < end && p->least() >= -end ? p : std::nullopt;
  }
  static Found sum(const Found& a, const Found& b, std::int64_t sign) {
    if (!a || !b || (a->step != 0 && b->step != 0 && a->axis != b->axis)) return {};
    const Progression& walks = a->step != 0 ? *a : *b;
    return small(Progression{a->start + sign * b->start, a->step + sign * b->step, walks.axis, walks.count});
  }
  static Found product(const Found& a, const Found& b) {
    if (!a || !b || (a->step != 0 && b->step != 0)) return {};
    const Progression &walks = a->step != 0 ? *a : *b, &number = a->step != 0 ? *b : *a;
    return small(Progression{walks.start * number.start, walks.step * number.start, walks.axis, walks.count});
  }
  // Of a choice whose condition is a comparison that holds for all elements, or for none.
  Found chosen(const Eqn& eqn, int depth) const {
    const Eqn* compared = m_.maker(m_.operand(eqn, 0));
    if (compared == nullptr || compared->op != &lt_op()) return {};
    const Found a = of(m_.operand(*compared, 0), depth + 1), b = of(m_.operand(*compared, 1), depth + 1);
    if (!a || !b) return {};
    if (a->most() < b->least()) return of(m_.operand(eqn, 1), depth + 1);
    if (a->least() >= b->most()) return of(m_.operand(eqn, 2), depth + 1);
    return {};
  }
  // Axes of one element come and go.
  static Found reshaped(Found p, const Shape& from, const Shape& to) {
    if (!p || p->step == 0) return p;
    if (from.elements() != Dim(p->count)) return {};
    for (std::size_t axis = 0; axis < to.rank(); ++axis)
      if (to[axis] == Dim(p->count)) return Progression{p->start, p->step, axis, p->count};
    return {};
  }
  static Found backwards(Found p, const Eqn& eqn) {
    if (!p || std::ranges::count(reversed_axes(eqn.params), static_cast<std::int64_t>(p->axis)) == 0) return p;
    return Progression{p->last(), -p->step, p->axis, p->count};
  }
  static Found repeated(Found p, const Eqn& eqn, const Shape& to) {
    if (!p || p->step == 0) return p;
    p->axis = static_cast<std::size_t>(broadcast_form(eqn.params).dims[p->axis]);
    return to[p->axis] == Dim(p->count) ? p : std::nullopt;
  }

  const Match& m_;
};

Array rows_from(const Array& x, const Progression& p, std::size_t along) {
  std::vector<Dim> start(x.rank(), Dim(0)), limit;
  std::vector<std::int64_t> stride(x.rank(), 1);
  for (const Dim& size : x.shape()) limit.push_back(size);
  start[along] = p.least(), limit[along] = p.most() + 1;
  stride[along] = std::max<std::int64_t>(std::abs(p.step), 1);
  const Array rows = slice(x, start, limit, stride);
  return p.step < 0 ? reverse(rows, {static_cast<std::int64_t>(along)}) : rows;
}

// The rows of x along an axis that indices name, where these are a progression within it.
Found rows_of(const Match& m, const Array& x, const Array& indices, std::size_t along) {
  if (!x.shape()[along].known() || indices.rank() != 2 || indices.shape()[1] != Dim(1)) return {};
  const Found p = Counting(m).of(indices);
  if (!p || (p->step == 0 && indices.shape()[0] != Dim(1)) || (p->step != 0 && p->axis != 0) || p->least() < 0 ||
      p->most() >= x.shape()[along].value() || p->count == 0)
    return {};
  return p;
}

// x[arange(3) + 2] is x[2:5], and x[:, arange(3) + 2] is x[:, 2:5].
MaybeArray as_slice(const Match& m) {
  const IndexAxes axes = axes_of_gather(m.maker(m.root())->params);
  const Array &x = m[0], &indices = m[1], &root = m.root();
  if (axes.map.size() != 1 || axes.collapsed != axes.map || !axes.batch.empty() || root.rank() != x.rank()) return {};
  const auto along = static_cast<std::size_t>(axes.map[0]);
  const Found p = rows_of(m, x, indices, along);
  if (!p) return {};
  const Array rows = rows_from(x, *p, along);
  std::int64_t place = 0;  // of the rows in the result, whose other axes are the window's
  while (std::ranges::count(axes.window, place) > 0) ++place;
  const Array moved = move_axis(rows, axes.map[0], place);
  return moved.shape() == root.shape() ? MaybeArray(moved) : std::nullopt;
}

RuleRef counted_rows() {
  return std::make_shared<const Rule>(
      Rule{.name = "x[arange] as a slice",
           .replacement = as_slice,
           .roots = [](const OpInfo& op) { return &op == &gather_op(); },
           .applies_to =
               [] {
                 std::vector<Rule::Example> all;
                 const Type x = Type::array(DType::f32, {Dim(8), Dim(3)});
                 using Holes = std::span<const Array>;
                 all.push_back({{x}, [](Holes h) { return h[0](arange(3) + 2); }});
                 all.push_back({{x}, [](Holes h) { return h[0](7 - arange(8)); }});
                 all.push_back({{x}, [](Holes h) { return take(h[0], arange(4) * 2, 0); }});
                 all.push_back({{x}, [](Holes h) { return h[0](arange(3) - 3); }});
                 all.push_back({{x}, [](Holes h) { return take(h[0], arange(2) + 1, 1); }});
                 all.push_back({{x}, [](Holes h) { return h[0](reverse(arange(4), {0})); }});
                 return all;
               }});
}

// x.at[arange(3) + 2].set(y) is x with y in place of x[2:5]; other updates combine these rows with what is there.
MaybeArray as_updated_slice(const Match& m) {
  const Eqn& eqn = *m.maker(m.root());
  const Array &x = m[0], &indices = m[1], &updates = m[2];
  const IndexAxes axes = axes_of_scatter(eqn.params);
  if (axes.map.size() != 1 || !axes.batch.empty()) return {};
  const auto along = static_cast<std::size_t>(axes.map[0]);
  const Found p = rows_of(m, x, indices, along);
  if (!p || std::abs(p->step) > 1) return {};
  const auto updated = rows_updated(eqn.params, x, indices, updates);
  if (!updated) return {};
  const Array rows = (*updated)(rows_from(x, *p, along));
  std::vector<Array> start(x.rank(), Array(std::int64_t(0)));
  start[along] = Array(p->least());
  return dynamic_update_slice(x, p->step < 0 ? reverse(rows, axes.map) : rows, start);
}

RuleRef counted_updates() {
  using Holes = std::span<const Array>;
  const auto examples = [] {
    std::vector<Rule::Example> all;
    const Type x = Type::array(DType::f32, {Dim(8), Dim(3)}), y = Type::array(DType::f32, {Dim(4), Dim(3)});
    const auto update = [&](ScatterKind kind, const std::function<Array()>& rows) {
      all.push_back({{x, y}, [=](Holes h) {
                       return scatter_at(kind, h[0], std::vector{rows()}, {0}, h[1], {.hints = {.unique = true}});
                     }});
    };
    for (const ScatterKind kind :
         {ScatterKind::set, ScatterKind::add, ScatterKind::mul, ScatterKind::min, ScatterKind::max})
      update(kind, [] { return arange(4) + 2; });
    update(ScatterKind::set, [] { return 7 - arange(4); });
    update(ScatterKind::add, [] { return arange(4) - 4; });
    const Type columns = Type::array(DType::f32, {Dim(3), Dim(8)}), z = Type::array(DType::f32, {Dim(3), Dim(4)});
    all.push_back({{columns, z}, [](Holes h) {
                     return scatter_at(ScatterKind::add, h[0], std::vector{arange(4) + 2}, {1}, h[1],
                                       {.hints = {.unique = true}});
                   }});
    return all;
  };
  return std::make_shared<const Rule>(Rule{.name = "x.at[arange] as an update of a slice",
                                           .replacement = as_updated_slice,
                                           .roots = [](const OpInfo& op) { return &op == &scatter_op(); },
                                           .applies_to = examples});
}

// x[i, arange(n)], of as many rows, takes one place of each along the first axis: the other one goes in step with the
// indices, and their vectors lack what only counts.
MaybeArray in_step(const Match& m) {
  const Eqn& eqn = *m.maker(m.root());
  const bool gathers = eqn.op == &gather_op();
  const Array &x = m[0], &vectors = m[1];
  const std::size_t last = vectors.rank() - 1;
  const Eqn* made = m.maker(vectors);
  IndexAxes axes = gathers ? axes_of_gather(eqn.params) : axes_of_scatter(eqn.params);
  if (made == nullptr || concatenated_axis(*made) != static_cast<std::int64_t>(last) || made->in.size() < 2 ||
      made->in.size() != axes.map.size() || !x.shape().known())
    return {};
  const Counting counting(m);
  for (std::size_t number = axes.map.size(); number-- > 0;) {
    const std::int64_t axis = axes.map[number];
    if (std::ranges::count(axes.collapsed, axis) == 0) continue;
    const Found p = counting.of(m.operand(*made, number));
    if (!p || p->start != 0 || p->step != 1 || p->axis == last ||
        std::ranges::count(axes.indices_batch, static_cast<std::int64_t>(p->axis)) > 0 ||
        x.shape()[static_cast<std::size_t>(axis)] != Dim(p->count))
      continue;
    axes.map.erase(axes.map.begin() + static_cast<std::ptrdiff_t>(number));
    std::erase(axes.collapsed, axis);
    axes.batch.push_back(axis);
    axes.indices_batch.push_back(static_cast<std::int64_t>(p->axis));
    Arrays left;
    for (std::size_t k = 0; k < made->in.size(); ++k)
      if (k != number) left.push_back(m.operand(*made, k));
    const Array indices = left.size() == 1 ? left[0] : concatenate(left, static_cast<std::int64_t>(last));
    return gathers ? gather_along(eqn.params, x, indices, axes) : scatter_along(eqn.params, x, indices, m[2], axes);
  }
  return {};
}

RuleRef axes_in_step() {
  using Holes = std::span<const Array>;
  const auto examples = [] {
    std::vector<Rule::Example> all;
    const Type x = Type::array(DType::f32, {Dim(8), Dim(4), Dim(3)}), i = Type::array(DType::i32, {Dim(4)}),
               y = Type::array(DType::f32, {Dim(4), Dim(3)}), row = Type::array(DType::f32, {Dim(4), Dim(8)});
    all.push_back({{x, i}, [](Holes h) { return h[0](h[1], arange(4)); }});
    all.push_back({{row, i}, [](Holes h) { return h[0](arange(4), h[1]); }});
    all.push_back({{row, i}, [](Holes h) { return h[0](expand_dims(arange(4), 1), h[1]); }});
    for (const ScatterKind kind : {ScatterKind::set, ScatterKind::add, ScatterKind::max})
      all.push_back(
          {{x, i, y}, [=](Holes h) { return scatter_at(kind, h[0], std::vector{h[1], arange(4)}, {0, 1}, h[2], {}); }});
    return all;
  };
  return std::make_shared<const Rule>(
      Rule{.name = "x[i, arange] as one place of each row",
           .replacement = in_step,
           .roots = [](const OpInfo& op) { return &op == &gather_op() || &op == &scatter_op(); },
           .applies_to = examples});
}

// Zeros around an array, all behind it along one axis, or all before it.
struct Part {
  Array x;
  std::size_t axis;
  std::int64_t before, behind;
};
std::optional<Part> part_of_zeros(const Match& m, const Array& whole) {
  const Eqn* eqn = m.maker(whole);
  if (eqn == nullptr || eqn->op != &pad_op() || !whole.shape().known()) return {};
  const auto around = m.constant(m.operand(*eqn, 1));
  if (!around || around->as_complex() != 0.0) return {};
  const PadForm form = pad_form(eqn->params);
  std::optional<Part> part;
  for (std::size_t axis = 0; axis < form.low.size(); ++axis) {
    if (form.interior[axis] != 0 || form.low[axis] < 0 || form.high[axis] < 0) return {};
    if (form.low[axis] == 0 && form.high[axis] == 0) continue;
    if (part || (form.low[axis] != 0 && form.high[axis] != 0)) return {};
    part = Part{m.operand(*eqn, 0), axis, form.low[axis], form.high[axis]};
  }
  return part;
}

// What one derivative gives of the first rows, and another one of the rest.
MaybeArray as_concatenation(const Match& m) {
  const auto a = part_of_zeros(m, m[0]), b = part_of_zeros(m, m[1]);
  if (!a || !b || a->axis != b->axis) return {};
  const auto lies_before = [](const Part& first, const Part& rest) {
    return first.before == 0 && rest.behind == 0 && first.behind == rest.x.shape()[rest.axis].value();
  };
  const auto axis = static_cast<std::int64_t>(a->axis);
  if (lies_before(*a, *b)) return concatenate({a->x, b->x}, axis);
  if (lies_before(*b, *a)) return concatenate({b->x, a->x}, axis);
  return {};
}

RuleRef sum_of_parts() {
  using Holes = std::span<const Array>;
  const auto examples = [] {
    std::vector<Rule::Example> all;
    const Type x = Type::array(DType::f32, {Dim(8), Dim(3)}), y = Type::array(DType::f32, {Dim(4), Dim(3)});
    all.push_back({{x, y}, [](Holes h) { return pad(h[0], 0.f, {0, 0}, {4, 0}) + pad(h[1], 0.f, {8, 0}, {0, 0}); }});
    all.push_back({{x, y}, [](Holes h) { return pad(h[0], 0.f, {4, 0}, {0, 0}) + pad(h[1], 0.f, {0, 0}, {8, 0}); }});
    all.push_back({{x, x}, [](Holes h) { return pad(h[0], 0.f, {0, 0}, {0, 3}) + pad(h[1], 0.f, {0, 3}, {0, 0}); }});
    return all;
  };
  return std::make_shared<const Rule>(Rule{.name = "x and y amid zeros, added, as one behind the other",
                                           .exactness = Exactness::reassociates,  // -0 stays -0
                                           .phase = Phase::after_differentiation,
                                           .replacement = as_concatenation,
                                           .roots = [](const OpInfo& op) { return &op == &add_op(); },
                                           .applies_to = examples});
}

}  // namespace

std::vector<RuleRef> index_rules() { return {counted_rows(), counted_updates(), axes_in_step(), sum_of_parts()}; }

}  // namespace tenon
