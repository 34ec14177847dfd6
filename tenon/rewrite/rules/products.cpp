// Products of several matrices in the order that costs least, and solutions of equations in place of inverses.
#include <algorithm>
#include <numeric>

#include "tenon/ir/estimate.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/einsum.h"
#include "tenon/ops/linear_algebra/labelled_product.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

using Labels = std::vector<std::size_t>;  // of an array's axes: axes that go in step, or are summed together, have one

bool has(const Labels& labels, std::size_t label) { return std::ranges::find(labels, label) != labels.end(); }
std::int64_t place(const Labels& labels, std::size_t label) {
  return std::ranges::find(labels, label) - labels.begin();
}

struct Factor {
  Array array;
  Labels labels;
};

// What an array is multiplied with, element by element, or divided by, or negated where it is nothing: an array along
// some of its axes, or a number.
struct Scale {
  Array by = {};
  std::vector<std::int64_t> dims = {};
  bool divides = false;
};
// An array that one eqn alone scales, and another that, and so on, the last one first.
struct Scaled {
  Array inner;
  std::vector<Scale> scales;
};

// Axes that both have are summed, unless they are wanted behind: then they go in step, and come first.
LabelledProduct<std::size_t> of_two(const Labels& x, const Labels& y, const Labels& wanted) {
  return labelled_product(x, y, [&](std::size_t label) { return has(wanted, label); });
}
Factor multiplied(const Factor& x, const Factor& y, const Labels& wanted) {
  LabelledProduct<std::size_t> made = of_two(x.labels, y.labels, wanted);
  return {dot_general(x.array, y.array, std::move(made.axes)), std::move(made.result)};
}

// Labels of the operands' axes and of the result's, of a product whose operands' labels are given or to be made.
Labels of_product(const ProductForm& form, Labels& a, Labels& b) {
  for (std::size_t i = 0; i < form.contract_a.size(); ++i)
    b[static_cast<std::size_t>(form.contract_b[i])] = a[static_cast<std::size_t>(form.contract_a[i])];
  for (std::size_t i = 0; i < form.batch_a.size(); ++i)
    b[static_cast<std::size_t>(form.batch_b[i])] = a[static_cast<std::size_t>(form.batch_a[i])];
  Labels result;
  for (const std::int64_t axis : form.batch_a) result.push_back(a[static_cast<std::size_t>(axis)]);
  for (const std::int64_t axis : form.free_a) result.push_back(a[static_cast<std::size_t>(axis)]);
  for (const std::int64_t axis : form.free_b) result.push_back(b[static_cast<std::size_t>(axis)]);
  return result;
}

Labels counted(std::size_t first, std::size_t rank) {
  Labels labels(rank);
  for (std::size_t i = 0; i < rank; ++i) labels[i] = first + i;
  return labels;
}

bool may_move(const Eqn& eqn, const Eqn& root) {
  return eqn.numerics == Numerics::relaxed && eqn.recompute == root.recompute;
}

// The array, transposed and repeated, with such axes.
Array spread(const Array& x, const Labels& own, const Labels& all, const Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const std::size_t label : own) dims.push_back(place(all, label));
  return spread_in_dim(x, shape, std::move(dims));
}

