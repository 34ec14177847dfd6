// One function of machine code: its frame and slots, its statements in order, and what it calls of the runtime.
#include "tenon/compile/cpu/function_emitter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "tenon/base/factors.h"
#include "tenon/compile/cpu/size_code.h"
#include "tenon/compile/cpu/statements.h"
#include "tenon/compile/native/code_image.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/runtime/linear_algebra/products.h"

namespace tenon::cpu {
FunctionEmitter::FunctionEmitter(llvm::Module& module, const kernel::Function& f, const kernel::OpenNumbers& numbers,
                                 const Target& target, llvm::Function* function)
    : FunctionEmitter(module, f, target, function, common_of(f, numbers)) {
  Frame frame{function->getArg(0), function->getArg(1), function->getArg(2), b_.CreateAlloca(b_.getInt32Ty()), {}, {}};
  b_.CreateStore(b_.getInt32(0), frame.failed);
  const std::set<SlotId> own = kernel::own_slots(f.body);
  for (SlotId i = 0; i < f.slots.size(); ++i)
    if (const auto place = f.slots[i].place;
        (place == kernel::Slot::Place::size || place == kernel::Slot::Place::local) && !own.contains(i))
      frame.locals.emplace(i, local(i));
  if (f.sizes > 0) {  // behind the arguments
    Value* sizes =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), frame.arguments, f.arguments));
    for (std::uint32_t k = 0; k < f.sizes; ++k)
      frame.vars.emplace(kernel::first_size_variable + k,
                         b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), sizes, k)));
  }
  enter(std::move(frame));
}

void FunctionEmitter::run() {
  block(f_.body);
  end_streams();
  b_.CreateRet(b_.CreateLoad(b_.getInt32Ty(), frame_.failed));
}

FunctionEmitter::FunctionEmitter(llvm::Module& module, const kernel::Function& f, const Target& target,
                                 llvm::Function* function, std::shared_ptr<const Common> common)
    : module_(module),
      f_(f),
      target_(target),
      function_(function),
      common_(std::move(common)),
      b_(llvm::BasicBlock::Create(module.getContext(), "entry", function)),
      e_(b_, f, common_->numbers, target.vector_bytes, [this](SlotId slot) { return find_slot(slot); }) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
}

std::int64_t known_bytes(const kernel::Slot& slot) {
  constexpr std::int64_t most = std::int64_t(1) << 40;  // elements
  return slot.elements.known() ? std::min(slot.elements.value(), most) * static_cast<std::int64_t>(size_of(slot.dtype))
                               : 0;
}

std::shared_ptr<const FunctionEmitter::Common> FunctionEmitter::common_of(const kernel::Function& f,
                                                                          const kernel::OpenNumbers& numbers) {
  const std::vector<int> none(f.slots.size(), 0);
  auto common = std::make_shared<Common>(Common{none, none, numbers});
  for (const kernel::Statement& s : f.body) {
    std::set<SlotId> arguments;
    visit_slots(f, s, [&](SlotId slot, bool write) {
      ++common->touched[slot];
      if (write) return;
      ++common->read[slot];
      if (f.slots[slot].place == kernel::Slot::Place::argument) arguments.insert(slot);
    });
    for (const SlotId slot : arguments) {
      common->argument_bytes += known_bytes(f.slots[slot]);
      common->open_arguments += !f.slots[slot].elements.known();
    }
  }
  return common;
}

void FunctionEmitter::enter(Frame frame) {
  frame_ = std::move(frame);
  for (const auto& [slot, address] : frame_.locals) e_.place(slot, address);
  for (const auto& [var, value] : frame_.vars) e_.set(var, value);
}

namespace {

// Where what a function finds out as it begins is put.
class AtEndOfEntry : public llvm::IRBuilder<> {
 public:
  explicit AtEndOfEntry(llvm::Function& function) : IRBuilder(&function.getEntryBlock()) {
    if (llvm::Instruction* end = function.getEntryBlock().getTerminator()) SetInsertPoint(end);
  }
};

}  // namespace

