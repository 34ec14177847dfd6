// Factors that no iteration finds: what a worker makes once, and then calls for each matrix.
#pragma once

#include <numeric>

#include "tenon/runtime/linear_algebra/lapack.h"
#include "tenon/runtime/linear_algebra/lapack/memory.h"

namespace tenon::lapack {

// Array `which` of those of a call, from the part of matrix i on.
template <class T>
T* part(void* const* arrays, std::size_t which, Count i, Count size) {
  return static_cast<T*>(arrays[which]) + i * size;
}

// L·U = a of its rows in another order.
template <class T>
class Lu {
 public:
  explicit Lu(const TenonLapack& of)
      : rows_(static_cast<Size>(of.rows)),
        columns_(static_cast<Size>(of.columns)),
        a_(of.rows * of.columns),
        pivots_(std::min(of.rows, of.columns)) {}

  void operator()(Count i, void* const* arrays) const {
    const Count matrix = Count(rows_) * columns_, steps = std::min(rows_, columns_);
    const T* const a = part<const T>(arrays, 0, i, matrix);
    T* const lu = part<T>(arrays, 1, i, matrix);
    auto* const exchanged = part<std::int32_t>(arrays, 2, i, steps);
    auto* const order = part<std::int32_t>(arrays, 3, i, rows_);
    std::iota(order, order + rows_, 0);
    std::iota(exchanged, exchanged + steps, 0);
    if (!all_finite(a, matrix)) return fill_nan(lu, matrix);
    transpose(a, rows_, columns_, a_.get());
    getrf(rows_, columns_, a_.get(), pivots_.get());
    transpose(a_.get(), columns_, rows_, lu);
    for (Count k = 0; k < steps; ++k) {  // where numbers overflow LAPACK may name any row
      exchanged[k] = static_cast<std::int32_t>(std::clamp<Count>(pivots_.get()[k] - 1, k, rows_ - 1));
      std::swap(order[k], order[exchanged[k]]);
    }
  }

 private:
  Size rows_, columns_;
  Block<T> a_;
  Block<Size> pivots_;
};

// R and reflections, of the columns as they stand or with the longest of what is left first.
template <class T>
class Qr {
 public:
  explicit Qr(const TenonLapack& of)
      : rows_(static_cast<Size>(of.rows)),
        columns_(static_cast<Size>(of.columns)),
        pivoting_(of.vectors != 0),
        a_(of.rows * of.columns),
        order_(pivoting_ ? of.columns : 0),
        working_([&](const Work<T>& m) { call(nullptr, nullptr, m); }, 2 * of.columns, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count matrix = Count(rows_) * columns_, steps = std::min(rows_, columns_);
    const T* const a = part<const T>(arrays, 0, i, matrix);
    T* const h = part<T>(arrays, 1, i, matrix);
    T* const taus = part<T>(arrays, 2, i, steps);
    auto* const order = pivoting_ ? part<std::int32_t>(arrays, 3, i, columns_) : nullptr;
    if (pivoting_) std::iota(order, order + columns_, 0);
    if (!all_finite(a, matrix)) return fill_nan(h, matrix), fill_nan(taus, steps);
    transpose(a, rows_, columns_, a_.get());
    if (pivoting_) std::fill_n(order_.get(), columns_, 0);
    call(a_.get(), taus, working_());
    transpose(a_.get(), columns_, rows_, h);
    for (Count k = 0; pivoting_ && k < columns_; ++k) order[k] = static_cast<std::int32_t>(order_.get()[k] - 1);
  }

 private:
  Size call(T* a, T* taus, const Work<T>& m) const {
    return pivoting_ ? geqp3(rows_, columns_, a, order_.get(), taus, m) : geqrf(rows_, columns_, a, taus, m);
  }

  Size rows_, columns_;
  bool pivoting_;
  Block<T> a_;
  Block<Size> order_;
  Working<T> working_;
};

// The first columns of a product of reflections.
template <class T>
class Reflections {
 public:
  explicit Reflections(const TenonLapack& of)
      : rows_(static_cast<Size>(of.rows)),
        columns_(static_cast<Size>(of.columns)),
        count_(static_cast<Size>(of.others)),
        q_(of.rows * of.columns),
        working_([&](const Work<T>& m) { orgqr(rows_, columns_, count_, nullptr, nullptr, m); }, 0, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count matrix = Count(rows_) * columns_;
    const T* const h = part<const T>(arrays, 0, i, matrix);
    const T* const taus = part<const T>(arrays, 1, i, count_);
    T* const q = part<T>(arrays, 2, i, matrix);
    if (!all_finite(h, matrix) || !all_finite(taus, count_)) return fill_nan(q, matrix);
    transpose(h, rows_, columns_, q_.get());
    orgqr(rows_, columns_, count_, q_.get(), taus, working_());
    transpose(q_.get(), columns_, rows_, q);
  }