std::optional<std::pair<Array, Scale>> scale_of(const Match& m, const Eqn& eqn) {
  if (eqn.op == &neg_op()) return std::pair(m.operand(eqn, 0), Scale{});
  const bool divides = eqn.op == &div_op();
  if (!divides && eqn.op != &mul_op()) return {};
  for (const std::size_t i : {1u, 0u}) {
    const Array repeated = m.operand(eqn, i);
    const Eqn* made = m.maker(repeated);
    if (made != nullptr && made->op == &broadcast_op()) {
      Scale scale{m.operand(*made, 0), {}, divides};
      std::vector<Dim> sizes;  // without axes that repeat
      for (std::size_t k = 0; k < scale.by.rank(); ++k) {
        const std::int64_t axis = broadcast_form(made->params).dims[k];
        if (scale.by.shape()[k] != repeated.shape()[static_cast<std::size_t>(axis)]) continue;
        scale.dims.push_back(axis);
        sizes.push_back(scale.by.shape()[k]);
      }
      scale.by = reshape(scale.by, Shape(sizes));
      return std::pair(m.operand(eqn, 1 - i), std::move(scale));
    }
    if (divides) break;
  }
  return {};
}
// What x is a multiple of; quotients of integers are none. `takes`: whether a scale may be taken of an array, which
// leaves what it scales.
template <class Takes>
Scaled unscaled_where(const Match& m, const Array& x, const Eqn& root, Takes takes) {
  constexpr std::size_t most = 8;
  Scaled found{x, {}};
  while (found.scales.size() < most) {
    const Eqn* eqn = m.maker(found.inner);
    auto next = eqn == nullptr || !may_move(*eqn, root) ? std::nullopt : scale_of(m, *eqn);
    if (!next || (next->second.divides && !is_inexact(x.dtype())) || !takes(found.inner, next->second, next->first))
      break;
    found.inner = std::move(next->first);
    found.scales.push_back(std::move(next->second));
  }
  return found;
}
// Which nothing else reads if it is another array.
Scaled unscaled(const Match& m, const Array& x, const Eqn& root) {
  return unscaled_where(m, x, root, [&](const Array&, const Scale&, const Array& of) { return m.reads(of) == 1; });
}
// Whether an array with the labels `own` has all axes of what scales one with the labels `of`.
bool has_axes(const Labels& own, const Scale& scale, const Labels& of) {
  return std::ranges::all_of(scale.dims,
                             [&](std::int64_t axis) { return has(own, of[static_cast<std::size_t>(axis)]); });
}
Array scaled(const Array& x, const Labels& own, const Scale& scale, const Labels& of) {
  if (scale.by.empty()) return -x;
  Labels labels;
  for (const std::int64_t axis : scale.dims) labels.push_back(of[static_cast<std::size_t>(axis)]);
  const Array by = spread(scale.by, labels, own, x.shape());
  return scale.divides ? x / by : x * by;
}
// What scales an operand of a product scales the result, or, along axes that are summed, its other operand.
struct Rescaling {
  std::vector<Scale> scales;
  Labels of, result, other;

  bool can() const {
    return std::ranges::all_of(
        scales, [&](const Scale& scale) { return has_axes(result, scale, of) || has_axes(other, scale, of); });
  }
  Array of_other(Array x) const {
    for (const Scale& scale : scales)
      if (!has_axes(result, scale, of)) x = scaled(x, other, scale, of);
    return x;
  }
  Array of_result(Array x) const {
    for (const Scale& scale : scales)
      if (has_axes(result, scale, of)) x = scaled(x, result, scale, of);
    return x;
  }
};

// A product of three arrays, one of which is multiplied by the product of the others; and what it is scaled by.
struct Chain {
  Factor a, b, c;  // (a · b) · c
  Labels result;
  std::vector<double> sizes;  // of labels
  int readers = 1;            // of a · b
  Rescaling scales = {};      // of a · b

  double work(const Labels& x, const Labels& y) const {
    double all = 1;
    for (std::size_t label = 0; label < sizes.size(); ++label)
      if (has(x, label) || has(y, label)) all *= sizes[label];
    return all;
  }
  // What a product of two leaves for the third and the result.
  Labels between(const Labels& x, const Labels& y, const Labels& third) const {
    Labels left;
    for (const Labels* of : {&x, &y})
      for (const std::size_t label : *of)
        if (!has(left, label) && (has(third, label) || has(result, label))) left.push_back(label);
    return left;
  }
  double cost(const Labels& x, const Labels& y, const Labels& third) const {
    return work(x, y) + work(between(x, y, third), third);
  }
};

