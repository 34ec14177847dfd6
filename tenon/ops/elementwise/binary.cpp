// Elementwise ops of two and three operands, each with its whole story.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/extremum.h"
#include "tenon/ops/families.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

using kernel::Binary;
using Partials = std::pair<PartialRule, PartialRule>;

extern const OpInfo add_info, sub_info, mul_info, div_info, rem_info, pow_info, atan2_info, max_info, min_info,
    and_info, or_info, xor_info, shift_left_info, shift_right_info, eq_info, ne_info, lt_info, le_info, gt_info,
    ge_info, select_info;

// Numbers that leave an operand as it is, or do not depend on it. A float added to +0 is another where it is -0;
// complex numbers times 1 may turn an infinity into NaN.
std::optional<Scalar> zero_added(DType d) {
  if (is_inexact(d)) return is_complex(d) ? std::nullopt : std::optional(Scalar(-0.0).convert(d));
  return Scalar::zero(d);
}
std::optional<Scalar> zero_taken(DType d) { return is_complex(d) ? std::nullopt : std::optional(Scalar::zero(d)); }
std::optional<Scalar> one_of_real(DType d) { return is_complex(d) ? std::nullopt : std::optional(Scalar::one(d)); }
std::optional<Scalar> zero_of_integers(DType d) {
  return is_inexact(d) ? std::nullopt : std::optional(Scalar::zero(d));
}
std::optional<Scalar> all_bits(DType d) {
  std::optional<Scalar> found;
  dispatch(d, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>)
      found = Scalar(true);
    else if constexpr (std::is_integral_v<T>)
      found = Scalar(static_cast<T>(~T(0)));
  });
  return found;
}
std::optional<Scalar> extreme(DType d, bool largest) {
  if (is_complex(d)) return std::nullopt;
  if (d == DType::bool_) return Scalar(largest);
  return largest ? highest(d) : lowest(d);
}
std::optional<Scalar> least(DType d) { return extreme(d, false); }
std::optional<Scalar> greatest(DType d) { return extreme(d, true); }
std::optional<Scalar> least_of_integers(DType d) { return is_inexact(d) ? std::nullopt : least(d); }
std::optional<Scalar> greatest_of_integers(DType d) { return is_inexact(d) ? std::nullopt : greatest(d); }
// Of comparisons: NaN is equal to nothing, and smaller than nothing.
std::optional<Scalar> true_of_integers(DType d) { return is_inexact(d) ? std::nullopt : std::optional(Scalar(true)); }
std::optional<Scalar> false_of_integers(DType d) { return is_inexact(d) ? std::nullopt : std::optional(Scalar(false)); }
std::optional<Scalar> never(DType) { return Scalar(false); }

// Linear in both operands together.
TransposeRule transpose_add(bool negate_second) {
  return [negate_second](const TransposeArgs& args) {
    if (!args.cotangents[0]) return;
    if (args.operands[0].linear()) args.sink.add(0, *args.cotangents[0]);
    if (args.operands[1].linear()) args.sink.add(1, negate_second ? -*args.cotangents[0] : *args.cotangents[0]);
  };
}

const OpInfo add_info = binary(
    add_info,
    BinarySpec{.name = "add",
               .summary = "x + y",
               .dtypes = dtypes::numbers,
               .eval = [](auto x, auto y) { return wrap(std::plus<>(), x, y); },
               .jvp = Partials([](const Array&, const Array&, const Array&, const Array& d) { return d; },
                               [](const Array&, const Array&, const Array&, const Array& d) { return d; }),
               .lower = Binary::add,
               .sample = {{-3, 3}, {-3, 3}},
               .transpose = transpose_add(false),
               .traits = {.commutative = true, .associative = true, .determined = true, .identity = zero_added}});

const OpInfo sub_info = binary(
    sub_info, BinarySpec{.name = "sub",
                         .summary = "x - y",
                         .dtypes = dtypes::numbers,
                         .eval = [](auto x, auto y) { return wrap(std::minus<>(), x, y); },
                         .jvp = Partials([](const Array&, const Array&, const Array&, const Array& d) { return d; },
                                         [](const Array&, const Array&, const Array&, const Array& d) { return -d; }),
                         .lower = Binary::sub,
                         .sample = {{-3, 3}, {-3, 3}},
                         .transpose = transpose_add(true),
                         .traits = {.determined = true, .identity = zero_taken, .of_equals = zero_of_integers}});

