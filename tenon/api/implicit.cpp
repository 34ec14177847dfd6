// Implicit derivatives of flat functions: their parts traced, and bound as one op.
#include "tenon/api/implicit.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/inputs.h"
#include "tenon/api/raveling.h"
#include "tenon/api/tangents.h"
#include "tenon/ops/control/implicit.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

Arrays strong(std::span<const Array> arrays) {
  Arrays all;
  for (const Array& a : arrays) all.push_back(a.with_weak(false));
  return all;
}

void require_real(std::string_view op, std::string_view tree, std::span<const Array> leaves, LeafPaths paths) {
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (const Type t = leaves[i].type(); !has_tangent(t) || !t.is_array())
      throw DTypeError(
          fmt::format("{}: {} is {}, which has no derivative.", op, name_of_leaf(tree, paths()[i]), t.text()),
          "Convert it to a floating dtype, or let the functions capture it.");
}

// What a function gave, of the types that it took.
Arrays like(std::string_view op, std::string_view what, std::string_view tree, const Arrays& given,
            std::span<const Type> types, LeafPaths paths) {
  Arrays all;
  for (std::size_t i = 0; i < types.size(); ++i)
    all.push_back(fitted(given[i], types[i], op,
                         [&] { return fmt::format("what {} returns for {}", what, name_of_leaf(tree, paths()[i])); }));
  return all;
}

}  // namespace

TracedFunction traced_for_rule(const KeptFlatFunction& f, const std::vector<Type>& types) {
  Ahead ahead = Scope::ahead_here();
  ++ahead.derivatives;
  const TracedFor what_for{ahead, std::vector<TakesPart>(types.size(), TakesPart::in(ahead))};
  return trace_types(f, types, std::vector<bool>(types.size(), false), "a function of an implicit derivative",
                     what_for);
}

KeptFlatFunction with_captures(const TracedFunction& f, Arrays captures) {
  return [&f, captures = std::move(captures)](std::span<const Array> in) {
    return run_or_call(f.program, f.sizes, joined({in, captures}));
  };
}

Arrays custom_root_flat(const KeptFlatFunction& f, std::span<const Array> guess, const FlatSolver& solve,
                        const FlatSolver& tangent_solve, LeafPaths paths) {
  require_real("custom_root", "the guess", guess, paths);
  const Arrays start = strong(guess);
  const std::vector<Type> types = types_of(start);
  const std::size_t n = types.size();
  const auto fit = [&](std::string_view what, const Arrays& given) {
    return like("custom_root", what, "the guess", given, types, paths);
  };
  const TracedFunction equation = traced_for_rule([&](std::span<const Array> x) { return fit("f", f(x)); }, types);
  // The root, and what solve returns beside it.
  const auto solved = [&](const Arrays& given) {
    const std::span<const Array> all(given);
    return joined({fit("solve", joined({all.first(n)})), strong(all.subspan(n))});
  };
  if (!tracing()) return solved(solve(with_captures(equation, equation.captures), start));
  const Arrays parameters = strong(equation.captures);
  const std::size_t m = parameters.size();
  const std::vector<Type> both = types_of(joined({start, parameters}));
  TracedFunction root = traced_for_rule(
      [&](std::span<const Array> in) {
        return solved(solve(with_captures(equation, joined({in.subspan(n)})), in.first(n)));
      },
      both);
  // (root, parameters, tangents of those that have any) -> tangents of the root
  std::vector<bool> active;
  std::vector<Type> given = both;
  for (const Array& p : parameters) {
    active.push_back(has_tangent(p.type()));
    if (active.back()) given.push_back(p.type());
  }
  TracedFunction moved = traced_for_rule(
      [&](std::span<const Array> in) {
        const std::span<const Array> x = in.first(n), p = in.subspan(n, m), dp = in.subspan(n + m);
        const auto in_parameters = [&](std::span<const Array> q) { return with_captures(equation, joined({q}))(x); };
        Arrays tangents(m);
        for (std::size_t i = 0, k = 0; i < m; ++i)
          if (active[i]) tangents[i] = dp[k++];
        const bool any = std::ranges::find(active, true) != active.end();
        const Arrays moves = any ? jvp_flat(in_parameters, {joined({p}), active, {}}, tangents) : Arrays();
        Arrays right;
        for (std::size_t i = 0; i < n; ++i) right.push_back(any ? -moves[n + i] : zeros_of(types[i]));
        const FlatLinear linear =
            linearize_flat(with_captures(equation, joined({p})), {joined({x}), std::vector<bool>(n, true), paths});
        return fit("tangent_solve", tangent_solve(linear.apply, right));
      },
      given);
  const std::vector<Type> of_root = types_of(root.captures), of_moved = types_of(moved.captures);
  const std::size_t values = n + m, tangents = given.size();
  CustomRootParams params;
  params.solve = Inputs(root).own(0, values + of_root.size()).unread(of_moved).program();
  params.solve_sizes = root.sizes;
  params.tangents = Inputs(moved)
                        .own(0, values)
                        .unread(of_root)
                        .own(tangents, tangents + of_moved.size())
                        .own(values, tangents)
                        .program();
  params.tangents_sizes = moved.sizes;
  params.unknowns = static_cast<std::int64_t>(n);
  params.parameters = static_cast<std::int64_t>(m);
  return bind_custom_root(std::move(params), joined({start, parameters, root.captures, moved.captures}));
}