// The root's operand `at` as a product, scaled or not.
std::optional<Chain> chain_of(const Match& m, std::size_t at) {
  constexpr int most_readers = 4;
  const Eqn& root = *m.maker(m.root());
  Scaled found = unscaled(m, m[at], root);
  Chain chain;
  chain.readers = m.reads(m[at]);
  const Eqn* inner = m.maker(found.inner);
  if (inner == nullptr || inner->op != root.op || chain.readers > most_readers || !may_move(*inner, root)) return {};
  const Array a = m.operand(*inner, 0), b = m.operand(*inner, 1), c = m[1 - at];
  for (const Array& x : {a, b, c})
    if (!x.shape().known()) return {};
  Labels la = counted(0, a.rank()), lb = counted(a.rank(), b.rank()), lc = counted(a.rank() + b.rank(), c.rank());
  const Labels both = of_product(product_form(inner->params, a.type(), b.type()), la, lb);
  Labels left = both, right = lc;
  if (at == 1) std::swap(left, right);
  const ProductForm outer = product_form(root.params, m[0].type(), m[1].type());
  // The labels of the product of two stay; those of the third follow.
  const auto join = [&](const std::vector<std::int64_t>& of_left, const std::vector<std::int64_t>& of_right) {
    for (std::size_t i = 0; i < of_left.size(); ++i) {
      auto &l = left[static_cast<std::size_t>(of_left[i])], &r = right[static_cast<std::size_t>(of_right[i])];
      (at == 0 ? r = l : l = r);
    }
  };
  join(outer.contract_a, outer.contract_b), join(outer.batch_a, outer.batch_b);
  for (const std::int64_t axis : outer.batch_a) chain.result.push_back(left[static_cast<std::size_t>(axis)]);
  for (const std::int64_t axis : outer.free_a) chain.result.push_back(left[static_cast<std::size_t>(axis)]);
  for (const std::int64_t axis : outer.free_b) chain.result.push_back(right[static_cast<std::size_t>(axis)]);
  lc = at == 0 ? right : left;
  chain.sizes.assign(a.rank() + b.rank() + c.rank(), 1);
  const auto measure = [&](const Array& x, const Labels& labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) chain.sizes[labels[i]] = static_cast<double>(x.shape()[i].value());
  };
  measure(a, la), measure(b, lb), measure(c, lc);
  chain.a = {a, la}, chain.b = {b, lb}, chain.c = {c, lc};
  chain.scales = {std::move(found.scales), both, chain.result, lc};
  return chain.scales.can() ? std::optional(std::move(chain)) : std::nullopt;
}

Array in_order(const Factor& product, const Labels& result) {
  std::vector<std::int64_t> permutation;
  for (const std::size_t label : result) permutation.push_back(place(product.labels, label));
  return transpose(product.array, permutation);
}

// (a · b) · c as a · (b · c), or b · (a · c), where that is less work by a tenth. Where others read a · b, as
// derivatives do, it may stay for them: what is won has to be more than nearly all of its work then, so that it is won
// again where the others are reordered, too.
MaybeArray reordered(const Match& m) {
  const DType dtype = m.root().dtype();
  if (is_half(dtype) || dtype == DType::bool_) return {};
  for (const std::size_t at : {0u, 1u}) {
    const auto chain = chain_of(m, at);
    if (!chain) continue;
    const auto& [a, b, c, result, sizes, readers, scales] = *chain;
    const double now = chain->cost(a.labels, b.labels, c.labels), b_first = chain->cost(b.labels, c.labels, a.labels),
                 a_first = chain->cost(a.labels, c.labels, b.labels);
    const double limit = readers == 1 ? 0.9 * now : now - 0.9 * chain->work(a.labels, b.labels);
    if (std::min(a_first, b_first) >= limit) continue;  // of nothing, all cost nothing
    const Factor &first = b_first <= a_first ? b : a, &last = b_first <= a_first ? a : b;
    Labels wanted = last.labels;
    wanted.insert(wanted.end(), result.begin(), result.end());
    const Factor inner = multiplied(first, {scales.of_other(c.array), c.labels}, wanted);
    return scales.of_result(in_order(multiplied(last, inner, result), result));
  }
  return {};
}

