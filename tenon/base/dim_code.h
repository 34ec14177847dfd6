// DimCode: a Dim that is evaluated again and again, as steps over numbers.
#pragma once

#include <span>
#include <vector>

#include "tenon/base/dim.h"

namespace tenon {

class DimCode {
 public:
  explicit DimCode(const Dim& dim);
  // The Dim where its variable k is values[k]: a few nanoseconds a step. Throws ShapeError where it does not fit in 63
  // bits, or divides by 0.
  std::int64_t operator()(std::span<const std::int64_t> values) const;

 private:
  std::int64_t run(std::span<const std::int64_t> values) const;
  std::int64_t known_ = 0;
  std::vector<Dim::Step> steps_;  // none where it is known
};

}  // namespace tenon
