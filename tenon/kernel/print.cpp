#include <fmt/format.h>

#include <cstring>
#include <unordered_map>

#include "tenon/kernel/expressions.h"

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

// The expressions of a statement. What is long and stands in several places has a name: text is as long as the graph of
// nodes is large.
class Expressions {
 public:
  Expressions() = default;
  explicit Expressions(const Statement& s) {
    for_each_expression(s, [&](const Expr& e) { measure(e); });
    for_each_expression(s, [&](const Expr& e) { give_names(e); });
  }
  const std::vector<std::string>& named() const { return named_; }  // a line each
  std::string text(const Expr& e) const {
    const auto name = names_.find(e.identity());
    return name == names_.end() ? text_of(e) : fmt::format("t{}", name->second);
  }

 private:
  struct Part {
    int readers = 0;
    std::int64_t nodes = 1;  // of its text, without names; many is enough
  };
  std::int64_t measure(const Expr& e) {
    constexpr std::int64_t many = 1 << 20;
    if (parts_[e.identity()].readers++ == 0) {
      std::int64_t nodes = 1;
      for (const auto& operand : e.node().operands)
        if (operand) nodes = std::min(nodes + measure(Expr(operand)), many);
      parts_[e.identity()].nodes = nodes;
    }
    return parts_[e.identity()].nodes;
  }
  void give_names(const Expr& e) {
    constexpr std::int64_t long_text = 16;
    Part& part = parts_.at(e.identity());
    if (part.readers == 0) return;  // it has been here
    const bool named = part.readers > 1 && part.nodes > long_text;
    part.readers = 0;
    for (const auto& operand : e.node().operands)
      if (operand) give_names(Expr(operand));
    if (!named) return;
    named_.push_back(fmt::format("t{} = {}", names_.size(), text_of(e)));
    names_.emplace(e.identity(), names_.size());
  }
  std::string text_of(const Expr& e) const {
    switch (e.kind()) {
      case Expr::Kind::constant:
        return constant_text(e);
      case Expr::Kind::variable:
        return is_size_variable(e.node().id) ? fmt::format("s{}", e.node().id - first_size_variable)
                                             : fmt::format("i{}", e.node().id);
      case Expr::Kind::load:
        return fmt::format("m{}[{}]", e.node().id, text(e.operand(0)));
      case Expr::Kind::unary:
        return fmt::format("{}({})", name(e.node().unary), text(e.operand(0)));
      case Expr::Kind::binary:
        return fmt::format("{}({}, {})", name(e.node().binary), text(e.operand(0)), text(e.operand(1)));
      case Expr::Kind::select:
        return fmt::format("select({}, {}, {})", text(e.operand(0)), text(e.operand(1)), text(e.operand(2)));
      case Expr::Kind::convert:
        return fmt::format("{}({})", tenon::name(e.dtype()), text(e.operand(0)));
      case Expr::Kind::bitcast:
        return fmt::format("bits_as_{}({})", tenon::name(e.dtype()), text(e.operand(0)));
    }
    return "?";
  }

  std::unordered_map<const Expr::Node*, Part> parts_;
  std::unordered_map<const Expr::Node*, std::size_t> names_;
  std::vector<std::string> named_;
};

class Printer {
 public:
  explicit Printer(const Function& f) : f_(f) {}

