#include "tenon/kernel/passes/arena.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "tenon/base/dim_fold.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

struct Life {
  SlotId slot;
  std::int64_t bytes;
  std::size_t first, last;  // statements of the outermost block
};

std::vector<Life> lives(const Function& function) {
  std::vector<Life> found(function.slots.size());
  for (std::size_t at = 0; at < function.body.size(); ++at)
    visit_slots(function.body[at], [&](SlotId slot, bool) {
      Life& life = found[slot];
      if (life.bytes == 0) life.first = at;
      life.last = at;
      life.slot = slot;
      // One line between neighbours: what runs over the end of one in whole registers stays out of the other's line.
      life.bytes = Slot::line;
      if (const auto known = function.slots[slot].bytes_in_lines().try_value()) life.bytes += *known;
    });
  std::erase_if(found, [&](const Life& life) {
    return life.bytes == 0 || function.slots[life.slot].place != Slot::Place::arena;
  });
  return found;
}

// The largest first, each at the lowest place that is free while it lives. Memory is within a few percent of the most
// that lives at once; time grows with the square of their number.
void place_largest_first(Function& function, std::vector<Life> open) {
  std::vector<Life> placed;
  std::ranges::stable_sort(open, std::ranges::greater(), &Life::bytes);
  for (const Life& life : open) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // by those that live at the same time
    for (const Life& other : placed)
      if (other.first <= life.last && life.first <= other.last) {
        const std::int64_t begin = function.slots[other.slot].arena_offset.value();
        taken.emplace_back(begin, begin + other.bytes);
      }
    std::ranges::sort(taken);
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + life.bytes <= begin) break;
      offset = std::max(offset, end);
    }
    function.slots[life.slot].arena_offset = offset;
    function.arena_bytes = max(function.arena_bytes, offset + life.bytes);
    placed.push_back(life);
  }
}

// Free memory below the end of what was ever taken: pieces that do not touch, by offset and by size.
class FreeMemory {
 public:
  // The smallest piece that is large enough, or what lies at the end.
  std::int64_t take(std::int64_t bytes) {
    std::int64_t at = end_;
    if (const auto found = by_size_.lower_bound({bytes, 0}); found != by_size_.end()) {
      const auto [size, offset] = *found;
      remove(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    if (!by_offset_.empty()) {
      const auto [offset, size] = *by_offset_.rbegin();
      if (offset + size == end_) remove(at = offset, size);
    }
    end_ = at + bytes;
    return at;
  }
  void give_back(std::int64_t offset, std::int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before, bytes += size;
      }
    }
    add(offset, bytes);
  }
  std::int64_t end() const { return end_; }

 private:
  void add(std::int64_t offset, std::int64_t size) { by_offset_.emplace(offset, size), by_size_.emplace(size, offset); }
  void remove(std::int64_t offset, std::int64_t size) { by_offset_.erase(offset), by_size_.erase({size, offset}); }

  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

// In the order of statements, as an allocator would: n log n.
void place_in_order(Function& function, std::vector<Life> open) {
  std::ranges::stable_sort(
      open, [](const Life& x, const Life& y) { return std::pair(x.first, -x.bytes) < std::pair(y.first, -y.bytes); });
  std::set<std::pair<std::size_t, std::size_t>> living;  // by their last statement
  FreeMemory memory;
  for (std::size_t i = 0; i < open.size(); ++i) {
    while (!living.empty() && living.begin()->first < open[i].first) {
      const Life& over = open[living.begin()->second];
      memory.give_back(function.slots[over.slot].arena_offset.value(), over.bytes);
      living.erase(living.begin());
    }
    function.slots[open[i].slot].arena_offset = memory.take(open[i].bytes);
    living.emplace(open[i].last, i);
  }
  function.arena_bytes = memory.end();
}

// Those whose size is known only when the code runs, behind the others: in the memory of one of the same size that
// lives no more, the first of these, or in more of it. n log n.
void place_sized(Function& function, std::vector<Life> open) {
  std::ranges::stable_sort(open, {}, &Life::first);
  struct Rooms {  // of one size, by their numbers
    std::vector<Dim> offsets = {};
    std::set<std::pair<std::size_t, std::size_t>> taken = {};  // by the last statement that needs them
    std::set<std::size_t> free = {};
  };
  std::unordered_map<Hash128, Rooms> of_size;
  for (const Life& life : open) {
    Slot& slot = function.slots[life.slot];
    const Dim bytes = slot.bytes_in_lines() + Slot::line;
    Hasher size;
    bytes.hash(size);
    Rooms& rooms = of_size[size.finish()];
    while (!rooms.taken.empty() && rooms.taken.begin()->first < life.first)
      rooms.free.insert(rooms.taken.extract(rooms.taken.begin()).value().second);
    if (rooms.free.empty()) {
      rooms.free.insert(rooms.offsets.size());
      rooms.offsets.push_back(function.arena_bytes);
      function.arena_bytes = function.arena_bytes + bytes;
    }
    const std::size_t room = rooms.free.extract(rooms.free.begin()).value();
    slot.arena_offset = rooms.offsets[room];
    rooms.taken.emplace(life.last, room);
  }
}

// A size in f64, which does not wrap around, as an i64: the largest there is stands for what is more.
Expr about(const Dim& size) {
  using Kind = Dim::Step::Kind;
  const auto of_leaf = [](const Dim::Step& step) {
    const Dim leaf = step.kind == Kind::number ? Dim(step.value) : Dim::variable(static_cast<SizeVar>(step.value));
    return convert(DType::f64, kernel::size(leaf));
  };
  const Expr real = folded<Expr>(size, of_leaf, [](Kind kind, const Expr& x, const Expr& y) {
    switch (kind) {
      case Kind::add:
        return x + y;
      case Kind::mul:
        return x * y;
      case Kind::floor_div:
        return x / binary(Binary::max, y, constant_like(y, 1));
      case Kind::modulo:
        return y;
      case Kind::min:
        return binary(Binary::min, x, y);
      default:
        return binary(Binary::max, x, y);
    }
  });
  return convert(DType::i64, real);
}

// Memory for what has as many elements as running tells is asked for once their sizes are found, in front of the first
// statement that touches it. What does not live at once has one number, which is that of a block.
class AskForFound {
 public:
  AskForFound(Function& function, std::vector<Life> open) : function_(function) {
    std::ranges::stable_sort(open, {}, &Life::first);
    std::set<std::pair<std::size_t, std::int64_t>> numbers;  // by the last statement that needs them
    for (const Life& life : open) {
      auto number = static_cast<std::int64_t>(numbers.size());
      if (!numbers.empty() && numbers.begin()->first < life.first)
        number = numbers.extract(numbers.begin()).value().second;
      numbers.emplace(life.last, number);
      waiting_.emplace(life.slot, number);
      function.slots[life.slot].place = Slot::Place::found;
      function.slots[life.slot].argument = static_cast<std::uint32_t>(function.slots.size());
      function.slots.push_back({DType::i64, 1, Slot::Place::size});
    }
  }
  void run() {
    if (!waiting_.empty()) block(function_.body);
  }

