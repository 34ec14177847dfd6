// Native code of complex numbers against the reference evaluator: functions over all magnitudes and at special values,
// rows of any length, statements of every kind.
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <sstream>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/eval/evaluate.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

template <class T>
using Numbers = std::vector<std::complex<T>>;
using Function = std::function<Array(const std::vector<Array>&)>;

// The results of native code and of the evaluator.
template <class T>
std::pair<Numbers<T>, Numbers<T>> both(const Function& f, const std::vector<Array>& in) {
  const ProgramRef program = flattened(trace(f)(in));
  EXPECT_EQ(why_not_native(*program), "");
  std::vector<Value> values;
  for (const Array& x : in) values.emplace_back(x.to_buffer());
  const auto numbers = [](const Value& v) {
    const Buffer b = std::get<Buffer>(v).contiguous_copy();
    return Numbers<T>(b.as<std::complex<T>>(), b.as<std::complex<T>>() + b.elements());
  };
  return {numbers(compile(program)->run(values)[0]), numbers(evaluate(*program, {}, values)[0])};
}

template <class T>
std::string text(std::complex<T> z) {
  std::ostringstream out;
  out.precision(17);
  out << z;
  return out.str();
}
// Equal, or both with a NaN or infinite, or near beside the modulus.
template <class T>
void expect_near(const Numbers<T>& got, const Numbers<T>& want, double tolerance, const std::string& what,
                 const Numbers<T>& of = {}) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto g = std::complex<double>(got[i]), w = std::complex<double>(want[i]);
    if (g == w || std::abs(g - w) <= tolerance * std::abs(w)) continue;
    EXPECT_TRUE(!std::isfinite(std::abs(w)) && !std::isfinite(std::abs(g)))
        << what << (of.empty() ? "" : " of " + text(of[i])) << " is " << text(got[i]) << " for " << text(want[i]);
  }
}

template <class T>
Numbers<T> of_all_magnitudes() {
  std::vector<T> parts{0, 1};
  for (int e = -30; e <= 30; e += 5) parts.push_back(static_cast<T>(1.37 * std::pow(10., e)));
  for (const double x : {0.5, 0.99, 1.01, 2., 3.3, 20., 50.}) parts.push_back(static_cast<T>(x));
  Numbers<T> all;
  for (const T x : parts)
    for (const T y : parts)
      for (const T s : {T(1), T(-1)})
        for (const T t : {T(1), T(-1)}) all.emplace_back(s * x, t * y);
  return all;
}
template <class T>
Array numbers(const Numbers<T>& all) {
  return array<std::complex<T>>(all, {static_cast<std::int64_t>(all.size())});
}

template <class T>
void check_functions() {
  const Numbers<T> all = of_all_magnitudes<T>();
  const double rounding = std::numeric_limits<T>::epsilon();
  const std::pair<std::string, Function> functions[] = {
      {"sqrt", [](const auto& x) { return sqrt(x[0]); }},   {"log", [](const auto& x) { return log(x[0]); }},
      {"exp", [](const auto& x) { return exp(x[0]); }},     {"tanh", [](const auto& x) { return tanh(x[0]); }},
      {"sinh", [](const auto& x) { return sinh(x[0]); }},   {"cosh", [](const auto& x) { return cosh(x[0]); }},
      {"rsqrt", [](const auto& x) { return rsqrt(x[0]); }}, {"negated", [](const auto& x) { return -x[0]; }},
      {"inverse", [](const auto& x) { return 1 / x[0]; }},  {"expm1", [](const auto& x) { return expm1(x[0]); }},
      {"log1p", [](const auto& x) { return log1p(x[0]); }}, {"asin", [](const auto& x) { return asin(x[0]); }},
      {"acos", [](const auto& x) { return acos(x[0]); }},   {"atan", [](const auto& x) { return atan(x[0]); }},
      {"asinh", [](const auto& x) { return asinh(x[0]); }}, {"acosh", [](const auto& x) { return acosh(x[0]); }},
      {"atanh", [](const auto& x) { return atanh(x[0]); }},
  };
  for (const auto& [name, f] : functions) {
    const auto [got, want] = both<T>(f, {numbers(all)});
    expect_near(got, want, 8 * rounding, name, all);
  }
  // Of angles and of exponents that are large only their rounding decides.
  Numbers<T> moderate;
  for (const auto& z : all)
    if (std::abs(z.real()) < 30 && std::abs(z.imag()) < 30) moderate.push_back(z);
  const std::pair<std::string, Function> angles[] = {
      {"sin", [](const auto& x) { return sin(x[0]); }},
      {"cos", [](const auto& x) { return cos(x[0]); }},
      {"tan", [](const auto& x) { return tan(x[0]); }},
      {"power", [](const auto& x) { return pow(x[0], x[0] * 0.1); }},
  };
  for (const auto& [name, f] : angles) {
    const auto [got, want] = both<T>(f, {numbers(moderate)});
    expect_near(got, want, 64 * rounding, name, moderate);
  }
}
TEST(ComplexNumbers, FunctionsOfAllMagnitudes) {
  check_functions<float>();
  check_functions<double>();
}

