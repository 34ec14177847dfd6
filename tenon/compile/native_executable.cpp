#include "tenon/compile/native_executable.h"

#include <fmt/format.h>

#include <cstring>

#include "tenon/base/error.h"
#include "tenon/compile/codegen.h"
#include "tenon/compile/list_values.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/rows.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/host_calls.h"
#include "tenon/runtime/lists.h"
#include "tenon/runtime/subnormals.h"

namespace tenon {
namespace {

// Memory for the intermediate values of a call. A thread keeps its last block: calls in a row take no lock and find it
// in their caches.
class Arena {
 public:
  explicit Arena(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    Kept& kept = mine;
    if (kept.bytes >= bytes && !kept.busy) {
      kept.busy = borrowed_ = true;
      block_ = kept.block;
      return;
    }
    block_ = allocate_block(bytes);
  }
  ~Arena() {
    Kept& kept = mine;
    if (borrowed_) {
      kept.busy = false;
    } else if (block_ != nullptr && !kept.busy && bytes_ > kept.bytes && bytes_ <= most_kept) {
      free_block(kept.block, kept.bytes);
      kept.block = block_;
      kept.bytes = bytes_;
    } else {
      free_block(block_, bytes_);
    }
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  void* block() const { return block_; }

 private:
  static constexpr std::size_t most_kept = std::size_t(64) << 20;
  struct Kept {
    ~Kept() { free_block(block, bytes); }
    void* block = nullptr;
    std::size_t bytes = 0;
    bool busy = false;
  };
  static thread_local Kept mine;
  std::size_t bytes_;
  void* block_ = nullptr;
  bool borrowed_ = false;
};
thread_local Arena::Kept Arena::mine;

// The largest of a program's intermediate values; null where there is none.
const kernel::Slot* largest_value(const kernel::Function& function) {
  const kernel::Slot* largest = nullptr;
  for (const kernel::Slot& s : function.slots)
    if (s.place == kernel::Slot::Place::arena && (largest == nullptr || s.bytes() > largest->bytes())) largest = &s;
  return largest;
}

// Where the user asked for the statement that writes a slot.
class LineOfWriter {
 public:
  explicit LineOfWriter(kernel::SlotId slot) : slot_(slot) {}
  void find(const kernel::Block& block) {
    for (const kernel::Statement& s : block) {
      std::visit([&](const auto& held) { look_at(s, held); }, s.held());
      kernel::for_each_block(s, [&](const kernel::Block& inside) { find(inside); });
    }
  }
  Source where;

 private:
  template <class Held>
  void look_at(const kernel::Statement& s, const Held& held) {
    if constexpr (requires { held.where; }) {
      if (where.known()) return;
      kernel::visit_slots(s, [&](kernel::SlotId slot, bool write) {
        if (write && slot == slot_) where = held.where;
      });
    }
  }
  kernel::SlotId slot_;
};

class NativeExecutable final : public Executable, public NativeForm, public Unit {
 public:
  NativeExecutable(const NativeParts& parts, Units units, std::span<const void* const> objects, const Source& largest)
      : units_(std::move(units)),
        code_(parts.code, objects),
        arena_bytes_(static_cast<std::size_t>(parts.arena_bytes)),
        largest_(parts.largest),
        largest_at_(largest),
        makes_lists_(parts.makes_lists) {
    const auto operands = [&](const std::vector<Type>& types, std::vector<Operand>& to) {
      for (const Type& type : types) {
        to.push_back({type.dtype, type.shape.dims()});
        lists_.push_back(type.is_list() ? type.element : nullptr);
        takes_lists_ = takes_lists_ || type.is_list();
      }
    };
    operands(parts.inputs, inputs);
    operands(parts.outputs, outputs);
    shared = parts.shared;
  }

  const NativeForm* native() const override { return takes_lists_ ? nullptr : this; }

  const Unit* unit() const override { return makes_lists_ || takes_lists_ ? nullptr : this; }

  std::int32_t call_within(void* const* addresses) const noexcept override {
    try {
      const Arena arena(arena_bytes_);
      return code_.entry(addresses, arena.block(), Context::current().flag());
    } catch (const MemoryError&) {
      return lacked_memory;
    }
  }

  void call(void* const* addresses, std::span<const std::int64_t>) const override {
    if (!makes_lists_) [[likely]]
      return enter(addresses, nullptr);
    const ListPool lists;
    enter(addresses, &lists);
  }