 private:
  void block(Block& statements) {
    Block result;
    for (Statement& s : statements) {
      std::set<SlotId> now;
      visit_slots(s, [&](SlotId slot, bool) {
        if (waiting_.contains(slot) && all_found(function_.slots[slot].elements)) now.insert(slot);
      });
      for (const SlotId slot : now) result.push_back(asked(slot));
      for_each_place(s, [&](SlotId slot, const Expr&, bool written) {
        if (written && function_.slots[slot].place == Slot::Place::size) found_.insert(slot);
      });
      for_each_block(s, [&](Block& inside) { block(inside); });
      result.push_back(std::move(s));
    }
    statements = std::move(result);
  }
  bool all_found(const Dim& size) const {
    bool all = true;
    size.visit_variables([&](SizeVar v) { all = all && (!is_found_size(v) || found_.contains(slot_of_size(v))); });
    return all;
  }
  Call asked(SlotId id) {
    const Slot& slot = function_.slots[id];
    const Dim bytes = slot.bytes() + 2 * Slot::line;
    Call call{.function = "tenon_found_memory",
              .arguments = {{Expr(waiting_.at(id)), {}}, {kernel::size(bytes), {}}, {about(bytes), {}}}};
    call.result = slot.argument, call.result_offset = Expr(std::int64_t(0));
    waiting_.erase(id);
    return call;
  }

  Function& function_;
  std::map<SlotId, std::int64_t> waiting_;  // and their numbers
  std::set<SlotId> found_;                  // sizes
};

// A frame is as large as all local slots together, of which only loops need to be fast: of many, others go to the
// arena, and so do those of loops once there are too many for a stack.
void bound_locals(Function& function, const Target& target) {
  struct Use {
    int statements = 0;
    bool in_loop = false;
  };
  std::map<SlotId, Use> uses;
  const std::set<SlotId> own = own_slots(function.body);
  for (const Statement& s : function.body) {
    const bool loops = std::holds_alternative<For>(s.held()) || std::holds_alternative<While>(s.held());
    std::set<SlotId> touched;
    visit_slots(s, [&](SlotId slot, bool) {
      if (function.slots[slot].place == Slot::Place::local) touched.insert(slot);
    });
    for (const SlotId slot : touched) ++uses[slot].statements, uses[slot].in_loop |= loops;
  }
  const auto bytes = [&](SlotId slot) { return function.slots[slot].bytes_in_lines().value(); };
  std::int64_t all = 0, in_loops = 0;
  for (const auto& [slot, use] : uses) all += bytes(slot);
  if (all <= target.small_frame_bytes) return;
  for (const auto& [slot, use] : uses) {
    if (own.contains(slot)) continue;
    if (use.in_loop) in_loops += bytes(slot);
    if (use.in_loop ? in_loops > target.largest_frame_bytes : use.statements > 1)
      function.slots[slot].place = Slot::Place::arena;
  }
}

}  // namespace

void lay_out_arena(Function& function, const Target& target) {
  bound_locals(function, target);
  constexpr std::size_t many = 512;
  function.arena_bytes = 0;
  std::vector<Life> open = lives(function), sized, found;
  std::erase_if(open, [&](const Life& life) {
    const Dim& elements = function.slots[life.slot].elements;
    if (!elements.known()) (has_found_size(elements) ? found : sized).push_back(life);
    return !elements.known();
  });
  if (open.size() > many)
    place_in_order(function, open);
  else
    place_largest_first(function, open);
  place_sized(function, std::move(sized));
  AskForFound(function, std::move(found)).run();
}

}  // namespace tenon::kernel