// d(x·y) = dx·y + x·dy. Linear in each operand apart, so transpose needs no separate derivation.
const OpInfo mul_info =
    binary(mul_info,
           BinarySpec{.name = "mul",
                      .summary = "x * y",
                      .dtypes = dtypes::numbers,
                      .eval = [](auto x, auto y) { return wrap(Times(), x, y); },
                      .jvp = Partials([](const Array&, const Array& y, const Array&, const Array& d) { return d * y; },
                                      [](const Array& x, const Array&, const Array&, const Array& d) { return x * d; }),
                      .lower = Binary::mul,
                      .sample = {{-3, 3}, {-3, 3}},
                      .transpose = TransposeRule([](const TransposeArgs& args) {
                        if (!args.cotangents[0]) return;
                        const std::size_t linear = args.operands[0].linear() ? 0 : 1;
                        if (args.operands[1 - linear].linear())
                          throw DifferentiationError("mul: a product of two linear values is not linear.");
                        args.sink.add(linear, *args.cotangents[0] * *args.operands[1 - linear].value);
                      }),
                      .traits = {.commutative = true,
                                 .associative = true,
                                 .determined = true,
                                 .identity = one_of_real,
                                 .absorbing = zero_of_integers}});

const OpInfo div_info = binary(
    div_info,
    BinarySpec{.name = "div",
               .summary = "x / y; integers truncate, and x / 0 is -1",
               .dtypes = dtypes::numbers,
               .eval =
                   [](auto x, auto y) {
                     using T = decltype(x);
                     if constexpr (std::is_integral_v<T>) {
                       if (y == 0) return static_cast<T>(-1);
                       if constexpr (std::is_signed_v<T>)
                         if (y == -1) return wrap(std::minus<>(), T(0), x);
                       return static_cast<T>(x / y);
                     } else
                       return x / y;
                   },
               .jvp = Partials([](const Array&, const Array& y, const Array&, const Array& d) { return d / y; },
                               // Transposed, both divide the cotangent by y: one division.
                               [](const Array&, const Array& y, const Array& z, const Array& d) { return d * -z / y; }),
               .lower = Binary::div,
               .sample = {{-3, 3}, {0.5, 3}},
               .transpose = TransposeRule([](const TransposeArgs& args) {
                 if (!args.cotangents[0]) return;
                 if (args.operands[1].linear()) throw DifferentiationError("div: not linear in its divisor.");
                 args.sink.add(0, *args.cotangents[0] / *args.operands[1].value);
               }),
               .traits = {.determined = true, .identity = one_of_real}});

// x - y·trunc(x/y)
const OpInfo rem_info = binary(
    rem_info, BinarySpec{.name = "rem",
                         .summary = "remainder with the sign of x; x rem 0 is x for integers",
                         .dtypes = dtypes::ordered_numbers,
                         .eval =
                             [](auto x, auto y) {
                               using T = decltype(x);
                               if constexpr (std::is_integral_v<T>) {
                                 if (y == 0) return x;
                                 if constexpr (std::is_signed_v<T>)
                                   if (y == -1) return T(0);
                                 return static_cast<T>(x % y);
                               } else
                                 return std::fmod(x, y);
                             },
                         .jvp = Partials([](const Array&, const Array&, const Array&, const Array& d) { return d; },
                                         [](const Array& x, const Array& y, const Array&, const Array& d) {
                                           const Array q = x / y;
                                           return d * -where(q < 0, ceil(q), floor(q));
                                         }),
                         .lower = Binary::rem,
                         .sample = {{-3, 3}, {0.7, 3}},
                         .traits = {.determined = true}});

