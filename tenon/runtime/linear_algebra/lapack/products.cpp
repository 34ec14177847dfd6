// The products that LAPACK spends its time on, by the names that it calls them by: each cut into parts for Tenon's
// threads, which OpenBLAS then does. Inside a parallel body, and where they are small, in one.
#include <algorithm>

#include "tenon/runtime/linear_algebra/lapack/cblas.h"
#include "tenon/runtime/linear_algebra/lapack/memory.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon::lapack {
namespace {

// Multiplications, and elements of a matrix that is read once, that are worth a second worker.
constexpr Count worth_of_product = Count(1) << 20, worth_of_reading = Count(1) << 16;

bool alone(Count work, Count worth) { return work < worth || threads() == 1 || tenon_inside_parallel(); }

template <class T>
struct Product {
  char op_a, op_b;
  Size m, n, k;
  T alpha;
  const T* a;
  Size a_column;
  const T* b;
  Size b_column;
  T beta;
  T* c;
  Size c_column;

  void run() const {
    gemm(transposition(op_a), transposition(op_b), m, n, k, alpha, a, a_column, b, b_column, beta, c, c_column);
  }
  Product rows(Count begin, Count end) const {
    Product part = *this;
    part.m = static_cast<Size>(end - begin);
    part.a += transposition(op_a) == transposition('N') ? begin : begin * a_column;
    part.c += begin;
    return part;
  }
  Product columns(Count begin, Count end) const {
    Product part = *this;
    part.n = static_cast<Size>(end - begin);
    part.b += transposition(op_b) == transposition('N') ? begin * b_column : begin;
    part.c += begin * c_column;
    return part;
  }
};
template <class T>
void multiply(const Product<T>& p) {
  constexpr Count grain = 16;
  if (alone(Count(p.m) * p.n * p.k, worth_of_product)) return p.run();
  if (p.n >= p.m)
    each_range(p.n, grain, [&](Count begin, Count end) { p.columns(begin, end).run(); });
  else
    each_range(p.m, grain, [&](Count begin, Count end) { p.rows(begin, end).run(); });
}

template <class T>
void multiply_vector(char op, Size m, Size n, T alpha, const T* a, Size a_column, const T* x, Size x_step, T beta, T* y,
                     Size y_step) {
  const int letter = transposition(op);
  if (y_step < 0 || alone(Count(m) * n, worth_of_reading))
    return gemv(letter, m, n, alpha, a, a_column, x, x_step, beta, y, y_step);
  constexpr Count grain = 32;
  if (letter == transposition('N'))
    each_range(m, grain, [&](Count begin, Count end) {
      gemv(letter, static_cast<Size>(end - begin), n, alpha, a + begin, a_column, x, x_step, beta, y + begin * y_step,
           y_step);
    });
  else
    each_range(n, grain, [&](Count begin, Count end) {
      gemv(letter, m, static_cast<Size>(end - begin), alpha, a + begin * a_column, a_column, x, x_step, beta,
           y + begin * y_step, y_step);
    });
}

// The lower triangle of n rows in panels of columns, whose parts below the diagonal are done in strips that stay in the
// cache, so that each is read from memory once: for what it is, and for its adjoint. A worker has sums of its own.
template <class T>
void multiply_hermitian_panels(Size n, const T* a, Count a_column, const T* x, T* y, Count begin, Count end) {
  constexpr Count strip = 256;
  const auto size = [](Count count) { return static_cast<Size>(count); };
  hemv(triangle_of('L'), size(end - begin), T(1), a + begin * (a_column + 1), size(a_column), x + begin, 1, T(1),
       y + begin, 1);
  for (Count row = end; row < n; row += strip) {
    const Count rows = std::min(strip, n - row);
    const T* const part = a + begin * a_column + row;
    gemv(transposition('N'), size(rows), size(end - begin), T(1), part, size(a_column), x + begin, 1, T(1), y + row, 1);
    gemv(transposition('C'), size(rows), size(end - begin), T(1), part, size(a_column), x + row, 1, T(1), y + begin, 1);
  }
}
template <class T>
void multiply_hermitian(char triangle, Size n, T alpha, const T* a, Size a_column, const T* x, Size x_step, T beta,
                        T* y, Size y_step) {
  constexpr Count panel = 64;
  const Count panels = n / panel;
  if (triangle_of(triangle) != triangle_of('L') || x_step != 1 || y_step < 0 || panels < 2 ||
      alone(Count(n) * n / 2, worth_of_reading))
    return hemv(triangle_of(triangle), n, alpha, a, a_column, x, x_step, beta, y, y_step);
  const Count workers = std::min<Count>(threads(), panels);
  const Block<T> sums(workers * n);
  std::fill_n(sums.get(), workers * n, T());
  // A worker takes panels from both ends, so that all have as much.
  each_range(workers, 1, [&](Count first, Count last) {
    for (Count worker = first; worker < last; ++worker)
      for (Count i = 0; i < panels; ++i) {
        if (std::min(i % (2 * workers), 2 * workers - 1 - i % (2 * workers)) != worker) continue;
        multiply_hermitian_panels(n, a, a_column, x, sums.get() + worker * n, i * panel,
                                  i + 1 == panels ? n : (i + 1) * panel);
      }
  });
  for (Count i = 0; i < n; ++i) {
    T sum{};
    for (Count worker = 0; worker < workers; ++worker) sum += sums.get()[worker * n + i];
    T& to = y[i * y_step];
    to = beta == T() ? alpha * sum : alpha * sum + beta * to;
  }
}

// c += alpha·a·bᴴ + conj(alpha)·b·aᴴ of a lower triangle: panels of columns, each a triangle and two products.
template <class T>
void add_products(char triangle, char op, Size n, Size k, T alpha, const T* a, Size a_column, const T* b, Size b_column,
                  Part<T> beta, T* c, Size c_column) {
  constexpr Count panel = 64;
  const Count panels = n / panel;
  if (triangle_of(triangle) != triangle_of('L') || transposition(op) != transposition('N') || panels < 2 ||
      alone(Count(n) * n * k / 2, worth_of_product))
    return her2k(triangle_of(triangle), transposition(op), n, k, alpha, a, a_column, b, b_column, beta, c, c_column);
  T other = alpha;
  if constexpr (is_number<T>) other = std::conj(alpha);
  const auto run = [&](Count i) {
    const Count begin = i * panel, end = i + 1 == panels ? n : begin + panel;
    const auto width = static_cast<Size>(end - begin), below = static_cast<Size>(n - end);
    her2k(triangle_of('L'), transposition('N'), width, k, alpha, a + begin, a_column, b + begin, b_column, beta,
          c + begin * (Count(c_column) + 1), c_column);
    if (below == 0) return;
    T* const to = c + begin * c_column + end;
    gemm(transposition('N'), transposition('C'), below, width, k, alpha, a + end, a_column, b + begin, b_column,
         T(beta), to, c_column);
    gemm(transposition('N'), transposition('C'), below, width, k, other, b + end, b_column, a + begin, a_column, T(1),
         to, c_column);
  };
  // The first panel, which is the longest, beside the last.
  each_range((panels + 1) / 2, 1, [&](Count begin, Count end) {
    for (Count i = begin; i < end; ++i) {
      run(i);
      if (panels - 1 - i != i) run(panels - 1 - i);
    }
  });
}

template <class T>
void multiply_triangle(char side, char triangle, char op, char diagonal, Size m, Size n, T alpha, const T* a,
                       Size a_column, T* b, Size b_column) {
  const bool left = side_of(side) == side_of('L');
  const auto run = [&](Count begin, Count end, bool columns) {
    trmm(side_of(side), triangle_of(triangle), transposition(op), diagonal_of(diagonal),
         columns ? m : static_cast<Size>(end - begin), columns ? static_cast<Size>(end - begin) : n, alpha, a, a_column,
         b + (columns ? begin * b_column : begin), b_column);
  };
  if (alone(Count(m) * n * (left ? m : n) / 2, worth_of_product)) return run(0, n, true);
  each_range(left ? n : m, 16, [&](Count begin, Count end) { run(begin, end, left); });
}

}  // namespace
}  // namespace tenon::lapack

