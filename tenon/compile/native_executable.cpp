#include "tenon/compile/native_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tenon/base/dim_code.h"
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
    if (s.place == kernel::Slot::Place::arena &&
        (largest == nullptr || kernel::estimate(s.bytes()) > kernel::estimate(largest->bytes())))
      largest = &s;
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
  NativeExecutable(const NativeParts& parts, Units units, std::span<const void* const> objects,
                   OfOtherSizes of_other_sizes, const Source& largest)
      : units_(std::move(units)),
        code_(parts.code, objects),
        arena_bytes_(parts.arena_bytes),
        of_other_sizes_(std::move(of_other_sizes)),
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
    for (const Operand& out : outputs)
      for (const Dim& d : out.dims) output_sizes_.emplace_back(d);
    shared = parts.shared;
    sizes = parts.sizes;
    for (const NativeParts::AtLeast& limit : parts.limits) limits_.emplace_back(DimCode(limit.size), limit.least);
  }

  const NativeForm* native() const override { return takes_lists_ ? nullptr : this; }

  const Unit* unit() const override { return makes_lists_ || takes_lists_ || sizes > 0 ? nullptr : this; }

  std::int32_t call_within(void* const* addresses) const noexcept override {
    try {
      const Arena arena(arena_bytes({}));
      return code_.entry(addresses, arena.block(), Context::current().flag());
    } catch (const MemoryError&) {
      return lacked_memory;
    }
  }

  void call(void* const* addresses, std::span<const std::int64_t> given) const override {
    if (sizes > 0) return call_sized(addresses, given);
    if (!makes_lists_) [[likely]]
      return enter(addresses, {}, nullptr);
    const ListPool lists;
    enter(addresses, {}, &lists);
  }

  // Lists are copied in and out.
  std::vector<Value> run(std::span<const Value> given, std::span<const std::int64_t> of_sizes) const override {
    check(given, of_sizes);
    if (sizes > 0 && !holds_for(of_sizes)) return of_other_sizes_(of_sizes)->run(given);
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
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0, size = 0; i < outputs.size(); ++i) {
      if (lists_[given.size() + i] != nullptr) {
        addresses.push_back(&handles[given.size() + i]);
        results.emplace_back(Buffer());  // until it is known
        continue;
      }
      dims.clear();
      for (std::size_t k = 0; k < outputs[i].dims.size(); ++k) dims.push_back(output_sizes_[size++](of_sizes));
      Buffer out = Buffer::allocate(outputs[i].dtype, dims);
      if (i < shared.size() && shared[i]) {
        std::memcpy(out.data(), addresses[*shared[i]], out.bytes());
        addresses[*shared[i]] = out.data();
      }
      addresses.push_back(out.data());
      results.emplace_back(std::move(out));
    }
    if (sizes > 0) addresses.push_back(const_cast<std::int64_t*>(of_sizes.data()));
    enter(addresses.data(), of_sizes, lists ? &*lists : nullptr);
    for (std::size_t i = 0; i < outputs.size() && takes_lists_; ++i)
      if (const auto& element = lists_[given.size() + i])
        results[i] = list_value(handles[given.size() + i], at_sizes(*element, of_sizes));
    return results;
  }

 private:
  static std::vector<std::int64_t> sizes_of(const Operand& operand, std::span<const std::int64_t> of_sizes) {
    std::vector<std::int64_t> dims;
    for (const Dim& d : operand.dims) dims.push_back(d.known() ? d.value() : DimCode(d)(of_sizes));
    return dims;
  }
  Type at_sizes(const Type& type, std::span<const std::int64_t> of_sizes) const {
    return sizes == 0 ? type : type.map_dims([&](const Dim& d) { return Dim(DimCode(d)(of_sizes)); });
  }
  bool holds_for(std::span<const std::int64_t> of_sizes) const {
    return std::ranges::all_of(limits_, [&](const auto& limit) { return limit.first(of_sizes) >= limit.second; });
  }
  std::size_t arena_bytes(std::span<const std::int64_t> of_sizes) const {
    return static_cast<std::size_t>(arena_bytes_(of_sizes));
  }

  // The code finds the sizes behind the addresses.
  void call_sized(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    if (of_sizes.size() != sizes) throw VerifyError("a compiled program is called without its sizes.");
    if (!holds_for(of_sizes)) return call_other(addresses, of_sizes);
    const std::size_t count = inputs.size() + outputs.size();
    std::array<void*, 32> few;
    std::vector<void*> many(count + 1 > few.size() ? count + 1 : 0);
    void** all = many.empty() ? few.data() : many.data();
    std::copy_n(addresses, count, all);
    all[count] = const_cast<std::int64_t*>(of_sizes.data());
    std::optional<ListPool> lists;
    if (makes_lists_) lists.emplace();
    enter(all, of_sizes, lists ? &*lists : nullptr);
  }
  void call_other(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    const std::shared_ptr<const Executable> other = of_other_sizes_(of_sizes);
    if (const NativeForm* native = other->native(); native != nullptr && native->shared == shared)
      return native->call(addresses);
    std::vector<Value> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Buffer copy = Buffer::allocate(inputs[i].dtype, sizes_of(inputs[i], of_sizes));
      std::memcpy(copy.data(), addresses[i], copy.bytes());
      given.emplace_back(std::move(copy));
    }
    const std::vector<Value> made = other->run(given);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& result = std::get<Buffer>(made[i]);
      std::memcpy(addresses[inputs.size() + i], result.contiguous_copy().data(), result.bytes());
    }
  }

  void enter(void* const* addresses, std::span<const std::int64_t> of_sizes, const ListPool* lists) const {
    const Context& context = Context::current();
    context.check();
    const Arena arena = room(of_sizes);
    const SubnormalScope flushed(true);
    const std::int32_t status = code_.entry(addresses, arena.block(), context.flag());
    if (status != 0 || context.cancelled()) [[unlikely]]
      fail(status, lists);
  }

  Arena room(std::span<const std::int64_t> of_sizes) const {
    try {
      return Arena(arena_bytes(of_sizes));
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

  void check(std::span<const Value> given, std::span<const std::int64_t> of_sizes) const {
    if (of_sizes.size() != sizes) throw VerifyError("run: sizes are missing.");
    if (given.size() != inputs.size())
      throw RuntimeError(fmt::format("a compiled program takes {} arrays, {} are given.", inputs.size(), given.size()));
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (lists_[i] != nullptr && type_of(given[i]) == Type::list(at_sizes(*lists_[i], of_sizes))) continue;
      const auto* b = std::get_if<Buffer>(&given[i]);
      if (lists_[i] != nullptr || b == nullptr || b->dtype() != inputs[i].dtype ||
          !std::ranges::equal(b->dims(), inputs[i].dims, [&](std::int64_t size, const Dim& d) {
            return size == (d.known() ? d.value() : DimCode(d)(of_sizes));
          }))
        throw RuntimeError(fmt::format("a compiled program takes {} as input {}, {} is given.",
                                       lists_[i] != nullptr
                                           ? Type::list(*lists_[i]).text()
                                           : Type::array(inputs[i].dtype, Shape(inputs[i].dims)).text(),
                                       i, type_of(given[i]).text()));
    }
  }

  Units units_;
  NativeCode code_;
  DimCode arena_bytes_;
  std::vector<DimCode> output_sizes_;  // of all outputs, one behind the other
  std::vector<std::pair<DimCode, std::int64_t>> limits_;
  OfOtherSizes of_other_sizes_;
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

namespace {

// What has to hold of sizes that vary: what the Function asks for, and no array is empty.
std::vector<NativeParts::AtLeast> limits_of(const Program& program, const kernel::Function& function) {
  std::vector<NativeParts::AtLeast> limits;
  const auto add = [&](const Dim& size, std::int64_t least) {
    const auto is_same = [&](const NativeParts::AtLeast& l) { return l.size == size && l.least == least; };
    if (!size.known() && std::ranges::none_of(limits, is_same)) limits.push_back({size, least});
  };
  for (SizeVar s = 0; s < function.sizes; ++s) add(Dim::variable(s), 1);
  for (const Dim& size : function.not_negative) add(size, 0);
  for (const Type& type : program.parts().types) type.visit_dims([&](const Dim& d) { add(d, 1); });
  for (const Dim& size : function.not_empty) add(size, 1);
  return limits;
}

}  // namespace

NativeParts native_parts(const Program& program, const kernel::Function& function,
                         std::vector<std::optional<std::size_t>> shared, std::vector<Hash128> units) {
  const kernel::Slot* largest = largest_value(function);
  return {.code = generate_code(function),
          .sizes = function.sizes,
          .limits = limits_of(program, function),
          .arena_bytes = function.arena_bytes,
          .largest = largest == nullptr
                         ? ""
                         : fmt::format("{} elements of {}", largest->elements.text(), name(largest->dtype)),
          .makes_lists = function.lists,
          .shared = std::move(shared),
          .inputs = program.input_types(),
          .outputs = program.output_types(),
          .units = std::move(units)};
}

std::shared_ptr<const Executable> native_executable(const NativeParts& parts, Units units,
                                                    std::span<const void* const> objects, OfOtherSizes of_other_sizes,
                                                    const Source& largest) {
  return std::make_shared<NativeExecutable>(parts, std::move(units), objects, std::move(of_other_sizes), largest);
}

}  // namespace tenon