// Of integers by repeated squaring, which wraps around as all products do; of a negative y what is left of 1/x^-y,
// rounded toward zero.
template <class T>
T integer_power(T x, T y) {
  if constexpr (std::is_signed_v<T>)
    if (y < 0) return x == 1 || (x == -1 && y % 2 == 0) ? T(1) : x == -1 ? T(-1) : T(0);
  T result = 1;
  for (auto left = static_cast<std::make_unsigned_t<T>>(y); left != 0; left >>= 1) {
    if (left & 1) result = wrap(Times(), result, x);
    x = wrap(Times(), x, x);
  }
  return result;
}

// ∂x = y·x^(y-1), with 0 where x and y are 0; ∂y = log(x)·x^y, with log 0 taken as 0 where x is 0.
const OpInfo pow_info = binary(
    pow_info, BinarySpec{.name = "pow",
                         .summary = "x to the power y; of integers, 1/x^-y rounded toward zero where y is negative",
                         .dtypes = dtypes::numbers,
                         .eval =
                             [](auto x, auto y) {
                               if constexpr (std::is_integral_v<decltype(x)>)
                                 return integer_power(x, y);
                               else
                                 return std::pow(x, y);
                             },
                         .jvp = Partials(
                             [](const Array& x, const Array& y, const Array&, const Array& d) {
                               const Array origin = (x == 0) & (y == 0);
                               return d * where(origin, 0, y * pow(x, where(origin, 1, y - 1)));
                             },
                             [](const Array& x, const Array&, const Array& z, const Array& d) {
                               return d * (log(where(x == 0, 1, x)) * z);
                             }),
                         .lower = Binary::pow,
                         .sample = {{0.2, 3}, {-2, 2}},
                         .traits = {.identity = one_of_real}});

const OpInfo atan2_info =
    binary(atan2_info, BinarySpec{.name = "atan2",
                                  .summary = "angle of the point (y, x)",
                                  .dtypes = dtypes::real,
                                  .eval = [](auto y, auto x) { return std::atan2(y, x); },
                                  .jvp = Partials([](const Array& y, const Array& x, const Array&,
                                                     const Array& d) { return d * (x / (x * x + y * y)); },
                                                  [](const Array& y, const Array& x, const Array&, const Array& d) {
                                                    return d * -(y / (x * x + y * y));
                                                  }),
                                  .lower = Binary::atan2,
                                  .sample = {{0.3, 3}, {0.3, 3}}});

// The gradient goes to the larger (smaller) operand; half to each at a tie. The operands are compared, not one of them
// with the result: what is computed again for the derivative may be rounded otherwise. Chosen, not multiplied: an
// infinite tangent of the other operand leaves no trace.
Partials extremum_partials(bool largest) {
  const auto share = [largest](const Array& mine, const Array& other, const Array& d) {
    const Array wins = largest ? mine > other : mine < other;
    return where(wins, d, where(mine == other, d * 0.5, 0.0));
  };
  return {[share](const Array& x, const Array& y, const Array&, const Array& d) { return share(x, y, d); },
          [share](const Array& x, const Array& y, const Array&, const Array& d) { return share(y, x, d); }};
}
const OpInfo max_info = binary(max_info, BinarySpec{.name = "max",
                                                    .summary = "the larger; NaN if either is",
                                                    .dtypes = dtypes::ordered,
                                                    .eval = [](auto x, auto y) { return extremum<true>(x, y); },
                                                    .jvp = extremum_partials(true),
                                                    .lower = Binary::max,
                                                    .sample = {{-3, 3}, {-3, 3}},
                                                    .traits = {.commutative = true,
                                                               .associative = true,
                                                               .idempotent = true,
                                                               .determined = true,
                                                               .identity = least,
                                                               .absorbing = greatest_of_integers}});
const OpInfo min_info = binary(min_info, BinarySpec{.name = "min",
                                                    .summary = "the smaller; NaN if either is",
                                                    .dtypes = dtypes::ordered,
                                                    .eval = [](auto x, auto y) { return extremum<false>(x, y); },
                                                    .jvp = extremum_partials(false),
                                                    .lower = Binary::min,
                                                    .sample = {{-3, 3}, {-3, 3}},
                                                    .traits = {.commutative = true,
                                                               .associative = true,
                                                               .idempotent = true,
                                                               .determined = true,
                                                               .identity = greatest,
                                                               .absorbing = least_of_integers}});

