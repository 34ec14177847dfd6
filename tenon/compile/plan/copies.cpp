// Why a value is copied: what reads its old elements, or whose memory it lies in. Asked for by reports alone.
#include <algorithm>

#include "tenon/compile/plan/block_planner.h"
#include "tenon/ops/control/update_chain.h"

namespace tenon {
namespace {

struct {
  std::string_view why = "the loop keeps it of each step", advice = "Keep the rows that a step writes instead.";
} constexpr kept_of_each_step;

std::string_view first_update(const UpdateChain& chain) {
  for (const UpdateChain::Link& link : chain.links) {
    if (link.inner.empty()) return link.eqn->op->name;
    for (const UpdateChain& inner : link.inner)
      if (const std::string_view op = first_update(inner); !op.empty()) return op;
  }
  return {};
}

}  // namespace

// The op that first changes some elements on the way from an input to this output, where nothing else is done to it.
std::string_view update_of(const Program& program, std::size_t output) {
  const auto chain = update_chain(program, program.outputs()[output]);
  return chain ? first_update(*chain) : std::string_view();
}

// What keeps the eqn at hand from overwriting its operand x.
kernel::CopyCause BlockPlanner::why_kept(const Eqn& eqn, Var x) const {
  const bool ours = places_[x] && writable_slots_.contains(places_[x]->slot);
  const auto same_memory = [&](Var v) {
    return v == x || (ours && places_[v] && places_[v]->slot == places_[x]->slot);
  };
  if (std::ranges::count_if(eqn.in, same_memory) > 1)
    return {"the same op reads other elements of it, by", eqn.op->name, "Take these from an array of their own.",
            eqn.where};
  for (std::size_t e = at_ + 1; e < program_.eqns().size(); ++e) {
    const Eqn& later = program_.eqns()[e];
    if (std::ranges::find(later.in, x) != later.in.end())
      return {"what it was before is read afterwards by", later.op->name, "Read what is needed of it before.",
              later.where};
  }
  if (last_use_[x] > at_ + 1) {
    const bool inside = around_ != nullptr;
    return {inside ? "what it was before is a result of the step or branch too" : "what it was before is a result too",
            {},
            "Return the new array alone, or the rows that are wanted of the old one.",
            inside ? around_->where : Source()};
  }
  const auto input = std::ranges::find(program_.inputs(), x);
  if (input == program_.inputs().end())
    return {"it lies in memory that another value shares", {}, "Make the array where it is updated.", line_of(x)};
  if (around_ == nullptr) return {.why = "it is the caller's", .advice = "Donate the argument.", .callers = true};
  if (around_->op != &loop_op())
    return {"it is read outside of the branch too", {}, "Read what is needed of it before.", around_->where};
  const auto& p = around_->params.as<LoopParams>();
  const auto at = input - program_.inputs().begin();
  if (at < p.consts)
    return {"each step of the loop begins with it",
            {},
            "Carry it from step to step, or update a part of it.",
            around_->where};
  if (at < p.consts + p.carries) return {kept_of_each_step.why, {}, kept_of_each_step.advice, around_->where};
  return {"the loop goes along an array that it does not write", {}, "Carry the array.", around_->where};
}

kernel::CopyCause BlockPlanner::why_copied(const Eqn& eqn, Var x, std::string_view writer) const {
  kernel::CopyCause cause = why_kept(eqn, x);
  cause.writer = writer;
  cause.array = program_.type(x).text();
  return cause;
}

// Of an output of this block that is copied at its end.
kernel::CopyCause BlockPlanner::why_carried(std::size_t output) const {
  if (planner_.report_ == nullptr) return {};
  const Var v = program_.outputs()[output];
  kernel::CopyCause cause{.why = "a result that is an input too, or another result",
                          .advice = "Let arrays that are updated keep their places among the carries.",
                          .line = around_ == nullptr ? Source() : around_->where,
                          .array = program_.type(v).text()};
  if (around_ == nullptr) return cause;
  if (around_->op == &loop_op()) {
    const bool carry = output < static_cast<std::size_t>(around_->params.as<LoopParams>().carries);
    cause.why = carry ? "the carry of the next step, made while that of this step is read" : kept_of_each_step.why;
    if (!carry) cause.advice = kept_of_each_step.advice;
  }
  // Arrays that change places are all in the way of those among them that are updated.
  if (!update_chain(program_, v)) return cause;
  cause.writer = update_of(program_, output);
  for (std::size_t i = 0; i < program_.outputs().size() && cause.writer.empty(); ++i)
    if (program_.type(program_.outputs()[i]) == program_.type(v)) cause.writer = update_of(program_, i);
  return cause;
}

}  // namespace tenon
