// A GRU that forecasts weekly CO2 at Mauna Loa 52 weeks ahead, beside persistence and last year plus drift.
// usage: co2_forecaster DATA.csv OUTPUT_FOLDER [most training steps]; then gnuplot -e "dir='OUTPUT_FOLDER'" co2.gp
//
// The last five years are the test: nothing but the final scores looks at them. How many steps to train is chosen by
// the five years before; then the model is trained anew on all that comes before the test.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <numeric>

#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;
constexpr int year = 52, horizon = 52, history = 104, test = 5 * year, validation = 5 * year;
constexpr int hidden = 32, batch = 32, every = 25;

struct Model {  // plain structs are trees of arrays
  Array w, u, b, bn, readout, offset;
};
struct Training {
  Model model, mean, square, average;  // moments of Adam; the average of late models is what forecasts
};

// One week of a GRU. x: f32[2], the rise over a year, scaled, and 1 where it was measured.
Array cell(const Model& m, const Array& h, const Array& x) {
  const auto part = [](const Array& a, int i) { return a(tn::slice(i * hidden, (i + 1) * hidden)); };
  const Array in = tn::matmul(x, m.w) + m.b, rec = tn::matmul(h, m.u);
  const Array reset = tn::logistic(part(in, 0) + part(rec, 0)), update = tn::logistic(part(in, 1) + part(rec, 1));
  const Array candidate = tn::tanh(part(in, 2) + reset * (part(rec, 2) + m.bn));
  return candidate + update * (h - candidate);
}

// f32[52]: the weeks behind a window, f32[104,2]; the model's own forecasts are fed back.
Array forecast(const Model& m, const Array& window) {
  const auto watch = [&](Array h, Array x) { return std::pair(cell(m, h, x), std::tuple<>()); };
  const Array h = tn::scan(watch, tn::zeros({hidden}), window(tn::slice(-1))).first;
  const auto go_on = [&](std::pair<Array, Array> s, std::tuple<>) {
    const Array state = cell(m, s.first, s.second), next = s.second(0) + tn::dot(state, m.readout) + m.offset;
    return std::pair(std::pair(state, tn::stack(std::vector<Array>{next, 1.f})), next);
  };
  return tn::scan(go_on, std::pair(h, window(-1)), std::tuple<>(), {.length = horizon}).second;
}

// Mean square over the stacked forecasts, of the weeks that were measured. windows: f32[batch,156,2]
Array loss(const Model& m, const Array& windows) {
  const Array seen = windows(tn::all, tn::slice(history)), ahead = windows(tn::all, tn::slice(history, tn::none));
  const Array error = tn::vmap(forecast, {.in_axes = {tn::none, 0}})(m, seen) - ahead(tn::ellipsis, 0);
  const Array measured = ahead(tn::ellipsis, 1);
  return tn::sum(measured * tn::square(error)) / tn::sum(measured);
}

// One step of Adam on windows before `end`, drawn with `key`: the loss, and what comes next.
std::pair<Array, Training> train_step(const Training& s, const Array& weeks, const Array& end, const Array& key,
                                      const Array& t) {
  const Array starts = tn::random::randint(key, {batch, 1}, year, end - (history + horizon));
  const auto [value, slope] = tn::value_and_grad(loss)(s.model, weeks(starts + tn::arange(history + horizon)));
  const auto decay = [](float by) { return [by](Array a, Array b) { return by * a + (1 - by) * b; }; };
  Training next{s.model, tn::tree::map(decay(0.9f), s.mean, slope),
                tn::tree::map(decay(0.999f), s.square, tn::tree::map([](Array d) { return d * d; }, slope)), s.average};
  const Array rate = 2e-3f * tn::sqrt(1 - tn::pow(0.999f, t)) / (1 - tn::pow(0.9f, t));
  const auto move = [&](Array p, Array a, Array b) { return p - rate * a / (tn::sqrt(b) + 1e-8f); };
  next.model = tn::tree::map(move, s.model, next.mean, next.square);
  next.average = tn::tree::map(decay(0.98f), s.average, next.model);
  return {value, next};
}

struct Series {
  double first = 0;                    // when it begins, in years
  std::vector<double> co2, last_year;  // ppm; NaN where a week is missing; what was last measured a year before
  double drift = 0, deviation = 0;     // of the rise over a year, without the test
  Array weeks;                         // f32[weeks,2]: (rise - drift) / deviation, and 1 where it was measured
  int size() const { return static_cast<int>(co2.size()); }
  double when(int t) const { return first + t * 7 / 365.25; }
};
Series read(const std::string& path) {
  Series s;
  std::ifstream file(path);
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    const int date = std::stoi(line), comma = static_cast<int>(line.find(','));
    if (s.co2.empty()) s.first = date / 10000 + (date / 100 % 100 - 1) / 12. + (date % 100 - 1) / 365.25;
    s.co2.push_back(line.size() > comma + 1U ? std::stod(line.substr(comma + 1)) : NAN);
  }
  std::vector<double> rise;
  for (int t = 0; t < s.size() + horizon; ++t) {
    const double before = t < year ? NAN : s.co2[t - year];
    s.last_year.push_back(std::isnan(before) && t > 0 ? s.last_year[t - 1] : before);
    if (t < s.size()) rise.push_back(s.co2[t] - s.last_year[t]);
  }
  double count = 0, squares = 0;
  for (int t = 0; t < s.size() - test; ++t)
    if (!std::isnan(rise[t])) s.drift += rise[t], squares += rise[t] * rise[t], ++count;
  s.drift /= count, s.deviation = std::sqrt(squares / count - s.drift * s.drift);
  std::vector<float> weeks;
  float last = 0;
  for (double r : rise) {
    if (!std::isnan(r)) last = static_cast<float>((r - s.drift) / s.deviation);
    weeks.insert(weeks.end(), {last, std::isnan(r) ? 0.f : 1.f});
  }
  s.weeks = tn::array<float>(weeks, {s.size(), 2});
  return s;
}

