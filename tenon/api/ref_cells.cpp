#include "tenon/api/ref_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ops/composites/indexing.h"

namespace tenon::api_detail {
namespace {

thread_local RefScope* top = nullptr;

void require_live(const RefCell& cell) {
  if (cell.frozen)
    throw RuntimeError(fmt::format("Ref: this reference was frozen{}.", cell.frozen_at.at_text()),
                       "Use the array that freeze() returned, or make another reference of it with make_ref().");
}

}  // namespace

RefScope::RefScope(Scope& scope, std::string_view refused_by)
    : scope_(scope), serial_(scope.serial()), below_(top), refused_by_(refused_by) {
  top = this;
}
RefScope::~RefScope() { top = below_; }

std::vector<RefUse> RefScope::uses() const {
  std::vector<RefUse> all;
  for (const Use& use : uses_) all.push_back({use.cell, use.written, use.written_at});
  return all;
}

Arrays RefScope::written() const {
  Arrays values;
  for (const Use& use : uses_)
    if (use.written) values.push_back(use.value);
  return values;
}

// From the scope where the cell was made each scope takes its value from the one below, as an input of its own: two
// cells of one value stay apart.
Array& RefScope::value_in(RefScope* scope, const CellRef& cell) {
  const std::uint64_t here = scope == nullptr ? 0 : scope->serial_;
  if (cell->given && cell->called_in == here) return value_in(scope, cell->given);
  if (!cell->given && cell->home == here) return cell->value;
  if (scope == nullptr)
    throw LeakError(fmt::format("Ref: the traced function that made this reference{} has ended.", cell->made.at_text()),
                    "Return its value from that function, r.get(), or make the reference outside.");
  for (Use& use : scope->uses_)
    if (use.cell == cell) return use.value;
  const Array outer = value_in(scope->below_, cell);
  scope->uses_.push_back({cell, scope->scope_.fresh_capture(outer), false, {}});
  return scope->uses_.back().value;
}

Array& value_here(const CellRef& cell) {
  if (!cell)
    throw RuntimeError("Ref: this reference was default-constructed and refers to nothing.",
                       "Assign make_ref(x) to it before using it.");
  for (const RefCell* c = cell.get(); c != nullptr; c = c->given.get()) require_live(*c);
  return RefScope::value_in(top, cell);
}

Array read_cell(const CellRef& cell) { return value_here(cell); }

void write_cell(const CellRef& cell, Array value) {
  Array& here = value_here(cell);
  CellRef meant = cell;
  for (RefScope* scope = top; scope != nullptr; scope = scope->below_) {
    if (meant->given && meant->called_in == scope->serial_) meant = meant->given;
    if (std::ranges::find(scope->uses_, meant, &RefScope::Use::cell) == scope->uses_.end()) break;
    if (!scope->refused_by_.empty())
      throw RuntimeError(
          fmt::format("Ref: a reference from outside{} is written in {}.", cell->made.at_text(), scope->refused_by_),
          "There it can only be read: return what is to be written, and write it outside; a reference that the "
          "function "
          "makes itself may be written.");
  }
  if (top != nullptr)
    if (const auto use = std::ranges::find(top->uses_, cell, &RefScope::Use::cell); use != top->uses_.end())
      use->written = true, use->written_at = SourceScope::current();
  const RefCell* made = cell.get();
  while (made->given) made = made->given.get();
  here = made->stops_derivatives ? stop_gradient(value) : std::move(value);
}

Array freeze_cell(const CellRef& cell) {
  Array value = value_here(cell);
  if (cell->given || cell->home != (top == nullptr ? 0 : Scope::top()->serial()))
    throw RuntimeError(
        fmt::format("Ref: a reference from outside{} is frozen in a traced function.", cell->made.at_text()),
        "Read it with get(), and freeze it where it was made.");
  cell->frozen = true;
  cell->frozen_at = SourceScope::current();
  cell->value = Array();
  return value;
}

CellRef make_cell(Array value) {
  auto cell = std::make_shared<RefCell>();
  cell->value = std::move(value);
  cell->home = top == nullptr ? 0 : Scope::top()->serial();
  cell->made = SourceScope::current();
  return cell;
}

CellRef stand_in(const CellRef& given) {
  if (!given) return given;
  auto cell = std::make_shared<RefCell>();
  cell->made = given->made;
  cell->given = given;
  cell->called_in = top == nullptr ? 0 : Scope::top()->serial();
  return cell;
}

CellRef state_cell(const CellRef& cell, std::uint32_t derivative, FunctionRef<Array()> value) {
  for (const CellRef& state : cell->states)
    if (state->derivative == derivative) return state;
  auto state = std::make_shared<RefCell>();
  state->home = cell->home;
  state->made = cell->made;
  state->called_in = cell->called_in;
  if (cell->given)
    state->given = state_cell(cell->given, derivative, value);
  else
    state->value = value();
  state->state_of = cell;
  state->derivative = derivative;
  return cell->states.emplace_back(std::move(state));
}

std::uint32_t derivatives_where_made(const CellRef& cell) {
  const RefCell* made = cell.get();
  while (made->given) made = made->given.get();
  for (const RefScope* scope = top; scope != nullptr; scope = scope->below_)
    if (scope->serial_ == made->home) return scope->scope_.ahead().derivatives;
  return 0;
}

Array& place_of(const CellRef& cell) { return value_here(cell); }

void require_distinct(std::string_view op, std::span<const CellRef> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (cells[i] && cells[i] == cells[k])
        throw TreeError(fmt::format("{}: the reference made{} is there under two names: passed twice, or passed and "
                                    "captured.",
                                    op, cells[i]->made.at_text()),
                        "Pass it once, or capture it.");
}

}  // namespace tenon::api_detail
