#include "tenon/compile/cpu/expr_emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include <cstring>

#include "tenon/compile/cpu/float8.h"
#include "tenon/kernel/analysis/instructions.h"

namespace tenon::cpu {

using kernel::Binary;
using kernel::Expr;
using kernel::Unary;
using llvm::Value;

namespace {

// Whether a node may leave its dtype: it is not a choice among, or a sign or an integral part of, what the dtype holds.
bool computes(const Expr& e) {
  switch (e.kind()) {
    case Expr::Kind::unary:
      return e.node().unary > Unary::round || e.node().unary == Unary::sqrt;
    case Expr::Kind::binary:
      return e.node().binary != Binary::max && e.node().binary != Binary::min;
    case Expr::Kind::convert:
      return true;
    default:
      return false;
  }
}

// Slots that do not live at once may lie in one place; elements may be of one list.
bool share_memory(const kernel::Slot& x, const kernel::Slot& y) {
  if (x.place == kernel::Slot::Place::element && y.place == kernel::Slot::Place::element) return true;
  if (x.place == kernel::Slot::Place::found && y.place == kernel::Slot::Place::found) return true;
  if (x.place != kernel::Slot::Place::arena || y.place != kernel::Slot::Place::arena) return false;
  // Behind what has a size that is known, slots share all of their memory or none.
  if (!x.elements.known() || !y.elements.known()) return x.arena_offset == y.arena_offset;
  const auto begin = [](const kernel::Slot& s) { return s.arena_offset.value(); };
  const auto end = [](const kernel::Slot& s) { return s.arena_offset.value() + s.bytes().value(); };
  return begin(x) < end(y) && begin(y) < end(x);
}

}  // namespace

ExprEmitter::ExprEmitter(Builder& builder, const kernel::Function& function, const kernel::OpenNumbers& numbers,
                         unsigned vector_bytes, FindSlot find_slot)
    : b_(builder), f_(function), numbers_(numbers), vector_bytes_(vector_bytes), find_slot_(std::move(find_slot)) {
  // Pairwise statements that slots do not overlap grow with the square of their number: only for few.
  const std::size_t slots = f_.slots.size();
  if (slots > 48) return;
  llvm::MDBuilder md(b_.getContext());
  auto* domain = md.createAnonymousAliasScopeDomain();
  std::vector<llvm::Metadata*> all;
  for (std::size_t i = 0; i < slots; ++i) all.push_back(md.createAnonymousAliasScope(domain));
  all_scopes_ = llvm::MDNode::get(b_.getContext(), all);
  for (std::size_t i = 0; i < slots; ++i) {
    scopes_.push_back(llvm::MDNode::get(b_.getContext(), {all[i]}));
    std::vector<llvm::Metadata*> rest;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (k != i && !share_memory(f_.slots[i], f_.slots[k])) rest.push_back(all[k]);
    others_.push_back(llvm::MDNode::get(b_.getContext(), rest));
  }
}

llvm::Type* ExprEmitter::type_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return b_.getInt1Ty();
    case DType::f64:
      return b_.getDoubleTy();
    default:
      if (computed_in(dtype) == DType::f32) return b_.getFloatTy();
      return b_.getIntNTy(static_cast<unsigned>(8 * size_of(dtype)));
  }
}
llvm::Type* ExprEmitter::memory_type(DType dtype) {
  if (dtype == DType::bool_) return b_.getInt8Ty();
  return is_narrow(dtype) ? b_.getIntNTy(static_cast<unsigned>(8 * size_of(dtype))) : type_of(dtype);
}

