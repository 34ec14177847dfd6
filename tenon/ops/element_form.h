// What computing an element of an eqn's result takes: found by lowering it once, with loads of places.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/ir/op.h"
#include "tenon/ir/program.h"
#include "tenon/kernel/expr.h"

namespace tenon {

struct ElementForm {
  double arithmetic = 0;  // of the operations, those on what is read: others choose among elements
  double operations = 1;  // simple ones, at least 1; what reads where data say counts as many of them
  std::optional<kernel::Unary> of_one = {};   // what it does to its operand, at its own index
  std::optional<kernel::Binary> of_two = {};  // what it does to its two operands, at its own index
  bool view = false;      // the element of the first operand at an index that no data say, and nothing else
  bool several = false;   // it reads several elements of the first operand
  bool by_parts = false;  // what it computes depends on which part of a whole the index is, as bits of a byte
  int computed = 0;       // nodes that compute something of what is read
  // Where it reads, if that was asked for, of an op that does not read each operand at its own index and there alone.
  struct Read {
    std::size_t operand;
    Hash128 map;      // of the index, as an expression of the result's; zeros: the result's own
    double elements;  // how many of the result's need it, in a nest that is cut where its own index decides
    double times;     // how many of these read the same one, at most
    bool affine;      // each index is an axis of the result, moved and scaled, or a number
  };
  std::vector<Read> reads = {};
  int cuts = 0;  // how many times such a nest is cut
  static constexpr double unbounded = std::numeric_limits<double>::infinity();
};
// Of an eqn with a LowerElement; of others an element is one operation. Linear in the nodes of its expression, times
// the pieces of its nest where reads are asked for.
ElementForm element_form(const Program& program, const Eqn& eqn, bool with_reads = false);

// Whether each element of the result is computed by itself.
inline bool is_element(const Eqn& eqn) { return rule_of<LowerElement>(*eqn.op) != nullptr; }
// Whether a Program does nothing but compute elements and reduce them. Linear in its eqns.
bool is_of_elements(const Program& program);

}  // namespace tenon
