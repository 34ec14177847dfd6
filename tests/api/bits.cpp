// Masks that reverse mode keeps of a loop are kept as bits: how many bytes, and the same derivatives.
#include "tenon/ops/elementwise/bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::HasSubstr;
using testing::Not;
using tn::Array;

namespace {

Array ramp(std::vector<std::int64_t> shape, double step = 0.037) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(std::sin(step * static_cast<double>(i)));
  return tn::array<double>(v, shape);
}

Array bounds(std::int64_t steps) { return tn::sin(0.7 * tn::iota(tn::DType::f64, {steps}, 0)); }

// Steps of which the masks of all are worth being bits.
std::int64_t many_steps(std::int64_t elements) { return (std::int64_t(1) << 22) / elements + 1; }

// Each step moves what is below a bound that moves, and mirrors the rest: linear pieces, so that masks alone are kept.
Array piecewise(const Array& c, std::int64_t steps) {
  return tn::scan([](const Array& c,
                     const Array& bound) { return std::pair(tn::where(c < bound, c + 0.25, -c), std::tuple<>()); },
                  c, bounds(steps))
      .first;
}

// Its derivative, step by step.
std::vector<double> slopes(const Array& c, std::int64_t steps) {
  std::vector<double> slope;
  const Array all = bounds(steps);
  for (double v : c.span<double>()) {
    double d = 1;
    for (const double bound : all.span<double>()) {
      const bool below = v < bound;
      v = below ? v + 0.25 : -v;
      d *= below ? 1 : -1;
    }
    slope.push_back(d);
  }
  return slope;
}

void expect_elements(const Array& got, const std::vector<double>& want) {
  const Array whole = tn::reshape(got, {static_cast<std::int64_t>(want.size())}) + 0.0;
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(whole.span<double>()[i], want[i]) << i;
}

}  // namespace

TEST(Bits, MasksOfALoop) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{64}, {100}, {3, 40}, {50, 3}, {4, 4, 4}, {1, 129}, {2048}, {2, 1040}, {1500}}) {
    const Array c = ramp(shape);
    const std::int64_t n = c.type().shape.elements().value(), longest = *std::ranges::max_element(shape),
                       steps = many_steps(n);
    const auto loss = [=](const Array& c) { return tn::sum(piecewise(c, steps)); };
    SCOPED_TRACE(c.type().text());
    const tn::SavedResiduals kept = tn::saved_residuals(loss)(c);
    const auto masks = std::ranges::find(kept.all, tn::SavedResidual::Encoding::bits, &tn::SavedResidual::encoding);
    ASSERT_NE(masks, kept.all.end()) << kept;
    EXPECT_LE(masks->bytes, steps * (n / longest) * ((longest + 7) / 8));
    EXPECT_EQ(masks->type.dtype, tn::DType::bool_);
    EXPECT_EQ(masks->type.shape.elements(), tn::Dim(steps * n));
    EXPECT_EQ(masks->name, "lt");
    EXPECT_THAT(kept.text(), HasSubstr(" lt, as bits, at "));
    EXPECT_THAT(kept.details(), HasSubstr(", as bits\n"));
    const std::vector<double> want = slopes(c, steps);
    expect_elements(tn::grad(loss)(c), want);
    expect_elements(tn::jit(tn::grad(loss))(c), want);
    if (n < 1000) continue;
    // By the reference evaluator.
    const auto program = tn::trace(tn::grad(loss))(c);
    expect_elements(Array(std::get<tn::Buffer>(tn::evaluate(*program, {}, std::vector<tn::Value>{c.value()})[0])),
                    want);
  }
}

// Where nothing is gained.
TEST(Bits, FewMasksStayAsTheyAre) {
  for (const auto& [n, steps] : {std::pair(63, 20000), {64, 9}, {2000, 500}, {0, 9}}) {
    const auto loss = [steps = steps](const Array& c) { return tn::sum(piecewise(c, steps)); };
    EXPECT_THAT(tn::saved_residuals(loss)(ramp({n})).text(), Not(HasSubstr("as bits")));
    expect_elements(tn::grad(loss)(ramp({n})), slopes(ramp({n}), steps));
  }
}

