#include "tenon/ops/control/update_chain.h"

#include <algorithm>

#include "tenon/ir/estimate.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/guard.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

constexpr double many_steps = 16;

bool is(const OpInfo& op, LowerStructure::Kind kind) {
  const auto* structure = rule_of<LowerStructure>(op);
  return structure != nullptr && structure->kind == kind;
}

// Whether a size is what a Program is given, not one that it finds: such sizes are known where the Program is read.
bool is_given(const Program& program, const Dim& size) {
  bool given = true;
  size.visit_variables([&](SizeVar v) { given = given && std::ranges::count(program.size_params(), v) > 0; });
  return given;
}

using Link = UpdateChain::Link;

// The operand that every branch carries on to this result.
std::optional<Link> cond_link(const Program& program, const Eqn& eqn, std::size_t result) {
  Link link{&eqn, 0, result, {}, {}};
  const auto& p = eqn.params.as<CondParams>();
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    const ProgramRef& branch = p.branches[b];
    auto chain = are_given(program, p.sizes[b]) ? update_chain(*branch, branch->outputs()[result]) : std::nullopt;
    if (!chain || (!link.inner.empty() && chain->input + 1 != link.operand)) return std::nullopt;
    link.operand = chain->input + 1;
    link.inner.push_back(std::move(*chain));
    link.inner_of.push_back(branch.get());
  }
  return link;
}

std::optional<Link> loop_link(const Program& program, const Eqn& eqn, std::size_t result) {
  const auto& p = eqn.params.as<LoopParams>();
  if (p.lanes || result >= static_cast<std::size_t>(p.carries) || !are_given(program, p.body_sizes) ||
      (p.length && !is_given(program, *p.length)))
    return std::nullopt;
  auto chain = update_chain(*p.body, p.body->outputs()[result]);
  const std::size_t operand = static_cast<std::size_t>(p.consts) + result;
  if (!chain || chain->input != operand) return std::nullopt;
  return Link{&eqn, operand, result, {std::move(*chain)}, {p.body.get()}};
}

std::optional<Link> link_of(const Program& program, const Eqn& eqn, std::size_t result) {
  if (!eqn.new_sizes.empty()) return std::nullopt;
  if (is_update(*eqn.op)) return Link{&eqn, 0, 0, {}, {}};
  if (eqn.op == &cond_op()) return cond_link(program, eqn, result);
  if (eqn.op == &loop_op()) return loop_link(program, eqn, result);
  return std::nullopt;
}

std::optional<double> bytes_of(const Program& program, Var v) {
  const Type& type = program.type(v);
  if (!type.is_array() || !are_given(program, type.shape.dims())) return std::nullopt;
  return estimated_bytes(type);
}

// Bytes that taking back one pass over a chain, or a link of it, needs; nothing where the Program finds sizes of it.
// Loops whose number of steps data decide count as many steps.
std::optional<double> kept_bytes(const Program& program, const UpdateChain& chain);
std::optional<double> kept_bytes(const Program& program, const Link& link) {
  double bytes = 0;
  const auto add = [&](std::optional<double> more, double times) {
    if (more) bytes += *more * times;
    return more.has_value();
  };
  if (link.inner.empty()) {
    for (Var v : std::span(link.eqn->in).subspan(1))
      if (!add(bytes_of(program, v), 1)) return std::nullopt;
    return bytes;
  }
  double times = 1;
  if (link.eqn->op == &loop_op()) {
    const auto& p = link.eqn->params.as<LoopParams>();
    times = p.length ? estimate(*p.length) : many_steps;
  }
  for (std::size_t i = 0; i < link.inner.size(); ++i)
    if (!add(kept_bytes(*link.inner_of[i], link.inner[i]), times)) return std::nullopt;
  return bytes;
}

