// Floats of 8 bits: conversions of all codes and of what lies between them, by the evaluator and by native code; what
// ops of every kind make of them; products; what they meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"
#include "tests/ops/independent.h"

namespace tenon::of_float8 {
namespace {

using namespace independent;
using testing::HasSubstr;

template <class F>
void for_each_format(F f) {
  for (int d = 0; d < dtype_count; ++d)
    dispatch(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float8(*dtype_of<T>)) f(std::type_identity<T>());
    });
}

// Of those with arithmetic.
template <class F>
void for_each_signed_format(F f) {
  for_each_format([&]<class T>(std::type_identity<T> type) {
    if constexpr (!is_powers(*dtype_of<T>)) f(type);
  });
}

template <class T>
std::vector<T> codes() {
  std::vector<T> all(256);
  for (unsigned bits = 0; bits < 256; ++bits) all[bits].bits = static_cast<std::uint8_t>(bits);
  return all;
}
template <class T>
Array all_of() {
  return Array(buffer_of(codes<T>()));
}

template <class F>
Buffer by_evaluator(const F& f, const Array& x) {
  const ByOracle oracle;
  return f(x).to_buffer().contiguous_copy();
}
template <class F>
Buffer natively(const F& f, const Array& x) {
  return jit(f)(x).to_buffer().contiguous_copy();
}

// A code's number by the definition of the format, with NaN where it has none.
template <class T>
Real plain(unsigned code) {
  const Format f = format(*dtype_of<T>);
  if (!f.sign) return code == 255 ? Real(NAN) : std::ldexp(Real(1), static_cast<int>(code) - 127);
  const int fraction = f.digits - 1, bias = 1 - f.min_exponent;
  const int magnitude = static_cast<int>(code & 0x7f), exponent = magnitude >> fraction,
            kept = magnitude & ((1 << fraction) - 1);
  const Real size = exponent == 0 ? std::ldexp(Real(kept), f.min_exponent - fraction)
                                  : std::ldexp(Real(kept + (1 << fraction)), exponent - bias - fraction);
  const Real sign = code & 0x80 ? -1 : 1;
  if (code == 0x80 && !f.negative_zero) return NAN;
  if (size <= f.max) return sign * size;
  return f.infinity && kept == 0 ? sign * std::numeric_limits<Real>::infinity() : Real(NAN);
}

template <class T>
bool same_number(T x, T y) {
  if (std::isnan(real_of(x)) || std::isnan(real_of(y))) return std::isnan(real_of(x)) && std::isnan(real_of(y));
  return std::memcmp(&x, &y, sizeof x) == 0;
}
// As numbers, zeros told apart: which NaN a computation gives is open.
void expect_same(const Buffer& got, const Buffer& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  ASSERT_EQ(got.elements(), want.elements()) << what;
  dispatch(got.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      if constexpr (is_real_element<T>)
        ASSERT_TRUE(same_number(got.as<T>()[i], want.as<T>()[i]))
            << what << ", element " << i << ": " << static_cast<double>(real_of(got.as<T>()[i])) << " for "
            << static_cast<double>(real_of(want.as<T>()[i]));
      else
        ASSERT_EQ(got.as<T>()[i], want.as<T>()[i]) << what << ", element " << i;
    }
  });
}

TEST(Float8, EveryCodeIsItsNumber) {
  for_each_format([]<class T>(std::type_identity<T>) {
    const auto check = [&]<class Wide>(std::type_identity<Wide>) {
      const auto wide = [](const Array& x) { return convert(x, *dtype_of<Wide>); };
      const auto back = [](const Array& x) { return convert(x, *dtype_of<T>); };
      const auto there_and_back = [&](const Array& x) { return back(wide(x)); };
      for (const Buffer& made : {by_evaluator(wide, all_of<T>()), natively(wide, all_of<T>())})
        for (unsigned code = 0; code < 256; ++code) {
          const Real want = plain<T>(code), got = real_of(made.as<Wide>()[code]);
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want))
              << name(*dtype_of<T>) << " " << code;
          ASSERT_EQ(std::signbit(got), format(*dtype_of<T>).sign && (code & 0x80) != 0) << code;  // of NaN too
        }
      const Array numbers = wide(all_of<T>());
      for (const Buffer& made :
           {by_evaluator(back, numbers), natively(back, numbers), natively(there_and_back, all_of<T>())})
        for (unsigned code = 0; code < 256; ++code) {
          const T got = made.as<T>()[code];
          ASSERT_TRUE(std::isnan(plain<T>(code)) ? std::isnan(real_of(got)) && (got.bits & 0x80) == (code & 0x80)
                                                 : got.bits == code)
              << name(*dtype_of<T>) << " " << code;
        }
    };
    check(std::type_identity<float>());
    check(std::type_identity<double>());
    check(std::type_identity<BFloat16>());
  });
}

