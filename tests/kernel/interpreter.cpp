#include "tests/kernel/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "tenon/base/factors.h"
#include "tenon/kernel/expressions.h"
#include "tenon/runtime/symbols.h"
#include "tests/kernel/values.h"

namespace tenon::kernel {
namespace {

class Interpreter {
 public:
  Interpreter(const Function& f, std::vector<Bytes>& arguments, std::span<const std::int64_t> sizes, Order order,
              std::span<const std::optional<std::uint32_t>> shared)
      : f_(f),
        sizes_(sizes.begin(), sizes.end()),
        order_(order),
        arena_(static_cast<std::size_t>(number(f.arena_bytes)), std::byte(0xff)),
        written_in_arena_(arena_.size(), std::byte(0)) {
    for (const Slot& s : f.slots) {
      of_found_size_.push_back(has_found_size(s.elements));
      if (of_found_size_.back()) {  // there once the size is
        s.elements.visit_variables([&](SizeVar v) {
          if (is_found_size(v)) of_size_.emplace(slot_of_size(v), static_cast<SlotId>(slots_.size()));
        });
        slots_.push_back({nullptr, nullptr, 0});
        continue;
      }
      const auto bytes = static_cast<std::size_t>(number(s.elements)) * size_of(s.dtype);
      Memory memory{nullptr, nullptr, number(s.elements)};
      switch (s.place) {
        case Slot::Place::argument: {
          const auto of = s.argument < shared.size() && shared[s.argument] ? *shared[s.argument] : s.argument;
          if (arguments.at(of).size() < bytes) fail("an argument is too short.");
          memory.at = arguments[of].data();
          written_.push_back(std::make_unique<Bytes>(bytes, std::byte(1)));
          memory.written = written_.back()->data();
          break;
        }
        case Slot::Place::arena: {
          const auto at = static_cast<std::size_t>(number(s.arena_offset));
          if (!arena_.empty() && at + bytes <= arena_.size()) {
            memory.at = arena_.data() + at, memory.written = written_in_arena_.data() + at;
            break;
          }
          [[fallthrough]];
        }
        default:
          memory = of_its_own(s.values, bytes, memory.elements);
      }
      slots_.push_back(memory);
    }
  }
  void run() { block(f_.body); }

 private:
  struct Memory {
    std::byte *at, *written;  // and for each byte, whether it has been written
    std::int64_t elements;
  };

  Memory of_its_own(const Bytes& values, std::size_t bytes, std::int64_t elements) {
    own_.push_back(std::make_unique<Bytes>(values));
    written_.push_back(std::make_unique<Bytes>(values.size(), std::byte(1)));
    own_.back()->resize(bytes, std::byte(0xff)), written_.back()->resize(bytes, std::byte(0));
    return {own_.back()->data(), written_.back()->data(), elements};
  }

  std::int64_t number(const Dim& d) {
    if (d.known()) return d.value();
    return d.evaluate([&](SizeVar v) { return size(v); });
  }
  std::int64_t size(SizeVar v) {
    if (!is_found_size(v)) return sizes_.at(v);
    const auto found = read(slot_of_size(v), 0).as<std::int64_t>();
    const auto& most = f_.slots[slot_of_size(v)].most;
    if (found < 0 || (most && found > number(*most))) fail(fmt::format("m{} is a size of {}.", slot_of_size(v), found));
    return found;
  }

