// Optimisers: from gradients to the steps that parameters take, trees of any type. As optax names them.
//
// An optimiser keeps its state, a tree of arrays, outside: init(params) makes it, and update(gradients, state, params)
// gives the step, a tree like params, and the next state. All of it can be compiled, differentiated and batched.
//   auto rule = tn::optim::adam(1e-3);
//   auto state = rule.init(params);
//   std::tie(step, state) = rule.update(gradients, state, params);
//   params = tn::optim::apply_updates(params, step);
// Steps have the gradients' dtypes. Throws TreeError where trees differ.
#pragma once

#include <functional>
#include <memory>

#include "tenon/api/tree.h"
#include "tenon/ops/elementwise/arithmetic.h"

namespace tenon::optim {

// What an optimiser keeps between steps.
struct State {
  std::vector<Array> values;
};

// The rate of each step: always the same, or a function of the number of steps before, i32.
class LearningRate {
 public:
  template <Number T>
  LearningRate(T value) : LearningRate(Array(value)) {}
  LearningRate(const Array& value);
  template <std::invocable<const Array&> F>
  LearningRate(F f) : at_(std::move(f)) {}

  bool constant() const { return constant_; }
  Array operator()(const Array& count) const { return at_(count); }

 private:
  std::function<Array(const Array&)> at_;
  bool constant_ = false;
};

class Optimizer {
 public:
  // Of leaves: the state that params begin with, as many arrays whatever their shapes; the updates, changed in place,
  // and the state, made the next one.
  using Init = std::function<Arrays(std::span<const Array> params)>;
  using Update = std::function<void(Arrays& updates, Arrays& state, std::span<const Array> params)>;
  Optimizer(Init init, Update update) : init_(std::move(init)), update_(std::move(update)) {}

  template <class T>
  State init(const T& params) const {
    return {init_(tree::leaves(params))};
  }
  template <class T>
  std::pair<T, State> update(const T& gradients, State state, const T& params,
                             const Source& where = std::source_location::current()) const {
    const SourceScope place(where, "Optimizer::update");
    tree::require_same("Optimizer::update", "gradients and parameters", gradients, params);
    Arrays updates = tree::leaves(gradients);
    update_flat(updates, state.values, tree::leaves(params));
    return {tree::with_leaves(gradients, updates), std::move(state)};
  }
  Arrays init_flat(std::span<const Array> params) const { return init_(params); }
  // How many arrays that makes, found of parameters without elements.
  std::size_t state_size(std::span<const Array> params) const;
  void update_flat(Arrays& updates, Arrays& state, std::span<const Array> params) const;

 private:
  Init init_;
  Update update_;
};

// params + updates, each leaf in its dtype.
//   apply_updates(Array{1, 2}, Array{0.5f, -1.f})   // 1 1
Arrays apply_updates_flat(std::span<const Array> params, std::span<const Array> updates);
template <class T>
T apply_updates(const T& params, const T& updates, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "apply_updates");
  tree::require_same("apply_updates", "parameters and updates", params, updates);
  return tree::with_leaves(params, apply_updates_flat(tree::leaves(params), tree::leaves(updates)));
}
// The Euclidean norm of all leaves together: √Σ|x|².
//   optim::global_norm(Array{3.f, 4.f})   // 5
Array global_norm(const tree::View& updates);

// One after another: each takes what the one before gives.
//   const auto rule = optim::chain({optim::clip_by_global_norm(1.f), optim::scale(-0.5f)});
//   const Array params{1.f, 2.f};
//   rule.update(Array{30.f, 40.f}, rule.init(params), params).first   // -0.3 -0.4
Optimizer chain(std::vector<Optimizer> parts);

// The updates times a number, or by a learning rate: times -rate.
//   const auto rule = optim::scale_by_learning_rate(0.5f);
//   rule.update(Array{4.f}, rule.init(Array{1.f}), Array{1.f}).first   // -2
Optimizer scale(const Array& factor);
Optimizer scale_by_learning_rate(LearningRate rate);
// Limited to [-most, most]; made shorter where they are longer than `most` together.
//   const auto rule = optim::clip(1.f);
//   rule.update(Array{4.f, 0.5f}, rule.init(Array{0.f, 0.f}), Array{0.f, 0.f}).first   // 1 0.5
Optimizer clip(const Array& most);
Optimizer clip_by_global_norm(const Array& most);
// Plus the parameters times a number.
//   const auto rule = optim::add_decayed_weights(0.1f);
//   rule.update(Array{4.f}, rule.init(Array{10.f}), Array{10.f}).first   // 5
Optimizer add_decayed_weights(const Array& weight_decay);

