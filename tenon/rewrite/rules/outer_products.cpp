// Products that sum nothing.
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/einsum.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

// A product whose sums have one term each as one that sums nothing, as an outer product is.
MaybeArray without_sums(const Match& m) {
  const ProductForm form = product_form(m.maker(m.root())->params, m[0].type(), m[1].type());
  const auto is_one = [](const Dim& size) { return size == Dim(1); };
  if (form.sum_sizes.empty() || !std::ranges::all_of(form.sum_sizes, is_one)) return {};
  const auto left = [](const Array& x, const std::vector<std::int64_t>& summed, std::vector<std::int64_t>& batch) {
    for (std::int64_t& axis : batch) axis -= std::ranges::count_if(summed, [&](std::int64_t a) { return a < axis; });
    Shape shape = x.shape();
    for (std::size_t i = shape.rank(); i-- > 0;)
      if (std::ranges::count(summed, static_cast<std::int64_t>(i)) > 0) shape = shape.without_axis(i);
    return reshape(x, shape);
  };
  DotAxes axes{{}, {}, form.batch_a, form.batch_b};
  const Array a = left(m[0], form.contract_a, axes.batch_a), b = left(m[1], form.contract_b, axes.batch_b);
  return dot_general(a, b, axes, m.root().dtype());
}

RuleRef outer() {
  return std::make_shared<const Rule>(
      Rule{.name = "products of one term",
           .exactness = Exactness::reassociates,  // -0 stays -0
           .replacement = without_sums,
           .roots = is_product,
           .applies_to = [] {
             std::vector<Rule::Example> all;
             using Holes = std::span<const Array>;
             for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::c64}) {
               const auto type = [=](std::vector<Dim> sizes) { return Type::array(dtype, Shape(std::move(sizes))); };
               all.push_back({{type({4, 1}), type({1, 5})}, [](Holes h) { return matmul(h[0], h[1]); }});
               all.push_back(
                   {{type({2, 1, 4}), type({1, 5, 2})}, [](Holes h) { return einsum("bki,kjb->bij", h[0], h[1]); }});
             }
             return all;
           }});
}

}  // namespace

std::vector<RuleRef> outer_product_rules() { return {outer()}; }

}  // namespace tenon
