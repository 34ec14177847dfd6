// What follows from numbers alone.
#include "tenon/ir/bind.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

Type three_of(DType dtype) { return Type::array(dtype, {Dim(3)}); }

// 2 * 3 is 6.
RuleRef numbers_alone() {
  return std::make_shared<const Rule>(
      Rule{.name = "f(numbers)",
           .replacement = [](const Match& m) -> MaybeArray {
             const auto number = m.constant(m.root());
             return number ? MaybeArray(filled(*number, m.root().type())) : std::nullopt;
           },
           .roots = is_exact_elementwise,
           .applies_to =
               [] {
                 std::vector<Rule::Example> all;
                 for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8})
                   all.push_back({{three_of(dtype)}, [](std::span<const Array> x) {
                                    const Type type = x[0].type();
                                    return x[0] * (filled(Scalar(3.0).convert(type.dtype), type) *
                                                   filled(Scalar(7.0).convert(type.dtype), type));
                                  }});
                 return all;
               }});
}

// (x + 2) + 3 is x + 5: of integers and truths, and of floats where the op gives one of its operands.
RuleRef numbers_meet() {
  return std::make_shared<const Rule>(Rule{
      .name = "(x op c) op d = x op (c op d)",
      .replacement = [](const Match& m) -> MaybeArray {
        const Eqn& outer = *m.maker(m.root());
        const Traits& traits = outer.op->traits;
        if (is_inexact(m.root().dtype()) && !traits.idempotent) return {};
        for (const std::size_t i : {0u, 1u}) {
          const Eqn* inner = m.maker(m[i]);
          if (!m.constant(m[1 - i]) || inner == nullptr || inner->op != outer.op ||
              inner->recompute != outer.recompute || m.constant(m[i]))
            continue;
          for (const std::size_t k : {0u, 1u})
            if (m.constant(m.operand(*inner, k)))
              return bind1(*outer.op, {},
                           {m.operand(*inner, 1 - k), bind1(*outer.op, {}, {m.operand(*inner, k), m[1 - i]})});
        }
        return {};
      },
      .roots = [](const OpInfo& op) { return op.traits.associative && op.traits.commutative && op.params == nullptr; },
      .applies_to =
          [] {
            std::vector<Rule::Example> all;
            for (const OpInfo* op : all_ops())
              for (const DType dtype : {DType::i32, DType::u8, DType::bool_, DType::f32})
                if (op->traits.associative && op->traits.commutative && (dtype != DType::f32 || op->traits.idempotent))
                  all.push_back({{three_of(dtype)}, [op](std::span<const Array> x) {
                                   const Type type = x[0].type();
                                   return bind1(
                                       *op, {},
                                       {filled(Scalar(1.0).convert(type.dtype), type),
                                        bind1(*op, {}, {x[0], filled(Scalar(5.0).convert(type.dtype), type)})});
                                 }});
            return all;
          }});
}

}  // namespace

std::vector<RuleRef> number_rules() { return {numbers_alone(), numbers_meet()}; }

}  // namespace tenon
