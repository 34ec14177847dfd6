// ravel_pytree: trees of all kinds as one vector and back, under every transformation, beside the leaves themselves;
// and the text of its errors. Its numbers are also tested in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::expect_close;
using tn::message_of;

namespace {

struct Layer {
  Array weight, bias;
  double rate = 0.5;  // static
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Array> named;
  std::pair<Array, std::optional<Array>> rest;
};

Model model() {
  return {{{Array{{1.f, 2.f}, {3.f, 4.f}}, Array{5.f}, 0.25}, {tn::zeros({0, 3}), Array{6.f, 7.f}}},
          {{"scale", Array{8.f}}, {"shift", Array(tn::Scalar(9.f))}},
          {Array{10.f}, std::nullopt}};
}

TEST(RavelPytree, TreesAndBack) {
  const Model m = model();
  const auto [vector, unravel] = tn::ravel_pytree(m);
  EXPECT_TRUE(tn::array_equal(vector, tn::arange(10, DType::f32) + 1.f));
  EXPECT_EQ(vector.dtype(), DType::f32);
  const Model back = unravel(vector + 1.f);
  EXPECT_EQ(back.layers[0].rate, 0.25);
  expect_close(back, tn::tree::map([](const Array& a) { return a + 1.f; }, m));
  EXPECT_FALSE(back.rest.second.has_value());
  // Tuples, an array alone, and trees without leaves.
  const auto [pair, to_pair] = tn::ravel_pytree(std::tuple(Array{1.0}, std::array{Array(2.0), Array(3.0)}));
  EXPECT_TRUE(tn::array_equal(pair, Array{1.0, 2.0, 3.0}));
  EXPECT_EQ(std::get<1>(to_pair(pair))[1].item<double>(), 3);
  const auto one = tn::ravel_pytree(Array(2.5));
  EXPECT_EQ(one.vector.type(), tn::Type::array(DType::f64, {1}));
  EXPECT_FALSE(one.vector.weak());
  EXPECT_EQ(one.unravel(one.vector).rank(), 0);
  const auto [empty, to_empty] = tn::ravel_pytree(std::vector<Layer>());
  EXPECT_EQ(empty.type(), tn::Type::array(DType::f32, {0}));
  EXPECT_TRUE(to_empty(empty).empty());
}

TEST(RavelPytree, DTypesMeetAndComeBack) {
  struct Mixed {
    Array i, f, c, b;
  };
  const Mixed m{Array{1, -2}, Array{0.5f}, tn::complex(Array{1.0}, Array{2.0}), Array{true, false}};
  const auto [vector, unravel] = tn::ravel_pytree(m);
  EXPECT_EQ(vector.dtype(), DType::c128);
  const Mixed back = unravel(vector);
  expect_close(back, m);
  const Mixed turned = unravel(vector * tn::complex(Array(0.0), Array(1.0)));  // of complex numbers the real part
  EXPECT_TRUE(tn::array_equal(turned.i, Array{0, 0}));
  // Numbers of C++ are arrays of their dtypes; integers and bool meet in integers.
  EXPECT_EQ(tn::ravel_pytree(std::pair(Array{1.f}, Array(2.0))).vector.dtype(), DType::f64);
  EXPECT_EQ(tn::ravel_pytree(std::pair(Array{true}, Array{std::uint8_t(2)})).vector.dtype(), DType::u8);
  EXPECT_EQ(tn::ravel_pytree(std::pair(Array{true}, Array{false})).vector.dtype(), DType::bool_);
  // Of one dtype, leaves have that of the vector.
  const auto of_one = tn::ravel_pytree(std::pair(Array{1.f}, Array{2.f}));
  EXPECT_EQ(of_one.unravel(Array{1.0, 2.0}).first.dtype(), DType::f64);
  EXPECT_EQ(of_one.unravel(Array{1, 2}).second.item<std::int32_t>(), 2);
}

TEST(RavelPytree, UnderTransformations) {
  const Layer layer{Array{{0.5, -1.0}, {0.25, 2.0}}, Array{1.0, -0.5}};
  const auto loss = [](const Layer& l) { return tn::sum(tn::sin(l.weight) * l.bias) + tn::sum(l.bias * l.bias); };
  const auto [vector, unravel] = tn::ravel_pytree(layer);
  const auto of_vector = [=, unravel = unravel](const Array& v) { return loss(unravel(v)); };
  const Array slope = tn::ravel_pytree(tn::grad(loss)(layer)).vector;
  expect_close(tn::grad(of_vector)(vector), slope);
  expect_close(tn::jit(tn::grad(of_vector))(vector), slope);
  expect_close(tn::jvp(of_vector, std::tuple(vector), std::tuple(slope)).second, tn::sum(slope * slope));
  EXPECT_EQ(tn::jit(tn::hessian(of_vector))(vector).shape(), tn::Shape({6, 6}));
  const Array rows = tn::stack({vector, 2.0 * vector});
  const Layer lanes = tn::vmap(unravel)(rows);
  EXPECT_EQ(lanes.weight.shape(), tn::Shape({2, 2, 2}));
  EXPECT_EQ(lanes.rate, 0.5);
  expect_close(lanes.bias(1), 2.0 * layer.bias);
  expect_close(tn::jit(tn::vmap(tn::grad(of_vector)))(rows)(0), slope);
  // Made inside: in jit, in lanes, in a loop; and differentiated through the raveling.
  const auto doubled = [](const Layer& l) {
    const auto [v, back] = tn::ravel_pytree(l);
    return back(2.0 * v);
  };
  expect_close(tn::jit(doubled)(layer), doubled(layer));
  const Layer two{tn::stack({layer.weight, layer.weight}), tn::stack({layer.bias, layer.bias})};
  expect_close(tn::jit(tn::vmap(doubled))(two).bias(1), 2.0 * layer.bias);
  const auto total = [&](const Layer& l) { return loss(doubled(l)); };
  expect_close(tn::jit(tn::grad(total))(layer),
               tn::tree::map([](const Array& a) { return 2.0 * a; }, tn::grad(loss)(doubled(layer))));
  const auto stepped = [](const Layer& l) {
    const auto [v, back] = tn::ravel_pytree(l);
    return back(tn::fori_loop(
        0, 3, [&, back = back](const Array&, const Array& c) { return tn::ravel_pytree(back(c * 2.0)).vector; }, v));
  };
  expect_close(tn::jit(stepped)(layer).weight, 8.0 * layer.weight);
  // One code for all sizes.
  const auto sizes = tn::jit(doubled, {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {3, 5})
    expect_close(sizes(Layer{tn::ones({n, n}), tn::ones({n})}).weight(0, 0), Array(2.f));
}

TEST(RavelPytree, Errors) {
  const auto [vector, unravel] = tn::ravel_pytree(model());
  EXPECT_THAT(message_of([&, unravel = unravel] { unravel(tn::zeros({4})); }),
              AllOf(HasSubstr("ShapeError"), HasSubstr("unravel: f32[4] is no vector of 10 elements."),
                    HasSubstr("as long as the one that ravel_pytree has made"), HasSubstr("raveling.cpp:")));
  EXPECT_THAT(message_of([&, unravel = unravel] { unravel(tn::zeros({2, 5})); }), HasSubstr("f32[2,5] is no vector"));
  const auto mixed = tn::ravel_pytree(std::pair(Array{1.f}, Array{2}));
  EXPECT_THAT(
      message_of([&] { mixed.unravel(Array{1.0, 2.0}); }),
      AllOf(HasSubstr("DTypeError"), HasSubstr("unravel: f64[2] is not of the dtype in which the leaves meet, f32."),
            HasSubstr("Convert it"), HasSubstr("raveling.cpp:")));
  tn::List<Array> list;
  list.push(Array{1.f});
  EXPECT_THAT(message_of([&] { tn::ravel_pytree(std::pair(Array{1.f}, list)); }),
              AllOf(HasSubstr("DTypeError"), HasSubstr("ravel_pytree: leaf <1>"), HasSubstr("Stack the list first"),
                    HasSubstr("raveling.cpp:")));
}

}  // namespace