// Every f16 and bf16; ties between neighbours, what lies beside them, limits, subnormal and drawn numbers of f32 and
// f64.
TEST(Float8, NumbersRoundToTheNearestCode) {
  for_each_format([]<class T>(std::type_identity<T>) {
    constexpr DType d = *dtype_of<T>;
    const auto check = [&]<class Wide>(const std::vector<Wide>& values) {
      const auto narrow_of = [](const Array& x) { return convert(x, *dtype_of<T>); };
      const Array x = Array(buffer_of(values));
      for (const Buffer& made : {by_evaluator(narrow_of, x), natively(narrow_of, x)})
        for (std::size_t i = 0; i < values.size(); ++i) {
          const Real value = real_of(values[i]), want = rounded(value, d), got = real_of(made.as<T>()[i]);
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want))
              << name(d) << ": " << static_cast<double>(value) << " is " << static_cast<double>(got) << " for "
              << static_cast<double>(want);
          const unsigned bits = made.as<T>()[i].bits;
          if (std::isnan(want) && format(d).negative_zero) {
            ASSERT_EQ((bits & 0x80) != 0, std::signbit(value));
          }
        }
    };
    const auto check_halves = [&]<class Half>(std::type_identity<Half>) {
      std::vector<Half> all(0x10000);
      for (unsigned bits = 0; bits < 0x10000; ++bits) all[bits].bits = static_cast<std::uint16_t>(bits);
      check(all);
    };
    check_halves(std::type_identity<Float16>());
    check_halves(std::type_identity<BFloat16>());
    const auto check_wide = [&]<class Wide>(std::type_identity<Wide>, auto drawn) {
      std::vector<Wide> values;
      constexpr Wide most = std::numeric_limits<Wide>::max(), inf = std::numeric_limits<Wide>::infinity();
      for (unsigned code = 0; code < (format(d).sign ? 0x7fu : 0xffu); ++code) {
        const Real a = plain<T>(code), b = plain<T>(code + 1);
        if (!std::isfinite(a)) continue;
        const auto tie = static_cast<Wide>(std::isfinite(b) ? (a + b) / 2 : a + last_place(a, d) / 2);
        for (const Wide v : {tie, std::nextafter(tie, Wide(0)), std::nextafter(tie, most)})
          values.insert(values.end(), {v, -v});
      }
      for (const Wide v : {Wide(0), most, inf, std::numeric_limits<Wide>::min(),
                           std::numeric_limits<Wide>::denorm_min(), std::numeric_limits<Wide>::quiet_NaN()})
        values.insert(values.end(), {v, -v});
      std::mt19937_64 random(3);
      for (int i = 0; i < 20000; ++i) values.push_back(drawn(random()));
      check(values);
    };
    check_wide(std::type_identity<float>(), [](std::uint64_t bits) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x80ffffff) |
                                  (90u + static_cast<std::uint32_t>(bits >> 32) % 60) << 23);
    });
    check_wide(std::type_identity<double>(), [](std::uint64_t bits) {
      return std::bit_cast<double>((bits & 0x800fffffffffffff) | (990 + (bits >> 52) % 60) << 52);
    });
    check_wide(std::type_identity<float>(),
               [](std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); });
    check_wide(std::type_identity<double>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
    std::vector<std::int32_t> integers;
    for (std::int32_t i = -70000; i < 70000; i += 7) integers.push_back(i);
    check(integers);
  });
}

