#include "tenon/runtime/products.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/runtime/parallel_for.h"
#include "tenon/runtime/product_kernels.h"

namespace tenon {

void* product_scratch(std::size_t bytes) {
  struct Scratch {
    void* memory = nullptr;
    std::size_t size = 0;
    ~Scratch() { std::free(memory); }
  };
  static thread_local Scratch scratch;
  if (scratch.size < bytes) {
    std::free(scratch.memory);
    scratch.memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    scratch.size = scratch.memory == nullptr ? 0 : bytes;
  }
  return scratch.memory;
}

namespace {

// Products of fewer multiplications are done before a sleeping worker wakes.
constexpr double parallel_work = 1 << 20;

const ProductKernels* detect() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return &avx512_product_kernels();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return &avx2_product_kernels();
  return nullptr;
}

// TENON_CPU holds a better processor back, so that one machine can test all: avx2 to that set, baseline to portable
// code.
const ProductKernels* kernels() {
  static const ProductKernels* const chosen = [] {
    const char* variable = std::getenv("TENON_CPU");
    const std::string_view cap = variable == nullptr ? "" : variable;
    const ProductKernels* const found = cap == "baseline" ? nullptr : detect();
    return found != nullptr && cap == "avx2" ? &avx2_product_kernels() : found;
  }();
  return chosen;
}

template <class T>
constexpr bool has_kernels = std::is_same_v<T, float> || std::is_same_v<T, double>;

// Exchanges the roles of rows and columns: the transpose of c is the transpose of b times the transpose of a.
template <class T>
Product<T> transposed(const Product<T>& p) {
  return {p.n, p.m, p.k, p.b, p.b_column, p.b_row, p.a, p.a_column, p.a_row, p.c, p.c_column, p.c_row, p.accumulate};
}

// Sum and product of one dtype: integers wrap (in unsigned arithmetic, where overflow is defined), of booleans "or" and
// "and"; complex numbers by their formula, without the repair of infinities that std::complex makes.
template <class T>
T multiply_add(T sum, T x, T y) {
  if constexpr (std::is_same_v<T, bool>) {
    return sum || (x && y);
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::uint64_t;  // wide enough that the smaller types are not promoted to a signed one
    return static_cast<T>(static_cast<U>(sum) + static_cast<U>(x) * static_cast<U>(y));
  } else if constexpr (std::is_floating_point_v<T>) {
    return sum + x * y;
  } else {
    return T(sum.real() + (x.real() * y.real() - x.imag() * y.imag()),
             sum.imag() + (x.real() * y.imag() + x.imag() * y.real()));
  }
}

// For every dtype and all strides, 64 terms at a time so that rows of b are found in the cache again.
template <class T>
void plain(const Product<T>& p) {
  if (!p.accumulate)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) p.c[i * p.c_row + j * p.c_column] = T(0);
  for (std::int64_t first = 0; first < p.k; first += 64)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t l = first; l < std::min(first + 64, p.k); ++l) {
        const T x = p.a[i * p.a_row + l * p.a_column];
        const T* row = p.b + l * p.b_row;
        T* to = p.c + i * p.c_row;
        if (p.c_column == 1 && p.b_column == 1)
          for (std::int64_t j = 0; j < p.n; ++j) to[j] = multiply_add(to[j], x, row[j]);
        else
          for (std::int64_t j = 0; j < p.n; ++j)
            to[j * p.c_column] = multiply_add(to[j * p.c_column], x, row[j * p.b_column]);
      }
}

template <class T>
bool multiply(Product<T> p) {
  const ProductKernels* const have = kernels();
  if constexpr (has_kernels<T>) {
    if (have != nullptr && p.k > 0) {
      // The stride of an axis of one element may be taken to be what suits.
      if (p.k == 1) p.a_column = p.b_row = 1;
      if (p.m == 1) p.c_row = p.a_row = 1;
      if (p.n == 1) p.c_column = p.b_column = 1;
      const bool inner = p.a_column == 1 && p.b_row == 1 && p.k >= 32;
      if (inner && ((p.n <= 4 && (p.n == 1 || p.b_column != 1)) || (p.m <= 8 && p.b_column != 1))) {
        if constexpr (std::is_same_v<T, float>)
          have->inner_f32(p);
        else
          have->inner_f64(p);
        return true;
      }
      const bool by_rows = p.c_column == 1, by_columns = p.c_row == 1;
      // Vectors run along the columns of c: the longer axis where c allows both.
      if (by_columns && (!by_rows || p.n == 1)) p = transposed(p);
      if (by_rows || by_columns) {
        if constexpr (std::is_same_v<T, float>)
          return have->f32(p);
        else
          return have->f64(p);
      }
    }
  }
  plain(p);
  return true;
}

// Splits the larger of m and n over `parts` pieces and multiplies piece `at`.
template <class T>
bool multiply_part(Product<T> p, std::int64_t parts, std::int64_t at) {
  if (parts == 1) return multiply(p);
  const bool by_rows = p.m >= p.n;
  const std::int64_t size = by_rows ? p.m : p.n, unit = by_rows ? 12 : 64;
  const std::int64_t blocks = (size + unit - 1) / unit;
  const std::int64_t first = blocks * at / parts * unit, last = std::min(size, blocks * (at + 1) / parts * unit);
  if (first >= last) return true;
  if (by_rows) {
    p.a += first * p.a_row;
    p.c += first * p.c_row;
    p.m = last - first;
  } else {
    p.b += first * p.b_column;
    p.c += first * p.c_column;
    p.n = last - first;
  }
  return multiply(p);
}

