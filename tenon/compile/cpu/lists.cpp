// Lists: elements are found by arithmetic on the chunks; the runtime is called where a chunk begins.
#include "tenon/runtime/lists/lists.h"

#include <bit>
#include <cstddef>

#include "tenon/compile/cpu/statements.h"

namespace tenon::cpu {

void FunctionEmitter::emit(const kernel::Element& e) {
  using Access = kernel::Element::Access;
  Value *handle = e_.scalar(e.list), *list = b_.CreateIntToPtr(handle, b_.getPtrTy());
  Value* shift = chunk_shift(e.bytes);
  Value* at = b_.CreateAdd(e_.scalar(e.index), b_.CreateShl(b_.getInt64(1), shift));
  // Where x and its neighbour share no bit, one of two chunks ends and the other begins.
  const auto between_chunks = [&](std::int64_t neighbour, Code call) {
    Value* shared = b_.CreateAnd(at, b_.CreateAdd(at, b_.getInt64(static_cast<std::uint64_t>(neighbour))));
    when(b_.CreateICmpEQ(shared, b_.getInt64(0)), call, true);
  };
  if (e.access == Access::append) between_chunks(-1, [&] { checked_call("tenon_list_grow", {handle}); });
  if (e.consumed) {
    Value *whole = e_.scalar(e.consumed), *last = e_.scalar(e.index);
    between_chunks(1, [&] { checked_call("tenon_list_trim", {whole, last}); });
  }
  const auto load = [&](llvm::Type* type, Value* from) {
    return e_.of_list(b_.CreateAlignedLoad(type, from, llvm::Align(8)));
  };
  const auto field = [&](std::size_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), list, offset); };
  Value* chunks = load(b_.getPtrTy(), field(offsetof(TenonList, chunks)));
  Value* leading = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, at, b_.getTrue());
  Value* chunk = b_.CreateSub(b_.CreateSub(b_.getInt64(63), shift), leading, "", true, true);
  Value* from = load(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), chunks, chunk));
  Value* stride = e.access == Access::read
                      ? static_cast<Value*>(load(b_.getInt64Ty(), field(offsetof(TenonList, stride))))
                      : number(e.bytes);
  Value* address = b_.CreateGEP(b_.getInt8Ty(), from, b_.CreateMul(at, stride));
  place(e.element, address);
}

// The logarithm of first_chunk(bytes) to the base of 2.
Value* FunctionEmitter::chunk_shift(const Dim& bytes) {
  if (bytes.known())
    return b_.getInt64(
        static_cast<std::uint64_t>(std::countr_zero(static_cast<std::uint64_t>(first_chunk(bytes.value())))));
  Value *one = b_.getInt64(1), *n = number(bytes);
  Value* at_once = b_.CreateUDiv(b_.getInt64(first_chunk(1)), b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, n, one));
  Value* leading = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b_.CreateOr(at_once, one), b_.getTrue());
  return b_.CreateSelect(b_.CreateICmpEQ(n, b_.getInt64(0)), b_.getInt64(0), b_.CreateSub(b_.getInt64(63), leading));
}

void FunctionEmitter::emit(const kernel::Call& c) {
  std::vector<Value*> arguments;
  for (const kernel::Call::Argument& a : c.arguments)
    arguments.push_back(a.address ? e_.address(*a.address, e_.scalar(a.value)) : e_.scalar(a.value));
  if (c.table) arguments = {arguments[0], table_of(std::span(arguments).subspan(1))};
  Value* result = checked_call({c.function.data(), c.function.size()}, arguments);
  e_.forget();
  if (c.result) e_.store(*c.result, c.result_offset, result);
}

// The address of these, one behind the other, in the frame, until the next such table is written.
Value* FunctionEmitter::table_of(std::span<Value* const> words) {
  auto* type = llvm::ArrayType::get(b_.getInt64Ty(), words.size());
  llvm::AllocaInst*& table = tables_[words.size()];
  if (table == nullptr) {
    llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    table = at_entry.CreateAlloca(type);
  }
  for (unsigned i = 0; i < words.size(); ++i)
    b_.CreateStore(words[i], b_.CreateConstInBoundsGEP2_32(type, table, 0, i));
  return table;
}

// Where the result is minus a code, the program ends with the code.
Value* FunctionEmitter::checked_call(llvm::StringRef function, llvm::ArrayRef<Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (Value* a : arguments) types.push_back(a->getType());
  auto callee = module_.getOrInsertFunction(function, llvm::FunctionType::get(b_.getInt64Ty(), types, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  Value* result = b_.CreateCall(callee, arguments);
  const auto stop = [&] {
    b_.CreateRet(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), frame_.failed),
                             b_.CreateTrunc(b_.CreateNeg(result), b_.getInt32Ty())));
  };
  when(b_.CreateICmpSLT(result, b_.getInt64(0)), stop, true);
  return result;
}

}  // namespace tenon::cpu
