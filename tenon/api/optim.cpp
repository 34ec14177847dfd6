#include "tenon/api/optim.h"

#include <fmt/format.h>

#include <numbers>

#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::optim {
namespace {

Arrays zeros_of_all(std::span<const Array> params) {
  Arrays all;
  for (const Array& p : params) all.push_back(zeros_like(p).with_weak(false));
  return all;
}
// The squares of complex numbers are real.
Arrays real_zeros_of_all(std::span<const Array> params) {
  Arrays all;
  for (const Array& p : params) all.push_back(real(zeros_like(p)).with_weak(false));
  return all;
}
Arrays nothing(std::span<const Array>) { return {}; }

Optimizer leaf_by_leaf(std::function<Array(const Array& update, const Array& param)> f) {
  return {nothing, [f = std::move(f)](Arrays& updates, Arrays&, std::span<const Array> params) {
            for (std::size_t i = 0; i < updates.size(); ++i) updates[i] = f(updates[i], params[i]);
          }};
}

Array in_dtype_of(const Array& like, const Array& x) { return convert(x, like.dtype()).with_weak(like.weak()); }

Array norm_of(std::span<const Array> updates) {
  Array total = 0.f;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const Array squares = sum(square(abs(updates[i])));
    total = i == 0 ? squares : total + squares;
  }
  return sqrt(total);
}

// A decaying sum of what comes, in place of it.
Optimizer trace(const Array& decay, bool nesterov) {
  return {zeros_of_all, [=](Arrays& updates, Arrays& state, std::span<const Array>) {
            for (std::size_t i = 0; i < updates.size(); ++i) {
              state[i] = in_dtype_of(state[i], decaying_sum(updates[i], state[i], decay));
              updates[i] = nesterov ? decaying_sum(updates[i], state[i], decay) : state[i];
            }
          }};
}

// A mean of gradients and one of their squares, behind the number of steps.
Optimizer by_adam(const AdamOptions& options) {
  const auto init = [](std::span<const Array> params) {
    Arrays state{Array(Scalar(std::int32_t(0)))};
    for (const Arrays& part : {zeros_of_all(params), real_zeros_of_all(params)})
      state.insert(state.end(), part.begin(), part.end());
    return state;
  };
  const auto update = [=](Arrays& updates, Arrays& state, std::span<const Array>) {
    const Array count = state[0] = state[0] + 1;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      Array &mean = state[1 + i], &squares = state[1 + updates.size() + i];
      mean = in_dtype_of(mean, decaying_mean(updates[i], mean, options.b1));
      squares = in_dtype_of(squares, decaying_mean_of_squares(updates[i], squares, options.b2));
      updates[i] = adam_step(mean, squares, count, options);
    }
  };
  return {init, update};
}

Optimizer by_root(std::function<Arrays(std::span<const Array>)> init, const Array& eps,
                  std::function<Array(const Array& update, const Array& squares)> next) {
  return {std::move(init), [=](Arrays& updates, Arrays& state, std::span<const Array>) {
            for (std::size_t i = 0; i < updates.size(); ++i) {
              state[i] = in_dtype_of(state[i], next(updates[i], state[i]));
              updates[i] = over_root(updates[i], state[i], eps);
            }
          }};
}

}  // namespace

LearningRate::LearningRate(const Array& value) : at_([value](const Array&) { return value; }), constant_(true) {}

std::size_t Optimizer::state_size(std::span<const Array> params) const {
  Arrays empty;
  for (const Array& p : params) empty.push_back(zeros({0}, p.dtype()));
  return init_(empty).size();
}

void Optimizer::update_flat(Arrays& updates, Arrays& state, std::span<const Array> params) const {
  if (const std::size_t wanted = state_size(params); wanted != state.size())
    throw TreeError(fmt::format("Optimizer::update: the state has {} arrays, not {}.", state.size(), wanted),
                    "Give the state that init() or the last update() returned, of the same parameters.");
  update_(updates, state, params);
}

