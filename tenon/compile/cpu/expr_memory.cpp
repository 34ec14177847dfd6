// What expressions read of memory, and what is stored: rows, halves of pairs, registers of small arrays, any lanes.
#include "tenon/compile/cpu/expr_emitter.h"
#include "tenon/kernel/analysis/affine.h"

namespace tenon::cpu {

using kernel::Expr;
using llvm::Value;

Value* ExprEmitter::address(kernel::SlotId slot, Value* offset) {
  const kernel::Slot& s = f_.slots[slot];
  const auto known = slots_.find(slot);
  Value* at = known != slots_.end()                   ? known->second
              : s.place == kernel::Slot::Place::found ? found_address(slot)
                                                      : slots_.emplace(slot, find_slot_(slot)).first->second;
  return b_.CreateInBoundsGEP(memory_type(s.dtype), at, offset);
}

Value* ExprEmitter::found_address(kernel::SlotId slot) {
  return b_.CreateIntToPtr(found_size(f_.slots[slot].argument), b_.getPtrTy());
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
    of_slot(b_.CreateMaskedStore(value, to, llvm::Align(size_of(dtype)), mask_), slot);
    return;
  }
  if (vector == nullptr) return put(slot, value, to);
  const unsigned elements = vector->getNumElements();
  for (unsigned at = 0; at < elements; at += piece_) {
    const unsigned count = std::min(piece_, elements - at);
    note_piece(slot, b_.CreateAdd(first, b_.getInt64(at)), count);
    put(slot, count == elements ? value : part(b_, value, at, count),
        at == 0 ? to : b_.CreateConstInBoundsGEP1_64(vector->getElementType(), to, at));
  }
}
void ExprEmitter::put(kernel::SlotId slot, Value* value, Value* to) {
  const llvm::Align align(stream_stores ? vector_bytes_ : size_of(f_.slots[slot].dtype));
  auto* stored = b_.CreateAlignedStore(value, to, align);
  if (stream_stores)
    stored->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  of_slot(stored, slot);
}
namespace {

unsigned least_factor(unsigned n) {
  for (unsigned q = 2; q * q <= n; ++q)
    if (n % q == 0) return q;
  return n;
}

// One vector of chosen elements of several of equal lengths, numbered one behind the other.
Value* chosen(Builder& b, std::span<Value* const> from, std::span<const unsigned> elements) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(from[0]->getType())->getNumElements();
  const auto count = static_cast<int>(elements.size());
  Value* result = nullptr;
  std::vector<bool> there(elements.size(), false);
  for (unsigned k = 0; k < from.size(); ++k) {
    std::vector<int> here(elements.size(), llvm::PoisonMaskElem), both(elements.size(), llvm::PoisonMaskElem);
    bool any = false;
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool found = elements[at] / lanes == k;
      if (found) here[at] = static_cast<int>(elements[at] % lanes), any = true;
      both[at] = found ? i + count : there[at] ? i : llvm::PoisonMaskElem;
      there[at] = there[at] || found;
    }
    if (!any) continue;
    // Two of one length are one shuffle.
    if (result == nullptr && k + 1 < from.size() && lanes == elements.size()) {
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (elements[at] / lanes != k + 1) continue;
        here[at] = static_cast<int>(elements[at] % lanes + lanes), there[at] = true;
      }
      result = b.CreateShuffleVector(from[k], from[k + 1], here);
      ++k;
      continue;
    }
    if (result != nullptr && lanes == elements.size()) {
      for (int i = 0; i < count; ++i)
        if (const auto at = static_cast<std::size_t>(i); elements[at] / lanes == k)
          both[at] = static_cast<int>(elements[at] % lanes) + count;
      result = b.CreateShuffleVector(result, from[k], both);
      continue;
    }
    Value* part = b.CreateShuffleVector(from[k], here);
    result = result == nullptr ? part : b.CreateShuffleVector(result, part, both);
  }
  return result;
}

