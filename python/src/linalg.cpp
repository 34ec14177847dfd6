// Factors of matrices and what follows from them.
#include "tenon/api/linalg.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "axes.h"
#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"

namespace tenon::python {
namespace {

struct OfOne {
  const char* name;
  Array (*f)(const Operand& a);
};
constexpr OfOne of_one[] = {
    {"det", linalg::det}, {"eigvals", linalg::eigvals}, {"svdvals", linalg::svdvals}, {"sqrtm", linalg::sqrtm}};

std::optional<Array> given(const char* name, nb::handle x) {
  return x.is_none() ? std::nullopt : std::optional(operand(name, x));
}

void add_eigenvalues(nb::module_& module) {
  module.def("eigh", [](ArrayLike x, bool lower, bool symmetrize) {
    const Array a = x.array("eigh");
    const auto [w, v] = call_op("eigh", [&] { return linalg::eigh(op(a), {lower, symmetrize}); });
    return nb::make_tuple(w, v);
  });
  module.def("eigvalsh", [](ArrayLike x, bool lower, bool symmetrize) {
    const Array a = x.array("eigvalsh");
    return call_op("eigvalsh", [&] { return linalg::eigvalsh(op(a), {lower, symmetrize}); });
  });
  module.def("eig", [](ArrayLike x) {
    const Array a = x.array("eig");
    const auto [w, v] = call_op("eig", [&] { return linalg::eig(op(a)); });
    return nb::make_tuple(w, v);
  });
  module.def("eig_of_both_sides", [](ArrayLike x) {
    const Array a = x.array("eig");
    const auto [w, left, right] = call_op("eig", [&] { return linalg::eig_of_both_sides(op(a)); });
    return nb::make_tuple(w, left, right);
  });
  module.def("schur", [](ArrayLike x, bool complex) {
    const Array a = x.array("schur");
    const auto [t, z] = call_op("schur", [&] { return linalg::schur(op(a), {complex}); });
    return nb::make_tuple(t, z);
  });
}

// The parts of a result as a tuple.
template <class F>
nb::tuple parts_of(const char* name, F f) {
  return std::apply([](const auto&... part) { return nb::make_tuple(part...); }, call_op(name, f));
}

void add_triangles(nb::module_& module) {
  module.def("lu_factor", [](ArrayLike x) {
    const Array a = x.array("lu");
    return parts_of("lu", [&] {
      const auto [factors, pivots, permutation] = linalg::lu_factor(op(a));
      return std::tuple(factors, pivots, permutation);
    });
  });
  module.def("lu", [](ArrayLike x) {
    const Array a = x.array("lu");
    return parts_of("lu", [&] {
      const auto [p, l, u] = linalg::lu(op(a));
      return std::tuple(p, l, u);
    });
  });
  module.def("lu_solve", [](ArrayLike factors, ArrayLike pivots, ArrayLike b, bool transpose, bool conjugate) {
    const Array lu = factors.array("lu_solve"), exchanged = pivots.array("lu_solve"), y = b.array("lu_solve");
    return call_op("lu_solve", [&] { return linalg::lu_solve(op(lu), op(exchanged), op(y), {transpose, conjugate}); });
  });
  module.def("lu_pivots_to_permutation", [](ArrayLike x, SizeLike rows) {
    const Array pivots = x.array("lu_pivots_to_permutation");
    return call_op("lu_pivots_to_permutation", [&] { return linalg::lu_pivots_to_permutation(op(pivots), rows.size); });
  });
  module.def("slogdet", [](ArrayLike x) {
    const Array a = x.array("slogdet");
    return parts_of("slogdet", [&] {
      const auto [sign, logabsdet] = linalg::slogdet(op(a));
      return std::tuple(sign, logabsdet);
    });
  });
  module.def("qr", [](ArrayLike x, bool full_matrices) {
    const Array a = x.array("qr");
    return parts_of("qr", [&] {
      const auto [q, r] = linalg::qr(op(a), {full_matrices});
      return std::tuple(q, r);
    });
  });
  module.def("pivoted_qr", [](ArrayLike x, bool full_matrices) {
    const Array a = x.array("qr");
    return parts_of("qr", [&] {
      const auto [q, r, permutation] = linalg::pivoted_qr(op(a), {full_matrices});
      return std::tuple(q, r, permutation);
    });
  });
  for (const auto& [name, f] : {std::pair{"geqrf", &linalg::geqrf}, std::pair{"gehrd", &linalg::gehrd}})
    module.def(name, [name, f](ArrayLike x) {
      const Array a = x.array(name);
      return parts_of(name, [&] {
        const auto [h, taus] = f(op(a));
        return std::tuple(h, taus);
      });
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
  module.def("hessenberg", [](ArrayLike x) {
    const Array a = x.array("hessenberg");
    return parts_of("hessenberg", [&] {
      const auto [h, q] = linalg::hessenberg(op(a));
      return std::tuple(h, q);
    });
  });
  module.def("tridiagonal", [](ArrayLike x, bool lower) {
    const Array a = x.array("tridiagonal");
    return parts_of("tridiagonal", [&] {
      const auto [h, diagonal, beside, taus] = linalg::tridiagonal(op(a), {lower});
      return std::tuple(h, diagonal, beside, taus);
    });
  });
}

linalg::MatrixNorm norm_named(std::string_view name) {
  using enum linalg::MatrixNorm;
  static const std::unordered_map<std::string_view, linalg::MatrixNorm> names{
      {"fro", frobenius}, {"nuc", nuclear},  {"1", one},        {"-1", minus_one},
      {"2", two},         {"-2", minus_two}, {"inf", infinity}, {"-inf", minus_infinity}};
  const auto found = names.find(name);
  if (found == names.end())
    throw nb::value_error(fmt::format("norm: {} is no order of norms of matrices.", name).c_str());
  return found->second;
}

void add_norms(nb::module_& module) {
  module.def("vector_norm", [](ArrayLike x, double ord, nb::handle axis, bool keepdims) {
    const Array a = x.array("norm");
    const Axes axes = axes_from(axis, keepdims);
    return call_op("norm", [&] { return linalg::vector_norm(op(a), ord, axes); });
  });
  module.def("matrix_norm", [](ArrayLike x, const char* kind, std::int64_t rows, std::int64_t columns, bool keepdims) {
    const Array a = x.array("norm");
    const linalg::MatrixNorm which = norm_named(kind);
    return call_op("norm", [&] { return linalg::matrix_norm(op(a), which, {rows, columns, keepdims}); });
  });
  module.def("condition_number", [](ArrayLike x, const char* kind) {
    const Array a = x.array("cond");
    const linalg::MatrixNorm which = norm_named(kind);
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
  for (const OfOne& f : of_one)
    module.def(f.name, [&f](ArrayLike x) {
      const Array a = x.array(f.name);
      return call_op(f.name, [&] { return f.f(op(a)); });
    });
  add_eigenvalues(module);
  add_triangles(module);
  add_norms(module);
  module.def("svd", [](ArrayLike x, bool full_matrices) {
    const Array a = x.array("svd");
    const auto [u, s, vh] = call_op("svd", [&] { return linalg::svd(op(a), {full_matrices}); });
    return nb::make_tuple(u, s, vh);
  });
  module.def("pinv", [](ArrayLike x, nb::handle rtol, bool hermitian) {
    const Array a = x.array("pinv");
    const linalg::PinvOptions options{given("pinv", rtol), hermitian};
    return call_op("pinv", [&] { return linalg::pinv(op(a), options); });
  });
  module.def("matrix_rank", [](ArrayLike x, nb::handle rtol, nb::handle tol, bool hermitian) {
    const Array a = x.array("matrix_rank");
    const linalg::RankOptions options{given("matrix_rank", rtol), given("matrix_rank", tol), hermitian};
    return call_op("matrix_rank", [&] { return linalg::matrix_rank(op(a), options); });
  });
  module.def("lstsq", [](ArrayLike x, ArrayLike y, nb::handle rcond) {
    const Array a = x.array("lstsq"), b = y.array("lstsq");
    const linalg::LeastSquaresOptions options{given("lstsq", rcond)};
    const auto [made, residuals, rank, s] = call_op("lstsq", [&] { return linalg::lstsq(op(a), op(b), options); });
    return nb::make_tuple(made, residuals, rank, s);
  });
  module.def("polar", [](ArrayLike x, bool left) {
    const Array a = x.array("polar");
    const auto [u, p] = call_op("polar", [&] { return linalg::polar(op(a), {left}); });
    return nb::make_tuple(u, p);
  });
}

}  // namespace tenon::python
