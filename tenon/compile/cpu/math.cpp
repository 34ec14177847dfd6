#include "tenon/compile/cpu/math.h"

#include <llvm/IR/MDBuilder.h>

#include <cmath>
#include <numeric>

#include "tenon/compile/cpu/real.h"

namespace tenon::cpu {
namespace {

using kernel::Unary;
using llvm::Value;

Value* intrinsic(Builder& b, llvm::Intrinsic::ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }

llvm::FunctionCallee c_function(llvm::Module& module, const std::string& name, llvm::Type* scalar, std::size_t arity) {
  const std::vector<llvm::Type*> types(arity, scalar);
  auto callee = module.getOrInsertFunction(name, llvm::FunctionType::get(scalar, types, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
  }
  return callee;
}

// void each(result, x...): the C function on every lane of arrays in memory. One a function and type in a module, so
// that calls stay short, and vectors keep out of the calling convention.
llvm::Function* each_lane(Builder& b, const std::string& name, llvm::FixedVectorType* type, std::size_t arity) {
  llvm::Function* caller = b.GetInsertBlock()->getParent();
  llvm::Module& module = *caller->getParent();
  const std::string full = "tenon.each." + name + "." + std::to_string(type->getNumElements());
  if (auto* known = module.getFunction(full)) return known;
  auto& context = module.getContext();
  const std::vector<llvm::Type*> types(arity + 1, b.getPtrTy());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                          llvm::Function::InternalLinkage, full, module);
  for (const char* attribute : {"target-cpu", "target-features"})
    if (caller->hasFnAttribute(attribute)) function->addFnAttr(caller->getFnAttribute(attribute));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  function->setDoesNotThrow();
  function->setOnlyAccessesArgMemory();
  for (unsigned i = 0; i <= arity; ++i) {
    function->addParamAttr(i, llvm::Attribute::NoAlias);
    function->addParamAttr(i, llvm::Attribute::NoCapture);
  }
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context, "lane", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  Builder inner(entry);
  inner.CreateBr(loop);
  inner.SetInsertPoint(loop);
  llvm::Type* scalar = type->getElementType();
  auto* lane = inner.CreatePHI(inner.getInt64Ty(), 2);
  std::vector<Value*> operands;
  for (unsigned i = 1; i <= arity; ++i)
    operands.push_back(inner.CreateLoad(scalar, inner.CreateInBoundsGEP(scalar, function->getArg(i), lane)));
  Value* result = inner.CreateCall(c_function(module, name, scalar, arity), operands);
  inner.CreateStore(result, inner.CreateInBoundsGEP(scalar, function->getArg(0), lane));
  Value* next = inner.CreateAdd(lane, inner.getInt64(1));
  lane->addIncoming(inner.getInt64(0), entry);
  lane->addIncoming(next, loop);
  inner.CreateCondBr(inner.CreateICmpEQ(next, inner.getInt64(type->getNumElements())), done, loop);
  inner.SetInsertPoint(done);
  inner.CreateRetVoid();
  return function;
}

// Memory for one vector in the frame of the function that is written.
Value* frame_slot(Builder& b, llvm::Type* type) {
  auto& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  auto* slot = at_entry.CreateAlloca(type);
  slot->setAlignment(llvm::Align(64));
  return slot;
}

// Whether a condition on f32 or f64 holds in any lane; the registers of a wide one are merged first.
Value* in_any_lane(Builder& b, Value* condition) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType());
  if (vector == nullptr) return condition;
  unsigned bits = 0;
  b.GetInsertBlock()->getParent()->getFnAttribute("prefer-vector-width").getValueAsString().getAsInteger(10, bits);
  unsigned lanes = vector->getNumElements();
  for (; lanes * 32 > bits && lanes % 2 == 0; lanes /= 2)
    condition = b.CreateOr(part(b, condition, 0, lanes / 2), part(b, condition, lanes / 2, lanes / 2));
  return b.CreateOrReduce(condition);
}

