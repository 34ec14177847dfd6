// Prints a JSON line a function and dtype: the largest error of compiled code in units of the last place, and where.
//
// accuracy [--quick FIGURES] [--only NAME] [--dtype f32|f64] [--step N] [--draws N] [--exact-draws N]
//
// --quick looks at few arguments and fails where an error is above the bound that FIGURES (docs/accuracy.json) records.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/accuracy/measure.h"

namespace {

using accuracy::Function;
using accuracy::Options;
using accuracy::Result;
using nlohmann::json;

template <class T>
json figure_of(const Function& f, const char* kind, const Options& options) {
  const char* dtype = sizeof(T) == 4 ? "f32" : "f64";
  const Result r = accuracy::measure<T>(f, options);
  const bool all = accuracy::takes_all<T>(f) && options.step == 1;
  json at = json::array();
  for (const double x : r.at) at.push_back(fmt::format("{:.{}g}", x, sizeof(T) == 4 ? 9 : 17));
  return {{"function", f.name},
          {"kind", kind},
          {"dtype", dtype},
          {"ulp", std::isinf(r.ulp) ? json("wrong") : json(r.ulp)},
          {"at", at},
          {"got", fmt::format("{:.17g}", r.got)},
          {"exact", fmt::format("{:.17g}", r.exact)},
          {"arguments", all ? json("all") : json(r.arguments)},
          {"wrong", r.wrong},
          {"reference", r.reference},
          {"promised", f.bound}};
}

// Whether a figure is above what is recorded of the same function and dtype.
bool above(const json& figure, const json& recorded) {
  for (const json& row : recorded)
    if (row["function"] == figure["function"] && row["dtype"] == figure["dtype"]) {
      if (row["ulp"] == "wrong") return false;
      return figure["ulp"] == "wrong" || figure["ulp"].get<double>() > row["bound"].get<double>();
    }
  return true;
}

}  // namespace

int main(int count, char** words) {
  CLI::App app("The largest errors of functions, in units of the last place.");
  Options options;
  std::string figures, only, dtype;
  app.add_option("--quick", figures, "look at few arguments, and fail above the bounds recorded in this file");
  app.add_option("--only", only, "of this function");
  app.add_option("--dtype", dtype, "f32 or f64");
  app.add_option("--step", options.step, "of one argument of f32 every so many, a power of two");
  app.add_option("--draws", options.draws);
  app.add_option("--exact-draws", options.exact_draws, "where every value is taken by MPFR");
  CLI11_PARSE(app, count, words);
  json recorded;
  if (!figures.empty()) {
    std::ifstream(figures) >> recorded;
    options = {.step = 1 << 15, .draws = 50'000, .exact_draws = 2'000};
  }
  int failed = 0;
  const auto one = [&](const json& figure) {
    const bool fails = !figures.empty() && above(figure, recorded);
    failed += fails;
    if (figures.empty() || fails) fmt::print("{}\n", figure.dump());
    std::fflush(stdout);
  };
  const auto every = [&](const std::vector<Function>& functions, const char* kind) {
    for (const Function& f : functions) {
      if (!only.empty() && f.name != only) continue;
      if (dtype != "f64") one(figure_of<float>(f, kind, options));
      if (dtype != "f32") one(figure_of<double>(f, kind, options));
    }
  };
  every(accuracy::common_functions(), "common");
  every(accuracy::special_functions(), "special");
  return failed == 0 ? 0 : 1;
}