Arrays apply_updates_flat(std::span<const Array> params, std::span<const Array> updates) {
  Arrays all;
  for (std::size_t i = 0; i < params.size(); ++i) all.push_back(in_dtype_of(params[i], params[i] + updates[i]));
  return all;
}
Array global_norm(const tree::View& updates) { return norm_of(tree::leaves(updates)); }

Optimizer chain(std::vector<Optimizer> parts) {
  const auto all = std::make_shared<const std::vector<Optimizer>>(std::move(parts));
  const auto init = [all](std::span<const Array> params) {
    Arrays state;
    for (const Optimizer& part : *all) {
      const Arrays own = part.init_flat(params);
      state.insert(state.end(), own.begin(), own.end());
    }
    return state;
  };
  const auto update = [all](Arrays& updates, Arrays& state, std::span<const Array> params) {
    auto at = state.begin();
    for (const Optimizer& part : *all) {
      const auto end = at + static_cast<std::ptrdiff_t>(part.state_size(params));
      Arrays own(at, end);
      part.update_flat(updates, own, params);
      at = std::move(own.begin(), own.end(), at);
    }
  };
  return {init, update};
}

Optimizer scale(const Array& factor) {
  return leaf_by_leaf([=](const Array& u, const Array&) { return scaled(u, factor); });
}
Optimizer scale_by_learning_rate(LearningRate rate) {
  if (rate.constant()) return scale(-rate(0));
  return {[](std::span<const Array>) { return Arrays{Array(Scalar(std::int32_t(0)))}; },
          [rate = std::move(rate)](Arrays& updates, Arrays& state, std::span<const Array>) {
            const Array factor = -rate(state[0]);
            for (Array& u : updates) u = scaled(u, factor);
            state[0] = state[0] + 1;
          }};
}
Optimizer clip(const Array& most) {
  return leaf_by_leaf([=](const Array& u, const Array&) { return in_dtype_of(u, clamp(u, -most, most)); });
}
Optimizer clip_by_global_norm(const Array& most) {
  return {nothing, [=](Arrays& updates, Arrays&, std::span<const Array>) {
            const Array factor = clipping_factor(norm_of(updates), most);
            for (Array& u : updates) u = scaled(u, factor);
          }};
}
Optimizer add_decayed_weights(const Array& weight_decay) {
  return leaf_by_leaf([=](const Array& u, const Array& p) { return in_dtype_of(u, decaying_sum(u, p, weight_decay)); });
}

Optimizer sgd(LearningRate rate, const SgdOptions& options) {
  Optimizer steps = scale_by_learning_rate(std::move(rate));
  if (!options.momentum) return steps;
  return chain({trace(*options.momentum, options.nesterov), std::move(steps)});
}
Optimizer adam(LearningRate rate, const AdamOptions& options) {
  return chain({by_adam(options), scale_by_learning_rate(std::move(rate))});
}
Optimizer adamw(LearningRate rate, const Array& weight_decay, const AdamOptions& options) {
  return chain({by_adam(options), add_decayed_weights(weight_decay), scale_by_learning_rate(std::move(rate))});
}
Optimizer lion(LearningRate rate, const LionOptions& options) {
  const Optimizer sign{zeros_of_all, [=](Arrays& updates, Arrays& state, std::span<const Array>) {
                         for (std::size_t i = 0; i < updates.size(); ++i) {
                           const Array gradient = updates[i];
                           updates[i] = lion_step(gradient, state[i], options.b1);
                           state[i] = in_dtype_of(state[i], decaying_mean(gradient, state[i], options.b2));
                         }
                       }};
  return chain({sign, add_decayed_weights(options.weight_decay), scale_by_learning_rate(std::move(rate))});
}
Optimizer rmsprop(LearningRate rate, const RmspropOptions& options) {
  std::vector<Optimizer> parts{by_root(
      real_zeros_of_all, options.eps,
      [decay = options.decay](const Array& u, const Array& s) { return decaying_mean_of_squares(u, s, decay); })};
  parts.push_back(scale_by_learning_rate(std::move(rate)));
  if (options.momentum) parts.push_back(trace(*options.momentum, options.nesterov));
  return chain(std::move(parts));
}
Optimizer adagrad(LearningRate rate, const AdagradOptions& options) {
  const auto init = [initial = options.initial](std::span<const Array> params) {
    Arrays all = real_zeros_of_all(params);
    for (Array& a : all) a = in_dtype_of(a, a + initial);
    return all;
  };
  return chain({by_root(init, options.eps, [](const Array& u, const Array& s) { return s + square(abs(u)); }),
                scale_by_learning_rate(std::move(rate))});
}

