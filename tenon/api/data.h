// Data in and out: memory that is borrowed or copied, elements, other libraries' arrays, printing, comparing.
#pragma once

#include <concepts>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <span>

#include "tenon/ir/array.h"
#include "tenon/runtime/dlpack.h"

namespace tenon {

// Elements of user memory, without a copy; it must outlive the array and what is computed from it, unless `keep` owns
// it. Strides in bytes, row-major where none are given. The memory is never written unless it is said to be writable.
//   std::vector<float> values{1, 2, 3};
//   const Array x = tn::borrow(values.data(), {3});
//   values[0] = 5;
//   x   // 5 2 3
struct BorrowOptions {
  std::vector<std::int64_t> strides = {};
  std::shared_ptr<void> keep = nullptr;
  bool writable = false;
};
Array borrow(void* data, DType dtype, std::vector<std::int64_t> shape, BorrowOptions options = {},
             const Source& where = std::source_location::current());
template <Element T>
Array borrow(T* data, std::vector<std::int64_t> shape, BorrowOptions options = {},
             const Source& where = std::source_location::current()) {
  return borrow(const_cast<std::remove_const_t<T>*>(data), *dtype_of<std::remove_const_t<T>>, std::move(shape),
                std::move(options), where);
}

// A copy of user memory, row-major; f32[n] where no shape is given.
//   const std::vector<float> values{1, 2, 3, 4};
//   tn::array(std::span(values), {2, 2})   // 1 2, 3 4
Array copy_of(const void* data, std::size_t count, DType dtype, std::vector<std::int64_t> shape, const Source& where);
template <Element T>
Array array(std::span<const T> values, std::vector<std::int64_t> shape,
            const Source& where = std::source_location::current()) {
  return copy_of(values.data(), values.size(), *dtype_of<T>, std::move(shape), where);
}
template <Element T>
Array array(std::span<const T> values) {
  return array(values, {static_cast<std::int64_t>(values.size())});
}

// What an Eigen matrix, vector, map or block looks like; tenon.h does not include Eigen. Of an expression take .eval().
template <class M>
concept DenseMatrix = requires(const M& m) {
  { m.rows() } -> std::convertible_to<std::int64_t>;
  { m.cols() } -> std::convertible_to<std::int64_t>;
  { m.innerStride() } -> std::convertible_to<std::int64_t>;
  { m.outerStride() } -> std::convertible_to<std::int64_t>;
  { m.data() } -> std::convertible_to<const void*>;
  { static_cast<bool>(M::IsRowMajor) };
  { static_cast<bool>(M::IsVectorAtCompileTime) };
};
// The elements of a matrix, f32[rows, cols], or of a vector, f32[n], in place: the matrix must outlive the array.
template <DenseMatrix M>
Array borrow(const M& m, const Source& where = std::source_location::current()) {
  using T = std::remove_cvref_t<decltype(*m.data())>;
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t inner = m.innerStride() * size, outer = m.outerStride() * size;
  if constexpr (static_cast<bool>(M::IsVectorAtCompileTime))
    return borrow(m.data(), {m.rows() * m.cols()}, {.strides = {inner}}, where);
  else
    return borrow(m.data(), {m.rows(), m.cols()},
                  {.strides = M::IsRowMajor ? std::vector{outer, inner} : std::vector{inner, outer}}, where);
}
// A copy of them, as borrow() has them.
template <DenseMatrix M>
Array from(const M& m, const Source& where = std::source_location::current()) {
  return borrow(m, where).to_buffer(where).contiguous_copy();
}

namespace api_detail {

template <class R>
concept Nested = requires(const R& r) {
  std::size(r);
  *std::begin(r);
};
// How deep ranges are nested in a type, and what their elements are.
template <class T>
struct Nesting {
  static constexpr std::size_t rank = 0;
  using Innermost = T;
};
template <Nested R>
struct Nesting<R> : Nesting<std::remove_cvref_t<decltype(*std::begin(std::declval<const R&>()))>> {
  using Inner = Nesting<std::remove_cvref_t<decltype(*std::begin(std::declval<const R&>()))>>;
  static constexpr std::size_t rank = 1 + Inner::rank;
};

// Elements of rows of rows …, row-major; sizes of axes are told by the first row.
template <class T>
struct RowsGathered {
  std::vector<std::int64_t> dims = {};
  std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> elements = {};

