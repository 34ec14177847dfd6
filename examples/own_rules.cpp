// Rules of one's own: what may stand in place of what, tried on random arrays before it is used.
#include <tenon/tenon.h>

#include <iostream>

namespace tn = tenon;
using tn::Array;

int main() {
  // log(1 - e^x) loses all its digits near 0; what is right there is wrong far away, so there are two.
  const auto log1mexp = tn::rule(
      "log(1 - exp(x))", tn::Exactness::avoids_overflow, [](Array x) { return tn::log(1 - tn::exp(x)); },
      [](Array x) { return tn::where(x > -0.693f, tn::log(-tn::expm1(tn::max(x, -0.693f))), tn::log1p(-tn::exp(x))); });
  const auto f = [](Array x) { return tn::sum(tn::log(1 - tn::exp(x))); };
  const Array x = {-1e-4f, -1.0f, -30.0f};
  std::cout << "as written " << f(x) << ", by the rule " << tn::jit(f, {.rewrites = {log1mexp}})(x) << '\n';
  std::cout << tn::explain(tn::jit(f, {.rewrites = {log1mexp}}))(x);

  // One that holds, and one that does not.
  const auto factored = tn::rule(
      "x*y + x*z", tn::Exactness::reassociates, [](Array x, Array y, Array z) { return x * y + x * z; },
      tn::when([](Array x, Array, Array) { return tn::is_inexact(x.dtype()); }),
      [](Array x, Array y, Array z) { return x * (y + z); });
  std::cout << tn::verify(factored).cases << " cases hold\n";
  const auto wrong = tn::rule(
      "sqrt(x*x) = x", tn::Exactness::assumes_finite, [](Array x) { return tn::sqrt(x * x); },
      [](Array x) { return x; });
  try {
    tn::verify(wrong);
  } catch (const tn::RewriteError& error) {
    std::cout << error.what() << '\n';
  }

  // Before a derivative is taken, everywhere in a scope.
  const auto root = tn::rule(
      "sqrt(x*x) = |x|", tn::Exactness::assumes_finite, [](Array x) { return tn::sqrt(x * x); },
      [](Array x) { return tn::abs(x); }, tn::Phase::before_differentiation);
  const tn::Rewrites scope({root});
  std::cout << tn::grad([](Array x) { return tn::sqrt(x * x); })(0.0f) << '\n';  // 1, and not NaN
}