// Scales of blocks: moved, chosen, compared, sorted and converted, and nothing else.
TEST(Float8, PowersOfTwoAreStorage) {
  using Scale = Float8<DType::f8e8m0fnu>;
  const Array all = all_of<Scale>(), some = convert(Array{1.0, 2.0, 0.25}, DType::f8e8m0fnu);
  const std::vector<std::pair<const char*, std::function<Array(const Array&)>>> functions{
      {"reverse", [](const Array& x) { return reverse(x, {0}); }},
      {"where", [](const Array& x) { return where(x > reverse(x, {0}), x, reverse(x, {0})); }},
      {"compare", [](const Array& x) { return x <= reverse(x, {0}); }},
      {"equal", [](const Array& x) { return x == x; }},
      {"is_nan", [](const Array& x) { return is_nan(x); }},
      {"take", [](const Array& x) { return take(x, Array{255, 3, 0, 128}, 0); }},
      {"fill", [](const Array& x) { return take(x, Array{3, 700}, 0, {.mode = IndexMode::fill}); }},
      {"set", [](const Array& x) { return x.at(Array{3, 5}).set(x(slice(100, 102))); }},
      {"pad", [](const Array& x) { return pad(x, x(7), {2}, {3}, {1}); }},
      {"concatenate", [](const Array& x) { return concatenate({x, x}, 0); }},
      {"sort", [](const Array& x) { return sort(x); }},
      {"sort down", [](const Array& x) { return sort(x, -1, {.descending = true}); }},
      {"argsort", [](const Array& x) { return argsort(x); }},
      {"to bytes", [](const Array& x) { return bitcast(x, DType::u8); }},
      {"of bytes", [](const Array& x) { return bitcast(bitcast(x, DType::u8), DType::f8e8m0fnu); }},
      {"to bool", [](const Array& x) { return convert(x, DType::bool_); }},
      {"to i32", [](const Array& x) { return convert(x, DType::i32); }},
      {"to f16", [](const Array& x) { return convert(x, DType::f16); }},
      {"to e5m2", [](const Array& x) { return convert(x, DType::f8e5m2); }},
      {"to f64 and back", [](const Array& x) { return convert(convert(x, DType::f64), DType::f8e8m0fnu); }},
      {"scaled", [](const Array& x) { return convert(convert(x(slice(1, 255)), DType::f32) * 3.f, DType::f8e8m0fnu); }},
      {"vmap", [](const Array& x) { return vmap([](Array row) { return row(Array(2)); })(reshape(x, {16, 16})); }},
  };
  for (const auto& [what, f] : functions) {
    const auto call = [&f = f](const Array& x) { return f(x); };
    expect_same(natively(call, all), by_evaluator(call, all), what);
  }
  for (const auto& f : std::vector<std::function<Array()>>{
           [&] { return some + some; }, [&] { return -some; }, [&] { return some * 2.0; }, [&] { return sum(some); },
           [&] { return max(some, some); }, [&] { return amax(some); }, [&] { return matmul(some, some); },
           [&] { return sqrt(some); }, [&] { return random::uniform(random::key(1), {2}, DType::f8e8m0fnu); }})
    EXPECT_THAT(message_of([&] { (void)f(); }), HasSubstr("f8e8m0fnu"));
  EXPECT_THAT(message_of([&] { (void)(some * some); }), HasSubstr("no sign and no zero: convert it to f32"));
  // Numbers, to those that compute with them: nothing depends on them smoothly.
  const auto scaled = [](const Array& x, const Array& s) { return sum(x * convert(s, DType::f32)); };
  const Array x{1.f, -2.f, 3.f};
  const auto numbers = [](const Array& a) { return a.to_buffer().contiguous_copy(); };
  const auto slope = grad([&](const Array& a) { return scaled(a, some); });
  expect_same(numbers(slope(x)), numbers(convert(some, DType::f32)), "a derivative beside scales");
  EXPECT_THAT(message_of([&] { (void)grad([&](const Array& s) { return scaled(x, s); })(some); }),
              HasSubstr("f8e8m0fnu[3]"));
  const auto stored = [](const Array& a) { return sum(a * convert(convert(abs(a), DType::f8e8m0fnu), DType::f32)); };
  expect_same(numbers(jit(grad(stored))(x)), numbers(Array{1.f, 2.f, 4.f}), "a derivative around scales");
}

// Halves are rounded once too: f64 close to a tie does not pass through f32.
TEST(Float8, HalvesOfF64AreRoundedOnce) {
  for (const DType d : {DType::f16, DType::bf16}) {
    const double tie = 1 + std::ldexp(1.0, format_of(d).epsilon() - 1);
    const Array x{std::nextafter(tie, 2.0), tie, -std::nextafter(tie, 2.0), 1e-310, 1e300, -0.0};
    const auto narrow_of = [d](const Array& a) { return convert(a, d); };
    expect_same(natively(narrow_of, x), by_evaluator(narrow_of, x), std::string(name(d)));
  }
}

