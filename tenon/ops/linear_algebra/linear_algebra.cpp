#include "tenon/ops/linear_algebra/linear_algebra.h"

#include <fmt/format.h>

#include <complex>
#include <cstring>
#include <limits>

#include "tenon/ir/describe_params.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/linear_algebra/factors/solve_parts.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/runtime/linear_algebra/factors.h"

namespace tenon {

struct TriangularParams {
  bool lower, transpose, unit_diagonal;
};
BOOST_DESCRIBE_STRUCT(TriangularParams, (), (lower, transpose, unit_diagonal))
struct SolveParams {
  bool transpose;
};
BOOST_DESCRIBE_STRUCT(SolveParams, (), (transpose))

namespace {

extern const OpInfo cholesky_info, triangular_solve_info, solve_info;

using matrices::adjoint, matrices::hermitian, matrices::narrowed, matrices::square, matrices::transposed,
    matrices::triangle;

// --- types ---
const Type& right_sides(std::string_view op, std::span<const Type> in, TypeContext& context) {
  if (in.size() != 2) throw VerifyError(fmt::format("{}: takes a matrix and right sides.", op));
  const Type &a = square(op, in[0], context), &b = in[1];
  const std::string both = fmt::format("{}: {} and right sides {}", op, a.text(), b.text());
  if (!b.is_array() || b.dtype != a.dtype) throw DTypeError(both + " differ in dtype.", "Convert one of them.");
  if (b.rank() != a.rank()) throw ShapeError(both + " differ in rank.", "Both have the same axes before the last two.");
  for (std::size_t i = 0; i + 1 < a.rank(); ++i)
    context.require_equal(a.shape[i], b.shape[i], [&] {
      return fmt::format("{}: axis {} has {} and {}.", both, i, a.shape[i].text(), b.shape[i].text());
    });
  return b;
}

// --- evaluation: matrix by matrix, as textbooks have it ---
template <class T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}

template <class T>
void factor(const T* a, T* l, std::int64_t n) {
  std::fill(l, l + n * n, T());
  bool positive = true;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      T rest = a[i * n + j];
      for (std::int64_t k = 0; k < j; ++k) rest -= l[i * n + k] * conjugate(l[j * n + k]);
      if (i != j) {
        l[i * n + j] = rest / l[j * n + j];
      } else {
        positive = positive && std::real(rest) > 0;
        l[i * n + i] = std::sqrt(std::real(rest));
      }
    }
  using Real = decltype(std::real(T()));
  for (std::int64_t i = 0; i < n && !positive; ++i)
    std::fill(l + i * n, l + i * n + i + 1, T(std::numeric_limits<Real>::quiet_NaN()));
}

// x := op(a)⁻¹·x, of one triangle.
template <class T>
void substitute(const T* a, T* x, std::int64_t n, std::int64_t m, const TriangularParams& p) {
  const bool forward = p.lower != p.transpose;
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t i = forward ? step : n - 1 - step;
    for (std::int64_t c = 0; c < m; ++c) {
      T rest = x[i * m + c];
      for (std::int64_t k = forward ? 0 : i + 1; k < (forward ? i : n); ++k)
        rest -= (p.transpose ? a[k * n + i] : a[i * n + k]) * x[k * m + c];
      x[i * m + c] = p.unit_diagonal ? rest : rest / a[i * n + i];
    }
  }
}

// x := op(a)⁻¹·x by elimination, each time with the largest element left of the column.
template <class T>
void eliminate(const T* given, T* x, std::int64_t n, std::int64_t m, bool transpose) {
  std::vector<T> a(static_cast<std::size_t>(n * n));
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return a[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) at(i, j) = transpose ? given[j * n + i] : given[i * n + j];
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(pivot, j));
    for (std::int64_t c = 0; c < m; ++c) std::swap(x[k * m + c], x[pivot * m + c]);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T ratio = at(i, k) / at(k, k);
      for (std::int64_t j = k + 1; j < n; ++j) at(i, j) -= ratio * at(k, j);
      for (std::int64_t c = 0; c < m; ++c) x[i * m + c] -= ratio * x[k * m + c];
    }
  }
  substitute(a.data(), x, n, m, {false, false, false});
}

