// custom_linear_solve: with A(p)·x = b, the tangent of x solves A·dx = db - dA·x, and the cotangent of b solves the
// transposed system: both are this op again.
#include <algorithm>

#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/implicit.h"
#include "tenon/ops/elementwise/arithmetic.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(LinearSolveParams, (),
                      (matvec, matvec_sizes, solve, solve_sizes, transposed, transposed_sizes, transposed_solve,
                       transposed_solve_sizes, known, parameters))

namespace {

extern const OpInfo linear_solve_info;

std::vector<Type> linear_solve_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<LinearSolveParams>();
  if (p.known < p.parameters || p.parameters < 0 || static_cast<std::size_t>(p.known) > in.size())
    throw VerifyError("custom_linear_solve: there are fewer operands than parameters.");
  const std::vector<Type> b(in.begin() + p.known, in.end());
  const std::vector<Type> out = callee_types("custom_linear_solve", p.solve, p.solve_sizes, in, context);
  if (out != b) throw VerifyError("custom_linear_solve: the solution's types are not those of the right side.");
  check_callee("custom_linear_solve", "product", p.matvec, p.matvec_sizes, in, b);
  if (!p.transposed_solve) return out;
  check_callee("custom_linear_solve", "transposed product", p.transposed, p.transposed_sizes, in, b);
  check_callee("custom_linear_solve", "transposed solution", p.transposed_solve, p.transposed_solve_sizes, in, b);
  return out;
}

JvpResult linear_solve_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<LinearSolveParams>();
  const auto known = static_cast<std::size_t>(p.known);
  const std::size_t unknowns = args.primals.size() - known;
  JvpResult result{bind_op(linear_solve_info, args.params, args.primals), std::vector<MaybeArray>(unknowns)};
  std::vector<MaybeArray> right(args.tangents.begin() + p.known, args.tangents.end());
  // What only the solvers read does not move the solution.
  Mask active(args.primals.size(), false);
  Arrays operands(args.primals.begin(), args.primals.begin() + p.known);
  operands.insert(operands.end(), result.outputs.begin(), result.outputs.end());
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.parameters); ++i)
    if (args.tangents[i]) active[i] = true, operands.push_back(*args.tangents[i]);
  if (std::ranges::find(active, true) != active.end()) {
    const ProgramRef moved = args.recurse.jvp(p.matvec, active, Mask(unknowns, true));
    const Arrays products = call(moved, p.matvec_sizes, operands);
    for (std::size_t i = 0; i < unknowns; ++i)
      right[i] = right[i] ? *right[i] - products[unknowns + i] : -products[unknowns + i];
  }
  if (std::ranges::none_of(right, [](const MaybeArray& t) { return t.has_value(); })) return result;
  operands.assign(args.primals.begin(), args.primals.begin() + p.known);
  for (std::size_t i = 0; i < unknowns; ++i)
    operands.push_back(right[i] ? *right[i] : zeros_of(args.primals[known + i].type()));
  const Arrays tangents = bind_op(linear_solve_info, args.params, operands);
  for (std::size_t i = 0; i < unknowns; ++i) result.tangents[i] = tangents[i];
  return result;
}

void linear_solve_transpose(const TransposeArgs& args) {
  LinearSolveParams p = args.params.as<LinearSolveParams>();
  const auto known = static_cast<std::size_t>(p.known);
  if (!p.transposed_solve)
    throw DifferentiationError(
        "custom_linear_solve: reverse mode needs solutions of the transposed system, and no way to them is given.",
        "Pass transpose_solve, a function (vecmat, b) of the transposed product, or {.symmetric = true} where the "
        "matrix "
        "is its own transpose; forward mode (jvp, jacfwd) needs neither.");
  Arrays operands;
  for (std::size_t i = 0; i < known; ++i) {
    if (args.operands[i].linear())
      throw DifferentiationError("custom_linear_solve: the matrix depends on what is differentiated linearly.");
    operands.push_back(*args.operands[i].value);
  }
  for (std::size_t i = known; i < args.operands.size(); ++i) {
    const MaybeArray& ct = args.cotangents[i - known];
    operands.push_back(ct ? *ct : zeros_of(args.operands[i].type));
  }
  std::swap(p.matvec, p.transposed);
  std::swap(p.matvec_sizes, p.transposed_sizes);
  std::swap(p.solve, p.transposed_solve);
  std::swap(p.solve_sizes, p.transposed_solve_sizes);
  const Arrays cotangents = bind_op(linear_solve_info, make_params(std::move(p)), operands);
  for (std::size_t i = known; i < args.operands.size(); ++i)
    if (args.operands[i].linear()) args.sink.add(i, cotangents[i - known]);
}

BatchResult linear_solve_batch(const BatchArgs& args) {
  LinearSolveParams p = args.params.as<LinearSolveParams>();
  Mask in(args.batched.begin(), args.batched.end());
  std::fill(in.begin() + p.known, in.end(), true);
  const Mask all(in.size() - static_cast<std::size_t>(p.known), true);
  Arrays operands(args.operands.begin(), args.operands.end());
  for (std::size_t i = static_cast<std::size_t>(p.known); i < operands.size(); ++i)
    if (!args.batched[i]) operands[i] = one_for_all_lanes(operands[i], args.size);
  const auto batch = [&](ProgramRef& program, std::vector<Dim>& sizes) {
    if (!program) return;
    program = args.recurse.vmap(program, in, all, args.size);
    if (!args.size.known()) sizes.push_back(args.size);
  };
  batch(p.matvec, p.matvec_sizes);
  batch(p.solve, p.solve_sizes);
  batch(p.transposed, p.transposed_sizes);
  batch(p.transposed_solve, p.transposed_solve_sizes);
  return {bind_op(linear_solve_info, make_params(std::move(p)), operands), all};
}

const OpInfo linear_solve_info{
    .name = "custom_linear_solve",
    .summary = "the solution of a linear system by a Program, with derivatives by the system",
    .params = &describe::params_ops<LinearSolveParams>,
    .type = TypeRule(linear_solve_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<LinearSolveParams>();
      return callee_eval(p.solve, p.solve_sizes, in, context);
    }),
    .jvp = JvpRule(linear_solve_jvp),
    .transpose = TransposeRule(linear_solve_transpose),
    .batch = BatchRule(linear_solve_batch),
    .split = Absent{"wholly known or not"},
    .guard = GuardRule([](const GuardArgs& args) {
      LinearSolveParams p = args.params.as<LinearSolveParams>();
      const auto at = static_cast<std::size_t>(p.parameters);
      for (ProgramRef* program : {&p.matvec, &p.solve, &p.transposed, &p.transposed_solve})
        if (*program) *program = args.inside(*program, at);
      ++p.known;
      return GuardResult{make_params(std::move(p)), at};
    }),
    .lower = LowerRule(LowerCall{[](const Params& params) -> LowerCall::Callee {
      const auto& p = params.as<LinearSolveParams>();
      return {p.solve, p.solve_sizes};
    }}),
    .alias = Absent{"decided inside"},
    .effect =
        std::function<Effect(const Params&)>([](const Params& p) { return p.as<LinearSolveParams>().solve->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool custom_linear_solve_installed = (install_op(linear_solve_info), true);

}  // namespace

Arrays bind_linear_solve(LinearSolveParams params, std::span<const Array> operands) {
  return bind_op(linear_solve_info, make_params(std::move(params)), operands);
}

}  // namespace tenon
