// What mutable references are to traces. A reference is a cell; a trace that uses one from outside has a value of its
// own for it, an input that comes from the enclosing trace, and what was written last becomes an output. Whoever asked
// for the trace makes both one: a carry, or an argument and a result. So no Program knows references.
#pragma once

#include <functional>
#include <memory>

#include "tenon/base/function_ref.h"
#include "tenon/ir/scope.h"

namespace tenon::api_detail {

class RefScope;

struct RefCell {
  Array value;             // in the trace where it was made
  std::uint64_t home = 0;  // of that trace; 0: none was open
  Source made;
  bool frozen = false;
  Source frozen_at;
  // Of an argument of a jitted function: what was given, which is read where the function is called.
  std::shared_ptr<RefCell> given;
  std::uint64_t called_in = 0;
  // What is written loses its derivative.
  bool stops_derivatives = false;
  // Of a state: the reference that it belongs to, and the number of the derivative. States of this one, as far as asked
  // for.
  std::weak_ptr<RefCell> state_of;
  std::uint32_t derivative = 0;
  std::vector<std::shared_ptr<RefCell>> states;
};
using CellRef = std::shared_ptr<RefCell>;

// A reference from outside that a traced function uses.
struct RefUse {
  CellRef cell;
  bool written;
  Source written_at = {};  // the last time
};

// While it lives, the top Scope is one in which a user's function is traced. `refused_by`: who cannot do with writes to
// references from outside; empty: they are told by uses().
class RefScope {
 public:
  RefScope(Scope& scope, std::string_view refused_by);
  ~RefScope();
  RefScope(const RefScope&) = delete;
  RefScope& operator=(const RefScope&) = delete;

  // The references from outside in the order of Scope::fresh_capture, and the last values of those that were written.
  std::vector<RefUse> uses() const;
  Arrays written() const;

 private:
  friend Array& value_here(const CellRef& cell);
  friend void write_cell(const CellRef& cell, Array value);
  struct Use {
    CellRef cell;
    Array value;
    bool written = false;
    Source written_at;
  };
  friend std::uint32_t derivatives_where_made(const CellRef& cell);
  static Array& value_in(RefScope* scope, const CellRef& cell);

  Scope& scope_;
  std::uint64_t serial_;
  RefScope* below_;
  std::string_view refused_by_;
  std::vector<Use> uses_;
};

CellRef make_cell(Array value);
// The value in the top scope. Throws RuntimeError where the reference is frozen, LeakError where the trace in which it
// was made has ended.
Array read_cell(const CellRef& cell);
// A value of the cell's type. Throws also where a trace between here and the cell refuses writes.
void write_cell(const CellRef& cell, Array value);
// The value; what uses the reference afterwards throws. Only in the trace in which it was made.
Array freeze_cell(const CellRef& cell);
// A cell that stands for another one in the trace of a function that is called here.
CellRef stand_in(const CellRef& given);
// A cell of that value, where the given one was made, for what the derivative of that number does to it in reverse mode
// (ref_states.h): always the same one. `value` has a value wherever it is asked for.
CellRef state_cell(const CellRef& cell, std::uint32_t derivative, FunctionRef<Array()> value);
// How many derivatives were ahead where it was made.
std::uint32_t derivatives_where_made(const CellRef& cell);
// Where no trace is open: the place of the value.
Array& place_of(const CellRef& cell);

// Throws TreeError where one cell is there twice.
void require_distinct(std::string_view op, std::span<const CellRef> cells);

}  // namespace tenon::api_detail
