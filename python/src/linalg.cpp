// Factors of matrices and what follows from them.
#include "tenon/api/linalg.h"

#include "axes.h"
#include "call.h"
#include "def_function.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"

namespace tenon::python {
namespace {

// The arrays of a result, which has nothing else.
template <class Parts>
nb::tuple as_tuple(const Parts& made) {
  constexpr std::size_t count = sizeof(Parts) / sizeof(Array);
  static_assert(sizeof(Parts) == count * sizeof(Array) && count >= 2 && count <= 4);
  if constexpr (count == 2) {
    const auto& [a, b] = made;
    return nb::make_tuple(a, b);
  } else if constexpr (count == 3) {
    const auto& [a, b, c] = made;
    return nb::make_tuple(a, b, c);
  } else {
    const auto& [a, b, c, d] = made;
    return nb::make_tuple(a, b, c, d);
  }
}
// A function of one matrix and choices that has several results; errors call it `called`.
template <class... Choices, class F>
void def_parts(nb::module_& module, const char* name, const char* called, F f) {
  module.def(name, [called, f](ArrayLike x, Choices... choices) {
    const Array a = x.array(called);
    return as_tuple(call_op(called, [&] { return f(op(a), choices...); }));
  });
}

void add_spectra(nb::module_& module) {
  def_parts<bool, bool>(module, "eigh", "eigh", [](const Operand& a, bool lower, bool symmetrize) {
    return linalg::eigh(a, {lower, symmetrize});
  });
  module.def("eigvalsh", [](ArrayLike x, bool lower, bool symmetrize) {
    const Array a = x.array("eigvalsh");
    return call_op("eigvalsh", [&] { return linalg::eigvalsh(op(a), {lower, symmetrize}); });
  });
  def_parts(module, "eig", "eig", linalg::eig);
  def_parts(module, "eig_of_both_sides", "eig", linalg::eig_of_both_sides);
  def_parts<bool>(module, "schur", "schur", [](const Operand& a, bool complex) { return linalg::schur(a, {complex}); });
  def_parts<bool>(module, "svd", "svd", [](const Operand& a, bool full) { return linalg::svd(a, {full}); });
  def_parts<bool>(module, "polar", "polar", [](const Operand& a, bool left) { return linalg::polar(a, {left}); });
}

void add_triangles(nb::module_& module) {
  def_parts(module, "lu_factor", "lu", linalg::lu_factor);
  def_parts(module, "lu", "lu", linalg::lu);
  def_parts(module, "slogdet", "slogdet", linalg::slogdet);
  def_parts<bool>(module, "qr", "qr", [](const Operand& a, bool full) { return linalg::qr(a, {full}); });
  def_parts<bool>(module, "pivoted_qr", "qr",
                  [](const Operand& a, bool full) { return linalg::pivoted_qr(a, {full}); });
  def_parts(module, "geqrf", "geqrf", linalg::geqrf);
  def_parts(module, "gehrd", "gehrd", linalg::gehrd);
  def_parts(module, "hessenberg", "hessenberg", linalg::hessenberg);
  def_parts<bool>(module, "tridiagonal", "tridiagonal",
                  [](const Operand& a, bool lower) { return linalg::tridiagonal(a, {lower}); });
  module.def("lu_solve", [](ArrayLike factors, ArrayLike pivots, ArrayLike b, bool transpose, bool conjugate) {
    const Array lu = factors.array("lu_solve"), exchanged = pivots.array("lu_solve"), y = b.array("lu_solve");
    return call_op("lu_solve", [&] { return linalg::lu_solve(op(lu), op(exchanged), op(y), {transpose, conjugate}); });
  });
  module.def("lu_pivots_to_permutation", [](ArrayLike x, SizeLike rows) {
    const Array pivots = x.array("lu_pivots_to_permutation");
    return call_op("lu_pivots_to_permutation", [&] { return linalg::lu_pivots_to_permutation(op(pivots), rows.size); });
  });
  module.def("householder_product", [](ArrayLike x, ArrayLike y) {
    const Array a = x.array("householder_product"), taus = y.array("householder_product");
    return call_op("householder_product", [&] { return linalg::householder_product(op(a), op(taus)); });
  });
  module.def("ormqr", [](ArrayLike x, ArrayLike y, ArrayLike z, bool left, bool transpose) {
    const Array a = x.array("ormqr"), taus = y.array("ormqr"), c = z.array("ormqr");
    return call_op("ormqr", [&] { return linalg::ormqr(op(a), op(taus), op(c), {left, transpose}); });
  });
  module.def("tridiagonal_solve", [](ArrayLike l, ArrayLike d, ArrayLike u, ArrayLike b) {
    const char* const name = "tridiagonal_solve";
    const Array below = l.array(name), diagonal = d.array(name), above = u.array(name), y = b.array(name);
    return call_op(name, [&] { return linalg::tridiagonal_solve(op(below), op(diagonal), op(above), op(y)); });
  });
  module.def("cholesky_update", [](ArrayLike x, ArrayLike y) {
    const Array r = x.array("cholesky_update"), w = y.array("cholesky_update");
    return call_op("cholesky_update", [&] { return linalg::cholesky_update(op(r), op(w)); });
  });
  module.def("expm", [](ArrayLike x, std::int64_t max_squarings) {
    const Array a = x.array("expm");
    return call_op("expm", [&] { return linalg::expm(op(a), {max_squarings}); });
  });
  module.def("solve_sylvester", [](ArrayLike x, ArrayLike y, ArrayLike z, bool by_eigenvectors, double tolerance) {
    const Array a = x.array("solve_sylvester"), b = y.array("solve_sylvester"), c = z.array("solve_sylvester");
    return call_op("solve_sylvester",
                   [&] { return linalg::solve_sylvester(op(a), op(b), op(c), {by_eigenvectors, tolerance}); });
  });
}

constexpr Named<linalg::MatrixNorm> norms[] = {
    {"fro", linalg::MatrixNorm::frobenius}, {"nuc", linalg::MatrixNorm::nuclear},
    {"1", linalg::MatrixNorm::one},         {"-1", linalg::MatrixNorm::minus_one},
    {"2", linalg::MatrixNorm::two},         {"-2", linalg::MatrixNorm::minus_two},
    {"inf", linalg::MatrixNorm::infinity},  {"-inf", linalg::MatrixNorm::minus_infinity}};

void add_norms(nb::module_& module) {
  module.def("vector_norm", [](ArrayLike x, double ord, nb::handle axis, bool keepdims) {
    const Array a = x.array("norm");
    const Axes axes = axes_from(axis, keepdims);
    return call_op("norm", [&] { return linalg::vector_norm(op(a), ord, axes); });
  });
  module.def("matrix_norm", [](ArrayLike x, const char* kind, std::int64_t rows, std::int64_t columns, bool keepdims) {
    const Array a = x.array("norm");
    const linalg::MatrixNorm which = by_name("norm", "ord", norms, kind);
    return call_op("norm", [&] { return linalg::matrix_norm(op(a), which, {rows, columns, keepdims}); });
  });
  module.def("condition_number", [](ArrayLike x, const char* kind) {
    const Array a = x.array("cond");
    const linalg::MatrixNorm which = by_name("norm", "ord", norms, kind);
    return call_op("cond", [&] { return linalg::cond(op(a), which); });
  });
  module.def("matrix_power", [](ArrayLike x, std::int64_t n) {
    const Array a = x.array("matrix_power");
    return call_op("matrix_power", [&] { return linalg::matrix_power(op(a), n); });
  });
  module.def("multi_dot", [](nb::sequence given) {
    Arrays factors;
    for (const nb::handle x : given) factors.push_back(operand("multi_dot", x));
    return call_op("multi_dot", [&] { return linalg::multi_dot(factors); });
  });
}

}  // namespace

void add_linalg(nb::module_& module) {
  def_function(module, "det", linalg::det);
  def_function(module, "eigvals", linalg::eigvals);
  def_function(module, "svdvals", linalg::svdvals);
  def_function(module, "sqrtm", linalg::sqrtm);
  add_spectra(module);
  add_triangles(module);
  add_norms(module);
  module.def("pinv", [](ArrayLike x, nb::handle rtol, bool hermitian) {
    const Array a = x.array("pinv");
    const linalg::PinvOptions options{operand_or_none("pinv", rtol), hermitian};
    return call_op("pinv", [&] { return linalg::pinv(op(a), options); });
  });
  module.def("matrix_rank", [](ArrayLike x, nb::handle rtol, nb::handle tol, bool hermitian) {
    const Array a = x.array("matrix_rank");
    const linalg::RankOptions options{operand_or_none("matrix_rank", rtol), operand_or_none("matrix_rank", tol),
                                      hermitian};
    return call_op("matrix_rank", [&] { return linalg::matrix_rank(op(a), options); });
  });
  module.def("lstsq", [](ArrayLike x, ArrayLike y, nb::handle rcond) {
    const Array a = x.array("lstsq"), b = y.array("lstsq");
    const linalg::LeastSquaresOptions options{operand_or_none("lstsq", rcond)};
    return as_tuple(call_op("lstsq", [&] { return linalg::lstsq(op(a), op(b), options); }));
  });
}

}  // namespace tenon::python
