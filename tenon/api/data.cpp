#include "tenon/api/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ostream>

#include "tenon/ir/scope.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/shape.h"

namespace tenon {
namespace {

std::string element_text(const Buffer& b, std::int64_t offset) {
  return dispatch(b.dtype(), [&]<class T>(std::type_identity<T>) -> std::string {
    T value;
    std::memcpy(&value, b.data() + offset, sizeof value);
    if constexpr (std::is_floating_point_v<T>)
      return fmt::format("{:.6g}", value);
    else
      return Scalar(value).text();
  });
}

void write(const Buffer& b, std::size_t axis, std::int64_t offset, std::string& out) {
  constexpr std::int64_t edge = 3, longest = 12;
  if (axis == b.rank()) {
    out += element_text(b, offset);
    return;
  }
  const std::int64_t n = b.dims()[axis];
  out += '[';
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) out += ", ";
    if (n > longest && i == edge) {
      out += "…, ";
      i = n - edge;
    }
    write(b, axis + 1, offset + i * b.strides()[axis], out);
  }
  out += ']';
}

}  // namespace

Array borrow(void* data, DType dtype, std::vector<std::int64_t> shape, BorrowOptions options) {
  if (options.strides.empty()) options.strides = contiguous_strides(dtype, shape);
  return Buffer::borrow(data, dtype, shape, options.strides, std::move(options.keep), options.writable);
}

bool array_equal(const Array& a, const Array& b) {
  if (a.type() != b.type()) return false;
  const CompileTime now;
  return all(a == b).item<bool>();
}

bool allclose(const Array& a, const Array& b, double rtol, double atol) {
  if (a.shape() != b.shape()) return false;
  const Buffer x = a.to_buffer(), y = b.to_buffer();
  const auto at = [](const Buffer& v, std::int64_t i) {
    return dispatch(v.dtype(), [&]<class T>(std::type_identity<T>) { return Scalar(v.as<T>()[i]).as_complex(); });
  };
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto p = at(x, i), q = at(y, i);
    if (p != q && !(std::abs(p - q) <= atol + rtol * std::abs(q))) return false;
  }
  return true;
}

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (array.empty()) return out << "(no array)";
  if (array.traced() != nullptr || array.list() != nullptr) return out << "<" << array.type().text() << ">";
  const Buffer b = std::get<Buffer>(array.value());
  std::string text;
  write(b, 0, 0, text);
  return out << text << " " << array.type().text();
}

}  // namespace tenon