constexpr Absent no_logic_derivative{"defined for bool and integers"};
const OpInfo and_info =
    binary(and_info, BinarySpec{.name = "and",
                                .summary = "logical of bool, bitwise of integers",
                                .dtypes = dtypes::logical,
                                .eval = [](auto x, auto y) { return static_cast<decltype(x)>(x & y); },
                                .jvp = no_logic_derivative,
                                .lower = Binary::and_,
                                .sample = {{0, 5}, {0, 5}},
                                .traits = {.commutative = true,
                                           .associative = true,
                                           .idempotent = true,
                                           .determined = true,
                                           .identity = all_bits,
                                           .absorbing = zero_of_integers}});
const OpInfo or_info =
    binary(or_info, BinarySpec{.name = "or",
                               .summary = "logical of bool, bitwise of integers",
                               .dtypes = dtypes::logical,
                               .eval = [](auto x, auto y) { return static_cast<decltype(x)>(x | y); },
                               .jvp = no_logic_derivative,
                               .lower = Binary::or_,
                               .sample = {{0, 5}, {0, 5}},
                               .traits = {.commutative = true,
                                          .associative = true,
                                          .idempotent = true,
                                          .determined = true,
                                          .identity = zero_of_integers,
                                          .absorbing = all_bits}});
const OpInfo xor_info =
    binary(xor_info, BinarySpec{.name = "xor",
                                .summary = "logical of bool, bitwise of integers",
                                .dtypes = dtypes::logical,
                                .eval = [](auto x, auto y) { return static_cast<decltype(x)>(x ^ y); },
                                .jvp = no_logic_derivative,
                                .lower = Binary::xor_,
                                .sample = {{0, 5}, {0, 5}},
                                .traits = {.commutative = true,
                                           .associative = true,
                                           .determined = true,
                                           .identity = zero_of_integers,
                                           .of_equals = zero_of_integers}});

// Whether a shift leaves something: the amount as unsigned is below the width.
template <class T>
bool shifts(T by) {
  return static_cast<std::make_unsigned_t<T>>(by) < sizeof(T) * 8;
}
// The loop language shifts by less than the width alone.
OpInfo guarded_shift(OpInfo op, Binary shift) {
  op.lower = LowerRule(LowerElement{
      [shift](const LowerArgs& args) {
        const kernel::Expr x = args.load(0, args.index), y = args.load(1, args.index);
        const auto number = [&](double value) { return kernel::constant_like(x, value); };
        const double width = static_cast<double>(size_of(x.dtype()) * 8);
        kernel::Expr inside = kernel::binary(Binary::lt, y, number(width));
        if (is_signed_integer(x.dtype()))
          inside = kernel::binary(Binary::and_, inside, kernel::binary(Binary::ge, y, number(0)));
        const kernel::Expr shifted = kernel::binary(shift, x, kernel::binary(Binary::and_, y, number(width - 1)));
        const bool keeps_sign = shift == Binary::shift_right && is_signed_integer(x.dtype());
        return kernel::select(inside, shifted, keeps_sign ? kernel::binary(shift, x, number(width - 1)) : number(0));
      },
      true});
  return op;
}
const OpInfo shift_left_info = guarded_shift(
    binary(shift_left_info, BinarySpec{.name = "shift_left",
                                       .summary = "x moved left by y bits",
                                       .dtypes = dtypes::integer,
                                       .eval =
                                           [](auto x, auto y) {
                                             using T = decltype(x);
                                             using U = std::make_unsigned_t<T>;
                                             if (!shifts(y)) return T(0);
                                             return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(x)) << y);
                                           },
                                       .jvp = no_logic_derivative,
                                       .lower = Binary::shift_left,
                                       .sample = {{0, 5}, {0, 9}},
                                       .traits = {.determined = true, .identity = zero_of_integers}}),
    Binary::shift_left);
