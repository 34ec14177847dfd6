// Every reduction × dtype × shape × axes, against folds worked out without the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tenon/compile/executable.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/structure.h"
#include "tests/by_oracle.h"
#include "tests/ops/independent.h"
#include "tests/ops/transformed.h"

namespace tenon {
namespace {

using namespace independent;
using Complex = std::complex<Real>;

Real extremum(Real a, Real b, bool largest) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Real>::quiet_NaN();
  if (a == b) return std::signbit(a) == largest ? b : a;  // -0 is below 0
  return (a > b) == largest ? a : b;
}

struct Reduction {
  Array (*apply)(const Operand&, const Axes&);
  std::function<Real(Real, Real)> real;
  std::function<Complex(Complex, Complex)> complex;
  std::function<UnsignedWide(UnsignedWide, UnsignedWide, bool is_signed)> integer;
};

const std::map<std::string, Reduction>& reductions() {
  const auto compare = [](UnsignedWide a, UnsignedWide b, bool is_signed) {
    return is_signed ? static_cast<Wide>(a) < static_cast<Wide>(b) : a < b;
  };
  static const std::map<std::string, Reduction> table{
      {"sum",
       {sum, std::plus<Real>(), std::plus<Complex>(), [](UnsignedWide a, UnsignedWide b, bool) { return a + b; }}},
      {"prod",
       {prod, std::multiplies<Real>(), std::multiplies<Complex>(),
        [](UnsignedWide a, UnsignedWide b, bool) { return a * b; }}},
      {"amax",
       {amax, [](Real a, Real b) { return extremum(a, b, true); }, nullptr,
        [=](UnsignedWide a, UnsignedWide b, bool s) { return compare(a, b, s) ? b : a; }}},
      {"amin",
       {amin, [](Real a, Real b) { return extremum(a, b, false); }, nullptr,
        [=](UnsignedWide a, UnsignedWide b, bool s) { return compare(a, b, s) ? a : b; }}},
      {"any", {any, nullptr, nullptr, [](UnsignedWide a, UnsignedWide b, bool) { return a | b; }}},
      {"all",
       {[](const Operand& x, const Axes& axes) { return all(x, axes); }, nullptr, nullptr,
        [](UnsignedWide a, UnsignedWide b, bool) { return a & b; }}},
  };
  return table;
}

bool has_reduction(const Reduction& r, DType d) {
  if (is_inexact(d)) return is_differentiable(d) && (is_complex(d) ? r.complex != nullptr : r.real != nullptr);
  return r.real != nullptr || d == DType::bool_;
}

class Reduce : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    before_ = install_executor(std::get<1>(GetParam()) ? static_cast<Executor*>(&native_) : &reference_);
  }
  void TearDown() override { install_executor(before_); }
  static const std::string& name_of_op() { return std::get<0>(GetParam()); }

  // One row a column of the operand f32[rows, columns], folded in long double, in integers mod 2^128, or in complex.
  template <class T>
  void check_columns(const std::vector<T>& values, std::int64_t rows, const std::string& what) {
    constexpr DType d = *dtype_of<T>;
    const Reduction& r = reductions().at(name_of_op());
    const auto columns = static_cast<std::int64_t>(values.size()) / rows;
    const Buffer got = r.apply(Array(buffer_of(values, {rows, columns})), 0).to_buffer();
    ASSERT_EQ(got.dims().size(), 1u);
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = [&](std::int64_t row) { return values[static_cast<std::size_t>(row * columns + c)]; };
      if constexpr (is_complex_element<T>) {
        Complex want(at(0));
        for (std::int64_t i = 1; i < rows; ++i) want = r.complex(want, Complex(at(i)));
        EXPECT_LE(std::abs(Complex(got.as<T>()[c]) - want), 8 * static_cast<Real>(rows) * last_place(10, d)) << what;
      } else if constexpr (is_real_element<T>) {
        Real want = real_of(at(0)), size = std::abs(want);
        for (std::int64_t i = 1; i < rows; ++i) {
          want = r.real(want, real_of(at(i)));
          size = std::max({size, std::abs(want), std::abs(real_of(at(i)))});
        }
        // Each step may round by half a unit of the largest partial result.
        const Real is = real_of(got.as<T>()[c]);
        const bool sums = name_of_op() == "sum" && std::isfinite(rounded(want, d));
        EXPECT_TRUE(sums ? std::abs(is - want) <= static_cast<Real>(rows) * last_place(size, d)
                         : close(is, want, d, name_of_op() == "prod" ? static_cast<Real>(rows) : Real(0)) ||
                               (std::get<1>(GetParam()) && close(is, flushed(want, d), d, 0)))
            << what << " column " << c << ": " << static_cast<double>(is) << " for " << static_cast<double>(want);
      } else {
        UnsignedWide want = static_cast<UnsignedWide>(static_cast<Wide>(at(0)));
        for (std::int64_t i = 1; i < rows; ++i)
          want = r.integer(want, static_cast<UnsignedWide>(static_cast<Wide>(at(i))), std::is_signed_v<T>);
        if (got.dtype() == DType::i32)
          EXPECT_EQ(got.as<std::int32_t>()[c], static_cast<std::int32_t>(want)) << what;
        else
          EXPECT_EQ(got.as<T>()[c], static_cast<T>(want)) << what << " column " << c;
      }
    }
  }

 private:
  ReferenceExecutor reference_;
  CompilingExecutor native_;
  Executor* before_ = nullptr;
};

