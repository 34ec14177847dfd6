#include "tenon/kernel/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/base/factors.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/verify_found.h"
#include "tenon/kernel/wrong_operation.h"

namespace tenon::kernel {
namespace {

// The values that an index takes. `exact`: it takes the first and the last of them; else it lies between.
struct Values {
  std::int64_t low = 0, high = 0;
  std::uint64_t variables = 0;  // a bit for each, shared by those whose numbers are alike modulo 64
  bool known = false, exact = false;
};

// x + y, or the last number of that side where it is beyond.
std::int64_t sum(std::int64_t x, std::int64_t y) {
  std::int64_t result;
  if (!__builtin_add_overflow(x, y, &result)) return result;
  return x < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

// The elements that an access touches from its offset on.
struct Reach {
  std::int64_t first = 0, last = 0;
  bool known = true;

  void add(const Dim& size, const Dim& stride) {
    std::int64_t distance = 0;
    known = known && size.known() && stride.known() && size.value() > 0 &&
            !__builtin_mul_overflow(size.value() - 1, stride.value(), &distance);
    std::int64_t& end = distance < 0 ? first : last;
    known = known && !__builtin_add_overflow(end, distance, &end);
  }
  // Elements of two numbers each.
  void twice() {
    known = known && !__builtin_mul_overflow(first, 2, &first) && !__builtin_mul_overflow(last, 2, &last) &&
            !__builtin_add_overflow(last, 1, &last);
  }
};

// Of each node of the statement at hand, by its address; emptied at once by another generation.
class Nodes {
 public:
  struct Entry {
    const Expr::Node* node = nullptr;
    std::uint32_t generation = 0;
    Values values;
  };
  void clear() {
    ++generation_;
    used_ = 0;
  }
  // The entry of a node, and whether it has just been made.
  std::pair<std::size_t, bool> at(const Expr::Node* node) {
    if (2 * ++used_ > entries_.size()) grow();
    std::size_t i = slot_of(node);
    while (entries_[i].generation == generation_ && entries_[i].node != node) i = (i + 1) & (entries_.size() - 1);
    if (entries_[i].generation == generation_) return --used_, std::pair(i, false);
    entries_[i] = {node, generation_, {}};
    return {i, true};
  }
  Values& values(const Expr::Node* node) { return entries_[at(node).first].values; }

 private:
  std::size_t slot_of(const Expr::Node* node) const {
    const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(node));
    return (bits * 0x9e3779b97f4a7c15ull >> 20) & (entries_.size() - 1);
  }
  void grow() {
    std::vector<Entry> old(std::exchange(entries_, std::vector<Entry>(2 * entries_.size())));
    for (const Entry& e : old) {
      if (e.generation != generation_) continue;
      std::size_t i = slot_of(e.node);
      while (entries_[i].generation == generation_) i = (i + 1) & (entries_.size() - 1);
      entries_[i] = e;
    }
  }
  std::vector<Entry> entries_ = std::vector<Entry>(64);
  std::uint32_t generation_ = 1;
  std::size_t used_ = 0;
};

class Verifier {
 public:
  Verifier(const Function& f, std::string_view pass)
      : f_(f), pass_(pass), vars_(f.vars), owned_(f.slots.size(), Owned::by_none), touched_(f.slots.size(), false) {}

  void run() {
    sizes(f_.not_negative), sizes(f_.not_empty), given(f_.arena_bytes);
    std::vector<bool> arguments(f_.arguments, false);
    for (SlotId i = 0; i < f_.slots.size(); ++i) slot(i, arguments);
    find_owned(f_.body);
    block(f_.body);
    arena();
    verify_found(f_, [&](const Statement& s, const std::string& what) {
      statement_ = &s;
      fail(what);
    });
  }

 private:
  struct Var {
    bool inside = false;
    Values values;
  };
  enum class Owned : std::uint8_t { by_none, elsewhere, here };