  // Lists are copied in and out.
  std::vector<Value> run(std::span<const Value> given, std::span<const std::int64_t>) const override {
    check(given);
    std::optional<ListPool> lists;
    if (makes_lists_ || takes_lists_) lists.emplace();
    std::vector<Value> results;
    results.reserve(outputs.size());
    std::vector<Buffer> copies;
    copies.reserve(given.size());  // once: what is in it stays where it is
    std::vector<std::int64_t> handles(takes_lists_ ? lists_.size() : 0);
    std::vector<void*> addresses;
    addresses.reserve(lists_.size());
    for (const Value& value : given) {
      const std::size_t i = addresses.size();
      if (const auto* list = std::get_if<ListValue>(&value)) {
        handles[i] = list_handle(*list);
        addresses.push_back(&handles[i]);
        continue;
      }
      const auto* b = std::get_if<Buffer>(&value);
      if (!b->contiguous()) b = &copies.emplace_back(b->contiguous_copy());
      addresses.push_back(const_cast<std::byte*>(b->data()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (lists_[given.size() + i] != nullptr) {
        addresses.push_back(&handles[given.size() + i]);
        results.emplace_back(Buffer());  // until it is known
        continue;
      }
      Buffer out = Buffer::allocate(outputs[i].dtype, Shape(outputs[i].dims).sizes());
      if (i < shared.size() && shared[i]) {
        std::memcpy(out.data(), addresses[*shared[i]], out.bytes());
        addresses[*shared[i]] = out.data();
      }
      addresses.push_back(out.data());
      results.emplace_back(std::move(out));
    }
    enter(addresses.data(), lists ? &*lists : nullptr);
    for (std::size_t i = 0; i < outputs.size() && takes_lists_; ++i)
      if (const auto& element = lists_[given.size() + i]) results[i] = list_value(handles[given.size() + i], *element);
    return results;
  }

 private:
  void enter(void* const* addresses, const ListPool* lists) const {
    const Context& context = Context::current();
    context.check();
    const Arena arena = room();
    const SubnormalScope flushed(true);
    const std::int32_t status = code_.entry(addresses, arena.block(), context.flag());
    if (status != 0 || context.cancelled()) [[unlikely]]
      fail(status, lists);
  }

  Arena room() const {
    try {
      return Arena(arena_bytes_);
    } catch (const MemoryError& e) {
      throw MemoryError(
          fmt::format("{} They are for the intermediate values of a compiled function; the largest has {}.", e.asked(),
                      largest_),
          e.advice(), largest_at_.known() ? largest_at_ : e.where());
    }
  }

  [[noreturn]] static void fail(std::int32_t status, const ListPool* lists) {
    if ((status & host_call_failed) != 0) rethrow_host_failure();
    if (lists != nullptr && lists->failure) std::rethrow_exception(lists->failure);
    if ((status & lacked_memory) != 0)
      throw MemoryError("a matrix product, or a function that is called, had no memory for its intermediate values.");
    Context::throw_cancelled();
  }

  void check(std::span<const Value> given) const {
    if (given.size() != inputs.size())
      throw RuntimeError(fmt::format("a compiled program takes {} arrays, {} are given.", inputs.size(), given.size()));
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (lists_[i] != nullptr && type_of(given[i]) == Type::list(*lists_[i])) continue;
      const auto* b = std::get_if<Buffer>(&given[i]);
      if (lists_[i] != nullptr || b == nullptr || b->dtype() != inputs[i].dtype ||
          !std::ranges::equal(b->dims(), inputs[i].dims, [](std::int64_t size, const Dim& d) { return d == size; }))
        throw RuntimeError(fmt::format("a compiled program takes {} as input {}, {} is given.",
                                       lists_[i] != nullptr
                                           ? Type::list(*lists_[i]).text()
                                           : Type::array(inputs[i].dtype, Shape(inputs[i].dims)).text(),
                                       i, type_of(given[i]).text()));
    }
  }

  Units units_;
  NativeCode code_;
  std::size_t arena_bytes_;
  std::string largest_;
  Source largest_at_;
  bool makes_lists_, takes_lists_ = false;
  std::vector<std::shared_ptr<const Type>> lists_;  // the element of each input and output that is a list
};

}  // namespace

Source line_of_largest(const kernel::Function& function) {
  const kernel::Slot* largest = largest_value(function);
  if (largest == nullptr) return {};
  LineOfWriter line(static_cast<kernel::SlotId>(largest - function.slots.data()));
  line.find(function.body);
  return line.where;
}

NativeParts native_parts(const Program& program, const kernel::Function& function,
                         std::vector<std::optional<std::size_t>> shared, std::vector<Hash128> units) {
  const kernel::Slot* largest = largest_value(function);
  return {
      .code = generate_code(function),
      .arena_bytes = static_cast<std::uint64_t>(function.arena_bytes),
      .largest = largest == nullptr ? "" : fmt::format("{} elements of {}", largest->elements, name(largest->dtype)),
      .makes_lists = function.lists,
      .shared = std::move(shared),
      .inputs = program.input_types(),
      .outputs = program.output_types(),
      .units = std::move(units)};
}

std::shared_ptr<const Executable> native_executable(const NativeParts& parts, Units units,
                                                    std::span<const void* const> objects, const Source& largest) {
  return std::make_shared<NativeExecutable>(parts, std::move(units), objects, largest);
}

}  // namespace tenon
