#include "tenon/compile/native/native_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tenon/base/dim_code.h"
#include "tenon/base/error.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/compile/native/list_values.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/host_calls.h"
#include "tenon/runtime/lists/lists.h"
#include "tenon/runtime/masks/masks.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/runtime/memory/found_memory.h"
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

std::string as_elements(const Dim& count, DType dtype) {
  return fmt::format("{} elements of {}", count.text(), name(dtype));
}

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

// CallValues; of outputs whose size is found as the code runs as much as there may be, in as many axes.
std::vector<Dim> call_values(const NativeParts& parts) {
  std::vector<Dim> values{parts.arena_bytes};
  for (std::size_t i = 0; i < parts.outputs.size(); ++i) {
    if (!parts.outputs[i].is_array()) continue;
    const auto& dims = parts.outputs[i].shape.dims();
    if (parts.found > 0 && !sizes_from(static_cast<SizeVar>(parts.sizes), {&parts.outputs[i], 1}).empty()) {
      values.push_back(parts.rooms[i]);
      values.insert(values.end(), dims.size() - 1, 1);
    } else {
      values.insert(values.end(), dims.begin(), dims.end());
    }
  }
  return values;
}

class NativeExecutable final : public Executable, public NativeForm, public Unit {
 public:
  NativeExecutable(const NativeParts& parts, Units units, std::span<const void* const> objects,
                   OfOtherSizes of_other_sizes, ByEvaluator by_evaluator, LineOfLargest line_of_largest)
      : units_(std::move(units)),
        code_(parts.code, objects),
        found_(parts.found),
        given_(parts.given),
        of_other_sizes_(std::move(of_other_sizes)),
        by_evaluator_(std::move(by_evaluator)),
        largest_(parts.largest),
        line_of_largest_(std::move(line_of_largest)),
        makes_lists_(parts.makes_lists),
        finds_memory_(parts.finds_memory),
        calls_host_(objects.size() > units_.size()) {
    const auto operands = [&](const std::vector<Type>& types, std::vector<Operand>& to) {
      for (const Type& type : types) {
        to.push_back({type.dtype, type.shape.dims()});
        lists_.push_back(type.is_list() ? type.element : nullptr);
        takes_lists_ = takes_lists_ || type.is_list();
      }
    };
    operands(parts.inputs, inputs);
    operands(parts.outputs, outputs);
    for (const Operand& in : inputs)
      for (const Dim& d : in.dims) input_sizes_.emplace_back(d);
    for (const Operand& out : outputs)
      for (const Dim& d : out.dims) output_sizes_.emplace_back(d);
    shared = parts.shared;
    sizes = parts.sizes;
    for (const Type& type : parts.outputs)
      of_found_size_.push_back(!sizes_from(static_cast<SizeVar>(sizes), {&type, 1}).empty());
    for (const CallSizes::AtLeast& limit : parts.limits) limits_.emplace_back(DimCode(limit.size), limit.least);
    for (const Dim& value : call_values(parts)) {
      values_.emplace_back(value);
      if (sizes == 0) known_values_.push_back(value.value());
    }
  }

  const NativeForm* native() const override {
    const bool donated = std::ranges::any_of(shared, [](const auto& input) { return input.has_value(); });
    return takes_lists_ || found_ > 0 || (calls_host_ && !donated) ? nullptr : this;
  }

  const Unit* unit() const override { return makes_lists_ || takes_lists_ || found_ > 0 ? nullptr : this; }

  std::int32_t call_within(void* const* addresses) const noexcept override {
    try {
      CallValues varying;
      if (sizes > 0) {
        const std::span<const std::int64_t> of_sizes(
            static_cast<const std::int64_t*>(addresses[inputs.size() + outputs.size()]), sizes);
        if (!work_out(of_sizes, varying)) return call_other_within(addresses, of_sizes);
      }
      std::optional<FoundMemory> memory;
      if (finds_memory_) memory.emplace();
      const Arena arena(static_cast<std::size_t>(sizes > 0 ? *varying.begin() : known_values_[0]));
      return code_.entry(addresses, arena.block(), Context::current().flag());
    } catch (const MemoryError&) {
      return lacked_memory;
    } catch (...) {  // a size is none
      return sizes_differ;
    }
  }

