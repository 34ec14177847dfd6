// Lines that programs and errors name are the user's, of functions that are made of loops, rules and other functions
// of functions too: everything that a call makes is attributed to the line of that call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using tn::Array;

namespace {

// The places of all eqns but constants, those of Programs inside too. (Equal Programs inside share one, which has the
// line of the first call: of another test, where that has made an equal one.)
void collect(const tn::Program& p, std::set<std::string>& places, bool inside) {
  for (const tn::Eqn& eqn : p.eqns()) {
    if (eqn.op->name != std::string_view("literal")) places.insert(eqn.where.text());
    eqn.params.visit_programs([&](const tn::ProgramRef& inner) {
      if (inner && inside) collect(*inner, places, true);
    });
  }
}
struct OfOneLine {
  const char* name;
  std::function<Array(Array)> f;
  unsigned line;
};
#define CALLED(name, ...)                                               \
  OfOneLine {                                                           \
    name, [](const Array& x) -> Array { return __VA_ARGS__; }, __LINE__ \
  }

std::vector<OfOneLine> functions_of_loops() {
  namespace linalg = tn::linalg;
  namespace random = tn::random;
  namespace special = tn::special;
  return {
      CALLED("poisson", random::poisson(random::key(1), 30.0 * tn::abs(x))),
      CALLED("binomial", random::binomial(random::key(1), 40.0, tn::sigmoid(x), {}, tn::DType::f64)),
      CALLED("multinomial", random::multinomial(random::key(1), 9.0, tn::softmax(x), {}, tn::DType::f64)),
      CALLED("gamma", random::gamma(random::key(1), tn::abs(x) + 1.0, {}, tn::DType::f64)),
      CALLED("beta", random::beta(random::key(1), tn::abs(x) + 1.0, 2.0, {}, tn::DType::f64)),
      CALLED("dirichlet", random::dirichlet(random::key(1), tn::abs(x) + 1.0, {}, tn::DType::f64)),
      CALLED("permutation", random::permutation(random::key(1), x)),
      CALLED("truncated_normal", random::truncated_normal(random::key(1), -tn::abs(x), 2.0, {}, tn::DType::f64)),
      CALLED("logm", tn::real(linalg::logm(tn::diag(tn::abs(x) + 1.0)))),
      CALLED("sqrtm", tn::real(linalg::sqrtm(tn::diag(tn::abs(x) + 1.0)))),
      CALLED("expm", linalg::expm(tn::diag(x))),
      CALLED("solve_sylvester", linalg::solve_sylvester(tn::diag(x), tn::diag(x + 9.0), tn::diag(x))),
      CALLED("pinv", linalg::pinv(tn::diag(x))),
      CALLED("cg", linalg::cg(tn::diag(tn::abs(x) + 1.0), x)),
      CALLED("gmres", linalg::gmres(tn::diag(tn::abs(x) + 1.0), x)),
      CALLED("bicgstab", linalg::bicgstab(tn::diag(tn::abs(x) + 1.0), x)),
      CALLED("gammainc", special::gammainc(tn::abs(x), 2.0)),
      CALLED("betainc", special::betainc(tn::abs(x) + 1.0, 2.0, 0.5)),
      CALLED("exp1", special::exp1(tn::abs(x) + 1.0)),
      CALLED("zeta", special::zeta(tn::abs(x) + 2.0, 3.0)),
      CALLED("bessel_jn", special::bessel_jn(x, 3)),
      CALLED("cumlogsumexp", tn::cumlogsumexp(x)),
      CALLED("cummax", tn::cummax(x)),
      CALLED("quantile", tn::quantile(x, 0.3)),
      CALLED("interp", tn::interpolate::interp(x, Array{0.0, 1.0}, Array{2.0, 3.0})),
      CALLED("searchsorted", tn::convert(tn::searchsorted(tn::sort(x), x), x.dtype())),
      CALLED("polyfit", tn::polyfit(x, x * x, 2).coefficients),
      CALLED("gcd", tn::convert(tn::gcd(tn::convert(x, tn::DType::i32), 12), x.dtype())),
      CALLED("convolve", tn::signal::convolve(x, x)),
      CALLED("welch", tn::signal::welch(x).values),
      CALLED("softmax", tn::softmax(x)),
      CALLED("associative_scan", tn::associative_scan(std::plus<>(), x)),
      CALLED("roots", tn::real(tn::roots(x))),
  };
}

std::set<std::string> places_of(const std::function<Array(Array)>& f, bool inside = true) {
  std::set<std::string> places;
  collect(*tn::trace(f)(Array{0.3, -1.2, 2.0, 0.7}), places, inside);
  return places;
}

// Of one call, alone and in a step of the user's, whose lines are in this file too.
TEST(Lines, OfFunctionsOfLoops) {
  for (const OfOneLine& of : functions_of_loops()) {
    for (const std::string& place : places_of(of.f, false))
      EXPECT_THAT(place, EndsWith("lines.cpp:" + std::to_string(of.line))) << of.name;
    const auto in_step = [&](const Array& x) {
      return tn::map([&](const Array& row) { return of.f(row); }, tn::reshape(x, {1, 4}));
    };
    for (const std::function<Array(Array)>& f : {of.f, std::function<Array(Array)>(in_step)})
      for (const std::string& place : places_of(f)) EXPECT_THAT(place, HasSubstr("tests/api/")) << of.name;
  }
}

// Derivatives, whose rules are the library's.
TEST(Lines, OfDerivatives) {
  for (const OfOneLine& of : functions_of_loops()) {
    const auto slope = tn::grad([&](const Array& x) { return tn::sum(tn::convert(of.f(x), tn::DType::f64)); });
    if (std::string_view("sqrtm roots solve_sylvester").find(of.name) != std::string_view::npos) continue;
    for (const std::string& place : places_of(slope)) EXPECT_THAT(place, HasSubstr("tests/api/")) << of.name;
  }
}

// What the user's functions do has lines of its own in loops of the library's, and what these do around it has that of
// the call.
TEST(Lines, OfFunctionsGivenToFunctionsOfLoops) {
  unsigned inside = 0;
  const auto square = [&](const Array& x, unsigned& line) {
    line = __LINE__ + 1;
    return x * x;
  };
  const auto least = [&](const Array& x) {
    return tn::optim::minimize([&](const Array& v) { return tn::sum(square(v, inside)); }, x).x;
  };
  const auto solved = [&](const Array& x) {
    return tn::odeint([&](const Array& y, const Array&) { return -square(y, inside); }, x, Array{0.0, 1.0});
  };
  for (const std::function<Array(Array)>& f :
       {std::function<Array(Array)>(least), std::function<Array(Array)>(solved)}) {
    const std::set<std::string> places = places_of(f);
    for (const std::string& place : places) EXPECT_THAT(place, HasSubstr("tests/api/lines.cpp:"));
    EXPECT_THAT(places, Contains(EndsWith(std::to_string(inside))));
    EXPECT_GE(places.size(), 2);
  }
  const auto wrong = [](const Array& x) {
    return tn::optim::minimize([](const Array& v) { return tn::sum(v + tn::ones({3})); }, x).x;
  };
  EXPECT_THAT(tn::message_of([&] { tn::jit(wrong)(Array{1.0, 2.0}); }),
              HasSubstr("lines.cpp:" + std::to_string(__LINE__ - 3)));
}

}  // namespace
