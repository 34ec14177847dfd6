#include "tenon/rewrite/small_products.h"

#include <array>

#include "tenon/ir/replay.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/product_axes.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Axes64 = std::vector<std::int64_t>;

Dim size_of_axes(const Type& type, const Axes64& axes) {
  Dim size = 1;
  for (const std::int64_t axis : axes) size = size * type.shape[static_cast<std::size_t>(axis)];
  return size;
}

// Where sums are measured to be as fast as the library or faster (bench/contraction.cpp): 20 times for matrices of 2 by
// 2, 1.6 times (f32) and as fast (f64) for 8 by 8; of long matrices with small ones 1.1 to 2.6 times.
bool is_small(const Program& program, const Eqn& eqn, const ProductForm& form) {
  constexpr std::int64_t written_out = 64, most_elements = 64, most_terms = 16, most_work = 512;
  constexpr std::int64_t most_shared_terms = 8, narrow = 16;
  const Type &a = program.type(eqn.in[0]), &b = program.type(eqn.in[1]), &made = program.type(eqn.out[0]);
  const auto terms = Shape(form.sum_sizes).elements().try_value(), rows = size_of_axes(a, form.free_a).try_value(),
             columns = size_of_axes(b, form.free_b).try_value();
  if (!terms || *terms < 1 || *terms > most_terms) return false;
  const Dim all = made.shape.elements();
  if (all.known() && all.value() <= written_out) return false;
  if (!form.batch_a.empty() && size_of_axes(a, form.batch_a) != Dim(1))
    return rows && columns && *rows <= most_elements && *columns <= most_elements &&  // products of them do not wrap
           *rows * *columns <= most_elements && *rows * *columns * *terms <= most_work;
  return *terms <= most_shared_terms && ((rows && *rows <= narrow) || (columns && *columns <= narrow));
}

// What is summed has the result's axes, and behind them the terms.
Array as_sum(const ProductAxes& axes, const std::array<Array, 2>& operands) {
  std::vector<Dim> sizes = axes.sizes;
  for (const std::size_t k : {0, 1})
    for (std::size_t i = 0; i < axes.of[k].size(); ++i)
      sizes[static_cast<std::size_t>(axes.of[k][i])] = operands[k].shape()[i];
  const Shape whole(sizes);
  return sum(spread_in_dim(operands[0], whole, axes.of[0]) * spread_in_dim(operands[1], whole, axes.of[1]),
             Axes(axes.summed_axes()));
}

bool is_small_product(const Program& program, const Eqn& eqn) {
  if (!is_product(*eqn.op) || eqn.numerics != Numerics::relaxed) return false;
  const Type &a = program.type(eqn.in[0]), &b = program.type(eqn.in[1]);
  const DType dtype = program.type(eqn.out[0]).dtype;
  const bool sums_alike = a.dtype == dtype && b.dtype == dtype;
  return sums_alike && (dtype == DType::f32 || dtype == DType::f64 || is_complex(dtype)) &&
         is_small(program, eqn, product_form(eqn.params, a, b));
}

}  // namespace

ProgramRef small_products(const ProgramRef& program) {
  if (find_eqn(*program, [](const Eqn& e) { return is_product(*e.op); }) == nullptr) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("small_products")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      for (const Eqn& eqn : program->eqns()) {
        if (!is_small_product(*program, eqn)) {
          replay.bind_eqn(eqn, small_products);
          continue;
        }
        const EqnScope place(eqn);
        replay.set(eqn.out[0], as_sum(ProductAxes(*program, eqn), {replay.get(eqn.in[0]), replay.get(eqn.in[1])}));
      }
    });
  });
}

}  // namespace tenon
