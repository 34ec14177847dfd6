// Chains of conversions between dtypes, and truths that have become numbers.
#include <array>
#include <limits>

#include "tenon/ir/bind.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

bool is_conversion(const OpInfo& op) { return &op == &convert_op(); }

// Whether each number of a dtype is one of another, so that converting there and on is converting at once.
bool holds_all(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (is_powers(wide)) return false;  // which has no 0
  if (narrow == DType::bool_) return true;
  struct Range {
    bool is_signed = false, floats = false;
    int digits = 0;
  };
  const auto range = [](DType d) {
    Range r;
    dispatch(d, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_integral_v<T>) r = {std::is_signed_v<T>, false, std::numeric_limits<T>::digits};
    });
    if (is_real(d)) r = {!is_powers(d), true, format_of(d).mantissa_bits + 1};
    return r;
  };
  const Range w = range(wide), n = range(narrow);
  if (w.digits == 0 || n.digits == 0 || (n.floats && !w.floats)) return false;
  if (w.digits < n.digits || (n.is_signed && !w.is_signed)) return false;
  if (!n.floats) return true;  // a float of that many digits has an exponent for each of them
  const FloatFormat of_wide = format_of(wide), of_narrow = format_of(narrow);
  return of_wide.least() <= of_narrow.least() && largest_finite_of(wide) >= largest_finite_of(narrow) &&
         (of_wide.has_infinity() || !of_narrow.has_infinity()) &&
         (of_wide.has_negative_zero() || !of_narrow.has_negative_zero());
}

// Whether converting through a dtype is converting at once. Floats that are no number of an integer's dtype are the
// nearest one; integers wrap around.
bool is_the_same(DType from, DType through, DType to) {
  // Widened from 8 bits by way of halves: products read the halves.
  if (is_float8(from) && is_half(through) && to == DType::f32) return false;
  const bool saturates = is_integer(from) && is_inexact(through) && is_integer(to);
  return holds_all(through, from) && (!saturates || holds_all(to, from));
}

RuleRef chains() {
  return std::make_shared<const Rule>(Rule{
      .name = "convert(convert(x))",
      .replacement = [](const Match& m) -> MaybeArray {
        const DType to = m.root().dtype();
        if (m[0].dtype() == to) return m[0];
        const Eqn *outer = m.maker(m.root()), *inner = m.maker(m[0]);
        if (inner == nullptr || !is_conversion(*inner->op) || inner->recompute != outer->recompute) return {};
        const Array x = m.operand(*inner, 0);
        if (!is_the_same(x.dtype(), m[0].dtype(), to)) return {};
        return x.dtype() == to ? x : convert(x, to);
      },
      .roots = is_conversion,
      .applies_to =
          [] {
            std::vector<Rule::Example> all;
            constexpr DType dtypes[]{DType::bool_,     DType::i8,       DType::u8,     DType::i32,        DType::u64,
                                     DType::f8e8m0fnu, DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f16,
                                     DType::bf16,      DType::f32,      DType::f64};
            for (const DType from : dtypes)
              for (const DType through : dtypes)
                for (const DType to : dtypes)
                  if (from != through && through != to && is_the_same(from, through, to))
                    all.push_back({{Type::array(from, {Dim(3)})},
                                   [=](std::span<const Array> x) { return convert(convert(x[0], through), to); }});
            return all;
          }});
}

// What an op of two operands makes of truths that have become numbers and a number: one number, the truths or their
// opposites, or again these numbers. `truths` says which operand they are.
MaybeArray of_truths(const Match& m, std::size_t truths) {
  const Eqn &eqn = *m.maker(m.root()), *conversion = m.maker(m[truths]);
  const auto number = m.constant(m[1 - truths]);
  if (!number || conversion == nullptr || !is_conversion(*conversion->op) || conversion->recompute != eqn.recompute)
    return {};
  const Array p = m.operand(*conversion, 0);
  const Type& type = m.root().type();
  if (p.dtype() != DType::bool_ || p.shape() != type.shape) return {};
  std::array<std::optional<Scalar>, 2> made;
  for (const bool truth : {false, true}) {
    std::array<Scalar, 2> in{*number, *number};
    in[truths] = Scalar(truth).convert(m[truths].dtype());
    made[truth] = computed_from(eqn, in, type);
    if (!made[truth]) return {};
  }
  const auto are = [&](bool of_false, bool of_true) {
    return *made[0] == Scalar(of_false).convert(type.dtype) && *made[1] == Scalar(of_true).convert(type.dtype);
  };
  if (*made[0] == *made[1]) return filled(*made[0], type);
  if (are(false, true)) return convert(p, type.dtype);
  if (are(true, false) && type.dtype == DType::bool_) return !p;
  return {};
}

