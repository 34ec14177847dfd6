// The text form of kernels: what is read back, what is refused and where, and that no text does harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tenon/compile/pipeline.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/parse.h"
#include "tenon/kernel/verify.h"
#include "tests/fuzzing.h"
#include "tests/kernel/generator.h"

namespace tenon::kernel {
namespace {

using testing::HasSubstr;

// Every kind of statement, and numbers of every kind.
constexpr const char* everything = R"(function @"f.<locals>" arena=64*s0+128 arguments=3 sizes=2 lists checks
  not negative s0-1, s1
  not empty s0
  m0: f32[s0] argument 0
  m1: c64[12] argument 1
  m2: i64[4] constant [0, -1, 9223372036854775807, -9223372036854775808]
  m3: i64[2] constant of object 1 [0, 7]
  m4: f64[5] numbers [0.1, -0.0, inf, -inf, nan:7ff8000000000001]
  m5: f32[64] local
  m6: i64[3] arena 64*s0
  m7: f32[4] element
  m8: bool[2] constant [true, false]
  m9: bf16[2] numbers [1.5, nan]
  m10: f32[8] local
  m11: f32[64] argument 2
  m12: i64[1] size 4*s0
  m13: i64[1] size any
  m14: f32[s1*n13+2*n12] found m15
  m15: i64[1] size any
  each [i0<s0, i1<4]
    m5[min(add(mul(i0, 4), i1), 63)] = select(lt(i0, 2), f32:0.5, m0[min(i0, sub(s0, 1))]) if m8[rem(i1, 2)]
    m11[0] = f32:nan
  in order [i2<3]
    m1[i2] = complex(f32:1.0, f32(m9[0]))
  each [i3<2] m5[i3] = max over [i4<32] of m11[add(mul(i3, 32), i4)] from f32:-inf
    and m10[i3] = bits_as_f32(i32:-1)
  each [] m6[0] = sum over [i5<s0] of i5 from 0
  copy m5[0] = m11[2], 4 elements, rows of 2
  product m1[0] += m1[2] x m1[3], 1 x (2, 3, 1), strides (6, 3, 1) x (0, 1, 1) to (2, 1, 1) of c64
  m7 = element 2 of list m6[0], 16 bytes, consumes m6[1]
  m7 = written element 2 of list m6[0], 16 bytes
  m7 = new element m2[1] of list m6[0], 16 bytes
  m6[2] = tenon_list_steps(m6[0], &m3[0], &m5[3] written) by table, 2.5 ns
  tenon_list_release(m6[0]), 20 ns
  for i6<s1
    t0 = add(add(add(add(m6[0], m6[1]), m6[2]), add(m6[0], m6[1])), add(m6[2], 1))
    while lt(t0, mul(t0, t0))
        each []
          m6[0] = add(m6[0], 1)
    do
      switch m6[0]
      case
        each []
          m6[1] = i6
      case
  parallel blocks i7<div(s0,4), rest mod(s0,4), grain 2, own m5, m10
    each []
      m5[0] = f32:0.0
  then
    each []
      m10[0] = f32:1e-45
  blocks i8<4
    each []
      m11[i8] = f32(true)
  m12[0] = tenon_list_steps(m6[0], &m13[0] written), 20 ns
  m15[0] = tenon_found_memory(0, mul(add(mul(n12, 2), mul(n13, s1)), 4), 64), 20 ns
  each [i9<min(n12,n13)]
    m14[add(mul(i9, 2), div(n12, 3))] = f32(n13)
)";

TEST(KernelText, IsReadBack) { EXPECT_EQ(print(parse(everything)), everything); }

TEST(KernelText, SharesWhatHasANameOrIsSmall) {
  const Function f = parse(R"(function @f arguments=1
    m0: f32[8] argument 0
    t0 = add(add(add(add(m0[0], m0[1]), add(m0[2], m0[3])), m0[4]), m0[5])
    each [i0<2]
      m0[i0] = mul(t0, t0)
      m0[add(i0, 2)] = mul(m0[i0], m0[i0])
)");
  const auto& stores = std::get<Nest>(f.body[0].held()).stores;
  EXPECT_EQ(stores[0].value.operand(0).identity(), stores[0].value.operand(1).identity());
  EXPECT_EQ(stores[1].value.operand(0).identity(), stores[1].value.operand(1).identity());
  EXPECT_EQ(stores[0].offset.identity(), stores[1].offset.operand(0).identity());
}

std::string refused(const std::string& text) {
  try {
    verify(parse(text, "k.txt"));
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

// As deep as an expression may become: text is not nested as deep.
TEST(KernelText, OfDeepExpressions) {
  Function f;
  f.arguments = 1;
  f.slots.push_back({DType::f32, 1, Slot::Place::argument});
  Expr e = load(0, DType::f32, Expr(0));
  const auto deeper = [&](int by) {
    for (int i = 0; i < by; ++i) e = unary(Unary::sin, e);
    f.body = {Nest{{}, {}, {{0, Expr(0), e, {}}}}};
    return print(f);
  };
  const std::string text = deeper(4000);
  EXPECT_EQ(print(parse(text)), text);
  verify(f);
  EXPECT_THAT(refused(deeper(1000)), HasSubstr("an expression more than 4096 deep"));
}

std::string with_body(const std::string& body) {
  return refused("function @f arguments=1\n  m0: f32[8] argument 0\n  m1: i32[2] local\n  " + body + "\n");
}

TEST(KernelText, ErrorsSayWhere) {
  EXPECT_THAT(refused("program @f"), HasSubstr("k.txt:1:1: expected 'function'"));
  EXPECT_THAT(refused("function @f\n  m1: f32[2] local\n"), HasSubstr("k.txt:2:3: slots are numbered from m0 on"));
  EXPECT_THAT(refused("function @f\n  m0: f32[2] somewhere\n"), HasSubstr("k.txt:2:14: expected a place"));
  EXPECT_THAT(refused("function @f\n  m0: f32[s] local\n"), HasSubstr("'s' is no size parameter"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = m1[0] if\n"), HasSubstr("expected a value"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = add(m0[0], m1[0])"),
              HasSubstr("k.txt:5:14: its operands have different dtypes"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[f32:1.0] = m0[0]"), HasSubstr("k.txt:5:8: expected an i64"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = sine(m0[0])"),
              HasSubstr("there is no operation 'sine' of 1 operands"));
  EXPECT_THAT(with_body("each [i0<8]\n    m7[i0] = m0[0]"), HasSubstr("there is no slot m7"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = f32:x"), HasSubstr("k.txt:5:18: 'x' is not a number that fits"));
  EXPECT_THAT(with_body("t0 = 1\n  t0 = 2\n  each []"), HasSubstr("t0 has a value already"));
  EXPECT_THAT(with_body("sort m0"), HasSubstr("k.txt:4:3: there is no statement 'sort'"));
  EXPECT_THAT(with_body("while eq(1, 1)"), HasSubstr("expected 'do'"));
  std::string deep = "0";
  for (int i = 0; i < 100'000; ++i) deep = "neg(" + deep;
  EXPECT_THAT(with_body("each []\n    m0[" + deep), HasSubstr("nested more than 160 deep"));
}

TEST(KernelVerify, SaysWhatIsWrong) {
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = m0[0]"), HasSubstr("nothing"));
  EXPECT_THAT(with_body("each [i0<8]\n    m1[i0] = m0[0]"), HasSubstr("m1 at 0 to 7, outside of its 2 elements"));
  EXPECT_THAT(with_body("each [i0<2]\n    m1[i0] = m0[0]"), HasSubstr("m1 is of i32, and f32 is stored"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = m0[add(i0, 1)]"), HasSubstr("reads m0 at 1 to 8"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = m0[min(add(i0, 1), 7)]"), HasSubstr("nothing"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[add(i0, 1)] = m0[0] if lt(i0, 7)"), HasSubstr("nothing"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[add(i0, 9)] = m0[0] if false"), HasSubstr("nothing"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i0] = m0[0] if i0"), HasSubstr("the condition of a store is no bool"));
  EXPECT_THAT(with_body("each [i0<8]\n    m0[i1] = m0[0]"), HasSubstr("i1 is read outside of the statement"));
  EXPECT_THAT(with_body("for i0<8\n    each [i0<8]\n      m0[i0] = m0[0]"), HasSubstr("i0 is defined within"));
  EXPECT_THAT(with_body("for i0<8\n    each [i1<8]\n      m0[i1] = m0[i0]"), HasSubstr("nothing"));
  EXPECT_THAT(with_body("each [i0<s0]\n    m0[0] = m0[0]"), HasSubstr("the size s0 has a parameter that is not there"));
  EXPECT_THAT(with_body("copy m0[1] = m0[0], 8 elements"), HasSubstr("m0 at 1 to 8"));
  EXPECT_THAT(with_body("copy m0[0] = m1[0], 2 elements"), HasSubstr("slots of different dtypes"));
  EXPECT_THAT(
      with_body("product m0[0] = m0[0] x m0[0], 1 x (3, 3, 1), strides (9, 3, 1) x (3, 1, 1) to (3, 1, 1) of f32"),
      HasSubstr("m0 at 0 to 8"));
  EXPECT_THAT(with_body("blocks i0<2, own m1\n    each []\n      m1[0] = i32:1\n  each []\n    m1[0] = i32:1"),
              HasSubstr("m1 is a slot that blocks have each for itself"));
  EXPECT_THAT(with_body("each [] m0[0] = sum over [i0<8] of m0[i0] from i32:0"),
              HasSubstr("initial value has another dtype"));
  EXPECT_THAT(refused("function @f arguments=1\n  m0: f32[2] argument 1\n"),
              HasSubstr("m0 is an argument that is not there"));
  EXPECT_THAT(refused("function @f\n  m0: f32[2] constant [1.0]\n"), HasSubstr("m0 is a constant of other bytes"));
  EXPECT_THAT(refused("function @f arena=8\n  m0: f32[8] arena 0\n  each []\n    m0[0] = f32:0.0"),
              HasSubstr("m0 lies outside of the arena"));
}

// A size in m1, and another in m4; memory of the first, in the arena and asked for.
const std::string found_slots = R"(function @f arguments=1
  m0: f32[8] argument 0
  m1: i64[1] size 8
  m2: f32[n1] arena 0
  m3: f32[n1] found m5
  m4: i64[1] size any
  m5: i64[1] size any
)";
std::string with_found(const std::string& body) { return refused(found_slots + body); }

TEST(KernelVerify, OfWhatIsFound) {
  const std::string find = "  each []\n    m1[0] = i64(m0[0])\n",
                    ask = "  m5[0] = tenon_found_memory(0, n1, 64), 20 ns\n",
                    touch = "  each [i0<8]\n    m2[i0] = m0[0]\n", touch_asked = "  each [i0<8]\n    m3[i0] = m0[0]\n";
  EXPECT_EQ(with_found(find + touch + ask + touch_asked), "nothing");
  EXPECT_THAT(with_found("  each [i0<n1]\n    m0[i0] = f32:0.0\n" + find), HasSubstr("the size n1 is named, and no"));
  EXPECT_THAT(with_found("  each []\n    m0[n1] = f32:0.0\n" + find), HasSubstr("the size n1 is named, and no"));
  EXPECT_THAT(with_found("  each []\n    m0[m1[0]] = f32:0.0\n" + find), HasSubstr("m1 is read, and no statement"));
  EXPECT_THAT(with_found("  f(&m1[0]), 20 ns\n" + find), HasSubstr("m1 is read, and no statement"));
  EXPECT_THAT(with_found("  f(&m1[0] written), 20 ns\n" + touch), HasSubstr("nothing"));
  EXPECT_THAT(with_found(touch + find), HasSubstr("m2 is touched, and no statement before has found its size n1"));
  EXPECT_THAT(with_found("  copy m2[0] = m0[0], 8 elements\n" + find), HasSubstr("m2 is touched, and no statement"));
  EXPECT_THAT(with_found(find + touch_asked), HasSubstr("m3 is touched, and its memory has not been asked for since"));
  EXPECT_THAT(with_found(find + ask + find + touch_asked), HasSubstr("m3 is touched, and its memory has not been"));
  EXPECT_THAT(with_found(find + ask + "  each [i0<n5]\n    m0[i0] = f32:0.0\n"), HasSubstr("m5 holds an address"));
  EXPECT_THAT(with_found("  each []\n    m5[0] = 64\n"), HasSubstr("m5 holds an address, which only a call gives"));
  EXPECT_THAT(with_found("  each []\n    m1[0] = 9\n"), HasSubstr("m1 is a size of 8 at most, and 9 is stored"));
  EXPECT_THAT(with_found("  each []\n    m4[0] = -1\n"), HasSubstr("m4 is a size of 0 or more, and -1 is stored"));
  EXPECT_THAT(refused("function @f arena=64\n  m0: i64[1] size 8\n  m1: f32[n0] arena 0\n  each []\n    m0[0] = 1\n"
                      "  each []\n    m1[0] = f32:1.0\n"),
              HasSubstr("m1 lies in the arena, which is as large as sizes that are given; n0 is found"));
}

// A size is found for its own block, and where it is certain that the statement runs.
TEST(KernelVerify, OfWhereItIsFound) {
  const std::string touch = "  each [i9<n1]\n    m0[i9] = m0[0]\n", untouched = "and no statement before has found";
  const auto in_step = [](const std::string& end) { return "    each []\n      m1[0] = 3\n" + end; };
  EXPECT_EQ(with_found("  for i0<2\n" + in_step("    each [i9<n1]\n      m0[i9] = m0[0]\n")), "nothing");
  EXPECT_THAT(with_found("  for i0<2\n" + in_step("") + touch), HasSubstr(untouched));
  EXPECT_THAT(with_found("  switch 0\n  case\n" + in_step("") + "  case\n    each [i9<n1]\n      m0[i9] = m0[0]\n"),
              HasSubstr(untouched));
  EXPECT_EQ(
      with_found("  while lt(n1, 2)\n      each []\n        m1[0] = 3\n  do\n    each [i9<n1]\n      m0[i9] = m0[0]\n"),
      "nothing");
  EXPECT_THAT(with_found("  while lt(n1, 2)\n  do\n" + in_step("")), HasSubstr(untouched));
  EXPECT_THAT(with_found("  each []\n    m1[0] = 3 if lt(m0[0], m0[1])\n" + touch), HasSubstr(untouched));
  EXPECT_THAT(with_found("  each []\n    m4[0] = 3\n  each [i0<n4]\n    m1[0] = 3\n" + touch), HasSubstr(untouched));
  EXPECT_THAT(with_found("  parallel blocks i0<2\n" + in_step("")), HasSubstr("blocks that run at once all find m1"));
  EXPECT_EQ(with_found("  blocks i0<2\n" + in_step("")), "nothing");
  // What each block has for itself: not what blocks around have, nor blocks before.
  const std::string found = "      each []\n        m1[0] = 3\n", all = "blocks that run at once all find m1";
  EXPECT_EQ(with_found("  parallel blocks i0<2, own m1\n" + in_step("")), "nothing");
  EXPECT_EQ(with_found("  parallel blocks i0<2, own m1\n    blocks i1<2\n" + found), "nothing");
  EXPECT_THAT(with_found("  blocks i0<2, own m1\n    parallel blocks i1<2\n" + found), HasSubstr(all));
  EXPECT_THAT(with_found("  parallel blocks i0<2, own m1\n" + in_step("") + "  parallel blocks i1<2\n" + in_step("")),
              HasSubstr("m1 is a slot that blocks have each for itself"));
}

std::string went_wrong(const std::string& text) {
  std::vector<Bytes> arguments{Bytes(32)};
  try {
    interpret(parse(text), arguments, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

// The interpreter runs what the verifier refuses: passes are compared by what their kernels do.
TEST(KernelInterpreter, OfWhatIsFound) {
  const auto run = [](const std::string& body) { return went_wrong(found_slots + body); };
  const auto size_of = [](int n) { return "  each []\n    m1[0] = " + std::to_string(n) + "\n"; };
  const std::string fill = "  each [i0<n1]\n    m2[i0] = m0[i0]\n", read = "  each [i1<n1]\n    m0[i1] = m2[i1]\n",
                    ask = "  m5[0] = tenon_found_memory(7, add(mul(n1, 4), 64), 64), 20 ns\n",
                    fill_asked = "  each [i0<n1]\n    m3[i0] = m0[i0]\n",
                    read_asked = "  each [i1<n1]\n    m0[i1] = m3[i1]\n";
  EXPECT_EQ(run(size_of(0) + fill + read), "nothing");
  EXPECT_EQ(run(size_of(8) + fill + read + ask + fill_asked + read_asked), "nothing");
  EXPECT_THAT(run(fill + size_of(8)), HasSubstr("m1 is read at 0, where nothing has been written"));
  EXPECT_THAT(run(size_of(9)), HasSubstr("nothing"));
  EXPECT_THAT(run(size_of(9) + fill), HasSubstr("m1 is a size of 9"));
  EXPECT_THAT(run(size_of(2) + "  copy m2[0] = m0[0], 3 elements\n"),
              HasSubstr("m2 is accessed at 0, 3 elements; it has 2"));
  EXPECT_THAT(run(size_of(4) + fill + size_of(4) + read), HasSubstr("m2 is read at 0, where nothing has been written"));
  EXPECT_THAT(run(size_of(4) + ask + fill_asked + ask + read_asked), HasSubstr("m3 is read at 0, where nothing"));
  EXPECT_THAT(run(size_of(4) + "  m5[0] = tenon_found_memory(7, 15, 15), 20 ns\n" + fill_asked),
              HasSubstr("m3 is larger than the memory that it asked for"));
  EXPECT_THAT(run("  m5[0] = tenon_found_memory(7, -1, -1), 20 ns\n"), HasSubstr("memory of -1 bytes is asked for"));
}

TEST(KernelVerify, NamesThePassAndTheStatement) {
  const Pass wrong = pass("wrong", "reads beyond the end", [](Function& f) {
    auto& n = std::get<Nest>(f.body[0].held());
    n.stores[0].offset = n.stores[0].offset + Expr(1);
  });
  const Function f = parse("function @f arguments=1\n m0: f32[8] argument 0\n  each [i0<8]\n    m0[i0] = m0[0]\n");
  try {
    run_pass(wrong, f);
    FAIL();
  } catch (const VerifyError& e) {
    EXPECT_THAT(e.what(), HasSubstr("behind the pass wrong, @f: it accesses m0 at 1 to 8, outside of its 8 elements."));
    EXPECT_THAT(e.what(), HasSubstr("m0[add(i0, 1)] = m0[0]"));
  }
}

TEST(KernelText, FuzzOfRandomKernels) {
  SCOPED_TRACE(fuzzing::repeat_with());
  for (std::int64_t i = 0; i < fuzzing::cases(200); ++i) {
    const RandomKernel k = random_kernel(fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i));
    const std::string text = print(k.function);
    const Function back = parse(text);
    ASSERT_EQ(print(back), text);
    std::vector<Bytes> before = k.arguments, after = k.arguments;
    interpret(k.function, before, k.sizes), interpret(back, after, k.sizes);
    ASSERT_EQ(before, after) << text;
  }
}

// Texts changed at random: each is refused, or is a kernel that goes through all passes, or that they refuse.
TEST(KernelText, FuzzOfChangedTexts) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  std::vector<std::string> texts{everything};
  for (std::uint64_t i = 0; i < 20; ++i) texts.push_back(print(random_kernel(fuzzing::seed() + i).function));
  static const std::vector<std::string> pieces{"m0",
                                               "m1",
                                               "i0",
                                               "s0",
                                               "t0",
                                               "[",
                                               "]",
                                               "(",
                                               ")",
                                               ",",
                                               "=",
                                               "-1",
                                               "0",
                                               "9223372036854775807",
                                               "99999999999999999999",
                                               "f32:nan",
                                               "c64",
                                               "each",
                                               "in order",
                                               "for i1<3",
                                               "while",
                                               "do",
                                               "case",
                                               "switch",
                                               "then",
                                               "own m1",
                                               "add(",
                                               "select(",
                                               "\n",
                                               "  ",
                                               "\"",
                                               "//",
                                               "\xff",
                                               std::string(1, '\0')};
  int read = 0, sound = 0;
  for (std::int64_t i = 0; i < fuzzing::cases(4000); ++i) {
    std::string text = texts[below(texts.size())];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text.size() + 1);
      const std::size_t way = below(4);
      if (way == 0) text.erase(at, below(30));
      if (way == 1) text.insert(at, pieces[below(pieces.size())]);
      if (way == 2 && at < text.size()) text[at] = static_cast<char>(random());
      if (way == 3) {
        const std::size_t digits = text.find_first_of("0123456789", at);
        if (digits != std::string::npos) text[digits] = static_cast<char>('0' + below(10));
      }
    }
    try {
      Function f = parse(text);
      ++read;
      const std::string printed = print(f);
      ASSERT_EQ(print(parse(printed)), printed);
      verify(f);
      ++sound;
      run_passes(kernel_passes({.threads = 2}), std::move(f));
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(sound, 0);
}

}  // namespace
}  // namespace tenon::kernel
