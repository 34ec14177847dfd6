// Elements by chance: by weights, in another order, some of all.
#include <fmt/format.h>

#include <cmath>

#include "tenon/api/cumulative.h"
#include "tenon/api/loops.h"
#include "tenon/api/random/parameters.h"
#include "tenon/api/searchsorted.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::random {
namespace {

struct Shuffle {
  Array key, x;
};

// Sorted by random numbers once.
Shuffle shuffled_once(const Shuffle& at, std::int64_t axis) {
  const Array keys = random::split(at.key);
  return {keys(0), sort_together({bits(keys(1), at.x.shape(), DType::u32), at.x}, 1, axis)[1]};
}

// So often that equal numbers among the random ones hardly matter: once up to 1,625 elements, thrice below 2³¹.
constexpr double largest_number = 4294967295.0;  // 2³² - 1
Array shuffled(const Array& key, const Array& x, std::int64_t axis) {
  Shuffle at{key, x};
  const Dim size = x.shape().elements();
  if (const auto known = size.try_value()) {
    const double rounds = 3 * std::log(std::max<double>(1, static_cast<double>(*known))) / std::log(largest_number);
    for (int i = 0; i < static_cast<int>(std::ceil(rounds)); ++i) at = shuffled_once(at, axis);
    return at.x;
  }
  const Array count = size_as_array(size);
  Array rounds(Scalar(std::int32_t(1)));
  for (const int k : {1, 2})
    rounds = rounds + convert(count > static_cast<std::int64_t>(std::pow(largest_number, k / 3.0)), DType::i32);
  struct State {
    Array done, key, x;
  };
  const auto step = [&](const State& state) {
    const Shuffle next = shuffled_once({state.key, state.x}, axis);
    return State{state.done + 1, next.key, next.x};
  };
  return while_loop([&](const State& state) { return state.done < rounds; }, step,
                    State{Array(Scalar(std::int32_t(0))), key, x})
      .x;
}

void require_choice(const Dim& n, const Dim& count, const ChoiceOptions& options) {
  if (decided_equal(count, Dim(0)) != true && decided_less(Dim(0), n) == false)
    throw ShapeError(fmt::format("random::choice: of {} elements none can be taken.", n.text()),
                     "Give one element at least, or ask for none.");
  if (options.p && (options.p->rank() != 1 || decided_equal(options.p->shape()[0], n) == false))
    throw ShapeError(
        fmt::format("random::choice: p is {}, and there are {} elements.", options.p->type().text(), n.text()),
        "Give a vector with a probability for each.");
  if (!options.replace && decided_less(n, count).value_or(false))
    throw ShapeError(
        fmt::format("random::choice: {} of {} elements cannot be taken without replacement.", count.text(), n.text()),
        "Ask for fewer, or replace them.");
}

Array indices(const Operand& key, const Dim& n, const Shape& shape, const ChoiceOptions& options) {
  const Dim count = shape.elements();
  require_choice(n, count, options);
  if (!options.p) {
    if (options.replace) return randint(key, shape, 0, size_as_array(n), options.index).with_weak(false);
    const Array order = permutation(key, n, options.index);
    return reshape(slice_in_dim(order, 0, count, 0), shape);
  }
  const Array p = to_inexact(*options.p).with_weak(false);
  if (options.replace) {
    const Array until = cumsum(p, 0), whole = reshape(slice_in_dim(until, n - 1, n, 0), Shape{});
    return convert(searchsorted(until, whole * (1 - uniform(key, shape, p.dtype()))), options.index);
  }
  const Array drawn = gumbel(key, Shape{n}, p.dtype(), options.resolution) + log(p);
  return reshape(convert(top_k(drawn, count).indices, options.index), shape);
}

}  // namespace

Array categorical(const Operand& key, const Operand& logits, std::int64_t axis, const CategoricalOptions& options) {
  const SourceScope place(key.where(), "random::categorical");
  const Array& weights = logits;
  const std::size_t at = normalize_axis(axis, weights.rank(), "random::categorical");
  const DType dtype = weights.dtype();
  require_real("categorical", dtype);
  const Shape rest = weights.shape().without_axis(at);
  const Shape shape = options.shape.value_or(rest);
  Arrays both{zeros(rest, DType::bool_), zeros(shape, DType::bool_)};
  if (shape.rank() < rest.rank() || broadcast_shapes("random::categorical", both) != shape)
    throw ShapeError(
        fmt::format("random::categorical: the shape {} does not hold what the logits' other axes give, {}.",
                    shape.text(), rest.text()),
        "Ask for a shape that ends in theirs.");
  const std::size_t in_front = shape.rank() - rest.rank();
  if (options.replace) {
    const Array drawn = gumbel(key, shape.with_axis(in_front + at, weights.shape()[at]), dtype, options.resolution);
    return argmax(drawn + weights, static_cast<std::int64_t>(at) - static_cast<std::int64_t>(weights.rank()));
  }
  Dim count = 1;
  for (std::size_t i = 0; i < in_front; ++i) count = count * shape[i];
  if (decided_less(weights.shape()[at], count) == true)
    throw ShapeError(fmt::format("random::categorical: {} of the {} categories along axis {} of {} cannot be taken "
                                 "without replacement.",
                                 count.text(), weights.shape()[at].text(), axis, weights.type().text()),
                     "Ask for fewer, or replace them.");
  const Array drawn = gumbel(key, weights.shape(), dtype, options.resolution) + weights;
  const Array found = top_k(move_axis(drawn, static_cast<std::int64_t>(at), -1), count).indices;
  std::vector<Dim> whole(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(in_front));
  whole.insert(whole.end(), rest.begin(), rest.end());
  return reshape(move_axis(found, -1, 0), Shape(whole));
}

Array permutation(const Operand& key, const Dim& n, DType dtype) {
  const SourceScope place(key.where(), "random::permutation");
  if (decided_less(n, 0) == true)
    throw ShapeError(fmt::format("random::permutation: of {} elements.", n.text()),
                     "Give a number that is at least 0.");
  return shuffled(key, arange(n, dtype), 0);
}

Array detail::permuted(const Operand& key, const Array& x, const PermutationOptions& options) {
  const SourceScope place(key.where(), "random::permutation");
  const auto axis = static_cast<std::int64_t>(normalize_axis(options.axis, x.rank(), "random::permutation"));
  if (options.independent || x.rank() == 1) return shuffled(key, x, axis);
  const Array order = permutation(key, x.dim(axis), DType::i64);
  return take(x, order, axis, {.hints = {.unique = true}});
}

Array choice(const Operand& key, const Dim& n, const Shape& shape, const ChoiceOptions& options) {
  const SourceScope place(key.where(), "random::choice");
  return indices(key, n, shape, options);
}

Array detail::chosen(const Operand& key, const Array& x, const Shape& shape, const ChoiceOptions& options) {
  const SourceScope place(key.where(), "random::choice");
  const auto axis = static_cast<std::int64_t>(normalize_axis(options.axis, x.rank(), "random::choice"));
  return take(x, indices(key, x.dim(axis), shape, options), axis);
}

}  // namespace tenon::random