// A call of `result name(type, …)` of the module of the function that is written, for the same processor; `body` gives
// what it returns.
Value* call_own_function(Builder& b, const std::string& name, llvm::Type* result, llvm::ArrayRef<Value*> arguments,
                         llvm::function_ref<Value*(Builder&, llvm::Function&)> body) {
  llvm::Type* type = arguments[0]->getType();
  llvm::Function* caller = b.GetInsertBlock()->getParent();
  llvm::Module& module = *caller->getParent();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const std::string full = "tenon." + name + (type->getScalarType()->isFloatTy() ? ".f32." : ".f64.") +
                           std::to_string(vector == nullptr ? 1 : vector->getNumElements()) +
                           (b.short_chains ? ".short" : "");
  if (auto* known = module.getFunction(full)) return b.CreateCall(known, arguments);
  const std::vector<llvm::Type*> types(arguments.size(), type);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                          llvm::Function::InternalLinkage, full, module);
  for (const char* attribute : {"target-cpu", "target-features", "prefer-vector-width"})
    if (caller->hasFnAttribute(attribute)) function->addFnAttr(caller->getFnAttribute(attribute));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  Builder inner(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  inner.setFastMathFlags(b.getFastMathFlags());
  inner.short_chains = b.short_chains;
  Value* made = body(inner, *function);
  inner.CreateRet(made);
  return b.CreateCall(function, arguments);
}

std::string text_of(const Range& range) {
  return (std::isfinite(range.high) ? ".to." + std::to_string(std::llround(range.high)) : "") +
         (range.negative_zero ? "" : ".no_negative_zero");
}

// ±1; zeros and NaN stay.
Real sign_of(Real x) {
  const Real one = copysign(x.like(1), x);
  return choose(x.b->CreateFCmpONE(x.v, x.like(0).v), one, x);
}

}  // namespace

Value* part(Builder& b, Value* vector, unsigned from, unsigned count) {
  std::vector<int> lanes(count);
  std::iota(lanes.begin(), lanes.end(), static_cast<int>(from));
  return b.CreateShuffleVector(vector, lanes);
}
Value* joined(Builder& b, std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> pairs;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      std::vector<int> lanes(std::size_t{2} * llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements());
      std::iota(lanes.begin(), lanes.end(), 0);
      pairs.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], lanes));
    }
    parts = std::move(pairs);
  }
  return parts[0];
}

bool has_feature(Builder& b, const char* name) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  const llvm::StringRef cpu = function->getFnAttribute("target-cpu").getValueAsString();
  if (llvm::StringRef(name) == "+fma" && (cpu == "x86-64-v3" || cpu == "x86-64-v4")) return true;
  llvm::SmallVector<llvm::StringRef> features;
  function->getFnAttribute("target-features").getValueAsString().split(features, ',');
  return llvm::is_contained(features, llvm::StringRef(name));
}

Real by_library(const char* c_name, std::initializer_list<Real> operands) {
  const Real& first = *operands.begin();
  Builder& b = *first.b;
  const std::string name = std::string(c_name) + (first.f32() ? "f" : "");
  std::vector<Value*> values;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(first.type());
  if (vector == nullptr) {
    for (const Real& x : operands) values.push_back(x.v);
    return {&b, b.CreateCall(c_function(*b.GetInsertBlock()->getModule(), name, first.type(), values.size()), values)};
  }
  Value* result = frame_slot(b, vector);
  values.push_back(result);
  for (const Real& x : operands) {
    values.push_back(frame_slot(b, vector));
    b.CreateAlignedStore(x.v, values.back(), llvm::Align(64));
  }
  b.CreateCall(each_lane(b, name, vector, operands.size()), values);
  return {&b, b.CreateAlignedLoad(vector, result, llvm::Align(64))};
}

Reals unless(Builder& b, Value* condition, llvm::function_ref<Reals()> usual, llvm::function_ref<Reals()> other) {
  auto& context = b.getContext();
  Value* any = in_any_lane(b, condition);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* slow = llvm::BasicBlock::Create(context, "rare", function);
  auto* fast = llvm::BasicBlock::Create(context, "usual", function);
  auto* done = llvm::BasicBlock::Create(context, "both", function);
  b.CreateCondBr(any, slow, fast, llvm::MDBuilder(context).createBranchWeights(1, 1 << 20));
  b.SetInsertPoint(slow);
  const Reals exact = other();
  auto* slow_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(fast);
  const Reals quick = usual();
  auto* fast_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  Reals either;
  for (std::size_t i = 0; i < quick.size(); ++i) {
    auto* phi = b.CreatePHI(quick[i].type(), 2);
    phi->addIncoming(exact[i].v, slow_end);
    phi->addIncoming(quick[i].v, fast_end);
    either.push_back({&b, phi});
  }
  return either;
}

