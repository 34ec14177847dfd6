// Random kernels: nests, reductions, copies, products, calls, loops and branches over slots of several dtypes and
// sizes, some of them found by the kernel itself, of which all accesses are inside, all that is read has been written,
// and stores of independent nests are apart.
#pragma once

#include <random>

#include "tests/kernel/interpreter.h"

namespace tenon::kernel {

struct RandomKernel {
  Function function;
  std::vector<Bytes> arguments;
  std::vector<std::int64_t> sizes;
  std::uint32_t inputs = 0;  // arguments that are never written
};

struct Mixture {
  bool complex = true;    // complex numbers, too
  bool symbolic = true;   // size parameters, too
  bool found = true;      // sizes that the kernel finds, too
  bool functions = true;  // sine and the like: what native code rounds otherwise
  bool results = false;   // arguments behind `inputs` are results: they are written, and not read before
};

RandomKernel random_kernel(std::uint64_t seed, const Mixture& mixture = {});

}  // namespace tenon::kernel