Value* ExprEmitter::decoded(DType dtype, Value* memory) {
  const auto like = [&](llvm::Type* element) { return memory->getType()->getWithNewType(element); };
  switch (dtype) {
    case DType::bool_:
      return b_.CreateICmpNE(memory, llvm::Constant::getNullValue(memory->getType()));
    case DType::bf16:
      return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(memory, like(b_.getInt32Ty())), 16), like(b_.getFloatTy()));
    case DType::f16:
      return b_.CreateFPExt(b_.CreateBitCast(memory, like(b_.getHalfTy())), like(b_.getFloatTy()));
    default:
      return is_float8(dtype) ? float8_decoded(b_, format_of(dtype), memory) : memory;
  }
}

Value* ExprEmitter::encoded(DType dtype, Value* value) {
  const auto like = [&](llvm::Type* element) { return value->getType()->getWithNewType(element); };
  switch (dtype) {
    case DType::bool_:
      return b_.CreateZExt(value, like(b_.getInt8Ty()));
    case DType::bf16:
      return b_.CreateTrunc(b_.CreateLShr(b_.CreateBitCast(rounded(dtype, value), like(b_.getInt32Ty())), 16),
                            like(b_.getInt16Ty()));
    case DType::f16:
      return b_.CreateBitCast(b_.CreateFPTrunc(value, like(b_.getHalfTy())), like(b_.getInt16Ty()));
    default:
      return is_float8(dtype) ? float8_encoded(b_, format_of(dtype), value) : value;
  }
}

// To the nearest that the dtype holds, ties to even; still as f32. Of bf16 by the bits: half of the last place that
// stays, less one where that place is even, carries; NaN stays NaN.
Value* ExprEmitter::rounded(DType dtype, Value* value) {
  const auto like = [&](llvm::Type* element) { return value->getType()->getWithNewType(element); };
  if (dtype == DType::f16) return b_.CreateFPExt(b_.CreateFPTrunc(value, like(b_.getHalfTy())), value->getType());
  if (is_float8(dtype)) return float8_rounded(b_, format_of(dtype), value);
  if (dtype != DType::bf16) return value;
  llvm::Type* type = like(b_.getInt32Ty());
  const auto number = [&](std::uint32_t n) { return llvm::ConstantInt::get(type, n); };
  Value* bits = b_.CreateBitCast(value, type);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), number(1));
  Value* nearest = b_.CreateAdd(bits, b_.CreateAdd(odd, number(0x7fff)));
  Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(value, value), b_.CreateOr(bits, number(0x400000)), nearest);
  return b_.CreateBitCast(b_.CreateAnd(chosen, number(0xffff0000)), value->getType());
}

llvm::Instruction* ExprEmitter::of_slot(llvm::Instruction* access, kernel::SlotId slot) {
  if (!scopes_.empty()) {
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, scopes_[slot]);
    access->setMetadata(llvm::LLVMContext::MD_noalias, others_[slot]);
  }
  return access;
}

llvm::Instruction* ExprEmitter::of_list(llvm::Instruction* access) {
  if (all_scopes_ != nullptr) access->setMetadata(llvm::LLVMContext::MD_noalias, all_scopes_);
  return access;
}

Variation ExprEmitter::variation(const Expr& e, std::uint32_t var) {
  if (vector_var_ == var) {
    if (!variations_.contains(e.identity())) kept_.push_back(e);
    return variation(e, var, variations_);
  }
  Variations once;
  return variation(e, var, once);
}