std::optional<double> kept_bytes(const Program& program, const UpdateChain& chain) {
  double bytes = 0;
  for (const Link& link : chain.links) {
    const auto more = kept_bytes(program, link);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

std::size_t kept_arrays(const UpdateChain& chain) {
  std::size_t n = 0;
  for (const Link& link : chain.links) n += kept_arrays(link);
  return n;
}

// Where an update writes: its operands but for the array and the updates.
std::span<const Array> places_of(const Eqn& eqn, std::span<const Array> operands) {
  return is_scatter(*eqn.op) ? operands.subspan(1, 1) : operands.subspan(2);
}

Arrays update_keeping(const Eqn& eqn, Replay& replay, KeptRows rows) {
  const Arrays operands = replay.operands(eqn);
  const Params params = replay.params(eqn);
  const auto rows_in = [&](const Array& x) {
    return is_scatter(*eqn.op) ? rows_of_scatter(params, x, operands[1], operands[2].shape())
                               : dynamic_slice(x, std::span(operands).subspan(2), operands[1].shape().dims());
  };
  Arrays kept(1);
  if (rows == KeptRows::before) kept[0] = rows_in(operands[0]);
  replay.bind_eqn(eqn);
  if (rows == KeptRows::after) kept[0] = rows_in(replay.get(eqn.out[0]));
  for (const Array& place : places_of(eqn, operands)) kept.push_back(place);
  return kept;
}

// The Program of a region with its links bound keeping; what is kept follows its outputs.
TraceResult trace_keeping(const Program& program, std::span<const Dim> sizes, std::span<const Type> inputs,
                          const UpdateChain& chain, KeptRows rows) {
  Scope scope;
  Replay replay(program, sizes);
  for (std::size_t i = 0; i < inputs.size(); ++i) replay.set(program.inputs()[i], scope.input(inputs[i]));
  Arrays kept;
  for (const Eqn& eqn : program.eqns()) {
    const auto link = std::ranges::find(chain.links, &eqn, &Link::eqn);
    if (link == chain.links.end()) {
      replay.bind_eqn(eqn);
      continue;
    }
    const Arrays more = bind_keeping(*link, replay, rows);
    kept.insert(kept.end(), more.begin(), more.end());
  }
  Arrays outputs;
  for (Var v : program.outputs()) outputs.push_back(replay.get(v));
  outputs.insert(outputs.end(), kept.begin(), kept.end());
  return scope.finish(outputs, program.name());
}

// Every branch keeps what all of them keep: zeros for the others.
Arrays cond_keeping(const Link& link, Replay& replay, KeptRows rows) {
  const Eqn& eqn = *link.eqn;
  const Arrays operands = replay.operands(eqn);
  CondParams p = replay.params(eqn).as<CondParams>();
  const std::vector<Type> types = types_of(std::span(operands).subspan(1));
  const std::size_t results = eqn.out.size();
  std::vector<TraceResult> traced;
  std::vector<Type> kept_types;
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    traced.push_back(trace_keeping(*p.branches[b], p.sizes[b], types, link.inner[b], rows));
    const std::vector<Type> out = traced[b].program->output_types();
    kept_types.insert(kept_types.end(), out.begin() + static_cast<std::ptrdiff_t>(results), out.end());
  }
  std::size_t from = 0;
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    Scope scope;
    Arrays inputs;
    for (const Type& t : types) inputs.push_back(scope.input(t));
    const Arrays own = inline_program(*traced[b].program, traced[b].sizes, inputs);
    Arrays outputs(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(results));
    for (std::size_t i = 0; i < kept_types.size(); ++i) {
      const bool is_own = i >= from && i < from + own.size() - results;
      outputs.push_back(is_own ? own[results + i - from] : zeros_of(kept_types[i]));
    }
    from += own.size() - results;
    const TraceResult whole = scope.finish(outputs, p.branches[b]->name());
    p.branches[b] = whole.program;
    p.sizes[b] = whole.sizes;
  }
  const Arrays all = cond(std::move(p), operands[0], std::span(operands).subspan(1));
  replay.set_results(eqn, std::span(all).first(eqn.out.size()));
  Arrays kept{operands[0]};
  kept.insert(kept.end(), all.begin() + static_cast<std::ptrdiff_t>(results), all.end());
  return kept;
}