  void call(void* const* addresses, std::span<const std::int64_t> given) const override {
    if (sizes > 0) return call_sized(addresses, given);
    std::optional<ListPool> lists;
    if (makes_lists_) lists.emplace();
    std::optional<FoundMemory> memory;
    if (finds_memory_) memory.emplace();
    if (!enter(addresses, known_values_[0], lists ? &*lists : nullptr)) [[unlikely]]
      call_evaluator(addresses, {});
  }

  bool work_out(std::span<const std::int64_t> of_sizes, CallValues& to) const override {
    if (of_sizes.size() != sizes) throw VerifyError("a compiled program is called without its sizes.");
    std::int64_t* const values = to.room(values_.size());
    if (code_.sizes(of_sizes.data(), values) != 0) [[likely]]
      return true;
    if (!holds_for(of_sizes)) return false;
    std::ranges::transform(values_, values, [&](const DimCode& value) { return value(of_sizes); });
    return true;
  }
  // The code finds the sizes behind the addresses.
  void call(void** addresses, std::span<const std::int64_t> of_sizes, const CallValues& values) const override {
    addresses[inputs.size() + outputs.size()] = const_cast<std::int64_t*>(of_sizes.data());
    std::optional<ListPool> lists;
    if (makes_lists_) lists.emplace();
    std::optional<FoundMemory> memory;
    if (finds_memory_) memory.emplace();
    if (!enter(addresses, *values.begin(), lists ? &*lists : nullptr)) [[unlikely]]
      call_evaluator(addresses, of_sizes);
  }

  // Lists are copied in and out.
  std::vector<Value> run(std::span<const Value> given, std::span<const std::int64_t> of_sizes) const override {
    check(given, of_sizes);
    CallValues varying;
    if (sizes > 0 && !work_out(of_sizes, varying)) return of_other_sizes_(of_sizes)->run(given);
    const std::int64_t* const values = sizes > 0 ? varying.begin() : known_values_.data();
    std::optional<ListPool> lists;
    if (makes_lists_ || takes_lists_) lists.emplace();
    std::vector<Value> results;
    results.reserve(outputs.size());
    std::vector<Buffer> copies;
    copies.reserve(given.size());  // once: what is in it stays where it is
    std::vector<const Buffer*> arrays;
    std::vector<std::int64_t> handles(takes_lists_ ? lists_.size() : 0);
    std::vector<void*> addresses;
    addresses.reserve(lists_.size() + 2);  // those of sizes behind them
    for (const Value& value : given) {
      const std::size_t i = addresses.size();
      if (const auto* list = std::get_if<ListValue>(&value)) {
        handles[i] = list_handle(*list);
        addresses.push_back(&handles[i]);
        continue;
      }
      const auto* b = std::get_if<Buffer>(&value);
      if (!b->contiguous()) b = &copies.emplace_back(b->contiguous_copy());
      if (calls_host_) arrays.push_back(b);
      addresses.push_back(const_cast<std::byte*>(b->data()));
    }
    const std::int64_t* dims = values + 1;
    for (std::size_t i = 0; i < outputs.size(); dims += outputs[i++].dims.size()) {
      if (lists_[given.size() + i] != nullptr) {
        addresses.push_back(&handles[given.size() + i]);
        results.emplace_back(Buffer());  // until it is known
        continue;
      }
      if (is_given(i)) {
        addresses.push_back(nullptr);
        results.emplace_back(Buffer());
        continue;
      }
      Buffer out = Buffer::allocate(outputs[i].dtype, std::span(dims, outputs[i].dims.size()));
      if (i < shared.size() && shared[i]) {
        std::memcpy(out.data(), addresses[*shared[i]], out.bytes());
        addresses[*shared[i]] = out.data();
      }
      addresses.push_back(out.data());
      results.emplace_back(std::move(out));
    }
    std::vector<std::int64_t> all;
    if (found_ > 0) {
      all.assign(of_sizes.begin(), of_sizes.end());
      all.resize(sizes + found_);
      addresses.push_back(all.data() + sizes);
    }
    if (sizes > 0) addresses.push_back(const_cast<std::int64_t*>(of_sizes.data()));
    std::optional<FoundMemory> memory;
    if (finds_memory_) memory.emplace();
    std::optional<GivenArrays> for_host_calls;
    if (calls_host_) for_host_calls.emplace(std::move(arrays));
    if (!enter(addresses.data(), values[0], lists ? &*lists : nullptr)) [[unlikely]]
      return by_evaluator_(given, of_sizes);
    if (found_ > 0) keep_what_was_found(results, all);
    for (std::size_t i = 0; i < outputs.size() && takes_lists_; ++i)
      if (const auto& element = lists_[given.size() + i])
        results[i] = list_value(handles[given.size() + i], at_sizes(*element, all));
    return results;
  }

