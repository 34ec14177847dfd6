#include "tenon/kernel/passes/view_products.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// An axis of a matrix in memory.
struct Axis {
  Dim stride, size;
};
using Axes = std::array<Axis, 3>;  // batch, and the two of the matrices

Axes axes_a(const Product& p) { return {{{p.a_batch, p.batch}, {p.a_m, p.m}, {p.a_k, p.k}}}; }
Axes axes_b(const Product& p) { return {{{p.b_batch, p.batch}, {p.b_k, p.k}, {p.b_n, p.n}}}; }
Axes axes_c(const Product& p) { return {{{p.c_batch, p.batch}, {p.c_m, p.m}, {p.c_n, p.n}}}; }

bool has_rows(const Axes& axes) {
  return std::ranges::any_of(axes.begin() + 1, axes.end(),
                             [](const Axis& a) { return a.size == Dim(1) || a.stride == Dim(1); });
}

// The elements [first, last] that a matrix lies within.
struct Extent {
  Affine first, last;
};
std::optional<Extent> extent_of(const Expr& offset, const Axes& axes) {
  const auto at = affine(offset);
  if (!at) return {};
  Extent e{*at, *at};
  for (const Axis& a : axes) {
    const Dim reach = a.stride * (a.size - 1);
    if (!reach.known() && !at_least(a.stride, 0)) return {};
    Dim& end = reach.known() && reach.value() < 0 ? e.first.constant : e.last.constant;
    end = end + reach;
  }
  return e;
}
// Whether one lies behind the other at any counts of the loops around.
bool apart(const Extent& x, const Extent& y) {
  const auto behind = [](const Affine& high, const Affine& low) {
    return high.terms == low.terms && at_least(high.constant - low.constant, 1);
  };
  return behind(x.first, y.last) || behind(y.first, x.last);
}

// What the offset of a nest comes to at its first index.
Affine at_first(Affine a, const Nest& n) {
  for (const std::uint32_t var : n.vars) a.terms.erase(var);
  return a;
}

// The axes of a matrix in one memory as those of where a nest has its elements in another: at each index of the nest,
// an element lies at `from` in the first and at `to` in the second.
std::optional<Axes> moved(const Axes& axes, const Expr& offset, const Nest& n, const Affine& from, const Affine& to) {
  const auto start = affine(offset);
  if (!start || *start != at_first(from, n)) return {};
  std::vector<Dim> reach(n.vars.size(), 0);
  Axes result = axes;
  for (Axis& axis : result) {
    if (at_most(axis.size, 1) || axis.stride == Dim(0)) continue;
    std::size_t best = n.vars.size();
    Dim best_stride = 0, step = 0;
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
      const Dim stride = from.coefficient(n.vars[i]);
      const auto steps = exact_quotient(axis.stride, stride);
      if (!at_least(stride, 1) || !at_least(stride - best_stride, 1) || !steps || !at_least(*steps, 1)) continue;
      if (!at_least(n.sizes[i] - reach[i] - *steps * (axis.size - 1), 1)) continue;
      best = i, best_stride = stride, step = *steps;
    }
    if (best == n.vars.size()) return {};
    reach[best] = reach[best] + step * (axis.size - 1);
    axis.stride = step * to.coefficient(n.vars[best]);
  }
  if (has_rows(axes) && !has_rows(result)) return {};
  return result;
}

class Views {
 public:
  explicit Views(Function& function) : f_(function), uses_(function) {}
  void run() { block(f_.body); }

 private:
  void block(Block& statements) {
    bool products = false;
    for (Statement& s : statements) {
      for_each_block(s, [&](Block& inside) { block(inside); });
      products = products || std::holds_alternative<Product>(s.held());
    }
    for (std::size_t i = statements.size(); i-- > 0;) compute_where_it_goes(statements, i);
    if (products) {
      for (std::size_t i = statements.size(); i-- > 0;) read_where_it_lies(statements, i);
      for (std::size_t i = statements.size(); i-- > 0;) write_where_it_goes(statements, i);
    }
    std::erase_if(statements, [](const Statement& s) {
      const auto* n = std::get_if<Nest>(&s.held());
      return n != nullptr && n->stores.empty();
    });
  }

