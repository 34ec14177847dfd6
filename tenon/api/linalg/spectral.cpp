// Eigenvalues and singular values.
#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/factors/factors.h"

namespace tenon::linalg {

static Taken hermitian_of(std::string_view name, const Operand& given, const EighOptions& options) {
  Taken made = square_of(name, given);
  if (options.symmetrize)
    made.a = matrices::symmetrized(made.a);
  else if (!options.lower)
    made.a = matrices::adjoint(made.a);
  return made;
}

Eigh eigh(const Operand& a, const EighOptions& options) {
  const SourceScope place(a.where(), "eigh");
  const Taken x = hermitian_of("eigh", a, options);
  const Arrays made = hermitian_spectrum(x.a, true);
  return {x.narrow(made[0]), x.narrow(made[1])};
}
Array eigvalsh(const Operand& a, const EighOptions& options) {
  const SourceScope place(a.where(), "eigvalsh");
  const Taken x = hermitian_of("eigvalsh", a, options);
  return x.narrow(hermitian_spectrum(x.a, false)[0]);
}

Eig eig(const Operand& a) {
  const SourceScope place(a.where(), "eig");
  const Taken x = square_of("eig", a);
  const Arrays made = general_spectrum(x.a, false, true);
  return {x.narrow(made[0]), x.narrow(made[1])};
}
EigOfBothSides eig_of_both_sides(const Operand& a) {
  const SourceScope place(a.where(), "eig_of_both_sides");
  const Taken x = square_of("eig_of_both_sides", a);
  const Arrays made = general_spectrum(x.a, true, true);
  return {x.narrow(made[0]), x.narrow(made[1]), x.narrow(made[2])};
}
Array eigvals(const Operand& a) {
  const SourceScope place(a.where(), "eigvals");
  const Taken x = square_of("eigvals", a);
  return x.narrow(general_spectrum(x.a, false, false)[0]);
}

Svd svd(const Operand& a, const SvdOptions& options) {
  const SourceScope place(a.where(), "svd");
  const Taken x = matrix_of("svd", a);
  const Arrays made = singular_spectrum(x.a, true, options.full_matrices);
  return {x.narrow(made[1]), x.narrow(made[0]), x.narrow(made[2])};
}
Array svdvals(const Operand& a) {
  const SourceScope place(a.where(), "svdvals");
  const Taken x = matrix_of("svdvals", a);
  return x.narrow(singular_spectrum(x.a, false, false)[0]);
}

Schur schur(const Operand& a, const SchurOptions& options) {
  const SourceScope place(a.where(), "schur");
  Taken x = square_of("schur", a);
  if (options.complex && !is_complex(x.a.dtype())) x.a = convert(x.a, complex_of(x.a.dtype()));
  const Arrays made = schur_form(x.a, true);
  return {x.narrow(made[0]), x.narrow(made[1])};
}

}  // namespace tenon::linalg
