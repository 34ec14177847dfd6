#include "tenon/compile/cpu/math.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

namespace tenon::cpu {
namespace {

using kernel::Unary;
using llvm::Value;
using llvm::Intrinsic::ID;

bool is_f32(Value* x) { return x->getType()->getScalarType()->isFloatTy(); }

Value* intrinsic(Builder& b, ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }
Value* fma(Builder& b, Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

// Calls a C function lane by lane: right for every argument, and slow.
Value* by_library(Builder& b, const char* name_of_double, std::initializer_list<Value*> operands) {
  llvm::Type* type = (*operands.begin())->getType();
  llvm::Type* scalar = type->getScalarType();
  const std::string name = std::string(name_of_double) + (scalar->isFloatTy() ? "f" : "");
  const std::vector<llvm::Type*> types(operands.size(), scalar);
  auto callee =
      b.GetInsertBlock()->getModule()->getOrInsertFunction(name, llvm::FunctionType::get(scalar, types, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
  }
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return b.CreateCall(callee, std::vector<Value*>(operands));
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> in;
    for (Value* x : operands) in.push_back(b.CreateExtractElement(x, lane));
    result = b.CreateInsertElement(result, b.CreateCall(callee, in), lane);
  }
  return result;
}

// 2^n for integral n within the exponent's range, by building the bits.
Value* power_of_two(Builder& b, Value* n) {
  llvm::Type* type = n->getType();
  const bool f32 = is_f32(n);
  llvm::Type* scalar_int = f32 ? b.getInt32Ty() : b.getInt64Ty();
  llvm::Type* ints =
      type->isVectorTy() ? llvm::VectorType::get(scalar_int, llvm::cast<llvm::VectorType>(type)) : scalar_int;
  Value* bits = b.CreateAdd(b.CreateFPToSI(n, ints), llvm::ConstantInt::get(ints, f32 ? 127 : 1023));
  return b.CreateBitCast(b.CreateShl(bits, f32 ? 23 : 52), type);
}

Value* polynomial(Builder& b, Value* x, std::initializer_list<double> from_highest) {
  Value* sum = nullptr;
  for (double c : from_highest)
    sum = sum == nullptr ? number(x->getType(), c) : fma(b, sum, x, number(x->getType(), c));
  return sum;
}

// e^x = 2^n·e^r with n = round(x/ln 2) and |r| <= ln 2 / 2: a Taylor series in r (the remainder is below half an ulp),
// with ln 2 in two parts, and 2^n in two factors so that results near the ends of the range are rounded once.
Value* exp_poly(Builder& b, Value* x) {
  llvm::Type* type = x->getType();
  const bool f32 = is_f32(x);
  const double low = f32 ? -104.0 : -745.2, high = f32 ? 89.0 : 709.9;
  Value* clamped = b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum,
                                           b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, number(type, low)),
                                           number(type, high));
  Value* n = intrinsic(b, llvm::Intrinsic::roundeven, b.CreateFMul(clamped, number(type, 1.4426950408889634074)));
  Value* r = fma(b, n, number(type, f32 ? -0x1.62e4p-1 : -0x1.62e42fefa38p-1), clamped);
  r = fma(b, n, number(type, f32 ? -0x1.7f7d1cf79abcap-20 : -0x1.ef35793c7673p-45), r);
  Value* p = f32 ? polynomial(b, r, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
                 : polynomial(b, r,
                              {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                               1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0});
  Value* half = intrinsic(b, llvm::Intrinsic::floor, b.CreateFMul(n, number(type, 0.5)));
  Value* result = b.CreateFMul(b.CreateFMul(p, power_of_two(b, half)), power_of_two(b, b.CreateFSub(n, half)));
  return b.CreateSelect(b.CreateFCmpUNO(x, x), x, result);
}

// sin x and cos x by the nearest multiple of π, π in three parts; odd Taylor polynomials, of degree 9 (f32). Arguments
// beyond the range of the reduction go to the C library.
Value* sin_poly(Builder& b, Value* x, bool cosine) {
  llvm::Type* type = x->getType();
  constexpr double limit = 1e5, pi1 = 0x1.921fb6p1, pi2 = -0x1.777a5cp-24, pi3 = -0x1.ee59dap-49,
                   inverse_pi = 0.31830988618379067154;
  Value* large = b.CreateFCmpUGE(intrinsic(b, llvm::Intrinsic::fabs, x), number(type, limit));
  Value* any = type->isVectorTy() ? b.CreateOrReduce(large) : large;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* slow = llvm::BasicBlock::Create(b.getContext(), "sin.slow", function);
  auto* fast = llvm::BasicBlock::Create(b.getContext(), "sin.fast", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "sin.done", function);
  b.CreateCondBr(any, slow, fast,
                 llvm::MDNode::get(b.getContext(), {llvm::MDString::get(b.getContext(), "branch_weights"),
                                                    llvm::ConstantAsMetadata::get(b.getInt32(1)),
                                                    llvm::ConstantAsMetadata::get(b.getInt32(100000))}));
  b.SetInsertPoint(slow);
  Value* exact = by_library(b, cosine ? "cos" : "sin", {x});
  slow = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(fast);
  Value* scaled = b.CreateFMul(x, number(type, inverse_pi));
  Value* k = cosine ? b.CreateFSub(intrinsic(b, llvm::Intrinsic::roundeven, b.CreateFAdd(scaled, number(type, 0.5))),
                                   number(type, 0.5))
                    : intrinsic(b, llvm::Intrinsic::roundeven, scaled);
  Value* r = fma(b, k, number(type, -pi1), x);
  r = fma(b, k, number(type, -pi2), r);
  r = fma(b, k, number(type, -pi3), r);
  Value* s = b.CreateFMul(r, r);
  // Minimax on [-π/2, π/2], found by a Remez exchange for the relative error of sin r.
  Value* p = polynomial(b, s, {0x1.5dbdf0p-19, -0x1.9f6ffep-13, 0x1.110ed4p-7, -0x1.55554cp-3});
  Value* y = fma(b, b.CreateFMul(r, s), p, r);
  // The sign of (-1)^k, with k + 1/2 for the cosine; r's own sign where y is 0, so that -0 stays.
  Value* integral = cosine ? b.CreateFAdd(k, number(type, 0.5)) : k;
  llvm::Type* ints = type->isVectorTy() ? llvm::VectorType::get(b.getInt32Ty(), llvm::cast<llvm::VectorType>(type))
                                        : static_cast<llvm::Type*>(b.getInt32Ty());
  Value* flip = b.CreateShl(b.CreateFPToSI(integral, ints), 31);
  Value* result = b.CreateBitCast(b.CreateXor(b.CreateBitCast(y, ints), flip), type);
  if (!cosine) result = b.CreateSelect(b.CreateFCmpOEQ(x, number(type, 0)), x, result);
  fast = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  auto* phi = b.CreatePHI(type, 2);
  phi->addIncoming(exact, slow);
  phi->addIncoming(result, fast);
  return phi;
}

// f32. tanh |x| = 1 - 2 / (e^{2|x|} + 1); near 0, where that loses digits, an odd series.
Value* tanh_poly(Builder& b, Value* x) {
  llvm::Type* type = x->getType();
  Value* a = intrinsic(b, llvm::Intrinsic::fabs, x);
  Value* e = exp_poly(
      b, b.CreateFMul(b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, a, number(type, 10.0)), number(type, 2)));
  Value* large = b.CreateFSub(number(type, 1), b.CreateFDiv(number(type, 2), b.CreateFAdd(e, number(type, 1))));
  Value* s = b.CreateFMul(x, x);
  // tanh's Taylor coefficients from x³ on; within 0.3 the next term is below an ulp of f32.
  Value* p = polynomial(b, s, {-1382.0 / 155925, 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3});
  Value* small = fma(b, b.CreateFMul(x, s), p, x);
  Value* signed_large = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, x);
  return b.CreateSelect(b.CreateFCmpOLT(a, number(type, 0.3)), small, signed_large);
}