// Numbers that an operand is multiplied with scale the other one, or the result, where these have less than half as
// many elements.
MaybeArray scaled_where_it_is_less(const Match& m) {
  const Eqn& root = *m.maker(m.root());
  const DType dtype = m.root().dtype();
  if (is_half(dtype) || dtype == DType::bool_) return {};
  for (const Array& x : {m[0], m[1], m.root()})
    if (!x.shape().known() || x.dtype() != dtype) return {};
  const ProductForm form = product_form(root.params, m[0].type(), m[1].type());
  const DotAxes axes{form.contract_a, form.contract_b, form.batch_a, form.batch_b};
  for (const std::size_t at : {0u, 1u}) {
    const auto elements = [](const Array& x) { return x.shape().elements().value(); };
    const bool by_result = elements(m.root()) <= elements(m[1 - at]);
    if (2 * elements(by_result ? m.root() : m[1 - at]) >= elements(m[at])) continue;
    const auto [inner, scales] = unscaled_where(m, m[at], root, [&](const Array& of, const Scale& scale, const Array&) {
      return m.reads(of) == 1 && scale.dims.empty();
    });
    if (scales.empty()) continue;
    const auto all_scaled = [&scales = scales](Array x) {
      for (const Scale& scale : scales) x = scaled(x, {}, scale, {});
      return x;
    };
    const Array other = by_result ? m[1 - at] : all_scaled(m[1 - at]);
    const Array product = at == 0 ? dot_general(inner, other, axes) : dot_general(other, inner, axes);
    return by_result ? all_scaled(product) : product;
  }
  return {};
}

// A product that nothing but a transpose reads, which puts axes of b before those of a, as a transpose of b · a: its
// rows are the rows of the result.
MaybeArray other_way_round(const Match& m) {
  const Array whole = m[0];
  const Eqn* inner = m.maker(whole);
  if (inner == nullptr || !is_product(*inner->op) || m.reads(whole) != 1 || !may_move(*inner, *m.maker(m.root())))
    return {};
  const Array a = m.operand(*inner, 0), b = m.operand(*inner, 1);
  Labels la = counted(0, a.rank()), lb = counted(a.rank(), b.rank());
  const Labels made = of_product(product_form(inner->params, a.type(), b.type()), la, lb),
               result = permuted(made, permutation_of(m.maker(m.root())->params));
  const auto own = std::ranges::find_if(result, [&](std::size_t label) { return has(la, label) != has(lb, label); });
  if (own == result.end() || has(la, *own)) return {};
  return in_order(multiplied({b, lb}, {a, la}, result), result);
}

// A product of a transpose as one of what is transposed, where the result's axes are in the same order.
MaybeArray of_untransposed(const Match& m) {
  const Eqn& root = *m.maker(m.root());
  Factor x{m[0], counted(0, m[0].rank())}, y{m[1], counted(m[0].rank(), m[1].rank())};
  const Labels result = of_product(product_form(root.params, x.array.type(), y.array.type()), x.labels, y.labels);
  bool some = false;
  for (Factor* of : {&x, &y}) {
    const Eqn* eqn = m.maker(of->array);
    if (eqn == nullptr || eqn->op != &transpose_op() || eqn->recompute != root.recompute) continue;
    const auto permutation = permutation_of(eqn->params);
    Factor before{m.operand(*eqn, 0), Labels(permutation.size())};
    for (std::size_t axis = 0; axis < permutation.size(); ++axis)
      before.labels[static_cast<std::size_t>(permutation[axis])] = of->labels[axis];
    std::swap(*of, before);
    if (of_two(x.labels, y.labels, result).result == result)
      some = true;
    else
      std::swap(*of, before);
  }
  return some ? MaybeArray(multiplied(x, y, result).array) : MaybeArray();
}

// A product of which an operand has no axes of its own multiplies each element of the other with one number: they are
// multiplied one by one, and summed.
MaybeArray one_by_one(const Match& m) {
  const Eqn& root = *m.maker(m.root());
  const Array a = m[0], b = m[1];
  const DType dtype = m.root().dtype();
  const ProductForm form = product_form(root.params, a.type(), b.type());
  if (dtype == DType::bool_ || a.dtype() != dtype || b.dtype() != dtype) return {};
  const bool both = form.free_a.empty() && form.free_b.empty();
  if (!both && (!form.contract_a.empty() || (!form.free_a.empty() && !form.free_b.empty()))) return {};
  Labels la = counted(0, a.rank()), lb = counted(a.rank(), b.rank());
  Labels all = of_product(form, la, lb);
  const Labels result = all;
  for (const std::int64_t axis : form.contract_a) all.push_back(la[static_cast<std::size_t>(axis)]);
  std::vector<Dim> sizes;
  for (const std::size_t label : all)
    sizes.push_back(has(la, label) ? a.shape()[static_cast<std::size_t>(place(la, label))]
                                   : b.shape()[static_cast<std::size_t>(place(lb, label))]);
  const auto factor = [&](const Array& x, const Labels& own) {
    return spread(convert(x, computed_in(dtype)), own, all, Shape(sizes));
  };
  const Array products = factor(a, la) * factor(b, lb);
  std::vector<std::int64_t> summed;
  for (std::size_t i = result.size(); i < all.size(); ++i) summed.push_back(static_cast<std::int64_t>(i));
  return convert(summed.empty() ? products : sum(products, Axes(summed)), dtype);
}