// What follows of given sizes is worked out as the function begins; what follows of found ones, where it is needed.
Value* FunctionEmitter::number(const Dim& size) {
  if (size.known()) return b_.getInt64(static_cast<std::uint64_t>(size.value()));
  const auto given = [&](SizeVar v) { return frame_.vars.at(kernel::first_size_variable + v); };
  if (has_found_size(size)) {
    const auto any = [&](SizeVar v) -> Value* {
      return is_found_size(v) ? e_.found_size(kernel::slot_of_size(v)) : given(v);
    };
    SizeSteps steps;
    return size_value(b_, size, any, steps);
  }
  AtEndOfEntry at_entry(*function_);
  return size_value(at_entry, size, given, size_steps_);
}

// The address of an argument, of a place in the arena or of constants, found as the function begins.
Value* FunctionEmitter::find_slot(SlotId slot) {
  const kernel::Slot& s = f_.slots[slot];
  if (s.place == kernel::Slot::Place::constant || s.place == kernel::Slot::Place::numbers) return constant(s);
  if (s.place == kernel::Slot::Place::arena) {
    Value* offset = number(s.arena_offset);
    AtEndOfEntry at_entry(*function_);
    Value* place = at_entry.CreateInBoundsGEP(b_.getInt8Ty(), frame_.arena, offset);
    // An offset that sums the sizes of all that lies before it is nobody's business: LLVM's analysis of loops would
    // sort those terms at every address, and take the cube of the number of sizes.
    return s.arena_offset.known() ? place : at_entry.CreateLaunderInvariantGroup(place);
  }
  AtEndOfEntry at_entry(*function_);
  Value* at = at_entry.CreateConstInBoundsGEP1_64(b_.getPtrTy(), frame_.arguments, s.argument);
  auto* load = at_entry.CreateLoad(b_.getPtrTy(), at);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return load;
}

llvm::GlobalVariable* FunctionEmitter::constant(const kernel::Slot& s) {
  llvm::StringRef values(reinterpret_cast<const char*>(s.values.data()), s.values.size());
  std::vector<llvm::Constant*> parts;
  if (s.object) {
    parts.push_back(module_.getOrInsertGlobal(object_symbol + std::to_string(*s.object), b_.getInt8Ty()));
    values = values.drop_front(sizeof(std::uint64_t));
  }
  parts.push_back(llvm::ConstantDataArray::getString(b_.getContext(), values, false));
  auto* whole = llvm::ConstantStruct::getAnon(parts);
  auto* place = new llvm::GlobalVariable(module_, whole->getType(), true, llvm::GlobalValue::PrivateLinkage, whole);
  place->setAlignment(llvm::Align(64));
  return place;
}

llvm::AllocaInst* FunctionEmitter::local(SlotId slot) {
  const kernel::Slot& s = f_.slots[slot];
  llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* place = at_entry.CreateAlloca(llvm::ArrayType::get(
      e_.memory_type(s.dtype), static_cast<std::uint64_t>(std::max<std::int64_t>(s.elements.value(), 1))));
  place->setAlignment(llvm::Align(64));
  return place;
}

// Where a slot is from here on, here and in the functions that are called from here.
void FunctionEmitter::place(SlotId slot, Value* address) {
  frame_.locals.insert_or_assign(slot, address);
  e_.place(slot, address);
}

// A function that only this program calls, by a call that stays one.
llvm::Function* FunctionEmitter::own_function(llvm::Type* result, llvm::ArrayRef<llvm::Type*> arguments,
                                              const char* suffix) {
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, arguments, false),
                                          llvm::Function::InternalLinkage, function_->getName() + suffix, module_);
  function->setAttributes(function_->getAttributes());
  function->addFnAttr(llvm::Attribute::NoInline);
  return function;
}

// A code that is not 0 ends this function with it.
void FunctionEmitter::return_if_ended(Value* code) {
  when(b_.CreateICmpNE(code, b_.getInt32(0)), [&] { b_.CreateRet(code); }, true);
}

