// cond: one of several branches, by an index.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/adapt.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ir/recurse.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/guard.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

namespace {

extern const OpInfo cond_info;

Mask operand_mask(const Mask& in) { return Mask(in.begin() + 1, in.end()); }

std::vector<Type> cond_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const auto& p = params.as<CondParams>();
  if (p.branches.empty() || p.sizes.size() != p.branches.size() || std::ranges::count(p.branches, nullptr) > 0)
    throw VerifyError("cond: there is no branch, or sizes are missing.");
  if (in.empty() || in[0] != Type::array(DType::i32, {}))
    throw ShapeError("cond: the index is " + (in.empty() ? std::string("missing") : in[0].text()) + ", not one i32.",
                     "A predicate is one bool; use where() to choose element by element.");
  std::vector<Type> first;
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    const Program& branch = *p.branches[b];
    SizeBinding sizes;
    if (branch.inputs().size() + 1 != in.size() || branch.size_params().size() != p.sizes[b].size())
      throw VerifyError("cond: a branch takes other operands.");
    for (std::size_t i = 0; i < p.sizes[b].size(); ++i) sizes.emplace(branch.size_params()[i], p.sizes[b][i]);
    for (std::size_t i = 1; i < in.size(); ++i)
      if (substitute(branch.type(branch.inputs()[i - 1]), sizes) != in[i])
        throw VerifyError("cond: a branch takes other types.");
    std::vector<Type> out;
    for (const Type& t : branch.output_types()) {
      if (has_decided_size(branch, t))
        throw ShapeError(
            fmt::format("cond: result {} of branch {} is {}, of a size that the branch's data decide.", out.size(), b,
                        t.text()),
            "All branches return the same types: reduce it inside, or keep the full size and use where() with the "
            "mask.");
      out.push_back(substitute(t, sizes));
    }
    if (b == 0) first = out;
    for (std::size_t i = 0; i < std::max(out.size(), first.size()); ++i)
      if (i >= out.size() || i >= first.size() || out[i] != first[i])
        throw ShapeError(fmt::format("cond: branch 0 gives {} as result {}, branch {} gives {}.",
                                     i < first.size() ? first[i].text() : "nothing", i, b,
                                     i < out.size() ? out[i].text() : "nothing"),
                         "All branches return the same types; convert or broadcast one of them.");
  }
  return first;
}

std::size_t chosen(const Value& index, std::size_t branches) {
  const std::int32_t i = *std::get<Buffer>(index).as<std::int32_t>();
  return static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, static_cast<std::int64_t>(branches) - 1));
}

// Outputs that some branch makes depend on the mask; all of them where the index does.
Mask cond_reach(const Params& params, const Mask& in, Recurse& recurse) {
  const auto& p = params.as<CondParams>();
  Mask out(p.branches[0]->outputs().size(), in[0]);
  for (const ProgramRef& branch : p.branches) {
    const Mask reached = recurse.reach(branch, operand_mask(in));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] || reached[i];
  }
  return out;
}

JvpResult cond_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<CondParams>();
  Mask active;
  Arrays operands(args.primals.begin(), args.primals.end());
  for (std::size_t i = 0; i < args.tangents.size(); ++i) {
    active.push_back(args.tangents[i].has_value());
    if (args.tangents[i]) operands.push_back(*args.tangents[i]);
  }
  Mask out = cond_reach(args.params, active, args.recurse);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = out[i] && is_differentiable(leaf_type(p.branches[0]->type(p.branches[0]->outputs()[i])).dtype);
  CondParams q = p;
  for (ProgramRef& branch : q.branches) branch = args.recurse.jvp(branch, operand_mask(active), out);
  const Arrays results = bind_op(cond_info, make_params(q), operands);
  JvpResult jvp{{results.begin(), results.begin() + static_cast<std::ptrdiff_t>(out.size())}, {}};
  std::size_t at = out.size();
  for (bool a : out) jvp.tangents.push_back(a ? MaybeArray(results[at++]) : std::nullopt);
  return jvp;
}

void cond_transpose(const TransposeArgs& args) {
  CondParams q = args.params.as<CondParams>();
  if (args.operands[0].linear()) throw DifferentiationError("cond: the index is not differentiable.");
  TransposeRequest request;
  Arrays operands{*args.operands[0].value};
  for (std::size_t i = 1; i < args.operands.size(); ++i) {
    request.linear_in.push_back(args.operands[i].linear());
    if (!args.operands[i].linear()) operands.push_back(*args.operands[i].value);
  }
  for (const MaybeArray& ct : args.cotangents) {
    request.cotangents.push_back(ct.has_value());
    if (ct) operands.push_back(*ct);
  }
  for (ProgramRef& branch : q.branches) branch = args.recurse.transpose(branch, request);
  const Arrays cotangents = bind_op(cond_info, make_params(q), operands);
  std::size_t at = 0;
  for (std::size_t i = 1; i < args.operands.size(); ++i)
    if (args.operands[i].linear()) args.sink.add(i, cotangents[at++]);
}