Variation ExprEmitter::variation(const Expr& e, std::uint32_t var, Variations& known) {
  if (const auto found = known.find(e.identity()); found != known.end()) return found->second;
  Variation v;
  switch (e.kind()) {
    case Expr::Kind::constant:
      v = {false, 0};
      break;
    case Expr::Kind::variable:
      v = e.node().id == var ? Variation{true, 1} : Variation{false, 0};
      break;
    case Expr::Kind::binary: {
      const Variation x = variation(e.operand(0), var, known), y = variation(e.operand(1), var, known);
      v.varies = x.varies || y.varies;
      if (!v.varies)
        v.stride = 0;
      else if (e.dtype() == DType::i64) {
        const auto op = e.node().binary;
        if (op == Binary::add && x.stride && y.stride) v.stride = *x.stride + *y.stride;
        if (op == Binary::sub && x.stride && y.stride) v.stride = *x.stride - *y.stride;
        if (op == Binary::mul && x.stride && e.operand(1).kind() == Expr::Kind::constant)
          v.stride = *x.stride * kernel::constant_value(e.operand(1));
        if (op == Binary::mul && y.stride && e.operand(0).kind() == Expr::Kind::constant)
          v.stride = *y.stride * kernel::constant_value(e.operand(0));
      }
      break;
    }
    default:
      for (const auto& operand : e.node().operands)
        if (operand && variation(Expr(operand), var, known).varies) v.varies = true;
      if (!v.varies) v.stride = 0;
  }
  known.emplace(e.identity(), v);
  return v;
}

Value* ExprEmitter::scalar(const Expr& e) { return emit(e, false); }

Value* ExprEmitter::lanes(const Expr& e) {
  if (lanes_ == 1 || !vector_var_) return emit(e, false);
  if (variation(e, *vector_var_).varies) return emit(e, true);
  return b_.CreateVectorSplat(lanes_, emit(e, false));
}

Value* ExprEmitter::to_store(const Expr& e) { return in_memory(e, lanes_ > 1 && vector_var_.has_value()); }

llvm::Constant* ExprEmitter::literal(DType dtype, const std::byte* bits) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, bits, sizeof value);
    return value;
  };
  if (dtype == DType::f32) return llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(read(0.0f)));
  if (dtype == DType::f64) return llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(read(0.0)));
  if (is_narrow(dtype))
    return dispatch(dtype, [&]<class T>(std::type_identity<T>) -> llvm::Constant* {
      if constexpr (NarrowFloat<T>)
        return llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(static_cast<float>(read(T()))));
      return nullptr;
    });
  std::uint64_t value = 0;
  std::memcpy(&value, bits, size_of(dtype));
  return llvm::ConstantInt::get(type_of(dtype), value);
}

Value* ExprEmitter::constant(const Expr& e) {
  const auto place = numbers_.place(e.node());
  if (!place) return literal(e.dtype(), e.node().bits.data());
  llvm::Constant* numbers = b_.GetInsertBlock()->getModule()->getNamedGlobal(numbers_name);
  auto* number =
      b_.CreateAlignedLoad(type_of(e.dtype()), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), numbers, *place),
                           llvm::Align(size_of(e.dtype())));
  number->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return number;
}

Value* ExprEmitter::found_size(kernel::SlotId slot) {
  return of_slot(b_.CreateAlignedLoad(b_.getInt64Ty(), address(slot, b_.getInt64(0)), llvm::Align(8)), slot);
}

Value* ExprEmitter::emit(const Expr& e, bool vector) {
  if (vector && !variation(e, *vector_var_).varies) return b_.CreateVectorSplat(lanes_, emit(e, false));
  auto& known = vector ? vectors_ : scalars_;
  if (const auto found = known.find(e.identity()); found != known.end()) return found->second;
  Value* result = nullptr;
  switch (e.kind()) {
    case Expr::Kind::constant:
      result = constant(e);
      break;
    case Expr::Kind::variable: {
      const std::uint32_t id = e.node().id;
      result = kernel::is_found_size_variable(id) ? found_size(kernel::slot_of_size(id - kernel::first_size_variable))
                                                  : vars_.at(id);
      if (vector) {
        std::vector<llvm::Constant*> steps;
        for (unsigned i = 0; i < lanes_; ++i) steps.push_back(b_.getInt64(i));
        result = b_.CreateAdd(b_.CreateVectorSplat(lanes_, result), llvm::ConstantVector::get(steps));
      }
      break;
    }
    case Expr::Kind::load:
      result = load(e, vector);
      break;
    case Expr::Kind::unary:
      result = unary(e, emit(e.operand(0), vector), known);
      break;
    case Expr::Kind::binary:
      result = binary(e.node().binary, e.operand(0).dtype(), emit(e.operand(0), vector), emit(e.operand(1), vector));
      break;
    case Expr::Kind::select: {
      Value* condition = emit(e.operand(0), vector);
      Value* yes = emit(e.operand(1), vector);
      result = b_.CreateSelect(condition, yes, emit(e.operand(2), vector));
      break;
    }
    case Expr::Kind::convert:
      result = convert(e.operand(0).dtype(), e.dtype(), emit(e.operand(0), vector));
      break;
    case Expr::Kind::bitcast:
      result = bitcast(e, vector);
      break;
  }
  if (is_narrow(e.dtype()) && computes(e)) {
    (vector ? unrounded_vectors_ : unrounded_scalars_).emplace(e.identity(), result);
    result = rounded(e.dtype(), result);
  }
  known.emplace(e.identity(), result);
  kept_.push_back(e);
  return result;
}