  // A temporary in memory that one statement writes.
  bool is_large_value(SlotId slot) const {
    return f_.slots[slot].place == Slot::Place::arena && uses_.writers[slot] == 1;
  }

  // The statement before `end` that writes a slot.
  static std::optional<std::size_t> writer_of(const Block& statements, std::size_t end, SlotId slot) {
    for (std::size_t i = end; i-- > 0;)
      if (writes(statements[i], slot)) return i;
    return {};
  }
  // statements[at], if all it does is move a value that a nest computes, which nothing else reads: computes it instead.
  void compute_where_it_goes(Block& statements, std::size_t at) {
    auto* to = std::get_if<Nest>(&statements[at].held());
    if (to == nullptr || !to->independent || to->stores.size() != 1) return;
    Store& store = to->stores[0];
    if (store.condition || store.value.kind() != Expr::Kind::load) return;
    const SlotId value = store.value.node().id;
    if (!is_large_value(value) || uses_.references[value] != 2 || value == store.slot) return;
    const auto source = writer_of(statements, at, value);
    auto* from = source ? std::get_if<Nest>(&statements[*source].held()) : nullptr;
    if (from == nullptr || !from->independent || from->sizes != to->sizes) return;
    const auto made = std::ranges::find(from->stores, value, &Store::slot);
    const bool cheap = made->value.kind() == Expr::Kind::constant || made->value.kind() == Expr::Kind::load;
    if (made->condition || (from->stores.size() > 1 && !cheap)) return;
    Rewrite renamed;
    for (std::size_t i = 0; i < to->vars.size(); ++i) renamed.vars.emplace(to->vars[i], variable(from->vars[i]));
    const auto written = affine(made->offset), read = affine(renamed(store.value.operand(0)));
    const auto goes = affine(renamed(store.offset));
    if (!written || !read || *written != *read || !goes) return;
    // Of the place that it goes to it may read its own element only; nothing that it reads may change before it goes.
    bool good = !changes(statements, *source + 1, at, made->value);
    visit_loads(made->value, [&](const Expr& load) {
      const SlotId slot = load.node().id;
      good = good && (slot != store.slot || affine(load.operand(0)) == goes);
      good = good && std::ranges::none_of(from->stores, [&](const Store& s) { return s.slot == slot; });
    });
    if (!good) return;
    Nest moved{from->vars, from->sizes, {{store.slot, renamed(store.offset), made->value, {}}}, true, from->where};
    from->stores.erase(made);
    uses_.references[value] = 0;
    statements[at] = std::move(moved);
  }

