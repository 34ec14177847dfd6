// The exponential family for lanes of f32 and f64: one reduction of exp and one of log serve all of them.
// Coefficients: tools/minimax.py.
#include <llvm/IR/IntrinsicsX86.h>

#include <limits>
#include <optional>

#include "tenon/compile/cpu/real.h"

namespace tenon::cpu {
namespace {

// ln 2 in two parts; the first ends in enough zeros that its product with an exponent is exact.
constexpr double ln2_high_f32 = 0x1.62e4p-1, ln2_low_f32 = 0x1.7f7d1cp-20;
constexpr double ln2_high_f64 = 0x1.62e42fefa4p-1, ln2_low_f64 = -0x1.8432a1b0e2p-43 - 0x1.8cff81a12ap-85;
constexpr double inverse_ln2 = 0x1.71547652b82fep0;

// x = n·ln 2 + r, |r| <= ln 2 / 2, and e^r - 1.
struct Reduced {
  Real n, expm1;
};
Reduced reduce(Real x, std::optional<Real> low = {}) {  // of x + low, where the type cannot hold that sum
  const bool f32 = x.f32();
  const Real n = fma(low ? x + *low : x, inverse_ln2, magic(x)) - magic(x);
  const double rest = f32 ? -ln2_low_f32 : -ln2_low_f64;
  Real r = fma(n, f32 ? -ln2_high_f32 : -ln2_high_f64, x);
  r = low ? r + fma(n, rest, *low) : fma(n, rest, r);
  const Real p = polynomial(r, {0x1.0p-1, 0x1.5554dcp-3, 0x1.5554b6p-5, 0x1.120be6p-7, 0x1.6d772ap-10},
                            {0x1.0p-1, 0x1.5555555555557p-3, 0x1.5555555555558p-5, 0x1.11111111100bdp-7,
                             0x1.6c16c16c151b0p-10, 0x1.a01a01abf869ap-13, 0x1.a01a01ad10da5p-16, 0x1.71de01fdc5c53p-19,
                             0x1.27e4cca131dd6p-22, 0x1.af4e54ebc2abdp-26, 0x1.1f8b8ef2851e3p-29});
  return {n, fma(r * r, p, r)};
}

// 2^n for an integral n of a normal result, by its bits.
Real power_of_two(Real n) {
  const Real shifted = n + magic(n);
  llvm::Value* exponent = n.b->CreateShl(shifted.bits(), n.f32() ? 23 : 52);
  return n.of_bits(n.b->CreateAdd(exponent, n.like(1).bits()));
}

// x·2^n rounded once, for n out of the range of one factor too: one instruction on AVX-512, else two factors.
Real scale(Real x, Real n) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.type());
  const unsigned bits = vector == nullptr ? 0 : vector->getNumElements() * (x.f32() ? 32 : 64);
  if (bits > 512 && bits % 512 == 0 && has_feature(*x.b, "+avx512vl")) {
    const unsigned half = vector->getNumElements() / 2;
    const auto scaled = [&](unsigned from) {
      return scale({x.b, part(*x.b, x.v, from, half)}, {x.b, part(*x.b, n.v, from, half)}).v;
    };
    return {x.b, joined(*x.b, {scaled(0), scaled(half)})};
  }
  if ((bits == 128 || bits == 256 || bits == 512) && has_feature(*x.b, "+avx512vl")) {
    using namespace llvm::Intrinsic;
    const ID id = bits == 512   ? (x.f32() ? x86_avx512_mask_scalef_ps_512 : x86_avx512_mask_scalef_pd_512)
                  : bits == 256 ? (x.f32() ? x86_avx512_mask_scalef_ps_256 : x86_avx512_mask_scalef_pd_256)
                                : (x.f32() ? x86_avx512_mask_scalef_ps_128 : x86_avx512_mask_scalef_pd_128);
    llvm::Value* all = llvm::Constant::getAllOnesValue(x.b->getIntNTy(std::max(8u, vector->getNumElements())));
    llvm::SmallVector<llvm::Value*> operands{x.v, n.v, x.v, all};
    if (bits == 512) operands.push_back(x.b->getInt32(4));  // the rounding that is set
    return {x.b, x.b->CreateIntrinsic(id, {}, operands)};
  }
  const Real half = fma(n, 0.5, magic(n)) - magic(n);
  return x * power_of_two(half) * power_of_two(n - half);
}

