// x(…) and x.at(…): every part of an index against NumPy's rules written out element by element.
#include "tenon/ops/composites/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <numeric>

#include "tenon/tenon.h"

namespace tenon {
namespace {

using Elements = std::vector<double>;

Array counting(std::vector<std::int64_t> shape) {
  const std::int64_t n = std::accumulate(shape.begin(), shape.end(), std::int64_t(1), std::multiplies<>());
  return reshape(arange(n, DType::f64), Shape(std::span<const std::int64_t>(shape)));
}
Elements elements_of(const Array& a) {
  const Buffer b = a.to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

// The values below are NumPy's: np.arange(24.).reshape(2, 3, 4)[…].
TEST(Index, NumbersSlicesAndNewAxes) {
  const Array x = counting({2, 3, 4});
  EXPECT_EQ(x(1, 2, 3).item<double>(), 23);
  EXPECT_EQ(x(-1, -3, -4).item<double>(), 12);
  EXPECT_EQ(elements_of(x(1, 0)), (Elements{12, 13, 14, 15}));
  EXPECT_EQ(elements_of(x(all, 1, slice(1, -1))), (Elements{5, 6, 17, 18}));
  EXPECT_EQ(elements_of(x(ellipsis, 0)), (Elements{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ(x(ellipsis, 0).shape(), (Shape{2, 3}));
  EXPECT_EQ(elements_of(x(0, ellipsis, slice(2))), (Elements{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(x(newaxis, 0, all, newaxis, slice(2)).shape(), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(x(ellipsis, newaxis).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(x(ellipsis).shape(), x.shape());
  EXPECT_EQ(x(0, 0, 0, newaxis, newaxis).shape(), (Shape{1, 1}));
}

TEST(Index, SlicesWithEveryStepAndBound) {
  const Array v = counting({7});
  // What Python's range(*slice(start, stop, step).indices(7)) says.
  const auto expected = [](std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step) {
    const std::int64_t n = 7, lowest = step > 0 ? 0 : -1, highest = step > 0 ? n : n - 1;
    const auto place = [&](std::int64_t i) { return std::clamp(i < 0 ? i + n : i, lowest, highest); };
    Elements result;
    std::int64_t i = start ? place(*start) : step > 0 ? 0 : n - 1;
    const std::int64_t end = stop ? place(*stop) : step > 0 ? n : -1;
    for (; step > 0 ? i < end : i > end; i += step) result.push_back(static_cast<double>(i));
    return result;
  };
  std::vector<std::optional<std::int64_t>> bounds{std::nullopt};
  for (std::int64_t b = -9; b <= 9; ++b) bounds.emplace_back(b);
  const auto dim = [](std::optional<std::int64_t> b) { return b ? std::optional<Dim>(*b) : std::nullopt; };
  for (const auto& start : bounds)
    for (const auto& stop : bounds)
      for (std::int64_t step : {-9, -3, -2, -1, 1, 2, 3, 9}) {
        const auto want = expected(start, stop, step);
        ASSERT_EQ(elements_of(v(slice(dim(start), dim(stop), step))), want)
            << start.value_or(99) << ":" << stop.value_or(99) << ":" << step;
        // Written: the same elements, and no others.
        Elements written(7, 0);
        for (double i : want) written[static_cast<std::size_t>(i)] = i + 1;
        const Slice s = slice(dim(start), dim(stop), step);
        if (std::abs(step) < 3) {
          ASSERT_EQ(elements_of(zeros({7}, DType::f64).at(s).set(v(s) + 1.0)), written);
        }
      }
}

TEST(Index, Arrays) {
  const Array x = counting({2, 3, 4});
  const Array rows{1, 0, 1}, columns{0, -1, 3};
  EXPECT_EQ(elements_of(x(rows, 0, 0)), (Elements{12, 0, 12}));
  EXPECT_EQ(elements_of(x(rows, 2, columns)), (Elements{20, 11, 23}));  // pairs, not all combinations
  EXPECT_EQ(x(rows, all, columns).shape(), (Shape{3, 3}));              // apart: in front
  EXPECT_EQ(elements_of(x(rows, all, columns)), (Elements{12, 16, 20, 3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(x(0, all, columns).shape(), (Shape{3, 3}));  // the number is an array too
  EXPECT_EQ(elements_of(x(0, all, columns)), (Elements{0, 4, 8, 3, 7, 11, 3, 7, 11}));
  EXPECT_EQ(x(all, Array{{0, 1}, {2, 2}}).shape(), (Shape{2, 2, 2, 4}));
  EXPECT_EQ(x(all, columns(newaxis), Array{1}).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(elements_of(x(slice(1, 2), rows, slice(none, none, -2))), (Elements{19, 17, 15, 13, 19, 17}));
  EXPECT_EQ(x(rows, newaxis, columns).shape(), (Shape{3, 1, 4}));  // newaxis parts them
  EXPECT_EQ(x(all, zeros({0}, DType::i32)).shape(), (Shape{2, 0, 4}));
}

TEST(Index, Windows) {
  const Array x = counting({3, 4});
  const auto columns = [](Array v, Array i) { return v(all, window(i, 2)); };
  for (const std::int64_t i : {1, -3}) EXPECT_EQ(elements_of(jit(columns)(x, i)), (Elements{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(elements_of(jit(columns)(x, 3)), (Elements{2, 3, 6, 7, 10, 11}));  // moved inside
  EXPECT_EQ(elements_of(x(window(0, 2, 2), 1)), (Elements{1, 9}));
  EXPECT_EQ(elements_of(x(Array{2, 0}, window(1, 2))), (Elements{9, 10, 1, 2}));
  const auto written = [](Array v, Array i) { return v.at(1, window(i, 2)).set(-1.0); };
  EXPECT_EQ(elements_of(jit(written)(x, 2)), (Elements{0, 1, 2, 3, 4, 5, -1, -1, 8, 9, 10, 11}));
  EXPECT_EQ(elements_of(jit(written)(x, 3)), elements_of(x));  // left out
  EXPECT_EQ(elements_of(grad([](Array v) { return sum(v(window(1, 2), 0) * v(window(1, 2), 0)); })(x)),
            (Elements{0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0, 0}));
  EXPECT_THROW(static_cast<void>(x(window(0, 4))), ShapeError);
  EXPECT_THROW(static_cast<void>(x(window(Array{0, 1}, 2))), ShapeError);
  EXPECT_THROW(static_cast<void>(x(window(0, 1, 0))), ShapeError);
}

TEST(Index, Masks) {
  const Array x = counting({3, 2});
  const Array rows{true, false, true}, cells = x > 2.5;
  EXPECT_EQ(elements_of(x(rows)), (Elements{0, 1, 4, 5}));
  EXPECT_EQ(elements_of(x(cells)), (Elements{3, 4, 5}));
  EXPECT_EQ(elements_of(x(rows, 1)), (Elements{1, 5}));
  EXPECT_EQ(elements_of(x(all, Array{false, true})), (Elements{1, 3, 5}));
  EXPECT_EQ(x(x > 99.0).shape(), (Shape{0}));
  EXPECT_EQ(elements_of(x.at(cells).set(-1.0)), (Elements{0, 1, 2, -1, -1, -1}));
  EXPECT_EQ(elements_of(x.at(rows).add(Array{10.0, 20.0})), (Elements{10, 21, 2, 3, 14, 25}));
  EXPECT_EQ(elements_of(x.at(cells).set(Array{7.0, 8.0, 9.0})), (Elements{0, 1, 2, 7, 8, 9}));  // one for each
  const Array slope = grad([&](Array v) { return sum(v(cells) * v(cells)); })(x);
  EXPECT_EQ(elements_of(slope), (Elements{0, 0, 0, 6, 8, 10}));
}

TEST(Index, Updates) {
  const Array x = counting({3, 4}), i{1, 1, 0};
  EXPECT_EQ(elements_of(x.at(1).set(0.0)), (Elements{0, 1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11}));
  EXPECT_EQ(elements_of(x.at(all, -1).mul(2.0)), (Elements{0, 1, 2, 6, 4, 5, 6, 14, 8, 9, 10, 22}));
  EXPECT_EQ(elements_of(x.at(slice(1, 3), slice(2)).add(Array{{1.0}, {2.0}})),
            (Elements{0, 1, 2, 3, 5, 6, 6, 7, 10, 11, 10, 11}));
  EXPECT_EQ(elements_of(x.at(0).min(Array{2.0, 0.0, 1.0, 9.0})), (Elements{0, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(elements_of(x.at(2, slice(none, none, -2)).max(10.0)), (Elements{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 11}));
  EXPECT_EQ(elements_of(x.at(i, 0).add(100.0)), (Elements{100, 1, 2, 3, 204, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(elements_of(x.at(i, slice(1, none, 2)).set(0.0)), (Elements{0, 0, 2, 0, 4, 0, 6, 0, 8, 9, 10, 11}));
  EXPECT_EQ(elements_of(x.at(slice(none, none, 2), Array{3, 0}).mul(-1.0)),
            (Elements{-0.0, 1, 2, -3, 4, 5, 6, 7, -8, 9, 10, -11}));
  EXPECT_EQ(elements_of(x.at(newaxis, 0).set(ones({1, 4}))), (Elements{1, 1, 1, 1, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(elements_of(x.at(all).set(x)), elements_of(x));
  EXPECT_EQ(elements_of(x.at(slice(0)).set(5.0)), elements_of(x));
  EXPECT_EQ(elements_of(x.at(1, slice(2)).get()), (Elements{4, 5}));
  const Array flags{true, false, false};
  EXPECT_TRUE(array_equal(flags.at(1).add(true), Array{true, true, false}));
  EXPECT_TRUE(array_equal(flags.at(slice(2)).mul(Array{false, true}), Array{false, false, false}));
}

// A number outside is an error; what the program computes is moved inside when read, left out when written, as in JAX.
TEST(Index, Outside) {
  const Array x = counting({3});
  for (const std::int64_t n : {-4, 3, 100}) {
    EXPECT_THROW(static_cast<void>(x(n)), ShapeError);
    EXPECT_THROW(static_cast<void>(x.at(n).set(0.0)), ShapeError);
  }
  const auto read = jit([](Array v, Array i) { return v(i); });
  const auto write = jit([](Array v, Array i) { return v.at(i).set(9.0); });
  const auto number = [](std::int32_t i) { return Array(Scalar(i)); };
  EXPECT_EQ(read(x, number(-1)).item<double>(), 2);
  EXPECT_EQ(read(x, number(7)).item<double>(), 2);
  EXPECT_EQ(read(x, number(-7)).item<double>(), 0);
  EXPECT_EQ(elements_of(write(x, number(-1))), (Elements{0, 1, 9}));
  EXPECT_EQ(elements_of(write(x, number(3))), (Elements{0, 1, 2}));
  EXPECT_EQ(elements_of(write(x, number(-4))), (Elements{0, 1, 2}));
  EXPECT_EQ(elements_of(x(Array{5, -9})), (Elements{2, 0}));
  EXPECT_EQ(elements_of(x.at(Array{5, 1}).add(1.0)), (Elements{0, 2, 2}));
  EXPECT_EQ(elements_of(x.at(Array{5, 1}).set(1.0, {.mode = IndexMode::clip})), (Elements{0, 1, 1}));
  EXPECT_EQ(elements_of(x.at(Array{5, 1}).get({.mode = IndexMode::fill, .fill = Scalar(-1)})), (Elements{-1, 1}));
}

// Derivatives, batches and compiled loops of the same spellings.
// Everything is outside of an empty array: nothing is written, as of loops over no elements.
TEST(Index, OutsideOfEmptyArrays) {
  const Array none = zeros({0}, DType::f64), rows = zeros({4, 0}, DType::f64), i{2, 0};
  EXPECT_EQ(none.at(i(0)).set(1.0).shape(), (Shape{0}));
  EXPECT_EQ(none.at(i).add(1.0).shape(), (Shape{0}));
  EXPECT_EQ(rows.at(i(0), i(1)).mul(2.0).shape(), (Shape{4, 0}));
  EXPECT_EQ(rows.at(i).max(zeros({2, 0}, DType::f64)).shape(), (Shape{4, 0}));
  EXPECT_EQ(rows.at(all, i(0)).set(1.0).shape(), (Shape{4, 0}));
  EXPECT_EQ(scatter_add(none, i, zeros({2}, DType::f64)).shape(), (Shape{0}));
  EXPECT_THROW(static_cast<void>(none.at(i).set(zeros({3}, DType::f64))), ShapeError);
  const Array filled = jit([](const Array& x) {
    return fori_loop(0, x.size(0), [](const Array& i, const Array& c) { return c.at(i).set(1.0); }, x);
  })(none);
  EXPECT_EQ(filled.shape(), (Shape{0}));
}

TEST(Index, Transformed) {
  const auto updated = [](Array ys, Array i, Array c) {
    ys = ys.at(i).set(c);
    ys = ys.at(slice(none, none, 2)).mul(3.0);
    return sum(ys * ys(slice(none, none, -1)));
  };
  const Array ys{1.0, 2.0, 3.0, 4.0}, i = Array(Scalar(2)), c = Array(Scalar(5.0));
  const double h = 1e-6;
  const double slope = (updated(ys, i, c + h).item<double>() - updated(ys, i, c - h).item<double>()) / (2 * h);
  EXPECT_NEAR(grad<2>(updated)(ys, i, c).item<double>(), slope, 1e-7);
  EXPECT_NEAR(jit(grad<2>(updated))(ys, i, c).item<double>(), slope, 1e-7);
  const Array lanes = vmap(updated, {.in_axes = {none, 0, none}})(ys, Array{0, 1, 2, 3}, c);
  for (std::int32_t lane = 0; lane < 4; ++lane)
    EXPECT_EQ(lanes(lane).item<double>(), updated(ys, Array(Scalar(lane)), c).item<double>());
  const auto filled = jit([](Array start) {
    return fori_loop(0, 6, [](Array i, Array ys) { return ys.at(i).set(convert(i * i, DType::f64)); }, start);
  });
  EXPECT_EQ(elements_of(filled(zeros({6}, DType::f64))), (Elements{0, 1, 4, 9, 16, 25}));
}

// Sizes that are not known while tracing: slices, numbers from the end and steps still say what they say.
TEST(Index, OfSizesThatDataDecide) {
  const auto ends = [](Array x, Array mask) {
    const Array v = x(mask);
    return stack({sum(v(slice(1, none))), sum(v(slice(none, none, 2))), v(0), v(-1), sum(v(slice(none, -1))),
                  sum(v.at(0).set(0.0))});
  };
  const Array x{1.0, 2.0, 4.0, 8.0, 16.0}, mask{true, false, true, true, true};
  EXPECT_EQ(elements_of(ends(x, mask)), (Elements{28, 9, 1, 16, 13, 28}));
  EXPECT_EQ(elements_of(jit(ends)(x, mask)), (Elements{28, 9, 1, 16, 13, 28}));
}

// What is put in becomes a part of the array: numbers that fit do, as they would by meeting it.
TEST(Index, UpdatesOfOtherDTypes) {
  const auto shown = [](const Array& x) { return elements_of(convert(x, DType::f64)); };
  const Array ints = zeros({3}, DType::i32), halves = zeros({3}, DType::f16);
  EXPECT_EQ(shown(ints.at(1).set(2.0)), (Elements{0, 2, 0}));
  EXPECT_EQ(shown(ints.at(1).set(-0.0)), (Elements{0, 0, 0}));
  EXPECT_EQ(shown(ints.at(1).add(true)), (Elements{0, 1, 0}));
  EXPECT_EQ(shown(ints.at(0).set(convert(Array{7}, DType::i8)(0))), (Elements{7, 0, 0}));
  EXPECT_EQ(shown(halves.at(1).set(0.1)), (Elements{0, 0.0999755859375, 0})) << "rounded to the dtype";
  EXPECT_EQ(shown(halves.at(1).set(Array{3}(0))), (Elements{0, 3, 0}));
  EXPECT_EQ(shown(pad(ints, 1.0, {0}, {1})), (Elements{0, 0, 0, 1}));
  EXPECT_EQ(shown(zeros({2}, DType::bool_).at(1).set(1)), (Elements{0, 1}));
  EXPECT_EQ(shown(zeros({2}, DType::i64).at(1).set(std::int64_t(1) << 40)), (Elements{0, 1099511627776.0}));
  EXPECT_THROW(static_cast<void>(ints.at(1).set(2.5)), DTypeError);
  EXPECT_THROW(static_cast<void>(ints.at(1).set(NAN)), DTypeError);
  EXPECT_THROW(static_cast<void>(ints.at(1).set(std::int64_t(1) << 40)), DTypeError);
  EXPECT_THROW(static_cast<void>(zeros({3}, DType::u8).at(1).set(-1)), DTypeError);
  EXPECT_THROW(static_cast<void>(zeros({2}, DType::bool_).at(1).set(2)), DTypeError);
  EXPECT_THROW(static_cast<void>(halves.at(1).set(std::complex<float>(1, 1))), DTypeError);
  EXPECT_THROW(static_cast<void>(halves.at(1).set(ones({}))), DTypeError) << "f32 in f16";
  EXPECT_THROW(jit([](Array x, Array y) { return x.at(0).set(y); })(ints, ones({})), DTypeError);
}

}  // namespace
}  // namespace tenon
