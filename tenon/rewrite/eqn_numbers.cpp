#include "tenon/rewrite/eqn_numbers.h"

namespace tenon {

std::vector<std::size_t> maker_numbers(const Program& program) {
  std::vector<std::size_t> maker(program.vars(), nowhere);
  for (std::size_t e = 0; e < program.eqns().size(); ++e)
    for (Var v : program.eqns()[e].out) maker[v] = e;
  return maker;
}

std::vector<std::vector<std::size_t>> reader_numbers(const Program& program) {
  std::vector<std::vector<std::size_t>> readers(program.vars());
  for (std::size_t e = 0; e < program.eqns().size(); ++e)
    for (Var v : program.eqns()[e].in)
      if (readers[v].empty() || readers[v].back() != e) readers[v].push_back(e);
  return readers;
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

}  // namespace tenon
