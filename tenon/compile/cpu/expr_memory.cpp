// What expressions read of memory, and what is stored: rows, halves of pairs, registers of small arrays, any lanes.
#include "tenon/compile/cpu/expr_emitter.h"

namespace tenon::cpu {

using kernel::Expr;
using llvm::Value;

Value* ExprEmitter::address(kernel::SlotId slot, Value* offset) {
  const auto [at, fresh] = slots_.emplace(slot, nullptr);
  if (fresh) at->second = find_slot_(slot);
  return b_.CreateInBoundsGEP(memory_type(f_.slots[slot].dtype), at->second, offset);
}

void ExprEmitter::store(kernel::SlotId slot, const Expr& offset, Value* value) {
  value = encoded(f_.slots[slot].dtype, value);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  const std::int64_t stride = vector == nullptr ? 1 : variation(offset, *vector_var_).stride.value_or(1);
  if (stride == 1) return write(slot, offset, value);
  Value* first = scalar(offset);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Value* to = address(slot, b_.CreateAdd(first, b_.getInt64(static_cast<std::uint64_t>(i * stride))));
    of_slot(b_.CreateAlignedStore(b_.CreateExtractElement(value, i), to, llvm::Align(size_of(f_.slots[slot].dtype))),
            slot);
  }
}
void ExprEmitter::write(kernel::SlotId slot, const Expr& offset, Value* value) {
  const DType dtype = f_.slots[slot].dtype;
  Value *first = scalar(offset), *to = address(slot, first);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector != nullptr && mask_ != nullptr) {
    of_slot(b_.CreateMaskedStore(value, to, llvm::Align(size_of(dtype)), mask_of(vector->getNumElements())), slot);
    return;
  }
  const auto put = [&](Value* piece, Value* at) {
    auto* stored = b_.CreateAlignedStore(piece, at, llvm::Align(stream_stores ? vector_bytes_ : size_of(dtype)));
    if (stream_stores)
      stored->setMetadata(llvm::LLVMContext::MD_nontemporal,
                          llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    of_slot(stored, slot);
  };
  if (vector == nullptr) return put(value, to);
  const unsigned elements = vector->getNumElements();
  for (unsigned at = 0; at < elements; at += piece_) {
    const unsigned count = std::min(piece_, elements - at);
    note_piece(slot, b_.CreateAdd(first, b_.getInt64(at)), count);
    put(count == elements ? value : part(b_, value, at, count),
        at == 0 ? to : b_.CreateConstInBoundsGEP1_64(vector->getElementType(), to, at));
  }
}
void ExprEmitter::write_pairs(kernel::SlotId slot, const Expr& offset, Value* first, Value* second) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements());
  std::vector<int> order;
  for (int i = 0; i < lanes; ++i) order.push_back(i), order.push_back(lanes + i);
  write(slot, offset, b_.CreateShuffleVector(first, second, order));
}

namespace {

// The lanes of a constant index; empty where they are not known.
std::vector<int> constant_lanes(Value* index) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(index);
  if (constant == nullptr) return {};
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  std::vector<int> lanes;
  for (unsigned i = 0; i < (type == nullptr ? 1 : type->getNumElements()); ++i) {
    const auto* lane =
        llvm::dyn_cast_or_null<llvm::ConstantInt>(type == nullptr ? constant : constant->getAggregateElement(i));
    if (lane == nullptr || lane->getSExtValue() < 0 || lane->getSExtValue() > 1 << 20) return {};
    lanes.push_back(static_cast<int>(lane->getSExtValue()));
  }
  return lanes;
}

}  // namespace

// Elements of a constant slot at a constant index: constants themselves.
Value* ExprEmitter::elements_of_constant(kernel::SlotId slot, Value* index) {
  const kernel::Slot& s = f_.slots[slot];
  std::vector<llvm::Constant*> elements;
  for (const int at : constant_lanes(index))
    elements.push_back(literal(s.dtype, s.values.data() + static_cast<std::size_t>(at) * size_of(s.dtype)));
  if (elements.empty()) return nullptr;
  return index->getType()->isVectorTy() ? llvm::ConstantVector::get(elements) : elements[0];
}