struct Scores {  // squared errors by horizon
  std::vector<double> sum = std::vector<double>(horizon), count = std::vector<double>(horizon);
  void add(int h, double error) {
    if (!std::isnan(error)) sum[h] += error * error, ++count[h];
  }
  double rmse(int h) const { return std::sqrt(sum[h] / count[h]); }
  double rmse() const {
    return std::sqrt(std::accumulate(sum.begin(), sum.end(), 0.) / std::accumulate(count.begin(), count.end(), 0.));
  }
};

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: co2_forecaster DATA.csv OUTPUT_FOLDER [most training steps]\n", 2;
  const Series s = read(argv[1]);
  const std::filesystem::path out(argv[2]);
  std::filesystem::create_directories(out);
  const int most = argc > 3 ? std::stoi(argv[3]) : 600, before_test = s.size() - test;

  // use(origin, h, ppm) of the forecasts for h + 1 weeks after each origin, every fourth week from `from` to `to`.
  const auto forecasts = tn::jit(tn::vmap(forecast, {.in_axes = {tn::none, 0}}));
  const auto roll = [&](const Model& m, int from, int to, auto&& use) {
    const Array origins = from + 4 * tn::arange((to - from + 3) / 4);
    const Array rise = forecasts(m, s.weeks(origins(tn::all, tn::newaxis) + (tn::arange(history) + 1 - history)));
    const auto at = tn::elements<float>(rise);
    for (int i = 0, origin = from; origin < to; ++i, origin += 4)
      for (int h = 0; h < horizon; ++h) use(origin, h, s.last_year[origin + h + 1] + s.drift + s.deviation * at(i, h));
  };

  const auto step = tn::jit(train_step);
  std::ofstream losses(out / "loss.txt"), choice(out / "choice.txt");
  const auto train = [&](const char* name, int end, int steps, auto&& look) {
    const auto draw = [](int seed, const tn::Shape& shape, float scale) {
      return scale * tn::random::normal(tn::random::key(seed), shape);
    };
    const Model m{draw(1, {2, 3 * hidden}, 0.5f), draw(2, {hidden, 3 * hidden}, 0.15f),
                  tn::zeros({3 * hidden}),        tn::zeros({hidden}),
                  draw(3, {hidden}, 0.01f),       tn::zeros({})};
    const Model nothing = tn::tree::map([](Array a) { return tn::zeros_like(a); }, m);
    Training state{m, nothing, nothing, m};
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 1; i <= steps; ++i) {
      Array value;
      std::tie(value, state) =
          step(state, s.weeks, Array(end), tn::random::key(i), Array(static_cast<float>(i)));
      losses << i << ' ' << value.item<float>() << '\n';
      if (i % every != 0 && i != steps) continue;
      look(i, state.average);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::cerr << '\r' << name << " [" << std::string(30 * i / steps, '#') << std::string(30 - 30 * i / steps, '.')
                << "] loss " << value.item<float>() << ", " << static_cast<int>(i / seconds) << " steps/s   ";
    }
    std::cerr << '\n';
    losses << '\n';
    return state.average;
  };

  int best = 0;
  double lowest = INFINITY;
  train("choosing", before_test - validation, most, [&](int i, const Model& m) {
    Scores scores;
    roll(m, before_test - validation, before_test - horizon,
         [&](int origin, int h, double value) { scores.add(h, value - s.co2[origin + h + 1]); });
    choice << i << ' ' << scores.rmse() << '\n';
    if (scores.rmse() < lowest) lowest = scores.rmse(), best = i;
  });
  const Model model = train("training", before_test, best, [](int, const Model&) {});

  // Rolling origins over the last five years, then the year after the data.
  Scores gru, persistence, seasonal;
  std::ofstream ahead(out / "forecast.txt"), next(out / "next.txt"), data(out / "data.txt"), errors(out / "errors.txt");
  roll(model, before_test, s.size() - horizon, [&](int origin, int h, double value) {
    const int t = origin + h + 1;
    const double last = s.last_year[origin + year], naive = s.last_year[t] + s.drift;
    gru.add(h, value - s.co2[t]), persistence.add(h, last - s.co2[t]), seasonal.add(h, naive - s.co2[t]);
    if (h + 1 == horizon) ahead << s.when(t) << ' ' << value << ' ' << naive << '\n';
  });
  roll(model, s.size() - 1, s.size(),
       [&](int origin, int h, double value) { next << s.when(origin + h + 1) << ' ' << value << '\n'; });
  for (int t = before_test - validation; t < s.size(); ++t)
    (std::isnan(s.co2[t]) ? data : data << s.when(t) << ' ' << s.co2[t]) << '\n';
  for (int h = 0; h < horizon; ++h)
    errors << h + 1 << ' ' << gru.rmse(h) << ' ' << persistence.rmse(h) << ' ' << seasonal.rmse(h) << '\n';
  const bool won = gru.rmse() < std::min(persistence.rmse(), seasonal.rmse());
  std::cout << "RMSE in ppm over the last five years, all horizons up to 52 weeks; " << best << " steps were chosen ("
            << lowest << " in the five years before)\n"
            << "  GRU                " << gru.rmse() << "\n  last year + drift  " << seasonal.rmse()
            << "\n  persistence        " << persistence.rmse()
            << (won ? "\nThe GRU won.\n" : "\nThe GRU did not win.\n");
}
