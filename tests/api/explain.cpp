// explain: what it says of programs whose kernels, products, residuals, copies and memory are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "tenon/tenon.h"
#include "tests/island.h"

namespace tn = tenon;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using tn::Array;

namespace {

struct Gru {
  Array w, u, b, o;
};

// TENON_BLOCKS=small divides even these small arrays, one row a block: the same work is told block by block.
bool divided() { return std::getenv("TENON_BLOCKS") != nullptr; }

Array loss(const Gru& p, const Array& xs, const Array& ys) {
  const auto cell = [&](const Array& h, const Array& x) {
    const Array next = tn::tanh(tn::matmul(x, p.w) + tn::matmul(h, p.u) + p.b);
    return std::pair(next, next);
  };
  const Array hs = tn::scan(cell, tn::zeros({xs.dim(1), 16}), xs).second;
  return tn::mean(tn::square(tn::matmul(hs, p.o) - ys));
}

Array ramp(std::initializer_list<tn::Dim> shape) {
  const tn::Shape s(shape);
  return tn::reshape(tn::arange(s.elements().value(), tn::DType::f32), s) * 1e-3f;
}

}  // namespace

// user-code.md 8.
TEST(Explain, ATrainingStep) {
  const auto step = tn::jit(
      [](const Gru& p, const Array& xs, const Array& ys) {
        return tn::tree::map([](const Array& a, const Array& d) { return a - 0.1f * d; }, p, tn::grad(loss)(p, xs, ys));
      },
      {.donate = {0}});
  const Gru params{ramp({4, 16}), ramp({16, 16}), ramp({16}), ramp({16, 2})};
  std::ostringstream out;
  out << tn::explain(step)(params, ramp({50, 8, 4}), ramp({50, 8, 2}));
  const std::string text = out.str();
  EXPECT_THAT(text, HasSubstr("6 arguments, 11,072 bytes; 4 results, 1,472 bytes"));
  EXPECT_THAT(text, HasSubstr("donated: 1,472 bytes of results in the arguments' memory"));
  EXPECT_THAT(text, HasSubstr("loop of 50 steps:"));
  // The forward products, with the user's lines, as often as they run.
  const std::string product =
      divided() ? "f32\\[4,16\\] · \\[16,16\\], 100 times" : "f32\\[8,16\\] · \\[16,16\\], 50 times";
  EXPECT_TRUE(std::regex_search(text, std::regex(product + "; 204,800 operations at .*explain.cpp:2[0-9]"))) << text;
  EXPECT_EQ(text.find("in 2 blocks of rows, divided among the threads:\n") != std::string::npos, divided());
  EXPECT_TRUE(std::regex_search(text, std::regex("kept for reverse mode, [0-9,]+ bytes:\n"))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("  tanh f32\\[50,8,16\\], 25,600 bytes at .*explain.cpp:2[0-9]\n")))
      << text;
  EXPECT_THAT(text, HasSubstr("stored instead of being computed in what reads it:\n"));
  EXPECT_TRUE(std::regex_search(text, std::regex("memory: at most [0-9,]+ bytes"))) << text;
}

TEST(Explain, KernelsWithTheirWork) {
  const std::string text = tn::explain([](const Array& x) { return tn::sin(x) * x + 1.f; })(ramp({1000}));
  EXPECT_THAT(text, HasSubstr("1 arguments, 4,000 bytes; 1 results, 4,000 bytes"));
  EXPECT_THAT(text, HasSubstr("native code: 1 kernels, 0 products, 3,000 operations, 8,000 bytes moved"));
  EXPECT_THAT(text,
              HasSubstr(divided() ? "in 1,000 blocks of rows, divided among the threads:\n    kernel 1: add, mul, sin "
                                    "-> f32[]; 3 operations, 4 bytes read, 4 bytes written at "
                                  : "steps:\n  kernel 1: add, mul, sin -> f32[1000]; 3,000 operations, 4,000 bytes "
                                    "read, 4,000 bytes written at "));
  EXPECT_THAT(text, HasSubstr("memory: at most 8,000 bytes: arguments, results and 0 bytes of intermediate values"));
  EXPECT_THAT(text, Not(HasSubstr("copies that")));
  EXPECT_THAT(text, Not(HasSubstr("kept for reverse")));
}

// A carry whose old value is read after the new one is known cannot be updated in place.
TEST(Explain, CopiesAndTheirLines) {
  const auto rotate = [](const Array& x) {
    return tn::fori_loop(0, 10, [](const Array&, const Array& c) { return tn::reverse(c, {0}) + 1.f; }, x);
  };
  const std::string text = tn::explain(rotate)(ramp({1000}));
  const std::string copies = text.substr(text.find("copies that could not be avoided:"));
  EXPECT_TRUE(
      std::regex_search(copies, std::regex("  4,000 bytes, 10 times at .*explain.cpp:8[0-9]: the carry of the next "
                                           "step, made while that of this step is read at .*explain.cpp:8[0-9]\n")))
      << text;
}

// Both sums read what few operations make: of a large array it is made twice, of a small one it is stored.
TEST(Explain, LargeValuesOfFewOperationsAreMadeTwice) {
  const auto sums = [](const Array& x, const Array& y) {
    const Array apart = tn::square(x(tn::all, tn::newaxis) - y) + tn::abs(y - 2.f);
    return std::pair(tn::sum(apart, 0), tn::sum(apart, 1));
  };
  const auto explained = [&](std::int64_t n) { return tn::explain(sums)(ramp({n}), ramp({n})); };
  EXPECT_THAT(explained(100), HasSubstr("f32[100,100], 40,000 bytes: costly, and several nests read it"));
  EXPECT_THAT(explained(1000), Not(HasSubstr("several nests read it")));
}

