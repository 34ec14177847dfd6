// Implicit derivatives of flat functions: their parts traced, and bound as one op.
#include "tenon/api/implicit.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/tangents.h"
#include "tenon/ir/adapt.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/implicit.h"
#include "tenon/ops/shape.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

std::vector<Type> types_of(std::span<const Array> arrays) {
  std::vector<Type> types;
  for (const Array& a : arrays) types.push_back(a.type());
  return types;
}

Arrays joined(std::initializer_list<std::span<const Array>> parts) {
  Arrays all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Arrays strong(std::span<const Array> arrays) {
  Arrays all;
  for (const Array& a : arrays) all.push_back(a.with_weak(false));
  return all;
}

std::string leaf_name(std::string_view tree, const std::string& path) {
  return path.empty() ? std::string(tree) : fmt::format("leaf {} of {}", path, tree);
}

void require_real(std::string_view op, std::string_view tree, std::span<const Array> leaves, const LeafPaths& paths) {
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (const Type t = leaves[i].type(); !has_tangent(t) || !t.is_array())
      throw DTypeError(fmt::format("{}: {} is {}, which has no derivative.", op, leaf_name(tree, paths()[i]), t.text()),
                       "Convert it to a floating dtype, or let the functions capture it.");
}

// What a function gave, of the types that it took.
Arrays like(std::string_view op, std::string_view what, std::string_view tree, const Arrays& given,
            std::span<const Type> types, const LeafPaths& paths) {
  Arrays all;
  for (std::size_t i = 0; i < types.size(); ++i)
    all.push_back(fitted(given[i], types[i], op,
                         [&] { return fmt::format("what {} returns for {}", what, leaf_name(tree, paths()[i])); }));
  return all;
}

// A traced function of values behind the same captures, given anew.
FlatFunction at(const TracedFunction& f, Arrays captures) {
  return [&f, captures = std::move(captures)](std::span<const Array> in) {
    return run_or_call(f.program, f.sizes, joined({in, captures}));
  };
}

TracedFunction traced(const FlatFunction& f, const std::vector<Type>& types) {
  return trace_types(f, types, std::vector<bool>(types.size(), false), "a function of an implicit derivative");
}

// A traced function's Program behind other inputs: those of a type list of which input i is its argument or capture
// from[i]. Sizes that it does not have yet are added to its own.
ProgramRef behind(TracedFunction& f, std::span<const std::optional<std::size_t>> from, std::span<const Type> types) {
  std::vector<std::size_t> outputs(f.program->outputs().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
  return adapt(*f.program, from, types, outputs, f.sizes);
}

using Order = std::vector<std::optional<std::size_t>>;
void add_inputs(Order& order, std::size_t from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) order.emplace_back(from + i);
}
void add_unread(Order& order, std::size_t count) { order.insert(order.end(), count, std::nullopt); }

}  // namespace

Arrays custom_root_flat(const FlatFunction& f, std::span<const Array> guess, const FlatSolver& solve,
                        const FlatSolver& tangent_solve, const LeafPaths& paths) {
  require_real("custom_root", "the guess", guess, paths);
  const Arrays start = strong(guess);
  const std::vector<Type> types = types_of(start);
  const std::size_t n = types.size();
  const auto fit = [&](std::string_view what, const Arrays& given) {
    return like("custom_root", what, "the guess", given, types, paths);
  };
  const TracedFunction equation = traced([&](std::span<const Array> x) { return fit("f", f(x)); }, types);
  if (!tracing()) return fit("solve", solve(at(equation, equation.captures), start));
  const Arrays parameters = strong(equation.captures);
  const std::size_t m = parameters.size();
  const std::vector<Type> both = types_of(joined({start, parameters}));
  TracedFunction root = traced(
      [&](std::span<const Array> in) {
        return fit("solve", solve(at(equation, joined({in.subspan(n)})), in.first(n)));
      },
      both);
  // (root, parameters, tangents of those that have any) -> tangents of the root
  std::vector<bool> active;
  std::vector<Type> given = both;
  for (const Array& p : parameters) {
    active.push_back(has_tangent(p.type()));
    if (active.back()) given.push_back(p.type());
  }
  TracedFunction moved = traced(
      [&](std::span<const Array> in) {
        const std::span<const Array> x = in.first(n), p = in.subspan(n, m), dp = in.subspan(n + m);
        const auto in_parameters = [&](std::span<const Array> q) { return at(equation, joined({q}))(x); };
        Arrays tangents(m);
        for (std::size_t i = 0, k = 0; i < m; ++i)
          if (active[i]) tangents[i] = dp[k++];
        const bool any = std::ranges::find(active, true) != active.end();
        const Arrays moves = any ? jvp_flat(in_parameters, {joined({p}), active, {}}, tangents) : Arrays();
        Arrays right;
        for (std::size_t i = 0; i < n; ++i) right.push_back(any ? -moves[n + i] : zeros_like(types[i]));
        const FlatLinear linear =
            linearize_flat(at(equation, joined({p})), {joined({x}), std::vector<bool>(n, true), paths});
        return fit("tangent_solve", tangent_solve(linear.apply, right));
      },
      given);
  const std::vector<Type> others = types_of(joined({root.captures, moved.captures}));
  const std::size_t of_root = root.captures.size(), of_moved = moved.captures.size();
  Order of_solve, of_tangents;
  add_inputs(of_solve, 0, n + m + of_root);
  add_unread(of_solve, of_moved);
  add_inputs(of_tangents, 0, n + m);
  add_unread(of_tangents, of_root);
  add_inputs(of_tangents, given.size(), of_moved);
  add_inputs(of_tangents, n + m, given.size() - n - m);
  std::vector<Type> all = both;
  all.insert(all.end(), others.begin(), others.end());
  std::vector<Type> with_tangents = all;
  with_tangents.insert(with_tangents.end(), given.begin() + static_cast<std::ptrdiff_t>(n + m), given.end());
  CustomRootParams params;
  params.solve = behind(root, of_solve, all);
  params.solve_sizes = root.sizes;
  params.tangents = behind(moved, of_tangents, with_tangents);
  params.tangents_sizes = moved.sizes;
  params.unknowns = static_cast<std::int64_t>(n);
  params.parameters = static_cast<std::int64_t>(m);
  return bind_custom_root(std::move(params), joined({start, parameters, root.captures, moved.captures}));
}

