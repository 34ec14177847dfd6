// Rules that follow from what is known of an op: its identity and absorbing elements, what it makes of equal operands,
// and what undoes itself. All are exact.
#include "tenon/ir/bind.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

constexpr DType tried_dtypes[]{DType::f32, DType::f64, DType::f16,   DType::i32, DType::i8,
                               DType::u8,  DType::u64, DType::bool_, DType::c64};

// Examples of a fact: of each op that has it, at each dtype that has the number, and that the op takes.
template <class Has>
std::vector<Rule::Example> examples_of(const Has& example_of) {
  std::vector<Rule::Example> all;
  for (const OpInfo* op : all_ops())
    for (const DType dtype : tried_dtypes) example_of(*op, dtype, all);
  return all;
}

Type row(DType dtype) { return Type::array(dtype, {Dim(3)}); }

std::function<std::vector<Rule::Example>()> with_number(NumberOf Traits::* fact, bool both_sides) {
  return [=] {
    return examples_of([=](const OpInfo& op, DType dtype, std::vector<Rule::Example>& all) {
      const auto number = op.traits.*fact == nullptr ? std::nullopt : (op.traits.*fact)(dtype);
      if (!number) return;
      all.push_back({{row(dtype)}, [&op, number](std::span<const Array> x) {
                       return bind1(op, {}, {x[0], filled(*number, x[0].type())});
                     }});
      if (both_sides && op.traits.commutative)
        all.push_back({{row(dtype)}, [&op, number](std::span<const Array> x) {
                         return bind1(op, {}, {filled(*number, x[0].type()), x[0]});
                       }});
    });
  };
}

// Which operand of an eqn of two is the number that its op's fact says; nothing where none is.
std::optional<std::size_t> operand_that_is(NumberOf Traits::* fact, const Match& m) {
  const OpInfo& op = *m.maker(m.root())->op;
  const auto number = (op.traits.*fact)(m[0].dtype());
  if (!number || m.size() != 2) return {};
  if (m.constant(m[1]) == number) return 1;
  if (op.traits.commutative && m.constant(m[0]) == number) return 0;
  return {};
}

RuleRef identity_elements() {
  return std::make_shared<const Rule>(Rule{.name = "x op e = x",
                                           .replacement = [](const Match& m) -> MaybeArray {
                                             const auto at = operand_that_is(&Traits::identity, m);
                                             if (!at || !(m[1 - *at].type() == m.root().type())) return {};
                                             return m[1 - *at];
                                           },
                                           .roots = [](const OpInfo& op) { return op.traits.identity != nullptr; },
                                           .applies_to = with_number(&Traits::identity, true)});
}

RuleRef absorbing_elements() {
  return std::make_shared<const Rule>(Rule{.name = "x op a = a",
                                           .replacement = [](const Match& m) -> MaybeArray {
                                             const auto at = operand_that_is(&Traits::absorbing, m);
                                             return at ? MaybeArray(filled(*m.constant(m[*at]), m.root().type()))
                                                       : std::nullopt;
                                           },
                                           .roots = [](const OpInfo& op) { return op.traits.absorbing != nullptr; },
                                           .applies_to = with_number(&Traits::absorbing, true)});
}

bool same(const Array& x, const Array& y) { return x.traced()->var == y.traced()->var; }

RuleRef equal_operands() {
  const auto has = [](const OpInfo& op) { return op.traits.of_equals != nullptr || op.traits.idempotent; };
  return std::make_shared<const Rule>(Rule{
      .name = "x op x",
      .replacement = [](const Match& m) -> MaybeArray {
        if (m.size() != 2 || !same(m[0], m[1])) return {};
        const Traits& traits = m.maker(m.root())->op->traits;
        if (traits.idempotent) return m[0];
        const auto number = traits.of_equals(m[0].dtype());
        return number ? MaybeArray(filled(*number, m.root().type())) : std::nullopt;
      },
      .roots = has,
      .applies_to =
          [has] {
            return examples_of([has](const OpInfo& op, DType dtype, std::vector<Rule::Example>& all) {
              const bool is = has(op) && (op.traits.of_equals == nullptr ? op.traits.commutative
                                                                         : op.traits.of_equals(dtype).has_value());
              if (is)
                all.push_back({{row(dtype)}, [&op](std::span<const Array> x) { return bind1(op, {}, {x[0], x[0]}); }});
            });
          }});
}

// -(-x) = x, floor(floor(x)) = floor(x)
RuleRef applied_twice() {
  const auto has = [](const OpInfo& op) {
    return op.traits.involution || (op.traits.idempotent && !op.traits.commutative);
  };
  return std::make_shared<const Rule>(Rule{
      .name = "f(f(x))",
      .replacement = [](const Match& m) -> MaybeArray {
        const Eqn *outer = m.maker(m.root()), *inner = m.maker(m[0]);
        if (inner == nullptr || inner->op != outer->op || inner->recompute != outer->recompute || m.size() != 1)
          return {};
        return outer->op->traits.involution ? m.operand(*inner, 0) : m[0];
      },
      .roots = has,
      .applies_to =
          [has] {
            return examples_of([has](const OpInfo& op, DType dtype, std::vector<Rule::Example>& all) {
              if (has(op))
                all.push_back(
                    {{row(dtype)}, [&op](std::span<const Array> x) { return bind1(op, {}, {bind1(op, {}, {x[0]})}); }});
            });
          }});
}

// cos(-x) = cos(x)
RuleRef even_functions() {
  const auto has = [](const OpInfo& op) { return op.traits.even; };
  return std::make_shared<const Rule>(
      Rule{.name = "f(-x) = f(x)",
           .replacement = [](const Match& m) -> MaybeArray {
             const Eqn* inner = m.maker(m[0]);
             if (inner == nullptr || inner->op != &neg_op() || is_unsigned_integer(m[0].dtype()) ||
                 inner->recompute != m.maker(m.root())->recompute)
               return {};
             return bind1(*m.maker(m.root())->op, m.maker(m.root())->params, {m.operand(*inner, 0)});
           },
           .roots = has,
           .applies_to =
               [has] {
                 return examples_of([has](const OpInfo& op, DType dtype, std::vector<Rule::Example>& all) {
                   if (has(op))
                     all.push_back({{row(dtype)}, [&op](std::span<const Array> x) { return bind1(op, {}, {-x[0]}); }});
                 });
               }});
}

const std::vector<std::vector<Type>> two_floats{{row(DType::f32), row(DType::f32)}};

}  // namespace

std::vector<RuleRef> algebra_rules() {
  return {identity_elements(),
          absorbing_elements(),
          equal_operands(),
          applied_twice(),
          even_functions(),
          std::make_shared<const Rule>(Rule{.name = "(-x) * (-y) = x * y",
                                            .holes = 2,
                                            .pattern = [](std::span<const Array> x) { return -x[0] * -x[1]; },
                                            .replacement = [](const Match& m) -> MaybeArray { return m[0] * m[1]; },
                                            .examples = two_floats}),
          std::make_shared<const Rule>(Rule{.name = "(-x) / (-y) = x / y",
                                            .holes = 2,
                                            .pattern = [](std::span<const Array> x) { return -x[0] / -x[1]; },
                                            .guard = [](const Match& m) { return is_real(m[0].dtype()); },
                                            .replacement = [](const Match& m) -> MaybeArray { return m[0] / m[1]; },
                                            .examples = two_floats})};
}

}  // namespace tenon
