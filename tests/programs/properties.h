// What holds of every Program, each as a function that says what is wrong: text and back, derivatives against finite
// differences, reverse against forward mode, batches against loops over lanes, passes and native code against the
// reference evaluator; and of its derivatives and batches the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ir/value.h"

namespace tenon::sample {

struct Trial {
  ProgramRef program;
  std::uint64_t seed = 1;  // of inputs, tangents, cotangents and masks
  bool smooth = false;     // f64 throughout, so that finite differences say something
};

struct Property {
  std::string_view name;
  std::string (*wrong)(const Trial&);  // empty: it holds
  bool batches = false;                // says nothing of Programs that have no batch
};
std::span<const Property> properties();

// Passes that can be left out, of Programs and of kernels; and what is wrong with native code that is made without one,
// of a Program and of its vjp.
std::vector<std::string> optional_passes();
std::string without_pass(const Trial& trial, const std::string& pass);

// What is wrong, exceptions included.
std::string check(const Property& property, const Trial& trial);

// How many derivatives were compared, and how many of them finite differences could decide; how many batches were of
// Programs that choose rows, by masks that the lanes have in common.
struct Decided {
  std::int64_t compared = 0, decided = 0, lanes_of_chosen_rows = 0;
};
Decided& decided();

}  // namespace tenon::sample