// By native code and by the evaluator, on all codes.
TEST(Float8, OpsAreTheReference) {
  using Function = std::function<Array(const Array&)>;
  const std::vector<std::pair<const char*, Function>> functions{
      {"x + reversed", [](const Array& x) { return x + reverse(x, {0}); }},
      {"x * reversed", [](const Array& x) { return x * reverse(x, {0}); }},
      {"x / 3", [](const Array& x) { return x / 3.0; }},
      {"(x + 1) * x - 0.5", [](const Array& x) { return (x + 1.0) * x - 0.5; }},
      {"abs, neg, sign", [](const Array& x) { return abs(-x) + sign(x); }},
      {"floor", [](const Array& x) { return floor(x); }},
      {"sqrt", [](const Array& x) { return sqrt(abs(x)); }},
      {"max", [](const Array& x) { return max(x, reverse(x, {0})); }},
      {"compare", [](const Array& x) { return x < reverse(x, {0}); }},
      {"is_nan", [](const Array& x) { return is_nan(x); }},
      {"is_finite", [](const Array& x) { return is_finite(x); }},
      {"is_inf", [](const Array& x) { return is_inf(x); }},
      {"where", [](const Array& x) { return where(x > 1.0, x, -x); }},
      {"to i8", [](const Array& x) { return convert(x, DType::i8); }},
      {"to bool", [](const Array& x) { return convert(x, DType::bool_); }},
      {"to e5m2", [](const Array& x) { return convert(x, DType::f8e5m2); }},
      {"to e4m3fn and back", [](const Array& x) { return convert(convert(x, DType::f8e4m3fn), x.dtype()); }},
      {"sort", [](const Array& x) { return sort(x); }},
      {"sort down", [](const Array& x) { return sort(x, -1, {.descending = true}); }},
      {"argsort", [](const Array& x) { return argsort(x); }},
      {"top_k", [](const Array& x) { return top_k(x, 9).indices; }},
      {"reduce_max", [](const Array& x) { return amax(reshape(x, {16, 16}), Axes{0}); }},
      {"reduce_min of numbers", [](const Array& x) { return amin(where(is_nan(x), 1.0, x)); }},
      {"reduce_max of numbers", [](const Array& x) { return amax(where(is_nan(x), 1.0, x)); }},
      {"nanmax", [](const Array& x) { return nanmax(x); }},
      {"argmax", [](const Array& x) { return argmax(reshape(x, {16, 16}), Axes{1}); }},
      {"prod", [](const Array& x) { return prod(reshape(where(is_finite(x), x, 1.0), {64, 4}), Axes{1}); }},
      {"gather", [](const Array& x) { return take(x, Array{255, 3, 128, 127, 0}); }},
      {"scatter", [](const Array& x) { return x.at(Array{1, 5, 255}).set(Array(2.0)); }},
      {"scatter add", [](const Array& x) { return x.at(Array{1, 5, 255}).add(Array(2.0)); }},
      {"concatenate", [](const Array& x) { return concatenate(std::vector<Array>{x, x}, 0); }},
      {"pad",
       [](const Array& x) {
         return tenon::pad(x, Array(0.5), std::vector<std::int64_t>{3}, std::vector<std::int64_t>{1});
       }},
      {"transpose", [](const Array& x) { return transpose(reshape(x, {16, 16}), {1, 0}); }},
      {"bits", [](const Array& x) { return bitcast(bitcast(x, DType::u8), x.dtype()); }},
      {"exp", [](const Array& x) { return exp(x); }},
      {"sin and cos", [](const Array& x) { return sin(x) * cos(x); }},
      {"cummax", [](const Array& x) { return cummax(where(is_nan(x), 0.0, x)); }},
      {"scan",
       [](const Array& x) {
         const auto step = [](Array c, Array e) { return std::pair(c * 0.5 + e, c); };
         return scan(step, full({16}, Array(Scalar::one(x.dtype()))), reshape(where(is_finite(x), x, 1.0), {16, 16}))
             .second;
       }},
      {"vmap",
       [](const Array& x) {
         return vmap([](Array row) { return row * row(0) + where(row > 0.0, row, 1.0); })(reshape(x, {16, 16}));
       }},
  };
  for_each_signed_format([&]<class T>(std::type_identity<T>) {
    for (const auto& [what, f] : functions) {
      const auto call = [&f = f](const Array& x) { return f(x); };
      expect_same(natively(call, all_of<T>()), by_evaluator(call, all_of<T>()),
                  std::string(name(*dtype_of<T>)) + ": " + what);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

// Sums are taken in f32 and rounded once.
TEST(Float8, SumsAreOfF32) {
  for_each_signed_format([]<class T>(std::type_identity<T>) {
    const Array ones = full({100}, Array(Scalar::one(*dtype_of<T>))), eighths = ones / 8.0;
    const auto total = [](const Array& x) { return sum(x); };
    for (const Buffer& got : {natively(total, eighths), by_evaluator(total, eighths)})
      EXPECT_EQ(real_of(got.as<T>()[0]),
                rounded(real_of((ones / 8.0).to_buffer().template as<T>()[0]) * 100, *dtype_of<T>));
    // Beyond the largest number of e4m3fn and its kin.
    const auto of_many = [](const Array& x) { return sum(x * 8.0); };
    for (const Buffer& got : {natively(of_many, ones), by_evaluator(of_many, ones)})
      EXPECT_TRUE(close(real_of(got.as<T>()[0]), 800, *dtype_of<T>, 0)) << name(*dtype_of<T>);
  });
}

TEST(Float8, DerivativesGoThroughConversions) {
  for_each_signed_format([]<class T>(std::type_identity<T>) {
    const Array x = convert(Array{0.5, -1.0, 1.5}, *dtype_of<T>);
    const auto square_of = [](Array a) { return sum(square(convert(a, DType::f32))); };
    const Array slope = grad(square_of)(x), compiled = jit(grad(square_of))(x);
    EXPECT_EQ(slope.dtype(), *dtype_of<T>);
    expect_same(slope.to_buffer(), convert(Array{1.0, -2.0, 3.0}, *dtype_of<T>).to_buffer(), "grad");
    expect_same(compiled.to_buffer(), slope.to_buffer(), "jit(grad)");
    // The cotangent of f32 passes through a conversion there and back.
    const auto stored_narrow = [](Array a) { return sum(square(convert(convert(a, *dtype_of<T>), DType::f32))); };
    const Array wide{0.5f, -1.0f, 1.5f};
    EXPECT_EQ(grad(stored_narrow)(wide).dtype(), DType::f32);
    expect_same(jit(grad(stored_narrow))(wide).to_buffer(), grad(stored_narrow)(wide).to_buffer(), "grad of storage");
    const auto in_place = [](Array a) { return sum(a * a); };
    expect_same(jit(grad(in_place))(x).to_buffer(), slope.to_buffer(), "grad in f8");
    expect_same(vmap(grad(square_of))(reshape(x, {3, 1})).to_buffer(), slope.to_buffer(), "vmap(grad)");
  });
}

TEST(Float8, ProductsAreSummedInF32) {
  std::mt19937_64 random(7);
  for_each_signed_format([&]<class T>(std::type_identity<T>) {
    constexpr DType d = *dtype_of<T>;
    for (const auto& [m, k, n] : {std::array{3, 4, 5}, {40, 70, 50}, {1, 96, 64}, {64, 96, 1}, {0, 3, 2}, {2, 0, 3}}) {
      const auto drawn = [&](std::int64_t rows, std::int64_t columns) {
        Buffer b = Buffer::allocate(d, {rows, columns});
        for (std::int64_t i = 0; i < b.elements(); ++i)
          b.as<T>()[i] = T(static_cast<float>(random() % 2001) / 1000.f - 1.f);
        return Array(b);
      };
      const Array a = drawn(m, k), b = drawn(k, n);
      const Array want = matmul(convert(a, DType::f64), convert(b, DType::f64));
      const auto in_f32 = [](Array x, Array y) { return matmul(x, y, DType::f32); };
      const auto in_own = [](Array x, Array y) { return matmul(x, y); };
      for (const Array& got :
           {in_f32(a, b), jit(in_f32)(a, b), vmap(in_f32)(reshape(a, {1, m, k}), reshape(b, {1, k, n}))}) {
        ASSERT_EQ(got.dtype(), DType::f32);
        EXPECT_TRUE(allclose(convert(reshape(got, want.shape()), DType::f64), want, 1e-5, 1e-5));
      }
      const Buffer sums = want.to_buffer();
      for (const Array& got : {in_own(a, b), jit(in_own)(a, b)}) {
        ASSERT_EQ(got.dtype(), d);
        const Buffer is = got.to_buffer();
        for (std::int64_t i = 0; i < is.elements(); ++i)
          ASSERT_TRUE(close(real_of(is.as<T>()[i]), sums.as<double>()[i], d, 0.501)) << name(d) << " " << i;
      }
      // Their slopes are of the operands' dtype.
      const auto total = [](Array x, Array y) { return sum(square(matmul(x, y, DType::f32))); };
      EXPECT_EQ(grad(total)(a, b).dtype(), d);
    }
  });
}

TEST(Float8, ProductsOfTwoFormats) {
  const Array a = convert(Array{0.5, -1.0, 1.5}, DType::f8e4m3fn), b = convert(Array{2.0, 4.0, 8.0}, DType::f8e5m2);
  const DotAxes axes{{0}, {0}, {}, {}};
  EXPECT_EQ(dot_general(a, b, axes).dtype(), DType::f8e5m2);  // as XLA has it: of the larger numbers
  EXPECT_EQ(dot_general(a, b, axes, DType::f32).item<float>(), 9);
  EXPECT_EQ(dot_general(a, convert(b, DType::bf16), axes, DType::f32).item<float>(), 9);
  EXPECT_THAT(message_of([&] { (void)matmul(a, b); }), HasSubstr("matmul: f8e4m3fn[3] and f8e5m2[3] have no dtype"));
  EXPECT_THAT(message_of([&] { (void)einsum("i,i->", {a, b}, {.preferred = DType::f32}); }),
              HasSubstr("einsum: f8e4m3fn[3] and f8e5m2[3]"));
}

TEST(Float8, ScaledProducts) {
  const Array a =
      convert(reshape(convert(iota(DType::i32, {Dim(32)}, 0), DType::f32) * 0.25f - 3.f, {4, 8}), DType::f8e4m3fn);
  const Array b =
      convert(reshape(convert(iota(DType::i32, {Dim(40)}, 0), DType::f32) * 0.125f - 2.f, {8, 5}), DType::f8e5m2);
  const Array scale = full({4, 2}, 0.5f);
  const Array got = scaled_dot(a, b, {.a_scale = scale, .dtype = DType::f32});
  const Array want = matmul(convert(a, DType::f32) * 0.5f, convert(b, DType::f32));
  EXPECT_TRUE(allclose(got, want, 1e-6, 1e-6));
}

TEST(Float8, MeetsNoOtherFloatByItself) {
  const Array x = convert(Array{0.5, -1.0}, DType::f8e4m3fn), wide{1.f, 2.f}, other = convert(wide, DType::f8e5m2);
  const auto message = [&](auto f) { return message_of([&] { (void)f(); }); };
  EXPECT_THAT(message([&] { return x + wide; }),
              HasSubstr("add: f8e4m3fn[2] and f32[2] have no dtype in which they meet"));
  EXPECT_THAT(message([&] { return x * other; }), HasSubstr("mul: f8e4m3fn[2] and f8e5m2[2] have no dtype"));
  EXPECT_THAT(message([&] { return x * other; }), HasSubstr("Floats of 8 bits become no other ones by themselves"));
  EXPECT_THAT(message([&] { return where(wide > 0, x, wide); }), HasSubstr("f8e4m3fn[2] and f32[2] have no dtype"));
  EXPECT_THAT(message([&] { return concatenate(std::vector<Array>{x, wide}, 0); }),
              HasSubstr("concatenate: f8e4m3fn[2] and f32[2] have no dtype"));
  EXPECT_THAT(message([&] { return x * std::complex<float>(0, 1); }), HasSubstr("have no dtype"));
  EXPECT_THAT(message([&] { return x.at(Array(0)).set(wide(0)); }), HasSubstr("f32[] does not go into f8e4m3fn[2]"));
  EXPECT_EQ((x + 1).dtype(), DType::f8e4m3fn);
  EXPECT_EQ((x * 1.5).dtype(), DType::f8e4m3fn);
  EXPECT_EQ((x + (wide > 0)).dtype(), DType::f8e4m3fn);
  EXPECT_EQ((x + Array{1, 2}).dtype(), DType::f8e4m3fn);
}

TEST(Float8, IsReadFromItsText) {
  const auto f = [](const Array& x) {
    return x * convert(Array(0.3), DType::f8e4m3fn) + Array(Scalar::one(DType::f8e4m3fn));
  };
  const ProgramRef program = tenon::trace(f)(convert(Array{0.5, 1.0}, DType::f8e4m3fn));
  EXPECT_THAT(print(*program), HasSubstr("f8e4m3fn[2]"));
  EXPECT_EQ(print(*parse(print(*program))), print(*program));
}

}  // namespace
}  // namespace tenon::of_float8
