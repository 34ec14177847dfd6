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

// Six digits, as NumPy shows by default; nan and inf by their names.
std::string element_text(const Buffer& b, std::int64_t offset) {
  return dispatch(b.dtype(), [&]<class T>(std::type_identity<T>) -> std::string {
    T value;
    std::memcpy(&value, b.data() + offset, sizeof value);
    if constexpr (std::is_floating_point_v<T>)
      return fmt::format("{:.6g}", value);
    else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
      return fmt::format("{:.4g}", static_cast<float>(value));
    else if constexpr (requires { value.imag(); })
      return fmt::format("{:.6g}{:+.6g}i", value.real(), value.imag());
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

Array borrow(void* data, DType dtype, std::vector<std::int64_t> shape, BorrowOptions options, const Source& where) {
  const SourceScope place(where, "borrow");
  const std::string type = Type::array(dtype, Shape(std::span<const std::int64_t>(shape))).text();
  for (std::int64_t n : shape)
    if (n < 0) throw ShapeError(fmt::format("borrow: {} has a negative size.", type), "Sizes are 0 or more.");
  if (options.strides.empty()) options.strides = contiguous_strides(dtype, shape);
  if (options.strides.size() != shape.size())
    throw ShapeError(fmt::format("borrow: {} strides for {}.", options.strides.size(), type),
                     "Give one stride an axis, in bytes; or none, where the memory is row-major.");
  const bool elements = std::ranges::find(shape, 0) == shape.end();
  if (data == nullptr && elements)
    throw RuntimeError(fmt::format("borrow: a null pointer for {}.", type), "Point to memory that holds the elements.");
  // Arithmetic on elements that are not aligned is undefined in C++: such memory is copied.
  const auto alignment = static_cast<std::int64_t>(std::min<std::size_t>(size_of(dtype), 8));
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0 &&
                       std::ranges::all_of(options.strides, [&](std::int64_t s) { return s % alignment == 0; });
  const Buffer shared =
      Buffer::borrow(data, dtype, shape, options.strides, std::move(options.keep), options.writable && aligned);
  return aligned || !elements ? shared : shared.contiguous_copy();
}

Array copy_of(const void* data, std::size_t count, DType dtype, std::vector<std::int64_t> shape, const Source& where) {
  const SourceScope place(where, "array");
  std::int64_t elements = 1;
  for (std::int64_t n : shape) elements *= n;
  if (elements != static_cast<std::int64_t>(count))
    throw ShapeError(fmt::format("array: {} values do not fill {}.", count,
                                 Type::array(dtype, Shape(std::span<const std::int64_t>(shape))).text()),
                     "The sizes multiply to the number of values.");
  return array_from_rows(dtype, std::move(shape), data);
}

dlpack::ManagedTensorVersioned* to_dlpack(const Array& x, const Source& where) {
  const SourceScope place(where, "to_dlpack");
  return dlpack::export_versioned(x.buffer() != nullptr ? *x.buffer() : x.to_buffer(where));
}
Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, const Source& where) {
  const SourceScope place(where, "from_dlpack");
  return dlpack::import(tensor);
}
Array from_dlpack(dlpack::ManagedTensor* tensor, const Source& where) {
  const SourceScope place(where, "from_dlpack");
  return dlpack::import(tensor);
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
