// Transposition of linear Programs: what is non-linear runs forwards first, then cotangents walk the eqns backwards.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/transform/constants.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

// The sums of cotangents, by variable.
class Cotangents {
 public:
  explicit Cotangents(const Program& program) : sums_(program.vars()) {}
  const MaybeArray& at(Var v) const { return sums_[v]; }
  void add(Var v, const Array& cotangent) { sums_[v] = sums_[v] ? sum_of(*sums_[v], cotangent) : cotangent; }
  void set(Var v, const Array& sum) { sums_[v] = sum; }

 private:
  std::vector<MaybeArray> sums_;
};

class EqnSink final : public CotangentSink {
 public:
  EqnSink(Cotangents& cotangents, const Eqn& eqn, std::span<const Type> types)
      : cotangents_(cotangents), eqn_(eqn), types_(types) {}
  void add(std::size_t operand, const Array& cotangent) override { cotangents_.add(eqn_.in[operand], cotangent); }
  void update(std::size_t operand, FunctionRef<Array(const Array&)> next) override {
    const Var v = eqn_.in[operand];
    cotangents_.set(v, next(cotangents_.at(v) ? *cotangents_.at(v) : zeros_of(types_[operand])));
  }

 private:
  Cotangents& cotangents_;
  const Eqn& eqn_;
  std::span<const Type> types_;
};

class Transpose {
 public:
  Transpose(const Program& program, const TransposeRequest& request) : program_(program), request_(request) {}

  ProgramRef run() {
    Scope scope;
    const std::vector<Dim> sizes = scope.size_params_of(program_);
    Replay types(program_, sizes);
    Arrays values(program_.inputs().size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!request_.linear_in[i]) values[i] = scope.input(types.type(program_.inputs()[i]));
    const std::vector<MaybeArray> cotangents = take_cotangents(scope, types, values);
    std::vector<MaybeArray> sums(program_.inputs().size());
    for (std::size_t i = 0; i < request_.accumulate.size(); ++i)
      if (request_.accumulate[i]) sums[i] = scope.input(types.type(program_.inputs()[i]));

    const Arrays results = linear_part(sizes, values, cotangents, sums);
    return scope.finish(results, program_.name() + "_transposed").program;
  }

 private:
  // The inputs for cotangents. Sizes of theirs that the Program's data decide are given with them, and what decides
  // them is told so.
  std::vector<MaybeArray> take_cotangents(Scope& scope, Replay& types, const Arrays& values) const {
    OutsideSizes given(types.sizes(), [&](const Dim&) { return scope.size_param(); });
    const auto wanted = [&](std::size_t i) { return request_.cotangents[i]; };
    const auto outputs = program_.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (wanted(i)) given.see(program_.type(outputs[i]));
    std::vector<MaybeArray> cotangents(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (wanted(i)) cotangents[i] = scope.input(given.type(program_.type(outputs[i])));
    for (const auto& [s, size] : given.bound())
      if (!types.knows(s)) types.bind_size(s, size);
    for (const SizeFact& fact : program_.size_facts()) {
      const auto s = bare_variable(fact.size);
      if (!s || !given.bound().contains(*s)) continue;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (program_.inputs()[i] == fact.of && !request_.linear_in[i])
          scope.note_data_size(fact.key, values[i], given.bound().at(*s));
    }
    return cotangents;
  }

  // Splits off the non-linear part, runs it, and walks the linear part backwards.
  Arrays linear_part(std::span<const Dim> sizes, const Arrays& values, std::span<const MaybeArray> cotangents,
                     std::span<const MaybeArray> sums) {
    PartitionRequest parts_of{
        .known_in = request_.linear_in, .known_out = Mask(program_.outputs().size(), false), .recompute = false};
    parts_of.known_in.flip();
    const Partitioned parts = partition(ProgramRef(std::shared_ptr<void>(), &program_), parts_of);
    Arrays first_in, second_in;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!request_.linear_in[i]) first_in.push_back(values[i]);
    const Arrays stored = inline_program(*parts.first, sizes, first_in);
    for (const auto& residual : parts.residuals)
      second_in.push_back(residual.from == Partitioned::Residual::From::input ? values[residual.index]
                                                                              : stored[residual.index]);
    return backwards(*parts.second, second_sizes(parts, sizes, second_in), second_in, cotangents, sums);
  }

  std::vector<Dim> second_sizes(const Partitioned& parts, std::span<const Dim> sizes, const Arrays& residuals) const {
    SizeBinding own, inferred;
    for (std::size_t i = 0; i < sizes.size(); ++i) own.emplace(program_.size_params()[i], sizes[i]);
    const Program& second = *parts.second;
    const std::size_t linear = second.inputs().size() - residuals.size();
    for (std::size_t i = 0; i < residuals.size(); ++i)
      unify(second.type(second.inputs()[linear + i]), residuals[i].type(), inferred);
    std::vector<Dim> result;
    for (std::size_t i = 0; i < parts.second_sizes.size(); ++i)
      result.push_back(parts.second_sizes[i] ? substitute(*parts.second_sizes[i], own)
                                             : substitute(Dim::variable(second.size_params()[i]), inferred));
    return result;
  }

