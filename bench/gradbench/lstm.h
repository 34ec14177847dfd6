// LSTM: a stack of layers with elementwise gates over a sequence; the loss is the mean over steps and features of the
// next input's negative logarithm under what the stack predicts. The gradient is in both groups of parameters.
#pragma once

#include "bench/gradbench/data.h"

namespace gradbench::lstm {

struct Inputs {
  int layers, steps, b;
  Values main, extra, state, sequence;  // [2·layers,4,b], [3,b], [2·layers,b], [steps,b]
  Inputs(int layers, int steps, int b)
      : layers(layers),
        steps(steps),
        b(b),
        main(values(1, static_cast<std::size_t>(8 * layers * b), -1, 1)),
        extra(values(2, static_cast<std::size_t>(3 * b), -1, 1)),
        state(values(3, static_cast<std::size_t>(2 * layers * b), -1, 1)),
        sequence(values(4, static_cast<std::size_t>(steps * b), 0, 1)) {}
  std::string name() const { return "gradbench lstm l" + std::to_string(layers) + " c" + std::to_string(steps); }
};

// What a layer computed at one feature of one step.
struct Cell {
  double input, hidden, memory, forget, ingate, outgate, change, next;
};

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

inline Cell forward(const double* weights, const double* biases, int b, double input, double hidden, double memory) {
  Cell c{input, hidden, memory, 0, 0, 0, 0, 0};
  c.forget = logistic(input * weights[0] + biases[0]);
  c.ingate = logistic(hidden * weights[b] + biases[b]);
  c.outgate = logistic(input * weights[2 * b] + biases[2 * b]);
  c.change = std::tanh(hidden * weights[3 * b] + biases[3 * b]);
  c.next = std::tanh(memory * c.forget + c.ingate * c.change);
  return c;
}

// d_hidden and d_memory: of the next step's on the way in, of this step's on the way out; d_output is of what the layer
// gives to the one above, which is its hidden state too. Returns the cotangent of its input.
inline double reverse(const Cell& c, const double* weights, double* d_weights, double* d_biases, int b, double d_output,
                      double& d_hidden, double& d_memory) {
  const double d_out = d_output + d_hidden;
  const double d_next = d_memory + d_out * c.outgate * (1 - c.next * c.next);
  const double gates[] = {d_next * c.memory * c.forget * (1 - c.forget), d_next * c.change * c.ingate * (1 - c.ingate),
                          d_out * c.next * c.outgate * (1 - c.outgate), d_next * c.ingate * (1 - c.change * c.change)};
  for (int g = 0; g < 4; ++g) {
    d_weights[g * b] += gates[g] * (g % 2 == 0 ? c.input : c.hidden);
    d_biases[g * b] += gates[g];
  }
  d_memory = d_next * c.forget;
  d_hidden = gates[1] * weights[b] + gates[3] * weights[3 * b];
  return gates[0] * weights[0] + gates[2] * weights[2 * b];
}

inline Result by_hand(const Inputs& in, bool gradient) {
  const int b = in.b, turns = in.steps - 1, width = in.layers * b;
  std::vector<Cell> cells(static_cast<std::size_t>(gradient ? turns * width : width));
  Values state = in.state, tops(static_cast<std::size_t>(gradient ? turns * b : b)), shares(tops.size());
  const double scale = 1.0 / (turns * b);
  Result result{0, Values(gradient ? in.main.size() + in.extra.size() : 0)};
  for (int t = 0; t < turns; ++t) {
    Cell* cell = &cells[gradient ? t * width : 0];
    double *top = &tops[gradient ? t * b : 0], *share = &shares[gradient ? t * b : 0], sum = 2;
    for (int i = 0; i < b; ++i) {
      double x = in.sequence[t * b + i] * in.extra[i];
      for (int layer = 0; layer < in.layers; ++layer) {
        double *hidden = &state[2 * layer * b + i], *memory = hidden + b;
        const double* weights = &in.main[8 * layer * b + i];
        Cell& c = cell[layer * b + i] = forward(weights, weights + 4 * b, b, x, *hidden, *memory);
        *memory = *memory * c.forget + c.ingate * c.change;
        *hidden = x = c.outgate * c.next;
      }
      top[i] = x;
      sum += share[i] = std::exp(x * in.extra[b + i] + in.extra[2 * b + i]);
    }
    for (int i = 0; i < b; ++i) {
      const double y = top[i] * in.extra[b + i] + in.extra[2 * b + i];
      result.value -= scale * in.sequence[(t + 1) * b + i] * (y - std::log(sum));
      share[i] /= sum;
    }
  }
  if (!gradient) return result;
  double *d_main = result.derivative.data(), *d_extra = d_main + in.main.size();
  Values d_state(state.size());
  for (int t = turns; t-- > 0;) {
    double total = 0;
    for (int i = 0; i < b; ++i) total += in.sequence[(t + 1) * b + i];
    for (int i = 0; i < b; ++i) {
      const double d_y = scale * (total * shares[t * b + i] - in.sequence[(t + 1) * b + i]);
      d_extra[b + i] += d_y * tops[t * b + i];
      d_extra[2 * b + i] += d_y;
      double d_x = d_y * in.extra[b + i];
      for (int layer = in.layers; layer-- > 0;) {
        const std::size_t at = static_cast<std::size_t>(8 * layer * b + i);
        double* d_hidden = &d_state[2 * layer * b + i];
        d_x = reverse(cells[(t * in.layers + layer) * b + i], &in.main[at], d_main + at, d_main + at + 4 * b, b, d_x,
                      *d_hidden, d_hidden[b]);
      }
      d_extra[i] += d_x * in.sequence[t * b + i];
    }
  }
  return result;
}

}  // namespace gradbench::lstm
