// Products of several matrices in the order that costs least, and solutions of equations in place of inverses.
#include <algorithm>
#include <set>

#include "tenon/ir/estimate.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
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

// A product of three arrays, one of which is multiplied by the product of the others; and what it is scaled by.
struct Chain {
  Factor a, b, c;  // (a · b) · c
  Labels result;
  std::vector<double> sizes;  // of labels
  MaybeArray scale = {};      // a number

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

// Axes that both have are summed, unless they are wanted behind: then they go in step.
Factor multiplied(const Factor& x, const Factor& y, const Labels& wanted) {
  DotAxes axes;
  Labels batch, rest;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const std::size_t label = x.labels[i];
    const auto at = static_cast<std::int64_t>(i);
    if (!has(y.labels, label)) {
      rest.push_back(label);
    } else if (has(wanted, label)) {
      batch.push_back(label), axes.batch_a.push_back(at), axes.batch_b.push_back(place(y.labels, label));
    } else {
      axes.contract_a.push_back(at), axes.contract_b.push_back(place(y.labels, label));
    }
  }
  for (const std::size_t label : y.labels)
    if (!has(x.labels, label)) rest.push_back(label);
  batch.insert(batch.end(), rest.begin(), rest.end());
  return {dot_general(x.array, y.array, axes), batch};
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

// The number that every element of x is multiplied by, and what is multiplied.
std::optional<std::pair<Array, Array>> scaled(const Match& m, const Array& x, const Eqn& root) {
  const Eqn* product = m.maker(x);
  if (product == nullptr || product->op != &mul_op() || !may_move(*product, root)) return {};
  for (const std::size_t i : {0u, 1u}) {
    const Eqn* repeated = m.maker(m.operand(*product, i));
    if (repeated == nullptr || repeated->op != &broadcast_op()) continue;
    const Array number = m.operand(*repeated, 0);
    if (number.rank() == 0) return std::pair(number, m.operand(*product, 1 - i));
  }
  return {};
}

// The root's operand `at` as a product, if it is one that nothing else reads.
std::optional<Chain> chain_of(const Match& m, std::size_t at) {
  const Eqn& root = *m.maker(m.root());
  Array whole = m[at];
  Chain chain;
  if (m.reads(whole) == 1)
    if (const auto scale = scaled(m, whole, root)) chain.scale = scale->first, whole = scale->second;
  const Eqn* inner = m.maker(whole);
  if (inner == nullptr || inner->op != root.op || m.reads(whole) != 1 || !may_move(*inner, root)) return {};
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
  return chain;
}

Array in_order(const Factor& product, const Labels& result) {
  std::vector<std::int64_t> permutation;
  for (const std::size_t label : result) permutation.push_back(place(product.labels, label));
  return std::ranges::is_sorted(permutation) ? product.array : transpose(product.array, permutation);
}

// (a · b) · c as a · (b · c), or b · (a · c), where that is less work by a tenth.
MaybeArray reordered(const Match& m) {
  const DType dtype = m.root().dtype();
  if (is_half(dtype) || dtype == DType::bool_) return {};
  for (const std::size_t at : {0u, 1u}) {
    const auto chain = chain_of(m, at);
    if (!chain) continue;
    const auto& [a, b, c, result, sizes, scale] = *chain;
    const double now = chain->cost(a.labels, b.labels, c.labels), b_first = chain->cost(b.labels, c.labels, a.labels),
                 a_first = chain->cost(a.labels, c.labels, b.labels);
    if (std::min(a_first, b_first) >= 0.9 * now) continue;  // of nothing, all cost nothing
    const Factor &first = b_first <= a_first ? b : a, &last = b_first <= a_first ? a : b;
    Labels wanted = last.labels;
    wanted.insert(wanted.end(), result.begin(), result.end());
    const Factor inner = multiplied(first, c, wanted);
    const Array product = in_order(multiplied(last, inner, result), result);
    return scale ? product * broadcast_to(*scale, product.shape()) : product;
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
  const auto spread = [&](const Array& x, const Labels& own) {
    std::vector<std::int64_t> order, dims;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (has(own, all[i])) order.push_back(place(own, all[i])), dims.push_back(static_cast<std::int64_t>(i));
    const Array in_order = std::ranges::is_sorted(order) ? x : transpose(x, order);
    return broadcast_in_dim(convert(in_order, computed_in(dtype)), Shape(sizes), dims);
  };
  const Array products = spread(a, la) * spread(b, lb);
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
  if (estimated_elements(m.root().type()) * kernel::estimate(form.sum_sizes) < fewest) return {};
  const Array a = convert(m[0], DType::f32), b = convert(m[1], DType::f32);
  return convert(dot_general(a, b, {form.contract_a, form.contract_b, form.batch_a, form.batch_b}), dtype);
}

Type matrix(std::int64_t rows, std::int64_t columns) { return Type::array(DType::f32, {Dim(rows), Dim(columns)}); }

RuleRef chains() {
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
             all.push_back({{matrix(2, 20), x, y}, [](Holes h) { return matmul(h[0], matmul(h[1], h[2])); }});
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

// inv(a)·b is the solution of a·x = b, at a third of the work and with less rounding.
RuleRef solutions() {
  return std::make_shared<const Rule>(
      Rule{.name = "inv(a) @ b = solve(a, b)",
           .exactness = Exactness::reassociates,
           .holes = 2,
           .pattern = [](std::span<const Array> x) { return matmul(inv(x[0]), x[1]); },
           .replacement = [](const Match& m) -> MaybeArray { return solve(m[0], m[1]); },
           .examples = {{matrix(3, 3), matrix(3, 3)}, {matrix(3, 3), Type::array(DType::f32, {Dim(3)})}}});
}

}  // namespace

std::vector<RuleRef> product_rules() { return {chains(), orientation(), elementwise(), wide(), solutions()}; }

}  // namespace tenon
