// Derivatives of flat functions: traced, checked with the names of arguments, and bound as calls of the memoised
// results of linearize, transpose and vmap.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/jacobian.h"
#include "tenon/api/kept.h"
#include "tenon/api/ref_states.h"
#include "tenon/api/rewrites.h"
#include "tenon/api/tangents.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/delta_residuals.h"
#include "tenon/transform/sparse_reads.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

// The leaves of chosen arguments that are differentiated; those of integers are refused, or left out.
Mask active_leaves(std::string_view op, const Arguments& arguments, bool refuse) {
  Mask active = arguments.chosen;
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const Type type = arguments.leaves[i].type();
    active[i] = has_tangent(type);
    if (active[i] || !refuse) continue;
    throw DifferentiationError(
        fmt::format("{}: {} is {}, which has no derivative.", op, argument_name(arguments.paths()[i]), type.text()),
        "Convert it to a floating dtype, or choose other arguments, as in grad<1>(f).");
  }
  return active;
}

TracedFunction trace_at(FlatFunction f, const Arguments& arguments) {
  TracedFunction traced = trace_flat(f, arguments.leaves, writes_refs, knows_values(),
                                     TracedFor::derivative(arguments.leaves, arguments.chosen));
  traced.program = before_differentiation(traced.program);
  return traced;
}

// The results that are differentiated: the first `count` that have a tangent.
Mask differentiable(const TracedFunction& f, std::size_t count) {
  Mask mask;
  for (std::size_t i = 0; i < f.results(); ++i)
    mask.push_back(i < count && has_tangent(f.program->type(f.program->outputs()[i])));
  return mask;
}

// Behind the results are what is written to references; behind the arguments captures.
Mask of_outputs(const TracedFunction& f, Mask results) {
  results.resize(f.weak.size(), false);
  return results;
}
Mask of_operands(const TracedFunction& f, Mask arguments) {
  arguments.resize(f.program->inputs().size(), false);
  return arguments;
}

// A Program linearised at operands: what was computed, and the parts that its linear half reads.
struct Linearized {
  Arrays outputs;
  Arrays residuals;
  ProgramRef second;                         // tangents, residuals -> tangents
  std::vector<Dim> sizes;                    // of second
  std::vector<std::size_t> operand_of = {};  // which operand each residual is, or FlatLinear::no_argument
};

// The first part of a linearised Program at operands: its results, and the residuals.
Linearized run_first(const ProgramRef& first, std::span<const Partitioned::Residual> residuals,
                     std::span<const Dim> sizes, std::span<const Array> operands, const std::vector<bool>& weak) {
  Arrays all = run_or_call(first, sizes, operands);
  Linearized result;
  for (const auto& r : residuals) {
    using From = Partitioned::Residual::From;
    result.operand_of.push_back(r.from == From::input ? r.index : FlatLinear::no_argument);
    result.residuals.push_back(r.from == From::input    ? operands[r.index]
                               : r.from == From::output ? all[r.index]
                                                        : all[weak.size() + r.index]);
  }
  all.resize(weak.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i].with_weak(weak[i]);
  result.outputs = std::move(all);
  return result;
}

Partitioned linear_parts(const TracedFunction& f, const Mask& operands, const Mask& outputs) {
  Partitioned parts = linearize(f.program, operands, outputs);
  note_kept(parts, outputs.size());
  return parts;
}

Linearized linearize_at(const TracedFunction& f, std::span<const Array> operands, const Partitioned& parts,
                        const std::vector<bool>& weak) {
  Linearized result = run_first(parts.first, parts.residuals, f.sizes, operands, weak);
  // Sizes of the second part: the function's own, or those that the residuals' types show.
  SizeBinding own, shown;
  for (std::size_t i = 0; i < f.sizes.size(); ++i) own.emplace(f.program->size_params()[i], f.sizes[i]);
  const Program& second = *parts.second;
  for (std::size_t i = 0; i < result.residuals.size(); ++i)
    unify(second.type(second.inputs()[second.inputs().size() - result.residuals.size() + i]),
          result.residuals[i].type(), shown);
  for (std::size_t i = 0; i < parts.second_sizes.size(); ++i)
    result.sizes.push_back(parts.second_sizes[i] ? substitute(*parts.second_sizes[i], own)
                                                 : shown.at(second.size_params()[i]));
  result.second = parts.second;
  return result;
}

