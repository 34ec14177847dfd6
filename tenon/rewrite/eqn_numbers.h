// Eqns of a Program by their numbers: who makes each variable and who reads it; and Programs in which some are written
// anew together.
#pragma once

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/replay.h"

namespace tenon {

// Of each variable the number of the eqn that makes it; nowhere of inputs.
inline constexpr std::size_t nowhere = ~std::size_t(0);
std::vector<std::size_t> maker_numbers(const Program& program);
// The literal that fills an array, if one does.
const Eqn* filling_literal(const Program& program, std::span<const std::size_t> maker, Var v);
bool is_filled_with_zero(const Program& program, std::span<const std::size_t> maker, Var v);
// Of each variable the numbers of the eqns that read it, in order, each once.
class EqnReaders {
 public:
  explicit EqnReaders(const Program& program);
  std::span<const std::size_t> operator[](Var v) const {
    return std::span(all_).subspan(begin_[v], begin_[v + 1] - begin_[v]);
  }

 private:
  std::vector<std::size_t> all_, begin_;  // of all variables, one after another; where each one's begin
};
// The eqns behind the eqn `first` that make these variables, in order. What `is_made` is not looked into.
std::set<std::size_t> makers_behind(const Program& program, std::span<const std::size_t> maker, std::size_t first,
                                    std::vector<Var> vars, FunctionRef<bool(std::size_t eqn)> is_made);

// The Program with each of `found` written anew, by a Rebuild of its own: it binds where the eqn begin_of() stood, and
// finishes its k-th end where the k-th of ends_of() stood. What it has bound before its turn it notes in `done`.
template <class Rebuild, class Found, class BeginOf, class EndsOf>
ProgramRef rewritten_together(const Program& program, const std::vector<Found>& found, BeginOf begin_of,
                              EndsOf ends_of) {
  const std::vector<std::size_t> maker = maker_numbers(program);
  std::vector<bool> done(program.eqns().size(), false);
  std::vector<Rebuild> rebuilds;
  std::map<std::size_t, std::size_t> begins;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> ends;  // of which one, which of its ends
  for (const Found& each : found) {
    begins.emplace(begin_of(each), rebuilds.size());
    for (std::size_t k = 0; k < ends_of(each).size(); ++k)
      ends.emplace(ends_of(each)[k].eqn, std::pair(rebuilds.size(), k));
    rebuilds.emplace_back(program, each, maker, done);
  }
  return rewritten(program, [&](Replay& replay) {
    for (std::size_t e = 0; e < program.eqns().size(); ++e) {
      if (const auto begin = begins.find(e); begin != begins.end())
        rebuilds[begin->second].bind(replay);
      else if (const auto end = ends.find(e); end != ends.end())
        rebuilds[end->second.first].finish(end->second.second, replay);
      else if (!done[e])
        replay.bind_eqn(program.eqns()[e]);
    }
  });
}

// The Program with the results that `make` gives for each eqn in which `find` finds something: make(eqn, found,
// replay). The Program itself where it finds nothing.
template <class Find, class Make>
ProgramRef with_replaced(const ProgramRef& program, Find find, Make make) {
  std::map<const Eqn*, decltype(find(program->eqns()[0]))> found;
  for (const Eqn& eqn : program->eqns())
    if (auto each = find(eqn)) found.emplace(&eqn, std::move(each));
  if (found.empty()) return program;
  return rewritten(*program, [&](Replay& replay) {
    for (const Eqn& eqn : program->eqns()) {
      const auto each = found.find(&eqn);
      if (each == found.end()) {
        replay.bind_eqn(eqn);
        continue;
      }
      const EqnScope place(eqn);
      replay.set_results(eqn, make(eqn, *each->second, replay));
    }
  });
}

}  // namespace tenon