// Products of f16 and bf16 are summed in f32 and rounded once. As products of f32 their operands are converted once for
// all products that read them, or in what makes them, and the result in what reads it.
MaybeArray of_f32(const Match& m) {
  constexpr double fewest = 1 << 12;  // multiplications
  const DType dtype = m.root().dtype();
  if (!is_half(dtype)) return {};
  const ProductForm form = product_form(m.maker(m.root())->params, m[0].type(), m[1].type());
  if (form.multiplications(m.root().type()) < fewest) return {};
  const Array a = convert(m[0], DType::f32), b = convert(m[1], DType::f32);
  return convert(dot_general(a, b, {form.contract_a, form.contract_b, form.batch_a, form.batch_b}), dtype);
}

Type matrix(std::int64_t rows, std::int64_t columns) { return Type::array(DType::f32, {Dim(rows), Dim(columns)}); }

RuleRef matrix_chains() {
  return std::make_shared<const Rule>(
      Rule{.name = "order of matrix products",
           .exactness = Exactness::reassociates,
           .replacement = reordered,
           .roots = is_product,
           .applies_to = [] {
             const Type x = matrix(20, 20), y = matrix(20, 30), v = Type::array(DType::f32, {Dim(30)});
             std::vector<Rule::Example> all;
             using Holes = std::span<const Array>;
             all.push_back({{x, y, v}, [](Holes h) { return matmul(matmul(h[0], h[1]), h[2]); }});
             all.push_back({{x, y, v}, [](Holes h) { return matmul(matmul(h[0], h[1]) * 0.5f, h[2]); }});
             all.push_back({{x, y, v}, [](Holes h) { return matmul(-matmul(h[0], h[1]) / 3.0f, h[2]); }});
             all.push_back({{x, y, v}, [](Holes h) { return matmul(matmul(h[0], h[1]) * h[2], h[2]); }});
             all.push_back({{x, y, v}, [](Holes h) {
                              const Array whole = matmul(h[0], h[1]);
                              return matmul(matmul(whole, h[2]), whole);
                            }});
             all.push_back({{matrix(2, 20), x, y}, [](Holes h) { return matmul(h[0], matmul(h[1], h[2])); }});
             return all;
           }});
}

RuleRef scales() {
  return std::make_shared<const Rule>(
      Rule{.name = "scales of products",
           .exactness = Exactness::reassociates,
           .replacement = scaled_where_it_is_less,
           .roots = is_product,
           .applies_to = [] {
             const Type x = matrix(4, 50), y = matrix(3, 50), v = Type::array(DType::f32, {Dim(50)}),
                        number = Type::array(DType::f32, {});
             std::vector<Rule::Example> all;
             using Holes = std::span<const Array>;
             all.push_back({{x, y}, [](Holes h) { return einsum("ik,jk->ij", 2.0f * h[0], h[1]); }});
             all.push_back({{x, y, number}, [](Holes h) { return einsum("ik,jk->ij", h[0], -h[1] / h[2]); }});
             all.push_back({{x, v, number}, [](Holes h) { return einsum("ik,k->i", h[0] * h[2], h[1]); }});
             return all;
           }});
}

RuleRef orientation() {
  return std::make_shared<const Rule>(
      Rule{.name = "transpose(a @ b)",
           .exactness = Exactness::exact,
           .replacement = other_way_round,
           .roots = [](const OpInfo& op) { return &op == &transpose_op(); },
           .applies_to =
               [] {
                 const Type x = matrix(20, 20), y = matrix(20, 30);
                 std::vector<Rule::Example> all;
                 using Holes = std::span<const Array>;
                 all.push_back({{x, y}, [](Holes h) { return transpose(matmul(h[0], h[1]), {1, 0}); }});
                 return all;
               }});
}

