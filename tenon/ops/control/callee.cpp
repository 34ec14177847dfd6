#include "tenon/ops/control/callee.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/replay.h"

namespace tenon {
namespace {

bool may_agree(const Type& a, const Type& b) {
  if (!a.is_array() || !b.is_array()) return a == b;
  if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (a.shape[i].known() && b.shape[i].known() && a.shape[i] != b.shape[i]) return false;
  return true;
}

std::string list_text(std::span<const Type> types) {
  std::string text;
  for (const Type& t : types) text += (text.empty() ? "" : ", ") + t.text();
  return "(" + text + ")";
}

// A size of the second part is one of the function's own, or a residual's type shows it.
std::vector<Dim> second_sizes(const Program& second, const std::vector<std::optional<Dim>>& given,
                              const SizeBinding& own, std::span<const Type> types) {
  SizeBinding shown;
  for (std::size_t i = 0; i < types.size(); ++i) unify(second.type(second.inputs()[i]), types[i], shown);
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < given.size(); ++i)
    sizes.push_back(given[i] ? substitute(*given[i], own) : shown.at(second.size_params()[i]));
  return sizes;
}

}  // namespace

Mask complement(Mask mask) {
  mask.flip();
  return mask;
}

Mask with_tangents(std::span<const Type> types) {
  Mask mask;
  for (const Type& t : types) mask.push_back(is_differentiable(leaf_type(t).dtype));
  return mask;
}

SizeBinding callee_sizes(const Program& program, std::span<const Dim> sizes) {
  SizeBinding binding;
  for (std::size_t i = 0; i < sizes.size(); ++i) binding.emplace(program.size_params()[i], sizes[i]);
  return binding;
}

bool is_call(const OpInfo& op) { return op.params == &describe::params_ops<CallParams>; }

Params call_params(ProgramRef program, std::vector<Dim> sizes) {
  return make_params(CallParams{std::move(program), std::move(sizes)});
}

std::vector<Type> callee_types(std::string_view op, const ProgramRef& callee, std::span<const Dim> sizes,
                               std::span<const Type> in, TypeContext& context) {
  if (!callee) throw VerifyError(fmt::format("{}: there is no Program.", op));
  const Program& program = *callee;
  if (in.size() != program.inputs().size() || sizes.size() != program.size_params().size())
    throw VerifyError(fmt::format("{}: the operands are not as many as the Program's inputs.", op));
  SizeBinding binding = callee_sizes(program, sizes);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!unify(program.type(program.inputs()[i]), in[i], binding))
      throw VerifyError(fmt::format("{}: operand {} is {}, the Program takes {}.", op, i, in[i].text(),
                                    program.type(program.inputs()[i]).text()));
  // Sizes that the callee's data decide are new here.
  OutsideSizes sizes_here(std::move(binding), [&](const Dim& size) {
    for (const SizeFact& fact : program.size_facts()) {
      const auto input = std::ranges::find(program.inputs(), fact.of);
      if (fact.size == size && input != program.inputs().end())
        return context.new_size(fact.key, static_cast<std::size_t>(input - program.inputs().begin()));
    }
    return context.new_size("call" + program.hash().hex() + size.text());
  });
  std::vector<Type> out;
  for (Var v : program.outputs()) sizes_here.see(program.type(v));
  for (Var v : program.outputs()) out.push_back(sizes_here.type(program.type(v)));
  return out;
}

void check_callee(std::string_view op, std::string_view role, const ProgramRef& program, std::span<const Dim> sizes,
                  std::span<const Type> in, std::span<const Type> out) {
  if (!program || sizes.size() != program->size_params().size())
    throw VerifyError(fmt::format("{}: there is no {}, or sizes of it are missing.", op, role));
  SizeBinding binding = callee_sizes(*program, sizes);
  const auto agree = [&](std::span<const Type> have, std::span<const Type> want) {
    if (have.size() != want.size()) return false;
    for (std::size_t i = 0; i < have.size(); ++i)
      if (!may_agree(substitute(have[i], binding), want[i])) return false;
    return true;
  };
  const std::vector<Type> takes = program->input_types(), gives = program->output_types();
  if (agree(takes, in) && agree(gives, out)) return;
  throw VerifyError(fmt::format("{}: the {} is {} -> {}, not {} -> {}.", op, role, list_text(takes), list_text(gives),
                                list_text(in), list_text(out)));
}

