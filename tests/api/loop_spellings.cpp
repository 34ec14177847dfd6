// Programs that a discussion among users about loops in reverse mode asks for: a loop whose results are stacked,
// updates of its carry, reads of all that is there so far, one row written twice, loops in loops, arrays that grow, a
// buffer in batched lanes, a search whose end the data decide. Each beside plain numbers, in every derivative and
// batched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tenon/tenon.h"
#include "tests/api/agreement.h"
#include "tests/api/values.h"
#include "tests/by_oracle.h"

namespace tn = tenon;
using tn::all_values;
using tn::Array;
using tn::DType;
using tn::expect_agreement;
using tn::expect_close;
using tn::List;

namespace {

constexpr std::int64_t steps = 4, features = 2;
constexpr double start = 0.5;
Array rows(const Array& x) { return tn::reshape(x, {steps, features}); }
Array none() { return tn::zeros({steps, features}, DType::f64); }
Array first() { return tn::full({features}, start); }

// --- ys of c = sin(sin(x) c) + 0.1, and sum(c ys), in each spelling ---
Array next(const Array& c, const Array& x) { return tn::sin(tn::sin(x) * c) + 0.1; }

Array stacked(Array x) {
  const auto [c, ys] = tn::scan(
      [](Array c, Array x) {
        const Array y = next(c, x);
        return std::pair(y, y);
      },
      first(), rows(x));
  return tn::sum(c * ys);
}

struct Buffers {
  Array i, c, xs, ys;
};
template <class Step>
Array in_carry(const Array& x, Step step) {
  const Buffers end = tn::scan([&](Buffers s, std::tuple<>) { return std::pair(step(s), std::tuple<>()); },
                               Buffers{Array(0), first(), rows(x), none()}, std::tuple<>(), {.length = steps})
                          .first;
  return tn::sum(end.c * end.ys);
}
Array updated(Array x) {
  return in_carry(x, [](Buffers s) {
    const Array c = next(s.c, s.xs(s.i));
    return Buffers{s.i + 1, c, s.xs, s.ys.at(s.i).set(c)};
  });
}
Array updated_where(Array x) {
  return in_carry(x, [](Buffers s) {
    const Array c = next(s.c, s.xs(s.i));
    return Buffers{s.i + 1, c, s.xs, tn::where(s.i > -10, s.ys.at(s.i).set(c), s.ys)};
  });
}
Array updated_twice(Array x) {
  return in_carry(x, [](Buffers s) {
    const Array c = next(s.c, s.xs(s.i));
    return Buffers{s.i + 1, c, s.xs, s.ys.at(s.i).set(s.c * 3.0).at(s.i).set(c)};
  });
}
Array by_while(const Array& x, tn::WhileOptions options) {
  const Buffers end = tn::while_loop([](Buffers s) { return s.i < steps; },
                                     [](Buffers s) {
                                       const Array c = next(s.c, s.xs(s.i));
                                       return Buffers{s.i + 1, c, s.xs, s.ys.at(s.i).set(c)};
                                     },
                                     Buffers{Array(0), first(), rows(x), none()}, options);
  return tn::sum(end.c * end.ys);
}
Array recorded_while(Array x) { return by_while(x, {}); }
Array checkpointed_while(Array x) { return by_while(x, {.checkpoints = 2}); }
// As a list, which is as long as the loop makes it.
Array in_a_list(Array x) {
  const Array xs = rows(x);
  List<Array> ys;
  const Buffers end = tn::while_loop([](const Buffers& s, const List<Array>&) { return s.i < steps; },
                                     [](const Buffers& s, List<Array>& list) {
                                       const Array c = next(s.c, s.xs(s.i));
                                       list.push(c);
                                       return Buffers{s.i + 1, c, s.xs, s.ys};
                                     },
                                     Buffers{Array(0), first(), xs, none()}, ys);
  return tn::sum(end.c * ys.stack(tn::Dim(steps)));
}
// In the host language: elements of an array that is written, one after another.
Array by_reference(Array x) {
  const Array xs = rows(x);
  tn::Ref ys = tn::make_ref(none());
  Array c = first();
  for (std::int64_t i = 0; i < steps; ++i) {
    c = next(c, xs(i));
    ys[i] = c;
  }
  return tn::sum(c * ys.freeze());
}
// An array that grows by a row in every step.
Array concatenated(Array x) {
  const Array xs = rows(x);
  Array c = first(), ys = tn::zeros({0, features}, DType::f64);
  for (std::int64_t i = 0; i < steps; ++i) {
    c = next(c, xs(i));
    ys = tn::concatenate({ys, tn::reshape(c, {1, features})}, 0);
  }
  return tn::sum(c * ys);
}

double plain(const std::vector<double>& x) {
  std::vector<double> c(features, start), ys;
  for (std::size_t i = 0; i < steps; ++i)
    for (std::size_t j = 0; j < features; ++j)
      ys.push_back(c[j] = std::sin(std::sin(x[i * features + j]) * c[j]) + 0.1);
  double sum = 0;
  for (std::size_t k = 0; k < ys.size(); ++k) sum += c[k % features] * ys[k];
  return sum;
}

// --- others ---
// Triangular: each step reads all that the steps before have written.
Array all_before(Array x) {
  return in_carry(x, [](Buffers s) {
    const Array c = tn::sin(tn::sum(s.ys * s.xs, {0}) + s.c * s.xs(s.i)) + 0.1;
    return Buffers{s.i + 1, c, s.xs, s.ys.at(s.i).set(c)};
  });
}
double plain_all_before(const std::vector<double>& x) {
  std::vector<double> c(features, start), ys(steps * features, 0.0);
  for (std::size_t i = 0; i < steps; ++i) {
    std::vector<double> sums(features, 0.0);
    for (std::size_t k = 0; k < ys.size(); ++k) sums[k % features] += ys[k] * x[k];
    for (std::size_t j = 0; j < features; ++j)
      ys[i * features + j] = c[j] = std::sin(sums[j] + c[j] * x[i * features + j]) + 0.1;
  }
  double sum = 0;
  for (std::size_t k = 0; k < ys.size(); ++k) sum += c[k % features] * ys[k];
  return sum;
}

// A loop in a loop, where both read rows and write them.
Array nested_loops(Array x) {
  const Array xs = rows(x);
  const auto outer = [&](Array i, Array ys) {
    return tn::fori_loop(0, i + 1, [&](Array j, Array ys) { return ys.at(j).set(tn::sin(ys(j) + xs(i) * xs(j))); }, ys);
  };
  return tn::sum(tn::square(tn::fori_loop(0, steps, outer, none())));
}
double plain_nested(const std::vector<double>& x) {
  std::vector<double> ys(steps * features, 0.0);
  for (std::size_t i = 0; i < steps; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      for (std::size_t f = 0; f < features; ++f) {
        double& y = ys[j * features + f];
        y = std::sin(y + x[i * features + f] * x[j * features + f]);
      }
  return std::inner_product(ys.begin(), ys.end(), ys.begin(), 0.0);
}

// A while of another number of steps in every lane, that writes a buffer.
Array until_large(Array x) {
  struct Walk {
    Array i, sum, buffer;
  };
  const Walk end = tn::while_loop([](Walk w) { return (w.i < steps * features) & (w.sum < 1.0); },
                                  [&](Walk w) {
                                    const Array sum = w.sum + tn::square(x(w.i)) + 0.05;
                                    return Walk{w.i + 1, sum, w.buffer.at(w.i).set(tn::sin(sum))};
                                  },
                                  Walk{Array(0), Array(0.0), tn::zeros_like(x)});
  return tn::sum(end.buffer * x) + end.sum;
}
double plain_until_large(const std::vector<double>& x) {
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < x.size() && sum < 1; ++i) sum += x[i] * x[i] + 0.05, total += std::sin(sum) * x[i];
  return total + sum;
}

struct Spelling {
  const char* name;
  std::function<Array(Array)> f;
  double (*plain)(const std::vector<double>&);
};
class LoopSpellings : public testing::TestWithParam<Spelling> {};

TEST_P(LoopSpellings, AgreesWithPlainNumbersInEveryDerivative) {
  const auto& [name, f, plain] = GetParam();
  const Array x = 0.2 + 1.3 * tn::numbers({steps * features});
  EXPECT_NEAR(f(x).item<double>(), plain(all_values(x)), 1e-13);
  const std::vector<double> slope = all_values(tn::grad(f)(x));
  for (std::size_t i = 0; i < slope.size(); ++i) {
    constexpr double h = 1e-5;
    std::vector<double> more = all_values(x), less = more;
    more[i] += h, less[i] -= h;
    EXPECT_NEAR(slope[i], (plain(more) - plain(less)) / (2 * h), 1e-9) << i;
  }
  expect_agreement(f, x);
}
INSTANTIATE_TEST_SUITE_P(
    All, LoopSpellings,
    testing::Values(Spelling{"Stacked", stacked, plain}, Spelling{"Updated", updated, plain},
                    Spelling{"UpdatedWhere", updated_where, plain}, Spelling{"UpdatedTwice", updated_twice, plain},
                    Spelling{"While", recorded_while, plain},
                    Spelling{"WhileWithCheckpoints", checkpointed_while, plain}, Spelling{"List", in_a_list, plain},
                    Spelling{"Reference", by_reference, plain}, Spelling{"Concatenated", concatenated, plain},
                    Spelling{"AllBefore", all_before, plain_all_before}, Spelling{"Nested", nested_loops, plain_nested},
                    Spelling{"UntilLarge", until_large, plain_until_large}),
    [](const auto& info) { return info.param.name; });

// --- small programs, told by their gradients ---
TEST(LoopPrograms, ACounterThatIsStacked) {
  const auto f = [](Array x) {
    return tn::sum(
        tn::scan([](Array c, std::tuple<>) { return std::pair(c + 1.0, c + 1.0); }, x, std::tuple<>(), {.length = 5})
            .second);
  };
  EXPECT_EQ(f(Array(1.0)).item<double>(), 20);
  EXPECT_EQ(tn::grad(f)(Array(1.0)).item<double>(), 5);
  EXPECT_EQ(tn::jit(tn::grad(f))(Array(1.0)).item<double>(), 5);
  expect_agreement(f, Array(0.3));
}

// xs read and ys written by number, in a loop of the library and of the host: the gradient is the square root of the
// number.
TEST(LoopPrograms, RowsTimesTheRootOfTheirNumber) {
  constexpr std::int64_t time = 6, batch = 3, width = 5;
  const auto scanned = [](Array xs) {
    struct State {
      Array i, ys;
    };
    const State end = tn::scan(
                          [&](State s, std::tuple<>) {
                            const Array x = xs(s.i) * tn::sqrt(tn::convert(s.i, DType::f64));
                            return std::pair(State{s.i + 1, s.ys.at(s.i).set(x)}, std::tuple<>());
                          },
                          State{Array(0), tn::zeros_like(xs)}, std::tuple<>(), {.length = time})
                          .first;
    return tn::sum(end.ys);
  };
  const auto of_the_host = [](Array xs) {
    tn::Ref ys = tn::make_ref(tn::zeros_like(xs));
    for (std::int64_t i = 0; i < time; ++i) ys[i] = xs(i) * std::sqrt(static_cast<double>(i));
    return tn::sum(ys());
  };
  const Array xs = tn::numbers({time, batch, width});
  const Array want = tn::broadcast_in_dim(tn::sqrt(tn::arange(time, DType::f64)), {time, batch, width}, {0});
  for (const std::function<Array(Array)>& f :
       {std::function<Array(Array)>(scanned), std::function<Array(Array)>(of_the_host)}) {
    expect_close(tn::grad(f)(xs), want, "eagerly");
    expect_close(tn::jit(tn::grad(f))(xs), want, "compiled");
    expect_close(tn::grad([&](Array x) { return tn::sum(tn::square(tn::grad(f)(x) * x)); })(xs), 2.0 * want * want * xs,
                 "second order");
  }
}

TEST(LoopPrograms, OneRowWrittenTwice) {
  const auto f = [](Array c1, Array c2) {
    const Array ys = tn::zeros({3, 2}, DType::f64).at(0).set(c1).at(0).set(c2);
    return tn::sum(ys * 2.0);
  };
  const Array c = Array{1.0, 2.0};
  for (const auto& [d1, d2] : {tn::grad<0, 1>(f)(c, c), tn::jit(tn::grad<0, 1>(f))(c, c)}) {
    expect_close(d1, tn::zeros({2}, DType::f64), "what is overwritten");
    expect_close(d2, tn::full({2}, 2.0), "what stays");
  }
}

// --- a beam search whose end the data decide, differentiable through an encoder that runs once ---
constexpr std::int64_t beams = 2, labels = 4, most = 12;
struct Beams {
  Array score, state, last;
};
Array recurrent() { return tn::reshape(tn::sin(1.7 * tn::arange(features * labels, DType::f64)), {features, labels}); }

struct Found {
  Array score, labels;
};
Found search(const Array& x) {
  const Array encoded = tn::tanh(rows(x));  // [steps, features]
  List<Array> chosen;
  const Beams start{Array{0.0, -1e3}, tn::broadcast_to(encoded(0), {beams, features}), tn::full({beams}, 1)};
  const Beams end = tn::while_loop(
      [](const Beams& b, const List<Array>& all) { return tn::any(b.last != 0) & (all.size() < most); },
      [&](const Beams& b, List<Array>& all) {
        const Array attention = tn::softmax(tn::matmul(b.state, tn::transpose(encoded)));
        const Array state = tn::tanh(0.5 * b.state + tn::matmul(attention, encoded));
        const Array ended = tn::reshape(b.last == 0, {beams, 1}), label = tn::arange(labels, DType::i32);
        const Array after_end = tn::where(label == 0, 0.0, -1e6);
        const Array of_label = tn::where(ended, after_end, tn::log_softmax(tn::matmul(3.0 * state, recurrent())));
        const auto [score, at] =
            tn::top_k(tn::reshape(tn::reshape(b.score, {beams, 1}) + of_label, {beams * labels}), beams);
        const Array from = at / labels, last = tn::convert(at % labels, DType::i32);
        all.push(last);
        return Beams{score, tn::take(state, from), last};
      },
      start, chosen);
  return {end.score, chosen.stack(tn::Dim(most))};
}

struct PlainBeam {
  double score;
  std::vector<double> state;
  std::int64_t last;
};
std::vector<PlainBeam> plain_search(const std::vector<double>& x, std::int64_t& length) {
  std::vector<double> encoded(x.size());
  std::ranges::transform(x, encoded.begin(), [](double v) { return std::tanh(v); });
  std::vector<PlainBeam> all(beams, {0, {encoded[0], encoded[1]}, 1});
  all[1].score = -1e3;
  for (length = 0;
       length < most && std::ranges::any_of(all, [](const PlainBeam& b) { return b.last != 0; }); ++length) {
    std::vector<PlainBeam> candidates;
    for (const PlainBeam& b : all) {
      std::vector<double> weights;
      for (std::size_t t = 0; t < steps; ++t)
        weights.push_back(std::exp(b.state[0] * encoded[2 * t] + b.state[1] * encoded[2 * t + 1]));
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      std::vector<double> state(features);
      for (std::size_t f = 0; f < features; ++f) {
        double read = 0;
        for (std::size_t t = 0; t < steps; ++t) read += weights[t] / sum * encoded[2 * t + f];
        state[f] = std::tanh(0.5 * b.state[f] + read);
      }
      std::vector<double> logits(labels, 0.0);
      double total = 0;
      for (std::size_t l = 0; l < labels; ++l) {
        for (std::size_t f = 0; f < features; ++f)
          logits[l] += 3 * state[f] * std::sin(1.7 * static_cast<double>(f * labels + l));
        total += std::exp(logits[l]);
      }
      for (std::int64_t l = 0; l < labels; ++l) {
        const double more = b.last == 0 ? (l == 0 ? 0 : -1e6) : logits[static_cast<std::size_t>(l)] - std::log(total);
        candidates.push_back({b.score + more, state, l});
      }
    }
    std::ranges::stable_sort(candidates, std::ranges::greater(), &PlainBeam::score);
    all.assign(candidates.begin(), candidates.begin() + beams);
  }
  return all;
}

TEST(LoopPrograms, ABeamSearchThatIsDifferentiatedThroughItsEncoder) {
  std::vector<std::int64_t> lengths;
  const auto best = [](Array x) { return search(x).score(0); };
  for (const double scale : {0.5, 1.5, 3.0}) {
    SCOPED_TRACE(scale);
    const Array x = scale * (0.3 + tn::numbers({steps * features}, 0.2));
    std::int64_t length = 0, other = 0;
    const std::vector<PlainBeam> want = plain_search(all_values(x), length);
    lengths.push_back(length);
    const Found found = search(x), compiled = tn::jit(search)(x);
    for (std::size_t b = 0; b < beams; ++b) {
      EXPECT_NEAR(all_values(found.score)[b], want[b].score, 1e-12);
      EXPECT_EQ(all_values(found.labels(length - 1))[b], static_cast<double>(want[b].last));
    }
    EXPECT_TRUE(tn::array_equal(found.labels, compiled.labels));
    const std::vector<double> slope = all_values(tn::jit(tn::grad(best))(x));
    expect_close(tn::grad(best)(x), tn::jit(tn::grad(best))(x), "eagerly");
    for (std::size_t i = 0; i < slope.size(); ++i) {
      constexpr double h = 1e-5;
      std::vector<double> more = all_values(x), less = more;
      more[i] += h, less[i] -= h;
      EXPECT_NEAR(slope[i], (plain_search(more, other)[0].score - plain_search(less, other)[0].score) / (2 * h), 1e-7);
    }
  }
  EXPECT_GT(*std::ranges::max_element(lengths), *std::ranges::min_element(lengths)) << "the data decide the end";
}

}  // namespace
