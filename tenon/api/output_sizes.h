// The sizes of outputs of native code.
#pragma once

#include <algorithm>
#include <optional>

#include "tenon/base/dim_code.h"
#include "tenon/compile/executable.h"
#include "tenon/ir/type.h"
#include "tenon/runtime/memory/buffer.h"

namespace tenon::api_detail {

// With numbers in place of a Program's size parameters.
inline Dim at_sizes(const Dim& d, std::span<const std::int64_t> sizes) {
  if (d.known()) return d;
  return d.substitute([&](SizeVar v) { return v < sizes.size() ? Dim(sizes[v]) : Dim::variable(v); });
}

// The memory of an output of native code: of known sizes, or worked out in each call.
class OutputSizes {
 public:
  explicit OutputSizes(const NativeForm::Operand& output)
      : dtype_(output.dtype), dims_(output.dims.begin(), output.dims.end()) {
    if (std::ranges::all_of(output.dims, &Dim::known)) known_.emplace(dtype_, Shape(output.dims).sizes());
  }
  // `worked_out`: the sizes of the output, where the code has worked them out.
  Buffer allocate(std::span<const std::int64_t> sizes, const std::int64_t* worked_out = nullptr) const {
    if (known_) return Buffer::allocate(*known_);
    if (worked_out != nullptr) return Buffer::allocate(dtype_, std::span(worked_out, dims_.size()));
    std::vector<std::int64_t> dims;
    for (const DimCode& size : dims_) dims.push_back(size(sizes));
    return Buffer::allocate(dtype_, dims);
  }
  bool are_of(const Buffer& b, std::span<const std::int64_t> sizes) const {
    return b.dtype() == dtype_ &&
           std::ranges::equal(b.dims(), dims_, [&](std::int64_t size, const DimCode& d) { return size == d(sizes); });
  }

 private:
  DType dtype_;
  std::vector<DimCode> dims_;
  std::optional<DenseLayout> known_;
};

}  // namespace tenon::api_detail
