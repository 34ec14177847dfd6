// Views of views as one: the same values to the bit, with the views that are told and no more.
#include "tenon/rewrite/compose_views.h"

#include <gtest/gtest.h>

#include <random>

#include "../fuzzing.h"
#include "same.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

Array numbers(const Shape& shape, DType dtype = DType::f32) {
  return convert(reshape(arange(shape.elements().value(), DType::i64), shape), dtype);
}
std::vector<Value> inputs_of(const Program& p) {
  std::vector<Value> in;
  for (const Type& t : p.input_types()) in.push_back(numbers(t.shape, t.dtype).to_buffer());
  return in;
}
// Eqns of these names, in regions too.
int count(const Program& p, std::initializer_list<std::string_view> names) {
  int found = 0;
  for (const Eqn& eqn : p.eqns()) {
    found += std::ranges::find(names, eqn.op->name) != names.end() ? 1 : 0;
    eqn.params.visit_programs([&](const ProgramRef& inside) { found += inside ? count(*inside, names) : 0; });
  }
  return found;
}
int views(const Program& p) { return count(p, {"transpose", "reshape", "slice", "broadcast"}); }

struct Case {
  const char* name;
  Array (*f)(Array x);
  Shape shape;
  int views, concatenations;  // that are left
};

Array middle(const Array& x) { return slice_in_dim(x, 1, 3, 0); }
// x taken apart along its first axis, computed with, and put together again.
Array rotated(const Array& x) { return stack({sin(x(1)), x(2) * x(0), x(0)}); }

const Case cases[]{
    {"TransposesThatCancel", [](Array x) { return transpose(sin(transpose(x))); }, {3, 4}, 0, 0},
    {"TransposesOfThreeAxes", [](Array x) { return transpose(transpose(x, {1, 2, 0}), {1, 2, 0}); }, {2, 3, 4}, 1, 0},
    {"ElementwiseOfTwoTransposes",
     [](Array x) { return transpose(transpose(x) * sin(transpose(x)) + 2.0); },
     {3, 4},
     1,  // the number, repeated
     0},
    {"ARowMeetsTheTransposed",
     [](Array x) { return transpose(transpose(x) + x(all, 0)); },
     {3, 4},
     3,  // the row: sliced, reshaped and repeated along the other axis
     0},
    {"AnotherArrayMeetsTheTransposed", [](Array x) { return transpose(transpose(x) + x); }, {3, 3}, 2, 0},
    {"SlicesOfATranspose",  // each transposed back: slices of what is there
     [](Array x) {
       const Array turned = transpose(x, {1, 0, 2});
       return transpose(slice_in_dim(turned, 0, 2, 1), {1, 0, 2}) + transpose(slice_in_dim(turned, 2, 4, 1), {1, 0, 2});
     },
     {4, 3, 2},
     2,
     0},
    {"AConcatenationOfTransposes",  // is a transpose of one, which is sliced
     [](Array x) {
       const Array whole = concatenate({transpose(x), transpose(sin(x))}, 1);
       return transpose(slice_in_dim(whole, 0, 3, 1)) * 2.0;
     },
     {3, 4},
     1,  // the number, repeated
     0},
    {"ReshapesThatCancel", [](Array x) { return reshape(reshape(x, {12}), {3, 4}); }, {3, 4}, 0, 0},
    {"SlicesOfSlices", [](Array x) { return x(slice(1, 9, 2))(slice(1, 4, 2)); }, {12}, 1, 0},
    {"SlicesOfAll", [](Array x) { return slice(slice(x, {0, 0}, {3, 4}), {0, 0}, {3, 4}); }, {3, 4}, 0, 0},
    {"SlicesOfNothing", [](Array x) { return slice_in_dim(middle(x), 1, 1, 0); }, {5, 2}, 1, 0},
    {"BroadcastsOfBroadcasts",
     [](Array x) { return broadcast_in_dim(broadcast_in_dim(x, {3, 4}, {0}), {2, 3, 4}, {1, 2}); },
     {3},
     1,
     0},
    {"AnAxisOfOneGrows", [](Array x) { return broadcast_to(reshape(x, {3, 1, 4}), {3, 2, 4}); }, {3, 4}, 1, 0},
    {"APartOfAConcatenation",
     [](Array x) { return middle(concatenate({sin(x), cos(x), x}, 0)(slice(4, 8))); },
     {4},
     1,
     0},
    {"AWholePart", [](Array x) { return concatenate({sin(x), cos(x)}, 0)(slice(4, 8)); }, {4}, 0, 0},
    {"TwoParts", [](Array x) { return concatenate({sin(x), cos(x)}, 0)(slice(3, 6)); }, {4}, 1, 1},
    {"EverySecondOfAPart", [](Array x) { return concatenate({sin(x), cos(x)}, 0)(slice(1, 4, 2)); }, {4}, 1, 0},
    {"AnEmptyPartBetween", [](Array x) { return concatenate({x, x(slice(0)), cos(x)}, 0)(slice(4, 6)); }, {4}, 1, 0},
    {"NothingOfAConcatenation", [](Array x) { return concatenate({sin(x), x}, 0)(slice(2, 2)); }, {4}, 1, 1},
    {"Stacks", [](Array x) { return rotated(rotated(rotated(x))); }, {3, 5}, 6 + 3, 1},
    {"StacksOfAnotherAxis",
     [](Array x) {
       const auto each = vmap([](Array y) { return rotated(y); }, {.in_axes = 1, .out_axes = 1});
       return each(each(each(x)));
     },
     {3, 5},
     6 + 3 + 2,
     1},
    {"InALoop",
     [](Array x) { return fori_loop(0, 3, [](Array, Array c) { return rotated(rotated(c)); }, x); },
     {3, 5},
     6 + 3 + 1,
     1},
};

