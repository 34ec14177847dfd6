// Trees: what counts as one, in which order its leaves come, what they are called, and how differences are told.
#include "tenon/api/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/describe.h"
#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace {

struct Empty {};
struct Inner {
  Array w = 1.f;
  double rate = 0.5;
  std::vector<Array> v = {};
};
enum class Kind { first, second };
struct Everything {
  Inner one = {.w = 2.f, .rate = 0.25};
  std::array<Inner, 2> two;
  std::optional<Inner> maybe;
  std::optional<Array> array;
  std::variant<Array, Inner, std::monostate> either = Array(3.f);
  std::map<std::string, Array> by_name = {{"x", 4.f}};
  std::map<int, std::vector<Array>> by_number = {{7, {Array(5.f)}}};
  std::tuple<Array, int, Empty> tuple = {6.f, 1, {}};
  std::pair<Array, std::string> pair = {7.f, "text"};
  std::vector<bool> flags = {true, false};
  std::array<double, 3> constants = {1, 2, 3};
  Kind kind = Kind::second;
  tn::Dim size = 4;
  bool on = true;
};

// Fields that are private, a constructor, a base: described in the class.
class Base {
 protected:
  Array shift = 1.f;
};
class Described : public Base {
 public:
  explicit Described(float w) : weights{w, w + 1} {}
  TENON_TREE(Described, shift, weights, steps)

 private:
  std::vector<Array> weights;
  int steps = 3;
};
// Described with Boost.Describe, with a base.
struct BoostBase {
  Array shift;
};
BOOST_DESCRIBE_STRUCT(BoostBase, (), (shift))
struct BoostModel : BoostBase {
  explicit BoostModel(float w) : BoostBase{w}, weights{w} {}
  std::vector<Array> weights;
};
BOOST_DESCRIBE_STRUCT(BoostModel, (BoostBase), (weights))

TEST(Tree, EveryKindOfField) {
  Everything e;
  EXPECT_THAT(tn::tree::paths(e),
              ElementsAre(".0.0", ".1[0].0", ".1[1].0", ".4", ".5[\"x\"]", ".6[7][0]", ".7<0>", ".8<0>"));
  e.maybe = Inner{.v = {Array(1.f)}};
  e.array = 2.f;
  e.either = Inner{};
  EXPECT_THAT(tn::tree::paths(e), ElementsAre(".0.0", ".1[0].0", ".1[1].0", ".2.0", ".2.2[0]", ".3", ".4.0",
                                              ".5[\"x\"]", ".6[7][0]", ".7<0>", ".8<0>"));
  const auto g = tn::grad([](const Everything& x) {
    return tn::tree::reduce([](Array total, const Array& a) { return total + a * a; }, Array(0.f), x);
  })(e);
  EXPECT_EQ(g.one.w.item<float>(), 4);
  EXPECT_EQ(std::get<Inner>(g.either).w.item<float>(), 2);
  EXPECT_EQ(g.by_number.at(7)[0].item<float>(), 10);
  EXPECT_EQ(g.pair.second, "text");
  EXPECT_EQ(g.one.rate, 0.25);
  EXPECT_EQ(g.constants[2], 3);
}

// A C array is one field, as a std::array is.
struct Plain {
  Array w[2];
  bool flags[3] = {true, false, true};
  Inner inner[1][2];
  char name[8] = "plain";
  Array bias;
};
TEST(Tree, ArraysOfTheLanguage) {
  static_assert(tn::tree_detail::count_fields<Plain>() == 5);
  Plain p{.w = {2.f, 3.f}, .bias = 4.f};
  EXPECT_THAT(tn::tree::paths(p), ElementsAre(".0[0]", ".0[1]", ".2[0][0].0", ".2[0][1].0", ".4"));
  const auto g = tn::grad([](const Plain& p) { return p.w[1] * p.bias * (p.flags[2] ? 2.f : 1.f); });
  EXPECT_EQ(g(p).w[1].item<float>(), 8);
  EXPECT_EQ(g(p).w[0].item<float>(), 0);
  EXPECT_STREQ(tn::jit(g)(p).name, "plain");
  p.flags[2] = false;
  EXPECT_EQ(tn::jit(g)(p).bias.item<float>(), 3);
}

