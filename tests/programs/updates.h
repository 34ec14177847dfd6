// What holds of a recipe's Program (recipe.h) under each transformation, compiled: values and derivatives are those of
// plain numbers (plain.h), lane by lane.
#pragma once

#include <string>

#include "tenon/ir/program.h"
#include "tests/programs/recipe.h"

namespace tenon::sample {

struct UpdateTrial {
  Body recipe;
  ProgramRef program;
  std::uint64_t seed = 1;  // of inputs, tangents, cotangents and which inputs are batched or donated
  DType real = DType::f64;
};

// What is wrong, exceptions included; empty: nothing. The text has Programs and inputs that `tenon run` takes.
std::string check_updates(const UpdateTrial& trial);

// How many results were compared, and how many of them plain numbers could decide.
struct Compared {
  std::int64_t elements = 0, decided = 0;
};
Compared& compared();

}  // namespace tenon::sample
