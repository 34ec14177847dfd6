// Data in and out: slicing, updates in place, borrowing memory, printing, comparing.
#pragma once

#include <iosfwd>

#include "tenon/api/tree.h"
#include "tenon/ops/indexing.h"

namespace tenon {

// One position of an index: a number, a range, a new axis, or the whole axis.
struct All {};
struct NewAxis {};
struct Range {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};
inline constexpr All all_of_axis;
inline constexpr NewAxis newaxis;
inline Range range(std::optional<std::int64_t> start, std::optional<std::int64_t> stop = std::nullopt,
                   std::int64_t step = 1) {
  return {start, stop, step};
}
using IndexPart = std::variant<All, NewAxis, Range, std::int64_t, Array>;

// x at an index, as NumPy: each part takes one axis (newaxis makes one); axes that are not named stay whole. An Array
// takes elements along its axis (one number removes it).
Array index(const Operand& x, std::span<const IndexPart> parts);
template <class... Parts>
Array index(const Operand& x, const Parts&... parts) {
  const auto part = [](const auto& p) -> IndexPart {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(p)>>)
      return static_cast<std::int64_t>(p);
    else
      return p;
  };
  const std::array<IndexPart, sizeof...(Parts)> all{part(parts)...};
  return index(x, std::span<const IndexPart>(all));
}

// Elements of user memory, without a copy; it must outlive the array unless `keep` owns it. Strides in bytes, row-major
// where none are given.
struct BorrowOptions {
  std::vector<std::int64_t> strides;
  std::shared_ptr<void> keep;
  bool writable = false;
};
Array borrow(void* data, DType dtype, std::vector<std::int64_t> shape, BorrowOptions options = {});
template <Element T>
Array borrow(T* data, std::vector<std::int64_t> shape, BorrowOptions options = {}) {
  return borrow(const_cast<std::remove_const_t<T>*>(data), *dtype_of<std::remove_const_t<T>>, std::move(shape),
                std::move(options));
}
// A copy of user memory.
template <Element T>
Array array(std::span<const T> values, std::vector<std::int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return array_from_rows(*dtype_of<T>, std::move(shape), values.data());
}

// Equal shapes, dtypes and elements (NaN differs from NaN).
bool array_equal(const Array& a, const Array& b);
// |a - b| <= atol + rtol·|b| everywhere, with equal shapes; NaN is close to nothing.
bool allclose(const Array& a, const Array& b, double rtol = 1e-5, double atol = 1e-8);

// As NumPy prints, then the type: "[[1, 2], [3, 4]] f32[2,2]"; long axes are cut in the middle.
std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace tenon
