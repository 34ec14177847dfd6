// Every elementwise op × dtype on special values, against expectations worked out without the library: long double for
// real dtypes, 128-bit integers, std::complex<long double>.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ir/op.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tests/by_oracle.h"
#include "tests/ops/independent.h"

namespace tenon {
namespace {

using namespace independent;
using Complex = std::complex<Real>;

// Correctly rounded in the format itself. Long double has more than twice the digits of f16, bf16 and f32, so that
// rounding through it is right there; for f64 it may be off by one unit.
constexpr Real exact = 0;
// libm promises results within about one unit; the ops that are composed of two calls double it.
constexpr Real by_libm = 2, by_two = 4;
// Giles' polynomials are made for 3 units.
constexpr Real by_polynomial = 4;

Real sign_of(Real x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
Real half_to_even(Real x) {
  if (!std::isfinite(x)) return x;
  const Real down = std::floor(x), rest = x - down;
  const Real up = rest > 0.5L || (rest == 0.5L && std::fmod(down, Real(2)) != 0);
  return std::copysign(down + up, x);
}
Real larger(Real x, Real y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<Real>::quiet_NaN();
  if (x == y) return std::signbit(x) ? y : x;  // -0 is below 0
  return x > y ? x : y;
}

Wide integer_power(Wide x, Wide y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  UnsignedWide result = 1, base = static_cast<UnsignedWide>(x);
  for (; y > 0; y /= 2, base *= base)
    if (y % 2 == 1) result *= base;
  return static_cast<Wide>(result);
}

// By bisection, on the complement where that has more digits.
Real inverse_erf(Real x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(HUGE_VALL, x) : NAN;
  const Real size = std::abs(x);
  Real low = 0, high = size < 0.1L ? size : 10;
  for (int i = 0; i < 200; ++i) {
    const Real middle = low + (high - low) / 2;
    const bool above = size < 0.5L ? std::erf(middle) > size : std::erfc(middle) < 1 - size;
    (above ? high : low) = middle;
  }
  return std::copysign(low, x);
}

struct Expectation {
  std::function<Real(Real, Real)> real;
  Real units = exact;  // of the last place
  std::function<Complex(Complex, Complex)> complex;
  std::function<Wide(Wide, Wide)> integer;  // wraps around
};

template <class F>
Expectation of_one(F f, Real units, Complex (*complex)(Complex) = nullptr, Wide (*integer)(Wide) = nullptr) {
  Expectation e{[f](Real x, Real) { return f(x); }, units};
  if (complex) e.complex = [complex](Complex x, Complex) { return complex(x); };
  if (integer) e.integer = [integer](Wide x, Wide) { return integer(x); };
  return e;
}
template <class F>
Expectation of_integers(F f) {
  return {.integer = f};
}
template <class F>
Expectation of_order(F f) {  // comparisons: one function for all numbers
  return {.real = f, .integer = f};
}

#define BY_LIBM(f) of_one([](Real x) { return std::f(x); }, by_libm, +[](Complex x) { return std::f(x); })
#define BY_LIBM_REAL(f) of_one([](Real x) { return std::f(x); }, by_libm)

const std::map<std::string_view, Expectation>& expectations() {
  static const std::map<std::string_view, Expectation> all{
      {"neg", of_one([](Real x) { return -x; }, exact, +[](Complex x) { return -x; }, +[](Wide x) { return -x; })},
      {"abs", of_one([](Real x) { return std::abs(x); }, exact, nullptr, +[](Wide x) { return x < 0 ? -x : x; })},
      {"sign", of_one(
                   sign_of, exact, nullptr, +[](Wide x) { return Wide((x > 0) - (x < 0)); })},
      {"floor", of_one([](Real x) { return std::floor(x); }, exact)},
      {"ceil", of_one([](Real x) { return std::ceil(x); }, exact)},
      {"round", of_one(half_to_even, exact)},
      {"sqrt", of_one([](Real x) { return std::sqrt(x); }, exact, +[](Complex x) { return std::sqrt(x); })},
      {"rsqrt",
       of_one([](Real x) { return 1 / std::sqrt(x); }, by_libm, +[](Complex x) { return Real(1) / std::sqrt(x); })},
      {"exp", BY_LIBM(exp)},
      {"expm1", of_one([](Real x) { return std::expm1(x); }, by_libm,
                       +[](Complex z) { return Real(2) * std::exp(z / Real(2)) * std::sinh(z / Real(2)); })},
      {"log", BY_LIBM(log)},
      {"log1p", of_one([](Real x) { return std::log1p(x); }, by_libm,
                       +[](Complex z) { return Real(2) * std::atanh(z / (z + Real(2))); })},
      {"sin", BY_LIBM(sin)},
      {"cos", BY_LIBM(cos)},
      {"tan", BY_LIBM(tan)},
      {"tanh", BY_LIBM(tanh)},
      {"sinh", BY_LIBM(sinh)},
      {"cosh", BY_LIBM(cosh)},
      {"asin", BY_LIBM(asin)},
      {"acos", BY_LIBM(acos)},
      {"atan", BY_LIBM(atan)},
      {"erf", BY_LIBM_REAL(erf)},
      {"erfc", BY_LIBM_REAL(erfc)},
      {"erf_inv", of_one(inverse_erf, by_polynomial)},
      {"logistic", of_one([](Real x) { return 1 / (1 + std::exp(-x)); }, by_two)},
      {"softsign", of_one([](Real x) { return x / (1 + std::abs(x)); }, by_two)},
      {"is_finite", of_one([](Real x) { return Real(std::isfinite(x)); }, exact)},
      {"not", of_integers([](Wide x, Wide) { return ~x; })},
      {"stop_gradient",
       of_one([](Real x) { return x; }, exact, +[](Complex x) { return x; }, +[](Wide x) { return x; })},
      {"add", {[](Real x, Real y) { return x + y; }, exact, std::plus<Complex>(), std::plus<Wide>()}},
      {"sub", {[](Real x, Real y) { return x - y; }, exact, std::minus<Complex>(), std::minus<Wide>()}},
      {"mul",
       {[](Real x, Real y) { return x * y; }, exact, std::multiplies<Complex>(),
        [](Wide x, Wide y) { return static_cast<Wide>(static_cast<UnsignedWide>(x) * static_cast<UnsignedWide>(y)); }}},
      {"div",
       {[](Real x, Real y) { return x / y; }, exact, std::divides<Complex>(),
        [](Wide x, Wide y) { return y == 0 ? Wide(-1) : x / y; }}},
      {"rem",
       {[](Real x, Real y) { return std::fmod(x, y); }, exact, nullptr,
        [](Wide x, Wide y) { return y == 0 ? x : x % y; }}},
      // 0 to a complex power is not compared: std::complex goes through log 0.
      {"pow",
       {[](Real x, Real y) { return std::pow(x, y); }, by_libm,
        [](Complex x, Complex y) { return x == Complex() ? Complex(NAN) : std::pow(x, y); }, integer_power}},
      {"atan2", {[](Real y, Real x) { return std::atan2(y, x); }, by_libm}},
      {"max", {larger, exact, nullptr, [](Wide x, Wide y) { return std::max(x, y); }}},
      {"min",
       {[](Real x, Real y) { return -larger(-x, -y); }, exact, nullptr, [](Wide x, Wide y) { return std::min(x, y); }}},
      {"and", of_integers([](Wide x, Wide y) { return x & y; })},
      {"or", of_integers([](Wide x, Wide y) { return x | y; })},
      {"xor", of_integers([](Wide x, Wide y) { return x ^ y; })},
      {"shift_left", of_integers([](Wide x, Wide y) {
         return y < 0 || y >= 64 ? Wide(0) : static_cast<Wide>(UnsignedWide(x) << y);
       })},
      {"shift_right", of_integers([](Wide x, Wide y) { return y < 0 || y > 64 ? Wide(x < 0 ? -1 : 0) : x >> y; })},
      {"eq", of_order([](auto x, auto y) { return x == y; })},
      {"ne", of_order([](auto x, auto y) { return x != y; })},
      {"lt", of_order([](auto x, auto y) { return x < y; })},
      {"le", of_order([](auto x, auto y) { return x <= y; })},
      {"gt", of_order([](auto x, auto y) { return x > y; })},
      {"ge", of_order([](auto x, auto y) { return x >= y; })},
  };
  return all;
}

std::size_t operands_of(const OpInfo& op, DType d) { return (*op.sample)(d).front().types.size(); }

enum class By { evaluator, native_code };

Buffer run_op(const OpInfo& op, const std::vector<Value>& operands, By by) {
  if (by == By::evaluator) return std::get<Buffer>(ReferenceExecutor().run_op(op, {}, operands)[0]);
  std::vector<Type> types;
  for (const Value& v : operands) types.push_back(type_of(v));
  return std::get<Buffer>(compile(program_of(op, {}, types))->run(operands)[0]);
}

template <class T>
std::string shown(T value) {
  if constexpr (is_complex_element<T>)
    return testing::PrintToString(value);
  else
    return testing::PrintToString(static_cast<double>(real_of(value)));
}

template <class T>
void check(const OpInfo& op, const Expectation& expected, const std::vector<T>& x, const std::vector<T>& y, By by) {
  constexpr DType d = *dtype_of<T>;
  std::vector<Value> operands{buffer_of(x)};
  if (operands_of(op, d) == 2) operands.push_back(buffer_of(y));
  const Buffer got = run_op(op, operands, by);
  const bool to_bool = got.dtype() == DType::bool_;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::string what = std::string(op.name) + " of " + std::string(name(d)) + " " + shown(x[i]) + " and " + shown(y[i]);
    if constexpr (is_complex_element<T>) {
      if (to_bool) {
        EXPECT_EQ(got.as<bool>()[i], (x[i] == y[i]) == (op.name == "eq")) << what;
        continue;
      }
      const Complex want = expected.complex(Complex(x[i]), Complex(y[i]));
      if (std::isnan(want.real()) || std::isinf(want.real())) continue;  // ISO C leaves these to the library
      if (Complex(got.as<T>()[i]) == want) continue;                     // infinite, maybe
      // Complex functions are accurate normwise; powers lose digits in the logarithm.
      EXPECT_LE(std::abs(Complex(got.as<T>()[i]) - want), 32 * last_place(std::abs(want), d)) << what << " " << want;
    } else if constexpr (is_real_element<T>) {
      const Real want = expected.real(real_of(x[i]), real_of(y[i]));
      if (to_bool)
        EXPECT_EQ(got.as<bool>()[i], want != 0) << what;
      else {
        const Real is = real_of(got.as<T>()[i]);
        Real units = d == DType::f64 ? std::max(expected.units, Real(1)) : expected.units;
        // Native functions are polynomials of their own, which may flush a step on the way: near the smallest normal
        // number they are right to within that number, and to the sign.
        const bool polynomial = by == By::native_code && expected.units > exact;
        if (polynomial) units = std::max(units, Real(4));
        const Real smallest = std::ldexp(Real(1), format(d).min_exponent);
        const bool flushes = by == By::native_code && close(is, flushed(want, d), d, units);
        const bool flushed_on_the_way =
            polynomial && std::signbit(is) == std::signbit(want) && std::abs(is - want) <= smallest;
        EXPECT_TRUE(close(is, want, d, units) || flushes || flushed_on_the_way)
            << what << ": " << shown(got.as<T>()[i]) << " for " << static_cast<double>(want);
      }
    } else {
      const Wide want = expected.integer(static_cast<Wide>(x[i]), static_cast<Wide>(y[i]));
      if (to_bool)
        EXPECT_EQ(got.as<bool>()[i], (want & (std::is_same_v<T, bool> ? 1 : ~Wide(0))) != 0) << what;
      else
        EXPECT_EQ(got.as<T>()[i], static_cast<T>(static_cast<UnsignedWide>(want))) << what;
    }
  }
}

void check_all(const OpInfo& op, By by) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto d = static_cast<DType>(i);
    if ((*op.sample)(d).empty()) continue;
    if (by == By::native_code && !why_not_native(*program_of(op, {}, (*op.sample)(d).front().types)).empty()) continue;
    dispatch(d, [&]<class T>(std::type_identity<T>) {
      const std::vector<T> values = special_values<T>();
      std::vector<T> x, y;
      const bool binary = operands_of(op, d) == 2;
      for (T a : values)
        for (T b : binary ? values : std::vector<T>{a}) x.push_back(a), y.push_back(b);
      check<T>(op, expectations().at(op.name), x, y, by);
    });
  }
}