Arrays linear_solve_flat(const FlatFunction& matvec, std::span<const Array> b, const FlatSolver& solve,
                         const FlatSolver& transpose_solve, bool symmetric, const LeafPaths& paths) {
  constexpr std::string_view op = "custom_linear_solve";
  require_real(op, "b", b, paths);
  const Arrays right = strong(b);
  const std::vector<Type> types = types_of(right);
  const std::size_t n = types.size();
  const auto fit = [&](std::string_view what, const Arrays& given) { return like(op, what, "b", given, types, paths); };
  TracedFunction product = traced([&](std::span<const Array> x) { return fit("matvec", matvec(x)); }, types);
  if (!tracing()) return fit("solve", solve(at(product, product.captures), right));
  const Arrays parameters = strong(product.captures);
  const std::size_t m = parameters.size();
  const std::vector<Type> both = types_of(joined({right, parameters}));
  // (b, parameters) -> x, with a product of values and parameters
  const auto solution = [&](std::string_view what, const TracedFunction& with, const FlatSolver& solver) {
    return traced(
        [&](std::span<const Array> in) { return fit(what, solver(at(with, joined({in.subspan(n)})), in.first(n))); },
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
    Order order;
    add_inputs(order, m, n);
    add_inputs(order, 0, m);
    transposed.program = behind(transposed, order, both);
  }
  if (turns) back = solution(symmetric ? "solve" : "transpose_solve", transposed, symmetric ? solve : transpose_solve);
  // All read (parameters, what solve captures, what transpose_solve captures, values).
  std::vector<Type> all = types_of(joined({parameters, solved.captures, back.captures}));
  all.insert(all.end(), types.begin(), types.end());
  const std::size_t of_solve = solved.captures.size(), of_back = back.captures.size();
  const auto order = [&](std::size_t own_solve, std::size_t own_back) {
    Order order;
    add_inputs(order, n, m);
    own_solve > 0 ? add_inputs(order, n + m, own_solve) : add_unread(order, of_solve);
    own_back > 0 ? add_inputs(order, n + m, own_back) : add_unread(order, of_back);
    add_inputs(order, 0, n);
    return order;
  };
  LinearSolveParams params;
  params.matvec = behind(product, order(0, 0), all);
  params.matvec_sizes = product.sizes;
  params.solve = behind(solved, order(of_solve, 0), all);
  params.solve_sizes = solved.sizes;
  if (turns) {
    params.transposed = behind(transposed, order(0, 0), all);
    params.transposed_sizes = transposed.sizes;
    params.transposed_solve = behind(back, order(0, of_back), all);
    params.transposed_solve_sizes = back.sizes;
  }
  params.known = static_cast<std::int64_t>(m + of_solve + of_back);
  params.parameters = static_cast<std::int64_t>(m);
  return bind_linear_solve(std::move(params), joined({parameters, solved.captures, back.captures, right}));
}

}  // namespace tenon::api_detail