const OpInfo shift_right_info = guarded_shift(
    binary(shift_right_info, BinarySpec{.name = "shift_right",
                                        .summary = "x moved right by y bits; its sign comes in where it has one",
                                        .dtypes = dtypes::integer,
                                        .eval =
                                            [](auto x, auto y) {
                                              using T = decltype(x);
                                              if (!shifts(y)) return x < T(0) ? static_cast<T>(-1) : T(0);
                                              return static_cast<T>(x >> y);
                                            },
                                        .jvp = no_logic_derivative,
                                        .lower = Binary::shift_right,
                                        .sample = {{0, 100}, {0, 9}},
                                        .traits = {.determined = true, .identity = zero_of_integers}}),
    Binary::shift_right);

constexpr Absent bool_result{"its result is a bool"};
template <class Set, class F>
OpInfo comparison(const OpInfo& self, std::string_view name, std::string_view summary, Set set, F f, Binary lower,
                  Traits traits) {
  return binary(self, BinarySpec{.name = name,
                                 .summary = summary,
                                 .dtypes = set,
                                 .eval = f,
                                 .jvp = bool_result,
                                 .lower = lower,
                                 .sample = {{-2, 2}, {-2, 2}},
                                 .result = family::boolean,
                                 .traits = traits});
}
constexpr Traits compared(bool commutative, NumberOf of_equals) {
  return {.commutative = commutative, .determined = true, .of_equals = of_equals};
}
const OpInfo eq_info = comparison(
    eq_info, "eq", "x == y", dtypes::all, [](auto x, auto y) { return x == y; }, Binary::eq,
    compared(true, true_of_integers));
const OpInfo ne_info = comparison(
    ne_info, "ne", "x != y", dtypes::all, [](auto x, auto y) { return x != y; }, Binary::ne,
    compared(true, false_of_integers));
const OpInfo lt_info = comparison(
    lt_info, "lt", "x < y", dtypes::compared, [](auto x, auto y) { return x < y; }, Binary::lt, compared(false, never));
const OpInfo le_info = comparison(
    le_info, "le", "x <= y", dtypes::compared, [](auto x, auto y) { return x <= y; }, Binary::le,
    compared(false, true_of_integers));
const OpInfo gt_info = comparison(
    gt_info, "gt", "x > y", dtypes::compared, [](auto x, auto y) { return x > y; }, Binary::gt, compared(false, never));
const OpInfo ge_info = comparison(
    ge_info, "ge", "x >= y", dtypes::compared, [](auto x, auto y) { return x >= y; }, Binary::ge,
    compared(false, true_of_integers));

// --- select ---
std::vector<Value> select_eval(const Params&, std::span<const Value> in, const EvalContext&) {
  const Buffer p = family::contiguous(in[0]), a = family::contiguous(in[1]), b = family::contiguous(in[2]);
  Buffer out = Buffer::allocate(a.dtype(), a.dims());
  const std::size_t size = size_of(a.dtype());
  const bool* condition = p.as<bool>();
  for (std::int64_t i = 0, n = a.elements(); i < n; ++i) {
    const auto at = static_cast<std::size_t>(i) * size;
    std::memcpy(out.data() + at, (condition[i] ? a : b).data() + at, size);
  }
  return {out};
}