// As memory holds it. What is read or made of bits keeps them: as f32 a signalling NaN of f16 would become quiet.
Value* ExprEmitter::in_memory(const Expr& e, bool vector) {
  if (!is_narrow(e.dtype())) return encoded(e.dtype(), emit(e, vector));
  if (vector && !variation(e, *vector_var_).varies) return b_.CreateVectorSplat(lanes_, in_memory(e, false));
  if (e.kind() == Expr::Kind::load && f_.slots[e.node().id].place != kernel::Slot::Place::constant)
    return read(e, vector);
  if (e.kind() == Expr::Kind::bitcast) return in_memory(e.operand(0), vector);
  Value* value = emit(e, vector);  // rounded; what encodes rounds by itself
  const auto& unrounded = vector ? unrounded_vectors_ : unrounded_scalars_;
  const auto found = unrounded.find(e.identity());
  return encoded(e.dtype(), found != unrounded.end() ? found->second : value);
}

Value* ExprEmitter::bitcast(const Expr& e, bool vector) {
  Value* bits = in_memory(e.operand(0), vector);
  return decoded(e.dtype(), b_.CreateBitCast(bits, bits->getType()->getWithNewType(memory_type(e.dtype()))));
}

Value* ExprEmitter::unary(const Expr& e, Value* x, std::unordered_map<const void*, Value*>& known) {
  const Unary op = e.node().unary;
  const DType dtype = e.operand(0).dtype();
  if (is_real(dtype)) {
    if (op == Unary::sin || op == Unary::cos)
      if (const auto found = angles_.find(e.operand(0).identity()); found != angles_.end() && found->second.both()) {
        const Range range = ranges_.of(e.operand(0));
        const auto [sine, cosine] = calls_functions_ ? call_sin_cos(b_, x, range) : emit_sin_cos(b_, x, range);
        known.emplace(found->second.sine, rounded(dtype, sine));
        known.emplace(found->second.cosine, rounded(dtype, cosine));
        return op == Unary::sin ? sine : cosine;
      }
    if (calls_functions_ && kernel::is_function(op)) return call_unary(b_, op, x, ranges_.of(e.operand(0)));
    return emit_unary(b_, op, x, ranges_.of(e.operand(0)));
  }
  llvm::Type* type = x->getType();
  Value* zero = llvm::Constant::getNullValue(type);
  switch (op) {
    case Unary::neg:
      return b_.CreateNeg(x);
    case Unary::abs:
      return is_signed_integer(dtype) ? b_.CreateSelect(b_.CreateICmpSLT(x, zero), b_.CreateNeg(x), x) : x;
    case Unary::sign: {
      Value* positive = b_.CreateZExt(b_.CreateICmpNE(x, zero), type);
      return is_signed_integer(dtype)
                 ? b_.CreateSelect(b_.CreateICmpSLT(x, zero), llvm::Constant::getAllOnesValue(type), positive)
                 : positive;
    }
    case Unary::not_:
      return b_.CreateNot(x);
    default:
      return x;  // rounding an integer leaves it
  }
}

