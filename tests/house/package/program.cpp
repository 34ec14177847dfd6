// What a user of the installed library writes first.
#include <tenon/tenon.h>

#include <cmath>
#include <iostream>

int main() {
  auto slope = tenon::jit(tenon::grad([](tenon::Array x) { return tenon::sin(x) * x; }));
  const float at = slope(tenon::Array(0.7f)).item<float>();
  std::cout << "Tenon " << TENON_VERSION_STRING << ": " << at << '\n';
  return std::abs(at - (std::sin(0.7f) + 0.7f * std::cos(0.7f))) < 1e-6f ? 0 : 1;
}
