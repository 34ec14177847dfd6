// gather and scatter in random forms, against their definition written out; and what is built on them, against plain
// loops.
#include "tenon/ops/composites/indexing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden/indexing.h"
#include "tenon/api/jit.h"
#include "tenon/api/transforms.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tests/error_message.h"
#include "tests/fuzzing.h"
#include "tests/ops/checks.h"

namespace tenon {
namespace {

using Sizes = std::vector<std::int64_t>;

// A form of gather or scatter, and the shapes it is used with.
struct Form {
  IndexAxes axes;
  Sizes x, indices, slice, windowed;  // windowed: gather's result, scatter's updates
  IndexMode mode;
  DType index_dtype;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t upto(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(engine_); }
  bool chance(std::int64_t one_in) { return upto(one_in - 1) == 0; }
  template <class T>
  void shuffle(std::vector<T>& list) {
    std::shuffle(list.begin(), list.end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

// Every way to divide the axes: batch, collapsed or kept; moved by an index or not; lanes and windows in any order.
Form random_form(Random& random) {
  Form f;
  f.mode = static_cast<IndexMode>(random.upto(1));
  f.index_dtype = std::vector{DType::i32, DType::i64, DType::u32, DType::u64}[static_cast<std::size_t>(random.upto(3))];
  const std::int64_t rank = random.upto(3);
  Sizes lanes(static_cast<std::size_t>(random.upto(2)));
  for (auto& n : lanes) n = random.chance(12) ? 0 : 1 + random.upto(2);
  Sizes free_lanes(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) free_lanes[i] = static_cast<std::int64_t>(i);
  random.shuffle(free_lanes);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (!free_lanes.empty() && random.chance(4)) {
      f.axes.batch.push_back(i);
      f.axes.indices_batch.push_back(free_lanes.back());
      f.x.push_back(lanes[static_cast<std::size_t>(free_lanes.back())]);
      f.slice.push_back(1);
      free_lanes.pop_back();
      continue;
    }
    f.x.push_back(1 + random.upto(3));
    const bool moved = random.chance(2);
    if (moved) f.axes.map.push_back(i);
    if (random.chance(2)) {
      f.axes.collapsed.push_back(i);
      f.slice.push_back(1);
    } else {
      f.slice.push_back(random.chance(10) ? 0 : 1 + random.upto(f.x.back() - 1));
      ++kept;
    }
  }
  random.shuffle(f.axes.map);
  f.indices = lanes;
  f.indices.push_back(static_cast<std::int64_t>(f.axes.map.size()));
  std::vector<bool> window(lanes.size(), false);
  window.insert(window.end(), static_cast<std::size_t>(kept), true);
  random.shuffle(window);
  std::size_t lane = 0, axis = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (!window[i]) {
      f.windowed.push_back(lanes[lane++]);
      continue;
    }
    while (std::ranges::count(f.axes.batch, axis) + std::ranges::count(f.axes.collapsed, axis) > 0) ++axis;
    f.axes.window.push_back(static_cast<std::int64_t>(i));
    f.windowed.push_back(f.slice[axis++]);
  }
  return f;
}

std::size_t offset_of(const Sizes& sizes, const Sizes& index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) offset = offset * sizes[i] + index[i];
  return static_cast<std::size_t>(offset);
}
std::vector<Sizes> all_indices(const Sizes& sizes) {
  std::vector<Sizes> all{{}};
  for (std::int64_t n : sizes) {
    std::vector<Sizes> longer;
    for (const Sizes& index : all)
      for (std::int64_t i = 0; i < n; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    all = std::move(longer);
  }
  return all;
}

// The definition (https://openxla.org/xla/operation_semantics#gather): the element of x that an element of the windowed
// array is, or nothing where the slice lies outside and the mode is fill.
std::optional<Sizes> element_of_x(const Form& f, const std::vector<std::int64_t>& indices, const Sizes& windowed) {
  Sizes lane, inside_slice;
  for (std::size_t i = 0; i < windowed.size(); ++i)
    (std::ranges::count(f.axes.window, i) > 0 ? inside_slice : lane).push_back(windowed[i]);
  Sizes start(f.x.size(), 0), at(f.x.size(), 0);
  for (std::size_t k = 0; k < f.axes.map.size(); ++k) {
    Sizes component = lane;
    component.push_back(static_cast<std::int64_t>(k));
    const auto axis = static_cast<std::size_t>(f.axes.map[k]);
    start[axis] = indices[offset_of(f.indices, component)];
    const std::int64_t last = f.x[axis] - f.slice[axis];
    if (f.mode == IndexMode::fill && (start[axis] < 0 || start[axis] > last)) return std::nullopt;
    start[axis] = std::clamp<std::int64_t>(start[axis], 0, last);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < f.x.size(); ++i) {
    const auto batch = std::ranges::find(f.axes.batch, static_cast<std::int64_t>(i));
    if (batch != f.axes.batch.end())
      at[i] =
          lane[static_cast<std::size_t>(f.axes.indices_batch[static_cast<std::size_t>(batch - f.axes.batch.begin())])];
    else if (std::ranges::count(f.axes.collapsed, i) > 0)
      at[i] = start[i];
    else
      at[i] = start[i] + inside_slice[next++];
  }
  return at;
}

Shape shape_of(const Sizes& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }
std::vector<Dim> dims_of(const Sizes& sizes) { return {sizes.begin(), sizes.end()}; }

std::int64_t elements(const Sizes& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

// Indices from -2 to 4, unsigned ones from 0, with repetitions.
std::vector<std::int64_t> random_indices(const Form& f, Random& random) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(elements(f.indices)));
  const std::int64_t least = is_unsigned_integer(f.index_dtype) ? 0 : -2;
  for (auto& i : all) i = random.chance(20) && least < 0 ? -1000000 : least + random.upto(4 - least);
  return all;
}
Array index_array(const Form& f, const std::vector<std::int64_t>& values) {
  Buffer b = Buffer::allocate(f.index_dtype, f.indices);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(b.data() + i * size_of(f.index_dtype), Scalar(values[i]).convert(f.index_dtype).data(),
                size_of(f.index_dtype));
  return b;
}

std::string text_of(const Form& f) {
  std::string text = "x" + shape_of(f.x).text() + " indices" + shape_of(f.indices).text() + " windowed" +
                     shape_of(f.windowed).text() + (f.mode == IndexMode::fill ? " fill" : " clip");
  for (const auto* axes : {&f.axes.window, &f.axes.collapsed, &f.axes.map, &f.axes.batch, &f.axes.indices_batch}) {
    text += " (";
    for (std::int64_t a : *axes) text += " " + std::to_string(a);
    text += " )";
  }
  return text;
}

// A function of arrays as a Program, and both executors' results for it.
ProgramRef traced(const std::vector<Type>& types, const std::function<Array(std::span<const Array>)>& f) {
  Scope scope;
  Arrays in;
  for (const Type& t : types) in.push_back(scope.input(t));
  return scope.finish(Arrays{f(in)}).program;
}
std::vector<Buffer> both_results(const ProgramRef& p, const std::vector<Value>& in) {
  EXPECT_EQ(why_not_native(*p), "");
  return {std::get<Buffer>(evaluate(*p, {}, in)[0]), std::get<Buffer>(compile(p)->run(in)[0])};
}

Buffer random_values(DType d, const Sizes& sizes, Random& random) {
  Buffer b = Buffer::allocate(d, sizes);
  for (std::int64_t i = 0; i < b.elements(); ++i)
    std::memcpy(b.data() + static_cast<std::size_t>(i) * size_of(d),
                Scalar(static_cast<double>(random.upto(8) - 4)).convert(d).data(), size_of(d));
  return b;
}

TEST(GatherFuzz, IsItsDefinition) {
  SCOPED_TRACE(fuzzing::repeat_with());
  Random random(fuzzing::seed());
  for (std::int64_t n = 0; n < fuzzing::cases(300); ++n) {
    const Form f = random_form(random);
    SCOPED_TRACE(text_of(f));
    const auto indices = random_indices(f, random);
    const Buffer x = random_values(DType::f64, f.x, random);
    const std::vector<Value> in{x, std::get<Buffer>(index_array(f, indices).value())};
    const ProgramRef p = traced({type_of(in[0]), type_of(in[1])}, [&](auto a) {
      return gather(a[0], a[1], f.axes, dims_of(f.slice), {f.mode, Scalar(7.5)});
    });
    for (const Buffer& got : both_results(p, in)) {
      ASSERT_EQ(Sizes(got.dims().begin(), got.dims().end()), f.windowed);
      for (const Sizes& at : all_indices(f.windowed)) {
        const auto from = element_of_x(f, indices, at);
        ASSERT_EQ(got.as<double>()[offset_of(f.windowed, at)], from ? x.as<double>()[offset_of(f.x, *from)] : 7.5);
      }
    }
  }
}

double combined(ScatterKind kind, double old, double update) {
  switch (kind) {
    case ScatterKind::set:
      return update;
    case ScatterKind::add:
      return old + update;
    case ScatterKind::mul:
      return old * update;
    case ScatterKind::min:
      return std::min(old, update);
    default:
      return std::max(old, update);
  }
}

TEST(ScatterFuzz, IsItsDefinition) {
  SCOPED_TRACE(fuzzing::repeat_with());
  Random random(fuzzing::seed() + 1);
  for (std::int64_t n = 0; n < fuzzing::cases(300); ++n) {
    const Form f = random_form(random);
    SCOPED_TRACE(text_of(f));
    const auto kind = static_cast<ScatterKind>(random.upto(4));
    const DType d =
        std::vector{DType::f64, DType::i32, DType::u32, DType::i64}[static_cast<std::size_t>(random.upto(3))];
    const auto indices = random_indices(f, random);
    const Buffer x = random_values(d, f.x, random), updates = random_values(d, f.windowed, random);
    const std::vector<Value> in{x, std::get<Buffer>(index_array(f, indices).value()), updates};
    const ProgramRef p = traced({type_of(in[0]), type_of(in[1]), type_of(in[2])},
                                [&](auto a) { return scatter(kind, a[0], a[1], a[2], f.axes, {f.mode}); });
    std::vector<double> want;
    for (std::int64_t i = 0; i < x.elements(); ++i) want.push_back(sample::element(x, i).real());
    for (const Sizes& at : all_indices(f.windowed))
      if (const auto to = element_of_x(f, indices, at)) {
        double& target = want[offset_of(f.x, *to)];
        target = combined(kind, target,
                          sample::element(updates, static_cast<std::int64_t>(offset_of(f.windowed, at))).real());
        if (d == DType::u32) target = static_cast<std::uint32_t>(static_cast<std::int64_t>(target));
      }
    for (const Buffer& got : both_results(p, in))
      for (std::int64_t i = 0; i < got.elements(); ++i)
        ASSERT_EQ(sample::element(got, i).real(), want[static_cast<std::size_t>(i)]) << i;
  }
}

// As max() and min() themselves: of zeros, the larger one is +0 and the smaller -0, whichever is there before.
TEST(Scatter, SignsOfZeros) {
  for (const DType d : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Array x = convert(Array{0.0, -0.0, 0.0, -0.0}, d), y = convert(Array{-0.0, 0.0, 0.0, -0.0}, d);
    const Array rows = arange(4);
    for (const auto kind : {ScatterKind::max, ScatterKind::min}) {
      const std::vector<Value> in{x.value(), rows.value(), y.value()};
      const ProgramRef p = traced({type_of(in[0]), type_of(in[1]), type_of(in[2])},
                                  [&](auto a) { return scatter_at(kind, a[0], std::vector{a[1]}, {0}, a[2]); });
      const Buffer want = (kind == ScatterKind::max ? max(x, y) : min(x, y)).to_buffer();
      for (const Buffer& got : both_results(p, in))
        for (std::int64_t i = 0; i < 4; ++i)
          EXPECT_EQ(std::signbit(sample::element(got, i).real()), std::signbit(sample::element(want, i).real())) << i;
    }
  }
}

TEST(Indexing, AsJax) {
  const auto buffer = [](const std::vector<std::int64_t>& numbers, const Sizes& sizes) {
    Buffer b = Buffer::allocate(DType::i32, sizes);
    for (std::size_t i = 0; i < numbers.size(); ++i) b.as<std::int32_t>()[i] = static_cast<std::int32_t>(numbers[i]);
    return b;
  };
  const auto read = [](const Array& a) {
    const Buffer b = a.to_buffer();
    return std::vector<std::int64_t>(b.as<std::int32_t>(), b.as<std::int32_t>() + b.elements());
  };
  for (const golden::Indexed& g : golden::indexed) {
    const Array x = buffer(g.x, g.x_shape), at = buffer(g.indices, g.indices_shape);
    EXPECT_EQ(read(gather(x, at, g.axes, dims_of(g.slice_sizes), {g.mode, Scalar(77)})), g.gathered);
    EXPECT_EQ(read(scatter(g.kind, x, at, Array(buffer(g.updates, g.windowed_shape)), g.axes, {g.mode})), g.scattered);
  }
}

// jvp, vjp and vmap of random forms. Reals without ties, so that extrema are differentiable; a product needs unique
// indices.
TEST(IndexingFuzz, Transformations) {
  SCOPED_TRACE(fuzzing::repeat_with());
  Random random(fuzzing::seed() + 2);
  for (std::int64_t n = 0; n < fuzzing::cases(200); ++n) {
    Form f = random_form(random);
    SCOPED_TRACE(text_of(f));
    const auto kind = static_cast<ScatterKind>(random.upto(4));
    const Type x = Type::array(DType::f64, shape_of(f.x)), part = Type::array(DType::f64, shape_of(f.windowed)),
               at = Type::array(f.index_dtype, shape_of(f.indices));
    const ProgramRef reads =
        traced({x, at}, [&](auto a) { return gather(a[0], a[1], f.axes, dims_of(f.slice), {f.mode, Scalar(2.0)}); });
    const ProgramRef writes =
        traced({x, at, part}, [&](auto a) { return scatter(kind, a[0], a[1], a[2], f.axes, {f.mode}); });
    for (const ProgramRef& p : {reads, writes}) {
      const sample::Inputs inputs = [&] {
        std::vector<Value> in{sample::random_buffer(x, {-3, 3}),
                              std::get<Buffer>(index_array(f, random_indices(f, random)).value())};
        if (p == writes) in.push_back(sample::random_buffer(part, {-3, 3}));
        return in;
      };
      sample::expect_vmap_is_a_loop(p, inputs);
      if (p == writes && kind == ScatterKind::mul) continue;
      sample::expect_jvp_is_the_difference(p, inputs);
      sample::expect_vjp_transposes_jvp(p, inputs);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// --- what users call ---
template <class T>
std::vector<T> values(const Array& a) {
  const Buffer b = a.to_buffer();
  return {b.as<T>(), b.as<T>() + b.elements()};
}
using testing::ElementsAre;

TEST(Indexing, NegativeAndOutOfBounds) {
  const Array x = {10.f, 20.f, 30.f};
  const Array at = {0, -1, 2, 3, -3, -4, 100};
  EXPECT_THAT(values<float>(take(x, at)), ElementsAre(10, 30, 30, 30, 10, 10, 30));
  const std::vector<float> filled = values<float>(take(x, at, 0, {IndexMode::fill}));
  EXPECT_THAT(filled, ElementsAre(10, 30, 30, testing::IsNan(), 10, testing::IsNan(), testing::IsNan()));
  EXPECT_THAT(values<float>(take(x, at, 0, {IndexMode::fill, Scalar(0.f)})), ElementsAre(10, 30, 30, 0, 10, 0, 0));
  EXPECT_THAT(values<std::int32_t>(take(Array{1, 2}, Array{5}, 0, {IndexMode::fill})),
              ElementsAre(std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(values<std::uint32_t>(take(convert(Array{1, 2}, DType::u32), Array{5}, 0, {IndexMode::fill})),
              ElementsAre(std::numeric_limits<std::uint32_t>::max()));
  // Written: left out, or moved inside where clip is asked for.
  EXPECT_THAT(values<float>(scatter_add(x, at, 1.f)), ElementsAre(12, 20, 32));
  const Array one[] = {at};
  EXPECT_THAT(values<float>(scatter_at(ScatterKind::add, x, one, {0}, 1.f, {IndexMode::clip})),
              ElementsAre(13, 20, 34));
}

TEST(Indexing, IndicesOfEveryDtype) {
  const Array x = {10.f, 20.f, 30.f};
  for (DType d : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    EXPECT_THAT(values<float>(take(x, convert(Array{2, 0}, d))), ElementsAre(30, 10)) << name(d);
    EXPECT_THAT(values<float>(scatter_set(x, convert(Array{2, 0}, d), Array{1.f, 2.f})), ElementsAre(2, 20, 1));
  }
  const Array large = Array(std::uint64_t(1) << 63);
  EXPECT_EQ(take(x, large).item<float>(), 30);
  EXPECT_TRUE(std::isnan(take(x, large, 0, {IndexMode::fill}).item<float>()));
  EXPECT_EQ(jit([](const Array& a, const Array& i) { return take(a, i); })(x, large).item<float>(), 30);
}

// NumPy: x[i, j] broadcasts; x[i, :, j] has the common axes in front, x[:, i, j] in their place.
TEST(Indexing, SeveralIndexArrays) {
  const Array x = reshape(convert(arange(24), DType::f32), {2, 3, 4});
  const Array rows = reshape(Array{0, 1}, {2, 1}), columns = Array{3, 0, -2};
  const auto at = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<float>((a * 3 + b) * 4 + c);
  };
  const Array ij[] = {rows, columns};
  const Array first = gather_at(x, ij, {1, 2});
  EXPECT_EQ(first.shape(), (Shape{2, 2, 3}));
  const Array apart = gather_at(x, ij, {0, 2});
  EXPECT_EQ(apart.shape(), (Shape{2, 3, 3}));
  const Array swapped = gather_at(x, ij, {1, 0}, {IndexMode::clip});
  EXPECT_EQ(swapped.shape(), (Shape{2, 3, 4}));
  const std::int64_t r[] = {0, 1}, c[] = {3, 0, 2}, c0[] = {1, 0, 0};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 2; ++k)
        EXPECT_EQ(values<float>(first)[(k * 2 + i) * 3 + j], at(static_cast<std::int64_t>(k), r[i], c[j]));
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_EQ(values<float>(apart)[(i * 3 + j) * 3 + k], at(r[i], static_cast<std::int64_t>(k), c[j]));
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_EQ(values<float>(swapped)[(i * 3 + j) * 4 + k], at(c0[j], r[i], static_cast<std::int64_t>(k)));
    }
  // Rank 0 of all: one element.
  const Array numbers[] = {Array(1), Array(2), Array(-1)};
  EXPECT_EQ(gather_at(x, numbers, {0, 1, 2}).item<float>(), 23);
  // Written and read back.
  const Array updates = convert(reshape(arange(6), {2, 3}), DType::f32) + 100.f;
  const Array written = scatter_at(ScatterKind::set, x, ij, {0, 2}, expand_dims(updates, -1));
  EXPECT_THAT(values<float>(gather_at(written, ij, {0, 2})),
              testing::ElementsAreArray(values<float>(broadcast_to(expand_dims(updates, -1), {2, 3, 3}))));
}

TEST(Indexing, TakeAndAlongAxis) {
  const Array x = reshape(convert(arange(6), DType::f32), {2, 3});
  EXPECT_THAT(values<float>(take(x, Array{2, 0}, 1)), ElementsAre(2, 0, 5, 3));
  EXPECT_EQ(take(x, Array{{0, 1}, {1, 0}}, -1).shape(), (Shape{2, 2, 2}));
  const Array largest = expand_dims(argmax(-x, 1), 1);
  EXPECT_THAT(values<float>(take_along_axis(x, largest, 1)), ElementsAre(0, 3));
  EXPECT_THAT(values<float>(take_along_axis(x, Array{{2, 2, 0, -1}}, 1)), ElementsAre(2, 2, 0, 2, 5, 5, 3, 5));
  EXPECT_THAT(values<float>(take_along_axis(x, Array{{1, 0, 1}}, 0)), ElementsAre(3, 1, 5));
  EXPECT_EQ(take(zeros({0, 3}), zeros({0}, DType::i32)).shape(), (Shape{0, 3}));
  EXPECT_EQ(take(x, zeros({0}, DType::i32)).shape(), (Shape{0, 3}));
}

TEST(Indexing, MasksAndPlacesThatDataDecide) {
  const Array x = {{0.f, 5.f, 0.f}, {7.f, 0.f, -1.f}};
  const auto at = nonzero(x);
  ASSERT_EQ(at.size(), 2u);
  EXPECT_THAT(values<std::int32_t>(at[0]), ElementsAre(0, 1, 1));
  EXPECT_THAT(values<std::int32_t>(at[1]), ElementsAre(1, 0, 2));
  EXPECT_THAT(values<std::int32_t>(argwhere(x > 0)), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(where(x > 100)[0].shape(), (Shape{0}));
  EXPECT_EQ(count_nonzero(x).item<std::int32_t>(), 3);
  EXPECT_THAT(values<float>(gather_at(x, at, {0, 1})), ElementsAre(5, 7, -1));
  EXPECT_THAT(values<float>(compress(x, x != 0)), ElementsAre(5, 7, -1));
  const auto loss = [](const Array& a) { return sum(square(gather_at(a, nonzero(a), {0, 1}))); };
  EXPECT_THAT(values<float>(grad(loss)(x)), ElementsAre(0, 10, 0, 14, 0, -2));
}

// The gradient of an extremum is shared equally among those that attain it: two updates and the element itself.
TEST(Indexing, GradientsOfScatters) {
  const Array x = {1.f, 4.f, 2.f}, at = {1, 1, 0}, u = {4.f, 4.f, 0.f};
  const auto of = [&](ScatterKind kind, const ScatterOptions& options, const Array& where_to) {
    return grad([&](const std::array<Array, 2>& a) {
      const Array one[] = {where_to};
      return sum(scatter_at(kind, a[0], one, {0}, a[1], options) * Array{1.f, 3.f, 5.f});
    })(std::array<Array, 2>{x, u});
  };
  const auto [max_x, max_u] = of(ScatterKind::max, {}, at);
  EXPECT_THAT(values<float>(max_x), ElementsAre(1, 1, 5));
  EXPECT_THAT(values<float>(max_u), ElementsAre(1, 1, 0));
  const auto [set_x, set_u] = of(ScatterKind::set, {}, at);
  EXPECT_THAT(values<float>(set_x), ElementsAre(0, 0, 5));
  EXPECT_THAT(values<float>(set_u), ElementsAre(0, 3, 1));
  EXPECT_THROW(of(ScatterKind::mul, {}, at), UnsupportedError);
  const auto [mul_x, mul_u] = of(ScatterKind::mul, {IndexMode::fill, {false, true}}, Array{1, 7, 0});
  EXPECT_THAT(values<float>(mul_x), ElementsAre(0, 12, 5));
  EXPECT_THAT(values<float>(mul_u), ElementsAre(12, 0, 1));
}

TEST(Indexing, Errors) {
  const Array x = zeros({2, 3});
  using testing::HasSubstr;
  EXPECT_THAT(message_of([&] { take(x, Array{0.5f}); }), HasSubstr("an index is f32[1]"));
  EXPECT_THAT(message_of([&] { take(x, Array{true}); }), HasSubstr("compress()"));
  EXPECT_THAT(message_of([&] { take(x, Array{0}, 2); }), HasSubstr("axis 2"));
  EXPECT_THAT(message_of([&] { take(Array(1.f), Array{0}); }), HasSubstr("rank 0"));
  EXPECT_THAT(message_of([&] { take(zeros({0}), Array{0}); }), HasSubstr("slices of size 1 along axis 0 of f32[0]"));
  EXPECT_THAT(message_of([&] { take_along_axis(x, Array{0}, 0); }), HasSubstr("the ranks differ"));
  const Array two[] = {Array{0, 1}, Array{0, 1, 2}};
  EXPECT_THAT(message_of([&] { gather_at(x, two, {0, 1}); }), HasSubstr("gather_at"));
  EXPECT_THAT(message_of([&] { gather_at(x, two, {0, 0}); }), HasSubstr("axis 0 of f32[2,3] is indexed twice"));
  EXPECT_THAT(message_of([&] { gather_at(x, two, {0}); }), HasSubstr("2 index arrays for 1 axes"));
  EXPECT_THAT(message_of([&] { gather(x, Array{{0}}, {{1}, {0}, {0}, {}, {}}, {1, 4}); }),
              HasSubstr("slices of size 4 along axis 1"));
  EXPECT_THAT(message_of([&] { gather(x, Array{{0}}, {{0, 1}, {0}, {0}, {}, {}}, {1, 3}); }), HasSubstr("window"));
  EXPECT_THAT(message_of([&] { gather(x, Array{{0, 1}}, {{1}, {0}, {0}, {}, {}}, {1, 3}); }),
              HasSubstr("holds 2 starts; 1 axes are indexed"));
  EXPECT_THAT(message_of([&] { scatter_add(x, Array{0}, zeros({2, 2})); }), HasSubstr("f32[2,2]"));
}

}  // namespace
}  // namespace tenon
