// Equal statements of a long program have one function between them, which finds its slots by a table: the layers of a
// network, or the calls of a function, take LLVM no longer than one of them.
#include <algorithm>

#include "tenon/compile/cpu/statements.h"
#include "tenon/kernel/analysis/rows.h"

namespace tenon::cpu {
namespace {

// Whether a statement of a program of sizes that vary names none: a call of the addresses of slots.
bool names_no_size(const kernel::Statement& s) {
  const auto* call = std::get_if<kernel::Call>(&s.held());
  return call != nullptr && !call->result && std::ranges::all_of(call->arguments, [](const auto& a) {
           return a.address && kernel::is_constant(a.value, 0);
         });
}

}  // namespace

// The forms of statements of the outermost block; empty where a statement needs what others found for it.
std::vector<std::optional<kernel::Form>> FunctionEmitter::forms_of(
    std::span<const kernel::Statement> statements) const {
  std::map<SlotId, Hash128> constants;
  std::vector<std::optional<kernel::Form>> forms;
  for (const kernel::Statement& s : statements) {
    const std::set<SlotId> shared = shared_slots({&s, 1});
    bool finds = false;  // sizes, or where elements are
    visit_slots(f_, s, [&](SlotId slot, bool) {
      const kernel::Slot::Place place = f_.slots[slot].place;
      finds = finds || place == kernel::Slot::Place::size ||
              (place == kernel::Slot::Place::element && shared.contains(slot));
    });
    if (finds || (f_.sizes > 0 && !names_no_size(s))) {
      forms.emplace_back();
      continue;
    }
    forms.push_back(form_of(s, [&](Hasher& hash, SlotId id) {
      const kernel::Slot& slot = f_.slots[id];
      slot.elements.hash(hash);
      hash(slot.dtype)(slot.place)(shared.contains(id))(common_->read[id] == 0)(slot.arena_offset.known());
      if (slot.place == kernel::Slot::Place::constant) {
        const auto [known, is_new] = constants.try_emplace(id);
        if (is_new)
          known->second =
              Hasher()(slot.object ? *slot.object + 1 : 0).bytes(slot.values.data(), slot.values.size()).finish();
        hash(known->second);
      }
      return slot.place == kernel::Slot::Place::argument || slot.place == kernel::Slot::Place::arena;
    }));
  }
  return forms;
}

// The function of a form. It gets the frame of its caller, and a table of two words for each slot of the form: its
// place in the arena, among the arguments, among numbers or in the local memory of its caller; and its base.
llvm::Function* FunctionEmitter::shared_function(const kernel::Statement& s, const kernel::Form& form) {
  llvm::Function*& function = launches_.functions[form.hash];
  if (function != nullptr) return function;
  function = own_function(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy()}, "_shared");
  FunctionEmitter inside(module_, f_, target_, function, common_);
  Builder& b = inside.b_;
  const auto word = [&](llvm::Type* of, unsigned from, std::size_t at) {
    return b.CreateLoad(of, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(from), at));
  };
  enum : unsigned { frame, table };
  inside.enter({word(b.getPtrTy(), frame, 0),
                word(b.getPtrTy(), frame, 1),
                word(b.getPtrTy(), frame, 2),
                word(b.getPtrTy(), frame, 3),
                {},
                {}});
  Value* offsets = word(b.getPtrTy(), frame, 5);
  Value* locals = word(b.getPtrTy(), frame, 4);
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    const SlotId id = form.slots[i].slot;
    const kernel::Slot& slot = f_.slots[id];
    const auto from = [&](Value* base, llvm::Type* unit) {
      return b.CreateGEP(unit, base, word(b.getInt64Ty(), table, 2 * i));
    };
    // This statement's own offsets count from the slot's beginning.
    const auto at_base = [&](Value* address) {
      const std::int64_t bytes = form.slots[i].base * static_cast<std::int64_t>(size_of(slot.dtype));
      Value* shift = b.CreateSub(word(b.getInt64Ty(), table, 2 * i + 1), b.getInt64(static_cast<std::uint64_t>(bytes)));
      inside.place(id, b.CreateGEP(b.getInt8Ty(), address, shift));
    };
    if (slot.place == kernel::Slot::Place::argument)
      at_base(b.CreateLoad(b.getPtrTy(), from(inside.frame_.arguments, b.getPtrTy())));
    else if (slot.place == kernel::Slot::Place::arena && slot.arena_offset.known())
      at_base(from(inside.frame_.arena, b.getInt8Ty()));
    else if (slot.place == kernel::Slot::Place::arena)
      at_base(
          b.CreateGEP(b.getInt8Ty(), inside.frame_.arena, b.CreateLoad(b.getInt64Ty(), from(offsets, b.getInt64Ty()))));
    else if (slot.place == kernel::Slot::Place::numbers)
      inside.place(id, from(launches_.numbers, b.getInt8Ty()));
    else if (launches_.locals.contains(id))
      inside.place(id, from(locals, b.getInt8Ty()));
    else if (slot.place == kernel::Slot::Place::local)
      inside.place(id, inside.local(id));
  }
  inside.in_order({&s, 1});
  inside.end_streams();
  b.CreateRet(b.getInt32(0));
  return function;
}

