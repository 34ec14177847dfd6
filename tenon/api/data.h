// Data in and out: borrowing memory, printing, comparing.
#pragma once

#include <iosfwd>

#include "tenon/api/tree.h"

namespace tenon {

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