class Elementwise : public testing::TestWithParam<std::string_view> {};

TEST_P(Elementwise, EvaluatesToWhatIsExpected) { check_all(*find_op(GetParam()), By::evaluator); }
TEST_P(Elementwise, CompilesToWhatIsExpected) { check_all(*find_op(GetParam()), By::native_code); }

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const auto& [name, expected] : expectations()) all.push_back(name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Elementwise, testing::ValuesIn(names()),
                         [](const auto& info) { return std::string(info.param); });

// An op that reads each operand at the output's own index has an expectation above, or a test of its own below.
TEST(ElementwiseOps, AllHaveAnIndependentExpectation) {
  const std::vector<std::string_view> own{"convert",          "select",          "literal", "threefry2x32",
                                          "bitcast",          "nextafter",       "real",    "imag",
                                          "reduce_precision", "checkpoint_name", "complex"};
  for (const OpInfo* op : all_ops()) {
    if (!op->lower) continue;
    const auto* element = std::get_if<LowerElement>(&*op->lower);
    if (element == nullptr || !element->elementwise || std::ranges::find(own, op->name) != own.end()) continue;
    EXPECT_TRUE(expectations().contains(op->name)) << op->name << ": say in expectations() what it computes";
  }
}

// --- the parts of complex numbers: bit by bit ---
TEST(ElementwiseOps, PartsOfComplexNumbersAreThoseInMemory) {
  const auto check_parts = []<class T>(T) {
    std::vector<std::complex<T>> z;
    std::vector<T> parts[2];
    for (const T x : special_values<T>())
      for (const T y : special_values<T>()) z.emplace_back(x, y), parts[0].push_back(x), parts[1].push_back(y);
    const Buffer whole = buffer_of(z), re = buffer_of(parts[0]), im = buffer_of(parts[1]);
    for (const By by : {By::evaluator, By::native_code}) {
      const Buffer got[] = {run_op(*find_op("real"), {whole}, by), run_op(*find_op("imag"), {whole}, by),
                            run_op(*find_op("complex"), {re, im}, by)};
      EXPECT_EQ(std::memcmp(got[0].data(), re.data(), re.bytes()), 0);
      EXPECT_EQ(std::memcmp(got[1].data(), im.data(), im.bytes()), 0);
      EXPECT_EQ(std::memcmp(got[2].data(), whole.data(), whole.bytes()), 0);
    }
  };
  check_parts(float());
  check_parts(double());
}

