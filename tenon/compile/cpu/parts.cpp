// Long blocks of statements in several functions: the time of LLVM's code generator grows faster than a function does,
// since values that everything shares, such as the coefficients of sin, live from its beginning to its end.
#include <algorithm>
#include <numeric>

#include "tenon/base/settings.h"
#include "tenon/compile/cpu/statements.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::cpu {
namespace {

constexpr std::int64_t long_block = 1024;            // estimated instructions of a block that is cut
constexpr std::int64_t part_size = 512;              // and of its parts
constexpr std::int64_t long_rows = 16 * long_block;  // of a block of rows that is cut
// Where what rows hold are registers, which functions do not share: measured, cutting saves more than it costs from
// here.
constexpr std::int64_t long_short_rows = 28 * long_block, part_of_short_rows = 4 * long_block;
constexpr int most_in_parts = 32;                          // functions that a long block inlines
constexpr std::int64_t long_to_compile = 32 * long_block;  // as long as a user feels

// What a nest or a reduction computes; of other statements, nothing.
void add_values(const kernel::Statement& s, Work& work) {
  if (const auto* nest = std::get_if<kernel::Nest>(&s.held())) add_work(nest->stores, work);
  if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held())) {
    for (const kernel::Reduce::Result& result : reduce->results()) add_work(result.value, work);
    add_work(reduce->stores, work);
  }
}

int functions_in(std::span<const kernel::Statement> statements) {
  int functions = 0;
  for (const kernel::Statement& s : statements) {
    Work work;
    add_values(s, work);
    functions += work.functions;
  }
  return functions;
}

// Mathematics in code whose size is asked for.
enum class Functions : bool { inlined, called };

// Instructions that a statement with these stores becomes, to a factor of three; loops of statements are blocks of
// their own.
std::int64_t size_of_code(const kernel::Statement& s, const std::vector<kernel::Store>& stores, Functions functions) {
  Work work;
  add_values(s, work);
  for (const kernel::Store& store : stores)
    for (const Expr& e : {store.offset, store.condition})
      if (e) add_work(e, work);
  constexpr std::int64_t at_once = 4;  // vectors that a loop handles a step, and that short rows are written out to
  constexpr double call = 5;
  double instructions = work.instructions;
  if (functions == Functions::called) {
    kernel::Instructions values;
    for (const kernel::Store& store : stores) values.add(store.value);
    if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held()))
      for (const kernel::Reduce::Result& result : reduce->results()) values.add(result.value);
    instructions += call * work.functions - values.in_functions();
  }
  return at_once * (1 + static_cast<std::int64_t>(std::max(instructions, 0.)));
}
std::int64_t size_of_code(const kernel::Statement& s, Functions functions);
std::int64_t size_of_code(const kernel::Blocks& b, Functions functions) {
  if (b.parallel) return 1;  // it is a function already
  std::int64_t size = 0;
  for (const kernel::Block* block : {&b.body, &b.tail})
    for (const kernel::Statement& s : *block) size += size_of_code(s, functions);
  return size;
}
std::int64_t size_of_code(const kernel::Statement& s, Functions functions) {
  constexpr std::int64_t call = 10;
  if (const auto* nest = std::get_if<kernel::Nest>(&s.held())) return size_of_code(s, nest->stores, functions);
  if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held())) return size_of_code(s, reduce->stores, functions);
  if (const auto* blocks = std::get_if<kernel::Blocks>(&s.held())) return size_of_code(*blocks, functions);
  return call;
}

// Loops and branches are cut inside; elements of lists are places for later statements.
bool stays(const kernel::Statement& s) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, kernel::For> || std::is_same_v<T, kernel::While> ||
               std::is_same_v<T, kernel::Switch> || std::is_same_v<T, kernel::Element>;
      },
      s.held());
}

