// Trigonometric functions and their inverses for lanes of f32 and f64. Coefficients: tools/minimax.py.
#include "tenon/compile/cpu/real.h"

namespace tenon::cpu {
namespace {

// π in three parts, all positive so that -0 keeps its sign; with fused multiply-add every step of the reduction is
// exact or rounds once, up to the limits below.
struct Parts {
  double first, second, third;
};
constexpr Parts pi_f32{0x1.921fb4p1, 0x1.4442d0p-23, 0x1.846988p-47};
constexpr Parts pi_f64{0x1.921fb54442d18p1, 0x1.1a62633145c06p-53, 0x1.c1cd129024e08p-106};
constexpr double inverse_pi = 0x1.45f306dc9c883p-2;
constexpr double half_pi_high = 0x1.921fb54442d18p0, half_pi_low = 0x1.1a62633145c07p-54;

// x - k·unit·π
Real reduce(Real x, Real k, double unit) {
  const Parts& pi = x.f32() ? pi_f32 : pi_f64;
  return fma(k, -unit * pi.third, fma(k, -unit * pi.second, fma(k, -unit * pi.first, x)));
}
// The same and what its rounding left out, by Knuth's sum of two: where x is near to a multiple, the second part may be
// the larger.
struct Angle {
  Real high, low;
};
Angle reduce_with_rest(Real x, Real k, double unit) {
  const Parts& pi = x.f32() ? pi_f32 : pi_f64;
  const Real first = fma(k, -unit * pi.first, x), second = k * (-unit * pi.second), high = first + second;
  const Real taken = high - first, lost = (first - (high - taken)) + (second - taken);
  return {high, fma(k, -unit * pi.third, lost + fma(k, x.like(-unit * pi.second), -second))};
}
// high + low = unit·π/2 in x's type.
double high_of(Real x, double unit) { return unit * (x.f32() ? 0x1.921fb6p0 : half_pi_high); }
double low_of(Real x, double unit) { return unit * (x.f32() ? -0x1.777a5cp-25 : half_pi_low); }

llvm::Value* top_bit(Real x) { return x.like(-0.0).bits(); }
unsigned to_top(Real x) { return x.f32() ? 31 : 63; }
Real flipped(Real x, llvm::Value* flip) { return x.of_bits(x.b->CreateXor(x.bits(), flip)); }

// Rounding may leave the last place above 1, where sqrt(1 - y²) is no number.
Real magnitude_at_most_one(Real y) { return at_least(at_most(y, 1), -1); }

// sin r for |r| <= π/2. The largest term is added last, so that sin(π/2), cos(0) and cos(π), which are there, are 1 to
// the bit, whatever order the others are summed in.
Real sin_of_reduced(Real r, bool negative_zero) {
  const Real z = r * r;
  const Real rest =
      polynomial(z, {0x1.110ed4p-7, -0x1.9f6ffep-13, 0x1.5dbdf0p-19},
                 {0x1.11111111110c1p-7, -0x1.a01a01a0148b2p-13, 0x1.71de3a52876dbp-19, -0x1.ae6454cb2727ap-26,
                  0x1.6123cb1b66b1cp-33, -0x1.ae4319b67041fp-41, 0x1.8829322d122a4p-49});
  const Real p = fma(rest, z, r.like(r.f32() ? -0x1.55554cp-3 : -0x1.5555555555555p-3));
  const Real y = fma(r * z, p, r);
  return negative_zero ? copysign(y, r) : y;
}
// Of |r| <= π/4, (sin r / r - 1) / r² and (cos r - 1 + r²/2) / r⁴ of z = r².
Real sine_tail(Real z) {
  return polynomial(z, {-0x1.555546p-3, 0x1.11073ap-7, -0x1.9943bep-13},
                    {-0x1.5555555555548p-3, 0x1.111111110f7d3p-7, -0x1.a01a019bfe1bap-13, 0x1.71de3567dc147p-19,
                     -0x1.ae5e5a85f9cd6p-26, 0x1.5d8fc9de8d0d8p-33});
}
Real cosine_tail(Real z) {
  return polynomial(z, {0x1.55554ap-5, -0x1.6c0c8cp-10, 0x1.9a029cp-16},
                    {0x1.555555555554cp-5, -0x1.6c16c16c151b6p-10, 0x1.a01a019cb6811p-16, -0x1.27e4f80cfdc4dp-22,
                     0x1.1ee9edc883cffp-29, -0x1.8faf7f94b4d54p-37});
}
struct SinCos {
  Real sine, cosine;
};
SinCos sin_cos_of_reduced(Real r, bool negative_zero) {
  const Real z = r * r, sine = fma(r * z, sine_tail(z), r);
  return {negative_zero ? copysign(sine, r) : sine, fma(z * z, cosine_tail(z), fma(z, -0.5, 1.0))};
}
// Of r + low, with what the sine's rounding lost.
struct SinCosWithRest {
  Real sine, rest, cosine;
};
SinCosWithRest sin_cos_with_rest(Real r, Real low) {
  const Real z = r * r, tail = fma(r * z, sine_tail(z), low), sine = r + tail;
  const Real cosine = fma(z, -0.5, 1.0), beside = fma(z, -0.5, 1.0 - cosine) - r * low;
  return {sine, (r - sine) + tail, cosine + fma(z * z, cosine_tail(z), beside)};
}

// By the nearest multiple of π: x = k·π + r, sin x = (-1)^k sin r.
Real near_sin(Real x, bool negative_zero) {
  const Real shifted = fma(x, inverse_pi, magic(x));
  llvm::Value* flip = x.b->CreateShl(shifted.bits(), to_top(x));
  return flipped(magnitude_at_most_one(sin_of_reduced(reduce(x, shifted - magic(x), 1), negative_zero)), flip);
}
// By the nearest odd multiple of π/2: cos x = -(-1)^k sin (x - (k + 1/2)·π).
Real near_cos(Real x) {
  const Real shifted = fma(x, inverse_pi, -0.5) + magic(x);
  llvm::Value* flip = x.b->CreateXor(x.b->CreateShl(shifted.bits(), to_top(x)), top_bit(x));
  return flipped(magnitude_at_most_one(sin_of_reduced(reduce(x, (shifted - magic(x)) + 0.5, 1), false)), flip);
}
// By the nearest multiple of π/2.
struct Quadrant {
  llvm::Value* number;  // its bits below the second are not meant
  llvm::Value* odd;
  SinCos at;
};
Quadrant quadrant(Real x, bool negative_zero) {
  Builder& b = *x.b;
  const Real shifted = fma(x, 2 * inverse_pi, magic(x));
  llvm::Value* odd = b.CreateICmpNE(b.CreateAnd(shifted.bits(), x.integer(1)), x.integer(0));
  return {shifted.bits(), odd, sin_cos_of_reduced(reduce(x, shifted - magic(x), 0.5), negative_zero)};
}
SinCos near_sin_cos(Real x, bool negative_zero) {
  Builder& b = *x.b;
  const Quadrant q = quadrant(x, negative_zero);
  // The second bit of the quadrant, and of the next, at the top.
  const auto flip = [&](llvm::Value* of) { return b.CreateAnd(b.CreateShl(of, to_top(x) - 1), top_bit(x)); };
  return {flipped(choose(q.odd, q.at.cosine, q.at.sine), flip(q.number)),
          flipped(choose(q.odd, q.at.sine, q.at.cosine), flip(b.CreateAdd(q.number, x.integer(1))))};
}
// tan r, or -1 / tan r where the multiple is odd; with what the roundings of r and of its sine lose.
Real near_tan(Real x) {
  const Real shifted = fma(x, 2 * inverse_pi, magic(x));
  llvm::Value* odd = x.b->CreateICmpNE(x.b->CreateAnd(shifted.bits(), x.integer(1)), x.integer(0));
  const Angle r = reduce_with_rest(x, shifted - magic(x), 0.5);
  const auto [sine, rest, cosine] = sin_cos_with_rest(r.high, r.low);
  const Real n = choose(odd, -cosine, sine), d = choose(odd, sine, cosine), inverse = 1.0 / d, quotient = n * inverse;
  const Real lost = fma(-quotient, d, n) + choose(odd, -(quotient * rest), rest);
  return choose(abs(x) > (x.f32() ? 0x1p-60 : 0x1p-500), fma(inverse, lost, quotient), x);
}
// cos x for |x| <= 1.2, where its error is small beside it.
Real small_cos(Real x) {
  const Real z = x * x;
  const Real q =
      polynomial(z, {0x1.555554p-5, -0x1.6c1642p-10, 0x1.9fe61p-16, -0x1.1ef09p-22},
                 {0x1.5555555555552p-5, -0x1.6c16c16c166cbp-10, 0x1.a01a019fbd6e7p-16, -0x1.27e4fb43cc7bcp-22,
                  0x1.1eed6e7a99371p-29, -0x1.9380032d68a41p-37, 0x1.a59f1cf4911a1p-45});
  return fma(z * z, q, fma(z, -0.5, 1.0));
}

// Of any size: of f64 by the runtime, which reduces angles further than the C library does.
Real sin_of_any(Real x) { return by_library(x.f32() ? "sin" : "tenon_sin", {x}); }
Real cos_of_any(Real x) { return by_library(x.f32() ? "cos" : "tenon_cos", {x}); }
Real tan_of_any(Real x) { return by_library(x.f32() ? "tan" : "tenon_tan", {x}); }

constexpr double small_limit = 1.2;
double reach_of(bool f32) { return f32 ? 1e5 : 1e8; }

// Without reduction where arguments are small: by their range, or, for scalars, by a branch. Where they are beyond its
// reach, or the processor lacks the fused multiply-add that makes its steps exact: one by one.
Reals by_size(Real x, const Range& range, llvm::function_ref<Reals()> small, llvm::function_ref<Reals()> reduced,
              llvm::function_ref<Reals()> any) {
  Builder& b = *x.b;
  const auto beyond = [&](double limit) { return b.CreateFCmpUGE(abs(x).v, x.like(limit).v); };
  const double reach = reach_of(x.f32());
  const auto larger = [&]() -> Reals {
    if (!has_feature(b, "+fma")) return any();
    return range.within(reach) ? reduced() : unless(b, beyond(reach), reduced, any);
  };
  if (range.within(small_limit)) return small();
  return x.type()->isVectorTy() ? larger() : unless(b, beyond(small_limit), small, larger);
}

// (asin s) - s for |s| <= 1/2, z = s².
Real asin_tail(Real s, Real z) {
  return s * z *
         polynomial(z, {0x1.5555c8p-3, 0x1.3301fep-4, 0x1.747c2cp-5, 0x1.8c3aeep-6, 0x1.595ea2p-5},
                    {0x1.555555555539ap-3, 0x1.333333336d990p-4, 0x1.6db6db42f356bp-5, 0x1.f1c72c17f734ep-6,
                     0x1.6e89f6f299175p-6, 0x1.1c6bbd6b493c1p-6, 0x1.c700494c6e2a6p-7, 0x1.8eb3c5d9dd536p-7,
                     0x1.ac491571da28cp-8, 0x1.3fa704946a91bp-6, -0x1.0960ccfa70563p-6, 0x1.05486e97d87cfp-5});
}
// n / d, and of f64 what its rounding leaves out.
Angle quotient_of(Real n, Real d, llvm::function_ref<Real(Real)> lost) {
  if (n.f32()) return {n / d, n.like(0)};
  const Real inverse = 1.0 / d, q = n * inverse, rest = (fma(-q, d, n) + lost(q)) * inverse;
  return {q, choose(n.b->CreateFCmpORD(rest.v, rest.v), rest, n.like(0))};  // d may be infinite
}
// atan (n / d) for 0 <= n <= d, d > 0: beyond tan π/8, π/4 + atan ((n - d) / (n + d)).
Angle atan_of_quotient(Real n, Real d) {
  llvm::Value* far = n > d * 0x1.a827999fcef32p-2;
  const Real difference = n - d, sum = n + d, zero = n.like(0);
  const auto lost = [&](Real q) {  // of the difference and the sum
    return choose(far, (n - (difference + d)) - q * (n - (sum - d)), zero);
  };
  const auto [t, rest] = quotient_of(choose(far, difference, n), choose(far, sum, d), lost);
  const Real z = t * t;
  const Real tail =
      t * z *
      polynomial(z, {-0x1.55554ap-2, 0x1.999196p-3, -0x1.23b4f2p-3, 0x1.b1e82p-4, -0x1.f1d3d2p-5},
                 {-0x1.5555555555320p-2, 0x1.9999999949f41p-3, -0x1.249249059213ap-3, 0x1.c71c65d1d8828p-4,
                  -0x1.745bc31855562p-4, 0x1.3afc30d5f75f3p-4, -0x1.1004f1697983ep-4, 0x1.d251bb66ba242p-5,
                  -0x1.650d142979045p-5, 0x1.5c31c77d15c53p-6});
  return {choose(far, n.like(high_of(n, 0.5)), zero), t + (tail + (choose(far, n.like(low_of(n, 0.5)), zero) + rest))};
}
// unit·π/2 minus the angle.
Angle complement(Angle a, double unit) { return {high_of(a.high, unit) - a.high, low_of(a.high, unit) - a.low}; }
Angle choose(llvm::Value* condition, Angle x, Angle y) {
  return {choose(condition, x.high, y.high), choose(condition, x.low, y.low)};
}

}  // namespace

Range usual_range(const Range& range, bool f32) {
  for (const double limit : {small_limit, reach_of(f32)})
    if (range.within(limit)) return {-limit, limit, range.negative_zero};
  return {.negative_zero = range.negative_zero};
}

Real sin_of(Real x, const Range& range) {
  const bool zero = range.negative_zero;
  return by_size(
      x, range, [&] { return Reals{sin_of_reduced(x, zero)}; }, [&] { return Reals{near_sin(x, zero)}; },
      [&] { return Reals{sin_of_any(x)}; })[0];
}
Real cos_of(Real x, const Range& range) {
  return by_size(
      x, range, [&] { return Reals{small_cos(x)}; }, [&] { return Reals{near_cos(x)}; },
      [&] { return Reals{cos_of_any(x)}; })[0];
}
std::pair<Real, Real> sin_cos_of(Real x, const Range& range) {
  const bool zero = range.negative_zero;
  const auto reduced = [&] {
    const SinCos both = near_sin_cos(x, zero);
    return Reals{both.sine, both.cosine};
  };
  const Reals both = by_size(
      x, range, [&] { return Reals{sin_of_reduced(x, zero), small_cos(x)}; }, reduced,
      [&] { return Reals{sin_of_any(x), cos_of_any(x)}; });
  return {both[0], both[1]};
}
Real tan_of(Real x, const Range& range) {
  if (!has_feature(*x.b, "+fma")) return tan_of_any(x);
  if (range.within(reach_of(x.f32()))) return near_tan(x);
  const auto beyond = x.b->CreateFCmpUGE(abs(x).v, x.like(x.f32() ? 1e5 : 1e8).v);
  return unless(*x.b, beyond, [&] { return Reals{near_tan(x)}; }, [&] { return Reals{tan_of_any(x)}; })[0];
}

// Beyond 1/2: π/2 - 2 asin sqrt((1 - |x|) / 2).
Real asin_of(Real x) {
  const Real a = abs(x);
  llvm::Value* small = a < 0.5;
  const Real z = choose(small, x * x, fma(a, -0.5, 0.5)), s = choose(small, a, sqrt(z)), tail = asin_tail(s, z);
  const Real far = high_of(x, 1) - (s * 2.0 + (tail * 2.0 - low_of(x, 1)));
  return copysign(choose(small, s + tail, far), x);
}
Real acos_of(Real x) {
  const Real a = abs(x);
  llvm::Value* small = a < 0.5;
  const Real z = choose(small, x * x, fma(a, -0.5, 0.5)), s = choose(small, x, sqrt(z)), tail = asin_tail(s, z);
  const Real middle = high_of(x, 1) - (s + (tail - low_of(x, 1)));
  const Real right = (s + tail) * 2.0, left = high_of(x, 2) - (s * 2.0 + (tail * 2.0 - low_of(x, 2)));
  return choose(small, middle, choose(x > 0.0, right, left));
}

Real atan_of(Real x) {
  const Real a = abs(x), one = x.like(1);
  llvm::Value* steep = a > 1.0;
  // 1 / a, not n / d swapped: infinity over infinity has no place here.
  const Angle angle = atan_of_quotient(choose(steep, one / a, a), one);
  const Angle full = choose(steep, complement(angle, 1), angle);
  return copysign(full.high + full.low, x);
}

Real atan2_of(Real y, Real x) {
  Builder& b = *x.b;
  Real p = abs(y), q = abs(x);
  // Where both are zero or both infinite, an angle of 0 or π/4 by convention; halved, so that sums stay finite.
  llvm::Value* both_zero = b.CreateAnd(equal(p, 0.0), equal(q, 0.0));
  llvm::Value* same = b.CreateAnd(equal(p, q), b.CreateNot(both_zero));
  llvm::Value* steep = p > q;
  Real n = choose(steep, q, p), d = choose(steep, p, q);
  // Where sums would overflow, or what is one by them or a difference be subnormal.
  llvm::Value *huge = d > (x.f32() ? 0x1p100 : 0x1p1000), *tiny = d < (x.f32() ? 0x1p-60 : 0x1p-900);
  const Real factor =
      choose(huge, x.like(x.f32() ? 0x1p-60 : 0x1p-900), choose(tiny, x.like(x.f32() ? 0x1p60 : 0x1p900), x.like(1)));
  n = n * factor;
  d = d * factor;
  n = choose(same, x.like(1), n);
  d = choose(b.CreateOr(same, both_zero), x.like(1), d);
  Angle angle = atan_of_quotient(n, d);
  angle = choose(steep, complement(angle, 1), angle);
  llvm::Value* left = b.CreateICmpSLT(x.bits(), x.integer(0));
  angle = choose(left, complement(angle, 2), angle);
  const Real result = copysign(angle.high + angle.low, y);
  return choose(b.CreateFCmpUNO(x.v, y.v), x + y, result);
}

}  // namespace tenon::cpu
