// Images, values between points, codes and rotations: small cases with known values, derivatives, sizes that vary,
// errors. Drawn ones are compared with SciPy's in python/tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using tn::Array;
using tn::DType;

std::vector<double> numbers_of_field(const Array& x) {
  const tn::Buffer buffer = tn::convert(x, DType::f64).to_buffer();
  return {buffer.as<double>(), buffer.as<double>() + buffer.elements()};
}
Array wave(std::vector<tn::Dim> shape) {
  tn::Dim n = 1;
  for (const tn::Dim& size : shape) n = n * size;
  return tn::reshape(tn::sin(tn::arange(n, DType::f64) * 0.7 + 0.3), tn::Shape(shape));
}
void expect_near(const Array& got, const Array& wanted, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), wanted.shape());
  EXPECT_THAT(numbers_of_field(got), Pointwise(DoubleNear(tolerance), numbers_of_field(wanted)));
}

TEST(Fields, Resize) {
  using enum tn::image::ResizeMethod;
  EXPECT_THAT(numbers_of_field(tn::image::resize(Array{0.0, 1.0}, {4})), ElementsAre(0, 0.25, 0.75, 1));
  EXPECT_THAT(numbers_of_field(tn::image::resize(Array{0.0, 2.0, 4.0, 8.0}, {2}, {.method = area})), ElementsAre(1, 6));
  EXPECT_THAT(numbers_of_field(tn::image::resize(Array{1, 2, 3}, {6}, {.method = nearest})),
              ElementsAre(1, 1, 2, 2, 3, 3));
  const Array x = wave({5, 4});
  for (const auto method : {linear, cubic, cubic_pytorch, lanczos3, lanczos5, area})
    for (const bool antialias : {true, false}) {
      const auto of = [&](const Array& x) { return tn::image::resize(x, {3, 7}, {method, antialias}); };
      expect_near(of(tn::ones({5, 4}, DType::f64)), tn::ones({3, 7}, DType::f64));
      // What is known beside what is computed of sizes that vary.
      const auto varying = tn::jit(
          [&](const Array& x) { return tn::image::resize(x, {x.dim(0) - 2, x.dim(1) + 3}, {method, antialias}); },
          {.sizes = tn::Sizes::symbolic});
      expect_near(varying(x), of(x), 1e-9);
      const Array weights = tn::grad([&](const Array& x) { return tn::sum(of(x) * wave({3, 7})); })(x);
      EXPECT_NEAR(tn::sum(weights * x).item<double>(), tn::sum(of(x) * wave({3, 7})).item<double>(), 1e-12);
    }
}

TEST(Fields, ScaleAndTranslate) {
  EXPECT_THAT(numbers_of_field(tn::image::scale_and_translate(Array{1.0, 2.0, 3.0}, {3}, {0}, Array{1.0}, Array{1.0})),
              ElementsAre(0, 1, 2));
  const Array x = wave({4, 5});
  expect_near(tn::image::scale_and_translate(x, {8, 5}, {0}, Array{2.0}, Array{0.0}, {tn::image::ResizeMethod::cubic}),
              tn::image::resize(x, {8, 5}, {tn::image::ResizeMethod::cubic}));
}

TEST(Fields, MapCoordinates) {
  using enum tn::ndimage::Beyond;
  const Array x{0.0, 1.0, 2.0, 3.0}, at{-1.0, -2.0, 0.5, 4.0, 5.0, 9.0};
  const auto made = [&](tn::ndimage::Beyond beyond) {
    return numbers_of_field(tn::ndimage::map_coordinates(x, {at}, {.mode = beyond, .fill = 7.0}));
  };
  EXPECT_THAT(made(constant), ElementsAre(7, 7, 0.5, 7, 7, 7));
  EXPECT_THAT(made(nearest), ElementsAre(0, 0, 0.5, 3, 3, 3));
  EXPECT_THAT(made(wrap), ElementsAre(3, 2, 0.5, 0, 1, 1));
  EXPECT_THAT(made(mirror), ElementsAre(1, 2, 0.5, 2, 1, 3));
  EXPECT_THAT(made(reflect), ElementsAre(0, 1, 0.5, 3, 2, 1));
  const Array image = wave({4, 5}), places{{0.3, 1.7}, {2.2, 0.1}};
  const auto slopes =
      tn::grad([&](const Array& at) { return tn::sum(tn::ndimage::map_coordinates(image, {at(0), at(1)})); })(places);
  const Array cell = image(0, 2) * 0.8 + image(0, 3) * 0.2, below = image(1, 2) * 0.8 + image(1, 3) * 0.2;
  EXPECT_NEAR(slopes(0, 0).item<double>(), (below - cell).item<double>(), 1e-12);
}