// Lanes choose for themselves: every branch runs for all, and each lane takes its own. What all branches make of one
// operand by updates goes through them one after the other, in place.
BatchResult choose_by_lane(const BatchArgs& args, Mask in) {
  const auto& p = args.params.as<CondParams>();
  const std::size_t outputs = p.branches[0]->outputs().size();
  Arrays operands(args.operands.begin() + 1, args.operands.end());
  const auto from = origins(std::span(p.branches));
  Mask updated(outputs, false), taken(operands.size(), false);
  for (std::size_t i = 0; i < outputs; ++i) {
    if (!from[i] || taken[*from[i]]) continue;
    updated[i] = taken[*from[i]] = true;
    if (!in[*from[i]]) operands[*from[i]] = one_for_all_lanes(operands[*from[i]], args.size);
    in[*from[i]] = true;
  }
  Mask shared = in;
  shared.flip();
  in.insert(in.begin(), true);
  const auto last = static_cast<std::int32_t>(p.branches.size()) - 1;
  const Array index = clamp(args.operands[0], Array(Scalar(std::int32_t(0))), Array(Scalar(last)));
  Arrays results;
  for (std::int32_t b = 0; b <= last; ++b) {
    const auto i = static_cast<std::size_t>(b);
    const ProgramRef branch =
        args.recurse.vmap(guard(p.branches[i], updated, shared), in, Mask(outputs, true), args.size);
    std::vector<Dim> sizes = p.sizes[i];
    if (!args.size.known()) sizes.push_back(args.size);
    const Array here = index == b;
    Arrays inputs{here};
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    const Arrays made = inline_program(*branch, sizes, inputs);
    if (b == 0) results = made;
    for (std::size_t k = 0; k < outputs; ++k) {
      if (updated[k])
        operands[*from[k]] = results[k] = made[k];
      else if (b > 0 && made[k].type().is_list())
        results[k] = list_select(here, made[k], results[k]);
      else if (b > 0)
        results[k] = bind1(select_op(), {}, {broadcast_in_dim(here, made[k].shape(), {0}), made[k], results[k]});
    }
  }
  return {results, std::vector<bool>(outputs, true)};
}

BatchResult cond_batch(const BatchArgs& args) {
  const auto& p = args.params.as<CondParams>();
  const Mask in(args.batched.begin() + 1, args.batched.end());
  Mask out(p.branches[0]->outputs().size(), args.batched[0]);
  for (const ProgramRef& branch : p.branches) {
    const Mask reached = args.recurse.reach(branch, in);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] || reached[i];
  }
  if (args.batched[0]) return choose_by_lane(args, in);
  CondParams q = p;
  for (std::size_t b = 0; b < q.branches.size(); ++b) {
    q.branches[b] = args.recurse.vmap(q.branches[b], in, out, args.size);
    if (!args.size.known()) q.sizes[b].push_back(args.size);
  }
  return {bind_op(cond_info, make_params(q), args.operands), out};
}

// --- split: residuals of all branches side by side; those of the branches that were not taken are empty. What a
// branch keeps of its operands and results is not stored again ---
class CondSplitter {
 public:
  explicit CondSplitter(const SplitArgs& args) : args_(args), p_(args.params.as<CondParams>()) {
    if (!args.known[0]) throw VerifyError("cond: split with an unknown index.");
    Mask unknown = args.known;
    unknown.flip();
    known_in_ = operand_mask(args.known);
    known_out_ = cond_reach(args.params, unknown, args.recurse);
    known_out_.flip();
    for (std::size_t b = 0; b < p_.branches.size(); ++b) {
      parts_.push_back(args.recurse.partition(
          p_.branches[b],
          {.known_in = known_in_, .known_out = known_out_, .recompute = args.recompute, .given_sizes = true}));
      for (const auto& r : parts_.back().residuals) place(b, r);
    }
  }

  SplitResult run() const {
    SplitResult split{.first = &cond_info, .second = &cond_info};
    split.first_in.push_back(0);
    split.second_in.push_back({Source::From::operand, 0});
    for (std::size_t i = 0; i < known_in_.size(); ++i) {
      if (known_in_[i])
        split.first_in.push_back(i + 1);
      else
        split.second_in.push_back({Source::From::operand, i + 1});
    }
    for (const Kept& kept : kept_) split.second_in.push_back(kept.source);
    for (std::size_t i = 0; i < known_out_.size(); ++i)
      (known_out_[i] ? split.first_out : split.second_out).push_back(i);
    CondParams first, second;
    for (std::size_t b = 0; b < parts_.size(); ++b) {
      const TraceResult traced = known_branch(b);
      first.branches.push_back(traced.program);
      first.sizes.push_back(traced.sizes);
      second.sizes.push_back(unknown_sizes(b));
      second.branches.push_back(unknown_branch(b, second.sizes.back()));
    }
    split.first_params = make_params(first);
    split.second_params = make_params(second);
    return split;
  }

 private:
  using Source = SplitResult::Source;
  using From = Partitioned::Residual::From;
  // What the second cond gets beyond unknown operands: an operand, an output of the first, or a stored residual.
  struct Kept {
    Source source;
    Type type;
    std::size_t branch, residual;  // of stored ones
  };

