// Attention.
#include "tenon/api/attention.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"

namespace tenon::python {

void add_attention(nb::module_& module) {
  module.def("dot_product_attention",
             [](ArrayLike query, ArrayLike key, ArrayLike value, nb::object bias, nb::object mask, nb::object scale,
                bool is_causal, nb::object query_lengths, nb::object key_lengths,
                std::optional<std::pair<std::int64_t, std::int64_t>> window, bool sums) -> nb::object {
               constexpr const char* name = "dot_product_attention";
               const auto given = [&](const nb::object& x) { return operand_or_none(name, x); };
               const AttentionOptions options{given(bias),          given(mask),        given(scale), is_causal,
                                              given(query_lengths), given(key_lengths), window};
               const Array q = query.array(name), k = key.array(name), v = value.array(name);
               return call_op(name, [&]() -> nb::object {
                 if (!sums) return nb::cast(dot_product_attention(op(q), op(k), op(v), options));
                 const AttentionSums made = dot_product_attention_sums(op(q), op(k), op(v), options);
                 return nb::make_tuple(made.values, made.log_sums);
               });
             });
}

}  // namespace tenon::python
