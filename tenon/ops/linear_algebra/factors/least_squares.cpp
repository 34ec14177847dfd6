// Least squares by singular values, without their vectors.
#include <fmt/format.h>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

extern const OpInfo least_squares_info;

std::vector<Type> least_squares_type(const Params&, std::span<const Type> in, TypeContext& context) {
  if (in.size() != 3) throw VerifyError("least_squares: takes a matrix, right sides and a bound.");
  const Type &a = matrices::matrix("least_squares", in[0]), &b = matrices::matrix("least_squares", in[1]);
  const Type& bound = in[2];
  if (b.dtype != a.dtype || !bound.is_array() || bound.dtype != real_part_of(a.dtype))
    throw DTypeError(fmt::format("least_squares: {}, {} and {} differ in dtype.", a.text(), b.text(), bound.text()));
  if (b.rank() != a.rank() || bound.rank() != a.rank())
    throw ShapeError(fmt::format("least_squares: {}, {} and {} differ in rank.", a.text(), b.text(), bound.text()));
  const auto equal = [&](const Dim& x, const Dim& y) {
    context.require_equal(x, y, [&] {
      return fmt::format("least_squares: {}, {} and {} do not go together: {} and {}.", a.text(), b.text(),
                         bound.text(), x.text(), y.text());
    });
  };
  for (std::size_t i = 0; i + 1 < a.rank(); ++i) equal(a.shape[i], b.shape[i]);
  for (std::size_t i = 0; i < a.rank(); ++i) equal(i + 2 < a.rank() ? a.shape[i] : Dim(1), bound.shape[i]);
  const Dim rows = matrices::rows_of(a), columns = matrices::columns_of(a);
  return {Type::array(a.dtype, matrices::batch_of(a, {columns, matrices::columns_of(b)})),
          Type::array(real_part_of(a.dtype), matrices::batch_of(a, {min(rows, columns)}))};
}

// With p = pinv(a): dx = p·(db - da·x + pᴴ·daᴴ·(b - a·x) - a·t) + t, t = daᴴ·pᴴ·x (Golub and Pereyra 1973). p and pᴴ
// are least squares of a and aᴴ: derivatives of any order divide by no differences of singular values.
JvpResult least_squares_jvp(const JvpArgs& args) {
  const Array &a = args.primals[0], &b = args.primals[1], &bound = args.primals[2];
  const Arrays made = least_squares(a, b, bound);
  const Array& x = made[0];
  if (!args.tangents[0]) {
    const Array dx = args.tangents[1] ? least_squares(a, *args.tangents[1], bound)[0] : zeros_like(x);
    return {made, {dx, zeros_like(made[1])}};
  }
  const Array &da = *args.tangents[0], dah = matrices::adjoint(da);
  const auto adjoint_pinv = [&](const Array& y) { return least_squares(matrices::adjoint(a), y, bound)[0]; };
  const Array along = matmul(dah, adjoint_pinv(x));
  Array right = adjoint_pinv(matmul(dah, b - matmul(a, x))) - matmul(da, x) - matmul(a, along);
  if (args.tangents[1]) right = right + *args.tangents[1];
  const Arrays f = singular_spectrum(a, true, false);
  return {made,
          {least_squares(a, right, bound)[0] + along,
           matrices::real_along_columns(f[1], matmul(da, matrices::adjoint(f[2])))}};
}

// Linear in the right sides: the transpose of a pseudoinverse is that of the transpose.
void least_squares_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  if (args.operands[0].linear() || args.operands[2].linear())
    throw DifferentiationError("least_squares: it is linear in the right sides alone.");
  const Array a = matrices::transposed(*args.operands[0].value);
  args.sink.add(1, least_squares(a, *args.cotangents[0], *args.operands[2].value)[0]);
}

// One matrix for all lanes has the lanes' right sides beside each other.
BatchResult least_squares_batch(const BatchArgs& args) {
  const Array &a = args.operands[0], &b = args.operands[1], &bound = args.operands[2];
  if (!args.batched[0] && !args.batched[2]) {
    const auto rank = static_cast<std::int64_t>(b.rank());
    const Array last = move_axis(b, 0, rank - 1);  // [..., m, k, lanes]
    const Shape shape = last.shape();
    const Dim &k = shape[last.rank() - 2], &lanes = shape[last.rank() - 1];
    const Arrays made =
        least_squares(a, reshape(last, matrices::batch_of(a.type(), {matrices::rows_of(a.type()), k * lanes})), bound);
    const Array apart = reshape(made[0], matrices::batch_of(a.type(), {matrices::columns_of(a.type()), k, lanes}));
    return {{move_axis(apart, rank - 1, 0), made[1]}, {true, false}};
  }
  return family::batch_in_front(least_squares_info, args);
}

std::vector<SampleCase> least_squares_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  const auto add = [&](Shape batch, std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto with = [&](Dim rows, Dim columns) {
      std::vector<Dim> dims(batch.begin(), batch.end());
      dims.push_back(rows), dims.push_back(columns);
      return Shape(std::move(dims));
    };
    cases.push_back({{},
                     {Type::array(d, with(m, n)), Type::array(d, with(m, k)), Type::array(real_part_of(d), with(1, 1))},
                     {{-2, 2}, {-2, 2}, {1e-3, 1.1e-3}}});
  };
  add({}, 4, 2, 1), add({}, 2, 3, 2), add({Dim(2)}, 3, 2, 2), add({}, 1, 1, 1);
  add({}, 0, 2, 1), add({}, 2, 0, 1), add({}, 3, 2, 0), add({Dim(0)}, 2, 2, 1);
  return cases;
}

const OpInfo least_squares_info{
    .name = "least_squares",
    .summary = "the shortest x with the least |a·x - b|, and the singular values of a",
    .params = nullptr,
    .type = TypeRule(least_squares_type),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      return matrices::evaluate_each(in, context.out, [](std::span<const textbook::Matrix> given) -> matrices::Parts {
        const textbook::LeastSquares made = textbook::least_squares(given[0], given[1], given[2].elements[0].real());
        return {made.x.elements, matrices::numbers(made.s)};
      });
    }),
    .jvp = JvpRule(least_squares_jvp),
    .transpose = TransposeRule(least_squares_transpose),
    .batch = BatchRule(least_squares_batch),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params&, std::span<const Type> in) {
      return matrices::lapack_form(TenonLapack::least_squares, in[0], {.others = matrices::columns_of(in[1])});
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(least_squares_samples)};
const bool least_squares_installed = (install_op(least_squares_info), true);

}  // namespace

Arrays least_squares(const Array& a, const Array& b, const Array& bound) {
  return bind_op(least_squares_info, {}, {a, b, bound});
}

}  // namespace tenon