template <class T>
void check_quotients() {
  Numbers<T> x, y;
  for (const auto& z : of_all_magnitudes<T>())
    for (const std::complex<T> w : {std::complex<T>(3, -4), {T(1e-20), T(2e-20)}, {T(1e30), T(-1e-30)}, {0, T(0.1)}})
      x.push_back(w), y.push_back(z);
  const auto [got, want] = both<T>([](const auto& in) { return in[0] / in[1]; }, {numbers(x), numbers(y)});
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Where the evaluator's own scaling underflows or overflows, doubles tell.
    const auto w = std::complex<long double>(x[i]) / std::complex<long double>(y[i]);
    const auto g = std::complex<long double>(got[i]);
    const long double largest = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
    if (!(std::abs(w) < largest / 2) || std::abs(w) < least * 1e8L) continue;
    EXPECT_LE(std::abs(g - w), 8 * std::numeric_limits<T>::epsilon() * std::abs(w))
        << text(x[i]) << " / " << text(y[i]) << " is " << text(got[i]);
  }
}
TEST(ComplexNumbers, QuotientsNeitherOverflowNorVanishOnTheWay) {
  check_quotients<float>();
  check_quotients<double>();
}

// Zeros, infinities and NaN: which parts are NaN, infinite and zero, and the signs of those that are not NaN.
TEST(ComplexNumbers, SpecialValues) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  Numbers<double> all;
  for (const double x : {0., -0., 1., -1., inf, -inf})
    for (const double y : {0., -0., 1., -1., inf, -inf}) all.emplace_back(x, y);
  const auto same = [](double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::abs(a - b) <= 1e-15 * std::abs(b) && (a != 0 || std::signbit(a) == std::signbit(b));
  };
  const std::pair<std::string, Function> functions[] = {
      {"sqrt", [](const auto& x) { return sqrt(x[0]); }},
      {"log", [](const auto& x) { return log(x[0]); }},
  };
  const auto expect_same = [&](const auto& of_each, const Numbers<double>& in) {
    for (const auto& [name, f] : of_each) {
      const auto [got, want] = both<double>(f, {numbers(in)});
      for (std::size_t i = 0; i < in.size(); ++i)
        EXPECT_TRUE(same(got[i].real(), want[i].real()) && same(got[i].imag(), want[i].imag()))
            << name << " of " << text(in[i]) << " is " << text(got[i]) << " for " << text(want[i]);
    }
  };
  expect_same(functions, all);
  // Of inverse functions also beside NaN, and on both sides of their branch cuts.
  Numbers<double> more = all;
  for (const double x : {0., -0., 1., inf, -inf, 2., -2., 0.5})
    for (const std::complex<double> z : {std::complex<double>(x, nan), {nan, x}, {x, 0.}, {x, -0.}, {0., x}, {-0., x}})
      more.push_back(z);
  const std::pair<std::string, Function> inverses[] = {
      {"asin", [](const auto& x) { return asin(x[0]); }},   {"acos", [](const auto& x) { return acos(x[0]); }},
      {"atan", [](const auto& x) { return atan(x[0]); }},   {"asinh", [](const auto& x) { return asinh(x[0]); }},
      {"acosh", [](const auto& x) { return acosh(x[0]); }}, {"atanh", [](const auto& x) { return atanh(x[0]); }},
  };
  expect_same(inverses, more);
  const auto first = [](const Function& f, std::complex<double> z) {
    return both<double>(f, {numbers(Numbers<double>{z})}).first[0];
  };
  const auto inverse = [](const auto& x) { return 1 / x[0]; };
  EXPECT_EQ(first(inverse, {inf, 1}), std::complex<double>(0));
  EXPECT_EQ(first(inverse, {-inf, inf}), std::complex<double>(0));
  EXPECT_EQ(first(inverse, {0, 0}).real(), inf);
  const auto exponential = [](const auto& x) { return exp(x[0]); };
  EXPECT_EQ(first(exponential, {-inf, nan}), std::complex<double>(0));
  EXPECT_EQ(first(exponential, {inf, 0}), std::complex<double>(inf, 0));
  EXPECT_EQ(first(exponential, {709.9, 1.5}).imag(), std::exp(std::complex<double>(709.9, 1.5)).imag());
  EXPECT_EQ(first([](const auto& x) { return tanh(x[0]); }, {inf, 2}).real(), 1);
  EXPECT_EQ(first([](const auto& x) { return pow(x[0], x[0] * 0 + 2); }, {0, 0}), std::complex<double>(0));
}

Array row(std::int64_t n, DType dtype) {
  const Array x = arange(static_cast<double>(n));
  return convert(complex(sin(x * 0.7 + 0.1), cos(x * 1.3) + 0.2), dtype);
}