// --- convert ---
template <class To>
To converted(Real value) {
  if constexpr (std::is_same_v<To, bool>) {
    return !(value == 0);
  } else if constexpr (std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    const Real low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return value <= low    ? std::numeric_limits<To>::min()
           : value >= high ? std::numeric_limits<To>::max()
                           : static_cast<To>(std::trunc(value));
  } else if constexpr (is_complex_element<To>) {
    return To(stored<typename To::value_type>(rounded(value, *dtype_of<To>)), 0);
  } else {
    return stored<To>(rounded(value, *dtype_of<To>));
  }
}

template <class From, class To>
To converted_from(From value) {
  if constexpr (is_complex_element<From>) {
    if constexpr (is_complex_element<To>)
      return To(converted<typename To::value_type>(value.real()), converted<typename To::value_type>(value.imag()));
    else if constexpr (std::is_same_v<To, bool>)
      return value != From();
    else
      return converted<To>(value.real());
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    return static_cast<To>(static_cast<UnsignedWide>(static_cast<Wide>(value)));  // wraps around
  } else {
    return converted<To>(real_of(value));
  }
}

TEST(Convert, FromEveryDTypeToEveryDType) {
  for (int i = 0; i < dtype_count; ++i)
    for (int k = 0; k < dtype_count; ++k)
      dispatch(static_cast<DType>(i), [&]<class From>(std::type_identity<From>) {
        dispatch(static_cast<DType>(k), [&]<class To>(std::type_identity<To>) {
          if constexpr (!std::is_same_v<From, To>) {
            const ByOracle oracle;
            const auto values = special_values<From>();
            const Buffer got = convert(Array(buffer_of(values)), *dtype_of<To>).to_buffer();
            for (std::size_t n = 0; n < values.size(); ++n) {
              const To want = converted_from<From, To>(values[n]), is = got.as<To>()[n];
              bool same = false;
              if constexpr (is_complex_element<To>)
                same = is == want || (std::isnan(is.real()) && std::isnan(want.real()));
              else
                same = real_of(is) == real_of(want) || (std::isnan(real_of(is)) && std::isnan(real_of(want)));
              EXPECT_TRUE(same) << name(*dtype_of<From>) << " " << shown(values[n]) << " to " << name(*dtype_of<To>)
                                << " is " << shown(is) << " for " << shown(want);
            }
          }
        });
      });
}

TEST(Select, TakesWholeElementsOfEveryDType) {
  for (int i = 0; i < dtype_count; ++i)
    dispatch(static_cast<DType>(i), [&]<class T>(std::type_identity<T>) {
      const auto values = special_values<T>();
      const std::vector<T> reversed(values.rbegin(), values.rend());
      Buffer condition = Buffer::allocate(DType::bool_, {static_cast<std::int64_t>(values.size())});
      std::vector<T> want;
      for (std::size_t n = 0; n < values.size(); ++n) {
        condition.as<bool>()[n] = n % 3 == 0;
        want.push_back(n % 3 == 0 ? values[n] : reversed[n]);
      }
      EXPECT_TRUE(same_bits(run_op(select_op(), {condition, buffer_of(values), buffer_of(reversed)}, By::evaluator),
                            buffer_of(want)))
          << name(static_cast<DType>(i));
    });
}

}  // namespace
}  // namespace tenon
