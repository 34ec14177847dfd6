#include "tenon/api/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ostream>

#include "tenon/ir/scope.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// The shortest text that reads back as the same number, "1.5e+00". Of 16 bits and of 8: by trying.
template <class T>
std::string shortest(T value) {
  std::array<char, 64> text;
  if constexpr (std::is_floating_point_v<T>) {
    const char* end = std::to_chars(text.data(), text.end(), value, std::chars_format::scientific).ptr;
    return {static_cast<const char*>(text.data()), end};
  } else {
    const auto wide = static_cast<float>(value);
    for (int digits = 0;; ++digits) {
      const char* end = std::to_chars(text.data(), text.end(), wide, std::chars_format::scientific, digits).ptr;
      float back = 0;
      std::from_chars(text.data(), end, back);
      if (static_cast<float>(T(back)) == wide) return {static_cast<const char*>(text.data()), end};
    }
  }
}

// As NumPy shows a number by default: the shortest text that reads back, but at most eight digits behind the point;
// with an exponent below 1e-4 and from 1e8 on.
template <class T>
std::string real_text(T value) {
  constexpr std::size_t most = 8;
  const auto wide = static_cast<std::conditional_t<std::is_floating_point_v<T>, T, float>>(value);
  if (std::isnan(wide)) return "nan";
  if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
  const std::string exact = shortest(value);
  double decimal = 0;  // what the shortest text says, which may not be the same number in f64
  std::from_chars(exact.data(), exact.data() + exact.size(), decimal);
  const double size = std::abs(decimal);
  const auto format =
      size == 0 || (size >= 1e-4 && size < 1e8) ? std::chars_format::fixed : std::chars_format::scientific;
  std::array<char, 64> text;
  const auto written = [&](auto... digits) {
    return std::string(text.data(), std::to_chars(text.data(), text.end(), decimal, format, digits...).ptr);
  };
  const auto point_and_end = [](const std::string& s) {
    return std::pair(s.find('.'), std::min(s.find('e'), s.size()));
  };
  std::string result = written();
  if (const auto [point, end] = point_and_end(result); point == std::string::npos || end - point - 1 <= most)
    return result;
  result = written(static_cast<int>(most));
  const auto [point, end] = point_and_end(result);
  std::size_t last = result.find_last_not_of('0', end - 1);
  if (last > point) ++last;
  return result.erase(last, end - last);
}

std::string element_text(const Buffer& b, std::int64_t offset) {
  return dispatch(b.dtype(), [&]<class T>(std::type_identity<T>) -> std::string {
    T value;
    std::memcpy(&value, b.data() + offset, sizeof value);
    if constexpr (std::is_floating_point_v<T> || NarrowFloat<T>) {
      return real_text(value);
    } else if constexpr (requires { value.imag(); }) {
      const std::string imaginary = real_text(value.imag());
      return real_text(value.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "i";
    } else {
      return Scalar(value).text();
    }
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

namespace {

// Of an array without elements to show. Printing is how one looks for errors, and throws none of its own.
std::string symbolic_text(const Array& array) {
  try {
    return array.type().text();
  } catch (const LeakError&) {
    return "leaked array";
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Array& array) {
  if (array.empty()) return out << "(no array)";
  if (array.donated() != nullptr) return out << "<donated array>";
  if (array.traced() != nullptr || array.list() != nullptr) return out << "<" << symbolic_text(array) << ">";
  const Buffer b = std::get<Buffer>(array.value());
  std::string text;
  write(b, 0, 0, text);
  return out << text << " " << array.type().text();
}

}  // namespace tenon