Arrays linear_solve_flat(const KeptFlatFunction& matvec, std::span<const Array> b, const FlatSolver& solve,
                         const FlatSolver& transpose_solve, bool symmetric, LeafPaths paths) {
  constexpr std::string_view op = "custom_linear_solve";
  require_real(op, "b", b, paths);
  const Arrays right = strong(b);
  const std::vector<Type> types = types_of(right);
  const std::size_t n = types.size();
  const auto fit = [&](std::string_view what, const Arrays& given) { return like(op, what, "b", given, types, paths); };
  TracedFunction product = traced_for_rule([&](std::span<const Array> x) { return fit("matvec", matvec(x)); }, types);
  if (!tracing()) return fit("solve", solve(with_captures(product, product.captures), right));
  const Arrays parameters = strong(product.captures);
  const std::size_t m = parameters.size();
  const std::vector<Type> both = types_of(joined({right, parameters}));
  // (b, parameters) -> x, with a product of values and parameters
  const auto solution = [&](std::string_view what, const TracedFunction& with, const FlatSolver& solver) {
    return traced_for_rule(
        [&](std::span<const Array> in) {
          return fit(what, solver(with_captures(with, joined({in.subspan(n)})), in.first(n)));
        },
        both);
  };
  TracedFunction solved = solution("solve", product, solve), transposed = product, back;
  const bool turns = symmetric || transpose_solve;
  if (turns && !symmetric) {
    TransposeRequest request{.linear_in = Mask(n + m, false), .cotangents = Mask(n, true)};
    std::fill_n(request.linear_in.begin(), n, true);
    // Its inputs are the parameters, then the cotangents.
    const ProgramRef turned = transpose(product.program, request);
    std::vector<Type> operands = types_of(parameters);
    operands.insert(operands.end(), types.begin(), types.end());
    transposed.sizes = infer_sizes(*turned, operands, product.sizes);
    transposed.program = turned;
    transposed.program = Inputs(transposed).own(m, m + n).own(0, m).program();
  }
  if (turns) back = solution(symmetric ? "solve" : "transpose_solve", transposed, symmetric ? solve : transpose_solve);
  // All read (parameters, what solve captures, what transpose_solve captures, values).
  const std::vector<Type> of_solve = types_of(solved.captures), of_back = types_of(back.captures);
  const auto behind = [&](TracedFunction& f, bool solves, bool solves_back) {
    Inputs in(f);
    in.own(n, n + m);
    solves ? in.own(n + m, n + m + of_solve.size()) : in.unread(of_solve);
    solves_back ? in.own(n + m, n + m + of_back.size()) : in.unread(of_back);
    return in.own(0, n).program();
  };
  LinearSolveParams params;
  params.matvec = behind(product, false, false);
  params.matvec_sizes = product.sizes;
  params.solve = behind(solved, true, false);
  params.solve_sizes = solved.sizes;
  if (turns) {
    params.transposed = behind(transposed, false, false);
    params.transposed_sizes = transposed.sizes;
    params.transposed_solve = behind(back, false, true);
    params.transposed_solve_sizes = back.sizes;
  }
  params.known = static_cast<std::int64_t>(m + of_solve.size() + of_back.size());
  params.parameters = static_cast<std::int64_t>(m);
  return bind_linear_solve(std::move(params), joined({parameters, solved.captures, back.captures, right}));
}

}  // namespace tenon::api_detail
