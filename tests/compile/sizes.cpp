// Programs with size parameters: one code for all sizes, held against the same Program at each of them by the reference
// evaluator.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/compile/executable.h"
#include "tenon/compile/specialise.h"
#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Function = std::function<Arrays(std::span<const Array>)>;

// What a function is at types whose sizes are these variables, numbered from 0, or numbers.
ProgramRef traced(const Function& f, const std::vector<Type>& types) {
  TracedFunction made = trace_types([&](std::span<const Array> in) { return f(in); }, types,
                                    std::vector<bool>(types.size(), false), "a test");
  EXPECT_TRUE(made.captures.empty());
  return made.program;
}

// Numbers that differ from element to element, the same in every run.
Value filled(const Type& type) {
  Buffer b = Buffer::allocate(type.dtype, type.shape.sizes());
  for (std::int64_t i = 0; i < b.elements(); ++i) {
    const Scalar value = Scalar(0.1 + static_cast<double>((i * 37) % 101) / 97).convert(type.dtype);
    std::memcpy(b.data() + static_cast<std::size_t>(i) * size_of(type.dtype), value.data(), size_of(type.dtype));
  }
  return b;
}

double at(const Buffer& b, std::int64_t i) {
  return b.dtype() == DType::f32 ? static_cast<double>(b.as<float>()[i]) : b.as<double>()[i];
}

void expect_agreement(const Function& f, const std::vector<std::vector<std::int64_t>>& shapes, DType dtype,
                      std::span<const std::int64_t> lengths, bool native = true) {
  // -1 is the size that varies.
  const Dim n = Dim::variable(fresh_size());
  std::vector<Type> types;
  for (const auto& shape : shapes) {
    std::vector<Dim> dims;
    for (const std::int64_t d : shape) dims.push_back(d < 0 ? n : Dim(d));
    types.push_back(Type::array(dtype, Shape(dims)));
  }
  const ProgramRef program = traced(f, types);
  ASSERT_EQ(program->size_params().size(), 1u);
  const std::shared_ptr<const Executable> code = compile(program);
  EXPECT_EQ(code->native() != nullptr, native);
  for (const std::int64_t length : lengths) {
    const std::int64_t sizes[]{length};
    const ProgramRef one = specialised(*program, sizes);
    std::vector<Value> in;
    for (const Type& type : one->input_types()) in.push_back(filled(type));
    const std::vector<Value> want = evaluate(*one, {}, in), got = code->run(in, sizes);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const Buffer x = std::get<Buffer>(want[i]).contiguous_copy(), y = std::get<Buffer>(got[i]);
      ASSERT_EQ(x.dtype(), y.dtype());
      ASSERT_TRUE(std::ranges::equal(x.dims(), y.dims()));
      for (std::int64_t k = 0; k < x.elements(); ++k)
        ASSERT_NEAR(at(x, k), at(y, k), 1e-4 * (1 + std::abs(at(x, k)))) << "length " << length << ", element " << k;
    }
  }
}

constexpr std::int64_t lengths[]{1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 127, 1000, 4099, 70001};
constexpr std::int64_t short_lengths[]{1, 2, 3, 5, 8, 16, 17, 33, 65, 130};

TEST(Sizes, Elementwise) {
  const Function f = [](std::span<const Array> in) { return Arrays{sin(in[0]) * in[1] + 1.0f, exp(-in[0])}; };
  expect_agreement(f, {{-1}, {-1}}, DType::f32, lengths);
  expect_agreement(f, {{-1}, {-1}}, DType::f64, lengths);
  expect_agreement(f, {{-1, 3}, {-1, 3}}, DType::f32, short_lengths);
  expect_agreement(f, {{3, -1}, {3, -1}}, DType::f32, short_lengths);
  expect_agreement(f, {{-1, -1}, {-1, -1}}, DType::f32, short_lengths);
}

// Several registers side by side, the last of them moved back to end with the row; and rows shorter than that.
TEST(Sizes, LongBodies) {
  const Function f = [](std::span<const Array> in) {
    Array x = in[0];
    for (int i = 0; i < 6; ++i) x = sin(x) + 0.1f * x;
    return Arrays{x};
  };
  constexpr std::int64_t around_registers[]{1,  8,  15,  16,  17,  31,  33,  63,  64,  65,
                                            79, 80, 127, 128, 129, 200, 255, 257, 1000};
  expect_agreement(f, {{-1}}, DType::f32, around_registers);
  expect_agreement(f, {{-1}}, DType::f64, around_registers);
  expect_agreement(f, {{3, -1}}, DType::f32, around_registers);
}

// Statistics of rows: what a few rows behind whole blocks hand to each other.
TEST(Sizes, NormsOfRows) {
  const Function f = [](std::span<const Array> in) {
    const Array d = in[0] - mean(in[0], Axes(1).keepdims());
    return Arrays{d / sqrt(mean(d * d, Axes(1).keepdims()) + 1e-5f)};
  };
  constexpr std::int64_t rows[]{1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 100, 1001};
  expect_agreement(f, {{-1, 64}}, DType::f32, rows);
  expect_agreement(f, {{-1, 3}}, DType::f64, rows);
}

