// Products of f16, bf16 and bytes, with sums of their own dtype and of 32 bits, against naive loops: by tiles, by
// vectors (TENON_CPU=avx512, avx2, baseline) and in f32.
#include "tenon/runtime/linear_algebra/grouped_products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;

template <class T>
constexpr bool is_half_type = NarrowFloat<T>;
template <class T>
double wide(T x) {
  if constexpr (is_half_type<T>)
    return static_cast<double>(static_cast<float>(x));
  else
    return static_cast<double>(x);
}

// Numbers of a plain generator: of halves in [-1, 1], with all their bits; of bytes all.
class Drawn {
 public:
  template <class T>
  T next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<std::int32_t>(state_ >> 32);
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(bits);
    else
      return T(static_cast<float>(bits) * 0x1p-31F);
  }

 private:
  std::uint64_t state_ = 1;
};

template <class T>
struct Drawing {
  std::vector<T> memory;
  Size batch, row, column;
  const T& at(Size n, Size i, Size j) const {
    return memory[static_cast<std::size_t>(n * batch + i * row + j * column)];
  }
  T& at(Size n, Size i, Size j) { return memory[static_cast<std::size_t>(n * batch + i * row + j * column)]; }
};
enum class Order { rows, columns, gaps, same };  // same: one matrix for all of a batch
template <class T>
Drawing<T> drawing(Size batch, Size rows, Size columns, Order order, Drawn& drawn) {
  Drawing<T> d{{}, 0, columns, 1};
  if (order == Order::columns) d.row = 1, d.column = rows;
  if (order == Order::gaps) d.column = 3, d.row = 3 * columns + 2;
  d.batch = std::max(d.row * rows, d.column * columns);
  d.memory.resize(static_cast<std::size_t>(d.batch * batch));
  for (T& x : d.memory) x = drawn.next<T>();
  if (order == Order::same) d.batch = 0;
  return d;
}

struct Sizes {
  Size batch, m, n, k;
};

template <class A, class B, class C>
TenonGemm description(const Sizes& s, const Drawing<A>& a, const Drawing<B>& b, const Drawing<C>& c, bool accumulate) {
  const auto number = [](DType d) { return static_cast<std::int32_t>(d); };
  TenonGemm g{number(*dtype_of<C>),
              accumulate,
              s.batch,
              s.m,
              s.n,
              s.k,
              a.batch,
              a.row,
              a.column,
              b.batch,
              b.row,
              b.column,
              c.batch,
              c.row,
              c.column};
  if (!std::is_same_v<A, C>) g.a_dtype = number(*dtype_of<A>), g.b_dtype = number(*dtype_of<B>);
  return g;
}

// A sum of k terms below 1 of either sign is a walk: its error in f32 is far below k spacings of 1. Half a spacing of
// the sum comes on top where it is rounded to a half.
template <class C>
double tolerance(double sum, Size k) {
  const double of_sum = (double(k) + 8) * 0x1p-22;
  if constexpr (std::is_same_v<C, Float16>) return of_sum + std::abs(sum) * 0x1p-11 + 0x1p-25;
  if constexpr (std::is_same_v<C, BFloat16>) return of_sum + std::abs(sum) * 0x1p-8;
  return of_sum;
}

// The rows of a, or the columns of b, of one product, one behind the other: read often, in code that is not optimised.
template <class Number, class T>
std::vector<Number> lines(const Drawing<T>& d, Size p, Size lines, Size terms, bool rows) {
  std::vector<Number> all(static_cast<std::size_t>(lines * terms));
  for (Size i = 0; i < lines; ++i)
    for (Size l = 0; l < terms; ++l) {
      const T x = rows ? d.at(p, i, l) : d.at(p, l, i);
      if constexpr (std::is_integral_v<T>)
        all[static_cast<std::size_t>(i * terms + l)] = static_cast<Number>(x);
      else
        all[static_cast<std::size_t>(i * terms + l)] = wide(x);
    }
  return all;
}

