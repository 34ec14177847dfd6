// Factors of matrices and linear systems, for generated code, hence the C names.
#pragma once

#include <cstdint>

extern "C" {

// `batch` square matrices of n rows, row-major and one behind the other, with as many right sides of n × columns.
struct TenonMatrices {
  std::int64_t dtype;  // the number of a tenon::DType: f32, f64, c64 or c128
  std::int64_t batch, n, columns;
  std::int64_t lower, transpose, unit_diagonal;
  std::int64_t parts;  // of the batch: as many workers have a workspace of their own
  // The sizes were not known when the code was made: as many as are worth it, and the workspace is null.
  static constexpr std::int64_t any_parts = -1;
};

// L of the lower triangle of a; NaN where there is none.
std::int64_t tenon_cholesky(const TenonMatrices* m, const void* a, void* l, void* workspace);
// x with op(a)·x = b, of one triangle of a.
std::int64_t tenon_triangular_solve(const TenonMatrices* m, const void* a, const void* b, void* x, void* workspace);
// x with op(a)·x = b.
std::int64_t tenon_solve(const TenonMatrices* m, const void* a, const void* b, void* x, void* workspace);
}

namespace tenon {

// How many parts of a batch are worth a worker each.
std::int64_t matrix_parts(std::int64_t batch, std::int64_t n, std::int64_t columns);
// Bytes that each of them works in.
std::int64_t cholesky_workspace(const TenonMatrices& m);
std::int64_t triangular_workspace(const TenonMatrices& m);
std::int64_t solve_workspace(const TenonMatrices& m);

}  // namespace tenon
