// LAPACK's factors of matrices for generated code, hence the C names: one description, then calls.
#pragma once

#include <cstdint>

extern "C" {

// `batch` matrices of rows × columns, row-major and one behind the other.
struct TenonLapack {
  // Results, one behind the other in each array; those in brackets only where `vectors` (of `general` the bits `left`
  // and `right`) says so:
  // hermitian: of the matrix that a lower triangle stands for, the eigenvalues, ascending [and eigenvectors].
  // singular: the singular values, descending [and U, Vᴴ, of min(rows, columns) columns and rows unless `full`].
  // general: complex eigenvalues [left eigenvectors] [right eigenvectors], complex too.
  // schur: the triangular form, of real matrices with blocks of 2 rows for conjugate pairs [and its vectors].
  // lu: L below the diagonal and U, the row that each row changed places with, and the order of rows that this makes.
  // qr: R and below it the reflections, and their factors [and the order of columns, the one that has most left first].
  // reflections: behind the matrices stand the factors of reflections, `others` of them, whose vectors are the first
  // columns below their diagonal: the first columns of their product, in place of the matrix.
  // hessenberg: the form and below it the reflections, and their factors.
  // tridiagonal: of the matrix that a lower triangle stands for, the same, and the form's diagonal and the one below
  // it. least_squares: behind the matrices stand right sides of rows × right_sides, and a bound each: the shortest
  // solutions, columns × right_sides, and the singular values, of which those up to the bound times the largest count
  // as 0.
  enum Kind : std::int64_t {
    hermitian,
    singular,
    general,
    schur,
    lu,
    qr,
    reflections,
    hessenberg,
    tridiagonal,
    least_squares
  };
  enum Vectors : std::int64_t { none = 0, left = 1, right = 2 };
  std::int64_t kind;
  std::int64_t dtype;  // the number of a tenon::DType: f32, f64, c64 or c128
  std::int64_t batch, rows, columns;
  std::int64_t vectors, full, others;
};

// `arrays`: the operands, then the results. Results of a matrix with an element that is not finite, and where
// iterations do not converge, are NaN; orders of rows and columns are then those of the matrix. Less than 0 where there
// is no memory, or no library.
std::int64_t tenon_lapack(const TenonLapack* of, void* const* arrays);
}

namespace tenon {

// Throws CompileError where libtenon_lapack cannot be opened, which does it.
void require_lapack_library();

// What that library gives.
using LapackLibrary = std::int64_t (*)(const TenonLapack& of, void* const* arrays) noexcept;
inline constexpr const char* lapack_library_symbol = "tenon_lapack_library_3";

}  // namespace tenon
