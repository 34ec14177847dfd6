// What two words have in common: their longest common subsequence.
#include "examples/subsequence.h"

#include <iostream>

namespace tn = tenon;

int main() {
  const std::string a = "nematode knowledge", b = "empty bottle";
  const auto letters = [](const std::string& s) { return tn::array<int>(std::vector<int>(s.begin(), s.end())); };

  const auto found = tn::jit(examples::longest_common_subsequence)(letters(a), letters(b));

  std::cout << "'" << a << "' and '" << b << "' have " << found.length.item<int>() << " letters in common: '";
  for (int k = 0; k < found.length.item<int>(); ++k) std::cout << a[found.places(k, 0).item<int>()];
  std::cout << "'\n";
}
