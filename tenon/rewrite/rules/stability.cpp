// What overflows on the way to a number that does not. None of these is applied unless it is asked for.
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

// log(Σ exp x) is the largest x, and the logarithm of a sum of numbers that are at most 1.
RuleRef log_sum_exp() {
  return std::make_shared<const Rule>(
      Rule{.name = "log(sum(exp(x))) = logsumexp(x)",
           .exactness = Exactness::avoids_overflow,
           .replacement = [](const Match& m) -> MaybeArray {
             const Eqn *root = m.maker(m.root()), *sum = m.maker(m[0]);
             const auto* reduction = sum == nullptr ? nullptr : rule_of<LowerReduction>(*sum->op);
             if (reduction == nullptr || sum->recompute != root->recompute || sum->numerics == Numerics::strict)
               return {};
             const Array terms = m.operand(*sum, 0);
             const Type in[]{terms.type()};
             const ReductionForm form = reduction->rule(sum->params, in);
             const Eqn* exponential = m.maker(terms);
             if (form.combine != kernel::Combine::add || !is_real(terms.dtype()) || exponential == nullptr ||
                 exponential->op != &exp_op() || exponential->recompute != root->recompute)
               return {};
             return logsumexp(m.operand(*exponential, 0), Axes(form.axes));
           },
           .roots = [](const OpInfo& op) { return &op == &log_op(); },
           .applies_to =
               [] {
                 std::vector<Rule::Example> all;
                 const Type type = Type::array(DType::f32, {Dim(2), Dim(3)});
                 for (const std::int64_t axis : {0, 1})
                   all.push_back({{type}, [axis](std::span<const Array> x) {
                                    return log(sum(exp(x[0]), Axes(std::vector<std::int64_t>{axis})));
                                  }});
                 return all;
               }});
}

}  // namespace

std::vector<RuleRef> stability_rules() { return {log_sum_exp()}; }

}  // namespace tenon
