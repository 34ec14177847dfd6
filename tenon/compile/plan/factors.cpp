#include "tenon/compile/plan/factors.h"

#include "tenon/base/factors.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/runtime/linear_algebra/few_rows.h"

namespace tenon {
namespace {

// Fewer multiplications are done before the library has looked at its operands.
constexpr std::int64_t few = 1 << 12;

Dim sizes_of(const Type& type, const std::vector<std::int64_t>& axes) {
  Dim size = 1;
  for (const std::int64_t axis : axes) size = size * type.shape[static_cast<std::size_t>(axis)];
  return size;
}

}  // namespace

bool has_library_of_bytes(const Dim& m, const Dim& n, const Dim& multiplications) {
  const bool narrow = kernel::at_most(m, very_few_rows) || kernel::at_most(n, very_few_rows),
             wide = !kernel::at_most(m, enough_byte_columns - 1) || !kernel::at_most(n, enough_byte_columns - 1);
  return (!narrow || wide) && !kernel::at_most(multiplications, few);
}

std::array<Var, 2> factors_of(const Program& program, const Eqn& product, std::span<const Eqn* const> makers) {
  const std::array<Var, 2> operands{product.in[0], product.in[1]};
  const DType sum = program.type(product.out[0]).dtype;
  if (is_inexact(sum) && product.numerics == Numerics::strict) return operands;
  std::array<Var, 2> before{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Eqn* const maker = makers[operands[i]];
    if (maker == nullptr || maker->op != &convert_op()) return operands;
    before[i] = maker->in[0];
  }
  if (!are_factors(program.type(before[0]).dtype, program.type(before[1]).dtype, sum)) return operands;
  const Type &a = program.type(operands[0]), &b = program.type(operands[1]);
  const ProductForm form = product_form(product.params, a, b);
  const Dim m = sizes_of(a, form.free_a), n = sizes_of(b, form.free_b),
            all = kernel::product_of(program.type(product.out[0]).shape.dims()) * kernel::product_of(form.sum_sizes);
  if (is_integer(sum) && (!has_library_of_bytes(m, n, all) || !form.strides(a.shape.dims(), b.shape.dims())))
    return operands;
  return kernel::at_most(all, few) ? operands : before;
}

}  // namespace tenon