// Of each statement of a block; loops and branches in it are blocks of their own.
std::vector<std::int64_t> sizes_of_code(std::span<const kernel::Statement> statements, Functions functions) {
  std::vector<std::int64_t> sizes;
  for (const kernel::Statement& s : statements) sizes.push_back(stays(s) ? 0 : size_of_code(s, functions));
  return sizes;
}
// Whether what the rows of a block hold are registers, which functions cannot share: it is cut only where it is long
// though its mathematics is called.
bool has_short_rows(const kernel::Function& f, std::span<const kernel::Statement> statements) {
  bool found = false;
  for (const kernel::Statement& s : statements)
    visit_slots(s, [&](kernel::SlotId slot, bool) {
      found =
          found || (f.slots[slot].place == kernel::Slot::Place::local && at_most(f.slots[slot].elements, unroll_limit));
    });
  return found;
}
struct RowsOfCode {
  std::vector<std::int64_t> sizes;  // of the statements of a block of rows
  bool short_rows;
  bool cut() const {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t(0)) > (short_rows ? long_short_rows : long_rows);
  }
};
RowsOfCode rows_of_code(const kernel::Function& f, std::span<const kernel::Statement> statements) {
  const bool short_rows = has_short_rows(f, statements),
             called = short_rows && functions_in(statements) > most_inlined_functions;
  return {sizes_of_code(statements, called ? Functions::called : Functions::inlined), short_rows};
}

// How many statements from here on have equals elsewhere; 0 within such a run, and where a loop of calls is not worth
// it: a call takes a few nanoseconds, which short statements feel.
std::vector<std::size_t> runs_of_equals(std::span<const kernel::Statement> statements,
                                        std::span<const std::optional<kernel::Form>> forms, std::int64_t size) {
  constexpr std::size_t least = 4;
  constexpr double call = 20;  // nanoseconds: several times what it takes
  std::map<Hash128, int> counts;
  for (const auto& form : forms)
    if (form) ++counts[form->hash];
  std::vector<std::size_t> runs(forms.size(), 0);
  for (std::size_t first = 0; first < forms.size();) {
    std::size_t end = first;
    double time = 0;
    while (end < forms.size() && forms[end] && (counts[forms[end]->hash] > 1 || units_are_small()))
      time += nanoseconds(statements[end++]);
    const std::size_t length = end - first;
    const bool worth_it = length >= least && (size > long_to_compile || time > call * static_cast<double>(length));
    if (worth_it || units_are_small()) runs[first] = length;
    first = end + 1;
  }
  return runs;
}

}  // namespace

void FunctionEmitter::block(const kernel::Block& statements) {
  const std::span<const kernel::Statement> all(statements);
  std::vector<std::int64_t> sizes;
  std::int64_t enough = part_size;
  if (inside_rows_) {
    RowsOfCode rows = rows_of_code(f_, all);
    if (!rows.cut()) return in_one_function(all);
    sizes = std::move(rows.sizes);
    enough = rows.short_rows ? part_of_short_rows : long_block;
  } else {
    sizes = sizes_of_code(all, Functions::inlined);
  }
  const std::int64_t whole = std::accumulate(sizes.begin(), sizes.end(), std::int64_t(0));
  const bool outermost = &statements == &f_.body;
  const bool launches = outermost && (units_are_small() || (f_.sizes == 0 && kernel::is_long_calls(statements)));
  if (whole <= long_block && !launches) return in_order(all);
  // So many statements take longer to compile than mathematics that is inlined saves.
  const bool outside = e_.calls_all_functions();
  e_.call_functions(outside || functions_in(all) > most_in_parts);
  std::vector<std::optional<kernel::Form>> forms(all.size());
  if (outermost) forms = forms_of(all);
  const std::vector<std::size_t> equal = runs_of_equals(all, forms, whole);
  if (std::ranges::any_of(equal, [](std::size_t length) { return length > 0; })) prepare_launches(all, equal);
  for (std::size_t first = 0; first < all.size();) {
    if (equal[first] > 0) {
      launch(all.subspan(first, equal[first]), std::span(forms).subspan(first, equal[first]));
      first += equal[first];
      continue;
    }
    std::size_t end = first;
    std::int64_t size = 0;
    while (end < all.size() && equal[end] == 0 && !stays(all[end]) && size < enough) size += sizes[end++];
    if (end > first) part(all.subspan(first, end - first), outermost);
    if (end < all.size() && equal[end] == 0 && stays(all[end])) in_order(all.subspan(end++, 1));
    first = end;
  }
  e_.call_functions(outside);
}