// Puts the local slots that launched statements share with others into one piece of memory, which functions find, and
// the numbers of all into another.
void FunctionEmitter::prepare_launches(std::span<const kernel::Statement> statements,
                                       std::span<const std::size_t> runs) {
  for (std::size_t first = 0; first < runs.size(); ++first)
    for (const kernel::Statement& s : statements.subspan(first, runs[first]))
      for (const SlotId slot : shared_slots({&s, 1})) {
        const kernel::Slot& of = f_.slots[slot];
        if (of.place == kernel::Slot::Place::local) launches_.locals.try_emplace(slot);
        if (of.place == kernel::Slot::Place::arena && !of.arena_offset.known() &&
            std::ranges::find(launches_.offsets, of.arena_offset) == launches_.offsets.end())
          launches_.offsets.push_back(of.arena_offset);
      }
  std::uint64_t bytes = 0;
  for (auto& [slot, offset] : launches_.locals) {
    offset = bytes;
    bytes += static_cast<std::uint64_t>(f_.slots[slot].bytes_in_lines().value());
  }
  std::string numbers;
  for (SlotId id = 0; id < f_.slots.size(); ++id) {
    const kernel::Slot& slot = f_.slots[id];
    if (slot.place != kernel::Slot::Place::numbers) continue;
    numbers.resize((numbers.size() + 15) / 16 * 16);
    launches_.of_numbers.emplace(id, numbers.size());
    numbers.append(reinterpret_cast<const char*>(slot.values.data()), slot.values.size());
  }
  auto* of_numbers = llvm::ConstantDataArray::getString(b_.getContext(), numbers, false);
  launches_.numbers =
      new llvm::GlobalVariable(module_, of_numbers->getType(), true, llvm::GlobalValue::PrivateLinkage, of_numbers);
  launches_.numbers->setAlignment(llvm::Align(16));
  llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* memory = at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes));
  memory->setAlignment(llvm::Align(kernel::Slot::line));
  for (const auto& [slot, offset] : launches_.locals)
    place(slot, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, offset));
  Value* offsets = at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), launches_.offsets.size()));
  for (std::size_t i = 0; i < launches_.offsets.size(); ++i)
    b_.CreateStore(number(launches_.offsets[i]), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), offsets, i));
  launches_.frame = at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), 6));
  unsigned at = 0;
  for (Value* word :
       {frame_.arguments, frame_.arena, frame_.cancelled, frame_.failed, static_cast<Value*>(memory), offsets})
    b_.CreateStore(word, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), launches_.frame, at++));
}

// In bytes; of sizes that vary, which of their offsets.
std::uint64_t FunctionEmitter::place_in_arena(const kernel::Slot& slot) const {
  if (slot.arena_offset.known()) return static_cast<std::uint64_t>(slot.arena_offset.value());
  return static_cast<std::uint64_t>(std::ranges::find(launches_.offsets, slot.arena_offset) -
                                    launches_.offsets.begin());
}

// Calls the functions of these statements one after the other: a loop over a table, however many there are.
void FunctionEmitter::launch(std::span<const kernel::Statement> statements,
                             std::span<const std::optional<kernel::Form>> forms) {
  std::vector<std::uint64_t> places;
  std::vector<llvm::Constant*> calls;
  auto* call = llvm::StructType::get(b_.getPtrTy(), b_.getInt64Ty());
  for (std::size_t i = 0; i < statements.size(); ++i) {
    calls.push_back(
        llvm::ConstantStruct::get(call, {shared_function(statements[i], *forms[i]), b_.getInt64(places.size())}));
    for (const auto& [id, base] : forms[i]->slots) {
      const kernel::Slot& slot = f_.slots[id];
      const auto& others = slot.place == kernel::Slot::Place::numbers ? launches_.of_numbers : launches_.locals;
      const auto found = others.find(id);
      places.push_back(slot.place == kernel::Slot::Place::argument ? slot.argument
                       : slot.place == kernel::Slot::Place::arena  ? place_in_arena(slot)
                       : found != others.end()                     ? found->second
                                                                   : 0);
      places.push_back(static_cast<std::uint64_t>(base) * size_of(slot.dtype));
    }
  }
  const auto global = [&](llvm::Constant* values) {
    return new llvm::GlobalVariable(module_, values->getType(), true, llvm::GlobalValue::PrivateLinkage, values);
  };
  Value* places_at = global(llvm::ConstantDataArray::get(b_.getContext(), places));
  Value* calls_at = global(llvm::ConstantArray::get(llvm::ArrayType::get(call, calls.size()), calls));
  loop_from(b_.getInt64(0), b_.getInt64(calls.size()), 1, [&](Value* i) {
    poll();
    Value* at = b_.CreateGEP(call, calls_at, i);
    Value* function = b_.CreateLoad(b_.getPtrTy(), at);
    Value* first = b_.CreateLoad(b_.getInt64Ty(), b_.CreateStructGEP(call, at, 1));
    Value* table = b_.CreateGEP(b_.getInt64Ty(), places_at, first);
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy()}, false);
    return_if_ended(b_.CreateCall(type, function, {launches_.frame, table}));
  });
}

}  // namespace tenon::cpu