RuleRef truths_as_numbers() {
  return std::make_shared<const Rule>(
      Rule{.name = "f(convert(p), number)",
           .replacement = [](const Match& m) -> MaybeArray {
             if (m.size() != 2) return {};
             const MaybeArray left = of_truths(m, 0);
             return left ? left : of_truths(m, 1);
           },
           .roots = is_exact_elementwise,
           .applies_to =
               [] {
                 std::vector<Rule::Example> all;
                 const auto number = [](double n, const Array& like) {
                   return filled(Scalar(n).convert(like.dtype()), like.type());
                 };
                 const auto add = [&](DType dtype, auto f) {
                   all.push_back({{Type::array(DType::bool_, {Dim(3)})},
                                  [=](std::span<const Array> p) { return f(convert(p[0], dtype)); }});
                 };
                 for (const DType dtype : {DType::i8, DType::i32, DType::u64, DType::f32, DType::f64}) {
                   add(dtype, [=](const Array& x) { return min(x, number(1, x)); });
                   add(dtype, [=](const Array& x) { return max(number(0, x), x); });
                   add(dtype, [=](const Array& x) { return x == number(1, x); });
                   add(dtype, [=](const Array& x) { return number(0, x) == x; });
                   add(dtype, [=](const Array& x) { return x > number(5, x); });
                   add(dtype, [=](const Array& x) { return number(1, x) <= x; });
                 }
                 return all;
               }});
}

// Numbers are converted once, and what is chosen among them has the narrower dtype: as of where(p, 1.0, where(q, 2.0,
// x)), whose numbers are f64 until they meet others.
RuleRef choices_of_numbers() {
  return std::make_shared<const Rule>(
      Rule{.name = "convert(select(p, number, x))",
           .replacement = [](const Match& m) -> MaybeArray {
             const Type& type = m.root().type();
             const Eqn *outer = m.maker(m.root()), *inner = m.maker(m[0]);
             if (inner == nullptr || inner->op != &select_op() || inner->recompute != outer->recompute ||
                 m.reads(m[0]) != 1 || size_of(type.dtype) > size_of(m[0].dtype()))
               return {};
             std::array<std::optional<Scalar>, 2> numbers;
             Arrays values;
             for (const std::size_t k : {0, 1}) {
               const Array x = m.operand(*inner, k + 1);
               numbers[k] = m.constant(x);
               values.push_back(numbers[k] ? filled(numbers[k]->convert(type.dtype), type) : convert(x, type.dtype));
             }
             if (!numbers[0] && !numbers[1]) return {};
             return bind1(select_op(), {}, {m.operand(*inner, 0), values[0], values[1]});
           },
           .roots = is_conversion,
           .applies_to =
               [] {
                 std::vector<Rule::Example> all;
                 constexpr DType dtypes[]{DType::bool_, DType::i8,  DType::i32, DType::u64,
                                          DType::bf16,  DType::f32, DType::f64, DType::c64};
                 for (const DType from : dtypes)
                   for (const DType to : dtypes) {
                     if (from == to || size_of(to) > size_of(from) || (is_complex(from) && !is_complex(to))) continue;
                     const Type truths = Type::array(DType::bool_, {Dim(3)}), type = Type::array(from, {Dim(3)});
                     all.push_back({{truths, type}, [=](std::span<const Array> x) {
                                      return convert(where(x[0], filled(Scalar(1).convert(from), type), x[1]), to);
                                    }});
                     all.push_back({{truths, type}, [=](std::span<const Array> x) {
                                      return convert(where(x[0], x[1], filled(Scalar(0).convert(from), type)), to);
                                    }});
                   }
                 return all;
               }});
}

}  // namespace

std::vector<RuleRef> conversion_rules() { return {chains(), truths_as_numbers(), choices_of_numbers()}; }

}  // namespace tenon