RuleRef untransposed() {
  return std::make_shared<const Rule>(
      Rule{.name = "transpose(a) @ b",
           .exactness = Exactness::reassociates,
           .replacement = of_untransposed,
           .roots = is_product,
           .applies_to = [] {
             const Type x = matrix(4, 5), y = matrix(4, 3);
             std::vector<Rule::Example> all;
             using Holes = std::span<const Array>;
             all.push_back({{x, y}, [](Holes h) { return matmul(transpose(h[0]), h[1]); }});
             all.push_back({{y, x}, [](Holes h) { return matmul(transpose(h[0]), transpose(transpose(h[1]))); }});
             return all;
           }});
}

RuleRef elementwise() {
  return std::make_shared<const Rule>(
      Rule{.name = "products of elements",
           .exactness = Exactness::reassociates,
           .replacement = one_by_one,
           .roots = is_product,
           .applies_to = [] {
             const Type x = matrix(4, 5), v = Type::array(DType::f32, {Dim(5)}), number = Type::array(DType::f32, {});
             std::vector<Rule::Example> all;
             using Holes = std::span<const Array>;
             all.push_back({{v, v}, [](Holes h) { return dot(h[0], h[1]); }});
             all.push_back({{x, x}, [](Holes h) { return einsum("ij,ij->j", h[0], h[1]); }});
             all.push_back({{x, x}, [](Holes h) { return einsum("ij,ij->", h[0], h[1]); }});
             all.push_back({{x, v}, [](Holes h) { return einsum("ij,j->ij", h[0], h[1]); }});
             all.push_back({{number, x}, [](Holes h) { return dot_general(h[0], h[1], {}); }});
             return all;
           }});
}

RuleRef wide() {
  return std::make_shared<const Rule>(Rule{
      .name = "products of f16 and bf16 as products of f32",
      .exactness = Exactness::reassociates,
      .phase = Phase::after_differentiation,
      .replacement = of_f32,
      .roots = is_product,
      .applies_to = [] {
        std::vector<Rule::Example> all;
        using Holes = std::span<const Array>;
        for (const DType dtype : {DType::f16, DType::bf16}) {
          const Type x = Type::array(dtype, {Dim(20), Dim(20)}), y = Type::array(dtype, {Dim(2), Dim(20), Dim(20)});
          all.push_back({{x, x}, [](Holes h) { return matmul(h[0], h[1]); }});
          all.push_back({{y, y}, [](Holes h) { return einsum("bij,bkj->bik", h[0], h[1]); }});
        }
        return all;
      }});
}

// Whether a broadcast repeats whole matrices, those of the last two axes.
bool repeats_matrices(const Eqn& broadcast, const Shape& matrix) {
  const BroadcastForm form = broadcast_form(broadcast.params);
  const std::size_t from = matrix.rank(), to = form.shape.rank();
  for (std::size_t k = 1; k <= 2; ++k)
    if (form.dims[from - k] != static_cast<std::int64_t>(to - k) || matrix[from - k] != form.shape[to - k])
      return false;
  return true;
}
// Whether it has ones where its last two axes meet, and zeros elsewhere.
bool is_identity(const Match& m, const Array& x) {
  Array one = x;
  const Eqn* eqn = m.maker(one);
  for (; eqn != nullptr; eqn = m.maker(one)) {
    const Array inner = eqn->in.empty() ? Array() : m.operand(*eqn, 0);
    const bool of_batch = eqn->op == &broadcast_op() && inner.rank() >= 2 && repeats_matrices(*eqn, inner.shape());
    if (eqn->op != &convert_op() && !of_batch) break;
    one = inner;
  }
  if (eqn == nullptr || eqn->op != &eq_op()) return false;
  const Eqn *row = m.maker(m.operand(*eqn, 0)), *column = m.maker(m.operand(*eqn, 1));
  const auto last = static_cast<std::int64_t>(one.rank()) - 1;
  return row != nullptr && column != nullptr && counted_axis(*row) == last - 1 && counted_axis(*column) == last;
}