 private:
  bool is_found(std::size_t output) const { return found_ > 0 && of_found_size_[output]; }
  bool is_given(std::size_t output) const { return found_ > 0 && given_[output] != 0; }
  // Results in memory of their size, or not much more of it.
  void keep_what_was_found(std::vector<Value>& results, std::span<const std::int64_t> all) const {
    constexpr std::size_t little = 4096;
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0, size = 0; i < outputs.size(); size += outputs[i++].dims.size()) {
      if (!is_found(i) || lists_[inputs.size() + i] != nullptr) continue;
      auto& whole = std::get<Buffer>(results[i]);
      const std::size_t room = is_given(i) ? 0 : whole.bytes();
      dims.clear();
      for (std::size_t k = 0; k < outputs[i].dims.size(); ++k) dims.push_back(output_sizes_[size + k](all));
      if (is_given(i)) {
        whole = FoundMemory::current().take(i, outputs[i].dtype, dims);
        continue;
      }
      whole.keep_first(outputs[i].dtype, dims);
      if (whole.bytes() + little < room / 4) {
        Buffer exact = Buffer::allocate(whole.dtype(), dims);
        std::memcpy(exact.data(), whole.data(), exact.bytes());
        whole = std::move(exact);
      }
    }
  }
  static std::vector<std::int64_t> sizes_of(const Operand& operand, std::span<const std::int64_t> of_sizes) {
    std::vector<std::int64_t> dims;
    for (const Dim& d : operand.dims) dims.push_back(d.known() ? d.value() : DimCode(d)(of_sizes));
    return dims;
  }
  Type at_sizes(const Type& type, std::span<const std::int64_t> of_sizes) const {
    return type.map_dims([&](const Dim& d) { return d.known() ? d : Dim(DimCode(d)(of_sizes)); });
  }
  bool holds_for(std::span<const std::int64_t> of_sizes) const {
    return std::ranges::all_of(limits_, [&](const auto& limit) { return limit.first(of_sizes) >= limit.second; });
  }

  void call_sized(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    CallValues values;
    if (!work_out(of_sizes, values)) return call_other(addresses, of_sizes);
    const std::size_t count = inputs.size() + outputs.size();
    std::array<void*, 32> few;
    std::vector<void*> many(count + 1 > few.size() ? count + 1 : 0);
    void** all = many.empty() ? few.data() : many.data();
    std::copy_n(addresses, count, all);
    call(all, of_sizes, values);
  }
  void call_other(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    const std::shared_ptr<const Executable> other = of_other_sizes_(of_sizes);
    if (const NativeForm* native = other->native(); native != nullptr && native->shared == shared)
      return native->call(addresses);
    give(other->run(copies_of_inputs(addresses, of_sizes)), addresses);
  }
  std::int32_t call_other_within(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    if (!of_other_sizes_) return sizes_differ;
    const std::shared_ptr<const Executable> other = of_other_sizes_(of_sizes);
    const Unit* unit = other->unit();
    return unit == nullptr ? sizes_differ : unit->call_within(addresses);
  }
  void call_evaluator(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    give(by_evaluator_(copies_of_inputs(addresses, of_sizes), of_sizes), addresses);
  }
  std::vector<Value> copies_of_inputs(void* const* addresses, std::span<const std::int64_t> of_sizes) const {
    std::vector<Value> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Buffer copy = Buffer::allocate(inputs[i].dtype, sizes_of(inputs[i], of_sizes));
      std::memcpy(copy.data(), addresses[i], copy.bytes());
      given.emplace_back(std::move(copy));
    }
    return given;
  }
  void give(const std::vector<Value>& made, void* const* addresses) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& result = std::get<Buffer>(made[i]);
      std::memcpy(addresses[inputs.size() + i], result.contiguous_copy().data(), result.bytes());
    }
  }

  // False: sizes that the code has found do not go with each other. Memory that the code asks for is the caller's.
  [[nodiscard]] bool enter(void* const* addresses, std::int64_t arena_bytes, const ListPool* lists) const {
    const Context& context = Context::current();
    context.check();
    const Arena arena = arena_of(static_cast<std::size_t>(arena_bytes));
    const SubnormalScope flushed(true);
    const std::int32_t status = code_.entry(addresses, arena.block(), context.flag());
    if (status == sizes_differ && !context.cancelled()) return false;
    if (status != 0 || context.cancelled()) [[unlikely]]
      fail(status, lists);
    return true;
  }

  Arena arena_of(std::size_t bytes) const {
    try {
      return Arena(bytes);
    } catch (const MemoryError& e) {
      const Source line = line_of_largest_ ? line_of_largest_() : Source();
      throw MemoryError(
          fmt::format("{} They are for the intermediate values of a compiled function; the largest has {}.", e.asked(),
                      largest_),
          e.advice(), line.known() ? line : e.where());
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
    auto size = input_sizes_.begin();
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto next = size + static_cast<std::ptrdiff_t>(inputs[i].dims.size());
      const std::ranges::subrange sizes_here(std::exchange(size, next), next);
      if (lists_[i] != nullptr && type_of(given[i]) == Type::list(at_sizes(*lists_[i], of_sizes))) continue;
      const auto* b = std::get_if<Buffer>(&given[i]);
      if (lists_[i] != nullptr || b == nullptr || b->dtype() != inputs[i].dtype ||
          !std::ranges::equal(b->dims(), sizes_here,
                              [&](std::int64_t given_size, const DimCode& d) { return given_size == d(of_sizes); }))
        throw RuntimeError(fmt::format("a compiled program takes {} as input {}, {} is given.",
                                       lists_[i] != nullptr
                                           ? Type::list(*lists_[i]).text()
                                           : Type::array(inputs[i].dtype, Shape(inputs[i].dims)).text(),
                                       i, type_of(given[i]).text()));
    }
  }

  Units units_;
  NativeCode code_;
  std::vector<DimCode> input_sizes_, output_sizes_;  // of all of them, one behind the other
  std::vector<std::pair<DimCode, std::int64_t>> limits_;
  std::size_t found_;
  std::vector<DimCode> values_;             // of a call
  std::vector<std::int64_t> known_values_;  // where no sizes vary
  std::vector<bool> of_found_size_;         // of each output
  std::vector<std::uint8_t> given_;         // likewise: the code gives its memory
  OfOtherSizes of_other_sizes_;
  ByEvaluator by_evaluator_;
  std::string largest_;
  LineOfLargest line_of_largest_;
  bool makes_lists_, takes_lists_ = false, finds_memory_;
  bool calls_host_;                                 // functions of the user's: they are given arrays, not addresses
  std::vector<std::shared_ptr<const Type>> lists_;  // the element of each input and output that is a list
};

}  // namespace

