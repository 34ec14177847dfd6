// Programs as text and back: every op in every dtype, its derivatives and batches, regions, sizes, and all numbers.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "tenon/ir/parse.h"
#include "tenon/ir/print.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/tenon.h"
#include "tests/ops/cases.h"

namespace tenon::sample {
namespace {

void expect_round_trip(const ProgramRef& p) {
  const std::string text = print(*p);
  ProgramRef back;
  ASSERT_NO_THROW(
      try { back = parse(text); } catch (const Error& e) {
        ADD_FAILURE() << e.what() << "\n" << text;
        throw;
      });
  EXPECT_EQ(print(*back), text);
  EXPECT_EQ(back->hash(), p->hash()) << text;
  EXPECT_EQ(back->name(), p->name());
  EXPECT_EQ(back->effect(), p->effect());
}

class RoundTrip : public OpCase {};
TEST_P(RoundTrip, IsTheSameProgram) {
  const ProgramRef p = program();
  expect_round_trip(p);
  Mask batched = common();
  batched.flip();
  if (c().op->batch) expect_round_trip(vmap(p, batched, Mask(p->outputs().size(), true), 2));
  const Mask in = active(p), out = active_out(p);
  if (!c().op->jvp || std::ranges::count(in, true) == 0 || std::ranges::count(out, true) == 0) return;
  expect_round_trip(jvp(p, in, out));
  const Partitioned parts = linearize(p, in, out);
  expect_round_trip(parts.first);
  expect_round_trip(parts.second);
}
INSTANTIATE_TEST_SUITE_P(All, RoundTrip, testing::ValuesIn(cases([](DType) { return true; })), name_of);

TEST(Text, ScalarsOfEveryDTypeKeepTheirBits) {
  const auto check = [](const Scalar& value) {
    const Scalar back = Scalar::parse(value.text(), value.dtype());
    EXPECT_EQ(back, value) << name(value.dtype()) << " " << value.text();
  };
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {  // all of f16 and bf16
    Float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    check(Scalar(half));
    BFloat16 brain;
    brain.bits = static_cast<std::uint16_t>(bits);
    check(Scalar(brain));
  }
  for (int d = 0; d < dtype_count; ++d)
    dispatch(static_cast<DType>(d), [&]<class T>(std::type_identity<T>) {
      if constexpr (is_float8(*dtype_of<T>))
        for (unsigned bits = 0; bits < 0x100; ++bits) {
          T value;
          value.bits = static_cast<std::uint8_t>(bits);
          check(Scalar(value));
        }
    });
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {  // every bit pattern of the wide ones has the same chance
    const std::uint64_t a = random(), b = random();
    check(Scalar(std::bit_cast<float>(static_cast<std::uint32_t>(a))));
    check(Scalar(std::bit_cast<double>(a)));
    check(Scalar(std::bit_cast<double>(a | 0x7ff0000000000000u)));  // NaN of any payload
    check(Scalar(std::complex<double>(std::bit_cast<double>(a), std::bit_cast<double>(b))));
    check(Scalar(static_cast<std::int64_t>(a)));
    check(Scalar(a));
    check(Scalar(static_cast<std::int8_t>(a)));
  }
  for (double x : {0.0, -0.0, 1e300, 5e-324, std::numeric_limits<double>::infinity(), -1e-5}) check(Scalar(x));
}

TEST(Text, LiteralsInPrograms) {
  for (const char* number : {"f32:nan", "f32:nan:ffc00001", "f32:-inf", "f64:-0.0", "c64:(1.0,-inf)", "bool:true",
                             "i8:-128", "u64:18446744073709551615", "f16:65504.0", "bf16:nan:ffc1", "f8e4m3fn:448.0",
                             "f8e4m3fnuz:nan", "f8e5m2:nan:7d"}) {
    const std::string dtype(number, std::string(number).find(':'));
    const std::string text = "program @_() {\n  %0: " + dtype + "[] = literal {value=" + number + "}\n  return %0\n}\n";
    EXPECT_EQ(print(*parse(text)), text);
  }
}

// --- regions, sizes, lists ---
TEST(Text, LoopsBranchesAndCalls) {
  const auto newton = [](Array x) {
    return while_loop([](Array y) { return abs(y * y - 2.f) > 1e-4f; }, [](Array y) { return (y + 2.f / y) * 0.5f; },
                      x);
  };
  const auto f = [&](Array c, Array xs) {
    auto [end, ys] = scan([&](Array c, Array x) { return std::pair(newton(sin(c) * x + 2.f), c * x); }, c, xs);
    return sum(ys) + end;
  };
  const Array c = 0.5f, xs = {1.f, 2.f, 3.f};
  expect_round_trip(trace(f)(c, xs));
  expect_round_trip(trace(grad(f))(c, xs));
  expect_round_trip(trace(vmap(grad(f)))(Array{0.5f, 1.f}, Array{{1.f, 2.f, 3.f}, {1.f, 2.f, 3.f}}));
  expect_round_trip(trace(jit(f))(c, xs));
}

TEST(Text, SizesThatDataDecide) {
  const auto f = [](Array x, Array y, Array m) { return sum(compress(x, m) * compress(sin(y), m)); };
  const Array x = {1.f, 2.f, 3.f}, m = {true, false, true};
  expect_round_trip(trace(f)(x, x, m));
  expect_round_trip(trace(grad(f))(x, x, m));
}

TEST(Text, SymbolicSizesOfEveryForm) {
  const std::string text =
      "program @sizes[s0, s1](%0: f32[s0,2*s0*s1+3], %1: list<list<f32[min(s0,s1),max(s0,s1)]>>,"
      " %2: i32[div(s0,2),mod(s1,3),s0*s0-s1], %3: accum<f32[-s0+s1]>) {\n"
      "  return %0, %2, %3, %1\n}\n";
  const ProgramRef p = parse(text);
  expect_round_trip(p);
  EXPECT_EQ(parse(print(*p))->type(0).shape[1], Dim(2) * Dim::variable(0) * Dim::variable(1) + 3);
}

TEST(Text, NamesAreFreeAndComeBackInOrder) {
  const std::string free =
      "// a comment\nprogram @step[T](%carry: f32[T], // another\n %x:f32[T]){%sum:f32[T]=add %carry,%x strict"
      " recompute[7] return %sum}";
  EXPECT_EQ(print(*parse(free)),
            "program @step[s0](%0: f32[s0], %1: f32[s0]) {\n"
            "  %2: f32[s0] = add %0, %1 strict recompute[7]\n"
            "  return %2\n}\n");
}

TEST(Text, OddNamesStandInQuotes) {
  ProgramParts parts;
  parts.name = "a \"b\\\n\x01é";
  const ProgramRef p = Program::finish(parts);
  EXPECT_EQ(print(*p), "program @\"a \\\"b\\\\\\x0a\\x01é\"() {\n  return\n}\n");
  expect_round_trip(p);
}

TEST(Text, PlacesAreThoseOfTheText) {
  const ProgramRef p = parse("program @_(%0: f32[]) {\n  %1: f32[] = sin %0\n  return %1\n}\n", "wave.tn");
  EXPECT_EQ(p->eqns()[0].where.text(), "wave.tn:2");
  EXPECT_EQ(p->eqns()[0].where.column, 15u);
  expect_round_trip(parse(print(*p, {.places = true})));
}

}  // namespace
}  // namespace tenon::sample