  SizeBinding sizes_of(std::size_t b) const {
    SizeBinding own;
    for (std::size_t i = 0; i < p_.sizes[b].size(); ++i) own.emplace(p_.branches[b]->size_params()[i], p_.sizes[b][i]);
    return own;
  }

  void place(std::size_t b, const Partitioned::Residual& r) {
    const Source source = r.from == From::input    ? Source{Source::From::operand, r.index + 1}
                          : r.from == From::output ? Source{Source::From::output, r.index}
                                                   : Source{Source::From::residual, stored_};
    std::size_t at = kept_.size();
    if (r.from == From::stored)
      ++stored_;
    else
      at = static_cast<std::size_t>(
          std::ranges::find_if(
              kept_, [&](const Kept& k) { return k.source.from == source.from && k.source.index == source.index; }) -
          kept_.begin());
    if (at == kept_.size()) kept_.push_back({source, substitute(r.type, sizes_of(b)), b, r.index});
    places_.resize(parts_.size());
    places_[b].push_back(at);
  }

  // A branch's known part, giving the stored residuals of all branches.
  TraceResult known_branch(std::size_t b) const {
    Scope scope;
    Arrays inputs;
    for (std::size_t i = 0; i < known_in_.size(); ++i)
      if (known_in_[i]) inputs.push_back(scope.input(args_.types[i + 1]));
    const auto known = static_cast<std::size_t>(std::ranges::count(known_out_, true));
    const Arrays out = inline_program(*parts_[b].first, p_.sizes[b], inputs);
    Arrays outputs(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(known));
    for (const Kept& kept : kept_)
      if (kept.source.from == Source::From::residual)
        outputs.push_back(kept.branch != b ? zeros_of(kept.type) : out[known + kept.residual]);
    return scope.finish(outputs, p_.branches[b]->name() + "_known");
  }

  // The other part of a branch, taking all that is kept.
  ProgramRef unknown_branch(std::size_t b, std::vector<Dim>& sizes) const {
    const Program& second = *parts_[b].second;
    const std::size_t plain = second.inputs().size() - parts_[b].residuals.size();
    std::vector<std::optional<std::size_t>> order;
    std::vector<Type> types(plain);
    for (std::size_t i = 0; i < plain; ++i) order.emplace_back(i);
    for (const Kept& kept : kept_) {
      order.emplace_back(std::nullopt);
      types.push_back(kept.type);
    }
    if (b < places_.size())
      for (std::size_t r = 0; r < places_[b].size(); ++r) order[plain + places_[b][r]] = plain + r;
    std::vector<std::size_t> outputs(second.outputs().size());
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
    return adapt(second, order, types, outputs, sizes);
  }
  std::vector<Dim> unknown_sizes(std::size_t b) const {
    const SizeBinding own = sizes_of(b);
    std::vector<Dim> sizes;
    for (const auto& size : parts_[b].second_sizes) {
      if (!size) throw VerifyError("cond: a size that data decide inside a branch cannot cross into its derivative.");
      sizes.push_back(substitute(*size, own));
    }
    return sizes;
  }

  const SplitArgs& args_;
  const CondParams& p_;
  Mask known_in_, known_out_;
  std::vector<Partitioned> parts_;
  std::vector<Kept> kept_;
  std::vector<std::vector<std::size_t>> places_;  // of each branch's residuals among what is kept
  std::size_t stored_ = 0;
};

SplitResult cond_split(const SplitArgs& args) { return CondSplitter(args).run(); }

const OpInfo cond_info{
    .name = "cond",
    .summary = "one of several branches, by an index",
    .params = &describe::params_ops<CondParams>,
    .type = TypeRule(cond_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<CondParams>();
      const std::size_t b = chosen(in[0], p.branches.size());
      std::vector<std::int64_t> sizes;
      for (const Dim& d : p.sizes[b]) sizes.push_back(d.value());
      return context.run(*p.branches[b], sizes, in.subspan(1));
    }),
    .jvp = JvpRule(cond_jvp),
    .transpose = TransposeRule(cond_transpose),
    .batch = BatchRule(cond_batch),
    .split = SplitRule{cond_reach, cond_split},
    .guard = GuardRule([](const GuardArgs& args) {
      CondParams p = args.params.as<CondParams>();
      for (ProgramRef& branch : p.branches) branch = args.results(branch, 0);
      return GuardResult{make_params(std::move(p)), 1};  // behind the index
    }),
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::cond}),
    .alias = Absent{"decided inside"},
    .effect = std::function<Effect(const Params&)>([](const Params& params) {
      Effect effect = Effect::none;
      for (const ProgramRef& branch : params.as<CondParams>().branches) effect = std::max(effect, branch->effect());
      return effect;
    }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool cond_installed = (install_op(cond_info), true);

}  // namespace

const OpInfo& cond_op() { return cond_info; }
Arrays cond(CondParams params, const Array& index, std::span<const Array> operands) {
  Arrays all{index};
  all.insert(all.end(), operands.begin(), operands.end());
  return bind_op(cond_info, make_params(std::move(params)), all);
}

}  // namespace tenon