LineOfLargest line_of_largest(const kernel::Function& function) {
  const kernel::Slot* largest = largest_value(function);
  if (largest == nullptr) return {};
  LineOfWriter line(static_cast<kernel::SlotId>(largest - function.slots.data()));
  line.find(function.body);
  return [where = line.where] { return where; };
}

LineOfLargest line_of_largest(const NativeParts& parts, const std::shared_ptr<const Program>& program) {
  if (program == nullptr || parts.largest.empty()) return {};
  return [largest = parts.largest, program] {
    for (const Eqn& eqn : program->eqns())
      for (const Var v : eqn.out)
        if (const Type& type = program->type(v); as_elements(type.shape.elements(), type.dtype) == largest)
          return eqn.where;
    return Source();
  };
}

namespace {

// Whether a size is that large, and fits in 63 bits, for all sizes of at least 1 that arguments have.
bool always(const Dim& size, std::int64_t least) {
  if (!at_least(size, least)) return false;
  try {
    static_cast<void>(size.evaluate([](SizeVar) { return AnySizes::most; }));
    return true;
  } catch (const ShapeError&) {
    return false;
  }
}

// What has to hold of sizes that vary: what the Function asks for, and no array is empty.
std::vector<CallSizes::AtLeast> limits_of(const Program& program, const kernel::Function& function) {
  std::vector<CallSizes::AtLeast> limits;
  const auto add = [&](const Dim& size, std::int64_t least) {
    const auto is_same = [&](const CallSizes::AtLeast& l) { return l.size == size && l.least == least; };
    bool given = true;  // not what data decide
    size.visit_variables([&](SizeVar s) { given = given && s < function.sizes; });
    if (!size.known() && given && !always(size, least) && std::ranges::none_of(limits, is_same))
      limits.push_back({size, least});
  };
  for (SizeVar s = 0; s < function.sizes; ++s) limits.push_back({Dim::variable(s), 1});
  for (const Dim& size : function.not_negative) add(size, 0);
  for (const Type& type : program.parts().types) type.visit_dims([&](const Dim& d) { add(d, 1); });
  for (const Dim& size : function.not_empty) add(size, 1);
  return limits;
}

}  // namespace