// Linear in the two values together: each gets the cotangent where it was taken, and 0 elsewhere.
const OpInfo select_info{
    .name = "select",
    .summary = "where(condition, if_true, if_false)",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 3) throw VerifyError("select: takes three operands.");
      if (in[0].dtype != DType::bool_ || !in[0].is_array())
        throw DTypeError("select: the condition is " + in[0].text() + ", not a bool array.",
                         "Compare it with something first.");
      if (!in[1].is_array() || in[1].dtype != in[2].dtype || in[1].rank() != in[2].rank() ||
          in[0].rank() != in[1].rank())
        throw ShapeError("select: operands " + in[0].text() + ", " + in[1].text() + " and " + in[2].text() +
                         " do not agree.");
      for (std::size_t i = 0; i < in[1].rank(); ++i)
        for (std::size_t k : {0, 2})
          context.require_equal(in[1].shape[i], in[k].shape[i], [&] {
            return "select: operands " + in[0].text() + ", " + in[1].text() + " and " + in[2].text() +
                   " differ in shape.";
          });
      return std::vector{in[1]};
    }),
    .eval = EvalRule(select_eval),
    .jvp = JvpRule([](const JvpArgs& args) {
      const Array& p = args.primals[0];
      const Array out = bind1(select_info, {}, {p, args.primals[1], args.primals[2]});
      return JvpResult{{out}, {bind1(select_info, {}, {p, tangent_or_zero(args, 1), tangent_or_zero(args, 2)})}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const Array &p = *args.operands[0].value, &ct = *args.cotangents[0];
      const Array zero = zeros_like(ct.type());
      if (args.operands[1].linear()) args.sink.add(1, bind1(select_info, {}, {p, ct, zero}));
      if (args.operands[2].linear()) args.sink.add(2, bind1(select_info, {}, {p, zero, ct}));
    }),
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(select_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
                                      return kernel::select(args.load(0, args.index), args.load(1, args.index),
                                                            args.load(2, args.index));
                                    },
                                    true}),
    .alias = AliasRule{0, 1},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType dtype) {
      std::vector<SampleCase> cases;
      for (const Shape& shape : {Shape{}, Shape{Dim(3)}, Shape{Dim(2), Dim(3)}, Shape{Dim(0)}})
        cases.push_back({Params(),
                         {Type::array(DType::bool_, shape), Type::array(dtype, shape), Type::array(dtype, shape)},
                         {{0, 1}, {-3, 3}, {-3, 3}}});
      return cases;
    }),
    .traits = {.determined = true},
};

const bool binary_installed = [] {
  for (const OpInfo* op : {&add_info, &sub_info, &mul_info, &div_info, &rem_info, &pow_info,        &atan2_info,
                           &max_info, &min_info, &and_info, &or_info,  &xor_info, &shift_left_info, &shift_right_info,
                           &eq_info,  &ne_info,  &lt_info,  &le_info,  &gt_info,  &ge_info,         &select_info})
    install_op(*op);
  return true;
}();

// The arctangent of y / x, or of x / y where that is smaller, and as many half turns as -i·log((x + iy) / √(x² + y²))
// says.
Array angle_of_complex(const Array& y, const Array& x) {
  constexpr double pi = std::numbers::pi;
  const Array steep = abs(y) > abs(x), angle = atan(where(steep, x, y) / where(steep, y, x));
  const Array near = where(steep, pi / 2 - angle, angle);
  const Array turned = complex(real(x) - imag(y), imag(x) + real(y));
  const Array branch = imag(log(turned / sqrt(x * x + y * y)));
  return near + pi * stop_gradient(round((branch - real(near)) / pi));
}

Array apply(const OpInfo& op, const Operand& x, const Operand& y, bool inexact = false) {
  const SourceScope place(x.where(), op.name);
  const Met met = inexact ? meet_inexact(op.name, {x, y}) : meet(op.name, {x, y});
  return bind1(op, {}, {met.operands[0], met.operands[1]}).with_weak(met.weak);
}

}  // namespace

const OpInfo& add_op() { return add_info; }
const OpInfo& sub_op() { return sub_info; }
const OpInfo& mul_op() { return mul_info; }
const OpInfo& div_op() { return div_info; }
const OpInfo& select_op() { return select_info; }
const OpInfo& max_op() { return max_info; }
const OpInfo& lt_op() { return lt_info; }
const OpInfo& min_op() { return min_info; }
const OpInfo& eq_op() { return eq_info; }
const OpInfo& ne_op() { return ne_info; }
const OpInfo& or_op() { return or_info; }

const OpInfo& combining_op(kernel::Combine combine) {
  switch (combine) {
    case kernel::Combine::add:
      return add_info;
    case kernel::Combine::mul:
      return mul_info;
    case kernel::Combine::max:
      return max_info;
    case kernel::Combine::min:
      return min_info;
    case kernel::Combine::and_:
      return and_info;
    case kernel::Combine::or_:
      return or_info;
  }
  __builtin_unreachable();
}