void ExprEmitter::note_piece(kernel::SlotId slot, Value* offset, unsigned lanes) {
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(offset);
  if (first == nullptr || lanes < 2 || f_.slots[slot].place != kernel::Slot::Place::local) return;
  pieces_[slot].emplace(static_cast<int>(first->getSExtValue()), static_cast<int>(lanes));
}

// (first, size) of registers that hold a local slot: as it has been written, where that covers it without overlap; else
// as long as they can be.
std::vector<std::pair<int, int>> ExprEmitter::pieces_of(kernel::SlotId slot) const {
  const kernel::Slot& s = f_.slots[slot];
  const auto elements = static_cast<int>(s.elements.value());
  std::vector<std::pair<int, int>> pieces;
  if (const auto found = pieces_.find(slot); found != pieces_.end()) {
    int end = 0;
    for (const auto& [first, size] : found->second)
      if (first == end) pieces.emplace_back(first, size), end += size;
    if (end == elements) return pieces;
    pieces.clear();
  }
  const int width = static_cast<int>(vector_bytes_ / std::max<std::size_t>(size_of(s.dtype), 4));
  for (int first = 0; first < elements; first += width) pieces.emplace_back(first, std::min(width, elements - first));
  return pieces;
}

// Elements of a local slot at a constant index, put together from the registers that hold the slot: it is read in the
// pieces in which nests write it.
Value* ExprEmitter::shuffled(kernel::SlotId slot, Value* index) {
  const std::vector<int> lanes = constant_lanes(index);
  const kernel::Slot& s = f_.slots[slot];
  if (lanes.empty() || s.place != kernel::Slot::Place::local) return nullptr;
  llvm::Type* type = memory_type(s.dtype);
  Value* result = nullptr;
  for (const auto& [first, size] : pieces_of(slot)) {
    // Lanes already found keep their places; of this register come those that it holds.
    std::vector<int> from_register(lanes.size(), llvm::PoisonMaskElem);
    std::vector<int> both(lanes.size());
    bool any = false;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const bool here = lanes[i] >= first && lanes[i] < first + size;
      if (here) from_register[i] = lanes[i] - first;
      both[i] = static_cast<int>(here ? i + lanes.size() : i);
      any = any || here;
    }
    if (!any) continue;
    Value* held = of_slot(b_.CreateAlignedLoad(llvm::FixedVectorType::get(type, static_cast<unsigned>(size)),
                                               address(slot, b_.getInt64(static_cast<std::uint64_t>(first))),
                                               llvm::Align(size_of(s.dtype))),
                          slot);
    held = b_.CreateShuffleVector(held, from_register);
    result = result == nullptr ? held : b_.CreateShuffleVector(result, held, both);
  }
  return result;
}

Value* ExprEmitter::load(const Expr& e, bool vector) {
  const auto slot = e.node().id;
  if (f_.slots[slot].place == kernel::Slot::Place::constant)
    if (Value* known = elements_of_constant(slot, emit(e.operand(0), vector))) return known;
  return decoded(e.dtype(), read(e, vector));
}

// LLVM's scheduler compares the loads of a straight piece of code each with each, where they have one base. Of many, a
// fence for the compiler alone, which is no instruction, parts those before from those behind.
void ExprEmitter::part_loads() {
  constexpr int together = 128;
  if (block_of_loads_ != b_.GetInsertBlock()) block_of_loads_ = b_.GetInsertBlock(), loads_ = 0;
  if (++loads_ % together == 0) b_.CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread);
}

