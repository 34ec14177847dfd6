// Attention: values weighed by how well their keys go with queries.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tenon/ir/array.h"

namespace tenon {

// Which keys a query sees, and what is added to how well they go together.
struct AttentionOptions {
  MaybeArray bias = {};                             // is added; broadcasts to [batch, heads, queries, keys]
  MaybeArray mask = {};                             // bool, broadcasts so: where it is false the key is not seen
  MaybeArray scale = {};                            // a number; 1 / √features where it is not given
  bool is_causal = false;                           // query i sees the keys up to i
  MaybeArray query_lengths = {}, key_lengths = {};  // integers [batch]: how many there are of each sequence
  std::optional<std::pair<std::int64_t, std::int64_t>> window =
      {};  // of so many keys before and behind a query's own place
};

// softmax(query · keyᵀ · scale + bias) · value, of queries [batch, queries, heads, features], keys [batch, keys,
// heads', features] and values [batch, keys, heads', columns], or of all three without the batch; heads is a multiple
// of heads', whose keys several heads in a row share. A query that sees no key takes the mean of all values; one behind
// its sequence's length gives 0. Operands promote to one dtype, integers become floats; of f8, f16 and bf16 softmax is
// taken in f32, and its weights are rounded before they meet the values. Derivatives of any order in query, key, value,
// bias and scale. Compiled code and that of the derivatives have no memory of the size of the scores: blocks of rows
// stay in the caches. Throws ShapeError where sizes do not go with each other, DTypeError of complex numbers and of
// masks that are not bool.
//   dot_product_attention(q, k, v, {.is_causal = true})
Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value,
                            const AttentionOptions& options = {});

// That, and logsumexp of each query's scores of the keys that it sees, [batch, queries, heads], a constant to
// derivatives.
//   dot_product_attention_sums(q, k, v).log_sums
struct AttentionSums {
  Array values, log_sums;
};
AttentionSums dot_product_attention_sums(const Operand& query, const Operand& key, const Operand& value,
                                         const AttentionOptions& options = {});

}  // namespace tenon
