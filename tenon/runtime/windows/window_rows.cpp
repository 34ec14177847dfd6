// Rows whose elements stand side by side go by vectors of floats, for each of the processors that there are.
#include "tenon/runtime/windows/window_rows.h"

#include "tenon/runtime/linear_algebra/product_kernels.h"

#define TENON_WINDOW_INLINE __attribute__((always_inline)) inline
#define TENON_WINDOW_AVX512 target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#define TENON_WINDOW_AVX2 target("avx2,fma")

namespace tenon {
namespace {

using Length = std::int64_t;

template <class T>
T wrapped_sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

template <class T, int Bytes>
struct WindowVectors {
  typedef T Of __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
};
// Elements of a vector, 0 where the loops go one by one.
template <class T, int Bytes>
constexpr Length lanes_of = std::is_floating_point_v<T> ? Bytes / static_cast<Length>(sizeof(T)) : 0;

template <class T, int Bytes>
using VectorsOf = typename WindowVectors<std::conditional_t<std::is_floating_point_v<T>, T, float>, Bytes>::Of;
template <class T, int Bytes>
using PlaceVectorsOf = typename WindowVectors<WindowPlaceOf<T>, Bytes>::Of;

struct AddRow {
  template <int Bytes, class T>
  static TENON_WINDOW_INLINE void run(Length stride, Length count, const T* y, T* made) {
    Length i = 0;
    if constexpr (constexpr Length lanes = lanes_of<T, Bytes>; lanes > 0) {
      using V = VectorsOf<T, Bytes>;
      for (; stride == 1 && i + lanes <= count; i += lanes)
        *reinterpret_cast<V*>(made + i) += *reinterpret_cast<const V*>(y + i);
    }
    for (; i < count; ++i) made[i * stride] = wrapped_sum(made[i * stride], y[i]);
  }
};

template <bool largest>
struct SelectRow {
  template <int Bytes, class T>
  static TENON_WINDOW_INLINE void run(Length stride, Length count, const T* x, WindowPlaceOf<T> number, T* best,
                                      WindowPlaceOf<T>* which) {
    Length i = 0;
    if constexpr (constexpr Length lanes = lanes_of<T, Bytes>; lanes > 0) {
      using V = VectorsOf<T, Bytes>;
      using P = PlaceVectorsOf<T, Bytes>;
      for (; stride == 1 && i + lanes <= count; i += lanes) {
        const V value = *reinterpret_cast<const V*>(x + i), before = *reinterpret_cast<const V*>(best + i);
        const P at = *reinterpret_cast<const P*>(which + i);
        const auto keep = (at >= 0) & (largest ? before >= value : before <= value);
        *reinterpret_cast<V*>(best + i) = keep ? before : value;
        *reinterpret_cast<P*>(which + i) = keep ? at : P{} + number;
      }
    }
    for (; i < count; ++i) {
      const T value = x[i * stride];
      const bool keep = (which[i] >= 0) & (largest ? best[i] >= value : best[i] <= value);
      best[i] = keep ? best[i] : value;
      which[i] = keep ? which[i] : number;
    }
  }
};

struct AddSelectedRow {
  template <int Bytes, class T>
  static TENON_WINDOW_INLINE void run(Length stride, Length count, const T* y, const WindowPlaceOf<T>* which,
                                      WindowPlaceOf<T> number, T* made) {
    Length i = 0;
    if constexpr (constexpr Length lanes = lanes_of<T, Bytes>; lanes > 0) {
      using V = VectorsOf<T, Bytes>;
      using P = PlaceVectorsOf<T, Bytes>;
      for (; stride == 1 && i + lanes <= count; i += lanes) {
        const V value = *reinterpret_cast<const V*>(y + i);
        *reinterpret_cast<V*>(made + i) += *reinterpret_cast<const P*>(which + i) == P{} + number ? value : V{};
      }
    }
    for (; i < count; ++i)
      made[i * stride] = wrapped_sum(made[i * stride], which[i] == number ? y[i] : T(0));
  }
};

template <class Row, class... Args>
__attribute__((TENON_WINDOW_AVX512)) void row_with_avx512(Length stride, Length count, Args... args) {
  Row::template run<64>(stride, count, args...);
}
template <class Row, class... Args>
__attribute__((TENON_WINDOW_AVX2)) void row_with_avx2(Length stride, Length count, Args... args) {
  Row::template run<32>(stride, count, args...);
}
template <class Row, class... Args>
void row_with_vectors(Length stride, Length count, Args... args) {
  switch (vector_unit()) {
    case VectorUnit::avx512:
      return row_with_avx512<Row>(stride, count, args...);
    case VectorUnit::avx2:
      return row_with_avx2<Row>(stride, count, args...);
    default:
      return Row::template run<16>(stride, count, args...);
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