  std::string run() {
    out_ = fmt::format("function @{} arena={}\n", f_.name, f_.arena_bytes.text());
    for (std::size_t i = 0; i < f_.slots.size(); ++i) {
      const Slot& s = f_.slots[i];
      constexpr std::string_view places[]{"argument", "local", "arena", "constant", "element", "numbers"};
      out_ += fmt::format("  m{}: {}[{}] {}\n", i, tenon::name(s.dtype), s.elements.text(),
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
  static std::string loops(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
    std::string text;
    for (std::size_t i = 0; i < vars.size(); ++i)
      text += fmt::format("{}i{}<{}", i > 0 ? ", " : "", vars[i], sizes[i].text());
    return text;
  }
  void block(const Block& b, int depth) {
    for (const Statement& s : b) {
      expressions_ = Expressions(s);
      for (const std::string& each : expressions_.named()) line(depth, each);
      std::visit([&](const auto& held) { write(held, depth); }, s.held());
    }
  }
  void write(const Nest& n, int depth) {
    line(depth, fmt::format("{} [{}]", n.independent ? "each" : "in order", loops(n.vars, n.sizes)));
    for (const Store& s : n.stores)
      line(depth + 1, fmt::format("m{}[{}] = {}{}", s.slot, text(s.offset), text(s.value),
                                  s.condition ? " if " + text(s.condition) : ""));
  }
  void write(const Reduce& r, int depth) {
    constexpr std::string_view names[]{"sum", "product", "max", "min", "all", "any"};
    line(depth, fmt::format("each [{}] m{}[{}] = {} over [{}] of {}", loops(r.outer_vars, r.outer_sizes), r.slot,
                            text(r.offset), names[static_cast<std::size_t>(r.combine)],
                            loops(r.inner_vars, r.inner_sizes), text(r.value)));
    for (const Store& s : r.stores)
      line(depth + 1, fmt::format("and m{}[{}] = {}", s.slot, text(s.offset), text(s.value)));
  }
  void write(const Copy& c, int depth) {
    line(depth, fmt::format("copy m{}[{}] = m{}[{}], {} elements", c.to, text(c.to_offset), c.from, text(c.from_offset),
                            c.elements.text()));
  }
  void write(const Product& p, int depth) {
    line(depth, fmt::format("product m{}[{}] {}= m{}[{}] x m{}[{}], {} x ({}, {}, {})", p.c, text(p.c_offset),
                            p.accumulate ? "+" : "", p.a, text(p.a_offset), p.b, text(p.b_offset), p.batch.text(),
                            p.m.text(), p.k.text(), p.n.text()));
  }
  void write(const Element& e, int depth) {
    line(depth,
         fmt::format("m{} = {} {} of list {}", e.element, e.access == Element::Access::read ? "element" : "new element",
                     text(e.index), text(e.list)) +
             (e.consumed ? ", which is read down to it" : ""));
  }
  void write(const Call& c, int depth) {
    std::string arguments;
    for (const Call::Argument& a : c.arguments)
      arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ",
                               a.address ? fmt::format("&m{}[{}]", *a.address, text(a.value)) : text(a.value));
    line(depth, fmt::format("{}{}({})", c.result ? fmt::format("m{}[{}] = ", *c.result, text(c.result_offset)) : "",
                            c.function, arguments));
  }
  void write(const For& f, int depth) {
    line(depth, fmt::format("for i{}<{}", f.var, f.count.text()));
    block(f.body, depth + 1);
  }
  void write(const While& w, int depth) {
    line(depth, "while " + text(w.condition));
    block(w.before, depth + 2);
    line(depth, "do");
    block(w.body, depth + 1);
  }
  void write(const Switch& s, int depth) {
    line(depth, "switch " + text(s.index));
    for (const Block& b : s.branches) {
      line(depth, "case");
      block(b, depth + 1);
    }
  }

  void write(const Blocks& b, int depth) {
    line(depth, fmt::format("{} i{}<{}{}", b.parallel ? "parallel blocks" : "blocks", b.var, b.count.text(),
                            b.own.empty() ? "" : fmt::format(", own m{}", fmt::join(b.own, ", m"))));
    block(b.body, depth + 1);
    if (b.tail.empty()) return;
    line(depth, "then");
    block(b.tail, depth + 1);
  }

  std::string text(const Expr& e) const { return expressions_.text(e); }

  const Function& f_;
  Expressions expressions_;
  std::string out_;
};

}  // namespace

std::string print(const Expr& e) { return Expressions().text(e); }

std::string print(const Function& function) { return Printer(function).run(); }

}  // namespace tenon::kernel