template <class A, class B, class C>
void check(const Sizes& s, Order oa, Order ob, Order oc, bool accumulate) {
  Drawn drawn;
  const auto a = drawing<A>(s.batch, s.m, s.k, oa, drawn);
  const auto b = drawing<B>(s.batch, s.k, s.n, ob, drawn);
  auto c = drawing<C>(s.batch, s.m, s.n, oc, drawn);
  auto before = c;
  const TenonGemm g = description(s, a, b, c, accumulate);
  ASSERT_EQ(tenon_gemm(&g, a.memory.data(), b.memory.data(), c.memory.data()), 0);
  const auto where = [&](Size p, Size i, Size j) {
    return fmt::format("{} x {} to {}, {}x{}x{}x{} at {},{},{}", name(*dtype_of<A>), name(*dtype_of<B>),
                       name(*dtype_of<C>), s.batch, s.m, s.n, s.k, p, i, j);
  };
  using Number = std::conditional_t<std::is_integral_v<C>, std::uint64_t, double>;
  for (Size p = 0; p < s.batch; ++p) {
    const auto rows = lines<Number>(a, p, s.m, s.k, true), columns = lines<Number>(b, p, s.n, s.k, false);
    for (Size i = 0; i < s.m; ++i)
      for (Size j = 0; j < s.n; ++j) {
        const C got = c.at(p, i, j);
        const Number *x = rows.data() + i * s.k, *y = columns.data() + j * s.k;
        Number sum = 0;
        for (Size l = 0; l < s.k; ++l) sum += x[l] * y[l];
        if constexpr (std::is_integral_v<C>) {
          if (accumulate) sum += static_cast<std::uint64_t>(before.at(p, i, j));
          ASSERT_EQ(got, static_cast<C>(sum)) << where(p, i, j);
        } else {
          if (accumulate) sum += wide(before.at(p, i, j));
          ASSERT_LE(std::abs(wide(got) - sum), tolerance<C>(sum, s.k)) << where(p, i, j);
        }
        before.at(p, i, j) = got;
      }
  }
  // Nothing between the elements of c was touched.
  EXPECT_EQ(std::memcmp(before.memory.data(), c.memory.data(), c.memory.size() * sizeof(C)), 0);
}

template <class Case>
class GroupedProducts : public testing::Test {};
template <class A, class B, class C>
struct Of {
  using a = A;
  using b = B;
  using c = C;
};
using Cases =
    testing::Types<Of<BFloat16, BFloat16, BFloat16>, Of<BFloat16, BFloat16, float>, Of<Float16, Float16, Float16>,
                   Of<Float16, Float16, float>, Of<std::int8_t, std::int8_t, std::int32_t>,
                   Of<std::uint8_t, std::uint8_t, std::int32_t>, Of<std::int8_t, std::uint8_t, std::int32_t>,
                   Of<std::uint8_t, std::int8_t, std::int32_t>, Of<std::uint8_t, std::uint8_t, std::uint32_t>,
                   Of<std::int8_t, std::int8_t, std::int8_t>, Of<std::uint8_t, std::uint8_t, std::uint8_t>>;
TYPED_TEST_SUITE(GroupedProducts, Cases);

TYPED_TEST(GroupedProducts, OfEveryLayoutAndRest) {
  using A = typename TypeParam::a;
  using B = typename TypeParam::b;
  using C = typename TypeParam::c;
  for (const auto& [m, n, k] :
       {std::array<Size, 3>{1, 1, 1}, {1, 40, 70}, {40, 1, 70}, {16, 16, 64}, {33, 17, 65}, {9, 50, 31}, {48, 64, 129}})
    for (const Order oa : {Order::rows, Order::columns, Order::gaps, Order::same})
      for (const Order ob : {Order::rows, Order::columns, Order::gaps, Order::same}) {
        const Order oc = oa == Order::gaps ? Order::gaps : ob == Order::columns ? Order::columns : Order::rows;
        check<A, B, C>({2, m, n, k}, oa, ob, oc, false);
        if (oa == ob) check<A, B, C>({2, m, n, k}, oa, ob, oc, true);
        if (this->HasFatalFailure()) return;
      }
}