// one(matrix, right sides in place, n, columns) of each matrix.
template <class One>
Buffer each_system(std::span<const Value> in, One one) {
  const Buffer a = family::contiguous(in[0]), b = family::contiguous(in[1]);
  Buffer x = Buffer::allocate(b.dtype(), b.dims());
  copy_into(x, b);
  const std::int64_t n = a.dims().back(), m = b.dims().back();
  if (b.elements() > 0)
    matrices::of_dtype(a.dtype(), [&]<class T>(T) {
      for (std::int64_t i = 0; i < b.elements() / (n * m); ++i) one(a.as<T>() + i * n * n, x.as<T>() + i * n * m, n, m);
    });
  return x;
}

std::vector<Value> cholesky_eval(const Params&, std::span<const Value> in, const EvalContext&) {
  const Buffer a = family::contiguous(in[0]);
  Buffer l = Buffer::allocate(a.dtype(), a.dims());
  const std::int64_t n = a.dims().back();
  matrices::of_dtype(a.dtype(), [&]<class T>(T) {
    for (std::int64_t first = 0; first < a.elements(); first += n * n) factor(a.as<T>() + first, l.as<T>() + first, n);
  });
  return {l};
}

// --- lowering ---
LibraryForm library_form(std::string_view function, const Type& a, const Dim& columns, TriangularParams p,
                         std::int64_t (*workspace)(const TenonMatrices&)) {
  const Dim &n = a.shape[a.rank() - 1], batch = matrices::count_of(a);
  const auto dtype = static_cast<std::int64_t>(a.dtype);
  LibraryForm form{function,
                   {dtype, batch, n, columns, p.lower, p.transpose, p.unit_diagonal, TenonMatrices::any_parts}};
  form.nanoseconds =
      200 + 0.05 * kernel::estimate(a.shape.elements()) * std::max(kernel::estimate(n), kernel::estimate(columns));
  if (batch.known() && n.known() && columns.known()) {
    const std::int64_t parts = matrix_parts(batch.value(), n.value(), columns.value());
    form.workspace =
        workspace({dtype, batch.value(), n.value(), columns.value(), p.lower, p.transpose, p.unit_diagonal, parts});
    form.description.back() = parts;
  }
  return form;
}

// --- derivatives ---
Array triangular_of(const Array& a, const Array& b, TriangularParams p) {
  return bind1(triangular_solve_info, make_params(p), {a, b});
}

// dL = L·Φ(L⁻¹·da·L⁻ᴴ), where Φ halves the diagonal of a lower triangle (Smith 1995, Murray 2016).
JvpResult cholesky_jvp(const JvpArgs& args) {
  const Array l = bind1(cholesky_info, args.params, {args.primals[0]});
  const TriangularParams below{true, false, false};
  const Array half = adjoint(triangular_of(l, hermitian(*args.tangents[0]), below));
  const Array both = triangular_of(l, half, below);
  const Array phi = triangle(both, true) - triangle(triangle(both, true), false) * 0.5f;
  return {{l}, {matmul(l, phi)}};
}

// op(a)·x = b, so op(a)·dx = db - op(da)·x.
JvpResult linear_jvp(const OpInfo& op, const JvpArgs& args, bool transpose, FunctionRef<Array(const Array&)> of) {
  const Array x = bind1(op, args.params, {args.primals[0], args.primals[1]});
  MaybeArray right = args.tangents[1];
  if (args.tangents[0]) {
    const Array da = of(*args.tangents[0]);
    const Array moved = matmul(transpose ? transposed(da) : da, x);
    right = right ? *right - moved : -moved;
  }
  return {{x}, {bind1(op, args.params, {args.primals[0], *right})}};
}

void linear_transpose(const OpInfo& op, const TransposeArgs& args, const Params& other_way) {
  if (!args.cotangents[0]) return;
  if (args.operands[0].linear())
    throw DifferentiationError(fmt::format("{}: it is not linear in the matrix.", op.name));
  args.sink.add(1, bind1(op, other_way, {*args.operands[0].value, *args.cotangents[0]}));
}

// One matrix for all lanes has the lanes' right sides beside each other.
BatchResult linear_batch(const OpInfo& op, const BatchArgs& args) {
  if (!args.batched[0]) {
    const Array &a = args.operands[0], &b = args.operands[1];
    const auto rank = static_cast<std::int64_t>(b.rank());
    const Array last = move_axis(b, 0, rank - 1);  // [..., n, m, lanes]
    Shape wide = a.shape(), apart = last.shape();
    wide[a.rank() - 1] = apart[last.rank() - 2] * apart[last.rank() - 1];
    const Array x = bind1(op, args.params, {a, reshape(last, wide)});
    return {{move_axis(reshape(x, apart), rank - 1, 0)}, {true}};
  }
  return family::batch_in_front(op, args);
}

