// Sorts against std::stable_sort on values that tests have at hand; NaN, signed zeros, ties, axes; what wrong calls
// say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"
#include "tests/ops/independent.h"

namespace tenon {
namespace {

using independent::buffer_of;
using independent::is_complex_element;
using testing::HasSubstr;

// Whether x stands before y, worked out without the library: NumPy's order.
template <class T>
bool precedes(T x, T y) {
  if constexpr (is_complex_element<T>) {
    const auto rank = [](T z) { return (std::isnan(z.real()) ? 2 : 0) + (std::isnan(z.imag()) ? 1 : 0); };
    if (rank(x) != rank(y)) return rank(x) < rank(y);
    if (x.real() < y.real() || y.real() < x.real()) return x.real() < y.real();
    return x.imag() < y.imag();
  } else if constexpr (independent::is_real_element<T>) {
    const auto a = independent::real_of(x), b = independent::real_of(y);
    return std::isnan(b) ? !std::isnan(a) : a < b;
  } else {
    return x < y;
  }
}

template <class T>
std::vector<std::int32_t> order_of(const std::vector<T>& x, bool descending) {
  std::vector<std::int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t j) {
    const T a = x[static_cast<std::size_t>(i)], b = x[static_cast<std::size_t>(j)];
    return descending ? precedes(b, a) : precedes(a, b);
  });
  return order;
}

// Bits but of NaNs, whose payload and sign are not said.
template <class T>
bool same(T x, T y) {
  if constexpr (is_complex_element<T>)
    return same(x.real(), y.real()) && same(x.imag(), y.imag());
  else if constexpr (independent::is_real_element<T>) {
    const auto a = independent::real_of(x), b = independent::real_of(y);
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  } else {
    return x == y;
  }
}

// Special values many times over, shuffled, so that there are ties of all kinds and more than a vector sort does alone.
template <class T>
std::vector<T> shuffled(std::size_t n) {
  const std::vector<T> special = independent::special_values<T>();
  std::vector<T> all;
  std::mt19937 random(5);
  while (all.size() < n) all.push_back(special[random() % special.size()]);
  if constexpr (is_complex_element<T>) {
    using Part = typename T::value_type;
    const Part nan = std::numeric_limits<Part>::quiet_NaN();
    for (std::size_t i = 0; i < n; i += 5) all[i] = i % 3 == 0 ? T(nan, all[i].imag()) : T(all[i].real(), nan);
  } else if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < n; i += 3) all[i] = static_cast<T>(static_cast<std::int32_t>(random())) / 7;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < n; i += 3) all[i] = static_cast<T>(random());
  }
  return all;
}

using SortedBothWays = BothWays;
INSTANTIATE_TEST_SUITE_P(Sorting, SortedBothWays, testing::Bool(), name_of_way);

TEST_P(SortedBothWays, EveryDTypeIsInOrder) {
  for (int d = 0; d < dtype_count; ++d)
    dispatch(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
      for (const std::size_t n : {0, 1, 2, 63, 200, 201, 1000, 5000})
        for (const bool descending : {false, true}) {
          const std::vector<T> x = shuffled<T>(n);
          const std::vector<std::int32_t> order = order_of(x, descending);
          const Buffer sorted = sort(Array(buffer_of(x)), -1, {.descending = descending}).to_buffer(),
                       places = argsort(Array(buffer_of(x)), -1, {.descending = descending}).to_buffer();
          ASSERT_EQ(places.dtype(), DType::i32);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(places.as<std::int32_t>()[i], order[i]) << name(static_cast<DType>(d)) << " " << n << " " << i;
            ASSERT_TRUE(same(T(sorted.as<T>()[i]), T(x[static_cast<std::size_t>(order[i])])))
                << name(static_cast<DType>(d)) << " " << n << " " << i;
          }
        }
    });
}