// x / 0 is -1 and x rem 0 is x; the smallest number by -1 wraps around. The divisor is made harmless first, so nothing
// traps.
Value* ExprEmitter::integer_division(bool remainder, bool is_signed, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(y);
      constant != nullptr && !constant->isZero() && !constant->isMinusOne()) {
    if (remainder) return is_signed ? b_.CreateSRem(x, y) : b_.CreateURem(x, y);
    return is_signed ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
  }
  Value *zero = llvm::Constant::getNullValue(type), *one = llvm::ConstantInt::get(type, 1),
        *minus_one = llvm::Constant::getAllOnesValue(type);
  Value* by_zero = b_.CreateICmpEQ(y, zero);
  Value* by_minus_one = is_signed ? b_.CreateICmpEQ(y, minus_one) : llvm::Constant::getNullValue(by_zero->getType());
  Value* safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, y);
  Value* result = remainder ? (is_signed ? b_.CreateSRem(x, safe) : b_.CreateURem(x, safe))
                            : (is_signed ? b_.CreateSDiv(x, safe) : b_.CreateUDiv(x, safe));
  result = b_.CreateSelect(by_minus_one, remainder ? zero : b_.CreateNeg(x), result);
  return b_.CreateSelect(by_zero, remainder ? x : minus_one, result);
}

// By repeated squaring, a loop that ends when no lane has a bit of its exponent left. A negative exponent leaves 1 of
// 1, ±1 of -1, and 0 of all else.
Value* ExprEmitter::integer_power(bool is_signed, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  Value *zero = llvm::Constant::getNullValue(type), *one = llvm::ConstantInt::get(type, 1);
  const auto is_odd = [&](Value* v) { return b_.CreateICmpNE(b_.CreateAnd(v, one), zero); };
  auto* before = b_.GetInsertBlock();
  auto& context = b_.getContext();
  auto* loop = llvm::BasicBlock::Create(context, "power", before->getParent());
  auto* done = llvm::BasicBlock::Create(context, "power.done", before->getParent());
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto *result = b_.CreatePHI(type, 2), *base = b_.CreatePHI(type, 2), *left = b_.CreatePHI(type, 2);
  Value* product = b_.CreateSelect(is_odd(left), b_.CreateMul(result, base), result);
  Value* rest = b_.CreateLShr(left, one);
  const std::array<std::tuple<llvm::PHINode*, Value*, Value*>, 3> steps{
      {{result, one, product}, {base, x, b_.CreateMul(base, base)}, {left, y, rest}}};
  for (const auto& [phi, first, next] : steps) {
    phi->addIncoming(first, before);
    phi->addIncoming(next, loop);
  }
  Value* any = type->isVectorTy() ? b_.CreateOrReduce(rest) : rest;
  b_.CreateCondBr(b_.CreateICmpNE(any, llvm::Constant::getNullValue(any->getType())), loop, done);
  b_.SetInsertPoint(done);
  if (!is_signed) return product;
  Value* minus_one = llvm::Constant::getAllOnesValue(type);
  Value* of_minus_one = b_.CreateSelect(is_odd(y), minus_one, one);
  Value* inverse =
      b_.CreateSelect(b_.CreateICmpEQ(x, minus_one), of_minus_one, b_.CreateSelect(b_.CreateICmpEQ(x, one), one, zero));
  return b_.CreateSelect(b_.CreateICmpSLT(y, zero), inverse, product);
}