Arrays loop_keeping(const Link& link, Replay& replay, KeptRows rows) {
  const Eqn& eqn = *link.eqn;
  const Arrays operands = replay.operands(eqn);
  LoopParams p = replay.params(eqn).as<LoopParams>();
  const TraceResult body =
      trace_keeping(*p.body, p.body_sizes, body_input_types(p, types_of(operands)), link.inner[0], rows);
  p.body = body.program;
  p.body_sizes = body.sizes;
  const Arrays all = loop(std::move(p), operands);
  replay.set_results(eqn, std::span(all).first(eqn.out.size()));
  return {all.begin() + static_cast<std::ptrdiff_t>(eqn.out.size()), all.end()};
}

Array pass_cond(const Link& link, const Replay& sizes, const Array& x, std::span<const Array> kept, KeptRows rows) {
  const Params of_here = sizes.params(*link.eqn);
  const auto& of = of_here.as<CondParams>();
  CondParams p;
  Arrays operands{x};
  operands.insert(operands.end(), kept.begin() + 1, kept.end());
  std::size_t from = 1;
  for (std::size_t b = 0; b < link.inner.size(); ++b) {
    const UpdateChain& chain = link.inner[b];
    const Replay inner(*link.inner_of[b], of.sizes[b]);
    Scope scope;
    Arrays inputs;
    for (const Array& a : operands) inputs.push_back(scope.input(a.type()));
    const std::size_t own = kept_arrays(chain);
    const Array passed =
        pass_links(chain, inner, 0, chain.links.size(), inputs[0], std::span(inputs).subspan(from, own), rows);
    from += own;
    const TraceResult branch = scope.finish(Arrays{passed});
    p.branches.push_back(branch.program);
    p.sizes.push_back(branch.sizes);
  }
  return cond(std::move(p), kept[0], operands)[0];
}

Array pass_loop(const Link& link, const Replay& sizes, const Array& x, std::span<const Array> kept, KeptRows rows) {
  if (kept.empty()) return x;  // its steps change nothing
  const Params of_here = sizes.params(*link.eqn);
  const auto& of = of_here.as<LoopParams>();
  const Replay inner(*link.inner_of[0], of.body_sizes);
  LoopParams p;
  p.reverse = of.reverse != (rows == KeptRows::before);
  p.carries = 1;
  if (!stacks_lists(of)) p.length = of.length;
  Arrays operands{x};
  operands.insert(operands.end(), kept.begin(), kept.end());
  const TraceResult body = [&] {
    Scope scope;
    Arrays inputs;
    for (const Type& t : body_input_types(p, types_of(operands))) inputs.push_back(scope.input(t));
    const UpdateChain& chain = link.inner[0];
    return scope.finish(
        Arrays{pass_links(chain, inner, 0, chain.links.size(), inputs[0], std::span(inputs).subspan(1), rows)});
  }();
  p.body = body.program;
  p.body_sizes = body.sizes;
  return loop(std::move(p), operands)[0];
}

}  // namespace

bool are_given(const Program& program, std::span<const Dim> sizes) {
  return std::ranges::all_of(sizes, [&](const Dim& d) { return is_given(program, d); });
}

bool is_product(const OpInfo& op) { return is(op, LowerStructure::Kind::product); }
bool is_scatter(const OpInfo& op) { return is(op, LowerStructure::Kind::scatter); }
bool may_overwrite(const Eqn& eqn, std::size_t operand) {
  const auto* s = rule_of<LowerStructure>(*eqn.op);
  if (s == nullptr || s->kind == LowerStructure::Kind::product) return false;
  if (eqn.op == &cond_op()) {
    const auto& branches = eqn.params.as<CondParams>().branches;
    if (operand == 0) return false;
    if (branches[0]->type(branches[0]->inputs()[operand - 1]).is_list()) return true;
    return std::ranges::count(origins(branches), std::optional(operand - 1)) > 0;
  }
  return eqn.op != &loop_op() || LoopRoles(eqn.params.as<LoopParams>()).is_carry(operand);
}
bool is_update(const OpInfo& op) { return is_scatter(op) || is(op, LowerStructure::Kind::update_slice); }