// A long row is sorted in parts, which all threads merge.
TEST(Sorting, LongRowsOfEveryDType) {
  for (const DType d : {DType::f16, DType::i16, DType::f32, DType::u32, DType::f64, DType::i64})
    dispatch(d, [&]<class T>(std::type_identity<T>) {
      for (const std::size_t n : {131'072, 200'003}) {
        const std::vector<T> x = shuffled<T>(n);
        const std::vector<std::int32_t> order = order_of(x, false);
        const Array all(buffer_of(x));
        const Buffer sorted = jit([](const Array& x) { return sort(x); })(all).to_buffer(),
                     places = jit([](const Array& x) { return argsort(x); })(all).to_buffer();
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(places.as<std::int32_t>()[i], order[i]) << name(d) << " " << n << " " << i;
          ASSERT_TRUE(same(T(sorted.as<T>()[i]), T(x[static_cast<std::size_t>(order[i])]))) << name(d) << " " << i;
        }
      }
    });
}

TEST_P(SortedBothWays, TheLargestOfEveryDType) {
  for (int d = 0; d < dtype_count; ++d)
    dispatch(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
      if constexpr (!is_complex_element<T>) {
        for (const std::size_t n : {1, 5, 100, 5000})
          for (const std::size_t k : {0, 1, 3, 50, 5000}) {
            if (k > n) continue;
            std::vector<T> x = shuffled<T>(n);
            // Ascending as well, where every element is a candidate.
            if (k == 3) std::stable_sort(x.begin(), x.end(), precedes<T>);
            const bool smallest = (n + k) % 2 == 0;
            const std::vector<std::int32_t> order = order_of(x, !smallest);
            const auto [values, indices] =
                top_k(Array(buffer_of(x)), static_cast<std::int64_t>(k), {.smallest = smallest});
            const Buffer largest = values.to_buffer(), places = indices.to_buffer();
            ASSERT_EQ(places.elements(), static_cast<std::int64_t>(k));
            for (std::size_t i = 0; i < k; ++i) {
              ASSERT_EQ(places.as<std::int32_t>()[i], order[i]) << name(static_cast<DType>(d)) << " " << n << " " << i;
              ASSERT_TRUE(same(T(largest.as<T>()[i]), T(x[static_cast<std::size_t>(order[i])])));
            }
          }
      }
    });
}

TEST_P(SortedBothWays, AlongEveryAxis) {
  const Array x{{3.f, 1.f, 2.f}, {0.f, 5.f, -1.f}};
  EXPECT_TRUE(all(sort(x) == Array{{1.f, 2.f, 3.f}, {-1.f, 0.f, 5.f}}).item<bool>());
  EXPECT_TRUE(all(sort(x, 0) == Array{{0.f, 1.f, -1.f}, {3.f, 5.f, 2.f}}).item<bool>());
  EXPECT_TRUE(all(argsort(x, -2) == Array{{1, 0, 1}, {0, 1, 0}}).item<bool>());
  EXPECT_TRUE(
      all(sort(transpose(x), 0, {.descending = true}) == Array{{3.f, 5.f}, {2.f, 0.f}, {1.f, -1.f}}).item<bool>());
}

// As NumPy's lexsort((second, first)).
TEST_P(SortedBothWays, SeveralArraysByTheFirst) {
  const Array first{2, 1, 2, 1, 2}, second{0.5f, 3.f, -1.f, 2.f, 0.5f}, payload{10, 11, 12, 13, 14};
  const auto sorted = sort_together({first, second, payload}, 2);
  EXPECT_TRUE(all(sorted[0] == Array{1, 1, 2, 2, 2}).item<bool>());
  EXPECT_TRUE(all(sorted[1] == Array{2.f, 3.f, -1.f, 0.5f, 0.5f}).item<bool>());
  EXPECT_TRUE(all(sorted[2] == Array{13, 11, 12, 10, 14}).item<bool>());
  EXPECT_TRUE(all(sort_together({first, payload})[1] == Array{11, 13, 10, 12, 14}).item<bool>());
  const auto down = sort_together({first, payload}, 1, 0, {.descending = true});
  EXPECT_TRUE(all(down[1] == Array{10, 12, 14, 11, 13}).item<bool>());
}