TYPED_TEST(GroupedProducts, OfNothing) {
  using A = typename TypeParam::a;
  using B = typename TypeParam::b;
  using C = typename TypeParam::c;
  for (const Sizes& s : {Sizes{0, 20, 30, 40}, {2, 0, 30, 40}, {2, 20, 0, 40}, {2, 20, 30, 0}})
    for (const bool accumulate : {false, true}) check<A, B, C>(s, Order::rows, Order::rows, Order::rows, accumulate);
}

// Rows of a longer than what is laid out at a time, more rows than a block has, on several threads and in one body.
TYPED_TEST(GroupedProducts, OfManyBlocks) {
  using A = typename TypeParam::a;
  using B = typename TypeParam::b;
  using C = typename TypeParam::c;
  const int before = threads();
  for (const int count : {1, 3}) {
    set_threads(count);
    check<A, B, C>({1, 40, 50, 5000}, Order::rows, Order::rows, Order::rows, false);
    if (count == 1) check<A, B, C>({1, 20, 530, 2100}, Order::columns, Order::columns, Order::rows, true);
    check<A, B, C>({1, 560, 90, 100}, Order::rows, Order::rows, Order::columns, false);
    check<A, B, C>({20, 64, 64, 64}, Order::rows, Order::columns, Order::rows, false);
  }
  set_threads(before);
}

// Few rows, and few columns, beside which the other operand is read as it lies: more columns than sums are kept for at
// a time, and more terms than are laid out.
TYPED_TEST(GroupedProducts, OfFewRows) {
  using A = typename TypeParam::a;
  using B = typename TypeParam::b;
  using C = typename TypeParam::c;
  const int before = threads();
  set_threads(2);
  for (const Order order : {Order::rows, Order::columns}) {
    for (const Size few : {1, 3}) {
      check<A, B, C>({1, few, 333, 53}, Order::rows, order, Order::rows, few == 3);
      check<A, B, C>({2, 133, few, 93}, order, Order::columns, Order::columns, false);
    }
    check<A, B, C>({1, 1, 9000, 37}, Order::rows, order, Order::rows, false);
    check<A, B, C>({1, 2, 140, 16400}, Order::columns, order, Order::gaps, true);
    check<A, B, C>({1, order == Order::rows ? 5 : 16, 345, 797}, Order::columns, order, Order::rows, true);
  }
  check<A, B, C>({1, 371, 9, 797}, Order::columns, Order::rows, Order::columns, false);
  set_threads(before);
}

