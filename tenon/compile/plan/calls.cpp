#include "tenon/compile/plan/calls.h"

#include <algorithm>

#include "tenon/ir/op.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

// What a value is, as an expression of what is stored.
struct Combined {
  std::size_t after = 0;  // of the calls, numbered from 1, the last before its eqn; 0: it waits for none
  double elements = 0;    // of the arrays it reads that wait for a call: these live until it is computed
};

}  // namespace

bool has_many_calls(const Program& program) {
  constexpr std::ptrdiff_t many = 16;
  return std::ranges::count_if(program.eqns(), [](const Eqn& eqn) { return rule_of<LowerCall>(*eqn.op) != nullptr; }) >=
         many;
}

std::vector<bool> ends_at_calls(const Program& program, std::span<const ElementForm> forms) {
  std::vector<bool> ends(program.vars(), false);
  if (!has_many_calls(program)) return ends;
  std::vector<Combined> values(program.vars());
  std::size_t calls = 0;
  const auto size = [&](Var v) { return kernel::estimate(program.type(v).shape.elements()); };
  const auto stored = [&](Var v) { values[v].elements = values[v].after > 0 ? size(v) : 0; };
  for (const Eqn& eqn : program.eqns()) {
    const bool element = rule_of<LowerElement>(*eqn.op) != nullptr, call = rule_of<LowerCall>(*eqn.op) != nullptr;
    if (call) ++calls;
    const bool waits = call || std::ranges::any_of(eqn.in, [&](Var v) { return values[v].after > 0; });
    Combined combined{waits ? calls : 0};
    for (std::size_t i = 0; element && i < eqn.in.size(); ++i) {
      const Var v = eqn.in[i];
      const auto before = std::span(eqn.in).first(i);
      if (std::ranges::find(before, v) != before.end()) continue;
      if (values[v].after > 0 && values[v].after < calls && !forms[v].view && size(v) < values[v].elements) {
        ends[v] = true;
        stored(v);
      }
      combined.elements += values[v].elements;
    }
    for (const Var v : eqn.out) {
      values[v] = combined;
      if (!element) stored(v);
    }
  }
  return ends;
}

}  // namespace tenon