  [[noreturn]] void fail(const std::string& what) const {
    std::string at;
    if (statement_ != nullptr) {
      constexpr std::size_t longest = 2000;
      at = print(*statement_);
      if (at.size() > longest) at = at.substr(0, longest) + "…\n";
      if (!at.empty() && at.back() == '\n') at.pop_back();
      at = "\n" + at;
    }
    throw VerifyError(fmt::format("{}{}: {}{}", pass_.empty() ? "" : fmt::format("behind the pass {}, ", pass_),
                                  f_.name.empty() ? "a kernel" : "@" + f_.name, what, at));
  }
  void require(bool holds, std::string_view what) const {
    if (!holds) fail(std::string(what) + ".");
  }

  // --- sizes and slots ---
  void size(const Dim& d) const {
    if (d.known()) return require(d.value() >= 0, "a size is negative");
    size_variables(d);
  }
  // Of memory, which is there before anything is found.
  void given(const Dim& d) const {
    size(d);
    require(!has_found_size(d), "what is found as the code runs takes part in how memory is laid out");
  }
  bool is_size(SizeVar v) const {
    if (!is_found_size(v)) return v < f_.sizes;
    const SlotId slot = slot_of_size(v);
    return slot < f_.slots.size() && f_.slots[slot].place == Slot::Place::size;
  }
  void sizes(const Sizes& all) const {
    for (const Dim& d : all) size(d);
  }
  void slot(SlotId i, std::vector<bool>& arguments) const {
    using Place = Slot::Place;
    const Slot& s = f_.slots[i];
    const auto hold = [&](bool holds, std::string_view what) {
      if (!holds) fail(fmt::format("the slot m{} {}.", i, what));
    };
    size(s.elements), given(s.arena_offset), given(s.most.value_or(0));
    if (s.place == Place::argument) given(s.elements);
    if (s.place == Place::found)
      hold(s.argument < f_.slots.size() && f_.slots[s.argument].place == Place::size, "has no slot of its address");
    if (s.place == Place::size) hold(s.dtype == DType::i64 && s.elements == Dim(1), "is of a size, and not one i64");
    if (s.place == Place::argument) {
      hold(s.argument < f_.arguments, "is an argument that is not there");
      hold(!arguments[s.argument], "is the same argument as another");
      arguments[s.argument] = true;
    }
    if (s.place == Place::local) hold(s.elements.known(), "is local, and its size is not known");
    const bool constant = s.place == Place::constant || s.place == Place::numbers;
    hold(constant || (s.values.empty() && !s.object), "holds values, and is no constant");
    if (!constant) return;
    hold(s.elements.known() &&
             static_cast<std::int64_t>(s.values.size()) / static_cast<std::int64_t>(size_of(s.dtype)) ==
                 s.elements.value() &&
             s.values.size() % size_of(s.dtype) == 0,
         "is a constant of other bytes than its elements have");
    if (!s.object) return;
    hold(*s.object < f_.objects.size(), "points to an object that is not there");
    hold(s.dtype == DType::i64 && s.elements.value() > 0, "has no place for the address of its object");
  }
  void arena() const {
    const auto all = f_.arena_bytes.try_value();
    if (!all || *all == 0) return;  // not laid out yet
    for (SlotId i = 0; i < f_.slots.size(); ++i) {
      const Slot& s = f_.slots[i];
      if (s.place != Slot::Place::arena || !touched_[i]) continue;
      if (has_found_size(s.elements))
        fail(fmt::format("m{} lies in the arena, which is as large as sizes that are given; {} is found.", i,
                         s.elements.text()));
      if (!s.arena_offset.known() || !s.elements.known()) continue;
      if ((s.arena_offset + s.bytes()).value() > *all) fail(fmt::format("the slot m{} lies outside of the arena.", i));
    }
  }
  void find_owned(const Block& statements) {
    for (const Statement& s : statements) {
      if (const auto* b = std::get_if<Blocks>(&s.held()))
        for (const SlotId slot : b->own) {
          require(slot < f_.slots.size(), "blocks have a slot of their own that is not there");
          if (owned_[slot] != Owned::by_none) fail(fmt::format("m{} is the own slot of two statements.", slot));
          owned_[slot] = Owned::elsewhere;
        }
      for_each_block(s, [&](const Block& inside) { find_owned(inside); });
    }
  }
  void touch(SlotId slot) {
    if (slot >= f_.slots.size()) fail(fmt::format("there is no slot m{}.", slot));
    if (owned_[slot] == Owned::elsewhere) fail(fmt::format("m{} is a slot that blocks have each for itself.", slot));
    touched_[slot] = true;
  }