  // Of a size that is found: as large as that is now, with nothing in it since it was found or asked for.
  const Memory& memory(SlotId slot) {
    const Slot& s = f_.slots[slot];
    Memory& m = slots_[slot];
    if (!of_found_size_[slot]) return m;
    const std::int64_t elements = number(s.elements);
    const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(s.dtype);
    if (s.place == Slot::Place::found) {
      const auto block = blocks_.find(read(s.argument, 0).as<std::int64_t>());
      if (block == blocks_.end()) fail(fmt::format("m{} lies in memory that was asked for again since.", slot));
      if (block->second.bytes < bytes) fail(fmt::format("m{} is larger than the memory that it asked for.", slot));
      m = {block->second.memory.at, block->second.memory.written, elements};
    } else if (m.at == nullptr) {
      m = of_its_own({}, std::max<std::size_t>(bytes, 1), elements);
    }
    return m;
  }
  // The address of a block of a number, which is as large as was asked for and is not where any block was before.
  std::int64_t asked_for(std::int64_t number, std::int64_t bytes) {
    if (bytes < 0) fail(fmt::format("memory of {} bytes is asked for.", bytes));
    std::erase_if(blocks_, [&](const auto& block) { return block.second.number == number; });
    asked_ += Slot::line;
    blocks_[asked_] = {number, static_cast<std::size_t>(bytes), of_its_own({}, static_cast<std::size_t>(bytes), 0)};
    return asked_;
  }
  // The bytes of some elements.
  std::pair<std::size_t, std::size_t> within(SlotId slot, std::int64_t offset, std::int64_t count) {
    const Memory& m = memory(slot);
    if (offset < 0 || count < 0 || offset > m.elements - count)
      fail(fmt::format("m{} is accessed at {}, {} elements; it has {}.", slot, offset, count, m.elements));
    const std::size_t size = size_of(f_.slots[slot].dtype);
    return {static_cast<std::size_t>(offset) * size, static_cast<std::size_t>(count) * size};
  }
  const std::byte* to_read(SlotId slot, std::int64_t offset, std::int64_t count = 1) {
    const auto [at, bytes] = within(slot, offset, count);
    if (std::find(slots_[slot].written + at, slots_[slot].written + at + bytes, std::byte(0)) !=
        slots_[slot].written + at + bytes)
      fail(fmt::format("m{} is read at {}, where nothing has been written.", slot, offset));
    return slots_[slot].at + at;
  }
  std::byte* to_write(SlotId slot, std::int64_t offset, std::int64_t count = 1) {
    const auto [at, bytes] = within(slot, offset, count);
    std::fill_n(slots_[slot].written + at, bytes, std::byte(1));
    for (auto [each, end] = of_size_.equal_range(slot); each != end; ++each) slots_[each->second].at = nullptr;
    return slots_[slot].at + at;
  }
  Value read(SlotId slot, std::int64_t offset) {
    Value v{f_.slots[slot].dtype};
    std::memcpy(v.bits.data(), to_read(slot, offset), size_of(v.dtype));
    return v;
  }
  void write(SlotId slot, std::int64_t offset, const Value& v) {
    if (v.dtype != f_.slots[slot].dtype) fail("a value of another dtype is stored.");
    std::memcpy(to_write(slot, offset), v.bits.data(), size_of(v.dtype));
  }

  // Values of nodes at one index, as memory is now.
  using Known = std::unordered_map<const Expr::Node*, Value>;
  Value value(const Expr& e, Known& known) {
    if (const auto found = known.find(e.identity()); found != known.end()) return found->second;
    const Value v = value_of(e, known);
    known.emplace(e.identity(), v);
    return v;
  }
  Value value(const Expr& e) {
    Known known;
    return value(e, known);
  }
  std::int64_t index(const Expr& e, Known& known) { return value(e, known).as<std::int64_t>(); }
  std::int64_t index(const Expr& e) { return value(e).as<std::int64_t>(); }
  Value value_of(const Expr& e, Known& known) {
    const Expr::Node& n = e.node();
    switch (e.kind()) {
      case Expr::Kind::constant:
        return {n.dtype, n.bits};
      case Expr::Kind::variable:
        return Value::of(DType::i64, is_size_variable(n.id) ? size(n.id - first_size_variable) : vars_.at(n.id));
      case Expr::Kind::load:
        return read(n.id, index(e.operand(0), known));
      case Expr::Kind::unary:
        return unary_of(n.unary, n.dtype, value(e.operand(0), known));
      case Expr::Kind::binary:
        return binary_of(n.binary, value(e.operand(0), known), value(e.operand(1), known));
      case Expr::Kind::select: {
        // Both are computed, as in code.
        const Value yes = value(e.operand(1), known), no = value(e.operand(2), known);
        return value(e.operand(0), known).as<bool>() ? yes : no;
      }
      case Expr::Kind::convert:
        return converted(n.dtype, value(e.operand(0), known));
      case Expr::Kind::bitcast:
        return {n.dtype, value(e.operand(0), known).bits};
    }
    fail("an unknown expression.");
  }

  // body() at every index, of `order`.
  template <class F>
  void every(const std::vector<std::uint32_t>& vars, const Sizes& sizes, Order order, F&& body, std::size_t from = 0) {
    if (from == vars.size()) return body();
    const std::int64_t size = number(sizes[from]);
    for (std::int64_t i = 0; i < size; ++i) {
      vars_[vars[from]] = order == Order::forward ? i : size - 1 - i;
      every(vars, sizes, order, body, from + 1);
    }
  }

