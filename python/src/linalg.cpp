// Eigenvalues, singular values and what follows from them.
#include "tenon/api/linalg.h"

#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"

namespace tenon::python {
namespace {

struct OfOne {
  const char* name;
  Array (*f)(const Operand& a);
};
constexpr OfOne of_one[] = {{"eigvals", linalg::eigvals}, {"svdvals", linalg::svdvals}, {"sqrtm", linalg::sqrtm}};

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

}  // namespace

void add_linalg(nb::module_& module) {
  for (const OfOne& f : of_one)
    module.def(f.name, [&f](ArrayLike x) {
      const Array a = x.array(f.name);
      return call_op(f.name, [&] { return f.f(op(a)); });
    });
  add_eigenvalues(module);
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