// The local slots of each block of rows, for itself. Where the block is cut they lie together: functions that find
// hundreds of them by an address each have no registers for anything else.
void FunctionEmitter::place_own(const kernel::Blocks& blocks) {
  if (!rows_of_code(f_, blocks.body).cut()) {
    for (const SlotId slot : blocks.own) place(slot, local(slot));
    return;
  }
  std::map<SlotId, std::uint64_t> offsets;
  std::uint64_t bytes = 0;
  for (const SlotId slot : blocks.own) {
    offsets.emplace(slot, bytes);
    bytes += static_cast<std::uint64_t>(f_.slots[slot].bytes_in_lines().value());
  }
  llvm::IRBuilder<> at_entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* memory = at_entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), bytes));
  memory->setAlignment(llvm::Align(kernel::Slot::line));
  frame_.together = memory;
  frame_.offsets = std::make_shared<const std::map<SlotId, std::uint64_t>>(std::move(offsets));
  for (const SlotId slot : blocks.own) place(slot, at_offset(frame_, slot));
}

Value* FunctionEmitter::at_offset(const Frame& frame, SlotId slot) {
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame.together, frame.offsets->at(slot));
}

void FunctionEmitter::in_one_function(std::span<const kernel::Statement> statements) {
  const bool outside = e_.calls_all_functions();
  e_.call_functions(outside || functions_in(statements) > most_inlined_functions);
  in_order(statements);
  e_.call_functions(outside);
}

void FunctionEmitter::in_order(std::span<const kernel::Statement> statements) {
  for (const kernel::Statement& s : statements) {
    e_.forget();
    const std::set<SlotId> here = found_before(s);
    const double before = std::exchange(unpolled_, nanoseconds(s));
    std::visit([&](const auto& held) { emit(held); }, s.held());
    unpolled_ = before;
    for (const SlotId slot : here) e_.displace(slot);
  }
  e_.forget();
}

// Of memory that has been asked for, the addresses once for a statement that asks for none itself.
std::set<kernel::SlotId> FunctionEmitter::found_before(const kernel::Statement& s) {
  std::set<SlotId> found;
  bool has_blocks = false;
  for_each_block(s, [&](const kernel::Block&) { has_blocks = true; });
  if (has_blocks) return found;
  visit_slots(s, [&](SlotId slot, bool) {
    if (f_.slots[slot].place == kernel::Slot::Place::found && found.insert(slot).second)
      e_.place(slot, e_.found_address(slot));
  });
  return found;
}

// A function of its own. What the program does once, and nothing else looks at, it has in its own frame.
void FunctionEmitter::part(std::span<const kernel::Statement> statements, bool once) {
  const std::set<SlotId> shared = shared_slots(statements);
  std::set<SlotId> passed, own;
  for (const kernel::Statement& s : statements)
    visit_slots(f_, s, [&](SlotId slot, bool) {
      if (frame_.locals.contains(slot)) (once && !shared.contains(slot) ? own : passed).insert(slot);
    });
  auto* function = own_function(b_.getInt32Ty(), {b_.getPtrTy()}, "_part");
  FunctionEmitter inside(module_, f_, target_, function, common_);
  Value* words = capture(passed, inside);
  for (const SlotId slot : own) inside.place(slot, inside.local(slot));
  inside.parallel_ = parallel_;
  inside.inside_rows_ = inside_rows_;
  inside.e_.call_functions(e_.calls_all_functions());
  inside_rows_ ? inside.in_one_function(statements) : inside.in_order(statements);
  inside.end_streams();
  inside.b_.CreateRet(b_.getInt32(0));
  Value* ended = b_.CreateCall(function, {words});
  if (function_->getReturnType()->isVoidTy()) return poll();  // it may have been told to stop
  return_if_ended(ended);
}

}  // namespace tenon::cpu
