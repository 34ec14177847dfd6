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
struct Series {
  Array co2, last_year;    // f64[weeks], ppm, NaN where a week is missing; f64[weeks+52], last measured a year before
  Array drift, deviation;  // of the rise over a year, before the test
  Array rise;              // f32[weeks,2]: over a year, scaled, or the last one known; 1 where it was measured
};

// One week of a GRU. x: f32[2], of Series::rise
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
    return std::pair(std::pair(state, tn::stack({next, 1.f})), next);
  };
  return tn::scan(go_on, std::pair(h, window(-1)), std::tuple<>(), {.length = horizon}).second;
}

// Over the weeks that were measured.
Array mean_where(const Array& measured, const Array& x, const tn::Axes& axes = {}) {
  return tn::sum(tn::where(measured, x, 0.f), axes) / tn::sum(tn::convert(measured, x.dtype()), axes);
}

// Mean square over the stacked forecasts. windows: f32[batch,156,2]
Array loss(const Model& m, const Array& windows) {
  const Array seen = windows(tn::all, tn::slice(history)), ahead = windows(tn::all, tn::slice(history, tn::none));
  const Array error = tn::vmap(forecast, {.in_axes = {tn::none, 0}})(m, seen) - ahead(tn::ellipsis, 0);
  return mean_where(ahead(tn::ellipsis, 1) > 0.f, tn::square(error));
}

// One step of Adam on windows before week `end`, drawn with `key`: the loss, and what comes next.
std::pair<Array, Training> train_step(const Training& s, const Array& rise, const Array& end, const Array& key,
                                      const Array& t) {
  const Array starts = tn::random::randint(key, {batch, 1}, year, end - (history + horizon));
  const auto [value, slope] = tn::value_and_grad(loss)(s.model, rise(starts + tn::arange(history + horizon)));
  const auto decay = [](float by) { return [by](Array a, Array b) { return by * a + (1 - by) * b; }; };
  Training next;
  next.mean = tn::tree::map(decay(0.9f), s.mean, slope);
  next.square = tn::tree::map(decay(0.999f), s.square, tn::tree::map([](Array d) { return d * d; }, slope));
  const Array rate = 2e-3f * tn::sqrt(1 - tn::pow(0.999f, t)) / (1 - tn::pow(0.9f, t));
  const auto move = [&](Array p, Array a, Array b) { return p - rate * a / (tn::sqrt(b) + 1e-8f); };
  next.model = tn::tree::map(move, s.model, next.mean, next.square);
  next.average = tn::tree::map(decay(0.98f), s.average, next.model);
  return {value, next};
}

// The models along a training on the weeks before `end`, one every 25 steps; a progress bar, and losses into a file.
std::vector<Model> train(const char* name, const Series& s, int end, int steps, std::ostream& losses) {
  static const auto step = tn::jit(train_step);
  const auto draw = [](int seed, const tn::Shape& shape, float scale) {
    return scale * tn::random::normal(tn::random::key(seed), shape);
  };
  const Model m{draw(1, {2, 3 * hidden}, 0.5f), draw(2, {hidden, 3 * hidden}, 0.15f),
                tn::zeros({3 * hidden}),        tn::zeros({hidden}),
                draw(3, {hidden}, 0.01f),       tn::zeros({})};
  const Model nothing = tn::tree::map([](Array a) { return tn::zeros_like(a); }, m);
  Training state{m, nothing, nothing, m};
  std::vector<Model> models;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= steps; ++i) {
    Array value;
    std::tie(value, state) = step(state, s.rise, Array(end), tn::random::key(i), Array(static_cast<float>(i)));
    losses << i << ' ' << value.item<float>() << '\n';
    if (i % every != 0 && i != steps) continue;
    models.push_back(state.average);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cerr << '\r' << name << " [" << std::string(30 * i / steps, '#') << std::string(30 - 30 * i / steps, '.')
              << "] loss " << value.item<float>() << ", " << static_cast<int>(i / seconds.count()) << " steps/s   ";
  }
  std::cerr << '\n', losses << '\n';
  return models;
}

// Each element, or where it is NaN the last one that is not.
Array last_known(const Array& x) {
  const auto keep = [](Array last, Array now) {
    last = tn::where(tn::is_finite(now), now, last);
    return std::pair(last, last);
  };
  return tn::scan(keep, tn::zeros({}, x.dtype()), x).second;
}