std::optional<RowsSet> rows_set(const Eqn& eqn, const Program& program) {
  const auto type = [&](std::size_t operand) { return program.type(eqn.in[operand]); };
  if (is_scatter(*eqn.op)) return rows_set_by_scatter(eqn.params, type(0), type(1), type(2));
  return is_update(*eqn.op) ? rows_set_by_update_slice(type(0), type(1)) : std::nullopt;
}

std::optional<RowsCombined> rows_combined(const Eqn& eqn, const Program& program) {
  const auto type = [&](std::size_t operand) { return program.type(eqn.in[operand]); };
  return is_scatter(*eqn.op) ? rows_combined_by_scatter(eqn.params, type(0), type(1), type(2)) : std::nullopt;
}

Array guarded_update(const OpInfo& op, const Params& params, Arrays operands, const Array& running) {
  return (is_scatter(op) ? guarded_scatter : guarded_update_slice)(params, std::move(operands), running);
}

std::optional<UpdateChain> update_chain(const Program& program, Var to) {
  UpdateChain chain{0, {to}, {}};
  for (auto eqn = program.eqns().rbegin(); eqn != program.eqns().rend(); ++eqn) {
    const auto made = std::ranges::find(eqn->out, to);
    if (made == eqn->out.end()) continue;
    auto link = link_of(program, *eqn, static_cast<std::size_t>(made - eqn->out.begin()));
    if (!link) return std::nullopt;
    to = eqn->in[link->operand];
    chain.links.push_back(std::move(*link));
    chain.values.push_back(to);
  }
  const auto input = std::ranges::find(program.inputs(), to);
  if (input == program.inputs().end()) return std::nullopt;
  chain.input = static_cast<std::size_t>(input - program.inputs().begin());
  std::ranges::reverse(chain.links);
  std::ranges::reverse(chain.values);
  return chain;
}

std::vector<UpdatedCarry> updated_carries(const Program& body, std::size_t first_carry, std::size_t carries) {
  std::vector<UpdatedCarry> all;
  for (std::size_t k = 0; k < carries; ++k) {
    auto chain = update_chain(body, body.outputs()[k]);
    if (!chain || chain->links.empty() || chain->input != first_carry + k) continue;
    const auto kept = kept_bytes(body, *chain), whole = bytes_of(body, body.outputs()[k]);
    if (kept && whole && 2 * *kept < *whole) all.push_back({std::move(*chain), *kept});
  }
  return all;
}

Arrays bind_keeping(const Link& link, Replay& replay, KeptRows rows) {
  const EqnScope place(*link.eqn);
  if (link.eqn->op == &cond_op()) return cond_keeping(link, replay, rows);
  if (link.eqn->op == &loop_op()) return loop_keeping(link, replay, rows);
  return update_keeping(*link.eqn, replay, rows);
}

std::size_t kept_arrays(const Link& link) {
  if (is_update(*link.eqn->op)) return is_scatter(*link.eqn->op) ? 2 : link.eqn->in.size() - 1;
  std::size_t n = link.eqn->op == &cond_op() ? 1 : 0;
  for (const UpdateChain& chain : link.inner) n += kept_arrays(chain);
  return n;
}

Array pass_link(const Link& link, const Replay& sizes, const Array& x, std::span<const Array> kept, KeptRows rows) {
  const EqnScope place(*link.eqn);
  if (link.eqn->op == &cond_op()) return pass_cond(link, sizes, x, kept, rows);
  if (link.eqn->op == &loop_op()) return pass_loop(link, sizes, x, kept, rows);
  if (is_scatter(*link.eqn->op)) return with_rows_of_scatter(sizes.params(*link.eqn), x, kept[1], kept[0]);
  return dynamic_update_slice(x, kept[0], kept.subspan(1));
}

Array pass_links(const UpdateChain& chain, const Replay& sizes, std::size_t first, std::size_t last, Array x,
                 std::span<const Array> kept, KeptRows rows) {
  std::vector<std::size_t> from{0};
  for (const Link& link : chain.links) from.push_back(from.back() + kept_arrays(link));
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t at = rows == KeptRows::before ? last - 1 - (i - first) : i;
    x = pass_link(chain.links[at], sizes, x, kept.subspan(from[at], from[at + 1] - from[at]), rows);
  }
  return x;
}

}  // namespace tenon
