// Reductions by indices: on all cores, with updates computed where they are combined; against the reference evaluator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/fuzzing.h"

namespace tenon {
namespace {

// Numbers from 0 to below - 1, the same each time.
Array drawn(std::int64_t seed, const Shape& shape, std::int64_t below) {
  const std::int64_t n = shape.elements().value();
  const Array i = convert(arange(n), DType::u32) * Array(Scalar(std::uint32_t(2654435761U))) +
                  Array(Scalar(static_cast<std::uint32_t>(seed * 7919)));
  return reshape(
      convert(i / Array(Scalar(std::uint32_t(128))) % Array(Scalar(static_cast<std::uint32_t>(below))), DType::i32),
      shape);
}

// How often each way is taken does not matter here, but that one is: the code forks, and no array of the updates' size
// is stored.
struct Way {
  const char* name;
  std::int64_t rows, columns, updates;
};
constexpr Way ways[] = {{"in parts", 50, 1, 40'000},
                        {"in parts of rows", 30, 5, 20'000},
                        {"by owners", 5'000, 16, 6'000},
                        {"in large parts", 60'000, 1, 100'000},
                        {"by columns", 20, 4'000, 300}};

Array start_of(const Way& w, DType dtype) {
  return convert(drawn(1, w.columns == 1 ? Shape{w.rows} : Shape{w.rows, w.columns}, 2), dtype);
}
Array numbers_of(const Way& w) { return drawn(2, {w.updates}, w.rows + 4) - 2; }
Array sorted_numbers_of(const Way& w) { return clamp(arange(w.updates) * w.rows / (w.updates - 7) - 3, -1, w.rows); }
// Sums and products of these are exact, whatever their order.
Array updates_of(const Way& w, ScatterKind kind, DType dtype) {
  const Array u = drawn(3, w.columns == 1 ? Shape{w.updates} : Shape{w.updates, w.columns}, 3) - 1;
  if (kind != ScatterKind::mul) return convert(dtype == DType::bool_ ? u * u : u, dtype);
  return convert(where(u == 0, Array(1), dtype == DType::u8 ? Array(1) : u), dtype);
}

Array combined(ScatterKind kind, const Array& x, const Array& at, const Array& updates, IndexMode mode) {
  return scatter_at(kind, x, std::vector{at}, {0}, updates, {.mode = mode});
}

template <class F, class... Args>
std::string kernels_of(F f, const Args&... args) {
  const kernel::Target two{.threads = 2};
  kernel::Function function = plan(*run_passes(compile_passes(), trace(f)(args...))).function;
  return kernel::print(kernel::run_passes(kernel_passes(two), std::move(function)));
}

TEST(Updates, OfEachDTypeKindAndMode) {
  std::size_t number = 0;
  for (const Way& w : ways)
    for (const ScatterKind kind : {ScatterKind::add, ScatterKind::mul, ScatterKind::min, ScatterKind::max})
      for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8,
                                DType::bool_, DType::c64})
        for (const IndexMode mode : {IndexMode::fill, IndexMode::clip}) {
          if (is_complex(dtype) && kind != ScatterKind::add && kind != ScatterKind::mul) continue;
          if (!fuzzing::takes(number++, 4, 5)) continue;
          // Sums of that many ones are no numbers of bf16: they depend on their order.
          if (dtype == DType::bf16 && kind == ScatterKind::add && w.updates > 200 * w.rows) continue;
          const Array x = start_of(w, dtype), at = numbers_of(w), u = updates_of(w, kind, dtype);
          const auto f = [&](const Array& x, const Array& at, const Array& u) {
            return combined(kind, x, at, dtype == DType::bool_ ? u : u + u - u, mode);
          };
          const Array got = jit(f)(x, at, u);
          const ByOracle reference;
          EXPECT_TRUE(array_equal(got, f(x, at, u)))
              << fmt::format("{}, kind {}, {}, mode {}", w.name, int(kind), name(dtype), int(mode));
        }
}

// What is costly is computed by vectors, and stored for a chunk at most.
TEST(Updates, AreNotStored) {
  for (const Way& w : ways) {
    const Array x = start_of(w, DType::f32), at = numbers_of(w), u = updates_of(w, ScatterKind::add, DType::f32);
    const auto f = [](const Array& x, const Array& at, const Array& u) {
      return combined(ScatterKind::add, x, at, where(exp(u) > 1.5, Array(1.0F), Array(-1.0F)) * u, IndexMode::fill);
    };
    const Array got = jit(f)(x, at, u);
    {
      const ByOracle reference;
      EXPECT_TRUE(array_equal(got, f(x, at, u))) << w.name;
    }
    const std::string text = kernels_of(f, x, at, u);
    EXPECT_NE(text.find("parallel blocks"), std::string::npos) << w.name << "\n" << text;
    EXPECT_EQ(text.find(fmt::format("f32[{}] arena", w.updates * w.columns)), std::string::npos) << text;
  }
}

// Strict sums keep the order of the updates: every bit is the evaluator's.
TEST(Updates, StrictSumsKeepTheirOrder) {
  for (const Way& w : ways) {
    const Array x = start_of(w, DType::f32), at = numbers_of(w);
    const Array u =
        sin(convert(drawn(4, w.columns == 1 ? Shape{w.updates} : Shape{w.updates, w.columns}, 1000), DType::f32));
    const auto f = [](const Array& x, const Array& at, const Array& u) {
      return combined(ScatterKind::add, x, at, abs(u), IndexMode::fill);
    };
    const Array strict = jit(f, {.numerics = Numerics::strict})(x, at, u), free = jit(f)(x, at, u);
    const ByOracle reference;
    const Array expected = f(x, at, u);
    EXPECT_TRUE(array_equal(strict, expected)) << w.name;
    EXPECT_TRUE(allclose(free, expected, 1e-4, 1e-3)) << w.name;
  }
}

// Of sorted indices, and of one row alone, which one thread takes.
TEST(Updates, OfSortedIndices) {
  for (const Way& w : ways)
    for (const ScatterKind kind : {ScatterKind::add, ScatterKind::max})
      for (const Array& at : {sorted_numbers_of(w), full({w.updates}, Array(w.rows / 2)), arange(w.updates) * 0}) {
        const Array x = start_of(w, DType::i32), u = updates_of(w, kind, DType::i32);
        const auto f = [&](const Array& x, const Array& at, const Array& u) {
          const Array none = zeros(x.shape(), x.dtype());
          return std::pair(combined(kind, x, at, u * 3, IndexMode::clip), combined(kind, none, at, u, IndexMode::fill));
        };
        const auto got = jit(f)(x, at, u);
        const ByOracle reference;
        const auto expected = f(x, at, u);
        EXPECT_TRUE(array_equal(got.first, expected.first)) << w.name;
        EXPECT_TRUE(array_equal(got.second, expected.second)) << w.name;
      }
}

// Pairs of indices; slices that overlap, which stay in order; lanes; a gradient; nothing at all.
TEST(Updates, OfOtherForms) {
  const Array i = drawn(5, {30'000}, 300), j = drawn(6, {30'000}, 40), u = convert(drawn(7, {30'000}, 5), DType::f32);
  const auto check = [](const char* name, const auto& f, const auto&... args) {
    const Array got = jit(f)(args...);
    const ByOracle reference;
    EXPECT_TRUE(array_equal(got, f(args...))) << name;
  };
  const auto pairs = [](const Array& i, const Array& j, const Array& u) {
    return scatter_at(ScatterKind::add, zeros({300, 40}), std::vector{i, j}, {0, 1}, u);
  };
  check("pairs", pairs, i, j, u);
  check("two axes of updates", pairs, reshape(i, {30, 1000}), reshape(j, {30, 1000}), reshape(u, {30, 1000}));
  check(
      "an axis in front of the indexed one",
      [](const Array& i, const Array& u) {
        return scatter_at(ScatterKind::add, zeros({3, 300}), std::vector{i}, {1}, u);
      },
      i, broadcast_to(u, {3, 30'000}));
  check(
      "overlapping slices",
      [](const Array& i, const Array& u) {
        return scatter(ScatterKind::add, zeros({306}), reshape(i, {30'000, 1}), u, {{1}, {}, {0}, {}, {}});
      },
      i, convert(drawn(8, {30'000, 7}, 5), DType::f32));
  const auto sums = [](const Array& at, const Array& u) {
    return scatter_at(ScatterKind::add, zeros({300}), std::vector{at}, {0}, u);
  };
  check("lanes of updates", vmap(sums, {.in_axes = {none, 0}}), drawn(9, {5'000}, 300),
        convert(drawn(10, {8, 5'000}, 5), DType::f32));
  check("lanes of both", vmap(sums), drawn(9, {8, 5'000}, 300), convert(drawn(10, {8, 5'000}, 5), DType::f32));
  check("a gradient",
        grad([](const Array& table, const Array& at, const Array& w) { return sum(take(table, at) * w); }),
        zeros({5'000, 16}), drawn(11, {6'000}, 5'000), convert(drawn(12, {6'000, 16}, 5), DType::f32));
  check("nothing", sums, zeros({0}, DType::i32), zeros({0}));
  check(
      "into nothing",
      [](const Array& at, const Array& u) { return scatter_at(ScatterKind::add, zeros({0}), std::vector{at}, {0}, u); },
      i, u);
}

// Each step of a loop combines on one thread.
TEST(Updates, InALoop) {
  const auto f = [](const Array& at, const Array& u) {
    const auto step = [](const Array& sums, const std::pair<Array, Array>& x) {
      return std::pair(scatter_at(ScatterKind::add, sums, std::vector{x.first}, {0}, round(exp(x.second))), sum(sums));
    };
    return scan(step, zeros({40}), std::pair(at, u)).first;
  };
  const Array at = drawn(13, {10, 3'000}, 44) - 2, u = convert(drawn(14, {10, 3'000}, 2), DType::f32);
  const Array got = jit(f)(at, u);
  const ByOracle reference;
  EXPECT_TRUE(array_equal(got, f(at, u)));
}

// Of sizes that vary.
TEST(Updates, OfAnySize) {
  const auto f = jit([](const Array& x, const Array& at,
                        const Array& u) { return combined(ScatterKind::add, x, at, u * 2, IndexMode::fill); },
                     {.sizes = Sizes::symbolic});
  for (const Way& w : ways)
    for (const std::int64_t updates : {w.updates, std::int64_t(3), w.updates - 1025}) {
      const Way now{w.name, w.rows, w.columns, std::max<std::int64_t>(updates, 2)};
      const Array x = start_of(now, DType::f32), at = numbers_of(now),
                  u = updates_of(now, ScatterKind::add, DType::f32);
      const Array got = f(x, at, u);
      const ByOracle reference;
      EXPECT_TRUE(array_equal(got, combined(ScatterKind::add, x, at, u * 2, IndexMode::fill))) << w.name;
    }
}

}  // namespace
}  // namespace tenon
