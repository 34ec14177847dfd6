// The most probable path of states of a hidden Markov model, by Viterbi (1967): a scan forward, and one back.
#pragma once

#include "tenon/tenon.h"

namespace examples {

struct MarkovModel {
  tenon::Array start;       // [states], logarithms of probabilities
  tenon::Array transition;  // [from, to]
  tenon::Array emission;    // [state, symbol]
};
struct Path {
  tenon::Array score, states;  // the logarithm of its probability; i32[steps]
};

// symbols: i32[steps], at least one
inline Path most_probable_path(const MarkovModel& model, const tenon::Array& symbols) {
  using tenon::Array;
  const auto seen = [&](const Array& symbol) { return model.emission(tenon::all, symbol); };
  const auto forward = [&](const Array& score, const Array& symbol) {
    const Array arriving = score(tenon::all, tenon::newaxis) + model.transition;  // [from, to]
    return std::pair(tenon::amax(arriving, {0}) + seen(symbol), tenon::argmax(arriving, {0}));
  };
  const auto [score, came_from] =
      tenon::scan(forward, model.start + seen(symbols(0)), symbols(tenon::slice(1, tenon::none)));

  const auto back = [](const Array& state, const Array& from) { return std::pair(from(state), state); };
  const auto [first, others] = tenon::scan(back, tenon::argmax(score), came_from, {.reverse = true});
  return {tenon::amax(score), tenon::concatenate({first(tenon::newaxis), others}, 0)};
}

}  // namespace examples