// Cotangents of the differentiated outputs to those of the active arguments.
struct Pullback {
  Arrays outputs;
  Arrays residuals;
  ProgramRef backward;
  std::vector<Dim> sizes;
  std::vector<std::size_t> operand_of;  // as in Linearized

  Arrays pull(std::span<const Array> cotangents, const RefsOfDerivative& refs) const {
    Arrays pulled = run(backward, joined({cotangents, refs.begin()}));
    refs.end(pulled);
    return pulled;
  }
  // A batch of cotangents, lanes in front; so are the results.
  Arrays pull_lanes(std::span<const Array> cotangents, const Dim& size) const {
    Mask batched(residuals.size(), false);
    batched.resize(residuals.size() + cotangents.size(), true);
    return run(vmap(backward, batched, Mask(backward->outputs().size(), true), size), cotangents);
  }

 private:
  Arrays run(const ProgramRef& program, std::span<const Array> cotangents) const {
    const Arrays in = joined({residuals, cotangents});
    std::vector<Type> types;
    for (const Array& a : in) types.push_back(a.type());
    return run_or_call(program, infer_sizes(*program, types, sizes), in);
  }
};

// The pullback of a function whose linear parts are known. `weak`: of the results of the first part.
Pullback pullback_of(const TracedFunction& f, std::span<const Array> operands, const Partitioned& parts,
                     const std::vector<bool>& weak) {
  TransposeRequest request{.linear_in = Mask(parts.second->inputs().size(), false),
                           .cotangents = Mask(parts.second->outputs().size(), true),
                           .accumulate = {}};
  std::fill(request.linear_in.begin(), request.linear_in.end() - static_cast<std::ptrdiff_t>(parts.residuals.size()),
            true);
  const ProgramRef backward = transpose(parts.second, request);
  // Within a trace both parts will be one Program, which the passes see.
  if (const auto lean = tracing() ? nullptr : delta_residuals(parts, weak.size(), backward)) {
    Linearized first = run_first(lean->first, lean->residuals, {}, operands, weak);
    return {std::move(first.outputs), std::move(first.residuals), lean->reader, {}, std::move(first.operand_of)};
  }
  Linearized linear = linearize_at(f, operands, parts, weak);
  return {std::move(linear.outputs), std::move(linear.residuals), backward, std::move(linear.sizes),
          std::move(linear.operand_of)};
}
Pullback pullback_at(const TracedFunction& f, std::span<const Array> arguments, const RefsOfDerivative& refs,
                     const Mask& active, const Mask& differentiated) {
  const Partitioned parts =
      linear_parts(f, refs.with_states_in(of_operands(f, active)), refs.with_states_out(of_outputs(f, differentiated)));
  Pullback pullback = pullback_of(f, joined({arguments, f.captures}), parts, f.weak);
  refs.write(pullback.outputs);
  return pullback;
}

// Empty arrays elsewhere.
Arrays spread(std::span<const Array> some, const Mask& mask) {
  Arrays all(mask.size());
  for (std::size_t i = 0, k = 0; i < mask.size(); ++i)
    if (mask[i]) all[i] = some[k++];
  return all;
}

void require_as_many(std::string_view op, std::string_view what, std::size_t have, std::size_t want) {
  if (have == want) return;
  throw TreeError(fmt::format("{}: {} have {} arrays, not {}.", op, what, have, want),
                  "Give a tree with the same containers.");
}

// What is given for the members of a mask, each fitted to its type.
Arrays fitted_only(std::string_view op, std::span<const Array> given, const Mask& mask,
                   FunctionRef<Type(std::size_t)> type, FunctionRef<std::string(std::size_t)> name) {
  Arrays some;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) some.push_back(fitted(given[i], type(i), op, [&] { return name(i); }));
  return some;
}

void require_array(std::string_view op, const Type& type) {
  if (!type.is_array())
    throw DifferentiationError(fmt::format("{}: {} has no known number of elements.", op, type.text()),
                               "Use jvp or vjp, which need none.");
}

// A batch of unit vectors over several arrays together: lane k has a one at the k-th of all their elements.
struct Units {
  Dim total = 0;
  std::vector<Dim> from;  // the first lane of each array
  Arrays arrays;          // [total, axes…]

