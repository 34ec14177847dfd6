// A GRU that forecasts weekly CO2 at Mauna Loa 52 weeks ahead, trained by jit(value_and_grad) on windows batched by
// vmap. usage: co2_forecaster DATA.csv OUTPUT_FOLDER [training steps]
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;
constexpr int year = 52, horizon = 52, history = 104, batch = 16;
constexpr std::int64_t hidden = 32;

struct Model {  // plain structs are trees of arrays
  Array w, u, b, bn, readout, offset;
};
struct Adam {
  Model mean, square;
};

// One step of a GRU: gates reset, update, and the candidate state.
Array cell(const Model& m, const Array& h, const Array& x) {
  const auto part = [](const Array& a, std::int64_t i) {
    return a(tn::ellipsis, tn::slice(i * hidden, (i + 1) * hidden));
  };
  const Array in = tn::matmul(x, m.w) + m.b, rec = tn::matmul(h, m.u);
  const Array reset = tn::logistic(part(in, 0) + part(rec, 0)), update = tn::logistic(part(in, 1) + part(rec, 1));
  const Array candidate = tn::tanh(part(in, 2) + reset * (part(rec, 2) + m.bn));
  return candidate + update * (h - candidate);
}
// The next value: the last one plus what the state says.
Array next_value(const Model& m, const Array& h, const Array& x) { return x(0) + tn::dot(h, m.readout) + m.offset; }

// x: f32[n, 2]: the yearly increase, scaled, and 1 where it was measured (0 where a week is missing).
Array loss_of_window(const Model& m, const Array& x) {
  auto step = [&](const Array& h, const Array& now) {
    const Array next = cell(m, h, now);
    return std::pair(next, next_value(m, next, now));
  };
  const Array predicted = tn::scan(step, tn::zeros({hidden}), x(tn::slice(-1))).second;
  const Array target = x(tn::slice(1, tn::none), 0), measured = x(tn::slice(1, tn::none), 1);
  return tn::sum(measured * tn::square(predicted - target)) / tn::max(tn::sum(measured), 1.f);
}
Array loss(const Model& m, const Array& windows) {
  return tn::mean(tn::vmap(loss_of_window, {.in_axes = {tn::none, 0}})(m, windows));
}

// 52 values beyond a window; its own forecasts are fed back.
Array forecast(const Model& m, const Array& window) {
  auto watch = [&](const Array& h, const Array& x) { return std::pair(cell(m, h, x), std::tuple<>()); };
  const Array h = tn::scan(watch, tn::zeros({hidden}), window(tn::slice(-1))).first;
  auto go_on = [&](const std::pair<Array, Array>& s, std::tuple<>) {
    const Array state = cell(m, s.first, s.second), value = next_value(m, state, s.second);
    return std::pair(std::pair<Array, Array>(state, tn::stack(std::vector<Array>{value, Array(1.f)})), value);
  };
  return tn::scan(go_on, std::pair<Array, Array>(h, window(-1)), std::tuple<>(), {.length = tn::Dim(horizon)}).second;
}

std::pair<Model, Adam> adam_step(const Model& m, const Adam& s, const Model& g, const Array& t) {
  Adam next{tn::tree::map([](Array a, Array d) { return 0.9f * a + 0.1f * d; }, s.mean, g),
            tn::tree::map([](Array a, Array d) { return 0.999f * a + 0.001f * d * d; }, s.square, g)};
  const Array rate = 3e-3f * tn::sqrt(1 - tn::pow(0.999f, t)) / (1 - tn::pow(0.9f, t));
  return {tn::tree::map([&](Array p, Array a, Array b) { return p - rate * a / (tn::sqrt(b) + 1e-8f); }, m, next.mean,
                        next.square),
          next};
}

std::vector<double> read(const std::string& path) {  // NaN where a week has no value
  std::ifstream file(path);
  std::vector<double> values;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const std::string cell = line.substr(line.find(',') + 1);
    values.push_back(cell.empty() ? NAN : std::stod(cell));
  }
  return values;
}