Value* sign(Builder& b, Value* x) {
  llvm::Type* type = x->getType();
  Value* one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(type, 1), x);
  return b.CreateSelect(b.CreateFCmpUNE(x, number(type, 0)), b.CreateSelect(b.CreateFCmpUNO(x, x), x, one), x);
}

}  // namespace

Value* emit_unary(Builder& b, Unary op, Value* x) {
  llvm::Type* type = x->getType();
  switch (op) {
    case Unary::neg:
      return b.CreateFNeg(x);
    case Unary::abs:
      return intrinsic(b, llvm::Intrinsic::fabs, x);
    case Unary::sign:
      return sign(b, x);
    case Unary::floor:
      return intrinsic(b, llvm::Intrinsic::floor, x);
    case Unary::ceil:
      return intrinsic(b, llvm::Intrinsic::ceil, x);
    case Unary::round:
      return intrinsic(b, llvm::Intrinsic::roundeven, x);
    case Unary::sqrt:
      return intrinsic(b, llvm::Intrinsic::sqrt, x);
    case Unary::rsqrt:
      return b.CreateFDiv(number(type, 1), intrinsic(b, llvm::Intrinsic::sqrt, x));
    case Unary::exp:
      return exp_poly(b, x);
    case Unary::logistic:
      return b.CreateFDiv(number(type, 1), b.CreateFAdd(number(type, 1), exp_poly(b, b.CreateFNeg(x))));
    case Unary::tanh:
      return is_f32(x) ? tanh_poly(b, x) : by_library(b, "tanh", {x});
    case Unary::sin:
      return is_f32(x) ? sin_poly(b, x, false) : by_library(b, "sin", {x});
    case Unary::cos:
      return is_f32(x) ? sin_poly(b, x, true) : by_library(b, "cos", {x});
    case Unary::expm1:
      return by_library(b, "expm1", {x});
    case Unary::log:
      return by_library(b, "log", {x});
    case Unary::log1p:
      return by_library(b, "log1p", {x});
    case Unary::tan:
      return by_library(b, "tan", {x});
    case Unary::sinh:
      return by_library(b, "sinh", {x});
    case Unary::cosh:
      return by_library(b, "cosh", {x});
    case Unary::asin:
      return by_library(b, "asin", {x});
    case Unary::acos:
      return by_library(b, "acos", {x});
    case Unary::atan:
      return by_library(b, "atan", {x});
    case Unary::erf:
      return by_library(b, "erf", {x});
    case Unary::is_finite:
      return b.CreateFCmpOLT(intrinsic(b, llvm::Intrinsic::fabs, x), llvm::ConstantFP::getInfinity(type));
    case Unary::not_:
      break;
  }
  llvm_unreachable("a float has no such op");
}

Value* emit_by_library(Builder& b, kernel::Binary op, Value* x, Value* y) {
  return by_library(b, op == kernel::Binary::pow ? "pow" : "atan2", {x, y});
}
Value* emit_remainder(Builder& b, Value* x, Value* y) { return by_library(b, "fmod", {x, y}); }

}  // namespace tenon::cpu
