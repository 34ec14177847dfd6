#include "tenon/kernel/verify_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using Place = Slot::Place;

class Finder {
 public:
  Finder(const Function& f, FunctionRef<void(const Statement&, const std::string&)> wrong)
      : f_(f), wrong_(wrong), found_(f.slots.size(), false), holds_address_(f.slots.size(), false) {
    for (SlotId i = 0; i < f.slots.size(); ++i) {
      const Slot& s = f.slots[i];
      if (s.place != Place::found && s.place != Place::element) continue;
      const SlotId address = s.place == Place::found ? s.argument : i;
      if (s.place == Place::found) holds_address_[address] = true;
      s.elements.visit_variables([&](SizeVar v) {
        if (is_found_size(v)) of_size_.emplace(slot_of_size(v), address);
      });
    }
  }
  void block(const Block& statements) {
    for (const Statement& s : statements) {
      at_ = &s;
      if (const auto* w = std::get_if<While>(&s.held())) {  // its condition is read behind `before`
        inside([&] { block(w->before), at_ = &s, reads(s), block(w->body); });
        continue;
      }
      reads(s);
      finds(s);
      const auto* rows = std::get_if<Blocks>(&s.held());
      const bool at_once = std::exchange(at_once_, at_once_ || (rows != nullptr && rows->parallel));
      // What blocks around those that run at once have for themselves, these share.
      std::set<SlotId> own = rows != nullptr && rows->parallel ? std::exchange(own_, {}) : own_;
      if (rows != nullptr) own_.insert(rows->own.begin(), rows->own.end());
      for_each_block(s, [&](const Block& held) { inside([&] { block(held); }); });
      at_once_ = at_once;
      own_ = std::move(own);
    }
  }

 private:
  void fail(const std::string& what) const { wrong_(*at_, what); }
  bool is_size(SlotId slot) const { return f_.slots[slot].place == Place::size; }
  // What a block finds, the statements behind it do not have; nor memory of which it has found the size anew.
  template <class F>
  void inside(F&& f) {
    const std::size_t outside = order_.size();
    f();
    for (; order_.size() > outside; order_.pop_back()) found_[order_.back()] = false;
  }

  // --- what a statement reads ---
  void reads(const Statement& s) const {
    for_each_size(s, [&](const Dim& d) { named(d); });
    Seen seen;
    for_each_expression(s, [&](const Expr& e) { reads(e.identity(), seen); });
    for_each_place(s, [&](SlotId slot, const Expr&, bool written) {
      touches(slot);
      if (!written) reads(slot);
    });
  }
  void reads(const Expr::Node* node, Seen& seen) const {
    if (node == nullptr || !seen.insert(node)) return;
    for (const auto& operand : node->operands) reads(operand.get(), seen);
    if (node->kind == Expr::Kind::load) touches(node->id), reads(node->id);
    if (node->kind == Expr::Kind::variable && is_found_size_variable(node->id)) named(node->id - first_size_variable);
  }
  void reads(SlotId slot) const {
    if (is_size(slot) && !found_[slot]) fail(fmt::format("m{} is read, and no statement before has found it.", slot));
  }
  void named(const Dim& size) const {
    size.visit_variables([&](SizeVar v) {
      if (is_found_size(v)) named(v);
    });
  }
  void named(SizeVar v) const {
    const SlotId slot = slot_of_size(v);
    if (!found_[slot]) fail(fmt::format("the size n{} is named, and no statement before has found it.", slot));
    if (holds_address_[slot]) fail(fmt::format("n{} is named as a size, and m{} holds an address.", slot, slot));
  }
  void touches(SlotId slot) const {
    const Slot& s = f_.slots[slot];
    s.elements.visit_variables([&](SizeVar v) {
      if (is_found_size(v) && !found_[slot_of_size(v)])
        fail(fmt::format("m{} is touched, and no statement before has found its size {}.", slot, s.elements.text()));
    });
    if (s.place == Place::found && !found_[s.argument])
      fail(fmt::format("m{} is touched, and its memory has not been asked for since its size {} was found.", slot,
                       s.elements.text()));
    if (s.place == Place::element && !found_[slot])
      fail(fmt::format("m{} is touched, and no statement before has found this element of a list.", slot));
  }

  // --- and what it finds, whatever data say ---
  void finds(const Statement& s) {
    if (const auto* n = std::get_if<Nest>(&s.held())) {
      if (is_never_empty(n->sizes)) finds(n->stores);
    } else if (const auto* r = std::get_if<Reduce>(&s.held())) {
      if (!is_never_empty(r->outer_sizes)) return;
      for (const Reduce::Result& result : r->results()) finds(result.slot);
      if (is_never_empty(r->inner_sizes)) finds(r->stores);
    } else if (const auto* e = std::get_if<Element>(&s.held())) {
      found(e->element);
    } else if (!std::holds_alternative<Copy>(s.held()) || is_never_empty({std::get<Copy>(s.held()).elements})) {
      for_each_place(s, [&](SlotId slot, const Expr&, bool written) {
        if (written) finds(slot);
      });
    }
  }
  void finds(const std::vector<Store>& stores) {
    for (const Store& s : stores) {
      if (is_size(s.slot)) in_bounds(s);
      if (!s.condition) finds(s.slot);
    }
  }
  void finds(SlotId slot) {
    if (!is_size(slot)) return;
    if (at_once_ && !own_.contains(slot)) fail(fmt::format("blocks that run at once all find m{}.", slot));
    if (holds_address_[slot] && !std::holds_alternative<Call>(at_->held()))
      fail(fmt::format("m{} holds an address, which only a call gives.", slot));
    found(slot);
    // Memory that was asked for may be too small now.
    for (auto [each, end] = of_size_.equal_range(slot); each != end; ++each) found_[each->second] = false;
  }
  void found(SlotId slot) {
    if (!found_[slot]) order_.push_back(slot);
    found_[slot] = true;
  }
  static bool is_never_empty(const Sizes& sizes) {
    return std::ranges::all_of(sizes, [](const Dim& d) { return at_least(d, 1); });
  }
  void in_bounds(const Store& s) const {
    if (s.value.kind() != Expr::Kind::constant) return;
    const auto number = std::bit_cast<std::array<std::int64_t, 2>>(s.value.node().bits)[0];
    const auto most = f_.slots[s.slot].most;
    if (number < 0 || (most && most->known() && number > most->value()))
      fail(fmt::format("m{} is a size of {}, and {} is stored.", s.slot, most ? most->text() + " at most" : "0 or more",
                       number));
  }

  const Function& f_;
  FunctionRef<void(const Statement&, const std::string&)> wrong_;
  const Statement* at_ = nullptr;          // at hand
  std::vector<bool> found_;                // of slots of sizes and elements: statements before have found them
  std::vector<SlotId> order_;              // in which they were found
  std::vector<bool> holds_address_;        // what lies there is an address
  std::multimap<SlotId, SlotId> of_size_;  // addresses of memory, and elements, by each size that they have
  bool at_once_ = false;                   // within blocks that run in parallel
  std::set<SlotId> own_;                   // what blocks have each for itself
};

}  // namespace

void verify_found(const Function& function, FunctionRef<void(const Statement&, const std::string&)> wrong) {
  if (std::ranges::any_of(function.slots,
                          [](const Slot& s) { return s.place == Place::size || s.place == Place::element; }))
    Finder(function, wrong).block(function.body);
}

}  // namespace tenon::kernel