  // --- variables ---
  void enter(std::uint32_t var, Values values) {
    if (var >= vars_.size()) fail(fmt::format("the variable i{} has a number that is not below {}.", var, f_.vars));
    if (vars_[var].inside) fail(fmt::format("the variable i{} is defined within the statement that defines it.", var));
    values.variables = std::uint64_t(1) << (var % 64);
    vars_[var] = {true, values};
  }
  void enter(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
    require(vars.size() == sizes.size(), "it has not as many sizes as variables");
    for (std::size_t i = 0; i < vars.size(); ++i) enter(vars[i], below(sizes[i]));
  }
  void leave(std::uint32_t var) { vars_[var].inside = false; }
  void leave(const std::vector<std::uint32_t>& vars) {
    for (const std::uint32_t var : vars) leave(var);
  }
  // Of a variable that counts to a size. Where that is 0, nothing happens.
  Values below(const Dim& d) {
    size(d);
    if (!d.known()) return {};
    idle_ = idle_ || d.value() == 0;
    return {0, d.value() - 1, 0, true, true};
  }

  // --- statements ---
  void block(const Block& statements) {
    for (const Statement& s : statements) {
      const Statement* outside = std::exchange(statement_, &s);
      const bool idle = idle_;
      nodes_.clear();
      std::visit([&](const auto& held) { check(held); }, s.held());
      idle_ = idle;
      statement_ = outside;
    }
  }
  void check(const Nest& n) {
    enter(n.vars, n.sizes);
    stores(n.stores);
    leave(n.vars);
  }
  void check(const Reduce& r) {
    enter(r.outer_vars, r.outer_sizes);
    const std::vector<Reduce::Result> results = r.results();
    for (const Reduce::Result& result : results) initial_of(result);
    const bool idle = idle_;
    enter(r.inner_vars, r.inner_sizes);
    for (const Reduce::Result& result : results) expression(result.value);
    for (const Store& s : r.stores) require(!s.condition, "a reduction stores under a condition");
    stores(r.stores);
    leave(r.inner_vars);
    idle_ = idle;
    for (const Reduce::Result& result : results) {
      check(result);
      require(r.others.empty() || !is_complex(result.value.dtype()), "of several results one is complex");
    }
    leave(r.outer_vars);
  }
  void check(const Reduce::Result& r) {
    const DType d = r.value.dtype();
    const bool widened = r.slot < f_.slots.size() && is_narrow(f_.slots[r.slot].dtype) && d == DType::f32;
    access(r.slot, r.offset, widened ? f_.slots[r.slot].dtype : d);
    const bool logical = r.combine == Combine::and_ || r.combine == Combine::or_;
    const bool ordered = r.combine == Combine::max || r.combine == Combine::min;
    require(logical ? d == DType::bool_ || is_integer(d) : !ordered || !is_complex(d), "its values do not combine so");
    if (r.combine == Combine::add || r.combine == Combine::mul)
      require(is_number(r.initial, r.combine == Combine::add ? 0 : 1),
              "a sum does not begin with 0, or a product with 1");
  }
  // Whether an expression is that number, as a constant or one that is converted; of a zero whatever its sign.
  static bool is_number(Expr e, int number) {
    while (e.kind() == Expr::Kind::convert) e = e.operand(0);
    if (e.kind() != Expr::Kind::constant) return false;
    const Expr same = constant_like(e, number), negative = constant_like(e, number == 0 ? -0. : number);
    return e.node().bits == same.node().bits || e.node().bits == negative.node().bits;
  }
  void initial_of(const Reduce::Result& r) {
    require(bool(r.value), "it has no value");
    require(bool(r.initial), "it has no initial value");
    expression(r.initial);
    require(r.initial.dtype() == r.value.dtype(), "its initial value has another dtype than its values");
  }
  void check(const Copy& c) {
    size(c.elements), size(c.row);
    touch(c.to), touch(c.from);
    require(f_.slots[c.to].dtype == f_.slots[c.from].dtype, "it copies between slots of different dtypes");
    idle_ = idle_ || c.elements == Dim(0);
    require(idle_ || c.row != Dim(0), "its rows have no elements");
    Reach reach;
    reach.add(c.elements, 1);
    span(c.from, c.from_offset, reach), span(c.to, c.to_offset, reach);
  }
  void check(const Product& p) {
    for (const Dim* d : {&p.batch, &p.m, &p.n, &p.k}) size(*d);
    idle_ = idle_ || p.batch == Dim(0) || p.m == Dim(0) || p.n == Dim(0);
    matrix(p, p.c, p.c_offset, {{{&p.batch, &p.c_batch}, {&p.m, &p.c_m}, {&p.n, &p.c_n}}});
    idle_ = idle_ || p.k == Dim(0);
    matrix(p, p.a, p.a_offset, {{{&p.batch, &p.a_batch}, {&p.m, &p.a_m}, {&p.k, &p.a_k}}});
    matrix(p, p.b, p.b_offset, {{{&p.batch, &p.b_batch}, {&p.k, &p.b_k}, {&p.n, &p.b_n}}});
  }
  using Axes = std::array<std::pair<const Dim*, const Dim*>, 3>;  // size and stride
  void matrix(const Product& p, SlotId slot, const Expr& offset, const Axes& axes) {
    touch(slot);
    const DType d = f_.slots[slot].dtype;
    const bool parts = is_complex(p.dtype) && d == real_part_of(p.dtype);  // a number is two elements
    const bool factor = slot != p.c && p.a < f_.slots.size() && p.b < f_.slots.size() &&
                        are_factors(f_.slots[p.a].dtype, f_.slots[p.b].dtype, p.dtype);
    require(d == p.dtype || parts || factor, "it is of a slot of another dtype");
    Reach reach;
    for (const auto& [size_of_axis, stride] : axes) {
      if (!stride->known()) size_variables(*stride);
      reach.add(*size_of_axis, *stride);
    }
    if (parts) reach.twice();
    span(slot, offset, reach);
  }
  void size_variables(const Dim& d) const {
    d.visit_variables([&](SizeVar v) {
      if (!is_size(v)) fail(fmt::format("the size {} has a parameter that is not there.", d.text()));
    });
  }
  void check(const Element& e) {
    index(e.list, "the list"), index(e.index, "the index"), size(e.bytes);
    if (e.consumed) index(e.consumed, "what is consumed");
    touch(e.element);
    require(f_.slots[e.element].place == Slot::Place::element, "its slot is no place for elements of lists");
  }
  void check(const Call& c) {
    require(!c.function.empty(), "it calls nothing");
    require(!c.table || !c.arguments.empty(), "its table has no first argument");
    for (const Call::Argument& a : c.arguments) {
      if (a.address)
        span(*a.address, a.value, {.known = false});
      else
        index(a.value, "an argument");
    }
    if (c.result) access(*c.result, c.result_offset, DType::i64);
  }
  void check(const For& f) {
    enter(f.var, below(f.count));
    block(f.body);
    leave(f.var);
  }
  void check(const While& w) {
    block(w.before);
    nodes_.clear();
    require(w.condition && w.condition.dtype() == DType::bool_, "its condition is no bool");
    expression(w.condition);
    block(w.body);
  }
  void check(const Switch& s) {
    index(s.index, "its index");
    require(!s.branches.empty(), "it has no branches");
    for (const Block& b : s.branches) block(b);
  }
  void check(const Blocks& b) {
    size(b.count), size(b.rest), size(b.grain);
    require(b.grain != Dim(0), "its grain is 0");
    for (const SlotId slot : b.own) {
      const Slot& s = f_.slots[slot];
      require((s.place == Slot::Place::local && s.elements.known()) || s.place == Slot::Place::size,
              "its own slots are neither local nor sizes");
      owned_[slot] = Owned::here;
    }
    const bool idle = idle_;
    enter(b.var, below(b.count));
    block(b.body);
    leave(b.var);
    idle_ = idle || b.rest == Dim(0);
    const auto count = b.count.try_value();
    enter(b.var, {count.value_or(0), count.value_or(0), 0, count.has_value(), count.has_value()});
    block(b.tail);
    leave(b.var);
    for (const SlotId slot : b.own) owned_[slot] = Owned::elsewhere;
  }