// e^x / 2, finite wherever e^x / 2 is.
Real half_exp(Real x) {
  const Reduced e = reduce(at_most(at_least(x, x.f32() ? -104.0 : -746.0), x.f32() ? 90.0 : 711.0));
  return scale(e.expm1 + 1.0, e.n - 1.0);
}

// (e^x - 1) / 2, from 2^n·(e^r - 1) + (2^n - 1), by quarters so that 2^n is finite up to the largest result.
Real half_expm1(Real x) {
  const bool f32 = x.f32();
  const Reduced e = reduce(at_most(at_least(x, f32 ? -30.0 : -60.0), f32 ? 89.5 : 710.5));
  const Real power = power_of_two(e.n - 2.0);
  return fma(power, e.expm1, power - 0.25) * 2.0;
}

// A positive normal or subnormal x as 2^k·m, m from 0.75 to 1.5 for f32, from √½ to √2 for f64.
struct Apart {
  Real k, m;
};
Apart take_apart(Real x) {
  Builder& b = *x.b;
  const bool f32 = x.f32();
  llvm::Value* subnormal = x < (f32 ? 0x1p-126 : 0x1p-1022);
  const Real scaled = choose(subnormal, x * (f32 ? 0x1p24 : 0x1p54), x);
  // The exponent as an integer, offset so that it is positive, in the low bits.
  const unsigned fraction = f32 ? 23 : 52;
  const Real least = x.like(f32 ? 0.75 : 0x1.6a09e667f3bcdp-1);
  const std::uint64_t offset = f32 ? 127 : 1023;
  llvm::Value* exponent =
      b.CreateLShr(b.CreateAdd(b.CreateSub(scaled.bits(), least.bits()), x.integer(offset << fraction)), fraction);
  const Real m = x.of_bits(b.CreateSub(scaled.bits(), b.CreateShl(b.CreateSub(exponent, x.integer(offset)), fraction)));
  const Real k = x.of_bits(b.CreateOr(exponent, x.like(f32 ? 0x1p23 : 0x1p52).bits()));
  return {k - choose(subnormal, x.like((f32 ? 0x1p23 + 24 : 0x1p52 + 54) + static_cast<double>(offset)),
                     x.like((f32 ? 0x1p23 : 0x1p52) + static_cast<double>(offset))),
          m};
}

// log of a positive normal or subnormal x; anything for the rest. With `low` added before the last roundings.
Real log_of_positive(Real x, std::optional<Real> low = {}) {
  const auto [k, m] = take_apart(x);
  const Real t = m - 1.0;
  if (x.f32()) {  // t - t²/2 + t³·p(t)
    const Real t2 = t * t;
    const Real p = polynomial(t,
                              {0x1.5555a4p-2, -0x1.000040p-2, 0x1.9969b0p-3, -0x1.54efdcp-3, 0x1.28847cp-3,
                               -0x1.0d8a90p-3, 0x1.ac90bep-4, -0x1.7140b6p-5},
                              {});
    Real tail = fma(t2 * t, p, t2 * -0.5);
    if (low) tail = tail + *low;
    return fma(k, ln2_high_f32, t + fma(k, ln2_low_f32, tail));
  }
  // log (1 + t) = 2 atanh s, s = t / (2 + t), written as t - (t²/2 - s·(t²/2 + s²·p(s²))).
  const Real s = t / (t + 2.0), z = s * s, half_square = t * t * 0.5;
  const Real p = polynomial(z, {},
                            {0x1.555555555558bp-1, 0x1.9999999981a64p-2, 0x1.24924940a4015p-2, 0x1.c71c52f0ac01bp-3,
                             0x1.7466155296eafp-3, 0x1.39a5773fda576p-3, 0x1.2ee369f40b674p-3});
  Real tail = fma(s, fma(z, p, half_square), k * ln2_low_f64);
  if (low) tail = tail + *low;
  return fma(k, ln2_high_f64, t - (half_square - tail));
}

