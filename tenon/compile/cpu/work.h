// What computing expressions takes, for choosing how wide a loop over them is.
#pragma once

#include <set>
#include <unordered_map>

#include "tenon/kernel/function.h"

namespace tenon::cpu {

// Which nodes are the sine and the cosine of an angle, by the angle's node.
struct SineAndCosine {
  const kernel::Expr::Node *sine = nullptr, *cosine = nullptr;
  bool both() const { return sine != nullptr && cosine != nullptr; }
};
using Angles = std::unordered_map<const void*, SineAndCosine>;

struct Work {
  std::size_t element_bytes = 1;  // of the largest element that is loaded or computed, indices aside
  int instructions = 0;           // a register, roughly
  int functions = 0;              // of reals, each many instructions
  std::set<kernel::SlotId> reads;
  Angles angles;
  std::set<const kernel::Expr::Node*> seen;  // nodes are shared: each counts once
  std::set<const kernel::Expr::Node*> indices;
};
void add_work(const kernel::Expr& e, Work& work);
void add_work(const std::vector<kernel::Store>& stores, Work& work);  // of what they store
// So many are inlined in a function; more are calls. Inlined, LLVM's register allocator takes longer for each the more
// there are, up to seconds: their coefficients are live all along. A loop along a row writes its body twice.
inline constexpr int most_inlined_functions = 16, copies_of_rows = 2;
inline bool calls_functions(const Work& work, int copies) {
  return work.functions * copies > most_inlined_functions * copies_of_rows;
}

}  // namespace tenon::cpu
