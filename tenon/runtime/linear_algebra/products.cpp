#include "tenon/runtime/linear_algebra/products.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <type_traits>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/factors.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/complex_products.h"
#include "tenon/runtime/linear_algebra/grouped_products.h"
#include "tenon/runtime/linear_algebra/half_products.h"
#include "tenon/runtime/linear_algebra/product_blocks.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {

namespace {

// Products of fewer multiplications are done before a sleeping worker wakes.
constexpr double parallel_work = 1 << 20;

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

using Stop = const std::atomic<std::uint32_t>&;  // Context::stopped once the result is not wanted any more
constinit const std::atomic<std::uint32_t> unstopped{0};

// For every dtype and all strides, 64 terms at a time so that rows of b are found in the cache again.
template <class T>
void plain(const ProductShape& p, const T* a, const T* b, T* c, Stop stop) {
  if (!p.accumulate)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) c[i * p.c_row + j * p.c_column] = T(0);
  for (std::int64_t first = 0; first < p.k; first += 64)
    for (std::int64_t i = 0; i < p.m && stop.load(std::memory_order_relaxed) != Context::stopped; ++i)
      for (std::int64_t l = first; l < std::min(first + 64, p.k); ++l) {
        const T x = a[i * p.a_row + l * p.a_column];
        const T* row = b + l * p.b_row;
        T* to = c + i * p.c_row;
        if (p.c_column == 1 && p.b_column == 1)
          for (std::int64_t j = 0; j < p.n; ++j) to[j] = multiply_add(to[j], x, row[j]);
        else
          for (std::int64_t j = 0; j < p.n; ++j)
            to[j * p.c_column] = multiply_add(to[j * p.c_column], x, row[j * p.b_column]);
      }
}

// The same product again and again, as a batch has it.
template <class T>
class Multiplier {
 public:
  using Factor = T;
  using Result = T;
  explicit Multiplier(const ProductShape& shape) : shape_(shape) {
    if constexpr (blocked)
      if (shape.m > 0 && shape.n > 0 && shape.k > 0) product_.emplace(shape);
  }
  bool operator()(const T* a, const T* b, T* c, Stop stop) const {
    if constexpr (blocked)
      if (product_) return product_->run(a, b, c, stop);
    plain(shape_, a, b, c, stop);
    return true;
  }

 private:
  static constexpr bool blocked = std::is_same_v<T, float> || std::is_same_v<T, double>;
  ProductShape shape_;
  std::conditional_t<blocked, std::optional<BlockedProduct<std::conditional_t<blocked, T, float>>>, char> product_{};
};

// Its like for halves.
template <class Half, class Sum>
struct HalfMultiplier : HalfProduct<Half, Sum> {
  using HalfProduct<Half, Sum>::HalfProduct;
  using Factor = Half;
  using Result = Sum;
};

// Piece `at` of `parts` of the larger of m and n: its rows or columns begin at `first`.
struct Part {
  ProductShape shape;
  std::int64_t first;
  bool by_rows;
};
Part part_of(const ProductShape& whole, std::int64_t parts, std::int64_t at) {
  Part part{whole, 0, whole.m >= whole.n};
  if (parts == 1) return part;
  const std::int64_t size = part.by_rows ? whole.m : whole.n, unit = part.by_rows ? 12 : 64;
  const std::int64_t units = (size + unit - 1) / unit;
  part.first = std::min(size, units * at / parts * unit);
  (part.by_rows ? part.shape.m : part.shape.n) = std::min(size, units * (at + 1) / parts * unit) - part.first;
  return part;
}

