#include "bench/gradbench/lse.h"

#include "bench/gradbench/case.h"

namespace gradbench {

bool run_lse() {
  bool agrees = true;
  for (const int n : {10000, 1000000}) {
    const lse::Inputs in(n);
    const Array x = array(in.x, {n});
    const auto library = [](const Array& x) { return tn::logsumexp(x); };
    const auto own_words = [](const Array& x) {
      const Array largest = tn::amax(x);
      return largest + tn::log(tn::sum(tn::exp(x - largest)));
    };
    const Result wanted = lse::by_hand(in, true);
    agrees = measure(in.name(), library, tn::grad(library), wanted, x) && agrees;
    agrees = measure(in.name() + ", in one's own words", own_words, tn::grad(own_words), wanted, x) && agrees;
  }
  return agrees;
}

}  // namespace gradbench