Value* emit_unary(Builder& b, Unary op, Value* value, const Range& range) {
  const Real x{&b, value};
  switch (op) {
    case Unary::neg:
      return b.CreateFNeg(value);
    case Unary::abs:
      return abs(x).v;
    case Unary::sign:
      return sign_of(x).v;
    case Unary::floor:
      return intrinsic(b, llvm::Intrinsic::floor, value);
    case Unary::ceil:
      return intrinsic(b, llvm::Intrinsic::ceil, value);
    case Unary::round:
      return intrinsic(b, llvm::Intrinsic::roundeven, value);
    case Unary::sqrt:
      return sqrt(x).v;
    case Unary::rsqrt:
      return (1.0 / sqrt(x)).v;
    case Unary::exp:
      return exp_of(x).v;
    case Unary::expm1:
      return expm1_of(x).v;
    case Unary::log:
      return log_of(x).v;
    case Unary::log1p:
      return log1p_of(x).v;
    case Unary::sin:
      return sin_of(x, range).v;
    case Unary::cos:
      return cos_of(x, range).v;
    case Unary::tan:
      return tan_of(x, range).v;
    case Unary::tanh:
      return tanh_of(x).v;
    case Unary::sinh:
      return sinh_of(x).v;
    case Unary::cosh:
      return cosh_of(x).v;
    case Unary::asin:
      return asin_of(x).v;
    case Unary::acos:
      return acos_of(x).v;
    case Unary::atan:
      return atan_of(x).v;
    case Unary::logistic:
      return logistic_of(x).v;
    case Unary::erf:
      return erf_of(x).v;
    case Unary::erfc:
      return erfc_of(x).v;
    case Unary::is_finite:
      return b.CreateFCmpOLT(abs(x).v, llvm::ConstantFP::getInfinity(value->getType()));
    case Unary::rounded:
      return intrinsic(b, llvm::Intrinsic::arithmetic_fence, value);
    case Unary::not_:
    case Unary::real:
    case Unary::imag:
      break;
  }
  llvm_unreachable("a float has no such op");
}

std::pair<Value*, Value*> emit_sin_cos(Builder& b, Value* value, const Range& range) {
  const auto [sine, cosine] = sin_cos_of(Real{&b, value}, range);
  return {sine.v, cosine.v};
}

Value* call_unary(Builder& b, Unary op, Value* x, const Range& range) {
  llvm::Type* type = x->getType();
  const Range usual = kernel::depends_on_range(op) ? usual_range(range, type->getScalarType()->isFloatTy()) : Range();
  const auto body = [&](Builder& inner, llvm::Function& f) { return emit_unary(inner, op, f.getArg(0), usual); };
  return call_own_function(b, std::string(kernel::name(op)) + text_of(usual), type, {x}, body);
}
std::pair<Value*, Value*> call_sin_cos(Builder& b, Value* x, const Range& range) {
  llvm::Type* both = llvm::StructType::get(x->getType(), x->getType());
  const Range usual = usual_range(range, x->getType()->getScalarType()->isFloatTy());
  const auto body = [&](Builder& inner, llvm::Function& f) {
    const auto [sine, cosine] = emit_sin_cos(inner, f.getArg(0), usual);
    return inner.CreateInsertValue(inner.CreateInsertValue(llvm::PoisonValue::get(both), sine, 0), cosine, 1);
  };
  Value* made = call_own_function(b, "sin_cos" + text_of(usual), both, {x}, body);
  return {b.CreateExtractValue(made, 0), b.CreateExtractValue(made, 1)};
}

Value* emit_binary(Builder& b, kernel::Binary op, Value* x, Value* y) {
  const Real first{&b, x}, second{&b, y};
  switch (op) {
    case kernel::Binary::pow:
      return pow_of(first, second).v;
    case kernel::Binary::atan2:
      return atan2_of(first, second).v;
    default:
      return rem_of(first, second).v;
  }
}
Value* call_binary(Builder& b, kernel::Binary op, Value* x, Value* y) {
  const auto body = [&](Builder& inner, llvm::Function& f) { return emit_binary(inner, op, f.getArg(0), f.getArg(1)); };
  return call_own_function(b, std::string(kernel::name(op)), x->getType(), {x, y}, body);
}

}  // namespace tenon::cpu
