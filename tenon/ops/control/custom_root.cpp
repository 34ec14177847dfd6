// custom_root: with f(x, p) = 0, the tangent of x solves f_x·dx = -f_p·dp (the implicit function theorem); higher ones
// differentiate that equation, since the root in it is this op again.
#include <algorithm>

#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/implicit.h"
#include "tenon/ops/families.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CustomRootParams, (), (solve, solve_sizes, tangents, tangents_sizes, unknowns, parameters))

namespace {

extern const OpInfo custom_root_info;

std::vector<Type> custom_root_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<CustomRootParams>();
  const std::vector<Type> out = callee_types("custom_root", p.solve, p.solve_sizes, in, context);
  if (p.unknowns < 0 || p.parameters < 0 || static_cast<std::size_t>(p.unknowns + p.parameters) > in.size())
    throw VerifyError("custom_root: there are fewer operands than unknowns and parameters.");
  const auto unknowns = static_cast<std::size_t>(p.unknowns);
  const std::vector<Type> guess(in.begin(), in.begin() + p.unknowns);
  if (out.size() < unknowns || !std::equal(guess.begin(), guess.end(), out.begin()))
    throw VerifyError("custom_root: the root's types are not those of the guess.");
  std::vector<Type> takes(in.begin(), in.end());
  const Mask real = with_tangents(in);
  for (std::size_t i = unknowns; i < unknowns + static_cast<std::size_t>(p.parameters); ++i)
    if (real[i]) takes.push_back(in[i]);
  check_callee("custom_root", "tangent system", p.tangents, p.tangents_sizes, takes, guess);
  return out;
}

JvpResult custom_root_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<CustomRootParams>();
  const auto unknowns = static_cast<std::size_t>(p.unknowns), end = unknowns + static_cast<std::size_t>(p.parameters);
  JvpResult result{bind_op(custom_root_info, args.params, args.primals), {}};
  result.tangents.resize(result.outputs.size());
  const auto active = args.tangents.subspan(unknowns, end - unknowns);
  if (std::ranges::none_of(active, [](const MaybeArray& t) { return t.has_value(); })) return result;
  Arrays operands(result.outputs.begin(), result.outputs.begin() + p.unknowns);
  operands.insert(operands.end(), args.primals.begin() + p.unknowns, args.primals.end());
  const Mask real = with_tangents(types_of(args.primals));
  for (std::size_t i = unknowns; i < end; ++i)
    if (real[i]) operands.push_back(tangent_or_zero(args, i));
  const Arrays tangents = call(p.tangents, p.tangents_sizes, operands);
  for (std::size_t i = 0; i < unknowns; ++i) result.tangents[i] = tangents[i];
  return result;
}

BatchResult custom_root_batch(const BatchArgs& args) {
  CustomRootParams p = args.params.as<CustomRootParams>();
  const auto unknowns = static_cast<std::size_t>(p.unknowns), end = unknowns + static_cast<std::size_t>(p.parameters);
  const Mask in(args.batched.begin(), args.batched.end()), all(p.solve->outputs().size(), true);
  Mask of_tangents = in;
  std::fill_n(of_tangents.begin(), unknowns, true);
  const Mask real = with_tangents(types_of(args.operands));
  for (std::size_t i = unknowns; i < end; ++i)
    if (real[i]) of_tangents.push_back(in[i]);
  // The guess is of the root's type, batched like it.
  Mask of_solve = in;
  std::fill_n(of_solve.begin(), unknowns, true);
  Arrays operands(args.operands.begin(), args.operands.end());
  for (std::size_t i = 0; i < unknowns; ++i)
    if (!in[i]) operands[i] = one_for_all_lanes(operands[i], args.size);
  p.solve = args.recurse.vmap(p.solve, of_solve, all, args.size);
  p.tangents = args.recurse.vmap(p.tangents, of_tangents, Mask(unknowns, true), args.size);
  if (!args.size.known()) {
    p.solve_sizes.push_back(args.size);
    p.tangents_sizes.push_back(args.size);
  }
  return {bind_op(custom_root_info, make_params(std::move(p)), operands), all};
}

const OpInfo custom_root_info{
    .name = "custom_root",
    .summary = "a root found by a Program, with tangents by the linearised equation",
    .params = &describe::params_ops<CustomRootParams>,
    .type = TypeRule(custom_root_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CustomRootParams>();
      return callee_eval(p.solve, p.solve_sizes, in, context);
    }),
    .jvp = JvpRule(custom_root_jvp),
    .transpose = Absent{"not linear"},
    .batch = BatchRule(custom_root_batch),
    .split = Absent{"wholly known or not"},
    .guard = GuardRule([](const GuardArgs& args) {
      CustomRootParams p = args.params.as<CustomRootParams>();
      const auto at = static_cast<std::size_t>(p.unknowns + p.parameters);
      p.solve = args.inside(p.solve, at);
      p.tangents = args.inside(p.tangents, at);
      return GuardResult{make_params(std::move(p)), at};
    }),
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const auto& p = params.as<CustomRootParams>();
      return {p.solve, p.solve_sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect =
        std::function<Effect(const Params&)>([](const Params& p) { return p.as<CustomRootParams>().solve->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool custom_root_installed = (install_op(custom_root_info), true);

}  // namespace

Arrays bind_custom_root(CustomRootParams params, std::span<const Array> operands) {
  return bind_op(custom_root_info, make_params(std::move(params)), operands);
}

}  // namespace tenon