  // --- accesses ---
  void stores(const std::vector<Store>& all) {
    for (const Store& s : all) {
      require(bool(s.value), "a store has no value");
      const bool idle = idle_;
      if (s.condition) {
        require(s.condition.dtype() == DType::bool_, "the condition of a store is no bool");
        expression(s.condition);
        idle_ = true;  // it may never hold
      }
      expression(s.value);
      access(s.slot, s.offset, s.value.dtype());
      idle_ = idle;
    }
  }
  void access(SlotId slot, const Expr& offset, DType dtype) {
    span(slot, offset, {});
    const Slot& s = f_.slots[slot];
    if (s.dtype != dtype) fail(fmt::format("m{} is of {}, and {} is stored.", slot, name(s.dtype), name(dtype)));
  }
  void span(SlotId slot, const Expr& offset, const Reach& reach) {
    touch(slot);
    index(offset, "an offset");
    const Values v = nodes_.values(offset.identity());
    if (is_outside(f_.slots[slot].elements, v, reach))
      fail(fmt::format("it accesses m{} at {} to {}, outside of its {} elements.", slot, sum(v.low, reach.first),
                       sum(v.high, reach.last), f_.slots[slot].elements.value()));
  }
  bool is_outside(const Dim& elements, const Values& v, const Reach& reach) const {
    if (idle_ || !elements.known() || !v.known || !reach.known) return false;
    const std::int64_t end = elements.value();
    if (v.exact) return sum(v.low, reach.first) < 0 || sum(v.high, reach.last) >= end;
    return sum(v.low, reach.last) >= end || sum(v.high, reach.first) < 0;
  }
  void index(const Expr& e, std::string_view what) {
    if (!e || e.dtype() != DType::i64) fail(fmt::format("{} is no i64.", what));
    expression(e);
  }