// Operands that end where memory ends: nothing behind them is read.
TYPED_TEST(GroupedProducts, ReadNothingBeyondTheEnd) {
  using A = typename TypeParam::a;
  using B = typename TypeParam::b;
  using C = typename TypeParam::c;
  constexpr std::size_t page = 4096, bytes = 16 * page;
  const auto map = [&] {
    auto* memory =
        static_cast<char*>(::mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(::mprotect(memory + bytes, page, PROT_NONE), 0);
    return memory;
  };
  char *const ma = map(), *const mb = map(), *const mc = map();
  for (const auto& [m, n, k] : {std::array<Size, 3>{16, 16, 64}, {17, 33, 70}, {32, 48, 96}, {40, 9, 33}, {3, 200, 35}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        A* const a = reinterpret_cast<A*>(ma + bytes) - m * k;
        B* const b = reinterpret_cast<B*>(mb + bytes) - k * n;
        C* const c = reinterpret_cast<C*>(mc + bytes) - m * n;
        std::fill_n(a, m * k, A(1)), std::fill_n(b, k * n, B(3));
        const Drawing<A> la{{}, 0, ta ? 1 : k, ta ? m : 1};
        const Drawing<B> lb{{}, 0, tb ? 1 : n, tb ? k : 1};
        const TenonGemm g = description({1, m, n, k}, la, lb, Drawing<C>{{}, 0, n, 1}, false);
        ASSERT_EQ(tenon_gemm(&g, a, b, c), 0);
        const C expected = std::is_integral_v<C> ? C(3 * k) : C(static_cast<float>(3 * k));
        for (Size i = 0; i < m * n; ++i) ASSERT_EQ(wide(c[i]), wide(expected)) << m << 'x' << n << 'x' << k;
      }
  for (char* memory : {ma, mb, mc}) ::munmap(memory, bytes + page);
}

TEST(ProductsOfBytes, SumsOfExtremesAreExact) {
  const Sizes s{1, 40, 40, 4096};
  for (const int x : {-128, 127})
    for (const int y : {-128, 127}) {
      const Drawing<std::int8_t> a{std::vector(40u * 4096, static_cast<std::int8_t>(x)), 0, 4096, 1},
          b{std::vector(40u * 4096, static_cast<std::int8_t>(y)), 0, 40, 1};
      Drawing<std::int32_t> c{std::vector<std::int32_t>(1600), 0, 40, 1};
      const TenonGemm g = description(s, a, b, c, false);
      ASSERT_EQ(tenon_gemm(&g, a.memory.data(), b.memory.data(), c.memory.data()), 0);
      for (const std::int32_t got : c.memory) ASSERT_EQ(got, x * y * 4096);
    }
}

// Where infinities and NaN go is what IEEE says of each product, at sizes that tiles and vectors are used for.
template <class Half>
void check_special() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const Size k : {40, 1100}) {
    const Sizes s{1, 40, 48, k};
    Drawing<Half> a{std::vector(static_cast<std::size_t>(s.m * k), Half(1.f)), 0, k, 1},
        b{std::vector(static_cast<std::size_t>(k * s.n), Half(0.f)), 0, s.n, 1};
    Drawing<Half> c{std::vector(static_cast<std::size_t>(s.m * s.n), Half(nan)), 0, s.n, 1};
    const auto product = [&] {
      const TenonGemm g = description(s, a, b, c, false);
      ASSERT_EQ(tenon_gemm(&g, a.memory.data(), b.memory.data(), c.memory.data()), 0);
    };
    product();
    for (const Half x : c.memory) ASSERT_EQ(wide(x), 0);
    a.memory.back() = Half(inf);  // inf * 0 in the last row
    product();
    for (Size i = 0; i < s.m * s.n; ++i)
      ASSERT_EQ(std::isnan(wide(c.memory[static_cast<std::size_t>(i)])), i >= (s.m - 1) * s.n);
    a.memory.back() = Half(1.f);
    b.memory.front() = Half(-inf);  // in the first column
    product();
    for (Size i = 0; i < s.m * s.n; ++i)
      ASSERT_EQ(wide(c.memory[static_cast<std::size_t>(i)]), i % s.n == 0 ? -inf : 0.f);
    b.memory.front() = Half(nan);
    product();
    for (Size i = 0; i < s.m * s.n; ++i)
      ASSERT_EQ(std::isnan(wide(c.memory[static_cast<std::size_t>(i)])), i % s.n == 0);
  }
}
TEST(ProductsOfHalves, NaNAndInfGoWhereTheyShould) {
  check_special<Float16>();
  check_special<BFloat16>();
}

// f16 near its least and greatest values: its parts are exact, and sums are those of f32.
TEST(ProductsOfHalves, AllNumbersOfF16AreMultipliedExactly) {
  const Sizes s{1, 64, 64, 64};
  Drawing<Float16> a{std::vector<Float16>(64 * 64), 0, 64, 1}, one{std::vector<Float16>(64 * 64), 0, 64, 1};
  for (std::size_t i = 0; i < 64; ++i) one.memory[i * 65] = Float16(1.f);
  Drawing<float> c{std::vector<float>(64 * 64), 0, 64, 1};
  for (unsigned first = 0; first < 0x10000; first += 64 * 64) {
    for (unsigned i = 0; i < 64 * 64; ++i) {
      a.memory[i].bits = static_cast<std::uint16_t>(first + i);
      if ((a.memory[i].bits & 0x7c00) == 0x7c00) a.memory[i].bits &= 0x83ff;  // no infinities and NaN
    }
    const TenonGemm g = description(s, a, one, c, false);
    ASSERT_EQ(tenon_gemm(&g, a.memory.data(), one.memory.data(), c.memory.data()), 0);
    for (std::size_t i = 0; i < 64 * 64; ++i) ASSERT_EQ(c.memory[i], static_cast<float>(a.memory[i])) << first + i;
  }
}

}  // namespace
}  // namespace tenon
