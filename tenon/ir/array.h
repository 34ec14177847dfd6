// Array: the one handle that users, rules of ops and transformations speak. Concrete, traced, or just a number.
#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tenon/base/source.h"
#include "tenon/ir/program.h"
#include "tenon/ir/scalar.h"
#include "tenon/ir/value.h"

namespace tenon {

template <class T>
concept Number = Element<T> && !NarrowFloat<T>;

class IndexPart;
class IndexedUpdate;

// A variable of a trace that is in progress on this thread. Owns nothing.
struct Traced {
  std::uint64_t scope;
  Var var;
};

// What stands in an array whose memory a call has taken over.
struct Donated {
  Source where;    // of the call
  Buffer type_of;  // tells the array's type alone: its memory is another's now
};

// Cheap to copy; a value. Reading a traced handle whose trace has ended throws LeakError.
class Array {
 public:
  // Compiled once, in the library: each of them knows all forms of an array.
  Array() noexcept;
  Array(const Array&);
  Array(Array&&) noexcept;
  Array& operator=(const Array&) &;
  Array& operator=(Array&&) & noexcept;
  ~Array();
  // What an index or a function returns is an array of its own: writing to it would change nothing.
  template <class T>
  void operator=(T&&) && {
    static_assert(std::is_void_v<T>,
                  "x(i) is a new array, and assigning to it changes nothing: write x = x.at(i).set(y), or take a "
                  "mutable reference, tn::make_ref(x)");
  }
  Array(Buffer buffer, bool weak = false);  // implicit: a buffer is an array
  Array(ListValue list);
  // A number is weakly typed: it takes the precision of what it meets.
  template <Number T>
  Array(T value) : Array(Scalar(value), true) {}
  explicit Array(Scalar value, bool weak = false);
  Array(Traced traced, bool weak);

  // Nested braces of numbers: Array a = {{1.f, 2.f}, {3.f, 4.f}}. Throws ShapeError when rows differ in length.
  template <Number T>
  Array(std::initializer_list<T> row, const Source& where = std::source_location::current());
  template <Number T>
  Array(std::initializer_list<std::initializer_list<T>> rows, const Source& where = std::source_location::current());
  template <Number T>
  Array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes,
        const Source& where = std::source_location::current());

  bool empty() const { return std::holds_alternative<std::monostate>(form_); }  // default-constructed
  bool concrete() const { return !traced() && !empty() && !donated(); }
  const Donated* donated() const { return std::get_if<Donated>(&form_); }
  const Traced* traced() const { return std::get_if<Traced>(&form_); }
  const Scalar* number() const { return std::get_if<Scalar>(&form_); }
  const Buffer* buffer() const { return std::get_if<Buffer>(&form_); }
  const ListValue* list() const {
    const auto* held = std::get_if<std::shared_ptr<const ListValue>>(&form_);
    return held == nullptr ? nullptr : held->get();
  }

  Type type() const;
  DType dtype() const;
  Shape shape() const;
  std::size_t rank() const { return shape().rank(); }
  Dim dim(std::int64_t axis, const Source& where = std::source_location::current()) const;  // -1 is the last
  // A known size; throws ShapeError where it is symbolic.
  std::int64_t size(std::int64_t axis, const Source& where = std::source_location::current()) const;
  bool weak() const { return weak_; }
  [[nodiscard]] Array with_weak(bool weak) const {
    Array a = *this;
    a.weak_ = weak;
    return a;
  }

  // Gives its buffer away; every later use of this array throws RuntimeError, naming the place.
  Buffer donate(const Source& where);

  // The concrete value; of a traced array, what was recorded so far is evaluated if the trace knows its inputs, else a
  // ConcretizationError names the op that made it.
  Value value(const Source& where = std::source_location::current()) const;
  Buffer to_buffer(const Source& where = std::source_location::current()) const;  // contiguous

  // The element of an array with exactly one element, converted to T exactly or by rounding.
  template <Element T>
  T item(const Source& where = std::source_location::current()) const {
    return item_scalar(where).convert(*dtype_of<T>).template as<T>();
  }
  Scalar item_scalar(const Source& where) const;