  // The lanes of array i, of its type.
  Array part(const Array& lanes, std::size_t i, const Type& type) const {
    return slice_in_dim(lanes, from[i], from[i] + type.shape.elements(), 0);
  }
};
Units units_of(std::string_view op, std::span<const Type> types) {
  Units units;
  for (const Type& t : types) {
    require_array(op, t);
    units.from.push_back(units.total);
    units.total = units.total + t.shape.elements();
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Dim n = types[i].shape.elements();
    const Array columns = slice_in_dim(eye(units.total, types[i].dtype), units.from[i], units.from[i] + n, 1);
    units.arrays.push_back(reshape(columns, types[i].shape.with_axis(0, units.total)));
  }
  return units;
}

Shape product_shape(const Type& result, const Type& argument) {
  Shape shape = result.shape;
  for (const Dim& d : argument.shape) shape.push_back(d);
  return shape;
}

// By reverse mode: for each output and active leaf, [elements of the output, axes of the leaf…].
std::vector<Arrays> rows_of(std::string_view op, const TracedFunction& f, const Arguments& arguments,
                            const RefsOfDerivative& refs, const Mask& active, const Mask& differentiated,
                            Arrays& outputs, std::span<const Type> out) {
  refs.refuse_states(op);
  const Pullback pullback = pullback_at(f, arguments.leaves, refs, active, differentiated);
  outputs = pullback.outputs;
  const Units units = units_of(op, out);
  const Arrays all = pullback.pull_lanes(units.arrays, units.total);
  std::vector<Arrays> rows(out.size());
  for (std::size_t r = 0; r < out.size(); ++r)
    for (const Array& leaf : all) rows[r].push_back(units.part(leaf, r, out[r]));
  return rows;
}

// By forward mode: for each output and active leaf, [axes of the output…, elements of the leaf].
std::vector<Arrays> columns_of(std::string_view op, const TracedFunction& f, const Arguments& arguments,
                               const RefsOfDerivative& refs, const Mask& active, const Mask& differentiated,
                               Arrays& outputs, std::span<const Type> in) {
  const Arrays operands = joined({arguments.leaves, f.captures});
  const ProgramRef forward = jvp(f.program, of_operands(f, active), of_outputs(f, differentiated));
  const Units units = units_of(op, in);
  const std::size_t primals = f.weak.size();
  Mask batched(operands.size(), false), lanes(primals, false);
  batched.resize(forward->inputs().size(), true);
  lanes.resize(forward->outputs().size(), true);
  // A loop along lists of tangents gives every lane results of its own, values too: those are computed once beside.
  const Mask differ = recurse_of_lanes().reach(forward, batched);
  const auto values = differ.begin() + static_cast<std::ptrdiff_t>(primals);
  const bool beside = std::find(differ.begin(), values, true) != values;
  if (beside) std::fill_n(lanes.begin(), primals, true);
  std::vector<Dim> sizes = f.sizes;
  if (!units.total.known()) sizes.push_back(units.total);
  const Arrays all = run_or_call(vmap(forward, batched, lanes, units.total), sizes, joined({operands, units.arrays}));
  outputs = beside ? run_or_call(f.program, f.sizes, operands)
                   : Arrays(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(primals));
  refs.write(outputs);
  std::vector<Arrays> columns(all.size() - primals);
  for (std::size_t r = 0; r < columns.size(); ++r)
    for (std::size_t a = 0; a < in.size(); ++a)
      columns[r].push_back(move_axis(units.part(all[primals + r], a, in[a]), 0, -1));
  return columns;
}

}  // namespace