// --- samples ---
Type matrix(DType d, std::initializer_list<Dim> shape) { return Type::array(d, shape); }

std::vector<SampleCase> cholesky_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  for (const Shape& shape : {Shape{Dim(3), Dim(3)}, Shape{Dim(2), Dim(2), Dim(2)}, Shape{Dim(1), Dim(1)},
                             Shape{Dim(0), Dim(0)}, Shape{Dim(0), Dim(2), Dim(2)}})
    cases.push_back({{}, {Type::array(d, shape)}, {{-1, 1}}});
  return cases;
}

std::vector<SampleCase> system_samples(DType d, const std::vector<Params>& all) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  const std::vector<Domain> domains{{-1, 1}, {-2, 2}};
  for (const Params& p : all) cases.push_back({p, {matrix(d, {3, 3}), matrix(d, {3, 2})}, domains});
  cases.push_back({all[0], {matrix(d, {2, 2, 2}), matrix(d, {2, 2, 1})}, domains});
  cases.push_back({all[0], {matrix(d, {1, 1}), matrix(d, {1, 3})}, domains});
  cases.push_back({all[0], {matrix(d, {0, 0}), matrix(d, {0, 2})}, domains});
  cases.push_back({all[0], {matrix(d, {2, 2}), matrix(d, {2, 0})}, domains});
  return cases;
}

const OpInfo cholesky_info{
    .name = "cholesky",
    .summary = "the lower triangular factor of the Hermitian matrix that a lower triangle stands for",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 1) throw VerifyError("cholesky: takes one operand.");
      return std::vector{square("cholesky", in[0], context)};
    }),
    .eval = EvalRule(cholesky_eval),
    .jvp = JvpRule(cholesky_jvp),
    .transpose = Absent{"not linear"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(cholesky_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params&, std::span<const Type> in) {
      return library_form("tenon_cholesky", in[0], in[0].shape[in[0].rank() - 1], {true, false, false},
                          cholesky_workspace);
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(cholesky_samples)};

const OpInfo triangular_solve_info{
    .name = "triangular_solve",
    .summary = "x with op(a)·x = b, where a is triangular",
    .params = &describe::params_ops<TriangularParams>,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      return std::vector{right_sides("triangular_solve", in, context)};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext&) {
      return std::vector<Value>{each_system(in, [&](const auto* a, auto* x, std::int64_t n, std::int64_t m) {
        substitute(a, x, n, m, params.as<TriangularParams>());
      })};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      const auto p = args.params.as<TriangularParams>();
      return linear_jvp(triangular_solve_info, args, p.transpose,
                        [&](const Array& da) { return triangle(da, p.lower, p.unit_diagonal ? 1 : 0); });
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      auto p = args.params.as<TriangularParams>();
      p.transpose = !p.transpose;
      linear_transpose(triangular_solve_info, args, make_params(p));
    }),
    .batch = BatchRule([](const BatchArgs& args) { return linear_batch(triangular_solve_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return library_form("tenon_triangular_solve", in[0], in[1].shape[in[1].rank() - 1], params.as<TriangularParams>(),
                          triangular_workspace);
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) {
      std::vector<Params> all;
      for (const bool lower : {true, false})
        for (const bool transpose : {false, true})
          all.push_back(make_params(TriangularParams{lower, transpose, false}));
      all.push_back(make_params(TriangularParams{true, true, true}));
      return system_samples(d, all);
    })};

