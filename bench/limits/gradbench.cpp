// GradBench's objectives by hand (bench/gradbench), one thread, plain C++ that the compiler makes vectors of where it
// can.
#include "bench/gradbench/ba.h"
#include "bench/gradbench/det.h"
#include "bench/gradbench/gmm.h"
#include "bench/gradbench/kmeans.h"
#include "bench/gradbench/lse.h"
#include "bench/gradbench/lstm.h"
#include "bench/gradbench/ode.h"
#include "limits.h"

template <class Inputs>
static void measure(gradbench::Result (*by_hand)(const Inputs&, bool), const Inputs& in) {
  for (const bool derivative : {false, true})
    time_ms(in.name(), derivative ? "derivative" : "forward", [&] {
      auto result = by_hand(in, derivative);
      keep(result);
    });
}

int main() {
  using namespace gradbench;
  measure(gmm::by_hand, gmm::Inputs(10, 25, 1000));
  measure(gmm::by_hand, gmm::Inputs(20, 50, 10000));
  measure(lstm::by_hand, lstm::Inputs(2, 1024, 14));
  measure(lstm::by_hand, lstm::Inputs(4, 4096, 14));
  measure(ba::by_hand, ba::Inputs(21, 1131, 3645));
  measure(ba::by_hand, ba::Inputs(21, 11315, 36455));
  measure(ode::by_hand, ode::Inputs(20, 500));
  measure(ode::by_hand, ode::Inputs(100, 5000));
  measure(kmeans::by_hand, kmeans::Inputs(1000, 10, 16));
  measure(kmeans::by_hand, kmeans::Inputs(20000, 50, 32));
  measure(lse::by_hand, lse::Inputs(10000));
  measure(lse::by_hand, lse::Inputs(1000000));
  measure(det::by_hand, det::Inputs(5));
  measure(det::by_hand, det::Inputs(7));
}