namespace {

void require_number(std::string_view op, const TracedFunction& traced) {
  const Type out = traced.program->type(traced.program->outputs()[0]);
  if (!out.is_array() || out.rank() != 0 || !is_real(out.dtype) || !is_differentiable(out.dtype))
    throw DifferentiationError(
        fmt::format("{}: the function returns {}, not one real number.", op, out.text()),
        "Reduce it first, with sum() or mean(); or use jacrev() for all derivatives, vjp() for a product with them.");
}

// The derivative of a Program in what it reads of the tables among its active inputs, as two parts. The first gives the
// Program's results, then the numbers of the rows.
struct SparseParts {
  Partitioned parts;
  std::vector<SparseReads::Read> reads;  // table: among the inputs' tangents
};
SparseParts sparse_parts(const ProgramRef& program, const Mask& active, const Mask& tables, const Mask& differentiated,
                         FunctionRef<std::string(std::size_t)> name) {
  const ProgramRef both = jvp(program, active, differentiated);
  const std::size_t primals = active.size(), outputs = differentiated.size();
  Mask in(primals, false);
  std::vector<std::size_t> input_of;
  for (std::size_t i = 0; i < active.size(); ++i)
    if (active[i]) in.push_back(tables[i]), input_of.push_back(i);
  SparseReads sparse = sparse_reads(both, in, [&](std::size_t i) { return name(input_of[i - primals]); });
  // Results, numbers, tangents.
  const std::size_t tangents = both->outputs().size() - outputs;
  std::vector<std::optional<std::size_t>> inputs;
  for (std::size_t i = 0; i < sparse.program->inputs().size(); ++i) inputs.emplace_back(i);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sparse.program->outputs().size(); ++i)
    if (i < outputs || i >= outputs + tangents) order.push_back(i);
  const std::size_t known = order.size();
  for (std::size_t i = 0; i < tangents; ++i) order.push_back(outputs + i);
  const ProgramRef ordered = adapt(*sparse.program, inputs, std::vector<Type>(inputs.size()), order);
  PartitionRequest request{.known_in = Mask(inputs.size(), false), .known_out = Mask(order.size(), false)};
  std::fill_n(request.known_in.begin(), primals, true);
  std::fill_n(request.known_out.begin(), known, true);
  request.free_in = request.known_in;
  request.free_out = request.known_out;
  for (SparseReads::Read& r : sparse.reads) r.table = input_of[r.table - primals];
  return {partition(ordered, request), std::move(sparse.reads)};
}

}  // namespace

FlatGradient gradient_flat(std::string_view op, FlatFunction f, const Arguments& arguments) {
  const Mask active = active_leaves(op, arguments, true);
  const TracedFunction traced = trace_at(f, arguments);
  require_number(op, traced);
  const Type out = traced.program->type(traced.program->outputs()[0]);
  const RefsOfDerivative refs(op, traced, active);
  const Pullback pullback = pullback_at(traced, arguments.leaves, refs, active, differentiable(traced, 1));
  const Arrays pulled = pullback.pull(Arrays{ones_like(out)}, refs);
  return {pullback.outputs, weakly_typed(spread(pulled, active), weak_flags_of(arguments.leaves)), {}};
}

FlatGradient sparse_gradient_flat(std::string_view op, FlatFunction f, const Arguments& arguments,
                                  const std::vector<bool>& sparse) {
  Mask active = active_leaves(op, arguments, true);
  const TracedFunction traced = trace_at(f, arguments);
  require_number(op, traced);
  const RefsOfDerivative refs(op, traced, active);
  refs.refuse_states("a sparse gradient");
  const auto name = [&](std::size_t i) { return argument_name(arguments.paths()[i]); };
  for (std::size_t i = 0; i < sparse.size(); ++i)
    if (const Type type = arguments.leaves[i].type(); sparse[i] && type.rank() == 0)
      throw DifferentiationError(fmt::format("{}: with sparse, {} is {}, which has no rows.", op, name(i), type.text()),
                                 "Leave it out of tn::sparse.");
  if (!traced.program->size_params().empty())
    throw DifferentiationError(fmt::format("{}: with sparse, all sizes of the arguments are known.", op),
                               "Take the gradient outside of what makes sizes symbolic.");
  const Arrays operands = joined({arguments.leaves, traced.captures});
  const Mask differentiated = of_operands(traced, active), tables = of_operands(traced, sparse);
  const SparseParts s =
      sparse_parts(traced.program, differentiated, tables, of_outputs(traced, differentiable(traced, 1)), name);
  note_kept(s.parts, traced.weak.size() + s.reads.size());
  std::vector<bool> weak = traced.weak;
  weak.resize(weak.size() + s.reads.size(), false);
  const Pullback pullback = pullback_of(traced, operands, s.parts, weak);
  const Array one = ones_like(traced.program->type(traced.program->outputs()[0]));
  const Arrays pulled = pullback.pull(Arrays{one}, refs);
  Mask dense = active;
  for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = active[i] && !sparse[i];
  const auto plain = static_cast<std::size_t>(std::ranges::count(dense, true));
  Arrays outputs(pullback.outputs.begin(), pullback.outputs.begin() + static_cast<std::ptrdiff_t>(traced.weak.size()));
  refs.write(outputs);
  FlatGradient result{std::move(outputs), spread(std::span(pulled).first(plain), dense),
                      std::vector<Rows>(sparse.size())};
  for (std::size_t i = 0; i < sparse.size(); ++i) {
    if (!sparse[i]) continue;
    Arrays indices, values;
    for (std::size_t r = 0; r < s.reads.size(); ++r) {
      if (s.reads[r].table != i) continue;
      indices.push_back(pullback.outputs[traced.weak.size() + r]);
      values.push_back(pulled[plain + r]);
    }
    const Type type = arguments.leaves[i].type();
    if (indices.empty()) {
      std::vector<Dim> none = type.shape.dims();
      none[0] = Dim(0);
      indices.push_back(zeros({0}, DType::i64)), values.push_back(zeros(Shape(none), type.dtype));
    }
    const bool one_read = indices.size() == 1;
    result.rows[i] = {one_read ? indices[0] : concatenate(indices, 0), one_read ? values[0] : concatenate(values, 0),
                      type.shape[0].value()};
  }
  return result;
}