TEST(Tree, OfNothing) {
  EXPECT_TRUE(tn::tree::leaves(Empty()).empty());
  EXPECT_TRUE(tn::tree::leaves(std::tuple<>()).empty());
  EXPECT_TRUE(tn::tree::leaves(std::vector<Array>()).empty());
  EXPECT_EQ(tn::tree::structure(Empty()), tn::tree::structure(std::tuple<>()));
  EXPECT_EQ(tn::jit([](Empty, std::vector<Array> v) { return v; })(Empty(), std::vector<Array>()).size(), 0U);
  const Inner fixed{.w = 2.f};
  EXPECT_EQ(tn::tree::leaves(fixed).size(), 1U);  // a const tree
  EXPECT_EQ(tn::tree::map([](Array a) { return a * 2.f; }, fixed).w.item<float>(), 4);
}

TEST(Tree, DescribedTypesHaveNames) {
  const Described d(2);
  EXPECT_THAT(tn::tree::paths(d), ElementsAre(".shift", ".weights[0]", ".weights[1]"));
  const Described g = tn::jit(tn::grad([](const Described& x) { return tn::sum(tn::tree::leaves(x)[1] * 3.f); }))(d);
  EXPECT_EQ(tn::tree::leaves(g)[1].item<float>(), 3);
  const BoostModel b(4);
  EXPECT_THAT(tn::tree::paths(b), ElementsAre(".shift", ".weights[0]"));
  EXPECT_EQ(tn::tree::leaves(b)[1].item<float>(), 4);
  EXPECT_EQ(tn::grad([](const BoostModel& x) { return x.shift * x.weights[0]; })(b).shift.item<float>(), 4);
  // In an error of a loop.
  EXPECT_THAT(message_of([&] {
                tn::scan([](const Described& c,
                            Array x) { return std::pair(tn::tree::map([&](Array a) { return a + x; }, c), x); },
                         d, tn::ones({3, 2}));
              }),
              HasSubstr("carry leaf .shift enters a step as f32[] and leaves it as f32[2]"));
}

TEST(Tree, DifferencesNameThePlace) {
  const auto difference = [](const auto& a, const auto& b) {
    return tn::tree::structure(a).difference(tn::tree::structure(b));
  };
  EXPECT_EQ(difference(Inner(), Inner()), "");
  EXPECT_EQ(difference(Inner{.rate = 0.25}, Inner()), "at .1: 0.25 and 0.5");
  EXPECT_EQ(difference(Inner{.v = {Array(1.f)}}, Inner()), "at .2: 1 element and 0 elements");
  EXPECT_EQ(difference(std::optional<Array>(), std::optional<Array>(1.f)), "no value and a value");
  EXPECT_EQ(tn::tree::structure(Inner()).text(), "{.0: *, .1: 0.5, .2: 0 elements}");
  EXPECT_EQ(tn::tree::structure(Everything()).leaves(), 8U);
  const Inner two{.v = {Array(1.f), Array(2.f)}}, one{.v = {Array(1.f)}};
  EXPECT_THAT(message_of([&] { tn::tree::map([](Array a, Array b) { return a + b; }, two, one); }),
              testing::AllOf(HasSubstr("TreeError: tree::map: the trees differ in structure: at .2: 2 elements and 1 "
                                       "element"),
                             HasSubstr("must be equal"), HasSubstr("tree.cpp:")));
  // The same of every number of trees; of more than five the place is given.
  const auto first = [](const auto& a, const auto&...) { return a; };
  EXPECT_THAT(message_of([&] { tn::tree::map(first, two, two, one); }), HasSubstr("tree.cpp:"));
  EXPECT_THAT(message_of([&] { tn::tree::map(first, two, two, two, one); }), HasSubstr("tree.cpp:"));
  EXPECT_THAT(message_of([&] { tn::tree::map(first, two, two, two, two, one); }), HasSubstr("tree.cpp:"));
  const auto here = std::source_location::current();
  EXPECT_THAT(message_of([&] { tn::tree::map(here, first, two, two, two, two, two, one); }),
              HasSubstr("tree.cpp:" + std::to_string(here.line())));
  EXPECT_THAT(message_of([&] {
                tn::scan(
                    [](Inner c, Array x) {
                      c.v.push_back(x);
                      return std::pair(c, x);
                    },
                    one, tn::ones({3}));
              }),
              HasSubstr("scan: the initial carry and the one that the function returns differ in structure: at .2: 1 "
                        "element and 2 elements"));
  EXPECT_THAT(message_of([&] {
                tn::while_loop([](Inner c) { return c.w < 3.f; },
                               [](Inner c) {
                                 c.rate *= 2;
                                 return c;
                               },
                               one);
              }),
              HasSubstr("at .1: 0.5 and 1"));
  EXPECT_THROW(tn::tree::with_leaves(two, tn::tree::leaves(one)), tn::TreeError);
}

}  // namespace
