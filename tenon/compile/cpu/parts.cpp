// Long blocks of statements in several functions: the time of LLVM's code generator grows faster than a function does,
// since values that everything shares, such as the coefficients of sin, live from its beginning to its end.
#include <algorithm>

#include "tenon/base/settings.h"
#include "tenon/compile/cost.h"
#include "tenon/compile/cpu/statements.h"
#include "tenon/kernel/rows.h"

namespace tenon::cpu {
namespace {

constexpr std::int64_t long_block = 1024;                  // estimated instructions of a block that is cut
constexpr std::int64_t part_size = 512;                    // and of its parts
constexpr std::int64_t long_rows = 16 * long_block;        // of a block of rows that is cut
constexpr std::int64_t long_to_compile = 32 * long_block;  // as long as a user feels

// What a nest or a reduction computes; of other statements, nothing.
void add_values(const kernel::Statement& s, Work& work) {
  if (const auto* nest = std::get_if<kernel::Nest>(&s.held())) add_work(nest->stores, work);
  if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held())) {
    add_work(reduce->value, work);
    add_work(reduce->stores, work);
  }
}

// Instructions that a statement with these stores becomes, to a factor of three; loops of statements are blocks of
// their own.
std::int64_t size_of_code(const kernel::Statement& s, const std::vector<kernel::Store>& stores) {
  Work work;
  add_values(s, work);
  for (const kernel::Store& store : stores)
    for (const Expr& e : {store.offset, store.condition})
      if (e) add_work(e, work);
  constexpr std::int64_t at_once = 4;  // vectors that a loop handles a step, and that short rows are written out to
  return at_once * (1 + work.instructions);
}
std::int64_t size_of_code(const kernel::Statement& s);
std::int64_t size_of_code(const kernel::Blocks& b) {
  if (b.parallel) return 1;  // it is a function already
  std::int64_t size = 0;
  for (const kernel::Block* block : {&b.body, &b.tail})
    for (const kernel::Statement& s : *block) size += size_of_code(s);
  return size;
}
std::int64_t size_of_code(const kernel::Statement& s) {
  constexpr std::int64_t call = 10;
  if (const auto* nest = std::get_if<kernel::Nest>(&s.held())) return size_of_code(s, nest->stores);
  if (const auto* reduce = std::get_if<kernel::Reduce>(&s.held())) return size_of_code(s, reduce->stores);
  if (const auto* blocks = std::get_if<kernel::Blocks>(&s.held())) return size_of_code(*blocks);
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

// Whether what the rows of a block hold are registers, which functions cannot share.
bool FunctionEmitter::has_short_rows(std::span<const kernel::Statement> statements) const {
  bool found = false;
  for (const kernel::Statement& s : statements)
    visit_slots(s, [&](SlotId slot, bool) {
      found = found ||
              (f_.slots[slot].place == kernel::Slot::Place::local && at_most(f_.slots[slot].elements, unroll_limit));
    });
  return found;
}

void FunctionEmitter::block(const kernel::Block& statements) {
  const std::span<const kernel::Statement> all(statements);
  std::vector<std::int64_t> sizes;
  std::int64_t whole = 0;
  for (const kernel::Statement& s : all) whole += sizes.emplace_back(stays(s) ? 0 : size_of_code(s));
  if (inside_rows_ && (whole <= long_rows || has_short_rows(all))) return in_one_function(all);
  const bool outermost = &statements == &f_.body;
  if (whole <= long_block && !(outermost && units_are_small())) return in_order(all);
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
    const std::int64_t enough = inside_rows_ ? long_block : part_size;
    while (end < all.size() && equal[end] == 0 && !stays(all[end]) && size < enough) size += sizes[end++];
    if (end > first) part(all.subspan(first, end - first), outermost);
    if (end < all.size() && equal[end] == 0 && stays(all[end])) in_order(all.subspan(end++, 1));
    first = end;
  }
}

void FunctionEmitter::in_one_function(std::span<const kernel::Statement> statements) {
  int functions = 0;
  for (const kernel::Statement& s : statements) {
    Work work;
    add_values(s, work);
    functions += work.functions;
  }
  const bool outside = e_.call_functions(functions > most_inlined_functions);
  in_order(statements);
  e_.call_functions(outside);
}

void FunctionEmitter::in_order(std::span<const kernel::Statement> statements) {
  for (const kernel::Statement& s : statements) {
    e_.forget();
    const double before = std::exchange(unpolled_, nanoseconds(s));
    std::visit([&](const auto& held) { emit(held); }, s.held());
    unpolled_ = before;
  }
  e_.forget();
}

// A function of its own. What the program does once, and nothing else looks at, it has in its own frame.
void FunctionEmitter::part(std::span<const kernel::Statement> statements, bool once) {
  const std::set<SlotId> shared = shared_slots(statements);
  std::set<SlotId> passed, own;
  for (const kernel::Statement& s : statements)
    visit_slots(s, [&](SlotId slot, bool) {
      if (frame_.locals.contains(slot)) (once && !shared.contains(slot) ? own : passed).insert(slot);
    });
  auto* function = own_function(b_.getInt32Ty(), {b_.getPtrTy()}, "_part");
  FunctionEmitter inside(module_, f_, target_, function, uses_);
  Value* words = capture(passed, inside);
  for (const SlotId slot : own) inside.place(slot, inside.local(slot));
  inside.parallel_ = parallel_;
  inside.inside_rows_ = inside_rows_;
  inside_rows_ ? inside.in_one_function(statements) : inside.in_order(statements);
  inside.end_streams();
  inside.b_.CreateRet(b_.getInt32(0));
  Value* ended = b_.CreateCall(function, {words});
  if (function_->getReturnType()->isVoidTy()) return poll();  // it may have been told to stop
  return_if_ended(ended);
}

}  // namespace tenon::cpu
