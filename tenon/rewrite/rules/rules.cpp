#include "tenon/rewrite/rules/rules.h"

#include "tenon/base/fork.h"
#include "tenon/ir/bind.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

std::vector<RuleRef> joined(std::initializer_list<std::vector<RuleRef>> families) {
  std::vector<RuleRef> all;
  for (const auto& family : families) all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace

bool is_exact_elementwise(const OpInfo& op) {
  const auto* element = rule_of<LowerElement>(op);
  return op.traits.determined && !op.traits.rearranges && element != nullptr && element->elementwise;
}

Array filled(const Scalar& number, const Type& type) {
  return broadcast_to(bind1(literal_op(), literal_params(number), {}), type.shape);
}

const RuleSet& default_rules() {
  static constinit Lasting<const RuleSet> rules;
  return rules.get([] {
    return RuleSet(
        joined({number_rules(), algebra_rules(), choice_rules(), conversion_rules(), index_rules(),
                gathered_part_rules(), order_rules(), reduction_rules(), product_rules(), outer_product_rules()}));
  });
}

std::vector<RuleRef> all_rules() {
  static constinit Lasting<const std::vector<RuleRef>> rules;
  return rules.get([] {
    const std::span<const RuleRef> applied = default_rules().rules();
    return joined({{applied.begin(), applied.end()}, stability_rules()});
  });
}

RuleRef find_rule(std::string_view name) {
  for (const RuleRef& rule : all_rules())
    if (rule->name == name) return rule;
  return nullptr;
}

}  // namespace tenon
