// Random well-typed Programs over all families of ops, as users would write them, from a sequence of choices.
#pragma once

#include "tenon/ir/program.h"
#include "tests/programs/choices.h"

namespace tenon::sample {

enum class Flavor : std::uint8_t {
  smooth,   // real numbers are f64 and derivatives are those of finite differences
  mixed,    // f32 and f64, integers of every width, stop_gradient
  complex,  // c128 beside f64
  small,    // i8, u16, f16, bf16 and the like
  storage,  // floats of 8 bits beside f32
  whole,    // integers of every width, and bool: what is computed is exact, whatever its order
};

struct GeneratorOptions {
  Flavor flavor = Flavor::smooth;
  bool data_sizes = false;  // arrays of a size that the data decide
  bool large = false;       // sizes that code divides into blocks, vectors and rows
};

ProgramRef random_program(Choices& choices, const GeneratorOptions& options);

}  // namespace tenon::sample