Arrays jvp_flat(FlatFunction f, const Arguments& arguments, std::span<const Array> tangents) {
  require_as_many("jvp", "the tangents", tangents.size(), arguments.leaves.size());
  const Mask active = active_leaves("jvp", arguments, false);
  const Arrays given = fitted_only(
      "jvp", tangents, active, [&](std::size_t i) { return arguments.leaves[i].type(); },
      [&](std::size_t i) { return "the tangent of " + argument_name(arguments.paths()[i]); });
  const TracedFunction traced = trace_at(f, arguments);
  const RefsOfDerivative refs("jvp", traced, active);
  const Mask differentiated = differentiable(traced, traced.results());
  const Arrays operands = joined({arguments.leaves, traced.captures});
  const ProgramRef both = jvp(traced.program, of_operands(traced, active), of_outputs(traced, differentiated));
  const Arrays results = run_or_call(both, traced.sizes, joined({operands, given}));
  const auto tangents_at = results.begin() + static_cast<std::ptrdiff_t>(traced.weak.size());
  Arrays values(results.begin(), tangents_at);
  refs.write(values);
  return joined({weakly_typed(std::move(values), traced.weak),
                 weakly_typed(spread(Arrays(tangents_at, results.end()), differentiated), traced.weak)});
}

namespace {

// What tells a linear function apart: its Program, what goes in and out, and the sizes.
Hash128 form_of(std::string_view op, const Program& program, const Mask& in, const Mask& out,
                std::span<const Type> types, std::span<const Dim> sizes) {
  Hasher h;
  h(op)(program.hash())(in.size())(out.size())(types.size());
  for (const Mask* mask : {&in, &out})
    for (const bool bit : *mask) h(bit);
  for (const Type& t : types) t.hash(h);
  for (const Dim& d : sizes) d.hash(h);
  return h.finish();
}

// A linear function with its residuals, from a function of both.
FlatLinear linear_function(Arrays outputs, Arrays residuals, Hash128 form,
                           std::function<Arrays(std::span<const Array>, std::span<const Array>)> apply_to) {
  KeptFlatFunction apply = [residuals, apply_to](std::span<const Array> given) { return apply_to(residuals, given); };
  return {std::move(outputs), std::move(apply), std::move(residuals), std::move(apply_to), form};
}

}  // namespace

