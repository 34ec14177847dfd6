// The weather of a week behind what a friend tells of his days: the most probable states of a hidden Markov model, and
// what the probability of that path depends on.
#include "examples/viterbi.h"

#include <iostream>

namespace tn = tenon;
using examples::MarkovModel;
using tn::Array;

int main() {
  const Array start{0.6, 0.4}, transition{{0.7, 0.3}, {0.4, 0.6}};  // rain, sun
  const Array emission{{0.1, 0.4, 0.5}, {0.6, 0.3, 0.1}};           // walk, shop, clean
  const MarkovModel model{tn::log(start), tn::log(transition), tn::log(emission)};
  const Array days{0, 1, 2, 2, 1, 0, 0};

  const auto path = tn::jit(examples::most_probable_path)(model, days);
  std::cout << "weather:";
  for (const int state : path.states.span<int>()) std::cout << (state == 0 ? " rain" : " sun");
  std::cout << "\nprobability of this week: " << tn::exp(path.score).item<double>() << '\n';

  // The derivative in a logarithm is how often the path uses it.
  const auto score = [&](const MarkovModel& m) { return examples::most_probable_path(m, days).score; };
  std::cout << "transitions used: " << tn::jit(tn::grad(score))(model).transition << '\n';
}