NativeParts native_parts(const Program& program, const kernel::Function& function,
                         std::vector<std::optional<std::size_t>> shared, std::vector<Hash128> units,
                         std::span<const SizeVar> found) {
  const kernel::Slot* largest = largest_value(function);
  std::vector<Dim> rooms(found.empty() ? 0 : program.outputs().size());
  std::vector<std::uint8_t> given(rooms.size(), 1);
  bool finds_memory = false;
  for (const kernel::Slot& slot : function.slots) {
    finds_memory = finds_memory || slot.place == kernel::Slot::Place::found;
    if (const std::size_t output = slot.argument - program.inputs().size();
        slot.place == kernel::Slot::Place::argument && slot.argument >= program.inputs().size() &&
        output < rooms.size())
      rooms[output] = slot.elements, given[output] = 0;
  }
  NativeParts parts{.code = {},
                    .sizes = function.sizes,
                    .limits = limits_of(program, function),
                    .arena_bytes = function.arena_bytes,
                    .largest = largest == nullptr ? "" : as_elements(largest->elements, largest->dtype),
                    .makes_lists = function.lists,
                    .shared = std::move(shared),
                    .inputs = program.input_types(),
                    .found = found.size(),
                    .outputs = renumbered(program.output_types(), found, function.sizes),
                    .rooms = std::move(rooms),
                    .given = std::move(given),
                    .finds_memory = finds_memory,
                    .units = std::move(units)};
  CallSizes of_call;
  if (parts.sizes > 0) of_call = {parts.limits, call_values(parts)};
  parts.code = generate_code(function, of_call);
  return parts;
}

std::shared_ptr<const Executable> native_executable(const NativeParts& parts, Units units,
                                                    std::span<const void* const> objects, OfOtherSizes of_other_sizes,
                                                    ByEvaluator by_evaluator, LineOfLargest line_of_largest) {
  return std::make_shared<NativeExecutable>(parts, std::move(units), objects, std::move(of_other_sizes),
                                            std::move(by_evaluator), std::move(line_of_largest));
}

}  // namespace tenon
