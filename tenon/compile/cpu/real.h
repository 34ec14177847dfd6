// Real: a float or a vector of floats in the IR being written, so that the mathematics of math.h reads as algebra.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <initializer_list>
#include <vector>

#include "tenon/compile/cpu/math.h"

namespace tenon::cpu {

struct Real {
  Builder* b;
  llvm::Value* v;

  llvm::Type* type() const { return v->getType(); }
  bool f32() const { return type()->getScalarType()->isFloatTy(); }
  Real like(double value) const { return {b, number(type(), value)}; }
  // The integers of the same width, as many.
  llvm::Type* ints() const {
    llvm::Type* one = b->getIntNTy(f32() ? 32 : 64);
    return type()->isVectorTy() ? llvm::VectorType::get(one, llvm::cast<llvm::VectorType>(type())) : one;
  }
  llvm::Value* bits() const { return b->CreateBitCast(v, ints()); }
  llvm::Value* integer(std::uint64_t value) const { return llvm::ConstantInt::get(ints(), value); }
  Real of_bits(llvm::Value* bits) const { return {b, b->CreateBitCast(bits, type())}; }
};

inline Real operator+(Real x, Real y) { return {x.b, x.b->CreateFAdd(x.v, y.v)}; }
inline Real operator-(Real x, Real y) { return {x.b, x.b->CreateFSub(x.v, y.v)}; }
inline Real operator*(Real x, Real y) { return {x.b, x.b->CreateFMul(x.v, y.v)}; }
inline Real operator/(Real x, Real y) { return {x.b, x.b->CreateFDiv(x.v, y.v)}; }
inline Real operator+(Real x, double y) { return x + x.like(y); }
inline Real operator-(Real x, double y) { return x - x.like(y); }
inline Real operator*(Real x, double y) { return x * x.like(y); }
inline Real operator-(double x, Real y) { return y.like(x) - y; }
inline Real operator/(double x, Real y) { return y.like(x) / y; }
inline Real operator-(Real x) { return {x.b, x.b->CreateFNeg(x.v)}; }

// Conditions: i1, one a lane; false where an operand is NaN.
inline llvm::Value* operator<(Real x, Real y) { return x.b->CreateFCmpOLT(x.v, y.v); }
inline llvm::Value* operator>(Real x, Real y) { return x.b->CreateFCmpOGT(x.v, y.v); }
inline llvm::Value* operator<(Real x, double y) { return x < x.like(y); }
inline llvm::Value* operator>(Real x, double y) { return x > x.like(y); }
inline llvm::Value* equal(Real x, Real y) { return x.b->CreateFCmpOEQ(x.v, y.v); }
inline llvm::Value* equal(Real x, double y) { return equal(x, x.like(y)); }

// x·y + z, rounded once where the processor has that instruction.
inline Real fma(Real x, Real y, Real z) {
  return {x.b, x.b->CreateIntrinsic(llvm::Intrinsic::fmuladd, {x.type()}, {x.v, y.v, z.v})};
}
inline Real fma(Real x, double y, Real z) { return fma(x, x.like(y), z); }
inline Real fma(Real x, double y, double z) { return fma(x, x.like(y), x.like(z)); }
inline Real choose(llvm::Value* condition, Real x, Real y) { return {x.b, x.b->CreateSelect(condition, x.v, y.v)}; }
inline Real abs(Real x) { return {x.b, x.b->CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.v)}; }
inline Real sqrt(Real x) { return {x.b, x.b->CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x.v)}; }
inline Real copysign(Real x, Real sign) {
  return {x.b, x.b->CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x.v, sign.v)};
}
// These keep NaN.
inline Real at_most(Real x, double limit) { return choose(x > limit, x.like(limit), x); }
inline Real at_least(Real x, double limit) { return choose(x < limit, x.like(limit), x); }

// Coefficients lowest first, one list a type: shorter for f32. By Horner's scheme.
using Coefficients = std::initializer_list<double>;
inline Real horner(Real x, Coefficients f32, Coefficients f64) {
  const Coefficients& c = x.f32() ? f32 : f64;
  Real sum = x.like(*(c.end() - 1));
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, x.like(c.begin()[i]));
  return sum;
}
// The same, where short chains matter, by Estrin's: pairs, pairs of pairs, and so on. It rounds powers of x too.
inline Real polynomial(Real x, Coefficients f32, Coefficients f64) {
  if (!x.b->short_chains) return horner(x, f32, f64);
  const Coefficients& c = x.f32() ? f32 : f64;
  std::vector<Real> terms;
  for (double coefficient : c) terms.push_back(x.like(coefficient));
  for (Real power = x; terms.size() > 1; power = power * power) {
    std::vector<Real> pairs;
    for (std::size_t i = 0; i < terms.size(); i += 2)
      pairs.push_back(i + 1 < terms.size() ? fma(terms[i + 1], power, terms[i]) : terms[i]);
    terms = std::move(pairs);
    if (terms.size() == 1) break;
  }
  return terms[0];
}

// Adding 1.5·2^23 (f32) or 1.5·2^52 (f64) rounds to an integer and leaves it in the low bits: no instruction for
// rounding or converting, which older processors lack for vectors.
inline double magic(Real x) { return x.f32() ? 0x1.8p23 : 0x1.8p52; }

// Whether the function being written may use instructions of this name.
bool has_feature(Builder& b, const char* name);

// Where the condition holds in no lane, what `usual` gives; else what `other` gives for all lanes, out of the way.
using Reals = std::vector<Real>;
Reals unless(Builder& b, llvm::Value* condition, llvm::function_ref<Reals()> usual, llvm::function_ref<Reals()> other);
// The C function for every lane (of double; its f32 twin ends in f).
Real by_library(const char* c_function, std::initializer_list<Real> operands);

// exponentials.cpp
Real exp_of(Real x);
Real expm1_of(Real x);
Real log_of(Real x);
Real log1p_of(Real x);
Real tanh_of(Real x);
Real sinh_of(Real x);
Real cosh_of(Real x);
Real logistic_of(Real x);
Real erf_of(Real x);
Real erfc_of(Real x);
Real pow_of(Real x, Real y);
Real rem_of(Real x, Real y);  // of truncated division, with the sign of x
// trigonometry.cpp
// Of the ranges for which sin, cos and tan are written differently, the smallest that holds this one.
Range usual_range(const Range& range, bool f32);
Real sin_of(Real x, const Range& range);
Real cos_of(Real x, const Range& range);
std::pair<Real, Real> sin_cos_of(Real x, const Range& range);
Real tan_of(Real x, const Range& range);
Real asin_of(Real x);
Real acos_of(Real x);
Real atan_of(Real x);
Real atan2_of(Real y, Real x);

}  // namespace tenon::cpu