  // `linear`: inputs are the linear ones, then residuals.
  Arrays backwards(const Program& linear, std::span<const Dim> sizes, const Arrays& residuals,
                   std::span<const MaybeArray> cotangents, std::span<const MaybeArray> sums) {
    const std::size_t count = linear.inputs().size() - residuals.size();
    Replay replay(linear, sizes);
    std::vector<bool> is_linear(linear.vars(), false);
    for (std::size_t i = 0; i < count; ++i) is_linear[linear.inputs()[i]] = true;
    for (std::size_t i = 0; i < residuals.size(); ++i) replay.set(linear.inputs()[count + i], residuals[i]);
    const std::vector<bool> leads_to_cotangent = leading_to(cotangents, linear);
    for (std::size_t e = 0; e < linear.eqns().size(); ++e) {
      const Eqn& eqn = linear.eqns()[e];
      bool any = false;
      for (Var v : eqn.in) {
        any = any || is_linear[v];
        if (is_linear[v] && leads_to_cotangent[e]) require_linear(eqn, linear.type(v));
      }
      if (!any)
        replay.bind_eqn(eqn);
      else if (std::ranges::any_of(eqn.new_sizes, [&](SizeVar s) { return !replay.knows(s); }))
        decide_sizes(eqn, is_linear, replay);
      for (Var v : eqn.out) is_linear[v] = any;
    }
    Cotangents sums_of(linear);
    for (std::size_t i = 0, k = 0; i < program_.inputs().size(); ++i) {
      if (!request_.linear_in[i]) continue;
      if (i < sums.size() && sums[i]) sums_of.set(linear.inputs()[k], *sums[i]);
      ++k;
    }
    for (std::size_t i = 0; i < cotangents.size(); ++i)
      if (cotangents[i] && is_linear[linear.outputs()[i]]) sums_of.add(linear.outputs()[i], *cotangents[i]);
    for (std::size_t e = linear.eqns().size(); e-- > 0;) step(linear.eqns()[e], is_linear, replay, sums_of);
    Arrays results;
    for (std::size_t i = 0; i < count; ++i) {
      const Var v = linear.inputs()[i];
      results.push_back(sums_of.at(v) ? *sums_of.at(v) : zeros_of(replay.type(v)));
    }
    return results;
  }

  // By eqn: whether an output that has a cotangent is made of its results.
  static std::vector<bool> leading_to(std::span<const MaybeArray> cotangents, const Program& linear) {
    std::vector<bool> eqns(linear.eqns().size(), false), vars(linear.vars(), false);
    for (std::size_t i = 0; i < cotangents.size(); ++i)
      if (cotangents[i]) vars[linear.outputs()[i]] = true;
    for (std::size_t e = eqns.size(); e-- > 0;) {
      const Eqn& eqn = linear.eqns()[e];
      eqns[e] = std::ranges::any_of(eqn.out, [&](Var v) { return vars[v]; });
      for (Var v : eqn.in) vars[v] = vars[v] || eqns[e];
    }
    return eqns;
  }

  // Sizes of a linear eqn's results that its known operands decide: the eqn itself finds them, at zeros.
  static void decide_sizes(const Eqn& eqn, const std::vector<bool>& is_linear, Replay& replay) {
    const EqnScope place(eqn);
    Arrays operands;
    for (Var v : eqn.in) operands.push_back(is_linear[v] ? zeros_of(replay.type(v)) : replay.get(v));
    replay.bind_sizes(eqn, bind_op(*eqn.op, replay.params(eqn), operands));
  }

  // A bool or integer made of linear values, such as a comparison, carries no cotangent back to them.
  static void require_linear(const Eqn& eqn, const Type& operand) {
    if (has_tangent(operand)) return;
    const EqnScope place(eqn);
    throw DifferentiationError(fmt::format("{} reads {} that depends on a linear value: it cannot be transposed.",
                                           eqn.op->name, operand.text()),
                               "Reverse mode needs the derivative of each op to be linear in its tangents.");
  }

  static void step(const Eqn& eqn, const std::vector<bool>& is_linear, const Replay& replay, Cotangents& sums) {
    bool any = false;
    std::vector<MaybeArray> cotangents;
    for (Var v : eqn.out) {
      cotangents.push_back(sums.at(v));
      any = any || (sums.at(v) && is_linear[v]);
    }
    if (!any) return;
    const EqnScope place(eqn);
    if (!eqn.op->transpose)
      throw DifferentiationError(fmt::format("{} cannot be transposed: {}.", eqn.op->name, eqn.op->transpose.reason()),
                                 "Reverse mode needs the derivative of each op to be linear in its tangents.");
    std::vector<TransposeOperand> operands;
    std::vector<Type> types;
    for (Var v : eqn.in) {
      types.push_back(replay.type(v));
      operands.push_back({types.back(), is_linear[v] ? std::nullopt : MaybeArray(replay.get(v))});
    }
    const Params params = replay.params(eqn);
    EqnSink sink(sums, eqn, types);
    (*eqn.op->transpose)({params, operands, cotangents, sink, recurse()});
  }

  const Program& program_;
  const TransposeRequest& request_;
};

}  // namespace

ProgramRef transpose(const ProgramRef& program, const TransposeRequest& request) {
  static constinit Memo<ProgramRef> memo;
  Hasher h;
  h("transpose")(program->hash());
  hash_mask(h, request.linear_in);
  hash_mask(h, request.cotangents);
  hash_mask(h, request.accumulate);
  return memo.get(h.finish(), [&] { return Transpose(*program, request).run(); });
}

}  // namespace tenon