  // Stores of one condition after each other: all of their values before the first is stored.
  void store(const std::vector<Store>& stores) {
    for (std::size_t i = 0, count = 0; i < stores.size(); i += count) {
      const Expr& condition = stores[i].condition;
      for (count = 1; i + count < stores.size() && stores[i + count].condition.identity() == condition.identity();)
        ++count;
      Known known;
      if (condition && !value(condition, known).as<bool>()) continue;
      std::vector<std::pair<std::int64_t, Value>> values;
      for (std::size_t k = i; k < i + count; ++k)
        values.emplace_back(index(stores[k].offset, known), value(stores[k].value, known));
      for (std::size_t k = i; k < i + count; ++k) write(stores[k].slot, values[k - i].first, values[k - i].second);
    }
  }

  void block(const Block& statements) {
    for (const Statement& s : statements) std::visit([&](const auto& held) { run(held); }, s.held());
  }
  void run(const Nest& n) {
    every(n.vars, n.sizes, n.independent ? order_ : Order::forward, [&] { store(n.stores); });
  }
  void run(const Reduce& r) {
    every(r.outer_vars, r.outer_sizes, order_, [&] {
      const std::vector<Reduce::Result> all = r.results();
      const auto wide = [](const Expr& e, const Value& v) { return converted(computed_in(e.dtype()), v); };
      std::vector<Value> results;
      for (const Reduce::Result& each : all) results.push_back(wide(each.value, value(each.initial)));
      every(r.inner_vars, r.inner_sizes, Order::forward, [&] {
        Known known;
        for (std::size_t i = 0; i < all.size(); ++i)
          results[i] = combined(all[i].combine, results[i], wide(all[i].value, value(all[i].value, known)));
        std::vector<std::pair<std::int64_t, Value>> values;
        for (const Store& s : r.stores) values.emplace_back(index(s.offset, known), value(s.value, known));
        for (std::size_t i = 0; i < values.size(); ++i) write(r.stores[i].slot, values[i].first, values[i].second);
      });
      for (std::size_t i = 0; i < all.size(); ++i)
        write(all[i].slot, index(all[i].offset), converted(f_.slots[all[i].slot].dtype, results[i]));
    });
  }
  static Value combined(Combine op, const Value& x, const Value& y) {
    switch (op) {
      case Combine::add:
        return binary_of(Binary::add, x, y);
      case Combine::mul:
        return binary_of(Binary::mul, x, y);
      case Combine::max:
        return binary_of(Binary::max, x, y);
      case Combine::min:
        return binary_of(Binary::min, x, y);
      case Combine::and_:
        return binary_of(Binary::and_, x, y);
      case Combine::or_:
        return binary_of(Binary::or_, x, y);
    }
    fail("an unknown reduction.");
  }
  void run(const Copy& c) {
    const std::int64_t elements = number(c.elements);
    const std::byte* from = to_read(c.from, index(c.from_offset), elements);
    std::memmove(to_write(c.to, index(c.to_offset), elements), from,
                 static_cast<std::size_t>(elements) * size_of(f_.slots[c.to].dtype));
  }
  void run(const Product& p) {
    const auto stride = [&](const Dim& d) { return number(d); };
    // Of complex numbers in slots of their parts, offsets are of parts.
    const bool factors = are_factors(f_.slots[p.a].dtype, f_.slots[p.b].dtype, p.dtype);
    const auto elements_of = [&](SlotId slot) {
      return std::int64_t(f_.slots[slot].dtype == p.dtype || factors ? 1 : 2);
    };
    const auto number_at = [&](SlotId slot, const Expr& offset, std::int64_t more) {
      Value v{factors ? f_.slots[slot].dtype : p.dtype};
      std::memcpy(v.bits.data(), to_read(slot, index(offset) + more * elements_of(slot), elements_of(slot)),
                  size_of(v.dtype));
      return v;
    };
    const DType wide = computed_in(p.dtype);
    for (std::int64_t b = 0; b < number(p.batch); ++b)
      for (std::int64_t m = 0; m < number(p.m); ++m)
        for (std::int64_t n = 0; n < number(p.n); ++n) {
          const std::int64_t to = b * stride(p.c_batch) + m * stride(p.c_m) + n * stride(p.c_n);
          Value sum = converted(wide, Value::of(DType::bool_, false));
          if (p.accumulate) sum = converted(wide, number_at(p.c, p.c_offset, to));
          for (std::int64_t k = 0; k < number(p.k); ++k) {
            const Value x = number_at(p.a, p.a_offset, b * stride(p.a_batch) + m * stride(p.a_m) + k * stride(p.a_k));
            const Value y = number_at(p.b, p.b_offset, b * stride(p.b_batch) + k * stride(p.b_k) + n * stride(p.b_n));
            sum = binary_of(Binary::add, sum, binary_of(Binary::mul, converted(wide, x), converted(wide, y)));
          }
          std::memcpy(to_write(p.c, index(p.c_offset) + to * elements_of(p.c), elements_of(p.c)),
                      converted(p.dtype, sum).bits.data(), size_of(p.dtype));
        }
  }
  void run(const Call& c) {
    if (c.function == "tenon_found_memory" && c.arguments.size() == 3 && c.result) {
      const auto argument = [&](std::size_t i) { return index(c.arguments[i].value); };
      const std::int64_t address = asked_for(argument(0), argument(1));
      return write(*c.result, index(c.result_offset), Value::of(DType::i64, address));
    }
    if (c.function != "kernel_test_mix" || c.arguments.size() != 3 || !c.arguments[1].address ||
        !c.arguments[2].address)
      fail("a call of " + c.function + ".");
    const std::int64_t n = index(c.arguments[0].value);
    const std::byte* from = to_read(*c.arguments[1].address, index(c.arguments[1].value), n);
    std::byte* to = to_write(*c.arguments[2].address, index(c.arguments[2].value), n);
    const std::int64_t result =
        kernel_test_mix(n, reinterpret_cast<const std::int32_t*>(from), reinterpret_cast<std::int32_t*>(to));
    if (c.result) write(*c.result, index(c.result_offset), Value::of(DType::i64, result));
  }
  void run(const Element&) { fail("an element of a list."); }
  void run(const For& f) {
    const std::int64_t count = number(f.count);
    for (std::int64_t i = 0; i < count; ++i) {
      vars_[f.var] = i;
      block(f.body);
    }
  }
  void run(const While& w) {
    for (int steps = 0;; ++steps) {
      if (steps > 10'000) fail("a loop that does not end.");
      block(w.before);
      if (!value(w.condition).as<bool>()) return;
      block(w.body);
    }
  }
  void run(const Switch& s) {
    const std::int64_t branch = index(s.index);
    if (branch < 0 || branch >= static_cast<std::int64_t>(s.branches.size())) fail("there is no such branch.");
    block(s.branches[static_cast<std::size_t>(branch)]);
  }
  void run(const Blocks& b) {
    const std::int64_t count = number(b.count);
    const auto with = [&](std::int64_t i, const Block& body) {
      for (const SlotId slot : b.own)
        std::fill_n(slots_[slot].written,
                    static_cast<std::size_t>(slots_[slot].elements) * size_of(f_.slots[slot].dtype), std::byte(0));
      vars_[b.var] = i;
      block(body);
    };
    for (std::int64_t i = 0; i < count; ++i) with(order_ == Order::forward ? i : count - 1 - i, b.body);
    if (number(b.rest) > 0) with(count, b.tail);
  }

  const Function& f_;
  std::vector<std::int64_t> sizes_;
  Order order_;
  Bytes arena_, written_in_arena_;
  std::vector<std::unique_ptr<Bytes>> own_, written_;
  std::vector<Memory> slots_;
  std::vector<bool> of_found_size_;        // of each slot
  std::multimap<SlotId, SlotId> of_size_;  // memory, by each size of its that is found
  struct AskedFor {
    std::int64_t number;
    std::size_t bytes;
    Memory memory;
  };
  std::map<std::int64_t, AskedFor> blocks_;  // that were asked for, by their addresses
  std::int64_t asked_ = 0;                   // the last of these
  std::unordered_map<std::uint32_t, std::int64_t> vars_;
};

const RuntimeSymbol symbol("kernel_test_mix", &kernel_test_mix);

}  // namespace

void interpret(const Function& function, std::vector<Bytes>& arguments, std::span<const std::int64_t> sizes,
               Order order, std::span<const std::optional<std::uint32_t>> shared) {
  Interpreter(function, arguments, sizes, order, shared).run();
}

std::int64_t kernel_test_mix(std::int64_t n, const std::int32_t* from, std::int32_t* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::int32_t x;
    std::memcpy(&x, from + i, sizeof x);
    x = static_cast<std::int32_t>(3 * static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(i));
    std::memcpy(to + i, &x, sizeof x);
  }
  return n;
}

}  // namespace tenon::kernel