JvpResult callee_jvp(const OpInfo& op, const CallParams& p, const JvpArgs& args) {
  Mask active_in;
  Arrays operands(args.primals.begin(), args.primals.end());
  for (const MaybeArray& t : args.tangents) {
    active_in.push_back(t.has_value());
    if (t) operands.push_back(*t);
  }
  const Mask reached = args.recurse.reach(p.program, active_in), real = with_tangents(p.program->output_types());
  Mask active_out;
  for (std::size_t i = 0; i < reached.size(); ++i) active_out.push_back(reached[i] && real[i]);
  const ProgramRef program = args.recurse.jvp(p.program, active_in, active_out);
  const Arrays results = bind_op(op, call_params(program, p.sizes), operands);
  JvpResult result{{results.begin(), results.begin() + static_cast<std::ptrdiff_t>(active_out.size())}, {}};
  std::size_t at = active_out.size();
  for (bool active : active_out) result.tangents.push_back(active ? MaybeArray(results[at++]) : std::nullopt);
  return result;
}

void callee_transpose(const OpInfo& op, const CallParams& p, const TransposeArgs& args) {
  TransposeRequest request;
  Arrays operands;
  for (const TransposeOperand& o : args.operands) {
    request.linear_in.push_back(o.linear());
    if (!o.linear()) operands.push_back(*o.value);
  }
  for (const MaybeArray& ct : args.cotangents) {
    request.cotangents.push_back(ct.has_value());
    if (ct) operands.push_back(*ct);
  }
  const ProgramRef program = args.recurse.transpose(p.program, request);
  const Arrays cotangents =
      bind_op(op, call_params(program, infer_sizes(*program, types_of(operands), p.sizes)), operands);
  std::size_t at = 0;
  for (std::size_t i = 0; i < args.operands.size(); ++i)
    if (args.operands[i].linear()) args.sink.add(i, cotangents[at++]);
}

BatchResult callee_batch(const OpInfo& op, const CallParams& p, const BatchArgs& args) {
  const Mask batched_in(args.batched.begin(), args.batched.end());
  const Mask batched_out = args.recurse.reach(p.program, batched_in);
  const ProgramRef program = args.recurse.vmap(p.program, batched_in, batched_out, args.size);
  std::vector<Dim> sizes = p.sizes;
  if (!args.size.known()) sizes.push_back(args.size);
  return {bind_op(op, call_params(program, sizes), args.operands), batched_out};
}

SplitResult callee_split(const CallParams& p, const SplitArgs& args, const Mask& known_out, Placement placement) {
  const PartitionRequest request{.known_in = args.known, .known_out = known_out, .recompute = args.recompute};
  const Partitioned parts = args.recurse.partition(p.program, request);
  SplitResult split{.first = &call_op(placement), .second = &call_op(placement)};
  using Source = SplitResult::Source;
  for (std::size_t i = 0; i < args.known.size(); ++i) {
    if (args.known[i])
      split.first_in.push_back(i);
    else
      split.second_in.push_back({Source::From::operand, i});
  }
  for (std::size_t i = 0; i < known_out.size(); ++i) (known_out[i] ? split.first_out : split.second_out).push_back(i);
  for (const auto& residual : parts.residuals) {
    using From = Partitioned::Residual::From;
    split.second_in.push_back({residual.from == From::input    ? Source::From::operand
                               : residual.from == From::output ? Source::From::output
                                                               : Source::From::residual,
                               residual.index});
  }
  split.first_params = call_params(parts.first, p.sizes);
  const SizeBinding own = callee_sizes(*p.program, p.sizes);
  split.second_params_of = [second = parts.second, given = parts.second_sizes, own](std::span<const Type> types) {
    return call_params(second, second_sizes(*second, given, own, types));
  };
  return split;
}

GuardResult callee_guard(const GuardArgs& args) {
  CallParams p = args.params.as<CallParams>();
  p.program = args.results(p.program, 0);
  return {make_params(std::move(p)), 0};
}

LowerCall::Callee callee_of_call(const Params& params) {
  const auto& p = params.as<CallParams>();
  return {p.program, p.sizes};
}

std::vector<Value> callee_eval(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Value> in,
                               const EvalContext& context) {
  std::vector<std::int64_t> known;
  for (const Dim& d : sizes) known.push_back(d.value());
  return context.run(*program, known, in);
}

ProgramRef after(const ProgramRef& program, FunctionRef<Arrays(const Arrays&)> make) {
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(*program);
  const Replay types(*program, sizes);
  Arrays inputs;
  for (Var v : program->inputs()) inputs.push_back(scope.input(types.type(v)));
  return scope.finish(make(inline_program(*program, sizes, inputs)), program->name()).program;
}

}  // namespace tenon
