// Mutable references: r[i] += v, as in NumPy, inside of traced functions, loops and branches too.
#pragma once

#include "tenon/api/ref_cells.h"
#include "tenon/api/tree.h"
#include "tenon/ops/composites/index.h"

namespace tenon {

// r[i] or r.at(i, j), to be read, written, or combined with what is there. Elements outside and elements that are named
// several times: as for x.at(i, j).
class RefPart {
 public:
  RefPart(api_detail::CellRef cell, std::vector<IndexPart> parts) : cell_(std::move(cell)), parts_(std::move(parts)) {}
  RefPart(const RefPart&) = default;

  Array get(const GatherOptions& options = {}) const;
  operator Array() const { return get(); }

  void set(const Operand& y, const ScatterOptions& options = {}) const { put(ScatterKind::set, y, options); }
  void add(const Operand& y, const ScatterOptions& options = {}) const { put(ScatterKind::add, y, options); }
  void mul(const Operand& y, const ScatterOptions& options = {}) const { put(ScatterKind::mul, y, options); }
  void min(const Operand& y, const ScatterOptions& options = {}) const { put(ScatterKind::min, y, options); }
  void max(const Operand& y, const ScatterOptions& options = {}) const { put(ScatterKind::max, y, options); }

  const RefPart& operator=(const Operand& y) const { return set(y), *this; }
  // r[i] = r[i] writes what it read. NOLINTBEGIN(bugprone-unhandled-self-assignment)
  const RefPart& operator=(const RefPart& y) const { return set(y.get()), *this; }
  RefPart& operator=(const RefPart& y) { return set(y.get()), *this; }
  // NOLINTEND(bugprone-unhandled-self-assignment)
  const RefPart& operator+=(const Operand& y) const { return add(y), *this; }
  const RefPart& operator-=(const Operand& y) const;
  const RefPart& operator*=(const Operand& y) const { return mul(y), *this; }

 private:
  void put(ScatterKind kind, const Operand& y, const ScatterOptions& options) const;

  api_detail::CellRef cell_;
  std::vector<IndexPart> parts_;
};

// An array that is written in place. Copies are the same reference. It keeps its dtype and shape. Functions that scan,
// while_loop, fori_loop, map, cond, switch_case, jit and checkpoint trace may read and write references from outside,
// captured or passed in trees: there they are carries, or arguments whose memory is used again and results. Programs,
// and so derivatives and batches, see ordinary values. Functions under grad, jvp and vmap may write to one from outside
// what is no function of the arguments that are differentiated, and is the same for all lanes. The backward of a
// custom_vjp may read and write one that was there before the derivative: it does so when reverse mode comes by, from
// the last call to the first. In a condition of while_loop, and in other rules, one from outside can be read only; one
// that the function makes itself may be written.
//
//   tn::Ref r = tn::make_ref(tn::zeros({3}));
//   tn::fori_loop(0, 3, [&](Array i, Array c) { r[i] += c; return c * 0.5f; }, Array(1.f));
//   r.freeze()   // 1 0.5 0.25
//
// Throws RuntimeError where it is frozen or may not be written, DifferentiationError where a derivative would be lost,
// LeakError where the traced function that made it has
// ended, and ShapeError or DTypeError where what is written does not fit. A call that passes one reference twice, or
// passes it to a jitted function that captures it, is a TreeError.
class Ref {
 public:
  Ref() = default;  // of nothing, until another is assigned
  explicit Ref(const Operand& x);

  Array get(const Source& where = std::source_location::current()) const;  // the whole
  Array operator()(const Source& where = std::source_location::current()) const { return get(where); }
  // The whole is written; y broadcasts to it.
  void set(const Operand& y) const;

  // At an index, as x(i, j) and x.at(i, j).
  template <class... More>
  Array operator()(const IndexPart& first, const More&... more) const {
    return at(first, more...).get();
  }
  RefPart operator[](const IndexPart& part) const { return {cell_, {part}}; }
  template <class... More>
  RefPart at(const IndexPart& first, const More&... more) const {
    return {cell_, {first, IndexPart(more)...}};
  }

  // The array; what uses the reference afterwards throws.
  Array freeze(const Source& where = std::source_location::current()) const;

  Type type(const Source& where = std::source_location::current()) const;

  // In trees it is static: the same reference.
  bool operator==(const Ref&) const = default;
  void hash(Hasher& hasher) const { hasher(reinterpret_cast<std::uintptr_t>(cell_.get())); }
  void hash_type(Hasher& hasher) const;  // of one with another value
  std::string text() const { return cell_ ? "a reference to " + type().text() : "a reference to nothing"; }
  const api_detail::CellRef& cell() const { return cell_; }
  void rebind(api_detail::CellRef cell) { cell_ = std::move(cell); }

 private:
  api_detail::CellRef cell_;
};

// A reference to a copy of x: x stays as it is.
//   tn::Ref r = tn::make_ref(Array{1, 2});
//   r[0] += 3;
//   r.freeze()   // 4 2
Ref make_ref(const Operand& x);

namespace api_detail {

// The references in a tree.
std::vector<CellRef> cells_of(const tree::View& tree);

// A reference for each of those in a tree, by which they are told apart from those that a function captures. Throws
// where one is there twice.
std::vector<CellRef> stand_ins_of(const tree::View& tree);

// Other references in place of those of the tree, which is the caller's own.
void rebind_cells(const tree::MutableView& tree, std::span<const CellRef> cells);

}  // namespace api_detail
}  // namespace tenon