// The extremum of two numbers with the sign that its zero has, by one instruction where the processor has it for
// vectors of this width: NaN beside a number gives the number. Scalars are the first of a vector.
static Value* ranged_extremum(Builder& b, bool max, Value* x, Value* y) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr && (x->getType()->isFloatTy() || x->getType()->isDoubleTy())) {
    Value* none = llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), x->getType()->isFloatTy() ? 4 : 2));
    const auto alone = [&](Value* v) { return b.CreateInsertElement(none, v, std::uint64_t(0)); };
    Value* all = ranged_extremum(b, max, alone(x), alone(y));
    return all == nullptr ? nullptr : b.CreateExtractElement(all, std::uint64_t(0));
  }
  if (vector == nullptr) return nullptr;
  const bool f32 = vector->getElementType()->isFloatTy();
  const unsigned bits = vector->getNumElements() * vector->getScalarSizeInBits();
  if ((!f32 && !vector->getElementType()->isDoubleTy()) || (bits != 128 && bits != 256 && bits != 512) ||
      !has_feature(b, "+avx512vl") || !has_feature(b, "+avx512dq"))
    return nullptr;
  using namespace llvm::Intrinsic;
  const ID id = bits == 512   ? (f32 ? x86_avx512_mask_range_ps_512 : x86_avx512_mask_range_pd_512)
                : bits == 256 ? (f32 ? x86_avx512_mask_range_ps_256 : x86_avx512_mask_range_pd_256)
                              : (f32 ? x86_avx512_mask_range_ps_128 : x86_avx512_mask_range_pd_128);
  Value* all = llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8u, vector->getNumElements())));
  llvm::SmallVector<Value*> operands{x, y, b.getInt32(max ? 0b0101 : 0b0100), x, all};
  if (bits == 512) operands.push_back(b.getInt32(4));  // the rounding that is set
  return b.CreateIntrinsic(id, {}, operands);
}