// Vectors as memory has them, of runs of as many elements as there are vectors: the first element of each run, the
// second, and so on. By the factors of the number: n·log n shuffles.
std::vector<Value*> taken_apart(Builder& b, const std::vector<Value*>& memory) {
  const auto run = static_cast<unsigned>(memory.size());
  if (run <= 1) return memory;
  const unsigned q = least_factor(run),
                 lanes = llvm::cast<llvm::FixedVectorType>(memory[0]->getType())->getNumElements();
  std::vector<Value*> result(run);
  for (unsigned k = 0; k < q; ++k) {
    std::vector<unsigned> elements;
    for (unsigned i = 0; i < lanes; ++i) elements.push_back(i * q + k);
    std::vector<Value*> part;
    for (unsigned i = 0; i < run; i += q) part.push_back(chosen(b, std::span(memory).subspan(i, q), elements));
    part = taken_apart(b, part);
    for (unsigned i = 0; i < part.size(); ++i) result[i * q + k] = part[i];
  }
  return result;
}
std::vector<Value*> put_together(Builder& b, const std::vector<Value*>& elements) {
  const auto run = static_cast<unsigned>(elements.size());
  if (run <= 1) return elements;
  const unsigned q = least_factor(run),
                 lanes = llvm::cast<llvm::FixedVectorType>(elements[0]->getType())->getNumElements();
  std::vector<std::vector<Value*>> parts;
  for (unsigned k = 0; k < q; ++k) {
    std::vector<Value*> part;
    for (unsigned i = k; i < run; i += q) part.push_back(elements[i]);
    parts.push_back(put_together(b, part));
  }
  std::vector<Value*> result;
  for (unsigned i = 0; i < run / q; ++i) {
    std::vector<Value*> from;
    for (const auto& part : parts) from.push_back(part[i]);
    for (unsigned k = 0; k < q; ++k) {
      std::vector<unsigned> order;
      for (unsigned at = k * lanes; at < (k + 1) * lanes; ++at) order.push_back(at % q * lanes + at / q);
      result.push_back(chosen(b, from, order));
    }
  }
  return result;
}

}  // namespace

void ExprEmitter::write_runs(kernel::SlotId slot, const Expr& offset, std::vector<Value*> values) {
  values = put_together(b_, values);
  const DType dtype = f_.slots[slot].dtype;
  Value *first = scalar(offset), *to = address(slot, first);
  const auto run = static_cast<unsigned>(values.size());
  for (unsigned k = 0; k < run; ++k) {
    const auto place = [&](unsigned at) {
      return b_.CreateConstInBoundsGEP1_64(memory_type(dtype), to, k * lanes_ + at);
    };
    if (mask_ != nullptr) {
      of_slot(b_.CreateMaskedStore(values[k], place(0), llvm::Align(size_of(dtype)), mask_of_run(run, k)), slot);
      continue;
    }
    for (unsigned at = 0; at < lanes_; at += piece_) {
      const unsigned count = std::min(piece_, lanes_ - at);
      note_piece(slot, b_.CreateAdd(first, b_.getInt64(k * lanes_ + at)), count);
      put(slot, count == lanes_ ? values[k] : part(b_, values[k], at, count), place(at));
    }
  }
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

// Elements of a constant slot at a constant index: constants themselves, but for addresses, which loading the code
// fills in.
Value* ExprEmitter::elements_of_constant(kernel::SlotId slot, Value* index) {
  const kernel::Slot& s = f_.slots[slot];
  if (s.object) return nullptr;
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
      result = read_row(slot, address(slot, scalar(e.operand(0))));
    } else if (Value* lanes = shuffled(slot, emit(e.operand(0), true))) {
      result = lanes;
    } else if (v.stride == -1 && mask_ == nullptr) {  // the last lane has the first element
      Value* first = b_.CreateSub(scalar(e.operand(0)), b_.getInt64(lanes_ - 1));
      result = b_.CreateVectorReverse(read_row(slot, address(slot, first)));
    } else if (const unsigned run = run_of(e, *vector_var_); run > 1) {
      result = read_of_run(e, run);
    } else {
      Value* mask = mask_;
      if (mask == nullptr) mask = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_));
      result = of_slot(b_.CreateMaskedGather(vector_type, address(slot, emit(e.operand(0), true)), align, mask), slot);
    }
  }
  return result;
}