// erf x / x - 1 for |x| up to 1: with x apart, which is the largest term, nothing else's rounding counts.
Real erf_beside_one(Real x) {
  const Real z = x * x;
  const Real p =
      polynomial(z, {-0x1.81273ep-2, 0x1.ce2cf8p-4, -0x1.b7f90cp-6, 0x1.5405b2p-8, -0x1.a3f70cp-11, 0x1.496a66p-14},
                 {-0x1.812746b0379e6p-2, 0x1.ce2f21a042b20p-4, -0x1.b82ce3128499ap-6, 0x1.565bcd0db0295p-8,
                  -0x1.c02db3d8ec5d8p-11, 0x1.f9a321a10915bp-14, -0x1.f4d1df37d5773p-17, 0x1.b9def18c1ca5bp-20,
                  -0x1.5f1d3631213e3p-23, 0x1.f7a40c4d6e249p-27, -0x1.386aaf3772f46p-30, 0x1.05797cc71fc8bp-34});
  return fma(z, p, x.like(0.12837916709551257390));
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Real exp_of(Real x) {
  const Reduced e = reduce(at_most(at_least(x, x.f32() ? -104.0 : -746.0), x.f32() ? 89.0 : 710.0));
  return scale(e.expm1 + 1.0, e.n);
}

// Where x is all that is left of a series x + …, from which a half would be subnormal.
Real or_tiny(Real x, Real y) { return choose(abs(x) < (x.f32() ? 0x1p-30 : 0x1p-60), x, y); }

Real expm1_of(Real x) { return or_tiny(x, half_expm1(x) * 2.0); }

Real log_of(Real x) {
  const Real y = choose(x < infinity, log_of_positive(x), x);
  return choose(x.b->CreateFCmpUGT(x.v, x.like(0).v), y, choose(equal(x, 0.0), x.like(-infinity), x.like(nan)));
}

// log u + (x - (u - 1)) / u, u = 1 + x: the second term is what rounding u lost.
Real log1p_of(Real x) {
  const Real u = x + 1.0;
  const Real y = choose(x < infinity, log_of_positive(u, (x - (u - 1.0)) / u), x);
  return copysign(
      choose(x.b->CreateFCmpUGT(x.v, x.like(-1).v), y, choose(equal(x, -1.0), x.like(-infinity), x.like(nan))), x);
}

// -t / (t + 2), t = e^{-2|x|} - 1, clamped where the quotient rounds to 1. Each of the two rounds once.
Real tanh_of(Real x) {
  const Reduced e = reduce(at_least(-abs(x + x), x.f32() ? -20.0 : -44.0));
  const Real power = power_of_two(e.n);
  return copysign(fma(power, e.expm1, power - 1.0) / fma(power, e.expm1, power + 1.0), x);
}

// (t + t / (t + 1)) / 2, t = e^{|x|} - 1; to 1 an odd polynomial.
Real sinh_of(Real x) {
  const Real h = half_expm1(abs(x)), z = x * x;
  const Real near =
      fma(x * z,
          polynomial(z, {0x1.555556p-3, 0x1.111134p-7, 0x1.9ffe92p-13, 0x1.7a15b4p-19},
                     {0x1.5555555555556p-3, 0x1.11111111110a6p-7, 0x1.a01a01a028986p-13, 0x1.71de3a465bd44p-19,
                      0x1.ae64671acb4c8p-26, 0x1.611a56271d7f4p-33, 0x1.b4c75cee7333cp-41}),
          x);
  const Real far = copysign(choose(h < infinity, h + h / fma(h, 2.0, 1.0), h), x);
  return choose(abs(x) < 1.0, copysign(near, x), far);
}
Real cosh_of(Real x) {
  const Real h = half_exp(abs(x));
  return h + 0.25 / h;
}
// 1 / (1 + 2^n + 2^n·(e^r - 1)), which rounds less than 1 + e^-x; clamped where the quotient is subnormal, or 1.
Real logistic_of(Real x) {
  const bool f32 = x.f32();
  const Reduced e = reduce(at_most(at_least(-x, f32 ? -80.0 : -700.0), f32 ? 88.0 : 709.0));
  const Real power = power_of_two(e.n), sum = power + 1.0, lost = 1.0 - (sum - power);
  return 1.0 / (sum + fma(power, e.expm1, lost));
}

// An odd polynomial to 1; beyond, 1 - e^{p(|x|)} with p a fit of log erfc, until it rounds to 1.
Real erf_of(Real x) {
  const Real a = at_most(abs(x), x.f32() ? 3.95 : 5.95);
  const Real log_erfc = polynomial(
      a,
      {-0x1.2f4fbap-10, -0x1.1fb16cp+0, -0x1.497e8p-1, -0x1.937096p-4, 0x1.42778ap-6, -0x1.3de2a8p-9, 0x1.1bb492p-13},
      {-0x1.78af5f3ec119dp-26, -0x1.20dd72d2a8afep+0,  -0x1.45f309093ddd0p-1,  -0x1.a4f6eab517c45p-4,
       0x1.398f8146d77f8p-6,   0x1.7e9c15cfa494ap-13,  -0x1.af7312d26fafep-10, 0x1.1042e704d0d28p-11,
       0x1.b1afd19c31cd2p-15,  -0x1.1527f31991e30p-13, 0x1.43d00a6c1de76p-14,  -0x1.fa0e5e669f633p-16,
       0x1.2f8d8ce63bbf2p-17,  -0x1.240af92a8da3bp-19, 0x1.c97e0933f5854p-22,  -0x1.24454832b1d75p-24,
       0x1.2e8c69facdbbbp-27,  -0x1.f439d2030d3fap-31, 0x1.428f5c3b275dep-34,  -0x1.38a2815f940bcp-38,
       0x1.ac45f2fdc3664p-43,  -0x1.717c4b256d4c8p-48, 0x1.2dd1ae635a529p-54});
  return copysign(choose(abs(x) < 1.0, fma(x, erf_beside_one(x), x), 1.0 - exp_of(log_erfc)), x);
}

// 1 - erf near 0; beyond, e^{-a²}·p(q) / (1 + 2a), a = |x|, q = (a - k) / (a + k), and below 0 what that leaves of 2.
// The square goes in two parts, one exact of half the digits: an error in it would be one of as many parts of the
// result.
Real erfc_of(Real x) {
  const bool f32 = x.f32();
  const Real a = at_most(abs(x), f32 ? 10.6 : 28.0);
  const Real short_a = a.of_bits(x.b->CreateAnd(a.bits(), a.integer(f32 ? 0xfffff000u : ~std::uint64_t{0x7ffffff})));
  const Reduced e = reduce(-(short_a * short_a), -((a - short_a) * (a + short_a)));
  const double middle = f32 ? 2 : 4;
  const Real q = (a - middle) / (a + middle);
  // The first term apart, and with it what the sum and the quotient lose.
  const Real rest =
      horner(q,
             {-0x1.7bf5fcp-4, -0x1.540850p-3, 0x1.4ffaf2p-3, -0x1.bc09a6p-5, -0x1.078206p-7, 0x1.1aee62p-7,
              0x1.4b0212p-10, -0x1.4840b8p-10, -0x1.714120p-12, 0x1.11a3c2p-15},
             {-0x1.1df1ad154a29cp-3,  0x1.f7f5df66fd71fp-7,   0x1.16ecefcfa6043p-4,   -0x1.9ddb23c3e8a51p-4,
              0x1.7fee004df6ab9p-4,   -0x1.0fb06dfe58c97p-4,  0x1.3079edf9f9b88p-5,   -0x1.0962388077707p-6,
              0x1.49c67191a72a9p-8,   -0x1.8d4a9fef07bb8p-11, -0x1.a1de83cfaa97dp-13, 0x1.3be0d2df355b9p-13,
              -0x1.9969d5ebca54dp-16, -0x1.78a872d204e43p-17, 0x1.7fae61b3f6fbdp-18,  0x1.443930eade153p-22,
              -0x1.bfe114f3e872bp-21, 0x1.0bf58347f2476p-24,  0x1.ec092743a0f81p-24,  -0x1.0b48a25b52d4dp-27,
              -0x1.cbf1dd70be78ep-27, -0x1.d81f7dc154077p-30});
  const Real first = x.like(f32 ? 0x1.46e80ep+0 : 0x1.3ba5916e9fd7fp+0), p = fma(q, rest, first);
  const Real below = fma(a, 2.0, 1.0), inverse = 1.0 / below, share = p * inverse;
  const Real lost = fma(-share, below, p) +
                    (fma(q, rest, (first - p) + (f32 ? 0x1.5973e4p-26 : 0.0)) - share * (1.0 - fma(a, -2.0, below)));
  const Real above = scale(share + fma(e.expm1, share, inverse * lost), e.n);
  return choose(abs(x) < 0.8, fma(-x, erf_beside_one(x), 1.0 - x), choose(x < 0.0, 2.0 - above, above));
}

namespace {

// As f64, in as many lanes.
Real in_f64(Real x) {
  llvm::Type* wide = x.b->getDoubleTy();
  if (x.type()->isVectorTy()) wide = llvm::VectorType::get(wide, llvm::cast<llvm::VectorType>(x.type()));
  return {x.b, x.b->CreateFPExt(x.v, wide)};
}

// log of a positive normal or subnormal f64 as the sum of two, within 2^-64 of it: the terms of 2 atanh s that count
// have two parts each.
std::pair<Real, Real> log_in_two_parts(Real x) {
  const auto [k, m] = take_apart(x);
  // s = (m - 1) / (m + 1): what rounding the divisor lost, and what the quotient leaves.
  const Real t = m - 1.0, below = m + 1.0, below_low = m - (below - 1.0), inverse = 1.0 / below;
  const Real s = t * inverse, s_low = fma(-s, below_low, fma(-s, below, t)) * inverse, twice_low = s_low + s_low;
  const Real z = s * s, z_low = fma(s, twice_low, fma(s, s, -z));
  // s³·q, q = 2/3 + z·p(z).
  const Real p = horner(z, {},
                        {0x1.999999999999ap-2, 0x1.24924924925a3p-2, 0x1.c71c71c6c9dd5p-3, 0x1.745d17936e80fp-3,
                         0x1.3b138ccaf253fp-3, 0x1.111a799e80006p-3, 0x1.df2ba351eceb4p-4, 0x1.e32d31f69b5c7p-4});
  const double third = 0x1.5555555555555p-1;
  const Real q = fma(z, p, x.like(third)), q_low = fma(z, p, third - q) + 0x1.5555555555555p-55;
  const Real cube = s * z, cube_low = fma(s, z, -cube) + fma(s, z_low, s_low * z);
  const Real more = cube * q, more_low = fma(cube, q, -more) + fma(cube, q_low, cube_low * q);
  const Real first = s + s, head = first + more, head_low = ((first - head) + more) + (twice_low + more_low);
  const Real powers = k * ln2_high_f64, high = powers + head;
  return {high, ((powers - high) + head) + fma(k, ln2_low_f64, head_low)};
}

// e^{y·log a}, a not negative: f32 in f64, which leaves one rounding; f64 by a logarithm in two parts.
Real power_of_modulus(Real a, Real y) {
  Builder& b = *a.b;
  if (a.f32()) return {&b, b.CreateFPTrunc(exp_of(in_f64(y) * log_of(in_f64(a))).v, a.type())};
  const auto [high, low] = log_in_two_parts(a);
  llvm::Value* positive = b.CreateAnd(b.CreateFCmpUGT(a.v, a.like(0).v), a < infinity);
  const Real along = choose(positive, high, choose(equal(a, 0.0), a.like(-infinity), a));
  const Real product = y * along;
  // Where e to the product is 0 or infinite, the rest may be NaN.
  const Real rest = choose(abs(product) < 1000.0, fma(y, along, -product) + y * low, a.like(0));
  const Reduced e = reduce(at_most(at_least(product, -746.0), 711.0), rest);
  return scale(e.expm1 + 1.0, e.n);
}

}  // namespace

Real pow_of(Real x, Real y) {
  Builder& b = *x.b;
  // The C library's pow takes subnormal numbers apart by arithmetic that flushes them.
  if (!x.f32() && !has_feature(b, "+fma"))
    return by_library("pow", {choose(abs(x) < 0x1p-1022, copysign(x.like(0), x), x), y});
  Real result = choose(equal(abs(x), 1.0), x.like(1), power_of_modulus(abs(x), y));
  // A negative base: the sign of an odd y; no real power by a y that is not an integer. A y beyond what has a unit in
  // the last place of 1 is even.
  const auto truncated = [&](Real v) { return Real{&b, b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v.v)}; };
  llvm::Value* integral = equal(truncated(y), y);
  const Real half = y * 0.5;
  llvm::Value* odd = b.CreateAnd(integral, b.CreateNot(equal(truncated(half), half)));
  llvm::Value* negative = b.CreateICmpSLT(x.bits(), x.integer(0));
  const Real of_negative = choose(odd, -result, result);
  llvm::Value* unreal = b.CreateAnd(b.CreateNot(integral), b.CreateAnd(x < 0.0, abs(x) < infinity));
  result = choose(negative, choose(unreal, x.like(nan), of_negative), result);
  result = choose(b.CreateFCmpUNO(x.v, y.v), x.like(nan), result);
  return choose(b.CreateOr(equal(y, 0.0), equal(x, 1.0)), x.like(1), result);
}

// x - y·⌊x / y⌋ of the moduli, exact: a quotient below 2^53 is at most one too large once it is rounded, and of f32 the
// product and what it leaves fit f64. Beyond, and without fused products, the C library.
Real rem_of(Real x, Real y) {
  Builder& b = *x.b;
  const auto by_c = [&] { return Reals{by_library("fmod", {x, y})}; };
  if (!has_feature(b, "+fma")) return by_c()[0];
  const Real dividend = in_f64(abs(x)), divisor = in_f64(abs(y)), quotient = dividend / divisor;
  llvm::Value* smaller = dividend < divisor;
  llvm::Value* finite = b.CreateAnd(divisor > 0.0, dividend < infinity);  // else left is NaN
  llvm::Value* far = b.CreateAnd(finite, b.CreateFCmpOGE(quotient.v, quotient.like(0x1p53).v));
  const auto near = [&] {
    const Real whole{&b, b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient.v)};
    const Real left = fma(-whole, divisor, dividend);
    const Real made = choose(smaller, dividend, choose(left < 0.0, left + divisor, left));
    return Reals{copysign({&b, b.CreateFPTrunc(made.v, x.type())}, x)};
  };
  return unless(b, far, near, by_c)[0];
}

}  // namespace tenon::cpu
