#include "tenon/kernel/passes/read_numbers.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tenon/base/settings.h"
#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/form.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using Replacements = std::unordered_map<const Expr::Node*, Expr>;

// Constants as other expressions.
class ReplaceConstants : public Rewrite {
 public:
  explicit ReplaceConstants(const Replacements& by) : by_(by) {}
  void statement(Statement& s) {
    for_each_expression(s, [&](Expr& e) { e = (*this)(e); });
    for_each_block(s, [&](Block& inside) {
      for (Statement& each : inside) statement(each);
    });
  }

 protected:
  Expr finish(const Expr& e) override {
    const auto found = by_.find(e.identity());
    return found == by_.end() ? e : found->second;
  }

 private:
  const Replacements& by_;
};

// Statements of one form, each with its constants.
struct Equals {
  std::vector<std::size_t> statements;
  std::vector<std::vector<Expr>> numbers;

  bool differ_in(std::size_t i) const {
    return std::ranges::any_of(
        numbers, [&](const std::vector<Expr>& of) { return of[i].node().bits != numbers[0][i].node().bits; });
  }
};

// The constants of one statement that are to be read: a slot for each dtype.
Replacements in_slots(Function& function, const std::vector<Expr>& numbers, const std::vector<bool>& read) {
  std::map<DType, SlotId> slots;
  Replacements by;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!read[i]) continue;
    const DType dtype = numbers[i].dtype();
    const auto [at, is_new] = slots.emplace(dtype, static_cast<SlotId>(function.slots.size()));
    if (is_new) function.slots.push_back({dtype, 0, Slot::Place::numbers});
    Slot& slot = function.slots[at->second];
    const auto& bits = numbers[i].node().bits;
    slot.values.insert(slot.values.end(), bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(size_of(dtype)));
    by.emplace(numbers[i].identity(), load(at->second, dtype, size(slot.elements)));
    slot.elements = slot.elements + 1;
  }
  return by;
}

}  // namespace

void read_numbers(Function& function) {
  const bool all = units_are_small(), calls = is_long_calls(function.body);
  const std::size_t least = all ? 2 : calls ? 4 : 8;  // equal statements, and in all as many times as many
  if (function.body.size() < (all ? 2 : calls ? least : 8 * least)) return;
  const auto describe = [&](Hasher& hash, SlotId id) {
    const Slot& slot = function.slots[id];
    hash(slot.dtype)(slot.place);
    slot.elements.hash(hash);
    return slot.place == Slot::Place::argument || slot.place == Slot::Place::arena;
  };
  std::map<Hash128, Equals> forms;
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    Form form = form_of(function.body[i], describe, Numbers::apart);
    if (form.numbers.empty()) continue;
    Equals& equals = forms[form.hash];
    equals.statements.push_back(i);
    equals.numbers.push_back(std::move(form.numbers));
  }
  for (const auto& [hash, equals] : forms) {
    if (equals.statements.size() < least) continue;
    std::vector<bool> read;
    for (std::size_t i = 0; i < equals.numbers[0].size(); ++i) read.push_back(equals.differ_in(i));
    for (std::size_t k = 0; k < equals.statements.size(); ++k) {
      const Replacements by = in_slots(function, equals.numbers[k], read);
      if (!by.empty()) ReplaceConstants(by).statement(function.body[equals.statements[k]]);
    }
  }
}

}  // namespace tenon::kernel
