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

std::int64_t bound(std::optional<std::int64_t> given, std::int64_t otherwise, std::int64_t n) {
  if (!given) return otherwise;
  return std::clamp(*given < 0 ? *given + n : *given, std::int64_t(0), n);
}

Array take_range(const Array& x, const Range& r, std::size_t axis) {
  const std::int64_t n = x.size(static_cast<std::int64_t>(axis));
  const auto at = static_cast<std::int64_t>(axis);
  if (r.step == 0) throw ShapeError("index: a range with step 0.");
  if (r.step > 0) {
    const std::int64_t start = bound(r.start, 0, n), stop = std::max(start, bound(r.stop, n, n));
    return slice_in_dim(x, start, stop, at, r.step);
  }
  // Backwards: reverse, then the mirrored range.
  const std::int64_t from = r.start ? std::min(*r.start < 0 ? *r.start + n : *r.start, n - 1) : n - 1;
  const std::int64_t to = r.stop ? std::max(*r.stop < 0 ? *r.stop + n : *r.stop, std::int64_t(-1)) : -1;
  const std::int64_t start = std::min(std::max<std::int64_t>(n - 1 - from, 0), n);
  return slice_in_dim(reverse(x, {at}), start, std::max(start, n - 1 - to), at, -r.step);
}

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

Array index(const Operand& operand, std::span<const IndexPart> parts) {
  const SourceScope place(operand.where());
  Array x = operand;
  std::size_t axis = 0;
  for (const IndexPart& part : parts) {
    if (std::holds_alternative<NewAxis>(part)) {
      x = expand_dims(x, static_cast<std::int64_t>(axis++));
      continue;
    }
    if (axis >= x.rank())
      throw ShapeError(fmt::format("index: {} has fewer axes than the index has parts.", operand->type().text()));
    const auto at = static_cast<std::int64_t>(axis);
    if (const auto* number = std::get_if<std::int64_t>(&part)) {
      const std::int64_t n = x.size(at), i = *number < 0 ? *number + n : *number;
      if (i < 0 || i >= n)
        throw ShapeError(fmt::format("index: {} is outside of axis {} of {}.", *number, axis, x.type().text()),
                         fmt::format("It runs from {} to {}.", -n, n - 1));
      x = squeeze(slice_in_dim(x, i, i + 1, at), at);
    } else if (const auto* r = std::get_if<Range>(&part)) {
      x = take_range(x, *r, axis++);
    } else if (const auto* a = std::get_if<Array>(&part)) {
      x = take(x, *a, at);
      axis += a->rank();
    } else {
      ++axis;
    }
  }
  return x;
}

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