 private:
  Size rows_, columns_, count_;
  Block<T> q_;
  Working<T> working_;
};

// qᴴ·a·q, which is 0 below the diagonal under the main one.
template <class T>
class Hessenberg {
 public:
  explicit Hessenberg(const TenonLapack& of)
      : n_(static_cast<Size>(of.rows)), working_([&](const Work<T>& m) { gehrd(n_, nullptr, nullptr, m); }, 0, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count n = n_, matrix = n * n;
    const T* const a = part<const T>(arrays, 0, i, matrix);
    T* const h = part<T>(arrays, 1, i, matrix);
    T* const taus = part<T>(arrays, 2, i, n - 1);
    if (!all_finite(a, matrix)) return fill_nan(h, matrix), fill_nan(taus, n - 1);
    transpose(a, n, n, h);
    gehrd(n_, h, taus, working_());
    transpose_in_place(h, n);
  }

 private:
  Size n_;
  Working<T> working_;
};

// The same of a Hermitian matrix, of which the lower triangle counts: real, and 0 above the diagonal over the main one
// too.
template <class T>
class Tridiagonal {
 public:
  explicit Tridiagonal(const TenonLapack& of)
      : n_(static_cast<Size>(of.rows)),
        working_([&](const Work<T>& m) { hetrd(n_, nullptr, nullptr, nullptr, nullptr, m); }, 0, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count n = n_, matrix = n * n;
    const T* const a = part<const T>(arrays, 0, i, matrix);
    T* const form = part<T>(arrays, 1, i, matrix);
    auto* const d = part<Part<T>>(arrays, 2, i, n);
    auto* const e = part<Part<T>>(arrays, 3, i, n - 1);
    T* const taus = part<T>(arrays, 4, i, n - 1);
    if (!all_finite(a, matrix))
      return fill_nan(form, matrix), fill_nan(d, n), fill_nan(e, n - 1), fill_nan(taus, n - 1);
    transpose(a, n, n, form);
    hetrd(n_, form, d, e, taus, working_());
    transpose_in_place(form, n);
  }

 private:
  Size n_;
  Working<T> working_;
};

// The shortest x with the least |a·x - b|, by singular values.
template <class T>
class LeastSquares {
 public:
  explicit LeastSquares(const TenonLapack& of)
      : rows_(static_cast<Size>(of.rows)),
        columns_(static_cast<Size>(of.columns)),
        right_sides_(static_cast<Size>(std::max<Count>(1, of.others))),  // LAPACK wants one
        sides_(of.others),
        longest_(std::max(rows_, columns_)),
        a_(of.rows * of.columns),
        x_(Count(longest_) * right_sides_),
        values_(std::min(of.rows, of.columns)),
        working_([&](const Work<T>& m) { call(Part<T>(), m); }, 0, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count matrix = Count(rows_) * columns_, sides = sides_, steps = std::min(rows_, columns_);
    const T* const a = part<const T>(arrays, 0, i, matrix);
    const T* const b = part<const T>(arrays, 1, i, rows_ * sides);
    const Part<T> bound = *part<const Part<T>>(arrays, 2, i, 1);
    T* const x = part<T>(arrays, 3, i, columns_ * sides);
    auto* const s = part<Part<T>>(arrays, 4, i, steps);
    bool found = all_finite(a, matrix) && all_finite(b, rows_ * sides) && std::isfinite(bound);
    if (found) {
      transpose(a, rows_, columns_, a_.get());
      std::fill_n(x_.get(), Count(longest_) * right_sides_, T());
      for (Count row = 0; row < rows_; ++row)
        for (Count side = 0; side < sides; ++side) x_.get()[side * longest_ + row] = b[row * sides + side];
      found = call(bound, working_()) == 0;
    }
    if (!found) return fill_nan(x, columns_ * sides), fill_nan(s, steps);
    std::copy_n(values_.get(), steps, s);
    for (Count row = 0; row < columns_; ++row)
      for (Count side = 0; side < sides; ++side) x[row * sides + side] = x_.get()[side * longest_ + row];
  }

 private:
  Size call(Part<T> bound, const Work<T>& m) const {
    Size rank = 0;
    return gelsd(rows_, columns_, right_sides_, a_.get(), x_.get(), longest_, values_.get(), bound, &rank, m);
  }

  Size rows_, columns_, right_sides_;
  Count sides_;
  Size longest_;
  Block<T> a_, x_;
  Block<Part<T>> values_;
  Working<T> working_;
};

}  // namespace tenon::lapack