const OpInfo solve_info{
    .name = "solve",
    .summary = "x with op(a)·x = b, by factors with pivoting",
    .params = &describe::params_ops<SolveParams>,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      return std::vector{right_sides("solve", in, context)};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext&) {
      return std::vector<Value>{each_system(in, [&](const auto* a, auto* x, std::int64_t n, std::int64_t m) {
        eliminate(a, x, n, m, params.as<SolveParams>().transpose);
      })};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      return linear_jvp(solve_info, args, args.params.as<SolveParams>().transpose, [](const Array& da) { return da; });
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      linear_transpose(solve_info, args, make_params(SolveParams{!args.params.as<SolveParams>().transpose}));
    }),
    .batch = BatchRule([](const BatchArgs& args) { return linear_batch(solve_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return library_form("tenon_solve", in[0], in[1].shape[in[1].rank() - 1],
                          {false, params.as<SolveParams>().transpose, false}, solve_workspace);
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(
        [](DType d) { return system_samples(d, {make_params(SolveParams{false}), make_params(SolveParams{true})}); })};
const bool linear_algebra_installed =
    (install_op(cholesky_info), install_op(triangular_solve_info), install_op(solve_info), true);

void share_batch(std::string_view op, Array& a, Array& b) {
  const Shape batch = matrices::broadcast_batches(op, a, b);
  a = matrices::with_batch(a, batch), b = matrices::with_batch(b, batch);
}

}  // namespace

Array cholesky(const Operand& a, const CholeskyOptions& options) {
  const SourceScope place(a.where(), "cholesky");
  const Array given = to_inexact(a), x = widened(given);
  square("cholesky", x.type());
  const Array made = bind1(cholesky_info, {}, {options.symmetrize ? matrices::symmetrized(x) : x});
  return narrowed(made, given.dtype(), given.weak());
}

Array triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options) {
  const SourceScope place(a.where(), "triangular_solve");
  const matrices::Together x = matrices::together({a, b});
  Array m = x.all[0], right = x.all[1];
  square("triangular_solve", m.type());
  if (right.rank() < 2)
    throw ShapeError(fmt::format("triangular_solve: right sides {} are no matrix.", right.type().text()),
                     "Give a vector an axis of size 1, with expand_dims(b, -1).");
  if (options.conjugate_a) m = conj(m);
  // x·op(a) = b is op(a)ᵀ·xᵀ = bᵀ.
  if (!options.left_side) right = transposed(right);
  if (right.shape()[right.rank() - 2] != m.shape()[m.rank() - 1] && right.shape().known() && m.shape().known())
    throw ShapeError(fmt::format("triangular_solve: {} and right sides {} on the {}: sizes {} and {} differ.",
                                 a->type().text(), b->type().text(), options.left_side ? "left" : "right",
                                 m.shape()[m.rank() - 1].text(), right.shape()[right.rank() - 2].text()),
                     options.left_side ? "b has as many rows as the matrix."
                                       : "b has as many columns as the matrix; .left_side = true solves op(a)·x = b.");
  share_batch("triangular_solve", m, right);
  const Array made =
      triangular_of(m, right, {options.lower, options.transpose_a != !options.left_side, options.unit_diagonal});
  return x.narrow(options.left_side ? made : transposed(made));
}

const OpInfo& solve_op() { return solve_info; }

Array solve(const Operand& a, const Operand& b) {
  const SourceScope place(a.where(), "solve");
  const matrices::Together x = matrices::together({a, b});
  Array m = x.all[0];
  square("solve", m.type());
  const matrices::RightSides sides = matrices::right_sides("solve", a, b, x);
  Array right = sides.columns;
  share_batch("solve", m, right);
  return x.narrow(sides.shaped(bind1(solve_info, make_params(SolveParams{false}), {m, right})));
}

Array inv(const Operand& a) {
  const SourceScope place(a.where(), "inv");
  const Array given = to_inexact(a), m = widened(given);
  square("inv", m.type());
  const Array one = convert(matrices::on_diagonal(m), m.dtype());
  return narrowed(bind1(solve_info, make_params(SolveParams{false}), {m, one}), given.dtype(), given.weak());
}

Arrays factors_to_solve(const Array& a) {
  const Arrays made = lu_factors(a);
  return {made[0], made[2], argsort(made[2])};
}
Array solve_by_factors(const Params& params, const Arrays& factors, const Array& b) {
  const bool transpose = params.as<SolveParams>().transpose;
  const auto rows = [](const Array& x, const Array& order) {
    return take_along_axis(x, broadcast_to(expand_dims(order, -1), x.shape()), -2);
  };
  const TriangularParams lower{true, transpose, true}, upper{false, transpose, false};
  const Array& lu = factors[0];
  if (transpose) return rows(triangular_of(lu, triangular_of(lu, b, upper), lower), factors[2]);
  return triangular_of(lu, triangular_of(lu, rows(b, factors[1]), lower), upper);
}

}  // namespace tenon
