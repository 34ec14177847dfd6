// call: a Program applied to operands; a function that is traced once and stays a function.
#include <algorithm>

#include "tenon/ir/describe_params.h"
#include "tenon/ir/recurse.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/region.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CallParams, (), (program, sizes))

namespace {

extern const OpInfo call_info;

Params call_params(ProgramRef program, std::vector<Dim> sizes) {
  return make_params(CallParams{std::move(program), std::move(sizes)});
}

std::vector<Type> types_of(std::span<const Array> arrays) {
  std::vector<Type> types;
  for (const Array& a : arrays) types.push_back(a.type());
  return types;
}

// Sizes of a transformed Program, found from its operands.
Arrays call_inferred(const ProgramRef& program, std::span<const Array> operands) {
  return bind_op(call_info, call_params(program, infer_sizes(*program, types_of(operands))), operands);
}

std::vector<Type> call_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<CallParams>();
  if (!p.program) throw VerifyError("call: there is no Program.");
  const Program& program = *p.program;
  if (in.size() != program.inputs().size() || p.sizes.size() != program.size_params().size())
    throw VerifyError("call: the operands are not as many as the Program's inputs.");
  SizeBinding binding;
  for (std::size_t i = 0; i < p.sizes.size(); ++i) binding.emplace(program.size_params()[i], p.sizes[i]);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!unify(program.type(program.inputs()[i]), in[i], binding))
      throw VerifyError("call: operand " + std::to_string(i) + " is " + in[i].text() + ", the Program takes " +
                        program.type(program.inputs()[i]).text() + ".");
  // Sizes that the callee's data decide are new here.
  const auto input_of = [&](Var v) {
    return static_cast<std::size_t>(std::ranges::find(program.inputs(), v) - program.inputs().begin());
  };
  for (const SizeFact& fact : program.size_facts())
    if (const auto s = bare_variable(fact.size); s && input_of(fact.of) < in.size() && !binding.contains(*s))
      binding.emplace(*s, context.new_size(fact.key, input_of(fact.of)));
  for (const Eqn& eqn : program.eqns())
    for (SizeVar s : eqn.new_sizes)
      if (!binding.contains(s)) binding.emplace(s, context.new_size("call" + program.hash().hex() + std::to_string(s)));
  std::vector<Type> out;
  for (Var v : program.outputs()) out.push_back(substitute(program.type(v), binding));
  return out;
}

Mask types_active(const Program& program, const Mask& reached) {
  Mask active;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Type* t = &program.type(program.outputs()[i]);
    while (!t->is_array()) t = t->element.get();
    active.push_back(reached[i] && is_inexact(t->dtype));
  }
  return active;
}

JvpResult call_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<CallParams>();
  Mask active_in;
  Arrays operands(args.primals.begin(), args.primals.end());
  for (const MaybeArray& t : args.tangents) {
    active_in.push_back(t.has_value());
    if (t) operands.push_back(*t);
  }
  const Mask active_out = types_active(*p.program, args.recurse.reach(p.program, active_in));
  const ProgramRef program = args.recurse.jvp(p.program, active_in, active_out);
  const Arrays results = bind_op(call_info, call_params(program, p.sizes), operands);
  JvpResult result{{results.begin(), results.begin() + static_cast<std::ptrdiff_t>(active_out.size())}, {}};
  std::size_t at = active_out.size();
  for (bool active : active_out) result.tangents.push_back(active ? MaybeArray(results[at++]) : std::nullopt);
  return result;
}

void call_transpose(const TransposeArgs& args) {
  const auto& p = args.params.as<CallParams>();
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
      bind_op(call_info, call_params(program, infer_sizes(*program, types_of(operands), p.sizes)), operands);
  std::size_t at = 0;
  for (std::size_t i = 0; i < args.operands.size(); ++i)
    if (args.operands[i].linear()) args.sink.add(i, cotangents[at++]);
}

BatchResult call_batch(const BatchArgs& args) {
  const auto& p = args.params.as<CallParams>();
  const Mask batched_in(args.batched.begin(), args.batched.end());
  const Mask batched_out = args.recurse.reach(p.program, batched_in);
  const ProgramRef program = args.recurse.vmap(p.program, batched_in, batched_out, args.size);
  std::vector<Dim> sizes = p.sizes;
  if (!args.size.known()) sizes.push_back(args.size);
  return {bind_op(call_info, call_params(program, sizes), args.operands), batched_out};
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

SplitResult call_split(const SplitArgs& args) {
  const auto& p = args.params.as<CallParams>();
  Mask unknown = args.known;
  unknown.flip();
  PartitionRequest request{
      .known_in = args.known, .known_out = args.recurse.reach(p.program, unknown), .recompute = args.recompute};
  request.known_out.flip();
  const Partitioned parts = args.recurse.partition(p.program, request);
  SplitResult split{.first = &call_info, .second = &call_info};
  using Source = SplitResult::Source;
  for (std::size_t i = 0; i < args.known.size(); ++i) {
    if (args.known[i])
      split.first_in.push_back(i);
    else
      split.second_in.push_back({Source::From::operand, i});
  }
  for (std::size_t i = 0; i < request.known_out.size(); ++i)
    (request.known_out[i] ? split.first_out : split.second_out).push_back(i);
  for (const auto& residual : parts.residuals) {
    using From = Partitioned::Residual::From;
    split.second_in.push_back({residual.from == From::input    ? Source::From::operand
                               : residual.from == From::output ? Source::From::output
                                                               : Source::From::residual,
                               residual.index});
  }
  split.first_params = call_params(parts.first, p.sizes);
  SizeBinding own;
  for (std::size_t i = 0; i < p.sizes.size(); ++i) own.emplace(p.program->size_params()[i], p.sizes[i]);
  split.second_params_of = [second = parts.second, given = parts.second_sizes, own](std::span<const Type> types) {
    return call_params(second, second_sizes(*second, given, own, types));
  };
  return split;
}

const OpInfo call_info{
    .name = "call",
    .summary = "a Program applied to operands",
    .params = &describe::params_ops<CallParams>,
    .type = TypeRule(call_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CallParams>();
      std::vector<std::int64_t> sizes;
      for (const Dim& d : p.sizes) sizes.push_back(d.value());
      return context.run(*p.program, sizes, in);
    }),
    .jvp = JvpRule(call_jvp),
    .transpose = TransposeRule(call_transpose),
    .batch = BatchRule(call_batch),
    .split = SplitRule{[](const Params& params, const Mask& in, Recurse& recurse) {
                         return recurse.reach(params.as<CallParams>().program, in);
                       },
                       call_split},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::call}),
    .alias = Absent{"decided inside"},
    .effect =
        std::function<Effect(const Params&)>([](const Params& p) { return p.as<CallParams>().program->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool installed = (install_op(call_info), true);

}  // namespace

const OpInfo& call_op() { return call_info; }
Arrays call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands) {
  return bind_op(call_info, call_params(program, {sizes.begin(), sizes.end()}), operands);
}
Arrays call(const ProgramRef& program, std::span<const Array> operands) { return call_inferred(program, operands); }

}  // namespace tenon
