#include <fmt/format.h>

#include <cstring>

#include "tenon/kernel/function.h"

namespace tenon::kernel {
namespace {

std::string constant_text(const Expr& e) {
  return dispatch(e.dtype(), [&]<class T>(std::type_identity<T>) -> std::string {
    T value;
    std::memcpy(&value, e.node().bits.data(), sizeof value);
    if constexpr (std::is_arithmetic_v<T>)
      return fmt::format("{}", value);
    else
      return std::string(tenon::name(e.dtype()));
  });
}

class Printer {
 public:
  explicit Printer(const Function& f) : f_(f) {}

  std::string run() {
    out_ = fmt::format("function @{} arena={}\n", f_.name, f_.arena_bytes);
    for (std::size_t i = 0; i < f_.slots.size(); ++i) {
      const Slot& s = f_.slots[i];
      constexpr std::string_view places[]{"argument", "local", "arena", "constant", "element"};
      out_ += fmt::format("  m{}: {}[{}] {}\n", i, tenon::name(s.dtype), s.elements,
                          places[static_cast<std::size_t>(s.place)]);
    }
    block(f_.body, 1);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
    out_ += text + "\n";
  }
  static std::string loops(const std::vector<std::uint32_t>& vars, const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (std::size_t i = 0; i < vars.size(); ++i) text += fmt::format("{}i{}<{}", i > 0 ? ", " : "", vars[i], sizes[i]);
    return text;
  }
  void block(const Block& b, int depth) {
    for (const Statement& s : b) std::visit([&](const auto& held) { write(held, depth); }, s.held());
  }
  void write(const Nest& n, int depth) {
    line(depth, fmt::format("{} [{}]", n.independent ? "each" : "in order", loops(n.vars, n.sizes)));
    for (const Store& s : n.stores)
      line(depth + 1, fmt::format("m{}[{}] = {}{}", s.slot, print(s.offset), print(s.value),
                                  s.condition ? " if " + print(s.condition) : ""));
  }
  void write(const Reduce& r, int depth) {
    constexpr std::string_view names[]{"sum", "product", "max", "min", "all", "any"};
    line(depth, fmt::format("each [{}] m{}[{}] = {} over [{}] of {}", loops(r.outer_vars, r.outer_sizes), r.slot,
                            print(r.offset), names[static_cast<std::size_t>(r.combine)],
                            loops(r.inner_vars, r.inner_sizes), print(r.value)));
    for (const Store& s : r.stores)
      line(depth + 1, fmt::format("and m{}[{}] = {}", s.slot, print(s.offset), print(s.value)));
  }
  void write(const Copy& c, int depth) {
    line(depth, fmt::format("copy m{}[{}] = m{}[{}], {} elements", c.to, print(c.to_offset), c.from,
                            print(c.from_offset), c.elements));
  }
  void write(const Product& p, int depth) {
    line(depth,
         fmt::format("product m{}[{}] {}= m{}[{}] x m{}[{}], {} x ({}, {}, {})", p.c, print(p.c_offset),
                     p.accumulate ? "+" : "", p.a, print(p.a_offset), p.b, print(p.b_offset), p.batch, p.m, p.k, p.n));
  }
  void write(const Element& e, int depth) {
    line(depth,
         fmt::format("m{} = {} {} of list {}", e.element, e.access == Element::Access::read ? "element" : "new element",
                     print(e.index), print(e.list)) +
             (e.consumed ? ", which is read down to it" : ""));
  }
  void write(const Call& c, int depth) {
    std::string arguments;
    for (const Call::Argument& a : c.arguments)
      arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ",
                               a.address ? fmt::format("&m{}[{}]", *a.address, print(a.value)) : print(a.value));
    line(depth, fmt::format("{}{}({})", c.result ? fmt::format("m{}[{}] = ", *c.result, print(c.result_offset)) : "",
                            c.function, arguments));
  }
  void write(const For& f, int depth) {
    line(depth, fmt::format("for i{}<{}", f.var, f.count));
    block(f.body, depth + 1);
  }
  void write(const While& w, int depth) {
    line(depth, "while " + print(w.condition));
    block(w.before, depth + 2);
    line(depth, "do");
    block(w.body, depth + 1);
  }
  void write(const Switch& s, int depth) {
    line(depth, "switch " + print(s.index));
    for (const Block& b : s.branches) {
      line(depth, "case");
      block(b, depth + 1);
    }
  }

  void write(const Blocks& b, int depth) {
    line(depth, fmt::format("{} i{}<{}{}", b.parallel ? "parallel blocks" : "blocks", b.var, b.count,
                            b.own.empty() ? "" : fmt::format(", own m{}", fmt::join(b.own, ", m"))));
    block(b.body, depth + 1);
    if (b.tail.empty()) return;
    line(depth, "then");
    block(b.tail, depth + 1);
  }

  const Function& f_;
  std::string out_;
};

}  // namespace

std::string print(const Expr& e) {
  switch (e.kind()) {
    case Expr::Kind::constant:
      return constant_text(e);
    case Expr::Kind::variable:
      return fmt::format("i{}", e.node().id);
    case Expr::Kind::load:
      return fmt::format("m{}[{}]", e.node().id, print(e.operand(0)));
    case Expr::Kind::unary:
      return fmt::format("{}({})", name(e.node().unary), print(e.operand(0)));
    case Expr::Kind::binary:
      return fmt::format("{}({}, {})", name(e.node().binary), print(e.operand(0)), print(e.operand(1)));
    case Expr::Kind::select:
      return fmt::format("select({}, {}, {})", print(e.operand(0)), print(e.operand(1)), print(e.operand(2)));
    case Expr::Kind::convert:
      return fmt::format("{}({})", tenon::name(e.dtype()), print(e.operand(0)));
    case Expr::Kind::bitcast:
      return fmt::format("bits_as_{}({})", tenon::name(e.dtype()), print(e.operand(0)));
  }
  return "?";
}

std::string print(const Function& function) { return Printer(function).run(); }

}  // namespace tenon::kernel
