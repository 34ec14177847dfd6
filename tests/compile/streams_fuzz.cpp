// Random reductions of what loops stack and of pairs, of every dtype, with none, one and more elements, under random
// transformations: compiled code gives what the evaluator does of them as they are written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tenon/transform/transforms.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

using Random = std::mt19937_64;
using Function = std::function<Array(const Array&, const Array&)>;

// --- what is done to elements ---
Array bounded(const Array& x, Random& random) {
  const DType dtype = x.dtype();
  if (dtype == DType::bool_) return random() % 2 ? !x : x;
  if (is_integer(dtype)) {
    switch (random() % 4) {
      case 0:
        return x * x;
      case 1:
        return x + 3;
      case 2:
        return max(x, 2);
      default:
        return x;
    }
  }
  switch (random() % (is_complex(dtype) ? 4 : 8)) {
    case 0:
      return sin(x);
    case 1:
      return x * x * 0.5;
    case 2:
      return x * -0.5 + 0.25;
    case 3:
      return x;
    case 4:
      return tanh(x);
    case 5:
      return abs(x);
    case 6:
      return max(x, -0.3);
    default:
      return exp(-x);
  }
}

// Of sizes, which may vary where it is traced.
struct Known {
  bool many;   // along the first axis
  bool empty;  // some axis
};

// --- what is left of axes ---
struct Reduced {
  Array value;
  const char* by;
};
Reduced reduction(const Array& x, const Known& known, Random& random) {
  const DType dtype = x.dtype();
  const bool empty = known.empty;
  std::vector<std::int64_t> chosen;
  for (std::size_t axis = 0; axis < x.rank(); ++axis)
    if (random() % 2) chosen.push_back(static_cast<std::int64_t>(axis));
  if (chosen.empty()) chosen.push_back(0);
  const Axes axes(chosen);
  const std::int64_t axis = chosen[0];
  std::vector<std::function<Reduced()>> some{
      [&] { return Reduced{sum(x, axes), "sum"}; },
      [&] { return Reduced{prod(is_inexact(dtype) ? x * 0.01 + 1.0 : x, axes), "prod"}; },
  };
  if (!empty) {
    some.push_back([&] { return Reduced{any(x != zeros({}, dtype), axes), "any"}; });
    some.push_back([&] { return Reduced{tenon::all(x != zeros({}, dtype), axes), "all"}; });
    if (dtype == DType::f64 || is_integer(dtype)) {  // rounding decides between others
      some.push_back([&] { return Reduced{argmax(x, axis), "argmax"}; });
      some.push_back([&] { return Reduced{argmin(x, axis), "argmin"}; });
    }
    if (!is_complex(dtype)) {
      some.push_back([&] { return Reduced{amax(x, axes), "max"}; });
      some.push_back([&] { return Reduced{amin(x, axes), "min"}; });
    }
  }
  if (is_inexact(dtype)) {
    some.push_back([&] { return Reduced{mean(x, axes), "mean"}; });
    some.push_back([&] { return Reduced{mean(x * conj(x), axes), "mean square"}; });
    if (!empty) some.push_back([&] { return Reduced{var(x, axes), "var"}; });
  }
  if (is_inexact(dtype) && !is_complex(dtype) && !empty) {
    some.push_back([&] { return Reduced{logsumexp(x, axes), "logsumexp"}; });
    some.push_back([&] { return Reduced{sum(softmax(x, axis) * x, axis), "mean by softmax"}; });
    some.push_back([&] { return Reduced{median(x, axis), "median"}; });
    some.push_back([&] { return Reduced{cumsum(x, axis), "cumsum"}; });
    some.push_back([&] { return Reduced{top_k(x, 1).values, "top_k"}; });
    some.push_back([&] { return Reduced{sort(x, axis), "sort"}; });
    some.push_back([&] {
      const Array off = x - mean(x, Axes(axis).keepdims());
      return Reduced{mean(off * off * off, axis), "third moment"};
    });
  }
  return some[random() % some.size()]();
}

// --- programs: a source, what is done to it, and one or two reductions ---
struct Case {
  Function f;
  Array x, y;
  DType dtype;
  std::string told;
};

