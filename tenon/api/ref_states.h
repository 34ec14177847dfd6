// What derivatives do to mutable references from outside. What a function writes while its values are computed is
// written once they are. What the backward of a custom_vjp reads and writes is told in states: the value that a
// reference has as reverse mode comes by is the cotangent of a variable, the state, that every such call takes and
// returns as it is. So loops, branches and calls hand it on, and reverse mode runs through the calls from the last one
// to the first.
#pragma once

#include "tenon/api/trace.h"

namespace tenon::api_detail {

// The value of a reference as a cotangent: what has none is numbers of f64, 64 bits two of them.
Type state_type(const Type& type);
Array as_state(const Array& value);
Array from_state(const Array& state, const Type& type);

// The cell of the state that a reference has for the derivative of that number. Its value is not read.
CellRef state_of(const CellRef& cell, std::uint32_t derivative);

// The references that a function differentiated by the innermost derivative uses.
class RefsOfDerivative {
 public:
  // `active`: which arguments are differentiated. Throws DifferentiationError where what is written has a tangent.
  RefsOfDerivative(std::string_view op, const TracedFunction& f, const std::vector<bool>& active);
  // Throws where there are states: the transformation runs no backward, or several at once.
  void refuse_states(std::string_view op) const;
  // The masks of operands and of outputs, with the states.
  std::vector<bool> with_states_in(std::vector<bool> operands) const;
  std::vector<bool> with_states_out(std::vector<bool> outputs) const;
  // Takes what the function wrote off its outputs, and writes it.
  void write(Arrays& outputs) const;
  // As reverse mode begins: the cotangents of the states.
  Arrays begin() const;
  // Takes what they became off the cotangents of the operands, and writes it.
  void end(Arrays& cotangents) const;
  void hash(Hasher& hasher) const;

 private:
  std::size_t results_;
  std::vector<RefUse> written_;  // of each output behind the results; of a state the cell is null
  std::vector<CellRef> cells_;   // that have states
  std::vector<std::size_t> state_operands_, state_outputs_;
};

}  // namespace tenon::api_detail