TEST(Bits, InAnyNesting) {
  const Array c = ramp({2, 300});
  const std::int64_t steps = many_steps(300);
  const auto loss = [=](const Array& c) { return tn::sum(piecewise(c, steps)); };
  const auto lanes = tn::jit(tn::vmap(tn::grad(loss)));
  expect_elements(lanes(c), slopes(c, steps));
  // A loop in a loop: bits of bits' rows.
  const auto twice = [=](const Array& c) {
    return tn::sum(
        tn::scan([=](const Array& c, const Array&) { return std::pair(piecewise(c, steps), std::tuple<>()); }, c,
                 tn::arange(2))
            .first);
  };
  std::vector<double> want;
  {
    Array at = c;
    const std::vector<double> first = slopes(at, steps);
    at = piecewise(at, steps);
    const std::vector<double> second = slopes(at, steps);
    for (std::size_t i = 0; i < first.size(); ++i) want.push_back(first[i] * second[i]);
  }
  expect_elements(tn::jit(tn::grad(twice))(c), want);
  // Data decide the number of steps.
  const auto until = [](const Array& c) {
    return tn::sum(tn::while_loop([](const Array& c) { return tn::amax(tn::abs(c)) < 40.0; },
                                  [](const Array& c) { return tn::where(c < 0.3, 1.5 * c, 1.25 * c); }, c));
  };
  std::vector<double> grown;
  {
    std::vector<double> v(c.span<double>().begin(), c.span<double>().end()), d(v.size(), 1.0);
    const auto largest = [&] {
      double m = 0;
      for (const double x : v) m = std::max(m, std::abs(x));
      return m;
    };
    while (largest() < 40.0)
      for (std::size_t i = 0; i < v.size(); ++i) {
        const double factor = v[i] < 0.3 ? 1.5 : 1.25;
        v[i] *= factor, d[i] *= factor;
      }
    grown = d;
  }
  EXPECT_THAT(tn::saved_residuals(until)(c).text(), HasSubstr("list<bool[2,300]>  76 bytes a step"));
  expect_elements(tn::grad(until)(c), grown);
  expect_elements(tn::jit(tn::grad(until))(c), grown);
  // The second derivative of a square of it.
  const auto square = [=](const Array& c) { return tn::sum(tn::square(piecewise(c, steps))); };
  const auto slope_sum = [&](const Array& c) { return tn::sum(tn::grad(square)(c)); };
  std::vector<double> curved = slopes(c, steps);
  for (double& d : curved) d = 2 * d * d;
  expect_elements(tn::jit(tn::grad(slope_sum))(c), curved);
}

// Bits by hand: of 13 elements two bytes, the first of elements 0, 2, 4, … of each row.
TEST(Bits, TheirPlaces) {
  std::vector<std::uint8_t> bits;
  for (int i = 0; i < 26; ++i) bits.push_back(i % 13 == 0 || i % 13 == 3 || i == 25);
  const Array x = tn::reshape(tn::array<std::uint8_t>(bits, {26}), {2, 13}) != 0;
  const auto both = [](const Array& x) { return tn::pack_bits(x, 1); };
  for (const Array& packed : {both(x), tn::jit(both)(x)}) {
    EXPECT_EQ(packed.type(), tn::Type::array(tn::DType::u8, {tn::Dim(2), tn::Dim(2)}));
    EXPECT_EQ(packed(0, 0).item<std::uint8_t>(), 1);             // element 0
    EXPECT_EQ(packed(0, 1).item<std::uint8_t>(), 2);             // element 3
    EXPECT_EQ(packed(1, 0).item<std::uint8_t>(), 1 + (1 << 6));  // elements 0 and 12
    EXPECT_TRUE(tn::array_equal(tn::unpack_bits(packed, 1, 13), x));
  }
  EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { tn::pack_bits(tn::ones({3}), 0); }),
              HasSubstr("pack_bits: f32[3] is not an array of bool"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::pack_bits(x, 2); }), HasSubstr("has no axis 2"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::unpack_bits(both(x), 1, 17); }),
              HasSubstr("u8[2,2] does not hold 17 bits along axis 1"));
}

// A mask that a loop updates in places is kept as what changes: less than bits.
TEST(Bits, WhatIsUpdatedInPlacesIsKeptAsChanges) {
  const auto visited = [](const Array& c) {
    const auto body = [&](const std::pair<Array, Array>& s, const Array& t) {
      const Array seen = s.second.at(t).set(s.first > 0.0);
      return std::pair(std::pair(tn::sum(tn::where(seen, s.first * c, c)), seen), std::tuple<>());
    };
    return tn::scan(body, std::pair(tn::sum(c), tn::zeros({1000}, tn::DType::bool_)), tn::arange(20)).first.first;
  };
  const std::string kept = tn::saved_residuals(visited)(ramp({1000})).text();
  EXPECT_THAT(kept, HasSubstr("as what each step changes"));
}