Value* ExprEmitter::read(const Expr& e, bool vector) {
  part_loads();
  const auto slot = e.node().id;
  const llvm::Align align(size_of(e.dtype()));
  llvm::Type* type = memory_type(e.dtype());
  Value* result = nullptr;
  if (!vector) {
    auto* read = b_.CreateAlignedLoad(type, address(slot, scalar(e.operand(0))), align);
    if (f_.slots[slot].place == kernel::Slot::Place::numbers)
      read->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    result = of_slot(read, slot);
  } else {
    const Variation v = variation(e.operand(0), *vector_var_);
    auto* vector_type = llvm::FixedVectorType::get(type, lanes_);
    if (v.stride == 1) {
      result = read_row(slot, address(slot, scalar(e.operand(0))), lanes_);
    } else if (Value* lanes = shuffled(slot, emit(e.operand(0), true))) {
      result = lanes;
    } else if (reads_pairs(e, *vector_var_)) {
      result = read_half(e);
    } else {
      Value* mask = mask_;
      if (mask == nullptr)
        mask = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_));
      result = of_slot(b_.CreateMaskedGather(vector_type, address(slot, emit(e.operand(0), true)), align, mask), slot);
    }
  }
  return result;
}

void ExprEmitter::set_lanes_below(std::uint32_t var, Value* value, unsigned lanes, Value* end) {
  set_lanes(var, value, lanes);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(b_.getInt64(i));
  Value* left = b_.CreateVectorSplat(lanes, b_.CreateSub(end, value));
  mask_ = b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), left);
}

// Of a row of as many elements as there are lanes, or of pairs of them.
Value* ExprEmitter::mask_of(unsigned elements) {
  if (elements == lanes_) return mask_;
  std::vector<int> twice;
  for (int i = 0; i < static_cast<int>(elements); ++i) twice.push_back(i / 2);
  return b_.CreateShuffleVector(mask_, twice);
}

Value* ExprEmitter::read_row(kernel::SlotId slot, Value* from, unsigned elements) {
  const DType dtype = f_.slots[slot].dtype;
  llvm::Type* type = memory_type(dtype);
  if (mask_ != nullptr) {
    auto* row = llvm::FixedVectorType::get(type, elements);
    return of_slot(b_.CreateMaskedLoad(row, from, llvm::Align(size_of(dtype)), mask_of(elements),
                                       llvm::Constant::getNullValue(row)),
                   slot);
  }
  std::vector<Value*> pieces;
  for (unsigned at = 0; at < elements; at += piece_) {
    auto* piece = llvm::FixedVectorType::get(type, std::min(piece_, elements - at));
    pieces.push_back(of_slot(
        b_.CreateAlignedLoad(piece, b_.CreateConstInBoundsGEP1_64(type, from, at), llvm::Align(size_of(dtype))), slot));
  }
  return joined(b_, pieces);
}

bool ExprEmitter::reads_pairs(const Expr& load, std::uint32_t var) {
  if (modulo(f_.slots[load.node().id].elements, 2) != Dim(0) || variation(load.operand(0), var).stride != 2)
    return false;
  return kernel::is_even(kernel::without_constant(load.operand(0)).first);
}
// The whole pairs lie within the slot, which has an even number of elements: they begin at an even one.
Value* ExprEmitter::read_half(const Expr& load) {
  const auto slot = load.node().id;
  const auto [base, constant] = kernel::without_constant(load.operand(0));
  const std::int64_t half = constant & 1;
  Value*& pairs = pairs_[{slot, base.identity(), constant - half}];
  if (pairs == nullptr) {
    Value* first = b_.CreateAdd(scalar(base), b_.getInt64(static_cast<std::uint64_t>(constant - half)));
    pairs = read_row(slot, address(slot, first), 2 * lanes_);
  }
  std::vector<int> order;
  for (unsigned i = 0; i < lanes_; ++i) order.push_back(static_cast<int>(2 * i + half));
  return b_.CreateShuffleVector(pairs, order);
}

}  // namespace tenon::cpu