// --- learning rates ---
namespace {

// Integers divide as integers: a number of steps is as real as the rate.
Array as_real_as(const Array& rate, const Array& steps) {
  return is_integer(steps.dtype()) ? convert(steps, to_inexact(rate).dtype()) : steps;
}
Array part_of(const Array& count, const Array& steps) { return clamp(count / max(steps, 1), 0.f, 1.f); }

}  // namespace

LearningRate linear_schedule(const Array& from, const Array& to, const Array& steps) {
  return [=, most = as_real_as(from, steps)](const Array& count) { return from + (to - from) * part_of(count, most); };
}
LearningRate exponential_decay(const Array& from, const Array& steps, const Array& rate) {
  return [=, each = as_real_as(from, steps)](const Array& count) { return from * pow(rate, count / each); };
}
LearningRate cosine_decay_schedule(const Array& from, const Array& steps, const Array& alpha) {
  return [=, most = as_real_as(from, steps)](const Array& count) {
    return from * ((1 - alpha) * 0.5 * (1 + cos(std::numbers::pi * part_of(count, most))) + alpha);
  };
}
LearningRate warmup_cosine_decay_schedule(const Array& from, const Array& peak, const Array& warmup, const Array& steps,
                                          const Array& end) {
  const LearningRate up = linear_schedule(from, peak, warmup),
                     down = cosine_decay_schedule(peak, steps - warmup, end / peak);
  return [=](const Array& count) { return where(count < warmup, up(count), down(count - warmup)); };
}

// --- of leaves ---
namespace {

void require_alike(const Operand& gradient, const Operand& other) {
  const Shape a = gradient->shape(), b = other->shape();
  bool alike = a.rank() == b.rank();
  for (std::size_t i = 0; alike && i < a.rank(); ++i) alike = decided_equal(a[i], b[i]) != false;
  if (!alike)
    throw ShapeError(
        fmt::format("a leaf of the gradient is {}, and of what belongs to it, of the state or of the "
                    "parameters, {}.",
                    gradient->type().text(), other->type().text()),
        "Give gradients, a state and parameters of the same shapes: the state is init()'s of these parameters.");
}

}  // namespace

Array decaying_mean(const Operand& x, const Operand& mean, const Operand& b) {
  require_alike(x, mean);
  return b * mean + (1 - b) * x;
}
Array decaying_mean_of_squares(const Operand& x, const Operand& mean, const Operand& b) {
  require_alike(x, mean);
  return b * mean + (1 - b) * square(abs(x));
}
Array decaying_sum(const Operand& x, const Operand& sum, const Operand& decay) {
  require_alike(x, sum);
  return x + decay * sum;
}
Array adam_step(const Operand& mean, const Operand& squares, const Operand& count, const AdamOptions& options) {
  const Array t = convert(count, squares->dtype());
  const Array first = mean / (1 - pow(options.b1, t)), second = squares / (1 - pow(options.b2, t));
  return convert(first / (sqrt(second + options.eps_root) + options.eps), mean->dtype());
}
Array lion_step(const Operand& gradient, const Operand& mean, const Operand& b) {
  return sign(decaying_mean(gradient, mean, b));
}
Array over_root(const Operand& x, const Operand& squares, const Operand& eps) {
  require_alike(x, squares);
  const Array below = squares + eps;
  return convert(where(below > 0, x * rsqrt(where(below > 0, below, 1)), 0), x->dtype());
}
Array clipping_factor(const Operand& norm, const Operand& most) {
  const Array longer = norm > most;
  return where(longer, most / where(longer, norm, 1), 1);
}
Array scaled(const Operand& x, const Operand& factor) { return convert(x * factor, x->dtype()).with_weak(x->weak()); }

}  // namespace tenon::optim
