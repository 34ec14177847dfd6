// Arguments at which functions are measured: hard ones, and draws.
#pragma once

#include <random>
#include <vector>

#include "bench/accuracy/functions.h"

namespace accuracy {

// Powers of two, integers and halves, multiples of π/4 and of log(2)/2, each with its neighbours, of both signs; zeros,
// infinities, NaN, the ends of the normal numbers, and the number of f64 that lies nearest to a multiple of π/2.
template <class T>
std::vector<T> hard_arguments();

// One after another the hard arguments, of several their pairs, and draws.
template <class T>
class Draws {
 public:
  explicit Draws(const Function& function);
  void fill(std::vector<std::vector<T>>& x);  // one vector an argument

 private:
  T drawn(const Home& home);
  T anywhere();

  const Function& function_;
  std::vector<std::vector<T>> hard_;  // of each argument, at home where the function is measured there alone
  std::mt19937_64 random_;
  std::size_t next_ = 0;
};

}  // namespace accuracy