// Steps against the gradient; with `momentum` against a decaying sum of gradients (Polyak 1964; Nesterov 1983).
//   const auto rule = optim::sgd(0.5f);
//   rule.update(Array{4.f}, rule.init(Array{1.f}), Array{1.f}).first   // -2
struct SgdOptions {
  std::optional<Array> momentum = {};
  bool nesterov = false;
};
Optimizer sgd(LearningRate rate, const SgdOptions& options = {});
// Adam (Kingma and Ba 2015); with decoupled decay of weights AdamW (Loshchilov and Hutter 2019).
//   const auto rule = optim::adam(1e-3f);
//   rule.update(Array{4.f, -9.f}, rule.init(Array{1.f, 1.f}), Array{1.f, 1.f}).first   // -0.001 0.001
struct AdamOptions {
  Array b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 0.0;
};
Optimizer adam(LearningRate rate, const AdamOptions& options = {});
Optimizer adamw(LearningRate rate, const Array& weight_decay = 1e-4, const AdamOptions& options = {});
// The sign of a mean of gradients (Chen et al. 2023).
//   const auto rule = optim::lion(0.1f, {.weight_decay = 0.f});
//   rule.update(Array{4.f, -9.f}, rule.init(Array{1.f, 1.f}), Array{1.f, 1.f}).first   // -0.1 0.1
struct LionOptions {
  Array b1 = 0.9, b2 = 0.99, weight_decay = 1e-3;
};
Optimizer lion(LearningRate rate, const LionOptions& options = {});
// Gradients over the root of a decaying mean of their squares (Tieleman and Hinton 2012), and of their sum (Duchi,
// Hazan and Singer 2011).
//   const auto rule = optim::rmsprop(0.1f, {.decay = 0.75f});
//   rule.update(Array{4.f, -9.f}, rule.init(Array{1.f, 1.f}), Array{1.f, 1.f}).first   // -0.2 0.2
struct RmspropOptions {
  Array decay = 0.9, eps = 1e-8;
  std::optional<Array> momentum = {};
  bool nesterov = false;
};
Optimizer rmsprop(LearningRate rate, const RmspropOptions& options = {});
struct AdagradOptions {
  Array initial = 0.1, eps = 1e-7;
};
Optimizer adagrad(LearningRate rate, const AdagradOptions& options = {});

// --- learning rates ---
// A line from one value to another in so many steps.
//   optim::linear_schedule(1.0, 0.0, 4)(1)   // 0.75
LearningRate linear_schedule(const Array& from, const Array& to, const Array& steps);
// from · rate^(count / steps).
//   optim::exponential_decay(1.0, 2, 0.25)(1)   // 0.5
LearningRate exponential_decay(const Array& from, const Array& steps, const Array& rate);
// Half a cosine, down to alpha · from.
//   optim::cosine_decay_schedule(1.0, 4)(2)   // 0.5
LearningRate cosine_decay_schedule(const Array& from, const Array& steps, const Array& alpha = 0.0);
// A line up to the peak in `warmup` steps, then half a cosine down to `end`, in `steps` together.
//   optim::warmup_cosine_decay_schedule(0.0, 1.0, 2, 4)(1)   // 0.5
LearningRate warmup_cosine_decay_schedule(const Array& from, const Array& peak, const Array& warmup, const Array& steps,
                                          const Array& end = 0.0);

// --- of leaves: what optimisers are made of ---
// b·mean + (1 - b)·x, and of |x|².
//   optim::decaying_mean(1.f, 3.f, 0.5f)   // 2
Array decaying_mean(const Operand& x, const Operand& mean, const Operand& b);
Array decaying_mean_of_squares(const Operand& x, const Operand& mean, const Operand& b);
// x + decay·sum.
//   optim::decaying_sum(1.f, 3.f, 0.5f)   // 2.5
Array decaying_sum(const Operand& x, const Operand& sum, const Operand& decay);
// Means of the first `count` gradients and of their squares, and the step of Adam that follows from them.
//   optim::adam_step(0.4f, 0.016f, 1.f, {})   // 4 / √16 = 1
Array adam_step(const Operand& mean, const Operand& squares, const Operand& count, const AdamOptions& options);
// The sign of a mean of the last gradient and those before.
//   optim::lion_step(Array{4.f}, Array{-1.f}, 0.9f)   // -1
Array lion_step(const Operand& gradient, const Operand& mean, const Operand& b);
// x / √(squares + eps), 0 where that is 0.
//   optim::over_root(Array{2.f}, Array{4.f}, 0.f)   // 1
Array over_root(const Operand& x, const Operand& squares, const Operand& eps);
// What updates of this norm are multiplied by, so that it is at most `most`.
//   optim::clipping_factor(10.f, 1.f)   // 0.1
Array clipping_factor(const Operand& norm, const Operand& most);
// x·factor in the dtype of x.
//   optim::scaled(4, 0.5f)   // 2
Array scaled(const Operand& x, const Operand& factor);

}  // namespace tenon::optim