TEST(Explain, WhyTheReferenceEvaluator) {
  const std::string text =
      tn::explain([](const Array& x) { return tn::sum(tn::island(tn::compress(x, x > 0.5f))); })(ramp({3}));
  EXPECT_THAT(text, HasSubstr("runs 6 eqns by the reference evaluator, one by one"));
  EXPECT_THAT(text, ContainsRegex("island at .*explain.cpp:[0-9]+: island: a test's op"));
}

TEST(Explain, TellsOfLists) {
  const auto f = tn::jit(tn::grad([](const Array& x) {
    return tn::while_loop([](const Array& c) { return c < 2.f; }, [](const Array& c) { return c + tn::sin(c); }, x);
  }));
  const std::string told = tn::explain(f)(tn::sum(ramp({1})));
  EXPECT_THAT(told, HasSubstr("lists: as much more as the steps of their loops keep"));
  EXPECT_THAT(told, HasSubstr("a new element of a list, 4 bytes"));
}

TEST(Explain, DoesNotRunTheFunction) {
  const auto f = tn::jit([](const Array& x) {
    return tn::while_loop([](const Array& c) { return c < 2.f; }, [](const Array& c) { return -c; }, x);
  });
  EXPECT_THAT(tn::explain(f)(tn::sum(ramp({1}))), HasSubstr("loop while a condition holds"));
}

// What loops take in, and what prevents it.
// A step of the loop over points stores no pairs for the sums of the other side: it is one reduction of several
// results.
TEST(Explain, GradientsOfBothSidesOfPointsAreOneReduction) {
  const auto loss = [](const Array& x, const Array& y, const Array& b) {
    const tn::Shape all{x.shape()[0], y.shape()[0], x.shape()[1]};
    const Array apart = tn::broadcast_in_dim(x, all, {0, 2}) - tn::broadcast_in_dim(y, all, {1, 2});
    return tn::sum(tn::matmul(tn::exp(-tn::sum(tn::square(apart), 2)), b));
  };
  const Array x = ramp({2000, 3}), b = ramp({2000});
  std::ostringstream out;
  out << tn::explain(tn::grad<0, 1, 2>(loss))(x, x, b);
  EXPECT_THAT(out.str(), HasSubstr(": sum, sum, sum")) << out.str();
  EXPECT_THAT(out.str(), ContainsRegex("[23][0-9][0-9],[0-9]{3} bytes of intermediate values")) << out.str();
}

TEST(Explain, ReductionsOfLoops) {
  const auto scan = [](const Array& c, const Array& xs) {
    return tn::scan([](const Array& c, const Array& x) { return std::pair(tn::sin(c + x), tn::cos(c)); }, c, xs).second;
  };
  const auto told = [&](auto f) { return tn::explain(f)(ramp({4}), ramp({100, 4})); };
  const std::string moved = told([&](const Array& c, const Array& xs) { return tn::sum(tn::square(scan(c, xs))); });
  EXPECT_TRUE(
      std::regex_search(moved, std::regex("reductions taken into loops:\n  sum f32\\[\\] at .*explain.cpp:[0-9]+"
                                          ", of the loop at .*explain.cpp:[0-9]+\n")))
      << moved;
  EXPECT_THAT(moved, Not(HasSubstr("stay behind")));
  const std::string read = told([&](const Array& c, const Array& xs) {
    const Array ys = scan(c, xs);
    return std::pair(tn::sum(tn::square(tn::sum(ys, 1))), tn::sort(ys, 0));
  });
  EXPECT_TRUE(std::regex_search(
      read, std::regex("reductions that stay behind loops:\n  sum f32\\[\\] at .*: the stack f32\\[100,4\\] at "
                       ".*explain.cpp:[0-9]+ is also read by [a-z]+ at .*explain.cpp:[0-9]+\n")))
      << read;
  const std::string result = told([&](const Array& c, const Array& xs) {
    const Array ys = scan(c, xs);
    return std::pair(tn::amax(tn::sum(ys, 1)), ys);
  });
  EXPECT_TRUE(std::regex_search(result, std::regex("max f32\\[\\] at .*: the stack .* is a result\n"))) << result;
  const std::string sorted =
      told([&](const Array& c, const Array& xs) { return tn::sort(tn::exp(scan(c, xs)), 0)(60); });
  EXPECT_TRUE(std::regex_search(
      sorted,
      std::regex("stacks of loops that are stored:\n  f32\\[100,4\\], of the loop at "
                 ".*explain.cpp:[0-9]+: [a-z_]+ at .*explain.cpp:[0-9]+ reads it, and does not go step by step\n")))
      << sorted;
  const std::string strict = told([&](const Array& c, const Array& xs) {
    const tn::StrictNumerics exactly;
    return tn::sum(scan(c, xs), 0);
  });
  EXPECT_THAT(strict, HasSubstr("under Numerics::strict sums keep their order"));
  const std::string many =
      told([&](const Array& c, const Array& xs) { return tn::top_k(tn::transpose(scan(c, xs)), 50).indices; });
  EXPECT_THAT(many, HasSubstr("no more than 16 are kept in order"));
  const std::string along_another = tn::explain(
      [&](const Array& c, const Array& xs) { return tn::top_k(scan(c, xs), 20).indices; })(ramp({30}), ramp({100, 30}));
  EXPECT_THAT(along_another, Not(HasSubstr("stay behind")));
}
