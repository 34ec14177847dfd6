#include "tenon/compile/cpu/size_code.h"

namespace tenon::cpu {
namespace {

using llvm::Value;

// The steps of a Dim on a stack of values, and whether each is known not to be negative.
class SizeCode {
 public:
  SizeCode(llvm::IRBuilderBase& b, SizeSteps& steps, Value** overflow) : b_(b), steps_(steps), overflow_(overflow) {}

  void push(Value* value, bool not_negative) { stack_.push_back({value, not_negative}); }
  void combine(Dim::Step::Kind kind) {
    using Kind = Dim::Step::Kind;
    const Entry y = stack_.back();
    stack_.pop_back();
    Entry& x = stack_.back();
    const bool both = x.not_negative && y.not_negative;
    const auto [found, fresh] = steps_.try_emplace({kind, x.value, y.value}, nullptr);
    if (fresh) found->second = combined(kind, x, y);
    x.value = found->second;
    x.not_negative = kind == Kind::modulo ? y.not_negative
                     : kind == Kind::max  ? x.not_negative || y.not_negative
                                          : both;
  }
  Value* result() const { return stack_.back().value; }

 private:
  struct Entry {
    Value* value;
    bool not_negative;
  };

  Value* combined(Dim::Step::Kind kind, const Entry& x, const Entry& y) {
    using Kind = Dim::Step::Kind;
    switch (kind) {
      case Kind::add:
        return checked(llvm::Intrinsic::sadd_with_overflow, x.value, y.value);
      case Kind::mul:
        return checked(llvm::Intrinsic::smul_with_overflow, x.value, y.value);
      case Kind::floor_div:
        return divided(x, y).first;
      case Kind::modulo:
        return divided(x, y).second;
      case Kind::min:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x.value, y.value);
      default:
        return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x.value, y.value);
    }
  }

  Value* checked(llvm::Intrinsic::ID id, Value* x, Value* y) {
    if (overflow_ == nullptr)
      return id == llvm::Intrinsic::sadd_with_overflow ? b_.CreateAdd(x, y) : b_.CreateMul(x, y);
    Value* both = b_.CreateBinaryIntrinsic(id, x, y);
    *overflow_ = b_.CreateOr(*overflow_, b_.CreateExtractValue(both, 1));
    return b_.CreateExtractValue(both, 0);
  }
  std::pair<Value*, Value*> divided(const Entry& x, const Entry& y) {
    Value *zero = b_.getInt64(0), *divisor = y.value;
    if (!llvm::isa<llvm::ConstantInt>(divisor))
      divisor = b_.CreateSelect(b_.CreateICmpEQ(divisor, zero), b_.getInt64(1), divisor);
    if (x.not_negative && y.not_negative) return {b_.CreateUDiv(x.value, divisor), b_.CreateURem(x.value, divisor)};
    Value *quotient = b_.CreateSDiv(x.value, divisor), *rest = b_.CreateSRem(x.value, divisor);
    Value* up = b_.CreateAnd(b_.CreateICmpNE(rest, zero),
                             b_.CreateICmpNE(b_.CreateICmpSLT(rest, zero), b_.CreateICmpSLT(divisor, zero)));
    return {b_.CreateSub(quotient, b_.CreateZExt(up, b_.getInt64Ty())),
            b_.CreateAdd(rest, b_.CreateSelect(up, divisor, zero))};
  }

  llvm::IRBuilderBase& b_;
  SizeSteps& steps_;
  Value** overflow_;
  std::vector<Entry> stack_;
};

}  // namespace

Value* size_value(llvm::IRBuilderBase& b, const Dim& size, llvm::function_ref<Value*(SizeVar)> variable,
                  SizeSteps& steps, Value** overflow) {
  if (size.known()) return b.getInt64(static_cast<std::uint64_t>(size.value()));
  SizeCode code(b, steps, overflow);
  size.visit_steps([&](const Dim::Step& step) {
    using Kind = Dim::Step::Kind;
    if (step.kind == Kind::number)
      code.push(b.getInt64(static_cast<std::uint64_t>(step.value)), step.value >= 0);
    else if (step.kind == Kind::variable)
      code.push(variable(static_cast<SizeVar>(step.value)), true);
    else
      code.combine(step.kind);
  });
  return code.result();
}

void emit_sizes(llvm::Module& module, const CallSizes& sizes, const Target& target, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {pointer, pointer}, false),
                             llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  std::map<SizeVar, Value*> variables;
  const auto variable = [&](SizeVar v) {
    const auto [at, fresh] = variables.emplace(v, nullptr);
    if (fresh)
      at->second = b.CreateLoad(b.getInt64Ty(), b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(0), v));
    return at->second;
  };
  // All values before the first is stored: what they have in common is computed once.
  Value* wrong = b.getFalse();
  SizeSteps steps;
  std::vector<Value*> values;
  for (const Dim& size : sizes.values) values.push_back(size_value(b, size, variable, steps, &wrong));
  for (const CallSizes::AtLeast& limit : sizes.limits)
    wrong = b.CreateOr(wrong, b.CreateICmpSLT(size_value(b, limit.size, variable, steps, &wrong),
                                              b.getInt64(static_cast<std::uint64_t>(limit.least))));
  for (std::size_t i = 0; i < values.size(); ++i)
    b.CreateStore(values[i], b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(1), i));
  b.CreateRet(b.CreateZExt(b.CreateNot(wrong), b.getInt32Ty()));
}

}  // namespace tenon::cpu