template <class Multiply>
bool multiply_batch(const TenonGemm& g, const typename Multiply::Factor* a, const typename Multiply::Factor* b,
                    typename Multiply::Result* c) {
  using T = typename Multiply::Factor;
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return true;
  const std::int64_t k = std::max<std::int64_t>(g.k, 0);
  struct Call {
    const TenonGemm& g;
    const T *a, *b;
    typename Multiply::Result* c;
    ProductShape shape;
    Stop stop;
    std::int64_t parts = 1;
    std::atomic<bool> failed{false};
    // Tasks [begin, end) of batch times parts, the pieces of one product behind each other.
    void run(std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = 0; at < parts; ++at) {
        std::int64_t task = begin + (at - begin % parts + parts) % parts;
        if (task >= end) continue;
        const auto [piece, first, by_rows] = part_of(shape, parts, at);
        const Multiply multiply(piece);
        for (; task < end && stop.load(std::memory_order_relaxed) != Context::stopped; task += parts) {
          const std::int64_t n = task / parts;
          const T* x = a + n * g.a_batch + (by_rows ? first * g.a_row : 0);
          const T* y = b + n * g.b_batch + (by_rows ? 0 : first * g.b_column);
          if (!multiply(x, y, c + n * g.c_batch + first * (by_rows ? g.c_row : g.c_column), stop))
            failed.store(true, std::memory_order_relaxed);
        }
      }
    }
  };
  const double work = double(g.batch) * double(g.m) * double(g.n) * double(std::max<std::int64_t>(k, 1));
  const bool small = work < parallel_work;
  const ProductShape shape{g.m,     g.n,        k,       g.a_row,    g.a_column,
                           g.b_row, g.b_column, g.c_row, g.c_column, g.accumulate != 0};
  Call call{g, a, b, c, shape, small ? unstopped : *Context::current().flag()};
  if (small || tenon_inside_parallel()) {
    call.run(0, g.batch);
    return !call.failed;
  }
  const int workers = threads();
  if (g.batch < std::int64_t{4} * workers) call.parts = workers;
  each_range(g.batch * call.parts, 1, [&](std::int64_t begin, std::int64_t end) { call.run(begin, end); });
  return !call.failed;
}

template <class Half, class Sum>
bool multiply_halves(const TenonGemm& g, DType dtype, const void* a, const void* b, void* c) {
  const Grouped grouped = multiply_grouped(g, dtype, dtype, a, b, c);
  if (grouped != Grouped::declined) return grouped == Grouped::done;
  return multiply_batch<HalfMultiplier<Half, Sum>>(g, static_cast<const Half*>(a), static_cast<const Half*>(b),
                                                   static_cast<Sum*>(c));
}

// Sums of no products.
template <class T>
bool nothing(const TenonGemm& g, void* c) {
  T* const to = static_cast<T*>(c);
  return multiply_batch<Multiplier<T>>(g, to, to, to);
}

// Factors of their own dtypes, and what their sums are.
bool multiply_narrow(const TenonGemm& g, DType of_a, DType of_b, const void* a, const void* b, void* c) {
  if (of_a == DType::bf16 && g.dtype == static_cast<std::int32_t>(DType::f32))
    return multiply_halves<BFloat16, float>(g, of_a, a, b, c);
  if (of_a == DType::bf16) return multiply_halves<BFloat16, BFloat16>(g, of_a, a, b, c);
  if (of_a == DType::f16 && g.dtype == static_cast<std::int32_t>(DType::f32))
    return multiply_halves<Float16, float>(g, of_a, a, b, c);
  if (of_a == DType::f16) return multiply_halves<Float16, Float16>(g, of_a, a, b, c);
  if (g.k > 0) return multiply_grouped(g, of_a, of_b, a, b, c) != Grouped::no_memory;
  const bool bytes = size_of(static_cast<DType>(g.dtype)) == 1;
  return bytes ? nothing<std::uint8_t>(g, c) : nothing<std::uint32_t>(g, c);
}

// Small ones one after another by their formula, of a large batch shared by the threads.
template <class T>
bool multiply_numbers(const TenonGemm& g, const std::complex<T>* a, const std::complex<T>* b, std::complex<T>* c) {
  constexpr std::int64_t small = 1 << 12;  // multiplications
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return true;
  if (double(g.m) * double(g.n) * double(g.k) <= small) return multiply_batch<Multiplier<std::complex<T>>>(g, a, b, c);
  return multiply_complex<T>(g, reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b), reinterpret_cast<T*>(c));
}

}  // namespace
}  // namespace tenon

std::int32_t tenon_gemm(const TenonGemm* product, const void* a, const void* b, void* c) {
  using namespace tenon;
  const auto dtype = static_cast<DType>(product->dtype);
  const auto own = [&](std::int32_t number) { return number < 0 ? dtype : static_cast<DType>(number); };
  const DType of_a = own(product->a_dtype), of_b = own(product->b_dtype);
  if (is_half(of_a) || is_byte(of_a)) return multiply_narrow(*product, of_a, of_b, a, b, c) ? 0 : 1;
  const bool done = dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    if constexpr (NarrowFloat<T>)
      return false;  // halves are done above; floats of 8 bits are multiplied as bf16
    else if constexpr (requires { typename T::value_type; })
      return multiply_numbers(*product, x, y, static_cast<T*>(c));
    else
      return multiply_batch<Multiplier<T>>(*product, x, y, static_cast<T*>(c));
  });
  return done ? 0 : 1;
}

namespace tenon {
namespace {

const RuntimeSymbol symbol_of_gemm("tenon_gemm", &tenon_gemm);

}  // namespace
}  // namespace tenon
