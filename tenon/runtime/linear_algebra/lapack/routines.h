// LAPACK's routines by their names without the letter of the dtype. Matrices are column-major. Each returns `info`: 0,
// or else that there is no result. With `lwork` -1 they write the sizes of the memory that they work in and do no more.
#pragma once

#include <complex>
#include <cstddef>

namespace tenon::lapack {

using Size = int;  // Fortran's INTEGER
using Length = std::size_t;

template <class T>
struct PartOf {
  using Type = T;
};
template <class T>
struct PartOf<std::complex<T>> {
  using Type = T;
};
template <class T>
using Part = typename PartOf<T>::Type;
template <class T>
inline constexpr bool is_number = !std::is_same_v<T, Part<T>>;

// Memory that a routine works in.
template <class T>
struct Work {
  T* work;
  Size lwork;
  Part<T>* rwork;  // of complex numbers
  Size lrwork;
  Size* iwork;
  Size liwork;
};

#define TENON_LAPACK_REAL(T, hermitian, divided, implicit, eigen, form)                                               \
  extern "C" void hermitian(const char*, const char*, const Size*, T*, const Size*, T*, T*, const Size*, Size*,       \
                            const Size*, Size*, Length, Length);                                                      \
  extern "C" void divided(const char*, const Size*, const Size*, T*, const Size*, T*, T*, const Size*, T*,            \
                          const Size*, T*, const Size*, Size*, Size*, Length);                                        \
  extern "C" void implicit(const char*, const char*, const Size*, const Size*, T*, const Size*, T*, T*, const Size*,  \
                           T*, const Size*, T*, const Size*, Size*, Length, Length);                                  \
  extern "C" void eigen(const char*, const char*, const Size*, T*, const Size*, T*, T*, T*, const Size*, T*,          \
                        const Size*, T*, const Size*, Size*, Length, Length);                                         \
  extern "C" void form(const char*, const char*, void*, const Size*, T*, const Size*, Size*, T*, T*, T*, const Size*, \
                       T*, const Size*, Size*, Size*, Length, Length);                                                \
  inline Size heevd(const char* jobz, Size n, T* a, T* w, const Work<T>& m) {                                         \
    Size info = 0;                                                                                                    \
    const Size row = n > 1 ? n : 1;                                                                                   \
    hermitian(jobz, "L", &n, a, &row, w, m.work, &m.lwork, m.iwork, &m.liwork, &info, 1, 1);                          \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gesdd(const char* jobz, Size rows, Size columns, T* a, T* s, T* u, T* vh, Size vh_row,                  \
                    const Work<T>& m) {                                                                               \
    Size info = 0;                                                                                                    \
    divided(jobz, &rows, &columns, a, &rows, s, u, &rows, vh, &vh_row, m.work, &m.lwork, m.iwork, &info, 1);          \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gesvd(const char* job, Size rows, Size columns, T* a, T* s, T* u, T* vh, Size vh_row,                   \
                    const Work<T>& m) {                                                                               \
    Size info = 0;                                                                                                    \
    implicit(job, job, &rows, &columns, a, &rows, s, u, &rows, vh, &vh_row, m.work, &m.lwork, &info, 1, 1);           \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size geev(const char* left, const char* right, Size n, T* a, T* w, T* vl, T* vr, const Work<T>& m) {         \
    Size info = 0;                                                                                                    \
    eigen(left, right, &n, a, &n, w, w + n, vl, &n, vr, &n, m.work, &m.lwork, &info, 1, 1);                           \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gees(const char* jobv, Size n, T* a, T* w, T* z, const Work<T>& m) {                                    \
    Size info = 0, chosen = 0;                                                                                        \
    form(jobv, "N", nullptr, &n, a, &n, &chosen, w, w + n, z, &n, m.work, &m.lwork, nullptr, &info, 1, 1);            \
    return info;                                                                                                      \
  }

#define TENON_LAPACK_COMPLEX(T, hermitian, divided, implicit, eigen, form)                                            \
  extern "C" void hermitian(const char*, const char*, const Size*, T*, const Size*, Part<T>*, T*, const Size*,        \
                            Part<T>*, const Size*, Size*, const Size*, Size*, Length, Length);                        \
  extern "C" void divided(const char*, const Size*, const Size*, T*, const Size*, Part<T>*, T*, const Size*, T*,      \
                          const Size*, T*, const Size*, Part<T>*, Size*, Size*, Length);                              \
  extern "C" void implicit(const char*, const char*, const Size*, const Size*, T*, const Size*, Part<T>*, T*,         \
                           const Size*, T*, const Size*, T*, const Size*, Part<T>*, Size*, Length, Length);           \
  extern "C" void eigen(const char*, const char*, const Size*, T*, const Size*, T*, T*, const Size*, T*, const Size*, \
                        T*, const Size*, Part<T>*, Size*, Length, Length);                                            \
  extern "C" void form(const char*, const char*, void*, const Size*, T*, const Size*, Size*, T*, T*, const Size*, T*, \
                       const Size*, Part<T>*, Size*, Size*, Length, Length);                                          \
  inline Size heevd(const char* jobz, Size n, T* a, Part<T>* w, const Work<T>& m) {                                   \
    Size info = 0;                                                                                                    \
    const Size row = n > 1 ? n : 1;                                                                                   \
    hermitian(jobz, "L", &n, a, &row, w, m.work, &m.lwork, m.rwork, &m.lrwork, m.iwork, &m.liwork, &info, 1, 1);      \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gesdd(const char* jobz, Size rows, Size columns, T* a, Part<T>* s, T* u, T* vh, Size vh_row,            \
                    const Work<T>& m) {                                                                               \
    Size info = 0;                                                                                                    \
    divided(jobz, &rows, &columns, a, &rows, s, u, &rows, vh, &vh_row, m.work, &m.lwork, m.rwork, m.iwork, &info, 1); \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gesvd(const char* job, Size rows, Size columns, T* a, Part<T>* s, T* u, T* vh, Size vh_row,             \
                    const Work<T>& m) {                                                                               \
    Size info = 0;                                                                                                    \
    implicit(job, job, &rows, &columns, a, &rows, s, u, &rows, vh, &vh_row, m.work, &m.lwork, m.rwork, &info, 1, 1);  \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size geev(const char* left, const char* right, Size n, T* a, T* w, T* vl, T* vr, const Work<T>& m) {         \
    Size info = 0;                                                                                                    \
    eigen(left, right, &n, a, &n, w, vl, &n, vr, &n, m.work, &m.lwork, m.rwork, &info, 1, 1);                         \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gees(const char* jobv, Size n, T* a, T* w, T* z, const Work<T>& m) {                                    \
    Size info = 0, chosen = 0;                                                                                        \
    form(jobv, "N", nullptr, &n, a, &n, &chosen, w, z, &n, m.work, &m.lwork, m.rwork, nullptr, &info, 1, 1);          \
    return info;                                                                                                      \
  }

TENON_LAPACK_REAL(float, ssyevd_, sgesdd_, sgesvd_, sgeev_, sgees_)
TENON_LAPACK_REAL(double, dsyevd_, dgesdd_, dgesvd_, dgeev_, dgees_)
TENON_LAPACK_COMPLEX(std::complex<float>, cheevd_, cgesdd_, cgesvd_, cgeev_, cgees_)
TENON_LAPACK_COMPLEX(std::complex<double>, zheevd_, zgesdd_, zgesvd_, zgeev_, zgees_)

#undef TENON_LAPACK_REAL
#undef TENON_LAPACK_COMPLEX

// Those whose arguments are alike for all dtypes but for real memory of complex numbers to work in.
#define TENON_LAPACK_TRIANGLES(T, lu, qr, product, form, band)                                                       \
  extern "C" void lu(const Size*, const Size*, T*, const Size*, Size*, Size*);                                       \
  extern "C" void qr(const Size*, const Size*, T*, const Size*, T*, T*, const Size*, Size*);                         \
  extern "C" void product(const Size*, const Size*, const Size*, T*, const Size*, const T*, T*, const Size*, Size*); \
  extern "C" void form(const Size*, const Size*, const Size*, T*, const Size*, T*, T*, const Size*, Size*);          \
  extern "C" void band(const char*, const Size*, T*, const Size*, Part<T>*, Part<T>*, T*, T*, const Size*, Size*,    \
                       Length);                                                                                      \
  inline Size getrf(Size rows, Size columns, T* a, Size* pivots) {                                                   \
    Size info = 0;                                                                                                   \
    lu(&rows, &columns, a, &rows, pivots, &info);                                                                    \
    return info;                                                                                                     \
  }                                                                                                                  \
  inline Size geqrf(Size rows, Size columns, T* a, T* taus, const Work<T>& m) {                                      \
    Size info = 0;                                                                                                   \
    qr(&rows, &columns, a, &rows, taus, m.work, &m.lwork, &info);                                                    \
    return info;                                                                                                     \
  }                                                                                                                  \
  inline Size orgqr(Size rows, Size columns, Size count, T* a, const T* taus, const Work<T>& m) {                    \
    Size info = 0;                                                                                                   \
    product(&rows, &columns, &count, a, &rows, taus, m.work, &m.lwork, &info);                                       \
    return info;                                                                                                     \
  }                                                                                                                  \
  inline Size gehrd(Size n, T* a, T* taus, const Work<T>& m) {                                                       \
    Size info = 0;                                                                                                   \
    const Size first = 1;                                                                                            \
    form(&n, &first, &n, a, &n, taus, m.work, &m.lwork, &info);                                                      \
    return info;                                                                                                     \
  }                                                                                                                  \
  inline Size hetrd(Size n, T* a, Part<T>* d, Part<T>* e, T* taus, const Work<T>& m) {                               \
    Size info = 0;                                                                                                   \
    band("L", &n, a, &n, d, e, taus, m.work, &m.lwork, &info, 1);                                                    \
    return info;                                                                                                     \
  }
#define TENON_LAPACK_REAL(T, pivoted, squares)                                                                       \
  extern "C" void pivoted(const Size*, const Size*, T*, const Size*, Size*, T*, T*, const Size*, Size*);             \
  extern "C" void squares(const Size*, const Size*, const Size*, T*, const Size*, T*, const Size*, T*, const T*,     \
                          Size*, T*, const Size*, Size*, Size*);                                                     \
  inline Size geqp3(Size rows, Size columns, T* a, Size* order, T* taus, const Work<T>& m) {                         \
    Size info = 0;                                                                                                   \
    pivoted(&rows, &columns, a, &rows, order, taus, m.work, &m.lwork, &info);                                        \
    return info;                                                                                                     \
  }                                                                                                                  \
  inline Size gelsd(Size rows, Size columns, Size right_sides, T* a, T* b, Size b_rows, T* s, T bound, Size* rank,   \
                    const Work<T>& m) {                                                                              \
    Size info = 0;                                                                                                   \
    squares(&rows, &columns, &right_sides, a, &rows, b, &b_rows, s, &bound, rank, m.work, &m.lwork, m.iwork, &info); \
    return info;                                                                                                     \
  }
#define TENON_LAPACK_COMPLEX(T, pivoted, squares)                                                                     \
  extern "C" void pivoted(const Size*, const Size*, T*, const Size*, Size*, T*, T*, const Size*, Part<T>*, Size*);    \
  extern "C" void squares(const Size*, const Size*, const Size*, T*, const Size*, T*, const Size*, Part<T>*,          \
                          const Part<T>*, Size*, T*, const Size*, Part<T>*, Size*, Size*);                            \
  inline Size geqp3(Size rows, Size columns, T* a, Size* order, T* taus, const Work<T>& m) {                          \
    Size info = 0;                                                                                                    \
    pivoted(&rows, &columns, a, &rows, order, taus, m.work, &m.lwork, m.rwork, &info);                                \
    return info;                                                                                                      \
  }                                                                                                                   \
  inline Size gelsd(Size rows, Size columns, Size right_sides, T* a, T* b, Size b_rows, Part<T>* s, Part<T> bound,    \
                    Size* rank, const Work<T>& m) {                                                                   \
    Size info = 0;                                                                                                    \
    squares(&rows, &columns, &right_sides, a, &rows, b, &b_rows, s, &bound, rank, m.work, &m.lwork, m.rwork, m.iwork, \
            &info);                                                                                                   \
    return info;                                                                                                      \
  }

TENON_LAPACK_TRIANGLES(float, sgetrf_, sgeqrf_, sorgqr_, sgehrd_, ssytrd_)
TENON_LAPACK_TRIANGLES(double, dgetrf_, dgeqrf_, dorgqr_, dgehrd_, dsytrd_)
TENON_LAPACK_TRIANGLES(std::complex<float>, cgetrf_, cgeqrf_, cungqr_, cgehrd_, chetrd_)
TENON_LAPACK_TRIANGLES(std::complex<double>, zgetrf_, zgeqrf_, zungqr_, zgehrd_, zhetrd_)
TENON_LAPACK_REAL(float, sgeqp3_, sgelsd_)
TENON_LAPACK_REAL(double, dgeqp3_, dgelsd_)
TENON_LAPACK_COMPLEX(std::complex<float>, cgeqp3_, cgelsd_)
TENON_LAPACK_COMPLEX(std::complex<double>, zgeqp3_, zgelsd_)

#undef TENON_LAPACK_TRIANGLES
#undef TENON_LAPACK_REAL
#undef TENON_LAPACK_COMPLEX

}  // namespace tenon::lapack
