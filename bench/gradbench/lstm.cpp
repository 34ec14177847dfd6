#include "bench/gradbench/lstm.h"

#include "bench/gradbench/case.h"

namespace gradbench {
namespace {

struct Parameters {
  Array main, extra;  // [2·layers,4,b]: weights and biases in turn; [3,b]
};

// Hidden and memory of each layer in turn, [2·layers,b], one input later; and what the stack gives.
std::pair<Array, Array> stack_of_layers(const Parameters& p, const Array& state, Array input) {
  std::vector<Array> next;
  for (std::int64_t i = 0; i < p.main.size(0); i += 2) {
    const Array w = p.main(i), b = p.main(i + 1), hidden = state(i), memory = state(i + 1);
    const Array forget = tn::logistic(input * w(0) + b(0)), ingate = tn::logistic(hidden * w(1) + b(1));
    const Array outgate = tn::logistic(input * w(2) + b(2)), change = tn::tanh(hidden * w(3) + b(3));
    next.push_back(memory * forget + ingate * change);
    input = outgate * tn::tanh(next.back());
    next.insert(next.end() - 1, input);
  }
  return {tn::stack(next), input};
}

Array loss(const Parameters& p, const Array& state, const Array& sequence) {
  const auto step = [&](Array state, std::pair<Array, Array> now_and_next) {
    const auto [next, top] = stack_of_layers(p, state, now_and_next.first * p.extra(0));
    const Array y = top * p.extra(1) + p.extra(2);
    return std::pair(next, tn::sum(now_and_next.second * (y - tn::log(tn::sum(tn::exp(y)) + 2.0))));
  };
  const std::int64_t steps = sequence.size(0), b = sequence.size(1);
  const Array terms =
      tn::scan(step, state, std::pair(sequence(tn::slice(0, -1)), sequence(tn::slice(1, steps)))).second;
  return tn::sum(terms) / static_cast<double>(-(steps - 1) * b);
}

}  // namespace

bool run_lstm() {
  bool agrees = true;
  for (const auto& [layers, steps] : {std::pair{2, 1024}, std::pair{4, 4096}}) {
    const lstm::Inputs in(layers, steps, 14);
    const Parameters p{array(in.main, {2 * layers, 4, in.b}), array(in.extra, {3, in.b})};
    agrees = measure(in.name(), loss, tn::grad(loss), lstm::by_hand(in, true), p, array(in.state, {2 * layers, in.b}),
                     array(in.sequence, {steps, in.b})) &&
             agrees;
  }
  return agrees;
}

}  // namespace gradbench