// An output that is written past the caches where it is large.
TEST(Sizes, LargeOutputs) {
  constexpr std::int64_t rows[]{3, 40'000};
  expect_agreement([](std::span<const Array> in) { return Arrays{in[0] + 1.0f}; }, {{-1, 256}}, DType::f32, rows);
}

// And one of known size, which is large beside what it is computed from.
TEST(Sizes, LargeOutputsBesideWhatIsRead) {
  for (const std::int64_t n : {1'000'000, 4'000'000, 4'194'304}) {
    const Array x = sin(arange(n, DType::f32)), y = cos(arange(n, DType::f32));
    const Array z = jit([](Array x, Array y) { return x * 2.0f - y; })(x, y);
    EXPECT_TRUE(array_equal(z, x * 2.0f - y)) << n;
  }
}

TEST(Sizes, Reductions) {
  const Function all = [](std::span<const Array> in) { return Arrays{sum(in[0] * in[0]), max(in[0]), mean(in[0])}; };
  expect_agreement(all, {{-1}}, DType::f32, lengths);
  expect_agreement(all, {{-1, 5}}, DType::f64, short_lengths);
  const Function rows = [](std::span<const Array> in) { return Arrays{sum(in[0], {1}), max(in[0], {0})}; };
  expect_agreement(rows, {{-1, 5}}, DType::f32, short_lengths);
  expect_agreement(rows, {{5, -1}}, DType::f32, short_lengths);
  expect_agreement(rows, {{-1, -1}}, DType::f32, short_lengths);
  expect_agreement([](std::span<const Array> in) { return Arrays{softmax(in[0])}; }, {{-1, -1}}, DType::f32,
                   short_lengths);
}

TEST(Sizes, Products) {
  const Function f = [](std::span<const Array> in) { return Arrays{matmul(in[0], in[1])}; };
  expect_agreement(f, {{-1, 7}, {7, 4}}, DType::f32, short_lengths);
  expect_agreement(f, {{6, -1}, {-1, 4}}, DType::f32, short_lengths);
  expect_agreement(f, {{6, 7}, {7, -1}}, DType::f64, short_lengths);
  expect_agreement(f, {{-1, -1}, {-1, -1}}, DType::f32, short_lengths);
  expect_agreement(f, {{-1, 3, 4}, {-1, 4, 5}}, DType::f32, short_lengths);
  expect_agreement([](std::span<const Array> in) { return Arrays{matmul(transpose(in[0]), in[0])}; }, {{-1, 7}},
                   DType::f32, short_lengths);
}

TEST(Sizes, Views) {
  const Function f = [](std::span<const Array> in) {
    const Array& x = in[0];
    const Dim n = x.shape()[0];
    return Arrays{reverse(x, {0}),
                  slice_in_dim(x, 1, n, 0) - slice_in_dim(x, 0, n - 1, 0),
                  concatenate({x, x * 2.0f}, 0),
                  broadcast_to(x, Shape{3, n}),
                  reshape(broadcast_to(x, Shape{2, n}), Shape{n * 2}),
                  arange(n, DType::f32) * x,
                  pad(x, 0.0f, {1}, {2})};
  };
  constexpr std::int64_t from_two[]{2, 3, 5, 8, 16, 17, 33, 65, 130, 70001};
  expect_agreement(f, {{-1}}, DType::f32, from_two);
}

TEST(Sizes, Gathers) {
  const Function f = [](std::span<const Array> in) {
    const Array index = convert(in[0] * 10.0f, DType::i32);
    return Arrays{take(in[1], index, 0), in[1].at(index).add(in[0])};
  };
  expect_agreement(f, {{-1}, {-1}}, DType::f32, lengths);
}

TEST(Sizes, Loops) {
  const Function f = [](std::span<const Array> in) {
    auto [last, all] = scan([](Array c, Array x) { return std::pair(sin(c + x), c * x); }, in[1], in[0]);
    return Arrays{last, all};
  };
  expect_agreement(f, {{-1, 3}, {3}}, DType::f32, short_lengths);
  expect_agreement(f, {{4, -1}, {-1}}, DType::f32, short_lengths);
  expect_agreement(f, {{-1}, {}}, DType::f64, short_lengths);
}

TEST(Sizes, Gradients) {
  const Function f = [](std::span<const Array> in) {
    const auto loss = [](Array x, Array w) { return sum(tanh(matmul(x, w))) / convert(Array(3.0f), x.dtype()); };
    auto [dx, dw] = grad<0, 1>(loss)(in[0], in[1]);
    return Arrays{dx, dw};
  };
  expect_agreement(f, {{-1, 7}, {7, 4}}, DType::f32, short_lengths);
  const Function g = [](std::span<const Array> in) {
    const auto loss = [](Array xs, Array c) {
      return sum(scan([](Array c, Array x) { return std::pair(sin(c + x), c * x); }, c, xs).second);
    };
    auto [dx, dc] = grad<0, 1>(loss)(in[0], in[1]);
    return Arrays{dx, dc};
  };
  expect_agreement(g, {{-1, 3}, {3}}, DType::f32, short_lengths);
}

}  // namespace
}  // namespace tenon