// Those of these statements' slots that others touch too.
std::set<kernel::SlotId> FunctionEmitter::shared_slots(std::span<const kernel::Statement> statements) const {
  std::map<SlotId, int> uses;
  for (const kernel::Statement& s : statements) visit_slots(f_, s, [&](SlotId slot, bool) { ++uses[slot]; });
  std::set<SlotId> shared;
  for (const auto& [slot, count] : uses)
    if (count < common_->touched[slot]) shared.insert(slot);
  return shared;
}

// What a product is made of, as the words of a TenonGemm: a constant, but for sizes that are known only now.
Value* FunctionEmitter::description(const kernel::Product& p) {
  const std::array sizes{&p.batch,   &p.m,   &p.n,   &p.k,       &p.a_batch, &p.a_m, &p.a_k,
                         &p.b_batch, &p.b_k, &p.b_n, &p.c_batch, &p.c_m,     &p.c_n};
  TenonGemm product{};
  product.dtype = static_cast<std::int32_t>(p.dtype);
  product.accumulate = p.accumulate ? 1 : 0;
  const DType a = f_.slots[p.a].dtype, b = f_.slots[p.b].dtype;
  if (are_factors(a, b, p.dtype))
    product.a_dtype = static_cast<std::int32_t>(a), product.b_dtype = static_cast<std::int32_t>(b);
  constexpr std::size_t first = offsetof(TenonGemm, batch) / sizeof(std::uint64_t);
  static_assert(offsetof(TenonGemm, a_dtype) == (first + sizes.size()) * sizeof(std::uint64_t) &&
                    sizeof product % sizeof(std::uint64_t) == 0,
                "the description is laid down as words");
  std::vector<std::uint64_t> words(sizeof product / sizeof(std::uint64_t));
  std::memcpy(words.data(), &product, sizeof product);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    words[first + i] = static_cast<std::uint64_t>(sizes[i]->try_value().value_or(0));
  auto* constant = llvm::ConstantDataArray::get(b_.getContext(), words);
  if (std::ranges::all_of(sizes, &Dim::known))
    return new llvm::GlobalVariable(module_, constant->getType(), true, llvm::GlobalValue::PrivateLinkage, constant);
  llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  Value* memory = at_entry.CreateAlloca(constant->getType());
  b_.CreateStore(constant, memory);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (!sizes[i]->known())
      b_.CreateStore(number(*sizes[i]), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), memory, first + i));
  return memory;
}

void FunctionEmitter::emit(const kernel::Product& p) {
  Value* shape = description(p);
  auto* pointer = b_.getPtrTy();
  auto callee = module_.getOrInsertFunction(
      "tenon_gemm", llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, pointer}, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  Value* failed =
      b_.CreateCall(callee, {shape, e_.address(p.a, e_.scalar(p.a_offset)), e_.address(p.b, e_.scalar(p.b_offset)),
                             e_.address(p.c, e_.scalar(p.c_offset))});
  if (parallel_)
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, frame_.failed, failed, llvm::MaybeAlign(4),
                       llvm::AtomicOrdering::Monotonic);
  else
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), frame_.failed), failed), frame_.failed);
}

namespace {

// What code reads its open numbers from. LLVM does not look into it: they may be others once the code is there.
void add_numbers(llvm::Module& module, const kernel::OpenNumbers& numbers) {
  if (numbers.bytes().empty()) return;
  auto* values = llvm::ConstantDataArray::getString(module.getContext(), numbers.bytes(), false);
  auto* global = new llvm::GlobalVariable(module, values->getType(), true, llvm::GlobalValue::ExternalLinkage, values,
                                          numbers_name);
  global->setVisibility(llvm::GlobalValue::HiddenVisibility);
  global->setExternallyInitialized(true);
  global->setAlignment(llvm::Align(kernel::OpenNumbers::alignment));
}

}  // namespace

void emit_function(llvm::Module& module, const kernel::Function& f, const kernel::OpenNumbers& numbers,
                   const Target& target, const std::string& name) {
  add_numbers(module, numbers);
  auto& context = module.getContext();
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {pointer, pointer, pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->addFnAttr("prefer-vector-width", std::to_string(8 * target.vector_bytes));
  FunctionEmitter(module, f, numbers, target, function).run();
}

}  // namespace tenon::cpu
