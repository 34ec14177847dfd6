// What nodes of expressions take, roughly: the one table that plans, passes and code generation compare by. It knows no
// processor.
#pragma once

#include <vector>

#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expr.h"

namespace tenon::kernel {

struct Instruction {
  int instructions;    // of code
  double operations;   // in additions or so, of the time that many of them take
  double nanoseconds;  // of four bytes of an element, where neighbours share vectors
  bool function;       // a polynomial of many instructions: exp, sin, pow and their kin
};
const Instruction& instruction(Unary op);
const Instruction& instruction(Binary op);
const Instruction& instruction(const Expr& e);  // of a node beside its operands; numbers and variables take nothing
inline bool is_function(Unary op) { return instruction(op).function; }
inline bool is_function(Binary op) { return instruction(op).function; }
inline int instructions_of(Unary op) { return instruction(op).instructions; }
inline int instructions_of(Binary op) { return instruction(op).instructions; }
// What a node takes beside its operands, in additions or so; loads, numbers and variables take nothing.
double operations_of(const Expr& e);

// Of expressions that share nodes: each node counts once; offsets are free. Linear in the nodes.
class Instructions {
 public:
  void add(const Expr& e);
  double number() const { return number_; }
  double in_functions() const { return in_functions_; }  // of those, in polynomials
  const std::vector<Expr>& loads() const { return loads_; }

 private:
  Seen seen_;
  std::vector<Expr> loads_;
  double number_ = 0, in_functions_ = 0;
};

}  // namespace tenon::kernel
