#include "tenon/rewrite/merge_carries.h"

#include <map>
#include <numeric>

#include "tenon/ops/control/loop_edit.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Classes = std::vector<std::size_t>;  // of each carry, the first one of its class

template <class KeyOf>
Classes classes_by(std::size_t carries, KeyOf key_of) {
  std::map<decltype(key_of(std::size_t{})), std::size_t> first;
  Classes classes;
  for (std::size_t k = 0; k < carries; ++k) classes.push_back(first.emplace(key_of(k), k).first->second);
  return classes;
}
bool is_each_apart(const Classes& classes) {
  for (std::size_t k = 0; k < classes.size(); ++k)
    if (classes[k] != k) return false;
  return true;
}

// The body's outputs, numbered so that equal numbers are equal arrays where the carries of each class are equal.
std::vector<Var> numbered_outputs(const Eqn& loop, const LoopParams& p, const Classes& classes) {
  const Program& body = *p.body;
  const LoopRoles roles(p);
  std::vector<Var> number(body.vars());
  std::iota(number.begin(), number.end(), Var(0));
  std::map<std::pair<bool, Var>, Var> operands;  // consts and elements, by what lies outside
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    const Var input = body.inputs()[i];
    number[input] = roles.is_carry(i) ? body.inputs()[roles.consts + classes[i - roles.consts]]
                                      : operands.emplace(std::pair(roles.is_xs(i), loop.in[i]), input).first->second;
  }
  std::map<Hash128, const Eqn*> made;
  for (const Eqn& eqn : body.eqns()) {
    if (effect_of(eqn) != Effect::none || !eqn.new_sizes.empty()) continue;
    Hasher h;
    h(reinterpret_cast<std::uintptr_t>(eqn.op))(eqn.numerics)(eqn.recompute);
    eqn.params.hash(h);
    for (const Var v : eqn.in) h(number[v]);
    const Eqn* first = made.emplace(h.finish(), &eqn).first->second;
    for (std::size_t i = 0; i < eqn.out.size(); ++i) number[eqn.out[i]] = first->out[i];
  }
  std::vector<Var> outputs;
  for (const Var v : body.outputs()) outputs.push_back(number[v]);
  return outputs;
}

// Nothing where no two are equal.
Classes equal_carries(const Eqn& loop, const LoopParams& p) {
  constexpr int most_rounds = 8;
  if (p.cond) return {};
  const LoopRoles roles(p);
  Classes classes = classes_by(roles.carries, [&](std::size_t k) { return loop.in[roles.consts + k]; });
  for (int round = 0; round < most_rounds && !is_each_apart(classes); ++round) {
    const std::vector<Var> next = numbered_outputs(loop, p, classes);
    Classes divided = classes_by(roles.carries, [&](std::size_t k) { return std::pair(classes[k], next[k]); });
    if (divided == classes) return classes;
    classes = std::move(divided);
  }
  return {};
}

Arrays merged(const LoopParams& p, const Classes& classes, const Arrays& operands) {
  const LoopRoles roles(p);
  LoopEdit edit(p, operands);
  for (std::size_t k = 0; k < roles.carries; ++k)
    if (classes[k] != k) edit.drop(roles.consts + k);
  LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
    const auto inputs = p.body->inputs().subspan(roles.consts, roles.carries);
    for (std::size_t k = 0; k < roles.carries; ++k)
      if (classes[k] != k) step.old.set(inputs[k], step.old.get(inputs[classes[k]]));
    step.bind_all();
  });
  for (std::size_t k = 0; k < roles.carries; ++k) built.results[k] = built.results[classes[k]];
  return built.results;
}

}  // namespace

ProgramRef merge_carries(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(program->hash(), [&] { return with_loops(program, merge_carries, equal_carries, merged); });
}

}  // namespace tenon