// Elementwise work with another operand, a mask over some axis and a part of the first axis, or none of these.
Array worked(Array z, const Known& known, Random& random) {
  for (auto count = random() % 3; count > 0; --count) z = bounded(z, random);
  const Shape shape = z.shape();
  switch (random() % 5) {
    case 0: {
      const auto axis = static_cast<std::int64_t>(random() % z.rank());
      const Array along = arange(shape[static_cast<std::size_t>(axis)], DType::i32);
      return where(broadcast_in_dim(along % 3 != 1, shape, {axis}), z, zeros({}, z.dtype()));
    }
    case 1:
      return z.dtype() == DType::bool_ ? z : z * values_of(shape, z.dtype(), 0.9);
    case 2:
      return z(slice(known.many ? 1 : 0, none, random() % 2 ? 2 : 1));
    case 3: {
      std::vector<std::int64_t> order(z.rank());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
      std::shuffle(order.begin(), order.end(), random);
      return transpose(z, order);
    }
    default:
      return z;
  }
}

Array reduced(const Array& z, const Known& known, std::uint64_t seed, std::string* told) {
  Random random(seed);
  const Array worked_on = worked(z, known, random);
  const Reduced first = reduction(worked_on, known, random);
  if (told) *told += first.by;
  if (random() % 2) return first.value;
  const Reduced second = reduction(worked_on, known, random);  // of the same, at once
  if (told) *told += std::string(" and ") + second.by;
  const DType dtype = is_complex(z.dtype()) ? DType::c128 : DType::f64;
  return sum(convert(first.value, dtype)) - 2.0 * convert(second.value, dtype);
}

Array step_of(const Array& c, const Array& row) {
  if (c.dtype() == DType::bool_) return c != row;
  if (is_integer(c.dtype())) return c + row;
  if (is_complex(c.dtype())) return (c + row) * convert(Array(std::complex(0.3, 0.4)), c.dtype());
  return sin(c + row);
}

constexpr DType dtypes[]{DType::f64, DType::f32, DType::f16, DType::bf16,  DType::c128, DType::c64,
                         DType::i32, DType::i64, DType::u8,  DType::bool_, DType::i8,   DType::f64};

Case stream(Random& random) {
  const DType dtype = dtypes[random() % std::size(dtypes)];
  constexpr std::int64_t lengths[]{0, 1, 2, 7, 12, 30}, sizes[]{0, 1, 3, 5, 8};
  const std::int64_t steps = lengths[random() % 8 == 0 ? 0 : 1 + random() % 5],
                     rows = sizes[random() % 8 == 0 ? 0 : 1 + random() % 4], width = sizes[1 + random() % 4];
  ScanOptions options;
  options.reverse = random() % 4 == 0;
  if (random() % 4 == 0) options.unroll = 3;
  const std::uint64_t seed = random();
  const bool two = random() % 4 == 0;  // stacks
  const auto of = [=](const Array& h, const Array& xs, std::string* told) {
    const auto step = [](const Array& c, const Array& row) {
      const Array next = step_of(c, row);
      return std::pair(next, std::pair(next, c));
    };
    const auto [ys, before] = scan(step, h, xs, options).second;
    return reduced(two && dtype != DType::bool_ ? ys * before : ys, {steps > 2, steps * rows == 0}, seed, told);
  };
  Case made{[=](const Array& h, const Array& xs) { return of(h, xs, nullptr); }, values_of({rows, width}, dtype, 0.2),
            values_of({steps, rows, width}, dtype, 0.4), dtype, ""};
  made.told = fmt::format("{} steps of {}[{}, {}]: ", steps, name(dtype), rows, width);
  of(made.x, made.y, &made.told);
  return made;
}

Case pairs(Random& random) {
  const DType dtype = dtypes[random() % std::size(dtypes)];
  constexpr std::int64_t sizes[]{0, 1, 3, 40, 150};
  const std::int64_t m = sizes[random() % 8 == 0 ? 0 : 1 + random() % 4],
                     n = sizes[random() % 8 == 0 ? 0 : 1 + random() % 4], features = 1 + random() % 4;
  const std::uint64_t seed = random();
  const auto of = [=](const Array& x, const Array& y, std::string* told) {
    const Shape all{x.dim(0), y.dim(0), x.dim(1)};
    const Array a = broadcast_in_dim(x, all, {0, 2}), b = broadcast_in_dim(y, all, {1, 2});
    Random own(seed);
    const Array apart = dtype == DType::bool_ ? a != b : own() % 2 && !is_unsigned_integer(dtype) ? a - b : a * b;
    const Array z = dtype == DType::bool_ ? any(apart, 2) : sum(own() % 2 ? apart * apart : apart, {{2}});
    return reduced(is_inexact(dtype) && own() % 2 ? exp(-z) : z, {m > 2, m * n == 0}, own(), told);
  };
  Case made{[=](const Array& x, const Array& y) { return of(x, y, nullptr); }, values_of({m, features}, dtype, 0.2),
            values_of({n, features}, dtype, 0.4), dtype, ""};
  made.told = fmt::format("pairs of {}[{}, {}] and [{}]: ", name(dtype), m, features, n);
  of(made.x, made.y, &made.told);
  return made;
}

