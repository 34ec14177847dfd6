// Indices as in NumPy: x(i, j), x(slice(1, -1), newaxis), x(all, indices), x(mask); and arrays with other elements
// there: x.at(i).set(y), x.at(rows).add(y).
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <variant>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon {

// Elements from `start` to before `stop`, every step-th; negative bounds count from the end, missing ones are the ends,
// and both are moved inside the axis. With a negative step it runs backwards.
//   tn::arange(6)(tn::slice(1, -1, 2))   // 1 3
struct Slice {
  std::optional<Dim> start = {}, stop = {};
  std::int64_t step = 1;
};
inline Slice slice(std::optional<Dim> stop) { return {std::nullopt, std::move(stop), 1}; }
inline Slice slice(std::optional<Dim> start, std::optional<Dim> stop, std::int64_t step = 1) {
  return {std::move(start), std::move(stop), step};
}
// As many elements as `size` says, every step-th (a positive step), from `start` on: a number, an array too whose value
// is not known yet; negative ones count from the end. It is moved so far that the window lies inside of the axis. What
// is written to one that does not is left out.
//   tn::arange(6)(tn::window(5, 3))   // 3 4 5
struct Window {
  Array start;
  Dim size;
  std::int64_t step = 1;
};
inline Window window(Array start, Dim size, std::int64_t step = 1) { return {std::move(start), std::move(size), step}; }
struct NewAxis {};
inline constexpr NewAxis newaxis;  // an axis of size 1 more
struct Ellipsis {};
inline constexpr Ellipsis ellipsis;  // as many whole axes as are left

// What an index says of an axis (a mask: of as many axes as it has). Axes behind the last part stay whole.
// - a number: the element there; the axis goes. Outside: a ShapeError.
// - an array of integers: elements along the axis. Arrays broadcast together, numbers beside them are arrays too, and
// their common axes take the place of the axes that they index, or come first where those do not lie side by side.
// Outside: moved inside when read, left out when written, unless a mode is given.
// - a mask, of bool: the elements where it holds, in row-major order; data decide how many. One bool makes an axis in
// front, of size 1 or, where it is false, 0.
class IndexPart {
 public:
  using Form = std::variant<All, NewAxis, Ellipsis, Slice, Window, Dim, Array>;

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  IndexPart(T number, const Source& where = std::source_location::current())
      : form_(Dim(static_cast<std::int64_t>(number))), where_(where) {}
  IndexPart(const Dim& number, const Source& where = std::source_location::current()) : form_(number), where_(where) {}
  IndexPart(All all, const Source& where = std::source_location::current()) : form_(all), where_(where) {}
  IndexPart(NewAxis axis, const Source& where = std::source_location::current()) : form_(axis), where_(where) {}
  IndexPart(Ellipsis axes, const Source& where = std::source_location::current()) : form_(axes), where_(where) {}
  IndexPart(Slice slice, const Source& where = std::source_location::current())
      : form_(std::move(slice)), where_(where) {}
  IndexPart(Window window, const Source& where = std::source_location::current())
      : form_(std::move(window)), where_(where) {}
  IndexPart(const Array& array, const Source& where = std::source_location::current());
  template <std::floating_point T>
  IndexPart(T) = delete;  // an index is a whole number

  const Form& form() const { return form_; }
  const Source& where() const { return where_; }

 private:
  Form form_;
  Source where_;
};

// x at an index, as x(parts…) has it. `options` say what elements outside are, where arrays name them.
[[nodiscard]] Array index(const Operand& x, std::span<const IndexPart> parts, const GatherOptions& options = {});
// x with `value`, which broadcasts to what is indexed, put there, or combined with what is there. Elements that arrays
// name several times: as scatter_at() says.
[[nodiscard]] Array update_at(ScatterKind kind, const Operand& x, std::span<const IndexPart> parts,
                              const Operand& value, const ScatterOptions& options = {});

// x.at(i, j), to be read or to become another array.
//   Array{1, 2, 3}.at(tn::slice(1)).set(9)   // 9 2 3
//   Array{1, 2, 3}.at(Array{0, 0}).add(10)   // 21 2 3
class IndexedUpdate {
 public:
  IndexedUpdate(Array x, std::vector<IndexPart> parts) : x_(std::move(x)), parts_(std::move(parts)) {}

  [[nodiscard]] Array get(const GatherOptions& options = {}) const { return index(here(), parts_, options); }
  [[nodiscard]] Array set(const Operand& y, const ScatterOptions& options = {}) const {
    return put(ScatterKind::set, y, options);
  }
  [[nodiscard]] Array add(const Operand& y, const ScatterOptions& options = {}) const {
    return put(ScatterKind::add, y, options);
  }
  [[nodiscard]] Array mul(const Operand& y, const ScatterOptions& options = {}) const {
    return put(ScatterKind::mul, y, options);
  }
  [[nodiscard]] Array min(const Operand& y, const ScatterOptions& options = {}) const {
    return put(ScatterKind::min, y, options);
  }
  [[nodiscard]] Array max(const Operand& y, const ScatterOptions& options = {}) const {
    return put(ScatterKind::max, y, options);
  }

 private:
  Operand here() const { return Operand(x_, parts_[0].where()); }
  Array put(ScatterKind kind, const Operand& y, const ScatterOptions& options) const {
    return update_at(kind, here(), parts_, y, options);
  }

  Array x_;
  std::vector<IndexPart> parts_;
};

template <class... More>
Array Array::operator()(const IndexPart& first, const More&... more) const {
  const std::array<IndexPart, 1 + sizeof...(More)> parts{first, IndexPart(more)...};
  return index(Operand(*this, first.where()), parts);
}

template <class... More>
IndexedUpdate Array::at(const IndexPart& first, const More&... more) const {
  return {*this, {first, IndexPart(more)...}};
}

}  // namespace tenon
