// The streams that ends of a loop's stacks become.
#pragma once

#include <array>

#include "tenon/ir/replay.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/streams.h"

namespace tenon {

// Of any end but parts. `goes_back`: whether the loop comes to the last of its elements first.
Stream stream_of(const StreamEnd& end, std::span<const std::size_t> maker, const Replay& replay, bool goes_back);

// What a product of arrays sums, of a step: its batch axes, those of its operands' own, and then those that are summed.
// `steps`: where they lie in an operand; nowhere where each step reads all of it.
StreamStep product_step(const Program& program, const Eqn& eqn, const std::array<Array, 2>& parts,
                        const std::array<std::optional<StepsIn>, 2>& steps);
// The product of a step's parts: none of its sums goes over steps.
Array whole_product(const Program& program, const Eqn& eqn, const std::array<Array, 2>& parts,
                    const std::array<std::optional<StepsIn>, 2>& steps);

}  // namespace tenon
