// Chains of selects. All are exact: a select gives one of its operands.
#include "tenon/ir/bind.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

Array choice(const Array& p, const Array& x, const Array& y) { return bind1(select_op(), {}, {p, x, y}); }

RuleRef choice_rule(std::string name, std::size_t conditions, std::size_t values, Rule::Function pattern,
                    Rule::Function replacement) {
  std::vector<Type> types(conditions, Type::array(DType::bool_, {Dim(3)}));
  types.resize(conditions + values, Type::array(DType::f32, {Dim(3)}));
  return std::make_shared<const Rule>(Rule{.name = std::move(name),
                                           .holes = conditions + values,
                                           .pattern = std::move(pattern),
                                           .replacement = [=](const Match& m) -> MaybeArray {
                                             Arrays holes;
                                             for (std::size_t i = 0; i < conditions + values; ++i)
                                               holes.push_back(m[i]);
                                             return replacement(holes);
                                           },
                                           .examples = {types}});
}

// select(true, x, y) is x.
RuleRef known_condition() {
  return std::make_shared<const Rule>(
      Rule{.name = "select(number, x, y)",
           .replacement = [](const Match& m) -> MaybeArray {
             const auto condition = m.constant(m[0]);
             return condition ? MaybeArray(condition->as<bool>() ? m[1] : m[2]) : std::nullopt;
           },
           .roots = [](const OpInfo& op) { return &op == &select_op(); },
           .applies_to =
               [] {
                 std::vector<Rule::Example> all;
                 const Type type = Type::array(DType::f32, {Dim(3)});
                 for (const bool condition : {false, true})
                   all.push_back({{type, type}, [condition](std::span<const Array> x) {
                                    return choice(filled(Scalar(condition), Type::array(DType::bool_, x[0].shape())),
                                                  x[0], x[1]);
                                  }});
                 return all;
               }});
}

}  // namespace

std::vector<RuleRef> choice_rules() {
  using Holes = std::span<const Array>;
  return {
      known_condition(),
      choice_rule(
          "select(p, x, x) = x", 1, 1, [](Holes x) { return choice(x[0], x[1], x[1]); }, [](Holes x) { return x[1]; }),
      choice_rule(
          "select(!p, x, y) = select(p, y, x)", 1, 2, [](Holes x) { return choice(!x[0], x[1], x[2]); },
          [](Holes x) { return choice(x[0], x[2], x[1]); }),
      choice_rule(
          "select(p, select(p, x, y), z) = select(p, x, z)", 1, 3,
          [](Holes x) { return choice(x[0], choice(x[0], x[1], x[2]), x[3]); },
          [](Holes x) { return choice(x[0], x[1], x[3]); }),
      choice_rule(
          "select(p, x, select(p, y, z)) = select(p, x, z)", 1, 3,
          [](Holes x) { return choice(x[0], x[1], choice(x[0], x[2], x[3])); },
          [](Holes x) { return choice(x[0], x[1], x[3]); }),
  };
}

}  // namespace tenon