// --- the same by code as by the evaluator ---
template <class F>
void expect_as_evaluated(const F& f, const Array& x, const Array& y, DType of, const JitOptions& options = {}) {
  const auto leaves = leaves_of(f);
  const ProgramRef p = inline_calls(trace(leaves)(x, y));
  const auto want = evaluate(*p, {}, std::vector<Value>{x.value(), y.value()});
  const Arrays got = jit(leaves, options)(x, y);
  const double tolerance = is_narrow(of) ? 0.1 : of == DType::f32 || of == DType::c64 ? 1e-3 : 1e-9;
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Array a = got[i], b(std::get<Buffer>(want[i]));
    ASSERT_EQ(a.type(), b.type());
    if (!is_inexact(b.dtype())) {
      EXPECT_TRUE(array_equal(a, b)) << a << b << p;
      continue;
    }
    const DType wide = is_complex(b.dtype()) ? DType::c128 : DType::f64;
    const Array u = convert(a, wide), v = convert(b, wide), counted = is_finite(v);
    const double scale = 1 + amax(where(counted, abs(v), 0.0), {}, {.initial = Array(0.0)}).item<double>();
    const Array same = where(counted, abs(u - v) <= tolerance * scale, (u == v) | (is_nan(u) & is_nan(v)));
    EXPECT_TRUE(all(same).item<bool>()) << a << b << p;
  }
}

void expect_under_transformations(const Case& c, Random& random) {
  const Function& f = c.f;
  expect_as_evaluated(f, c.x, c.y, c.dtype);
  expect_as_evaluated(f, c.x, c.y, c.dtype, {.sizes = Sizes::symbolic});
  const Array two_x = stack({c.x, values_of(c.x.shape(), c.dtype, 0.7)}, 0),
              two_y = stack({c.y, values_of(c.y.shape(), c.dtype, 1.7)}, 0);
  expect_as_evaluated(vmap(f), two_x, two_y, c.dtype);
  if (!is_inexact(c.dtype) || !is_inexact(trace(f)(c.x, c.y)->output_types()[0].dtype)) return;
  const auto length = [f](const Array& x, const Array& y) {
    const Array made = f(x, y);
    return sum(log1p(convert(real(made * conj(made)), DType::f64)));
  };
  const auto slopes = grad<0, 1>(length);
  switch (random() % (is_narrow(c.dtype) ? 3 : 4)) {
    case 0:
      return expect_as_evaluated(
          [=](const Array& x, const Array& y) {
            return jvp(f, std::tuple(x, y),
                       std::tuple(values_of(x.shape(), c.dtype, 0.1), values_of(y.shape(), c.dtype, 0.6)));
          },
          c.x, c.y, c.dtype);
    case 1:
      return expect_as_evaluated(slopes, c.x, c.y, c.dtype);
    case 2:
      return expect_as_evaluated(vmap(slopes), two_x, two_y, c.dtype);
    default:
      return expect_as_evaluated(grad<0, 1>([=](const Array& x, const Array& y) {
                                   auto own = slopes;
                                   const auto [by_x, by_y] = own(x, y);
                                   return sum(real(by_x * conj(by_x))) + sum(real(by_y * conj(by_y)));
                                 }),
                                 c.x, c.y, c.dtype);
  }
}

void expect_cases(Case drawn(Random&), std::int64_t count) {
  std::mt19937_64 seeds(fuzzing::seed());
  for (std::int64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    Random random(seeds());
    const Case c = drawn(random);
    SCOPED_TRACE(fmt::format("case {}, {}; {}", i, c.told, fuzzing::repeat_with()));
    try {
      expect_under_transformations(c, random);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

TEST(StreamsFuzz, OfSteps) { expect_cases(stream, fuzzing::cases(60)); }
TEST(StreamsFuzz, OfPairs) { expect_cases(pairs, fuzzing::cases(60)); }

}  // namespace
}  // namespace tenon
