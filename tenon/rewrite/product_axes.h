// The axes of a product before it is summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenon/base/dim.h"
#include "tenon/ir/program.h"

namespace tenon {

// A product with an axis for each of the result's, and behind them those that it sums.
struct ProductAxes {
  ProductAxes(const Program& program, const Eqn& eqn);
  std::vector<std::int64_t> of[2];  // which of them each axis of either operand is
  std::vector<Dim> sizes;
  std::size_t summed;                             // the first that is summed
  std::vector<std::int64_t> summed_axes() const;  // all that are
};

}  // namespace tenon