TEST_P(Reduce, PairsOfSpecialValues) {
  const Reduction& r = reductions().at(name_of_op());
  for (int i = 0; i < dtype_count; ++i)
    dispatch(static_cast<DType>(i), [&]<class T>(std::type_identity<T>) {
      constexpr DType d = *dtype_of<T>;
      if (!has_reduction(r, d)) return;
      const std::vector<T> special = special_values<T>();
      std::vector<T> first, second;
      for (T a : special)
        for (T b : special) first.push_back(a), second.push_back(b);
      first.insert(first.end(), second.begin(), second.end());
      check_columns<T>(first, 2, name_of_op() + " of " + std::string(name(d)));
    });
}

TEST_P(Reduce, LongColumns) {
  const Reduction& r = reductions().at(name_of_op());
  for (int i = 0; i < dtype_count; ++i)
    dispatch(static_cast<DType>(i), [&]<class T>(std::type_identity<T>) {
      constexpr DType d = *dtype_of<T>;
      if (!has_reduction(r, d)) return;
      std::vector<T> values;
      for (int n = 0; n < 7 * 3; ++n)  // halves from -1.5 to 1.5 and integers: products stay small and exact
        if constexpr (is_complex_element<T>)
          values.push_back(T(static_cast<typename T::value_type>(0.5 * (n % 4) - 0.5), 0.5f));
        else if constexpr (is_real_element<T>)
          values.push_back(stored<T>(n % 5 == 0 ? Real(-1.5) : Real(0.5) * Real(1 + n % 3)));
        else
          values.push_back(static_cast<T>(n * 37 % 11));
      check_columns<T>(values, 7, name_of_op() + " of " + std::string(name(d)));
    });
}

// The same numbers over other axes: moved in front by hand, they give the same results.
TEST_P(Reduce, AxesKeptDimsAndRankZero) {
  const Reduction& r = reductions().at(name_of_op());
  const auto check = [&]<class T>(std::type_identity<T>) {
    std::vector<T> values;
    for (int n = 0; n < 24; ++n) values.push_back(static_cast<T>(n % 7 - 2));
    const Array x(buffer_of(values, {2, 3, 4}));
    const Array both = r.apply(x, {-1, 0}), kept = r.apply(x, Axes{0, 2}.keepdims());
    EXPECT_EQ(both.shape(), (Shape{Dim(3)}));
    EXPECT_EQ(kept.shape(), (Shape{Dim(1), Dim(3), Dim(1)}));
    const Array everything = r.apply(x, {});
    EXPECT_EQ(everything.rank(), 0u);
    EXPECT_EQ(r.apply(x, Axes(std::vector<std::int64_t>())).shape(), x.shape());
    const auto result_of = [](const Array& a, std::size_t at) {
      const Buffer b = a.to_buffer();
      return b.dtype() == DType::bool_ ? Real(b.as<bool>()[at]) : static_cast<Real>(b.as<double>()[at]);
    };
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<T> column;
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 4; ++j) column.push_back(values[i * 12 + k * 4 + j]);
      Real want = static_cast<Real>(column[0]);
      for (std::size_t i = 1; i < column.size(); ++i)
        want = r.real ? r.real(want, static_cast<Real>(column[i]))
                      : static_cast<Real>(r.integer(want != 0, column[i] != 0, false));
      EXPECT_EQ(result_of(both, k), want) << name_of_op();
      EXPECT_EQ(result_of(kept, k), want) << name_of_op();
    }
  };
  if (r.real)
    check(std::type_identity<double>());
  else
    check(std::type_identity<bool>());
}
INSTANTIATE_TEST_SUITE_P(
    All, Reduce, testing::Combine(testing::Values("sum", "prod", "amax", "amin", "any", "all"), testing::Bool()),
    [](const auto& info) { return std::get<0>(info.param) + (std::get<1>(info.param) ? "_native" : "_evaluated"); });

class Reductions : public testing::Test {
  const ByOracle oracle_;
};

TEST_F(Reductions, OfNoElements) {
  const Array none(Buffer::allocate(DType::f32, {0, 2}));
  EXPECT_EQ(sum(none, 0).span<float>()[1], 0);
  EXPECT_EQ(prod(none, 0).span<float>()[1], 1);
  EXPECT_THROW(amax(none, 0), ShapeError);
  EXPECT_THROW(argmin(none, 0), ShapeError);
  EXPECT_EQ(amax(none, 1).shape(), (Shape{Dim(0)}));
  const Array no_bools(Buffer::allocate(DType::bool_, {0}));
  EXPECT_FALSE(any(no_bools).item<bool>());
  EXPECT_TRUE(all(no_bools).item<bool>());
}