Series series(const Array& co2) {
  Series s{.co2 = co2, .last_year = tn::concatenate({tn::full({year}, NAN), last_known(co2)}, 0)};
  const Array rise = co2 - s.last_year(tn::slice(co2.size(0))), measured = tn::is_finite(rise);
  const Array known = tn::compress(rise, measured & (tn::arange(co2.size(0)) < co2.size(0) - test));
  s.drift = tn::mean(known), s.deviation = tn::stddev(known);
  s.rise = tn::convert(tn::stack({last_known((rise - s.drift) / s.deviation), measured}, 1), tn::DType::f32);
  return s;
}

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: co2_forecaster DATA.csv OUTPUT_FOLDER [most training steps]\n", 2;
  const std::filesystem::path out(argv[2]);
  std::filesystem::create_directories(out);
  const Array table = tn::load_table(argv[1], {.header_lines = 1});  // 19580329, 316.1
  const Series s = series(table(tn::all, 1));
  const int most = argc > 3 ? std::stoi(argv[3]) : 600, before_test = static_cast<int>(table.size(0)) - test;

  // f64[origins,52]: what the model says of the weeks after each origin.
  const auto after = [](const Array& origins) { return origins(tn::all, tn::newaxis) + (1 + tn::arange(horizon)); };
  const auto forecasts = tn::jit(tn::vmap(forecast, {.in_axes = {tn::none, 0}}));
  const auto ppm = [&](const Model& m, const Array& origins) {
    const Array seen = origins(tn::all, tn::newaxis) + (1 - history + tn::arange(history));
    return s.last_year(after(origins)) + s.drift + s.deviation * forecasts(m, s.rise(seen));
  };
  const auto rmse = [](const Array& error, const tn::Axes& axes = {}) {
    return tn::sqrt(mean_where(tn::is_finite(error), tn::square(error), axes));
  };

  std::ofstream losses(out / "loss.txt");
  const std::vector<Model> models = train("choosing", s, before_test - validation, most, losses);
  const Array before = before_test - validation + 4 * tn::arange((validation - horizon + 3) / 4);
  std::vector<double> scores;
  for (const Model& m : models) scores.push_back(rmse(ppm(m, before) - s.co2(after(before))).item<double>());
  const auto lowest = std::ranges::min_element(scores);
  const int best = std::min(most, every * static_cast<int>(lowest - scores.begin() + 1));
  const Model model = train("training", s, before_test, best, losses).back();

  // Rolling origins over the last five years, then the year after the data.
  const Array origins = before_test + 4 * tn::arange((test - horizon + 3) / 4), ahead = after(origins);
  const Array truth = s.co2(ahead), says = ppm(model, origins), naive = s.last_year(ahead) + s.drift;
  const Array last = s.last_year(origins + year)(tn::all, tn::newaxis), end = Array{before_test + test - 1};
  const auto write = [&](const char* name, std::initializer_list<Array> columns) {
    tn::save_table((out / name).string(), tn::stack(columns, 1), {.separator = ' '});
  };
  const auto when = [&](const Array& week) { return 1958.24 + 7 / 365.25 * tn::convert(week, tn::DType::f64); };
  const Array shown = tn::arange(validation + test) + (before_test - validation);
  write("choice.txt", {tn::min(every * (1 + tn::arange(std::ssize(scores))), most), tn::from(scores)});
  write("data.txt", {when(shown), s.co2(shown)});
  write("forecast.txt", {when(origins + horizon), says(tn::all, -1), naive(tn::all, -1)});
  write("next.txt", {when(after(end)(0)), ppm(model, end)(0)});
  write("errors.txt", {1 + tn::arange(horizon), rmse(says - truth, 0), rmse(last - truth, 0), rmse(naive - truth, 0)});
  const auto score = [&](const Array& error) { return rmse(error).item<double>(); };
  const double gru = score(says - truth), seasonal = score(naive - truth), persistence = score(last - truth);
  std::cout << "RMSE in ppm over the last five years, all horizons up to 52 weeks; " << best << " steps were chosen ("
            << *lowest << " in the five years before)\n  GRU                " << gru << "\n  last year + drift  "
            << seasonal << "\n  persistence        " << persistence << "\nThe GRU "
            << (gru < std::min(seasonal, persistence) ? "won.\n" : "did not win.\n");
}
