// GradBench's objectives. With --check nothing is timed. Exit status 1: Tenon's program and the one by hand differ.
#include <cstring>

#include "bench/gradbench/case.h"

namespace gradbench {
namespace {
bool check_alone = false;
}

bool timed() { return !check_alone; }

bool agree(const std::string& which, const char* what, const Values& got, const Values& wanted) {
  double largest = 0, apart = got.size() == wanted.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    largest = std::max(largest, std::fabs(wanted[i]));
    const double distance = std::fabs(got[i] - wanted[i]);
    apart = std::isnan(distance) ? HUGE_VAL : std::max(apart, distance);
  }
  if (apart <= agreement * largest) return true;
  std::fprintf(stderr, "%s: the %s, %zu elements, differs by %g from the one by hand, %zu elements up to %g\n",
               which.c_str(), what, got.size(), apart, wanted.size(), largest);
  return false;
}

}  // namespace gradbench

int main(int count, char** arguments) {
  using namespace gradbench;
  check_alone = count > 1 && std::strcmp(arguments[1], "--check") == 0;
  bool all = true;
  for (bool (*run)() : {run_gmm, run_lstm, run_ba, run_ode, run_kmeans, run_lse, run_det}) all = run() && all;
  return all ? 0 : 1;
}