class Composed : public testing::TestWithParam<std::tuple<Case, DType>> {};

TEST_P(Composed, FewerViewsAndTheSameValues) {
  const auto& [c, dtype] = GetParam();
  const ProgramRef p = inline_calls(trace(c.f)(numbers(c.shape, dtype)));
  const ProgramRef q = compose_views(p);
  EXPECT_EQ(views(*q), c.views) << q;
  EXPECT_EQ(count(*q, {"concatenate"}), c.concatenations) << q;
  EXPECT_EQ(compose_views(q)->hash(), q->hash()) << compose_views(q);
  expect_same(p, q, inputs_of(*p));
}

INSTANTIATE_TEST_SUITE_P(All, Composed,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values(DType::f64, DType::f32, DType::c128)),
                         case_and_dtype);

// A step of a walk through ops that move elements, and some that compute; sizes stay small, some are 0 or 1.
class Walk {
 public:
  explicit Walk(std::mt19937& engine) : engine_(engine) {}

  Array step(const Array& x) {
    const auto rank = static_cast<std::int64_t>(x.rank());
    switch (upto(7)) {
      case 0: {
        std::vector<std::int64_t> permutation(x.rank());
        std::iota(permutation.begin(), permutation.end(), 0);
        std::ranges::shuffle(permutation, engine_);
        return transpose(x, permutation);
      }
      case 1:
        return rank > 1 && upto(2) ? reshape(x, {-1}) : reshape(x, expanded(x.shape()));
      case 2: {
        if (rank == 0) return -x;
        const std::int64_t axis = upto(rank), size = x.shape()[static_cast<std::size_t>(axis)].value(),
                           start = upto(size + 1), limit = start + upto(size - start + 1);
        return slice_in_dim(x, start, limit, axis, 1 + upto(3));
      }
      case 3: {
        if (rank == 0 || x.shape().elements().value() > 200) return x + x;
        return concatenate({x, sin(x), -x}, upto(rank));
      }
      case 4: {
        if (rank > 3 || x.shape().elements().value() > 200) return x * 2.0;
        std::vector<std::int64_t> dims(x.rank());
        std::iota(dims.begin(), dims.end(), 1);
        return broadcast_in_dim(x, with_axis(x.shape(), upto(3)), dims);
      }
      case 5:
        return rank > 0 ? x - broadcast_in_dim(sum(x), x.shape(), {}) : x - 1.0;
      default:
        return sin(x) * x + 0.5;
    }
  }

 private:
  std::int64_t upto(std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, std::max<std::int64_t>(n, 1) - 1)(engine_);
  }
  static Shape with_axis(const Shape& s, std::int64_t size) {
    Shape result{size};
    for (const Dim& d : s) result.push_back(d);
    return result;
  }
  Shape expanded(const Shape& s) {
    const auto at = static_cast<std::size_t>(upto(static_cast<std::int64_t>(s.rank()) + 1));
    Shape result;
    for (std::size_t i = 0; i <= s.rank(); ++i) {
      if (i == at && s.rank() < 4) result.push_back(1);
      if (i < s.rank() && (upto(2) != 0 || s[i] != Dim(1))) result.push_back(s[i]);
    }
    return result;
  }

  std::mt19937& engine_;
};

TEST(ComposeViewsFuzz, WalksKeepTheirValues) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937 engine(static_cast<unsigned>(fuzzing::seed()));
  for (std::int64_t i = 0; i < fuzzing::cases(300); ++i) {
    const ProgramRef p = inline_calls(trace([&](Array x) {
      Walk walk(engine);
      Array kept = x;
      for (int k = 0; k < 10; ++k) {
        if (k == 4) kept = x;
        x = walk.step(x);
      }
      return std::pair(x, kept);
    })(numbers({3, 4}, DType::f64)));
    const ProgramRef q = compose_views(p);
    expect_same(p, q, inputs_of(*p));
    if (HasFailure()) FAIL() << p << q;
  }
}

}  // namespace
}  // namespace tenon
