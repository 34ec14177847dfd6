#include "tenon/ops/control/loop_edit.h"

#include <algorithm>
#include <map>

#include "tenon/ir/adapt.h"

namespace tenon {
namespace {

constexpr std::size_t at(LoopEdit::Kind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

LoopEdit::LoopEdit(LoopParams params, Arrays operands)
    : params_(std::move(params)),
      roles_(params_),
      operands_(std::move(operands)),
      operand_stays_(operands_.size(), true),
      result_stays_(roles_.results(), true) {}

void LoopEdit::drop(std::size_t operand) {
  operand_stays_[operand] = false;
  if (roles_.is_carry(operand)) drop_result(operand - roles_.consts);
}

LoopEdit::Added LoopEdit::add(Kind kind, const Array& x) {
  Arrays& all = added_[at(kind)];
  all.push_back(x);
  return {kind, all.size() - 1};
}

std::size_t LoopEdit::Step::stack(Array value) {
  stacked_.push_back(std::move(value));
  return stacked_.size() - 1;
}

void LoopEdit::Step::bind_all() {
  for (const Eqn& eqn : old.program().eqns()) old.bind_eqn(eqn);
}

// Of each input of the new body the old one's that it is; nothing for those that are added.
std::vector<std::optional<std::size_t>> LoopEdit::old_of_new() const {
  std::vector<std::optional<std::size_t>> from;
  const auto those = [&](std::size_t first, std::size_t limit, Kind kind) {
    for (std::size_t i = first; i < limit; ++i)
      if (operand_stays_[i]) from.emplace_back(i);
    from.insert(from.end(), added_[at(kind)].size(), std::nullopt);
  };
  const std::size_t first_xs = roles_.consts + roles_.carries;
  those(0, roles_.consts, Kind::constant);
  those(roles_.consts, first_xs, Kind::carry);
  those(first_xs, roles_.operands(), Kind::xs);
  return from;
}

// The body, from inputs of these types to its outputs in the order of their kinds. `stacks` become the places among
// these of the values that are stacked: a value that is there already is not stacked twice.
TraceResult LoopEdit::traced_body(std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                                  FunctionRef<void(Step&)> write, std::vector<std::size_t>& stacks) const {
  const Program& body = *params_.body;
  Scope scope;
  Step step(body, params_.body_sizes);
  std::size_t kind = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Array input = scope.input(types[i]);
    if (from[i]) {
      step.old.set(body.inputs()[*from[i]], input);
      continue;
    }
    while (step.added_[kind].size() == added_[kind].size()) ++kind;
    step.added_[kind].push_back(input);
  }
  step.next_.resize(added_[at(Kind::carry)].size());
  write(step);
  Arrays outputs;
  for (std::size_t i = 0; i < roles_.carries; ++i)
    if (has_result(i)) outputs.push_back(step.old.get(body.outputs()[i]));
  outputs.insert(outputs.end(), step.next_.begin(), step.next_.end());
  std::map<Var, std::size_t> places;  // of what is stacked
  const auto place_of = [&](const Array& x) {
    return x.traced() ? places.emplace(x.traced()->var, outputs.size()).first->second : outputs.size();
  };
  for (std::size_t i = roles_.carries; i < roles_.results(); ++i) {
    if (!has_result(i)) continue;
    place_of(step.old.get(body.outputs()[i]));
    outputs.push_back(step.old.get(body.outputs()[i]));
  }
  for (const Array& x : step.stacked_) {
    stacks.push_back(place_of(x));
    if (stacks.back() == outputs.size()) outputs.push_back(x);
  }
  if (params_.lanes) outputs.push_back(step.old.get(body.outputs().back()));
  return scope.finish(outputs, body.name());
}

LoopEdit::Built LoopEdit::build(FunctionRef<void(Step&)> write) const {
  const std::vector<std::optional<std::size_t>> from = old_of_new();
  const std::size_t carries = added_[at(Kind::carry)].size();
  LoopParams p = params_;
  const auto stay = [&](std::size_t first, std::size_t count) {
    const auto begin = operand_stays_.begin() + static_cast<std::ptrdiff_t>(first);
    return static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(count), true));
  };
  p.consts = static_cast<std::int64_t>(stay(0, roles_.consts) + added_[at(Kind::constant)].size());
  p.carries = static_cast<std::int64_t>(stay(roles_.consts, roles_.carries) + carries);
  Arrays more, operands;  // what is added, in the order of its kinds
  for (const Arrays& kind : added_) more.insert(more.end(), kind.begin(), kind.end());
  auto next = more.begin();
  for (const auto& i : from) operands.push_back(i ? operands_[*i] : *next++);
  const std::vector<Type> types = body_input_types(p, types_of(operands));
  std::vector<std::size_t> stacks;
  TraceResult traced = traced_body(from, types, write, stacks);
  p.body = std::move(traced.program);
  p.body_sizes = std::move(traced.sizes);
  if (p.cond) {
    const auto state = static_cast<std::size_t>(p.consts + p.carries);
    const std::size_t only = 0;
    p.cond = adapt(*p.cond, std::span(from).first(state), types, {&only, 1}, p.cond_sizes);
  }
  const Arrays bound = loop(std::move(p), operands);
  Built built;
  auto made = bound.begin();
  const auto results = [&](std::size_t first, std::size_t limit) {
    for (std::size_t i = first; i < limit; ++i) built.results.push_back(has_result(i) ? *made++ : Array());
  };
  results(0, roles_.carries);
  for (std::size_t i = 0; i < carries; ++i) built.carries.push_back(*made++);
  results(roles_.carries, roles_.results());
  for (const std::size_t place : stacks) built.stacks.push_back(bound[place]);
  return built;
}

}  // namespace tenon
