// What the objectives of GradBench (https://github.com/gradbench/gradbench) share here: their inputs, and the form of
// what is computed by hand. Knows nothing of Tenon: bench/limits/gradbench.cpp times the same functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace gradbench {

using Values = std::vector<double>;

// The same in every language: a 32-bit multiplicative hash of the index, as bench/limits/limits.h has it.
inline Values values(std::uint32_t seed, std::size_t count, double low, double high) {
  Values all(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t h = (static_cast<std::uint32_t>(i) + seed * 0x9E3779B9u) * 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    h ^= h >> 16;
    all[i] = low + (high - low) * (static_cast<double>(h >> 8) * 0x1p-24);
  }
  return all;
}

// An objective's value, or the first of its values, and its derivative: leaves one behind another, each row-major.
struct Result {
  double value = 0;
  Values derivative = {};
};

// Natural logarithm of Σ e^x; x becomes the weights e^x / Σ e^x.
inline double log_sum_exp(double* x, int n) {
  double largest = x[0], sum = 0;
  for (int i = 1; i < n; ++i) largest = std::max(largest, x[i]);
  for (int i = 0; i < n; ++i) sum += x[i] = std::exp(x[i] - largest);
  for (int i = 0; i < n; ++i) x[i] /= sum;
  return largest + std::log(sum);
}

}  // namespace gradbench