// Of reals as one comparison beside the processor's own extremum, which gives y where they are equal or not comparable:
// there the bits of both tell the sign of a zero, and that any of them is NaN. Of all bits but the sign "or"; of the
// sign "or" where it is a minimum, else "and".
Value* ExprEmitter::extremum(bool max, DType dtype, Value* x, Value* y) {
  if (is_real(dtype) && (llvm::isa<llvm::Constant>(x) || llvm::isa<llvm::Constant>(y)))
    return b_.CreateBinaryIntrinsic(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, x, y);
  if (is_real(dtype)) {
    using P = llvm::CmpInst::Predicate;
    if (Value* of_numbers = ranged_extremum(b_, max, x, y))
      return b_.CreateSelect(b_.CreateFCmp(P::FCMP_UNO, x, y), b_.CreateFAdd(x, y), of_numbers);
    auto* bits = x->getType()->getWithNewType(b_.getIntNTy(x->getType()->getScalarSizeInBits()));
    Value *of_x = b_.CreateBitCast(x, bits), *of_y = b_.CreateBitCast(y, bits), *both = b_.CreateOr(of_x, of_y);
    if (max) {
      Value* sign = llvm::ConstantInt::get(bits, llvm::APInt::getSignMask(bits->getScalarSizeInBits()));
      both = b_.CreateOr(b_.CreateAnd(both, b_.CreateNot(sign)), b_.CreateAnd(b_.CreateAnd(of_x, of_y), sign));
    }
    Value* apart = b_.CreateSelect(b_.CreateFCmp(max ? P::FCMP_OGT : P::FCMP_OLT, x, y), x, y);
    return b_.CreateSelect(b_.CreateFCmp(P::FCMP_UEQ, x, y), b_.CreateBitCast(both, x->getType()), apart);
  }
  const bool is_signed = is_signed_integer(dtype);
  const auto id = max ? (is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax)
                      : (is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
  return b_.CreateBinaryIntrinsic(id, x, y);
}

Value* ExprEmitter::binary(Binary op, DType dtype, Value* x, Value* y) {
  const bool real = is_real(dtype), is_signed = is_signed_integer(dtype);
  using P = llvm::CmpInst::Predicate;
  const auto compare = [&](P of_real, P of_signed, P of_unsigned) {
    if (is_powers(dtype)) return powers_compared(b_, of_signed, x, y);
    return real ? b_.CreateFCmp(of_real, x, y) : b_.CreateICmp(is_signed ? of_signed : of_unsigned, x, y);
  };
  if (real && kernel::is_function(op)) return calls_functions_ ? call_binary(b_, op, x, y) : emit_binary(b_, op, x, y);
  switch (op) {
    case Binary::add:
      return real ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
    case Binary::sub:
      return real ? b_.CreateFSub(x, y) : b_.CreateSub(x, y);
    case Binary::mul:
      return real ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
    case Binary::div:
      return real ? b_.CreateFDiv(x, y) : integer_division(false, is_signed, x, y);
    case Binary::rem:
      return integer_division(true, is_signed, x, y);
    case Binary::pow:
    case Binary::atan2:  // of reals alone
      return integer_power(is_signed, x, y);
    case Binary::max:
      return extremum(true, dtype, x, y);
    case Binary::min:
      return extremum(false, dtype, x, y);
    case Binary::eq:
      return compare(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case Binary::ne:
      return compare(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case Binary::lt:
      return compare(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case Binary::le:
      return compare(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case Binary::gt:
      return compare(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    case Binary::ge:
      return compare(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
    case Binary::and_:
      return b_.CreateAnd(x, y);
    case Binary::or_:
      return b_.CreateOr(x, y);
    case Binary::xor_:
      return b_.CreateXor(x, y);
    case Binary::shift_left:
      return b_.CreateShl(x, y);
    case Binary::complex:  // split before
      break;
    case Binary::shift_right:
      return is_signed ? b_.CreateAShr(x, y) : b_.CreateLShr(x, y);
  }
  llvm_unreachable("an unknown op");
}

// f64 as f32 from which a narrower format rounds as it would from f64: truncated, with the last bit set where something
// was cut off ("round to odd"; Boldo and Melquiond, 2008).
Value* ExprEmitter::rounded_to_odd(Value* x, llvm::Type* type) {
  llvm::Type* words = type->getWithNewType(b_.getInt32Ty());
  Value *nearest = b_.CreateFPCast(x, type), *back = b_.CreateFPCast(nearest, x->getType());
  const auto size = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Value* bits = b_.CreateBitCast(nearest, words);
  Value* truncated = b_.CreateSub(bits, b_.CreateZExt(b_.CreateFCmpOGT(size(back), size(x)), words));
  return b_.CreateBitCast(b_.CreateOr(truncated, b_.CreateZExt(b_.CreateFCmpONE(back, x), words)), type);
}

// To integers: toward zero, saturating, NaN to 0. To bool: x != 0.
Value* ExprEmitter::convert(DType from, DType to, Value* x) {
  llvm::Type* type = widened(type_of(to), x->getType()->isVectorTy());
  if (x->getType()->isVectorTy()) type = llvm::VectorType::get(type_of(to), llvm::cast<llvm::VectorType>(x->getType()));
  if (is_powers(from) && to == DType::bool_) return llvm::ConstantInt::getTrue(type);
  if (is_powers(from) && to == DType::f64) return powers_as_f64(b_, format_of(from), x);
  if (from == DType::f64 && is_powers(to)) return powers_of_f64(b_, format_of(to), x);
  if (to == DType::bool_)
    return is_real(from) ? b_.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()))
                         : b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
  if (from == DType::f64 && is_narrow(to)) return rounded_to_odd(x, type);
  if (is_real(from) && is_real(to)) return type == x->getType() ? x : b_.CreateFPCast(x, type);
  if (is_real(from))
    return b_.CreateIntrinsic(is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                              {type, x->getType()}, {x});
  const bool is_signed = is_signed_integer(from);
  if (is_real(to)) return is_signed ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  return b_.CreateIntCast(x, type, is_signed);
}

}  // namespace tenon::cpu
