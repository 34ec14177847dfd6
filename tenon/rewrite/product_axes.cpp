#include "tenon/rewrite/product_axes.h"

#include <numeric>
#include <span>

#include "tenon/ops/structure/structure.h"

namespace tenon {

ProductAxes::ProductAxes(const Program& program, const Eqn& eqn) {
  const Type &a = program.type(eqn.in[0]), &b = program.type(eqn.in[1]);
  const ProductForm form = product_form(eqn.params, a, b);
  sizes = program.type(eqn.out[0]).shape.dims();
  summed = sizes.size();
  sizes.insert(sizes.end(), form.sum_sizes.begin(), form.sum_sizes.end());
  std::vector<std::int64_t> axes(sizes.size());
  std::iota(axes.begin(), axes.end(), 0);
  const std::span<const std::int64_t> all(axes);
  of[0] = form.index_a<std::int64_t>(all.first(summed), all.subspan(summed));
  of[1] = form.index_b<std::int64_t>(all.first(summed), all.subspan(summed));
}

std::vector<std::int64_t> ProductAxes::summed_axes() const {
  std::vector<std::int64_t> axes(sizes.size() - summed);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(summed));
  return axes;
}

}  // namespace tenon