// Many rows are shared among threads.
TEST(Sorting, ManyRows) {
  constexpr std::int64_t rows = 40, n = 2000;
  const std::vector<double> x = shuffled<double>(rows * n);
  const Buffer sorted = sort(Array(buffer_of(x, {rows, n}))).to_buffer(),
               places = argsort(Array(buffer_of(x, {rows, n}))).to_buffer(),
               largest = top_k(Array(buffer_of(x, {rows, n})), 7).values.to_buffer();
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<double> row(x.begin() + r * n, x.begin() + (r + 1) * n);
    const auto order = order_of(row, false), down = order_of(row, true);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(places.as<std::int32_t>()[r * n + i], order[at]);
      ASSERT_TRUE(same(sorted.as<double>()[r * n + i], row[static_cast<std::size_t>(order[at])]));
      if (i < 7) {
        ASSERT_TRUE(same(largest.as<double>()[r * 7 + i], row[static_cast<std::size_t>(down[at])]));
      }
    }
  }
}

// The gradient of Σ w·sort(x) is w put back in x's order; that of the largest is there and 0 elsewhere.
TEST(Sorting, Gradients) {
  const Array x{{3.f, 1.f, 2.f}, {5.f, 4.f, 6.f}}, w{1.f, 10.f, 100.f};
  const auto weighed = [&](const Array& v) { return sum(w * sort(v)); };
  const Array want{{100.f, 1.f, 10.f}, {10.f, 1.f, 100.f}};
  EXPECT_TRUE(all(grad(weighed)(x) == want).item<bool>());
  EXPECT_TRUE(all(jit(grad(weighed))(x) == want).item<bool>());
  const auto largest = [](const Array& v) { return sum(square(top_k(v, 1).values)); };
  EXPECT_TRUE(all(jit(grad(largest))(x) == Array{{6.f, 0.f, 0.f}, {0.f, 0.f, 12.f}}).item<bool>());
  const auto carried = [&](const Array& v) { return sum(w * sort_together({-v(0), square(v(0))})[1]); };
  EXPECT_TRUE(all(jit(grad(carried))(x)(0) == Array{6.f, 200.f, 40.f}).item<bool>());
}

TEST(Sorting, IsNativeWithinAProgram) {
  const auto f = [](const Array& x) {
    return fori_loop(0, 3, [](const Array&, const Array& c) { return sort(c * 2.f - 1.f); }, x);
  };
  const Array x{0.5f, -1.f, 4.f};
  EXPECT_THAT(explain(f)(x), testing::AllOf(HasSubstr("tenon_sort"), testing::Not(HasSubstr("evaluator"))));
  EXPECT_TRUE(all(jit(f)(x) == Array{-15.f, -3.f, 25.f}).item<bool>());
}

TEST(Sorting, WrongCalls) {
  const Array x = zeros({2, 3});
  EXPECT_THAT(message_of<ShapeError>([&] { sort(x, 2); }), testing::AllOf(HasSubstr("sort"), HasSubstr("f32[2,3]")));
  EXPECT_THAT(message_of<ShapeError>([&] { argsort(x, -3); }), HasSubstr("argsort"));
  EXPECT_THAT(message_of<ShapeError>([&] { sort(1.f); }),
              testing::AllOf(HasSubstr("sort: f32[] has no axis"), HasSubstr("rank 1 or more")));
  EXPECT_THAT(message_of<ShapeError>([&] { top_k(x, 4); }),
              testing::AllOf(HasSubstr("top_k: 4 elements of f32[2,3] are asked for, its last axis has 3."),
                             HasSubstr("at most as many"), HasSubstr("sorting.cpp:")));
  EXPECT_THAT(message_of<ShapeError>([&] { top_k(x, -1); }), HasSubstr("k is 0 or more"));
  EXPECT_THAT(message_of<DTypeError>([&] { top_k(convert(x, DType::c64), 1); }),
              testing::AllOf(HasSubstr("top_k: c64[2,3]: complex numbers have no largest."), HasSubstr("abs(x)")));
  EXPECT_THAT(message_of<ShapeError>([&] { sort_together({x, zeros({3})}); }),
              HasSubstr("sort_together: f32[2,3] and f32[3] differ in shape."));
  EXPECT_THAT(message_of<ShapeError>([&] { sort_together({x}, 2); }), HasSubstr("2 keys among 1 arrays"));
}

}  // namespace
}  // namespace tenon