TEST(Fields, Interpolation) {
  using tn::interpolate::interp;
  const Array xp{1.0, 2.0, 4.0}, fp{0.0, 10.0, 0.0};
  EXPECT_THAT(numbers_of_field(interp(Array{0.0, 1.5, 3.0, 5.0}, xp, fp)), ElementsAre(0, 5, 5, 0));
  EXPECT_THAT(numbers_of_field(interp(Array{0.0, 5.0}, xp, fp, {.left = -1.0, .extrapolate_right = true})),
              ElementsAre(-1, -5));
  EXPECT_THAT(numbers_of_field(interp(Array{6.5, -3.5}, xp, fp, {.period = 5.0})), ElementsAre(5, 5));
  EXPECT_THAT(numbers_of_field(tn::searchsorted(xp, Array{1.0, 3.0, 9.0, std::nan("")})), ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(numbers_of_field(tn::searchsorted(xp, Array{1.0, 4.0}, tn::Side::right)), ElementsAre(1, 3));

  tn::interpolate::RegularGridInterpolator f{{Array{0.0, 1.0}, Array{0.0, 2.0, 3.0}},
                                             Array{{0.0, 2.0, 3.0}, {10.0, 12.0, 13.0}}};
  const Array at{{0.5, 1.0}, {1.0, 2.5}, {2.0, 0.0}};
  EXPECT_THAT(numbers_of_field(f(at)), ElementsAre(6, 12.5, testing::IsNan()));
  f.fill.reset();
  EXPECT_THAT(numbers_of_field(f(at)), ElementsAre(6, 12.5, 20));
  // A tree: jit and grad take it.
  const auto slopes = tn::jit(tn::grad([](const tn::interpolate::RegularGridInterpolator& f, const Array& at) {
    return tn::sum(f(at));
  }))(f, Array{{0.5, 1.0}});
  EXPECT_THAT(numbers_of_field(slopes.values), ElementsAre(0.25, 0.25, 0, 0.25, 0.25, 0));
}

TEST(Fields, Codes) {
  const auto [codes, distances] = tn::cluster::vq(Array{{0.0, 1.0}, {5.0, 5.0}}, Array{{5.0, 5.0}, {0.0, 0.0}});
  EXPECT_THAT(numbers_of_field(codes), ElementsAre(1, 0));
  EXPECT_THAT(numbers_of_field(distances), ElementsAre(1, 0));
}

TEST(Fields, Rotations) {
  using tn::spatial::Rotation;
  const Array angles{0.3, -0.8, 1.1}, v{0.2, 0.5, -0.4};
  expect_near(Rotation::from_rotvec(Array{0.0, 0.0, 90.0}, true).apply(Array{1.0, 0.0, 0.0}), Array{0.0, 1.0, 0.0});
  for (const char* seq : {"xyz", "ZYX", "zxz", "XYX"}) {
    const Rotation r = Rotation::from_euler(seq, angles);
    const Array same = Rotation::from_euler(seq, r.as_euler(seq)).as_matrix();
    expect_near(same, r.as_matrix());
    expect_near(Rotation::from_matrix(r.as_matrix()).as_matrix(), r.as_matrix());
    expect_near(Rotation::from_rotvec(r.as_rotvec()).as_matrix(), r.as_matrix());
    expect_near(Rotation::from_mrp(r.as_mrp()).as_matrix(), r.as_matrix());
    expect_near((r * r.inv()).as_matrix(), tn::eye(3, DType::f64));
    expect_near(r.apply(r.apply(v), true), v);
  }
  const auto turned = [&](const Array& rotvec) { return Rotation::from_rotvec(rotvec).apply(v); };
  expect_near(tn::jacrev(turned)(tn::zeros({3}, DType::f64)),
              Array{{0.0, -0.4, -0.5}, {0.4, 0.0, 0.2}, {0.5, -0.2, 0.0}});
  const Array ends = Rotation::from_euler("z", Array{{0.0}, {90.0}}, true).quat;
  const auto path = tn::spatial::Slerp::init(Array{0.0, 2.0}, {ends});
  EXPECT_NEAR(path(0.5).magnitude().item<double>(), std::numbers::pi / 8, 1e-12);
}

TEST(Fields, Errors) {
  const Array x = wave({3, 4});
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::image::resize(x, {3}); }),
              HasSubstr("resize: f64[3,4] in the shape"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::ndimage::map_coordinates(x, {Array(1.0)}); }),
              HasSubstr("map_coordinates: 1 coordinates for the axes of f64[3,4]"));
  EXPECT_THAT(tn::message_of<tn::UnsupportedError>(
                  [&] { tn::ndimage::map_coordinates(x, {Array(1.0), Array(1.0)}, {.order = 3}); }),
              HasSubstr("splines of order 3"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::interpolate::interp(x, x, x); }),
              HasSubstr("interp: the points"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::searchsorted(x, x); }), HasSubstr("is no vector"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::cluster::vq(x, wave({2, 3})); }), HasSubstr("a code book"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::spatial::Rotation::from_quat(wave({3})); }),
              HasSubstr("has not 4 numbers along its last axis"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::spatial::Rotation::from_euler("xx", wave({2})); }),
              HasSubstr("of which one follows itself"));
}

}  // namespace