#define TENON_PRODUCTS(T, R, gemm_, gemv_, hemv_, her2k_, trmm_)                                                  \
  void gemm_(const char* op_a, const char* op_b, const Size* m, const Size* n, const Size* k, const T* alpha,     \
             const T* a, const Size* a_column, const T* b, const Size* b_column, const T* beta, T* c,             \
             const Size* c_column, Length, Length) {                                                              \
    multiply<T>({*op_a, *op_b, *m, *n, *k, *alpha, a, *a_column, b, *b_column, *beta, c, *c_column});             \
  }                                                                                                               \
  void gemv_(const char* op, const Size* m, const Size* n, const T* alpha, const T* a, const Size* a_column,      \
             const T* x, const Size* x_step, const T* beta, T* y, const Size* y_step, Length) {                   \
    multiply_vector<T>(*op, *m, *n, *alpha, a, *a_column, x, *x_step, *beta, y, *y_step);                         \
  }                                                                                                               \
  void hemv_(const char* triangle, const Size* n, const T* alpha, const T* a, const Size* a_column, const T* x,   \
             const Size* x_step, const T* beta, T* y, const Size* y_step, Length) {                               \
    multiply_hermitian<T>(*triangle, *n, *alpha, a, *a_column, x, *x_step, *beta, y, *y_step);                    \
  }                                                                                                               \
  void her2k_(const char* triangle, const char* op, const Size* n, const Size* k, const T* alpha, const T* a,     \
              const Size* a_column, const T* b, const Size* b_column, const R* beta, T* c, const Size* c_column,  \
              Length, Length) {                                                                                   \
    add_products<T>(*triangle, *op, *n, *k, *alpha, a, *a_column, b, *b_column, *beta, c, *c_column);             \
  }                                                                                                               \
  void trmm_(const char* side, const char* triangle, const char* op, const char* diagonal, const Size* m,         \
             const Size* n, const T* alpha, const T* a, const Size* a_column, T* b, const Size* b_column, Length, \
             Length, Length, Length) {                                                                            \
    multiply_triangle<T>(*side, *triangle, *op, *diagonal, *m, *n, *alpha, a, *a_column, b, *b_column);           \
  }

extern "C" {
using namespace tenon::lapack;
TENON_PRODUCTS(float, float, sgemm_, sgemv_, ssymv_, ssyr2k_, strmm_)
TENON_PRODUCTS(double, double, dgemm_, dgemv_, dsymv_, dsyr2k_, dtrmm_)
TENON_PRODUCTS(std::complex<float>, float, cgemm_, cgemv_, chemv_, cher2k_, ctrmm_)
TENON_PRODUCTS(std::complex<double>, double, zgemm_, zgemv_, zhemv_, zher2k_, ztrmm_)
}
