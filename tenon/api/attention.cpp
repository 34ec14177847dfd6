#include "tenon/api/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr const char* attention_name = "dot_product_attention";

// Queries, keys and values with a batch, in one dtype; and how the heads of the queries share those of the keys.
class Attention {
 public:
  Attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options)
      : options_(options) {
    Arrays all = in_one_dtype(Arrays{to_inexact(query), to_inexact(key), to_inexact(value)}).operands;
    check_ranks(all);
    is_batched_ = all[0].rank() == 4;
    for (Array& x : all) x = is_batched_ ? x : expand_dims(x, 0);
    q_ = all[0], k_ = all[1], v_ = all[2];
    check_sizes();
    // Heads of keys stand for those of queries: what is summed over heads that share one comes with the derivative.
    if (const Dim sharing = share(); sharing != Dim(1))
      k_ = for_each_head(k_, sharing), v_ = for_each_head(v_, sharing);
    find_seen();
  }

  Array values() {
    const Array weights = convert(softmax(scores()), v_.dtype());
    Array x = by_queries(dot_general(weights, v_, {{3}, {1}, {0, 1}, {0, 2}}));
    if (options_.query_lengths)
      x = where(reshape(arange(queries()), {queries(), 1, 1}) < lengths(*options_.query_lengths, 3), x, 0);
    return is_batched_ ? x : squeeze(x, 0);
  }
  Array log_sums() {
    const Array sums = convert(logsumexp(scores(), -1), k_.dtype());
    const Array x = stop_gradient(squeeze(by_queries(expand_dims(sums, -1)), 3));
    return is_batched_ ? x : squeeze(x, 0);
  }

 private:
  Dim queries() const { return q_.shape()[1]; }
  Dim keys() const { return k_.shape()[1]; }

  static std::string texts(std::span<const Array> all) {
    return fmt::format("queries {}, keys {} and values {}", all[0].type().text(), all[1].type().text(),
                       all[2].type().text());
  }
  static void check_ranks(std::span<const Array> all) {
    const std::size_t rank = all[0].rank();
    if ((rank != 3 && rank != 4) || all[1].rank() != rank || all[2].rank() != rank)
      throw ShapeError(
          fmt::format("{}: {}.", attention_name, texts(all)),
          "Give all three the axes [batch, time, heads, features], or all of them [time, heads, features].");
    if (is_complex(all[0].dtype()))
      throw DTypeError(fmt::format("{}: {} are complex.", attention_name, texts(all)),
                       "Softmax orders its elements: attend to real numbers.");
  }
  void check_sizes() const {
    const auto same = [&](const Array& x, const Array& y, std::size_t axis) {
      return decided_equal(x.shape()[axis], y.shape()[axis]).value_or(true);
    };
    if (!same(q_, k_, 0) || !same(k_, v_, 0) || !same(k_, v_, 1) || !same(k_, v_, 2) || !same(q_, k_, 3))
      throw ShapeError(fmt::format("{}: {}.", attention_name, texts(Arrays{q_, k_, v_})),
                       "Batches agree, keys and values have the same times and heads, queries and keys the same "
                       "features.");
  }
  // How many heads of queries share one of keys.
  Dim share() const {
    const Dim heads = q_.shape()[2], of_keys = k_.shape()[2];
    if (asked_equal(heads, of_keys)) return 1;
    if (asked_equal(of_keys, 0) || !asked_equal(modulo(heads, of_keys), 0))
      throw ShapeError(
          fmt::format("{}: {} heads of queries and {} of keys.", attention_name, heads.text(), of_keys.text()),
          "Heads of queries share those of keys: give a multiple of them.");
    return floor_div(heads, of_keys);
  }
  static Array for_each_head(const Array& x, const Dim& sharing) {
    const Shape s = x.shape();
    return reshape(broadcast_in_dim(x, {s[0], s[1], s[2], sharing, s[3]}, {0, 1, 2, 4}),
                   {s[0], s[1], s[2] * sharing, s[3]});
  }

  // Of what broadcasts to [batch, heads, queries, keys]: to the axes of the scores.
  Array of_scores(Array x) const {
    while (x.rank() < 4) x = expand_dims(x, 0);
    if (x.rank() != 4)
      throw ShapeError(fmt::format("{}: {} as a bias or a mask.", attention_name, x.type().text()),
                       "It broadcasts to [batch, heads, queries, keys].");
    return x;
  }
  // How many there are of each sequence, with so many axes behind the batch.
  Array lengths(const Array& x, std::int64_t axes) const {
    if (x.rank() != 1 || !is_integer(x.dtype()))
      throw ShapeError(fmt::format("{}: {} as lengths of sequences.", attention_name, x.type().text()),
                       "Give an integer for each sequence of the batch.");
    Array all = x;
    for (std::int64_t i = 0; i < axes; ++i) all = expand_dims(all, -1);
    return all;
  }

  void see(const Array& where_true) { seen_ = seen_ ? *seen_ & where_true : where_true; }
  void find_seen() {
    const Array query = expand_dims(arange(queries()), 1), key = arange(keys());
    if (options_.is_causal) see(key <= query);
    if (options_.window) {
      constexpr std::int64_t far = 1 << 30;
      const auto [before, behind] = *options_.window;
      see(query - std::clamp(before, -far, far) <= key), see(key <= query + std::clamp(behind, -far, far));
    }
    if (options_.query_lengths) see(query < lengths(*options_.query_lengths, 3));
    if (options_.key_lengths) see(key < lengths(*options_.key_lengths, 3));
    if (!options_.mask) return;
    if (options_.mask->dtype() != DType::bool_)
      throw DTypeError(fmt::format("{}: {} as a mask.", attention_name, options_.mask->type().text()),
                       "Give booleans as the mask, and what is added to the scores as the bias.");
    see(of_scores(*options_.mask));
  }

  // [batch, heads, queries, keys]
  Array scores() const {
    Array x = dot_general(widened(q_), widened(k_), {{3}, {3}, {0, 2}, {0, 2}});
    const DType dtype = x.dtype();
    x = x * (options_.scale ? convert(*options_.scale, dtype) : usual_scale(dtype));
    if (options_.bias) x = x + convert(of_scores(*options_.bias), dtype);
    if (seen_) x = where(*seen_, x, convert(Array(-0.7F * std::numeric_limits<float>::max()), dtype));
    return x;
  }
  Array usual_scale(DType dtype) const {
    const Dim features = q_.shape()[3];
    if (features.known()) return convert(Array(1 / std::sqrt(static_cast<double>(features.value()))), dtype);
    return 1 / sqrt(convert(size_as_array(features), dtype));
  }
  // From [batch, heads, queries, …] to [batch, queries, heads, …].
  static Array by_queries(const Array& x) { return transpose(x, {0, 2, 1, 3}); }

  const AttentionOptions& options_;
  Array q_, k_, v_;
  bool is_batched_ = true;
  MaybeArray seen_;
};

}  // namespace

Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                            const AttentionOptions& options) {
  const SourceScope place(query.where(), attention_name);
  return Attention(query, key, value, options).values();
}

AttentionSums dot_product_attention_sums(const Operand& query, const Operand& key, const Operand& value,
                                         const AttentionOptions& options) {
  const SourceScope place(query.where(), attention_name);
  Attention attention(query, key, value, options);
  const Array values = attention.values();
  return {values, attention.log_sums()};
}

}  // namespace tenon
