#include "tenon/rewrite/eqn_numbers.h"

#include <algorithm>
#include <numeric>

#include "tenon/ir/literal.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

std::vector<std::size_t> maker_numbers(const Program& program) {
  std::vector<std::size_t> maker(program.vars(), nowhere);
  for (std::size_t e = 0; e < program.eqns().size(); ++e)
    for (Var v : program.eqns()[e].out) maker[v] = e;
  return maker;
}

EqnReaders::EqnReaders(const Program& program) : begin_(program.vars() + 1, 0) {
  std::vector<std::size_t> last(program.vars(), nowhere);
  const auto visit = [&](const auto& see) {
    std::ranges::fill(last, nowhere);
    for (std::size_t e = 0; e < program.eqns().size(); ++e)
      for (const Var v : program.eqns()[e].in)
        if (std::exchange(last[v], e) != e) see(v, e);
  };
  visit([&](Var v, std::size_t) { ++begin_[v + 1]; });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  all_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  visit([&](Var v, std::size_t e) { all_[next[v]++] = e; });
}

std::set<std::size_t> makers_behind(const Program& program, std::span<const std::size_t> maker, std::size_t first,
                                    std::vector<Var> vars, FunctionRef<bool(std::size_t)> is_made) {
  std::set<std::size_t> found;
  while (!vars.empty()) {
    const std::size_t e = maker[vars.back()];
    vars.pop_back();
    if (e == nowhere || e < first || is_made(e) || !found.insert(e).second) continue;
    vars.insert(vars.end(), program.eqns()[e].in.begin(), program.eqns()[e].in.end());
  }
  return found;
}

const Eqn* filling_literal(const Program& program, std::span<const std::size_t> maker, Var v) {
  const auto made = [&](Var v) { return maker[v] == nowhere ? nullptr : &program.eqns()[maker[v]]; };
  const Eqn* eqn = made(v);
  while (eqn != nullptr && eqn->op == &broadcast_op()) eqn = made(eqn->in[0]);
  return eqn != nullptr && eqn->op == &literal_op() ? eqn : nullptr;
}

bool is_filled_with_zero(const Program& program, std::span<const std::size_t> maker, Var v) {
  const Eqn* number = filling_literal(program, maker, v);
  return number != nullptr && literal_value(number->params).as_complex() == 0.0;
}

}  // namespace tenon