FlatLinear vjp_flat(FlatFunction f, const Arguments& arguments) {
  const Mask active = active_leaves("vjp", arguments, false);
  const TracedFunction traced = trace_at(f, arguments);
  const RefsOfDerivative refs("vjp", traced, active);
  const Mask differentiated = differentiable(traced, traced.results());
  Pullback pullback = pullback_at(traced, arguments.leaves, refs, active, differentiated);
  Arrays outputs = std::move(pullback.outputs), residuals = std::exchange(pullback.residuals, {});
  pullback.outputs.clear();
  const std::vector<Type> types = types_of(outputs);
  Hasher form;
  form(form_of("vjp", *pullback.backward, differentiated, active, types, pullback.sizes));
  refs.hash(form);
  std::vector<std::size_t> argument_of = std::exchange(pullback.operand_of, {});
  for (std::size_t& operand : argument_of)
    if (operand >= arguments.leaves.size()) operand = FlatLinear::no_argument;  // it is captured
  FlatLinear made =
      linear_function(std::move(outputs), std::move(residuals), form.finish(),
                      [pullback, refs, active, differentiated, types, weak = weak_flags_of(arguments.leaves)](
                          std::span<const Array> residuals, std::span<const Array> cotangents) {
                        require_as_many("vjp", "the cotangents", cotangents.size(), differentiated.size());
                        const Arrays given = fitted_only(
                            "vjp", cotangents, differentiated, [&](std::size_t i) { return types[i]; },
                            [&](std::size_t i) { return fmt::format("the cotangent of leaf {} of the result", i); });
                        Pullback here = pullback;
                        here.residuals.assign(residuals.begin(), residuals.end());
                        return weakly_typed(spread(here.pull(given, refs), active), weak);
                      });
  made.argument_of = std::move(argument_of);
  return made;
}

FlatLinear linearize_flat(FlatFunction f, const Arguments& arguments) {
  const Mask active = active_leaves("linearize", arguments, false);
  const TracedFunction traced = trace_at(f, arguments);
  const RefsOfDerivative refs("linearize", traced, active);
  const Mask differentiated = differentiable(traced, traced.results());
  const Partitioned parts = linear_parts(traced, of_operands(traced, active), of_outputs(traced, differentiated));
  Linearized linear = linearize_at(traced, joined({arguments.leaves, traced.captures}), parts, traced.weak);
  refs.write(linear.outputs);
  const std::vector<Type> types = types_of(arguments.leaves);
  const Hash128 form = form_of("linearize", *linear.second, active, differentiated, types, linear.sizes);
  return linear_function(
      std::move(linear.outputs), std::move(linear.residuals), form,
      [second = linear.second, sizes = linear.sizes, active, differentiated, types, weak = traced.weak](
          std::span<const Array> residuals, std::span<const Array> tangents) {
        require_as_many("linearize", "the tangents", tangents.size(), active.size());
        const Arrays given = fitted_only(
            "linearize", tangents, active, [&](std::size_t i) { return types[i]; },
            [&](std::size_t i) { return fmt::format("the tangent of leaf {} of the arguments", i); });
        return weakly_typed(spread(run_or_call(second, sizes, joined({given, residuals})), differentiated), weak);
      });
}

FlatJacobian jacobian_flat(Mode mode, std::string_view op, FlatFunction f, const Arguments& arguments,
                           FunctionRef<std::size_t()> count) {
  const Mask active = active_leaves(op, arguments, true);
  const TracedFunction traced = trace_at(f, arguments);
  const RefsOfDerivative refs(op, traced, active);
  const Mask differentiated = differentiable(traced, count());
  std::vector<Type> in, out;
  std::vector<bool> weak_in;
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    in.push_back(arguments.leaves[i].type());
    weak_in.push_back(arguments.leaves[i].weak());
  }
  for (const Type& type : in) require_array(op, type);
  const std::vector<Type> all = traced.output_types();
  for (std::size_t i = 0; i < count(); ++i) {
    out.push_back(all[i]);
    if (out.back().is_list()) require_array(op, out.back());
    if (!differentiated[i])
      throw DifferentiationError(
          fmt::format("{}: leaf {} of the result is {}, which has no derivative.", op, i, out.back().text()),
          "Return it as an auxiliary result, with tn::has_aux; or convert it to a floating dtype.");
  }
  Arrays outputs;
  const std::vector<Arrays> products =
      mode == Mode::reverse ? rows_of(op, traced, arguments, refs, active, differentiated, outputs, out)
                            : columns_of(op, traced, arguments, refs, active, differentiated, outputs, in);
  FlatJacobian jacobian{std::move(outputs), {}};
  for (std::size_t r = 0; r < out.size(); ++r) {
    Arrays row;
    for (std::size_t a = 0; a < in.size(); ++a)
      row.push_back(reshape(products[r][a], product_shape(out[r], in[a])).with_weak(traced.weak[r] && weak_in[a]));
    for (Array& block : spread(row, active)) jacobian.blocks.push_back(std::move(block));
  }
  return jacobian;
}

}  // namespace tenon::api_detail
