// One matrix after another of the same sizes: what a worker makes once, and then calls for each. LAPACK sees the matrix
// itself, by columns, so that signs of vectors are those that others get from it.
#pragma once

#include "tenon/runtime/linear_algebra/lapack.h"
#include "tenon/runtime/linear_algebra/lapack/memory.h"

namespace tenon::lapack {

// Eigenvalues w of the matrix that the lower triangle of a stands for, and its eigenvectors, the columns of v.
template <class T>
class Hermitian {
 public:
  explicit Hermitian(const TenonLapack& of)
      : n_(static_cast<Size>(of.rows)),
        vectors_(of.vectors != 0),
        copy_(vectors_ ? 0 : of.rows * of.rows),
        working_([&](const Work<T>& m) { heevd(job(), n_, nullptr, nullptr, m); }, 0, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count n = n_, matrix = n * n;
    const T* const a = static_cast<const T*>(arrays[0]) + i * matrix;
    auto* const w = static_cast<Part<T>*>(arrays[1]) + i * n;
    T* const v = vectors_ ? static_cast<T*>(arrays[2]) + i * matrix : copy_.get();
    bool found = true;
    for (Count row = 0; row < n; ++row) {
      found = found && all_finite(a + row * n, row);
      const auto diagonal = std::real(a[row * (n + 1)]);
      found = found && std::isfinite(diagonal);
    }
    if (found) {
      transpose(a, n, n, v);
      for (Count row = 0; row < n; ++row) v[row * (n + 1)] = std::real(v[row * (n + 1)]);
      found = heevd(job(), n_, v, w, working_()) == 0;
    }
    if (!found) fill_nan(w, n);
    if (!vectors_) return;
    found ? transpose_in_place(v, n) : fill_nan(v, matrix);
  }

 private:
  const char* job() const { return vectors_ ? "V" : "N"; }
  Size n_;
  bool vectors_;
  Block<T> copy_;
  Working<T> working_;
};

// Singular values, and the columns of U and rows of Vᴴ.
template <class T>
class Singular {
 public:
  explicit Singular(const TenonLapack& of)
      : rows_(static_cast<Size>(of.rows)),
        columns_(static_cast<Size>(of.columns)),
        values_(std::min(rows_, columns_)),
        u_columns_(of.full != 0 ? rows_ : values_),
        vh_rows_(of.full != 0 ? columns_ : values_),
        job_(of.vectors == 0 ? "N"
             : of.full != 0  ? "A"
                             : "S"),
        vectors_(of.vectors != 0),
        a_(of.rows * of.columns),
        u_(vectors_ ? of.rows * u_columns_ : 0),
        vh_(vectors_ ? of.columns * vh_rows_ : 0),
        working_(
            [&](const Work<T>& m) { gesdd(job_, rows_, columns_, nullptr, nullptr, nullptr, nullptr, vh_rows_, m); },
            rwork(), 8 * Count(values_)) {}

  void operator()(Count i, void* const* arrays) const {
    const Count matrix = Count(rows_) * columns_;
    const T* const a = static_cast<const T*>(arrays[0]) + i * matrix;
    auto* const s = static_cast<Part<T>*>(arrays[1]) + i * values_;
    const bool found = all_finite(a, matrix) && (divided(a, s) || implicit(a, s));
    if (!found) fill_nan(s, values_);
    if (!vectors_) return;
    const Count u_count = Count(rows_) * u_columns_, vh_count = Count(columns_) * vh_rows_;
    T* const u = static_cast<T*>(arrays[2]) + i * u_count;
    T* const vh = static_cast<T*>(arrays[3]) + i * vh_count;
    if (!found) return fill_nan(u, u_count), fill_nan(vh, vh_count);
    transpose(u_.get(), u_columns_, rows_, u);
    transpose(vh_.get(), columns_, vh_rows_, vh);
  }

 private:
  Count rwork() const {
    if (!is_number<T>) return 0;
    const Count k = values_, most = std::max(rows_, columns_);
    return vectors_ ? k * std::max(5 * k + 7, 2 * most + 2 * k + 1) : 7 * k;
  }
  bool divided(const T* a, Part<T>* s) const {
    transpose(a, rows_, columns_, a_.get());
    return gesdd(job_, rows_, columns_, a_.get(), s, u_.get(), vh_.get(), vh_rows_, working_()) == 0;
  }
  // Slower, and finds them where the other does not.
  bool implicit(const T* a, Part<T>* s) const {
    transpose(a, rows_, columns_, a_.get());
    const auto call = [&](const Work<T>& m) {
      return gesvd(job_, rows_, columns_, a_.get(), s, u_.get(), vh_.get(), vh_rows_, m);
    };
    return call(Working<T>(call, 5 * Count(values_), 0)()) == 0;
  }