  template <class R>
  void add(const R& rows, std::size_t axis, const Source& where) {
    const auto size = static_cast<std::int64_t>(std::size(rows));
    if (axis == dims.size()) dims.push_back(size);
    if (dims[axis] != size) throw_ragged(static_cast<std::size_t>(dims[axis]), static_cast<std::size_t>(size), where);
    for (const auto& row : rows) {
      if constexpr (Nesting<R>::rank > 1)
        add(row, axis + 1, where);
      else
        elements.push_back(row);
    }
  }
};

}  // namespace api_detail

// A copy of a vector, an array or a span of numbers: f32[n]; of rows of them, as a std::vector<std::vector<float>>:
// f32[rows, columns], and so on. Throws ShapeError where rows differ in length.
//   tn::from(std::vector<std::vector<double>>{{1, 2}, {3, 4}})   // 1 2, 3 4
template <class Range>
  requires(!DenseMatrix<Range> && api_detail::Nested<Range>)
Array from(const Range& values, const Source& where = std::source_location::current()) {
  using T = typename api_detail::Nesting<Range>::Innermost;
  static_assert(Element<T>,
                "from: numbers or bools, or rows of them, become an array; put arrays together with tn::stack, and "
                "convert elements of other types first");
  if constexpr (!Element<T>) {
    return {};
  } else if constexpr (requires { std::span<const T>(values); }) {
    const std::span<const T> all(values);
    return copy_of(all.data(), all.size(), *dtype_of<T>, {static_cast<std::int64_t>(all.size())}, where);
  } else {
    api_detail::RowsGathered<T> gathered;
    gathered.add(values, 0, where);
    gathered.dims.resize(api_detail::Nesting<Range>::rank, 0);
    return copy_of(gathered.elements.data(), gathered.elements.size(), *dtype_of<T>, std::move(gathered.dims), where);
  }
}

// Typed access to the elements of a concrete array, whatever its strides; holds the memory. Reading elements<float>(x)
// once and then e(i, j) often costs an index computation each, x(i, j).item<float>() a whole op.
template <Element T>
class Elements {
 public:
  // `where` is the place of errors in later accesses.
  explicit Elements(Buffer buffer, const Source& where) : buffer_(std::move(buffer)), where_(where) {}
  template <std::integral... Index>
  const T& operator()(Index... index) const {
    const std::array<std::int64_t, sizeof...(Index)> at{static_cast<std::int64_t>(index)...};
    return *reinterpret_cast<const T*>(buffer_.data() + offset(at));
  }
  std::span<const std::int64_t> dims() const { return buffer_.dims(); }

 private:
  std::int64_t offset(std::span<const std::int64_t> index) const {
    if (index.size() != buffer_.rank()) throw_rank(index.size());
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t n = buffer_.dims()[i], at = index[i] < 0 ? index[i] + n : index[i];
      if (at < 0 || at >= n) throw_outside(index[i], i);
      bytes += at * buffer_.strides()[i];
    }
    return bytes;
  }
  [[noreturn]] void throw_rank(std::size_t given) const {
    throw ShapeError(
        "elements: " + std::to_string(given) + " indices for an array of rank " + std::to_string(buffer_.rank()) + ".",
        "Give one index for each axis.", where_);
  }
  [[noreturn]] void throw_outside(std::int64_t index, std::size_t axis) const {
    throw ShapeError("elements: " + std::to_string(index) + " lies outside of axis " + std::to_string(axis) +
                         " of size " + std::to_string(buffer_.dims()[axis]) + ".",
                     "Negative indices count from the end.", where_);
  }
  Buffer buffer_;
  Source where_;
};
//   const auto e = tn::elements<float>(Array{{1.f, 2.f}, {3.f, 4.f}});
//   e(1, 0)   // 3
template <Element T>
Elements<T> elements(const Array& x, const Source& where = std::source_location::current()) {
  const SourceScope place(where, "elements");
  Buffer held = x.buffer() != nullptr ? *x.buffer() : x.to_buffer(where);
  static_cast<void>(held.as<T>());  // the dtype must be T's
  return Elements<T>(std::move(held), where);
}

// Shares memory with other libraries through DLPack. Exported: the caller owns the structure, and calls its deleter.
// Imported: the deleter is called when nothing needs the memory any more. Errors: runtime/dlpack.h.
dlpack::ManagedTensorVersioned* to_dlpack(const Array& x, const Source& where = std::source_location::current());
Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, const Source& where = std::source_location::current());
Array from_dlpack(dlpack::ManagedTensor* tensor, const Source& where = std::source_location::current());

// Equal shapes, dtypes and elements (NaN differs from NaN).
//   array_equal(Array{1, 2}, Array{1, 2})   // true
bool array_equal(const Array& a, const Array& b);
// |a - b| <= atol + rtol·|b| everywhere, with equal shapes; NaN is close to nothing.
//   allclose(Array{1.0, 2.0}, Array{1.0, 2.1})   // false
bool allclose(const Array& a, const Array& b, double rtol = 1e-5, double atol = 1e-8);

// Elements as NumPy prints them, then the type: "[[1, 0.33333333], [3, 4]] f64[2,2]"; long axes are cut in the middle.
// Never throws: of a traced array the type is shown, "<f32[3]>"; "<leaked array>" and "<donated array>" say why there
// is nothing to show.
//   std::ostringstream out;
//   out << Array{1, 2};
std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace tenon