  // The elements at an index, as in NumPy, and the array with others there: x(i, j), x(slice(1, -1), newaxis),
  // x.at(i).set(y). In ops/index.h.
  template <class... More>
  [[nodiscard]] Array operator()(const IndexPart& first, const More&... more) const;
  template <class... More>
  [[nodiscard]] IndexedUpdate at(const IndexPart& first, const More&... more) const;

  // All elements of a concrete, contiguous array, in row-major order; the dtype must be T's.
  template <Element T>
  std::span<const T> span(const Source& where = std::source_location::current()) const;

 private:
  [[noreturn]] void throw_no_value() const;
  [[noreturn]] void throw_no_span() const;
  std::variant<std::monostate, Scalar, Traced, Buffer, std::shared_ptr<const ListValue>, Donated> form_;
  bool weak_ = false;
};

using Arrays = std::vector<Array>;
using MaybeArray = std::optional<Array>;

// What an op's function takes: an Array or a number, and the place where it was written. An ordinary call `tanh(x)` or
// `x * 2.f` makes it implicitly, so every function of the library knows the user's line.
class Operand {
 public:
  Operand(const Array& array, const Source& where = std::source_location::current()) : array_(array), where_(where) {}
  Operand(Array&& array, const Source& where = std::source_location::current())
      : array_(std::move(array)), where_(where) {}
  template <Number T>
  Operand(T value, const Source& where = std::source_location::current()) : array_(value), where_(where) {}
  // What gives an array when it is read, such as r[i] of a mutable reference.
  template <class T>
    requires(!std::derived_from<T, Array> &&
             requires(const T& part) {
               { part.get() } -> std::same_as<Array>;
             })
  Operand(const T& part, const Source& where = std::source_location::current()) : array_(part.get()), where_(where) {}
  operator const Array&() const { return array_; }
  const Array& array() const { return array_; }
  const Array* operator->() const { return &array_; }
  const Source& where() const { return where_; }

 private:
  Array array_;
  Source where_;
};

// --- definitions of templates ---
// What the elements of nested braces are gathered in: std::vector<bool> has no memory of bools.
template <Number T>
using Gathered = std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>>;
Array array_from_rows(DType dtype, std::vector<std::int64_t> dims, const void* data);
[[noreturn]] void throw_ragged(std::size_t expected, std::size_t length, const Source& where);

template <Number T>
Array::Array(std::initializer_list<T> row, const Source&)
    : Array(array_from_rows(*dtype_of<T>, {static_cast<std::int64_t>(row.size())}, row.begin())) {}

template <Number T>
Array::Array(std::initializer_list<std::initializer_list<T>> rows, const Source& where) {
  Gathered<T> all;
  const std::size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
  for (const auto& row : rows) {
    if (row.size() != width) throw_ragged(width, row.size(), where);
    all.insert(all.end(), row.begin(), row.end());
  }
  *this = array_from_rows(*dtype_of<T>, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)},
                          all.data());
}

template <Number T>
Array::Array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> planes, const Source& where) {
  Gathered<T> all;
  const std::size_t height = planes.size() == 0 ? 0 : planes.begin()->size();
  const std::size_t width = height == 0 ? 0 : planes.begin()->begin()->size();
  for (const auto& rows : planes) {
    if (rows.size() != height) throw_ragged(height, rows.size(), where);
    for (const auto& row : rows) {
      if (row.size() != width) throw_ragged(width, row.size(), where);
      all.insert(all.end(), row.begin(), row.end());
    }
  }
  *this = array_from_rows(
      *dtype_of<T>,
      {static_cast<std::int64_t>(planes.size()), static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)},
      all.data());
}

template <Element T>
std::span<const T> Array::span(const Source& where) const {
  const SourceScope place(where, "span");
  const Buffer* held = buffer();
  if (held == nullptr || !held->contiguous()) throw_no_span();
  return {held->as<T>(), static_cast<std::size_t>(held->elements())};
}

}  // namespace tenon
