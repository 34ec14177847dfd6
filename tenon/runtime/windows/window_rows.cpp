// Plain loops, of which the compiler makes vectors for each of the processors that there are.
#include "tenon/runtime/windows/window_rows.h"

#include "tenon/runtime/linear_algebra/product_kernels.h"
#include "tenon/runtime/vector_targets.h"

namespace tenon {
namespace {

using Length = std::int64_t;

template <class T>
TENON_VECTOR_INLINE T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

struct AddRow {
  template <class T>
  static TENON_VECTOR_INLINE void run(Length stride, Length count, const T* __restrict y, T* __restrict made) {
    for (Length i = 0; i < count; ++i) made[i * stride] = wrapped_sum(made[i * stride], y[i]);
  }
};

template <bool largest>
struct SelectRow {
  template <class T>
  static TENON_VECTOR_INLINE void run(Length stride, Length count, const T* __restrict x, WindowPlaceOf<T> number,
                                      T* __restrict best, WindowPlaceOf<T>* __restrict which) {
    for (Length i = 0; i < count; ++i) {
      const T value = x[i * stride], before = best[i];
      const WindowPlaceOf<T> at = which[i];
      const bool keep = (at >= 0) & (largest ? before >= value : before <= value);
      best[i] = keep ? before : value;
      which[i] = keep ? at : number;
    }
  }
};

struct AddSelectedRow {
  template <class T>
  static TENON_VECTOR_INLINE void run(Length stride, Length count, const T* __restrict y,
                                      const WindowPlaceOf<T>* __restrict which, WindowPlaceOf<T> number,
                                      T* __restrict made) {
    for (Length i = 0; i < count; ++i) {
      const T value = y[i];
      made[i * stride] = wrapped_sum(made[i * stride], which[i] == number ? value : T(0));
    }
  }
};

// The strides that there mostly are have loops of their own.
template <class Row, class... Args>
TENON_VECTOR_INLINE void row_of_stride(Length stride, Length count, Args... args) {
  if (stride == 1)
    Row::run(1, count, args...);
  else if (stride == 2)
    Row::run(2, count, args...);
  else
    Row::run(stride, count, args...);
}
template <class Row, class... Args>
__attribute__((TENON_AVX512_TARGET, optimize("O3"))) void row_with_avx512(Length stride, Length count, Args... args) {
  row_of_stride<Row>(stride, count, args...);
}
template <class Row, class... Args>
__attribute__((TENON_AVX2_TARGET, optimize("O3"))) void row_with_avx2(Length stride, Length count, Args... args) {
  row_of_stride<Row>(stride, count, args...);
}
template <class Row, class... Args>
void row_with_vectors(Length stride, Length count, Args... args) {
  switch (vector_unit()) {
    case VectorUnit::avx512:
      return row_with_avx512<Row>(stride, count, args...);
    case VectorUnit::avx2:
      return row_with_avx2<Row>(stride, count, args...);
    default:
      return row_of_stride<Row>(stride, count, args...);
  }
}

}  // namespace

template <class T>
void add_row(const T* y, T* made, Length stride, Length count) {
  row_with_vectors<AddRow>(stride, count, y, made);
}
template <class T>
void select_row(bool largest, const T* x, Length stride, WindowPlaceOf<T> number, T* best, WindowPlaceOf<T>* which,
                Length count) {
  if (largest)
    row_with_vectors<SelectRow<true>>(stride, count, x, number, best, which);
  else
    row_with_vectors<SelectRow<false>>(stride, count, x, number, best, which);
}
template <class T>
void add_selected_row(const T* y, const WindowPlaceOf<T>* which, WindowPlaceOf<T> number, T* made, Length stride,
                      Length count) {
  row_with_vectors<AddSelectedRow>(stride, count, y, which, number, made);
}

#define TENON_WINDOW_ROWS(T)                                                                            \
  template void add_row<T>(const T*, T*, Length, Length);                                               \
  template void select_row<T>(bool, const T*, Length, WindowPlaceOf<T>, T*, WindowPlaceOf<T>*, Length); \
  template void add_selected_row<T>(const T*, const WindowPlaceOf<T>*, WindowPlaceOf<T>, T*, Length, Length);
TENON_WINDOW_ROWS(float)
TENON_WINDOW_ROWS(double)
TENON_WINDOW_ROWS(std::int8_t)
TENON_WINDOW_ROWS(std::int16_t)
TENON_WINDOW_ROWS(std::int32_t)
TENON_WINDOW_ROWS(std::int64_t)
TENON_WINDOW_ROWS(std::uint8_t)
TENON_WINDOW_ROWS(std::uint16_t)
TENON_WINDOW_ROWS(std::uint32_t)
TENON_WINDOW_ROWS(std::uint64_t)
#undef TENON_WINDOW_ROWS

}  // namespace tenon