TEST(ComplexNumbers, RowsOfAnyLength) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 257, 1000}) {
    const Array x = row(n, DType::c64), y = reverse(row(n, DType::c64), {0});
    const std::pair<std::string, Function> cases[] = {
        {"a chain", [](const auto& v) { return v[0] * v[1] + conj(v[0]) / v[1]; }},
        {"two results in one nest", [](const auto& v) { return stack({v[0] + v[1], v[0] * v[1]}); }},
        {"every second",
         [](const auto& v) { return slice(v[0], {0}, {v[0].size(0)}, {2}) * slice(v[1], {0}, {v[1].size(0)}, {2}); }},
        {"backwards", [](const auto& v) { return reverse(v[0], {0}) - v[1]; }},
        {"a sum", [](const auto& v) { return sum(v[0] * v[1]); }},
        {"a product", [](const auto& v) { return prod(v[0] + 0.3f); }},
        {"rows that meet columns", [](const auto& v) { return sum(expand_dims(v[0], 0) * expand_dims(v[1], 1), 0); }},
        {"only real parts", [](const auto& v) { return convert(real(v[0]) * imag(v[1]), DType::c64); }},
    };
    for (const auto& [name, f] : cases) {
      const auto [got, want] = both<float>(f, {x, y});
      Numbers<float> difference;
      double largest = 1;
      for (const auto& w : want) largest = std::max(largest, double(std::abs(w)));
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_LE(std::abs(got[i] - want[i]), 1e-6 * double(n + 8) * largest) << name << " of " << n << " at " << i;
    }
  }
}

// Products as tenon_gemm divides them, with operands in every order of axes.
TEST(ComplexNumbers, Products) {
  for (const auto& [m, k, n] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {1, 300, 1}, {1, 70, 90}, {90, 70, 1}, {3, 5, 2}, {17, 33, 65}, {64, 64, 64}, {40, 700, 30}}) {
    const Array a = reshape(row(m * k, DType::c128), {m, k}), b = reshape(row(k * n, DType::c128), {k, n});
    const Array at = reshape(row(m * k, DType::c128), {k, m}), bt = reshape(row(k * n, DType::c128), {n, k});
    const auto turned = [](const Array& x) { return move_axis(x, 0, 1); };
    const std::pair<std::string, std::pair<Function, std::vector<Array>>> cases[] = {
        {"a·b", {[](const auto& v) { return matmul(v[0], v[1]); }, {a, b}}},
        {"aᵀ·b", {[&](const auto& v) { return matmul(turned(v[0]), v[1]); }, {at, b}}},
        {"a·bᵀ", {[&](const auto& v) { return matmul(v[0], turned(v[1])); }, {a, bt}}},
        {"(a·b)ᵀ", {[&](const auto& v) { return turned(matmul(v[0], v[1])) + 0; }, {a, b}}},
        {"a·b + c",
         {[](const auto& v) { return matmul(v[0], v[1]) + v[2]; }, {a, b, reshape(row(m * n, DType::c128), {m, n})}}},
        {"three at once",
         {[](const auto& v) { return matmul(stack({v[0], v[0] * 2., conj(v[0])}), stack({v[1], v[1] + 1., v[1]})); },
          {a, b}}},
    };
    for (const auto& [name, f] : cases) {
      const auto [got, want] = both<double>(f.first, f.second);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_LE(std::abs(got[i] - want[i]), 1e-14 * double(k + 8)) << name << " of " << m << k << n << " at " << i;
    }
  }
}

Array triangle(const Array& a, bool lower) {
  const Array row = iota(DType::i32, a.shape(), 0), column = iota(DType::i32, a.shape(), 1);
  return where(lower ? row >= column : row <= column, a, 0);
}

TEST(ComplexNumbers, SystemsOfManyEquations) {
  for (const std::int64_t n : {1, 5, 31, 32, 33, 70, 130}) {
    const Array a = reshape(row(n * n, DType::c128), {n, n}) + eye(n, DType::c128) * 3.,
                b = reshape(row(n * 3, DType::c128), {n, 3});
    const Array hermitian = matmul(a, conj(move_axis(a, 0, 1))) + eye(n, DType::c128) * double(n);
    const auto residual = [](const Function& f, const std::vector<Array>& in) {
      const ProgramRef p = trace(f)(in);
      EXPECT_EQ(why_not_native(*flattened(p)), "");
      return amax(abs(jit(f)(in))).item<double>();
    };
    EXPECT_LE(residual([](const auto& v) { return matmul(v[0], solve(v[0], v[1])) - v[1]; }, {a, b}),
              1e-11 * double(n));
    for (const bool lower : {false, true})
      for (const bool transpose : {false, true}) {
        const auto f = [&](const std::vector<Array>& v) {
          const Array t = triangle(v[0], lower) + eye(v[0].size(0), DType::c128) * double(n);
          const Array x = triangular_solve(t, v[1], {.left_side = true, .lower = lower, .transpose_a = transpose});
          return matmul(transpose ? move_axis(t, 0, 1) : t, x) - v[1];
        };
        EXPECT_LE(residual(f, {a, b}), 1e-11 * double(n)) << n << lower << transpose;
      }
    EXPECT_LE(residual(
                  [](const auto& v) {
                    const Array l = cholesky(v[0]);
                    return matmul(l, conj(move_axis(l, 0, 1))) - v[0];
                  },
                  {hermitian}),
              1e-11 * double(n * n));
  }
}

}  // namespace
}  // namespace tenon