struct Score {
  double sum = 0;
  int count = 0;
  std::vector<double> by_horizon = std::vector<double>(horizon, 0), counts = std::vector<double>(horizon, 0);
  void add(int h, double error) {
    sum += error * error, ++count;
    by_horizon[h] += error * error, ++counts[h];
  }
  double rmse() const { return std::sqrt(sum / count); }
  double rmse(int h) const { return std::sqrt(by_horizon[h] / std::max(counts[h], 1.0)); }
};

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: co2_forecaster DATA.csv OUTPUT_FOLDER [training steps]\n", 2;
  const std::vector<double> co2 = read(argv[1]);
  const std::filesystem::path out(argv[2]);
  const int steps = argc > 3 ? std::stoi(argv[3]) : 600, weeks = static_cast<int>(co2.size()), split = weeks - 5 * year;
  std::filesystem::create_directories(out);

  // The increase over a year takes season and trend away; its scale comes from the training years alone.
  std::vector<double> rise(weeks, NAN);
  for (int t = year; t < weeks; ++t) rise[t] = co2[t] - co2[t - year];
  double mean = 0, deviation = 0, count = 0;
  for (int t = year; t < split; ++t)
    if (!std::isnan(rise[t])) mean += rise[t], ++count;
  mean /= count;
  for (int t = year; t < split; ++t)
    if (!std::isnan(rise[t])) deviation += (rise[t] - mean) * (rise[t] - mean) / count;
  deviation = std::sqrt(deviation);
  const auto window = [&](int from, int n) {
    std::vector<float> x;
    for (int t = from; t < from + n; ++t) {
      const bool measured = !std::isnan(rise[t]);
      x.push_back(measured ? static_cast<float>((rise[t] - mean) / deviation) : 0.f);
      x.push_back(measured);
    }
    return x;
  };

  std::mt19937 random(1);
  const auto normal = [&](std::vector<std::int64_t> shape, float scale) {
    std::normal_distribution<float> draw(0, scale);
    std::vector<float> v(static_cast<std::size_t>(shape[0] * (shape.size() > 1 ? shape[1] : 1)));
    for (float& x : v) x = draw(random);
    return tn::array<float>(v, shape);
  };
  Model model{normal({2, 3 * hidden}, 0.5f), normal({hidden, 3 * hidden}, 0.15f),
              tn::zeros({3 * hidden}),       tn::zeros({hidden}),
              normal({hidden}, 0.01f),       tn::zeros({})};
  const Model nothing = tn::tree::map([](Array a) { return a * 0.f; }, model);
  Adam state{nothing, nothing};
  const auto train = tn::jit([](const Model& m, const Adam& s, const Array& windows, const Array& t) {
    const auto [value, gradient] = tn::value_and_grad(loss)(m, windows);
    const auto [next, moments] = adam_step(m, s, gradient, t);
    return std::tuple(value, next, moments);
  });

  std::ofstream losses(out / "loss.txt");
  std::uniform_int_distribution<int> start(year, split - history - horizon - 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= steps; ++i) {
    std::vector<float> windows;
    for (int k = 0; k < batch; ++k)
      for (float x : window(start(random), history + horizon)) windows.push_back(x);
    auto [value, next, moments] = train(model, state, tn::array<float>(windows, {batch, history + horizon, 2}),
                                        Array(tn::Scalar(static_cast<float>(i))));
    model = next, state = moments;
    losses << i << ' ' << value.item<float>() << '\n';
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i % 20 == 0 || i == steps)
      std::cerr << "\r[" << std::string(30 * i / steps, '#') << std::string(30 - 30 * i / steps, '.') << "] loss "
                << value.item<float>() << ", " << static_cast<int>(i / seconds) << " steps/s   ";
  }
  std::cerr << '\n';

  // Rolling origins over the last five years. Nothing after an origin is seen by any of the three.
  const auto ahead = tn::jit(forecast);
  Score gru, persistence, seasonal;
  std::ofstream forecasts(out / "forecast.txt"), data(out / "data.txt"), errors(out / "errors.txt");
  for (int t = split - 5 * year; t < weeks; ++t)
    (std::isnan(co2[t]) ? data << '\n' : data << t << ' ' << co2[t] << '\n');
  const auto last_measured = [&](int t) {
    while (std::isnan(co2[t])) --t;
    return co2[t];
  };
  for (int origin = split; origin + horizon < weeks; origin += 4) {
    const Array predicted = ahead(model, tn::array<float>(window(origin - history + 1, history), {history, 2}));
    for (int h = 1; h <= horizon; ++h) {
      const double base = last_measured(origin + h - year);
      const double value = base + mean + deviation * predicted.span<float>()[h - 1];
      if (h == horizon || origin + 4 + horizon >= weeks) forecasts << origin + h << ' ' << value << '\n';
      if (std::isnan(co2[origin + h])) continue;
      gru.add(h - 1, value - co2[origin + h]);
      persistence.add(h - 1, last_measured(origin) - co2[origin + h]);
      seasonal.add(h - 1, base + mean - co2[origin + h]);
    }
  }
  for (int h = 0; h < horizon; ++h)
    errors << h + 1 << ' ' << gru.rmse(h) << ' ' << persistence.rmse(h) << ' ' << seasonal.rmse(h) << '\n';
  std::cout << "RMSE over all horizons up to 52 weeks, rolling origins over the last five years (ppm)\n  GRU           "
               "         "
            << gru.rmse() << "\n  persistence            " << persistence.rmse() << "\n  seasonal naive + drift "
            << seasonal.rmse() << "\n"
            << (gru.rmse() < std::min(persistence.rmse(), seasonal.rmse()) ? "The GRU won.\n"
                                                                           : "The GRU did not win.\n");

  for (std::ofstream* file : {&losses, &forecasts, &data, &errors}) file->close();
  std::ofstream plot(out / "plot.gp");
  for (const char* kind : {"pngcairo size 1200,900 font 'DejaVu Sans,11'", "svg size 1200,900 font 'DejaVu Sans,11'"})
    plot << "set terminal " << kind << "\nset output '" << (out / (kind[0] == 'p' ? "co2.png" : "co2.svg")).string()
         << "'\n"
         << "set multiplot\nset key left top\nset grid\nset size 1,0.5\nset origin 0,0.5\nset title 'CO2 at Mauna Loa, "
            "forecasts 52 weeks ahead'\nset xlabel 'week'\nset ylabel 'ppm'\n"
         << "plot '" << (out / "data.txt").string() << "' with lines lc rgb '#888888' title 'measured', '"
         << (out / "forecast.txt").string() << "' with points pt 7 ps 0.5 lc rgb '#c0392b' title 'GRU'\n"
         << "set size 0.5,0.5\nset origin 0,0\nset title 'error by horizon'\nset xlabel 'weeks ahead'\nset ylabel "
            "'RMSE, ppm'\n"
         << "plot for [i=2:4] '" << (out / "errors.txt").string()
         << "' using 1:i with lines lw 2 title word('GRU persistence seasonal', i - 1)\n"
         << "set origin 0.5,0\nset title 'training'\nset xlabel 'step'\nset ylabel 'loss'\nset logscale y\nplot '"
         << (out / "loss.txt").string() << "' with lines notitle\nunset logscale y\nunset multiplot\n";
  plot.close();
  if (std::system(("gnuplot '" + (out / "plot.gp").string() + "'").c_str()) == 0)
    std::cout << "plots: " << (out / "co2.png").string() << ", co2.svg\n";
}
