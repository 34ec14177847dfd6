#include "tenon/api/ref.h"

#include <fmt/format.h>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array RefPart::get(const GatherOptions& options) const {
  const SourceScope place(parts_[0].where(), "index");
  return index(Operand(api_detail::read_cell(cell_), parts_[0].where()), parts_, options);
}

void RefPart::put(ScatterKind kind, const Operand& y, const ScatterOptions& options) const {
  const SourceScope place(parts_[0].where());
  const Array before = api_detail::read_cell(cell_);
  api_detail::write_cell(cell_, update_at(kind, Operand(before, parts_[0].where()), parts_, y, options));
}

const RefPart& RefPart::operator-=(const Operand& y) const {
  const SourceScope place(parts_[0].where(), "sub");
  put(ScatterKind::add, -convert_into("sub", api_detail::read_cell(cell_), y), {});
  return *this;
}

Ref::Ref(const Operand& x) {
  const SourceScope place(x.where(), "make_ref");
  const Type type = x->type();
  if (!type.is_array())
    throw DTypeError(fmt::format("make_ref: {} is not an array.", type.text()), "Stack the list first.");
  cell_ = api_detail::make_cell(x->with_weak(false));
}

Ref make_ref(const Operand& x) { return Ref(x); }

Array Ref::get(const Source& where) const {
  const SourceScope place(where);
  return api_detail::read_cell(cell_);
}

void Ref::set(const Operand& y) const {
  const SourceScope place(y.where(), "set");
  const Array before = api_detail::read_cell(cell_);
  const Type type = before.type();
  const Array fitted = convert_into("set", before, y);
  const std::size_t rank = type.rank(), less = rank - std::min(rank, fitted.rank());
  bool broadcasts = fitted.rank() <= rank;
  for (std::size_t i = 0; broadcasts && i < fitted.rank(); ++i)
    broadcasts = fitted.shape()[i] == type.shape[less + i] || fitted.shape()[i] == Dim(1);
  if (!broadcasts)
    throw ShapeError(fmt::format("set: {} is written to a reference to {}.", y->type().text(), type.text()),
                     "A reference keeps its shape: write what broadcasts to it, or make another with make_ref().");
  const bool same = fitted.type() == type;
  api_detail::write_cell(cell_, (same ? fitted : broadcast_to(fitted, type.shape)).with_weak(false));
}

Array Ref::freeze(const Source& where) const {
  const SourceScope place(where);
  return api_detail::freeze_cell(cell_);
}

Type Ref::type(const Source& where) const {
  const SourceScope place(where);
  return api_detail::read_cell(cell_).type();
}

void Ref::hash_type(Hasher& hasher) const {
  if (cell_) type().hash(hasher);
}

namespace api_detail {

std::vector<CellRef> cells_of(const tree::View& tree) {
  std::vector<CellRef> cells;
  tree.visit([](const Array&) {},
             [&](const tree::Static& fixed) {
               if (const Ref* ref = fixed.as<Ref>()) cells.push_back(ref->cell());
             });
  return cells;
}

std::vector<CellRef> stand_ins_of(const tree::View& tree) {
  std::vector<CellRef> cells = cells_of(tree);
  require_distinct("jit", cells);
  for (CellRef& cell : cells) cell = stand_in(cell);
  return cells;
}

void rebind_cells(const tree::MutableView& tree, std::span<const CellRef> cells) {
  std::size_t at = 0;
  tree.visit([](const Array&) {},
             [&](const tree::Static& fixed) {
               if (const Ref* ref = fixed.as<Ref>()) const_cast<Ref*>(ref)->rebind(cells[at++]);
             });
}

}  // namespace api_detail
}  // namespace tenon