  // statements[at], if it copies matrices for products that come behind it.
  void read_where_it_lies(Block& statements, std::size_t at) {
    auto* n = std::get_if<Nest>(&statements[at].held());
    if (n == nullptr || !n->independent) return;
    std::erase_if(n->stores, [&](const Store& s) { return read_in_place(statements, at, *n, s); });
  }
  bool read_in_place(Block& statements, std::size_t at, const Nest& n, const Store& s) {
    if (s.condition || s.value.kind() != Expr::Kind::load || !is_large_value(s.slot)) return false;
    const SlotId source = s.value.node().id;
    const auto copied = affine(s.offset), original = affine(s.value.operand(0));
    if (!copied || !original || source == s.slot) return false;
    for (const Store& other : n.stores)
      if (other.slot == source) return false;
    struct Use {
      Product* product;
      bool b;
      Axes axes;
    };
    std::vector<Use> uses;
    const Expr start = to_expr(at_first(*original, n));
    for (std::size_t i = at + 1; i < statements.size(); ++i) {
      if (1 + static_cast<int>(uses.size()) == uses_.references[s.slot]) break;
      auto* p = std::get_if<Product>(&statements[i].held());
      for (const bool b : {false, true}) {
        if (p == nullptr || (b ? p->b : p->a) != s.slot) continue;
        const auto axes = moved(b ? axes_b(*p) : axes_a(*p), b ? p->b_offset : p->a_offset, n, *copied, *original);
        if (!axes || (p->c == source && !stays_apart(*p, start, *axes))) return false;
        uses.push_back({p, b, *axes});
      }
      const bool done = 1 + static_cast<int>(uses.size()) == uses_.references[s.slot];
      if (writes(statements[i], source) && !(done && p != nullptr)) return false;
    }
    if (1 + static_cast<int>(uses.size()) != uses_.references[s.slot]) return false;
    for (const Use& use : uses) {
      Product& p = *use.product;
      const auto [batch, first, second] = use.axes;
      if (use.b)
        p.b = source, p.b_offset = start, p.b_batch = batch.stride, p.b_k = first.stride, p.b_n = second.stride;
      else
        p.a = source, p.a_offset = start, p.a_batch = batch.stride, p.a_m = first.stride, p.a_k = second.stride;
    }
    uses_.references[source] += static_cast<int>(uses.size()) - 1;
    uses_.references[s.slot] = 0;
    return true;
  }
  static bool stays_apart(const Product& p, const Expr& operand, const Axes& axes) {
    const auto x = extent_of(operand, axes), c = extent_of(p.c_offset, axes_c(p));
    return x && c && apart(*x, *c);
  }

  // statements[at], if it moves the result of a product, or adds it to what is there: the product does so itself.
  void write_where_it_goes(Block& statements, std::size_t at) {
    const auto* n = std::get_if<Nest>(&statements[at].held());
    if (n == nullptr || !n->independent || n->stores.size() != 1 || n->stores[0].condition) return;
    const Store& s = n->stores[0];
    const auto goes = affine(s.offset);
    std::optional<Expr> result;  // the load of it
    const auto is_result = [&](const Expr& e) {
      return e.kind() == Expr::Kind::load && is_large_value(e.node().id) && uses_.references[e.node().id] == 2 &&
             e.node().id != s.slot;
    };
    bool adds = false;
    if (is_result(s.value)) result = s.value;
    if (s.value.kind() == Expr::Kind::binary && s.value.node().binary == Binary::add && !is_narrow(s.value.dtype()))
      for (const std::size_t k : {0, 1}) {
        const Expr old = s.value.operand(k), sum = s.value.operand(1 - k);
        if (adds || old.kind() != Expr::Kind::load || old.node().id != s.slot || affine(old.operand(0)) != goes)
          continue;
        if (is_result(sum)) result = sum, adds = true;
      }
    if (!goes || !result) return;
    const auto source = writer_of(statements, at, result->node().id);
    const auto* made = source ? std::get_if<Product>(&statements[*source].held()) : nullptr;
    const auto read = affine(result->operand(0));
    if (made == nullptr || made->accumulate || !read) return;
    Product p = *made;
    if (p.batch * p.m * p.n != product_of(n->sizes)) return;
    const auto axes = moved(axes_c(p), p.c_offset, *n, *read, *goes);
    if (!axes) return;
    p.c = s.slot, p.c_offset = to_expr(at_first(*goes, *n)), p.accumulate = adds;
    p.c_batch = (*axes)[0].stride, p.c_m = (*axes)[1].stride, p.c_n = (*axes)[2].stride;
    if (p.c == p.a && !stays_apart(p, p.a_offset, axes_a(p))) return;
    if (p.c == p.b && !stays_apart(p, p.b_offset, axes_b(p))) return;
    if (changes(statements, *source + 1, at, p.a_offset) || changes(statements, *source + 1, at, p.b_offset)) return;
    for (std::size_t i = *source + 1; i < at; ++i)
      if (writes(statements[i], p.a) || writes(statements[i], p.b)) return;
    uses_.references[result->node().id] = 0;
    statements[at] = p;
    statements[*source] = Nest{};
  }

  Function& f_;
  SlotUses uses_;
};

}  // namespace

void view_products(Function& function) { Views(function).run(); }

}  // namespace tenon::kernel