template <class T>
bool multiply_batch(const TenonGemm& g, const T* a, const T* b, T* c) {
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return true;
  struct Call {
    const TenonGemm& g;
    Product<T> product;
    std::int64_t parts;
    bool failed = false;
    void run(std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        Product<T> p = product;
        p.a += task / parts * g.a_batch;
        p.b += task / parts * g.b_batch;
        p.c += task / parts * g.c_batch;
        if (!multiply_part(p, parts, task % parts)) __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      }
    }
  };
  Call call{g,
            {g.m, g.n, std::max<std::int64_t>(g.k, 0), a, g.a_row, g.a_column, b, g.b_row, g.b_column, c, g.c_row,
             g.c_column, g.accumulate != 0},
            1};
  const double work = double(g.batch) * double(g.m) * double(g.n) * double(std::max<std::int64_t>(g.k, 1));
  if (work < parallel_work || tenon_inside_parallel()) {
    call.run(0, g.batch);
    return !call.failed;
  }
  const int workers = threads();
  if (g.batch < 4 * workers) call.parts = workers;
  const auto body = [](void* context, std::int64_t begin, std::int64_t end, int) {
    static_cast<Call*>(context)->run(begin, end);
  };
  tenon_parallel_for(body, &call, g.batch * call.parts, 1);
  return !call.failed;
}

// Elements of one operand of the batch, row-major, converted to f32 and back.
struct Matrices {
  std::int64_t batch, rows, columns, batch_stride, row_stride, column_stride;
  std::int64_t elements() const { return batch * rows * columns; }
  template <class F>
  void each_row(F&& f) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t i = 0; i < rows; ++i) f(n * batch_stride + i * row_stride, (n * rows + i) * columns);
  }
};

template <class Low>
void widen(const Low* from, float* to, std::int64_t count, std::int64_t stride) {
  if (const auto* have = kernels(); have != nullptr && stride == 1) {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
    return std::is_same_v<Low, Float16> ? have->f16_to_f32(bits, to, count) : have->bf16_to_f32(bits, to, count);
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i * stride]);
}
template <class Low>
void round_to(const float* from, Low* to, std::int64_t count, std::int64_t stride) {
  if (const auto* have = kernels(); have != nullptr && stride == 1) {
    auto* bits = reinterpret_cast<std::uint16_t*>(to);
    return std::is_same_v<Low, Float16> ? have->f32_to_f16(from, bits, count) : have->f32_to_bf16(from, bits, count);
  }
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = Low(from[i]);
}

template <class Low>
bool multiply_low(const TenonGemm& g, const Low* a, const Low* b, Low* c) {
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return true;
  const std::int64_t k = std::max<std::int64_t>(g.k, 0);
  const Matrices left{g.a_batch == 0 ? 1 : g.batch, g.m, k, g.a_batch, g.a_row, g.a_column};
  const Matrices right{g.b_batch == 0 ? 1 : g.batch, k, g.n, g.b_batch, g.b_row, g.b_column};
  const Matrices result{g.batch, g.m, g.n, g.c_batch, g.c_row, g.c_column};
  std::vector<float> wide;
  try {
    wide.resize(static_cast<std::size_t>(left.elements() + right.elements() + result.elements()));
  } catch (const std::exception&) {
    return false;
  }
  float *x = wide.data(), *y = x + left.elements(), *z = y + right.elements();
  left.each_row([&](std::int64_t at, std::int64_t to) { widen(a + at, x + to, k, g.a_column); });
  right.each_row([&](std::int64_t at, std::int64_t to) { widen(b + at, y + to, g.n, g.b_column); });
  if (g.accumulate != 0)
    result.each_row([&](std::int64_t at, std::int64_t to) { widen(c + at, z + to, g.n, g.c_column); });
  TenonGemm f = g;
  f.dtype = static_cast<std::int32_t>(DType::f32);
  f.a_batch = g.a_batch == 0 ? 0 : g.m * k;
  f.a_row = k;
  f.b_batch = g.b_batch == 0 ? 0 : k * g.n;
  f.b_row = f.c_row = g.n;
  f.a_column = f.b_column = f.c_column = 1;
  f.c_batch = g.m * g.n;
  if (!multiply_batch<float>(f, x, y, z)) return false;
  result.each_row([&](std::int64_t at, std::int64_t from) { round_to(z + from, c + at, g.n, g.c_column); });
  return true;
}

}  // namespace
}  // namespace tenon

std::int32_t tenon_gemm(const TenonGemm* product, const void* a, const void* b, void* c) {
  using namespace tenon;
  const bool done = dispatch(static_cast<DType>(product->dtype), [&]<class T>(std::type_identity<T>) {
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
      return multiply_low<T>(*product, x, y, static_cast<T*>(c));
    else
      return multiply_batch<T>(*product, x, y, static_cast<T*>(c));
  });
  return done ? 0 : 1;
}
