// The largest error of a function, in units of the last place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/accuracy/functions.h"

namespace accuracy {

struct Options {
  std::uint64_t step = 1;                 // of one argument of f32, every so many of the 2^32
  std::uint64_t draws = 10'000'000;       // elsewhere, where a reference in long double finds the candidates
  std::uint64_t exact_draws = 1'000'000;  // where every value is taken exactly
};

struct Result {
  double ulp = 0;               // infinite where a number and NaN, or 0, were mistaken for another
  std::vector<double> at;       // the arguments of the largest error
  double got = 0, exact = 0;    // what was computed there, and the value
  std::uint64_t arguments = 0;  // how many were looked at
  std::uint64_t wrong = 0;      // of them, how many gave an infinite error
  double reference = 0;         // how far the quick reference was off where the exact value was taken too, in ulp
};

// |got - value| in units of the last place of T at the value. Values below the normal numbers may be given as any
// number down to 0, since programs flush subnormal ones; beyond the largest, infinity stands for the next power of two.
template <class T>
double error_in_ulp(T got, const Exact& value);

// Whether it is measured on all numbers of T, or every so many: of f32, where it has one argument, which may be any.
template <class T>
bool takes_all(const Function& function);
// Of T = float or double: compiled code, on these, else on draws.
template <class T>
Result measure(const Function& function, const Options& options);

}  // namespace accuracy