TEST_F(Reductions, OfBool) {
  const Array x = {true, false, true};
  EXPECT_EQ(sum(x).item<std::int32_t>(), 2);
  EXPECT_EQ(sum(x).dtype(), DType::i32);
  EXPECT_TRUE(amax(x).item<bool>());
  EXPECT_FALSE(amin(x).item<bool>());
  EXPECT_EQ(argmin(x, 0).item<std::int32_t>(), 1);
}

TEST_F(Reductions, SumsOfHalfPrecisionAccumulateWider) {
  std::vector<BFloat16> ones(1000, BFloat16(1.0f));  // in bf16 itself, 256 + 1 stays 256
  EXPECT_EQ(static_cast<float>(sum(Array(buffer_of(ones))).to_buffer().as<BFloat16>()[0]), 1000);
}

TEST_F(Reductions, ArgmaxIsTheFirstAndNaNCounts) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array x = {{1.f, 3.f, 3.f}, {nan, 5.f, nan}, {-0.f, 0.f, -1.f}};
  const auto largest = argmax(x, 1).to_buffer(), smallest = argmin(x, -1).to_buffer(), down = argmax(x, 0).to_buffer();
  EXPECT_EQ(std::vector(largest.as<std::int32_t>(), largest.as<std::int32_t>() + 3),
            (std::vector<std::int32_t>{1, 0, 0}));
  EXPECT_EQ(std::vector(smallest.as<std::int32_t>(), smallest.as<std::int32_t>() + 3),
            (std::vector<std::int32_t>{0, 0, 2}));
  EXPECT_EQ(std::vector(down.as<std::int32_t>(), down.as<std::int32_t>() + 3), (std::vector<std::int32_t>{1, 1, 1}));
}

TEST_F(Reductions, RefuseWhatIsNotThere) {
  const Array x = {{1.f, 2.f}};
  EXPECT_THROW(sum(x, 2), Error);
  EXPECT_THROW(sum(x, {0, -2}), ShapeError);
  EXPECT_THROW(any(x), DTypeError);
}

// Products of all elements but one, by every number of them, with no zero, one and two.
TEST_F(Reductions, DerivativesOfProductsAreProductsOfTheOthers) {
  for (std::int64_t n = 0; n <= 17; ++n)
    for (const int zeros : {0, 1, 2}) {
      std::vector<double> x;
      for (std::int64_t i = 0; i < n; ++i)
        x.push_back(i % 3 == 1 && i / 3 < zeros ? 0 : 1.5 - 0.25 * static_cast<double>(i));
      const ProgramRef p =
          program_of(*find_op("prod"), reduction_params({0}), std::vector{Type::array(DType::f64, {Dim(n)})});
      const std::vector<Value> got = sample::run(gradient(p, {true}), {buffer_of(x)});
      for (std::size_t i = 0; i < x.size(); ++i) {
        double others = 1;
        for (std::size_t k = 0; k < x.size(); ++k) others *= k == i ? 1 : x[k];
        EXPECT_NEAR(sample::element(got[0], static_cast<std::int64_t>(i)).real(), others, 1e-12 * std::abs(others))
            << n << " elements, " << zeros << " zeros, element " << i;
      }
    }
}

// Of a size that is not known while tracing, in all orders of derivatives and under vmap.
TEST_F(Reductions, DerivativesOfProductsAlongSymbolicAxes) {
  for (const DType dtype : {DType::f64, DType::c128})
    for (const auto& axes : std::vector<std::vector<std::int64_t>>{{0}, {1}, {0, 1}, {0, 2}}) {
      ProgramRef p;
      {
        Scope scope;
        const Dim n = scope.size_param();
        const Array x = scope.input(Type::array(dtype, {n, Dim(2), n}));
        p = scope.finish(Arrays{bind1(*find_op("prod"), reduction_params(axes), {x})}, "prod").program;
      }
      for (const std::int64_t n : {0, 1, 3}) {
        const sample::Subject s{
            p, [&] {
              return std::vector<Value>{sample::random_buffer(Type::array(dtype, {Dim(n), Dim(2), Dim(n)}), {-2, 2})};
            }};
        sample::expect_vmap_is_a_loop(s.program, s.inputs);
        for (const sample::Subject& first : {s, sample::jvp_of(s), sample::vjp_of(s)}) {
          sample::expect_jvp_is_the_difference(first.program, first.inputs);
          sample::expect_vjp_transposes_jvp(first.program, first.inputs);
        }
      }
    }
}

TEST_F(Reductions, DerivativesOfLongProductsAreShort) {
  const auto eqns = [](std::int64_t n) {
    const ProgramRef p =
        program_of(*find_op("prod"), reduction_params({0}), std::vector{Type::array(DType::f32, {Dim(n)})});
    return gradient(p, {true})->eqns().size() + jvp(p, {true}, {true})->eqns().size();
  };
  EXPECT_LE(eqns(1 << 20), 2 * eqns(1 << 10) + 10);
  EXPECT_LE(eqns((1 << 20) - 1), 600U);
}

}  // namespace
}  // namespace tenon