// A product with inv(a), or its transpose, is the solution of a·x = b, or of aᵀ·x = b, at a third of the work and with
// less rounding; b is the other operand, the columns of which are its own axes. Of a batch too.
MaybeArray solved(const Match& m) {
  const Eqn& root = *m.maker(m.root());
  const ProductForm form = product_form(root.params, m[0].type(), m[1].type());
  for (const std::size_t at : {0u, 1u}) {
    const Scaled found = unscaled(m, m[at], root);
    const Eqn* inner = m.maker(found.inner);
    if (inner == nullptr || inner->op != &solve_op() || !may_move(*inner, root) || m.reads(m[at]) != 1 ||
        !is_identity(m, m.operand(*inner, 1)))
      continue;
    const Array a = m.operand(*inner, 0), b = m[1 - at];
    const auto& summed = at == 0 ? form.contract_a : form.contract_b;
    const auto batch = static_cast<std::int64_t>(a.rank()) - 2;
    if (summed.size() != 1 || summed[0] < batch || b.dtype() != m.root().dtype() || a.dtype() != b.dtype()) continue;
    Labels la = counted(0, a.rank()), lb = counted(a.rank(), b.rank());
    const Labels result = at == 0 ? of_product(form, la, lb) : of_product(form, lb, la);
    const Rescaling scales{found.scales, la, result, lb};
    const bool transposed = summed[0] == batch;
    const std::size_t matched = la[static_cast<std::size_t>(summed[0])],
                      left = transposed ? la.back() : la[la.size() - 2];
    if (!scales.can() || has(lb, left)) continue;
    // The batch, then the axis that is summed, then b's own axes, as one.
    Labels order(la.begin(), la.end() - 2), own;
    order.push_back(matched);
    for (const std::size_t label : lb)
      if (!has(order, label)) own.push_back(label);
    std::vector<Dim> sizes(a.shape().begin(), a.shape().end() - 1);
    Dim columns = 1;
    Labels all = order;
    for (const std::size_t label : own) {
      all.push_back(label);
      sizes.push_back(b.shape()[static_cast<std::size_t>(place(lb, label))]);
      columns = columns * sizes.back();
    }
    const Array right = spread(scales.of_other(b), lb, all, Shape(sizes));
    const Shape matrices = Shape(std::vector<Dim>(sizes.begin(), sizes.begin() + batch + 1))
                               .with_axis(static_cast<std::size_t>(batch) + 1, columns);
    std::vector<std::int64_t> axes(a.rank());
    std::iota(axes.begin(), axes.end(), 0);
    if (transposed) std::swap(axes.back(), axes[axes.size() - 2]);
    const Array x = reshape(solve(transposed ? transpose(a, axes) : a, reshape(right, matrices)), Shape(sizes));
    all[static_cast<std::size_t>(batch)] = left;
    return scales.of_result(in_order({x, all}, result));
  }
  return {};
}

RuleRef solutions() {
  return std::make_shared<const Rule>(
      Rule{.name = "inv(a) @ b = solve(a, b)",
           .exactness = Exactness::reassociates,
           .replacement = solved,
           .roots = is_product,
           .applies_to = [] {
             const Type a = matrix(3, 3), v = Type::array(DType::f32, {Dim(3)}),
                        batch = Type::array(DType::f32, {Dim(2), Dim(3), Dim(3)});
             std::vector<Rule::Example> all;
             using Holes = std::span<const Array>;
             all.push_back({{a, a}, [](Holes h) { return matmul(inv(h[0]), h[1]); }});
             all.push_back({{a, v}, [](Holes h) { return matmul(inv(h[0]), h[1]); }});
             all.push_back({{v, a}, [](Holes h) { return matmul(h[0], inv(h[1])); }});
             all.push_back({{a, v}, [](Holes h) { return matmul(2.0f * inv(h[0]), h[1]); }});
             all.push_back({{batch, v}, [](Holes h) { return matmul(inv(h[0]), h[1]); }});
             all.push_back({{batch, batch}, [](Holes h) { return einsum("bji,bkj->bki", inv(h[0]), h[1]); }});
             return all;
           }});
}

}  // namespace

std::vector<RuleRef> product_rules() {
  return {matrix_chains(), scales(), orientation(), untransposed(), elementwise(), wide(), solutions()};
}

}  // namespace tenon