Array operator+(const Operand& x, const Operand& y) { return apply(add_info, x, y); }
Array operator-(const Operand& x, const Operand& y) { return apply(sub_info, x, y); }
Array operator*(const Operand& x, const Operand& y) { return apply(mul_info, x, y); }
Array operator/(const Operand& x, const Operand& y) { return apply(div_info, x, y); }
Array operator%(const Operand& x, const Operand& y) { return apply(rem_info, x, y); }
Array pow(const Operand& x, const Operand& y) {
  const Scalar* exponent = y->weak() ? y->number() : nullptr;
  if (exponent != nullptr && is_signed_integer(exponent->dtype())) {
    const std::int64_t n = exponent->convert(DType::i64).as<std::int64_t>();
    if (is_integer(x->dtype()) ? n >= 0 : is_inexact(x->dtype()) && std::abs(n) <= 64) return integer_pow(x, n);
  }
  return apply(pow_info, x, y, true);
}
Array atan2(const Operand& y, const Operand& x) {
  const SourceScope place(y.where(), "atan2");
  if (!is_complex(y->dtype()) && !is_complex(x->dtype())) return apply(atan2_info, y, x, true);
  const Met met = meet_inexact("atan2", {y, x});
  return angle_of_complex(met.operands[0], met.operands[1]).with_weak(met.weak);
}
Array max(const Operand& x, const Operand& y) { return apply(max_info, x, y); }
Array min(const Operand& x, const Operand& y) { return apply(min_info, x, y); }
Array operator&(const Operand& x, const Operand& y) { return apply(and_info, x, y); }
Array operator|(const Operand& x, const Operand& y) { return apply(or_info, x, y); }
Array operator^(const Operand& x, const Operand& y) { return apply(xor_info, x, y); }
Array shift_left(const Operand& x, const Operand& y) { return apply(shift_left_info, x, y); }
Array shift_right(const Operand& x, const Operand& y) { return apply(shift_right_info, x, y); }
Array operator==(const Operand& x, const Operand& y) { return apply(eq_info, x, y).with_weak(false); }
Array operator!=(const Operand& x, const Operand& y) { return apply(ne_info, x, y).with_weak(false); }
Array operator<(const Operand& x, const Operand& y) { return apply(lt_info, x, y).with_weak(false); }
Array operator<=(const Operand& x, const Operand& y) { return apply(le_info, x, y).with_weak(false); }
Array operator>(const Operand& x, const Operand& y) { return apply(gt_info, x, y).with_weak(false); }
Array operator>=(const Operand& x, const Operand& y) { return apply(ge_info, x, y).with_weak(false); }

Array integer_pow(const Operand& x, std::int64_t exponent) {
  const SourceScope place(x.where(), "integer_pow");
  auto left = exponent < 0 ? -static_cast<std::uint64_t>(exponent) : static_cast<std::uint64_t>(exponent);
  Array base = x, result;
  for (; left > 0; left >>= 1) {
    if (left & 1) result = result.empty() ? base : result * base;
    if (left > 1) base = base * base;
  }
  if (result.empty()) return ones_like(x->type()).with_weak(x->weak());
  return exponent < 0 ? 1 / result : result;
}

Array integer_pow(const Operand& x, const Operand& exponent) {
  const SourceScope place(x.where(), "integer_pow");
  for (const Operand* each : {&x, &exponent})
    if (!is_integer((*each)->dtype()))
      throw DTypeError(fmt::format("integer_pow: {} is no array of integers.", (*each)->type().text()),
                       "Of real or complex numbers take pow().");
  return apply(pow_info, x, exponent);
}

Array where(const Operand& condition, const Operand& if_true, const Operand& if_false) {
  const SourceScope place(condition.where(), "where");
  if (condition->dtype() != DType::bool_)
    throw DTypeError(fmt::format("where: the condition is {}, not bool.", condition->type().text()),
                     "Compare it first: x != 0.");
  Met met = meet("where", {if_true, if_false});
  Arrays all{condition, met.operands[0], met.operands[1]};
  const Shape shape = broadcast_shapes("where", all);
  for (Array& a : all) a = broadcast_to(a, shape);
  return bind1(select_info, {}, {all[0], all[1], all[2]}).with_weak(met.weak);
}

Array clamp(const Operand& x, const Operand& low, const Operand& high) {
  const SourceScope place(x.where(), "clamp");
  return min(max(x, low), high);
}

}  // namespace tenon
