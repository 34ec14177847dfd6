// The sizes of outputs of native code that has size parameters.
#pragma once

#include <algorithm>
#include <array>

#include "tenon/compile/executable.h"
#include "tenon/runtime/buffer.h"

namespace tenon::api_detail {

// With numbers in place of a Program's size parameters.
inline Dim at_sizes(const Dim& d, std::span<const std::int64_t> sizes) {
  if (d.known()) return d;
  return d.substitute([&](SizeVar v) { return v < sizes.size() ? Dim(sizes[v]) : Dim::variable(v); });
}

// The sizes of an output of native code, worked out in each call. Most are one of the sizes that are given.
class OutputSizes {
 public:
  explicit OutputSizes(const NativeForm::Operand& output) : dtype_(output.dtype) {
    for (const Dim& d : output.dims) {
      SizeVar bare = 0;
      d.visit_variables([&](SizeVar v) { bare = v; });
      if (!d.known() && d == Dim::variable(bare))
        dims_.push_back({static_cast<std::int64_t>(bare), {}, true});
      else
        dims_.push_back({d.known() ? d.value() : 0, d, false});
    }
  }
  Buffer allocate(std::span<const std::int64_t> sizes) const {
    constexpr std::size_t most = 8;
    std::array<std::int64_t, most> few;
    std::vector<std::int64_t> many;
    std::span<std::int64_t> dims(few.data(), std::min(dims_.size(), most));
    if (dims_.size() > most) {
      many.resize(dims_.size());
      dims = many;
    }
    for (std::size_t i = 0; i < dims_.size(); ++i) dims[i] = dims_[i].value(sizes);
    return Buffer::allocate(dtype_, dims);
  }

 private:
  struct Size {
    std::int64_t number;  // of a variable, or itself
    Dim size;
    bool bare;
    std::int64_t value(std::span<const std::int64_t> sizes) const {
      if (bare) return sizes[static_cast<std::size_t>(number)];
      return size.known() ? number : at_sizes(size, sizes).value();
    }
  };
  DType dtype_;
  std::vector<Size> dims_;
};

}  // namespace tenon::api_detail
