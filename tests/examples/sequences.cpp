// Viterbi, longest common subsequence and soft-DTW of examples/ beside plain C++ that knows nothing of scans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "examples/soft_dtw.h"
#include "examples/subsequence.h"
#include "examples/viterbi.h"

namespace tn = tenon;
using examples::MarkovModel;
using tn::Array;

namespace {

template <class T>
using Rows = std::vector<std::vector<T>>;
template <class T>
Array array_of(const Rows<T>& rows) {
  std::vector<T> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  return tn::array<T>(all, {std::ssize(rows), std::ssize(rows[0])});
}
template <class T>
std::vector<T> values(const Array& x) {
  const auto span = x.span<T>();
  return {span.begin(), span.end()};
}

// ---- Viterbi: every path is tried.
struct Best {
  double score = -std::numeric_limits<double>::infinity();
  std::vector<int> states;
};
Best best_of_all(const std::vector<double>& start, const Rows<double>& transition, const Rows<double>& emission,
                 const std::vector<int>& symbols) {
  const int states = static_cast<int>(start.size()), steps = static_cast<int>(symbols.size());
  Best best;
  for (int code = 0; code < static_cast<int>(std::pow(states, steps)); ++code) {
    std::vector<int> path(symbols.size());
    for (int t = 0, rest = code; t < steps; ++t, rest /= states) path[t] = rest % states;
    double score = start[path[0]] + emission[path[0]][symbols[0]];
    for (int t = 1; t < steps; ++t) score += transition[path[t - 1]][path[t]] + emission[path[t]][symbols[t]];
    if (score > best.score) best = {score, path};
  }
  return best;
}

TEST(Viterbi, IsTheBestOfAllPaths) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> logarithm(-3, 0);
  const auto table = [&](int rows, int columns) {
    Rows<double> t(rows, std::vector<double>(columns));
    for (auto& row : t)
      for (double& v : row) v = logarithm(random);
    return t;
  };
  for (const auto& [states, kinds, steps] : {std::tuple(2, 3, 1), {2, 2, 2}, {3, 2, 5}, {4, 3, 6}, {3, 5, 8}}) {
    const auto start = table(1, states), transition = table(states, states), emission = table(states, kinds);
    std::vector<int> symbols;
    for (int t = 0; t < steps; ++t) symbols.push_back(static_cast<int>(random() % static_cast<unsigned>(kinds)));
    const Best best = best_of_all(start[0], transition, emission, symbols);
    const MarkovModel model{tn::array<double>(start[0]), array_of(transition), array_of(emission)};
    const Array seen = tn::array<int>(symbols);
    for (const auto& path :
         {examples::most_probable_path(model, seen), tn::jit(examples::most_probable_path)(model, seen)}) {
      EXPECT_NEAR(path.score.item<double>(), best.score, 1e-12);
      EXPECT_EQ(values<int>(path.states), best.states);
    }
    // The derivatives of the score are how often the path uses each number.
    const auto score = [&](const MarkovModel& m) { return examples::most_probable_path(m, seen).score; };
    Rows<double> uses(states, std::vector<double>(states));
    for (int t = 1; t < steps; ++t) uses[best.states[t - 1]][best.states[t]] += 1;
    EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(score))(model).transition, array_of(uses)));
  }
}

TEST(Viterbi, LanesAreSequences) {
  const MarkovModel model{Array{-0.1, -2.0}, Array{{-0.2, -1.5}, {-1.0, -0.3}}, Array{{-0.5, -1.0}, {-2.0, -0.1}}};
  const Array sequences{{0, 0, 1, 1}, {1, 1, 1, 0}, {0, 1, 0, 1}};
  const auto lanes = tn::jit(tn::vmap(examples::most_probable_path, {.in_axes = {tn::none, 0}}))(model, sequences);
  for (int lane = 0; lane < 3; ++lane) {
    const auto alone = examples::most_probable_path(model, sequences(lane));
    EXPECT_TRUE(tn::array_equal(lanes.states(lane), alone.states));
    EXPECT_NEAR(lanes.score(lane).item<double>(), alone.score.item<double>(), 1e-12);
  }
}