  // --- expressions: each node of a statement once, operands first ---
  void expression(const Expr& e) {
    if (!nodes_.at(e.identity()).second) return;
    stack_.push_back({e.identity(), 0});
    while (!stack_.empty()) {
      auto& [node, next] = stack_.back();
      if (next < node->operands.size() && node->operands[next]) {
        const Expr::Node* operand = node->operands[next++].get();
        if (nodes_.at(operand).second) stack_.push_back({operand, 0});
        continue;
      }
      const Expr::Node* done = node;
      stack_.pop_back();
      const Values v = values_of(*done);
      nodes_.values(done) = v;
    }
  }
  Values values_of(const Expr::Node& n) {
    const auto wrong = wrong_operation(n);
    if (!wrong.empty())
      fail(fmt::format("{}: {}.", print(Expr(std::shared_ptr<const Expr::Node>(std::shared_ptr<void>(), &n))), wrong));
    switch (n.kind) {
      case Expr::Kind::constant: {
        if (n.dtype != DType::i64) return {};
        const std::int64_t value = std::bit_cast<std::array<std::int64_t, 2>>(n.bits)[0];
        return {value, value, 0, true, true};
      }
      case Expr::Kind::variable:
        return of_variable(n.id);
      case Expr::Kind::load: {
        touch(n.id);
        const Values v = nodes_.values(n.operands[0].get());
        if (f_.slots[n.id].dtype != n.dtype)
          fail(fmt::format("m{} is of {}, and {} is read.", n.id, name(f_.slots[n.id].dtype), name(n.dtype)));
        if (is_outside(f_.slots[n.id].elements, v, {}))
          fail(fmt::format("it reads m{} at {} to {}, outside of its {} elements.", n.id, v.low, v.high,
                           f_.slots[n.id].elements.value()));
        return {};
      }
      case Expr::Kind::binary:
        if (n.dtype != DType::i64) return {};
        return of_binary(n.binary, nodes_.values(n.operands[0].get()), nodes_.values(n.operands[1].get()));
      default:
        return {};
    }
  }
  Values of_variable(std::uint32_t id) const {
    if (is_size_variable(id)) {
      if (!is_size(id - first_size_variable))
        fail(fmt::format("the size parameter {} is not there.", Dim::variable(id - first_size_variable).text()));
      return {};
    }
    if (id >= vars_.size() || !vars_[id].inside)
      fail(fmt::format("the variable i{} is read outside of the statement that defines it.", id));
    return vars_[id].values;
  }
  static Values of_binary(Binary op, const Values& x, const Values& y) {
    if (!x.known || !y.known) return {};
    Values v{0, 0, x.variables | y.variables, true, x.exact && y.exact && (x.variables & y.variables) == 0};
    bool overflows = false;
    const bool by_constant = y.low == y.high;
    if (op == Binary::add) {
      overflows = __builtin_add_overflow(x.low, y.low, &v.low) || __builtin_add_overflow(x.high, y.high, &v.high);
    } else if (op == Binary::sub) {
      overflows = __builtin_sub_overflow(x.low, y.high, &v.low) || __builtin_sub_overflow(x.high, y.low, &v.high);
    } else if (op == Binary::mul && (by_constant || x.low == x.high)) {
      const std::int64_t c = by_constant ? y.low : x.low;
      const Values& of = by_constant ? x : y;
      overflows = __builtin_mul_overflow(of.low, c, &v.low) || __builtin_mul_overflow(of.high, c, &v.high);
      if (c < 0) std::swap(v.low, v.high);
    } else if (op == Binary::div && by_constant && y.low > 0 && x.low >= 0) {
      v.low = x.low / y.low, v.high = x.high / y.low;
    } else if (op == Binary::rem && by_constant && y.low > 0 && x.low >= 0) {
      if (x.low / y.low == x.high / y.low) return v.low = x.low % y.low, v.high = x.high % y.low, v;
      v.low = 0, v.high = y.low - 1, v.exact = false;
    } else if (op == Binary::min) {
      v.low = std::min(x.low, y.low), v.high = std::min(x.high, y.high);
    } else if (op == Binary::max) {
      v.low = std::max(x.low, y.low), v.high = std::max(x.high, y.high);
    } else {
      return {};
    }
    return overflows ? Values() : v;
  }

  const Function& f_;
  std::string_view pass_;
  const Statement* statement_ = nullptr;  // at hand
  std::vector<Var> vars_;
  std::vector<Owned> owned_;
  std::vector<bool> touched_;
  bool idle_ = false;  // it may never happen: a size around it is 0, or there is a condition
  Nodes nodes_;
  std::vector<std::pair<const Expr::Node*, std::size_t>> stack_;
};

}  // namespace

void verify(const Function& function, std::string_view pass) { Verifier(function, pass).run(); }

}  // namespace tenon::kernel