void ExprEmitter::set_lanes_below(std::uint32_t var, Value* value, unsigned lanes, Value* end) {
  set_lanes(var, value, lanes);
  // What is left, or all lanes: such a number fits where a lane of a register does.
  llvm::IntegerType* number = b_.getIntNTy(vector_bytes_ * 8 / lanes >= 64 ? 64 : 32);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(number, i));
  Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, value), b_.getInt64(lanes));
  Value* splat = b_.CreateVectorSplat(lanes, b_.CreateTrunc(left, number));
  mask_ = b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), splat);
}

// Of vector k of those that hold a run of so many elements for each lane.
Value* ExprEmitter::mask_of_run(unsigned run, unsigned k) {
  std::vector<int> lane;
  for (unsigned i = 0; i < lanes_; ++i) lane.push_back(static_cast<int>((k * lanes_ + i) / run));
  return b_.CreateShuffleVector(mask_, lane);
}

Value* ExprEmitter::read_row(kernel::SlotId slot, Value* from, unsigned run, unsigned k) {
  const DType dtype = f_.slots[slot].dtype;
  llvm::Type* type = memory_type(dtype);
  if (k > 0) from = b_.CreateConstInBoundsGEP1_64(type, from, std::uint64_t(k) * lanes_);
  if (mask_ != nullptr) {
    auto* row = llvm::FixedVectorType::get(type, lanes_);
    return of_slot(b_.CreateMaskedLoad(row, from, llvm::Align(size_of(dtype)), run == 1 ? mask_ : mask_of_run(run, k),
                                       llvm::Constant::getNullValue(row)),
                   slot);
  }
  std::vector<Value*> pieces;
  for (unsigned at = 0; at < lanes_; at += piece_) {
    auto* piece = llvm::FixedVectorType::get(type, std::min(piece_, lanes_ - at));
    pieces.push_back(of_slot(
        b_.CreateAlignedLoad(piece, b_.CreateConstInBoundsGEP1_64(type, from, at), llvm::Align(size_of(dtype))), slot));
  }
  return joined(b_, pieces);
}

// The runs lie within the slot, which holds whole ones: they begin at a multiple of their length.
unsigned ExprEmitter::run_of(const Expr& load, std::uint32_t var) {
  constexpr std::int64_t longest = 16;
  const std::int64_t run = variation(load.operand(0), var).stride.value_or(1);
  if (run < 2 || run > longest || modulo(f_.slots[load.node().id].elements, run) != Dim(0)) return 1;
  return kernel::is_multiple(kernel::without_constant(load.operand(0)).first, run) ? static_cast<unsigned>(run) : 1;
}
Value* ExprEmitter::read_of_run(const Expr& load, unsigned run) {
  const auto slot = load.node().id;
  const auto [base, constant] = kernel::without_constant(load.operand(0));
  const std::int64_t at = constant >= 0 ? constant % run : run - 1 - (-constant - 1) % run;
  std::vector<Value*>& all = runs_[{slot, base.identity(), constant - at, run}];
  if (all.empty()) {
    Value* first = b_.CreateAdd(scalar(base), b_.getInt64(static_cast<std::uint64_t>(constant - at)));
    Value* from = address(slot, first);
    for (unsigned k = 0; k < run; ++k) all.push_back(read_row(slot, from, run, k));
    all = taken_apart(b_, all);
  }
  return all[static_cast<std::size_t>(at)];
}

}  // namespace tenon::cpu