// ---- Longest common subsequence
int longest_common(const std::vector<int>& a, const std::vector<int>& b) {
  Rows<int> length(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1 : std::max(length[i - 1][j], length[i][j - 1]);
  return length[a.size()][b.size()];
}

TEST(Subsequence, IsCommonAndAsLongAsCanBe) {
  std::mt19937 random(11);
  const auto find = tn::jit(examples::longest_common_subsequence);
  for (const auto& [n, m, kinds] : {std::tuple(1, 1, 1), {1, 5, 3}, {6, 1, 2}, {9, 9, 2}, {20, 13, 3}, {30, 40, 5}})
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::vector<int> a(n), b(m);
      for (int& v : a) v = static_cast<int>(random() % static_cast<unsigned>(kinds));
      for (int& v : b) v = static_cast<int>(random() % static_cast<unsigned>(kinds));
      const auto found = find(tn::array<int>(a), tn::array<int>(b));
      const int length = found.length.item<int>();
      ASSERT_EQ(length, longest_common(a, b));
      const std::vector<int> places = values<int>(found.places);
      for (int k = 0; k < length; ++k) {
        EXPECT_EQ(a[places[2 * k]], b[places[2 * k + 1]]);
        if (k == 0) continue;
        EXPECT_LT(places[2 * k - 2], places[2 * k]);
        EXPECT_LT(places[2 * k - 1], places[2 * k + 1]);
      }
    }
}

// ---- Soft-DTW
double soft_cost(const Rows<double>& a, const Rows<double>& b, double gamma) {
  constexpr double far = std::numeric_limits<double>::infinity();
  Rows<double> cost(a.size() + 1, std::vector<double>(b.size() + 1, far));
  cost[0][0] = 0;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      double distance = 0;
      for (std::size_t k = 0; k < a[0].size(); ++k) distance += std::pow(a[i - 1][k] - b[j - 1][k], 2);
      const double before[] = {cost[i - 1][j], cost[i][j - 1], cost[i - 1][j - 1]};
      const double low = *std::min_element(before, before + 3);
      double sum = 0;
      for (const double v : before) sum += std::exp((low - v) / gamma);
      cost[i][j] = distance + low - gamma * std::log(sum);
    }
  return cost[a.size()][b.size()];
}

TEST(SoftDtw, CostAndGradient) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  const auto run = tn::jit(tn::value_and_grad<0, 1>(examples::soft_dtw));
  for (const auto& [n, m, features] : {std::tuple(1, 1, 1), {1, 4, 2}, {5, 1, 1}, {6, 9, 3}, {12, 12, 2}})
    for (const double gamma : {0.05, 1.0}) {
      Rows<double> a(n, std::vector<double>(features)), b(m, std::vector<double>(features));
      for (auto* rows : {&a, &b})
        for (auto& row : *rows)
          for (double& v : row) v = normal(random);
      const auto [cost, slopes] = run(array_of(a), array_of(b), gamma);
      EXPECT_NEAR(cost.item<double>(), soft_cost(a, b, gamma), 1e-10);
      for (auto* rows : {&a, &b})
        for (int i = 0; i < std::ssize(*rows); ++i)
          for (int k = 0; k < features; ++k) {
            double& v = (*rows)[i][k];
            const double at = v, by = 1e-6;
            v = at + by;
            const double above = soft_cost(a, b, gamma);
            v = at - by;
            const double below = soft_cost(a, b, gamma);
            v = at;
            const Array& slope = rows == &a ? std::get<0>(slopes) : std::get<1>(slopes);
            EXPECT_NEAR(slope(i, k).item<double>(), (above - below) / (2 * by), 1e-6) << n << ' ' << m << ' ' << gamma;
          }
    }
}

TEST(SoftDtw, SecondOrderIsTheDifferenceOfGradients) {
  const Array a{{0.1}, {0.7}, {-0.4}}, b{{0.3}, {0.5}}, v{{1.0}, {-0.5}, {0.25}};
  const auto cost = [&](const Array& x) { return examples::soft_dtw(x, b, 0.5); };
  const auto slope = tn::grad(cost);
  const Array difference = (slope(a + 1e-5 * v) - slope(a - 1e-5 * v)) / 2e-5;
  EXPECT_TRUE(tn::allclose(tn::jit([&](const Array& x) { return tn::hvp(cost, x, v); })(a), difference, 1e-7, 1e-8));
}

}  // namespace