  Size rows_, columns_, values_, u_columns_, vh_rows_;
  const char* job_;
  bool vectors_;
  Block<T> a_, u_, vh_;
  Working<T> working_;
};

// Eigenvalues of any matrix, and its eigenvectors: aᴴ·l = l·conj(w) of the left ones, a·r = r·w of the right ones.
template <class T>
class General {
 public:
  using Number = std::complex<Part<T>>;
  explicit General(const TenonLapack& of)
      : n_(static_cast<Size>(of.rows)),
        left_((of.vectors & TenonLapack::left) != 0),
        right_((of.vectors & TenonLapack::right) != 0),
        a_(of.rows * of.rows),
        w_(2 * of.rows),
        l_(left_ ? of.rows * of.rows : 0),
        r_(right_ ? of.rows * of.rows : 0),
        working_([&](const Work<T>& m) { call(nullptr, m); }, 2 * of.rows, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count n = n_, matrix = n * n;
    const T* const a = static_cast<const T*>(arrays[0]) + i * matrix;
    auto* const w = static_cast<Number*>(arrays[1]) + i * n;
    bool found = all_finite(a, matrix);
    if (found) {
      transpose(a, n, n, a_.get());
      found = call(a_.get(), working_()) == 0;
    }
    if (found)
      for (Count k = 0; k < n; ++k) w[k] = value(k);
    else
      fill_nan(w, n);
    std::size_t next = 2;
    for (const Block<T>* from : {left_ ? &l_ : nullptr, right_ ? &r_ : nullptr}) {
      if (from == nullptr) continue;
      Number* const to = static_cast<Number*>(arrays[next++]) + i * matrix;
      found ? vectors(from->get(), to) : fill_nan(to, matrix);
    }
  }

 private:
  Size call(T* a, const Work<T>& m) const {
    return geev(left_ ? "V" : "N", right_ ? "V" : "N", n_, a, w_.get(), l_.get(), r_.get(), m);
  }
  Number value(Count k) const {
    if constexpr (is_number<T>)
      return w_.get()[k];
    else
      return {w_.get()[k], w_.get()[n_ + k]};
  }
  // Of real matrices the first of a conjugate pair has its real part in its own column and the imaginary in the next.
  void vectors(const T* from, Number* to) const {
    const Count n = n_;
    if constexpr (is_number<T>) {
      transpose(from, n, n, to);
    } else {
      for (Count k = 0; k < n; ++k) {
        const bool pair = w_.get()[n + k] != 0 && k + 1 < n;
        const T* const re = from + k * n;
        for (Count row = 0; row < n; ++row) {
          to[row * n + k] = {re[row], pair ? re[n + row] : 0};
          if (pair) to[row * n + k + 1] = {re[row], -re[n + row]};
        }
        k += pair ? 1 : 0;
      }
    }
  }

  Size n_;
  bool left_, right_;
  Block<T> a_, w_, l_, r_;
  Working<T> working_;
};

// a = z·t·zᴴ.
template <class T>
class Schur {
 public:
  explicit Schur(const TenonLapack& of)
      : n_(static_cast<Size>(of.rows)),
        vectors_(of.vectors != 0),
        w_(2 * of.rows),
        working_([&](const Work<T>& m) { gees(job(), n_, nullptr, nullptr, nullptr, m); }, of.rows, 0) {}

  void operator()(Count i, void* const* arrays) const {
    const Count n = n_, matrix = n * n;
    const T* const a = static_cast<const T*>(arrays[0]) + i * matrix;
    T* const t = static_cast<T*>(arrays[1]) + i * matrix;
    T* const z = vectors_ ? static_cast<T*>(arrays[2]) + i * matrix : nullptr;
    bool found = all_finite(a, matrix);
    if (found) {
      transpose(a, n, n, t);
      found = gees(job(), n_, t, w_.get(), z, working_()) == 0;
    }
    for (T* const made : {t, z}) {
      if (made == nullptr) continue;
      found ? transpose_in_place(made, n) : fill_nan(made, matrix);
    }
  }

 private:
  const char* job() const { return vectors_ ? "V" : "N"; }
  Size n_;
  bool vectors_;
  Block<T> w_;
  Working<T> working_;
};

}  // namespace tenon::lapack
