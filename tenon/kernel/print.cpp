// The text form of the loop language. It says all that the meaning of a Function depends on; parse.h reads it back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "tenon/base/number_text.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/text.h"

namespace tenon::kernel {
namespace {

using TextOfConstant = FunctionRef<std::string(const Expr::Node& constant)>;

// A constant; of an i64, the number alone, and of a bool, true or false.
std::string constant_text(const Expr::Node& n) {
  const std::string number = number_text(n.dtype, n.bits.data());
  if (n.dtype == DType::i64 || n.dtype == DType::bool_) return number;
  return fmt::format("{}:{}", name(n.dtype), number);
}

// A node's text; `operand` gives that of one of its operands.
template <class F>
std::string node_text(const Expr::Node& n, F&& operand) {
  switch (n.kind) {
    case Expr::Kind::constant:
      return constant_text(n);
    case Expr::Kind::variable:
      return is_size_variable(n.id) ? Dim::variable(n.id - first_size_variable).text() : fmt::format("i{}", n.id);
    case Expr::Kind::load:
      return fmt::format("m{}[{}]", n.id, operand(0));
    case Expr::Kind::unary:
      return fmt::format("{}({})", name(n.unary), operand(0));
    case Expr::Kind::binary:
      return fmt::format("{}({}, {})", name(n.binary), operand(0), operand(1));
    case Expr::Kind::select:
      return fmt::format("select({}, {}, {})", operand(0), operand(1), operand(2));
    case Expr::Kind::convert:
      return fmt::format("{}({})", name(n.dtype), operand(0));
    case Expr::Kind::bitcast:
      return fmt::format("bits_as_{}({})", name(n.dtype), operand(0));
  }
  return {};
}

// The expressions of a statement. What is long and stands in several places has a name, and so has what would be
// nested too deep to be read: text is as long as the graph of nodes is large.
class Expressions {
 public:
  Expressions() = default;
  Expressions(const Statement& s, TextOfConstant apart) {
    std::vector<const Expr::Node*> order;  // operands first
    for_each_expression(s, [&](const Expr& e) { visit(e.identity(), order); });
    for (const Expr::Node* n : order) write(*n, apart);
  }
  const std::vector<std::string>& named() const { return named_; }  // a line each
  const std::string& text(const Expr& e) const { return parts_.at(e.identity()).text; }

 private:
  struct Part {
    int readers = 0;
    std::int64_t nodes = 1;  // of its text, without names; many is enough
    int depth = 0;
    std::string text;
  };
  // A reader more of a node; those that are new are put in order.
  void visit(const Expr::Node* root, std::vector<const Expr::Node*>& order) {
    if (parts_[root].readers++ > 0) return;
    std::vector<std::pair<const Expr::Node*, std::size_t>> open{{root, 0}};
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (next == node->operands.size() || !node->operands[next]) {
        order.push_back(node);
        open.pop_back();
        continue;
      }
      const Expr::Node* operand = node->operands[next++].get();
      if (parts_[operand].readers++ == 0) open.push_back({operand, 0});
    }
  }
  void write(const Expr::Node& n, TextOfConstant apart) {
    constexpr std::int64_t many = 1 << 20;
    Part part = parts_.at(&n);
    for (const auto& operand : n.operands) {
      if (!operand) break;
      const Part& of = parts_.at(operand.get());
      part.nodes = std::min(part.nodes + of.nodes, many);
      part.depth = std::max(part.depth, of.depth + 1);
    }
    if (apart && n.kind == Expr::Kind::constant) part.text = apart(n);
    if (part.text.empty())
      part.text =
          node_text(n, [&](std::size_t i) -> const std::string& { return parts_.at(n.operands[i].get()).text; });
    if ((part.readers > 1 && part.nodes > largest_repeated) || part.depth > deepest_text) {
      named_.push_back(fmt::format("t{} = {}", named_.size(), part.text));
      part.text = fmt::format("t{}", named_.size() - 1);
      part.depth = 0;
    }
    parts_.at(&n) = std::move(part);
  }

  std::unordered_map<const Expr::Node*, Part> parts_;
  std::vector<std::string> named_;
};

class Printer {
 public:
  explicit Printer(TextOfConstant apart = {}) : apart_(apart) {}
  std::string run(const Function& f) {
    out_ = fmt::format("function @{} arena={}", name_text(f.name), f.arena_bytes.text());
    if (f.arguments > 0) out_ += fmt::format(" arguments={}", f.arguments);
    if (f.sizes > 0) out_ += fmt::format(" sizes={}", f.sizes);
    out_ += fmt::format("{}{}\n", f.lists ? " lists" : "", f.checks_sizes ? " checks" : "");
    if (!f.not_negative.empty()) line(1, "not negative " + sizes_text(f.not_negative));
    if (!f.not_empty.empty()) line(1, "not empty " + sizes_text(f.not_empty));
    for (std::size_t i = 0; i < f.slots.size(); ++i) slot(i, f.slots[i]);
    block(f.body, 1);
    return std::move(out_);
  }
  std::string run(const Statement& s) {
    statement(s, 1);
    return std::move(out_);
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(2 * static_cast<std::size_t>(depth), ' ');
    out_ += text;
    out_ += '\n';
  }
  static std::string name_text(const std::string& name) {
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!name.empty() && std::ranges::all_of(name, plain)) return name;
    std::string text = "\"";
    for (const char c : name) {
      const auto code = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\')
        text += fmt::format("\\{}", c);
      else
        text += code < 0x20 || code == 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
    }
    return text + "\"";
  }
  static std::string sizes_text(const Sizes& sizes) {
    std::string text;
    for (const Dim& d : sizes) text += (text.empty() ? "" : ", ") + d.text();
    return text;
  }
  static std::string loops(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
    std::string text;
    for (std::size_t i = 0; i < vars.size(); ++i)
      text += fmt::format("{}i{}<{}", i > 0 ? ", " : "", vars[i], sizes[i].text());
    return text;
  }

  void slot(std::size_t number, const Slot& s) {
    std::string text = fmt::format("m{}: {}[{}] {}", number, name(s.dtype), s.elements.text(),
                                   place_names[static_cast<std::size_t>(s.place)]);
    if (s.place == Slot::Place::argument) text += fmt::format(" {}", s.argument);
    if (s.place == Slot::Place::arena) text += " " + s.arena_offset.text();
    if (s.place == Slot::Place::size) text += " " + (s.most ? s.most->text() : "any");
    if (s.place == Slot::Place::found) text += fmt::format(" m{}", s.argument);
    if (s.object) text += fmt::format(" of object {}", *s.object);
    if (s.place == Slot::Place::constant || s.place == Slot::Place::numbers) {
      const std::size_t size = size_of(s.dtype);
      text += " [";
      for (std::size_t at = 0; at + size <= s.values.size(); at += size)
        text += (at > 0 ? ", " : "") + number_text(s.dtype, s.values.data() + at);
      text += "]";
    }
    line(1, text);
  }

  void block(const Block& b, int depth) {
    for (const Statement& s : b) statement(s, depth);
  }
  void statement(const Statement& s, int depth) {
    expressions_ = Expressions(s, apart_);
    for (const std::string& each : expressions_.named()) line(depth, each);
    std::visit([&](const auto& held) { write(held, depth); }, s.held());
  }
  std::string text_of(const Store& s) const {
    return fmt::format("{} = {}{}", place(s.slot, s.offset), text(s.value),
                       s.condition ? " if " + text(s.condition) : "");
  }
  void write(const Nest& n, int depth) {
    line(depth, fmt::format("{} [{}]",
                            n.independent ? "each"
                            : n.combines  ? "combine"
                                          : "in order",
                            loops(n.vars, n.sizes)));
    for (const Store& s : n.stores) line(depth + 1, text_of(s));
  }
  void write(const Reduce& r, int depth) {
    line(depth, fmt::format("each [{}] {} = {} over [{}] of {} from {}", loops(r.outer_vars, r.outer_sizes),
                            place(r.slot, r.offset), combine_names[static_cast<std::size_t>(r.combine)],
                            loops(r.inner_vars, r.inner_sizes), text(r.value), text(r.initial)));
    for (const Reduce::Result& other : r.others)
      line(depth + 1,
           fmt::format("also {} = {} of {} from {}", place(other.slot, other.offset),
                       combine_names[static_cast<std::size_t>(other.combine)], text(other.value), text(other.initial)));
    for (const Store& s : r.stores) line(depth + 1, "and " + text_of(s));
  }
  void write(const Copy& c, int depth) {
    line(depth, fmt::format("copy {} = {}, {} elements{}", place(c.to, c.to_offset), place(c.from, c.from_offset),
                            c.elements.text(), c.row == Dim(1) ? "" : fmt::format(", rows of {}", c.row.text())));
  }
  void write(const Product& p, int depth) {
    const auto three = [](const Dim& x, const Dim& y, const Dim& z) {
      return fmt::format("({}, {}, {})", x.text(), y.text(), z.text());
    };
    line(depth, fmt::format("product {} {}= {} x {}, {} x {}, strides {} x {} to {} of {}", place(p.c, p.c_offset),
                            p.accumulate ? "+" : "", place(p.a, p.a_offset), place(p.b, p.b_offset), p.batch.text(),
                            three(p.m, p.k, p.n), three(p.a_batch, p.a_m, p.a_k), three(p.b_batch, p.b_k, p.b_n),
                            three(p.c_batch, p.c_m, p.c_n), name(p.dtype)));
  }
  void write(const Element& e, int depth) {
    line(depth,
         fmt::format("m{} = {} {} of list {}, {} bytes{}", e.element, access_names[static_cast<std::size_t>(e.access)],
                     text(e.index), text(e.list), e.bytes.text(), e.consumed ? ", consumes " + text(e.consumed) : ""));
  }
  void write(const Call& c, int depth) {
    std::string arguments;
    for (const Call::Argument& a : c.arguments) {
      arguments += arguments.empty() ? "" : ", ";
      arguments += a.address ? "&" + place(*a.address, a.value) : text(a.value);
      arguments += a.written ? " written" : "";
    }
    line(depth, fmt::format("{}{}({}){}, {} ns", c.result ? place(*c.result, c.result_offset) + " = " : "", c.function,
                            arguments, c.table ? " by table" : "", c.nanoseconds));
  }
  void write(const For& f, int depth) {
    line(depth, fmt::format("for {}i{}<{}", f.in_order ? "in order " : "", f.var, f.count.text()));
    block(f.body, depth + 1);
  }
  void write(const While& w, int depth) {
    line(depth, (w.apart ? "while apart " : "while ") + text(w.condition));
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
    std::string text = fmt::format("{} i{}<{}", b.parallel ? "parallel blocks" : "blocks", b.var, b.count.text());
    if (b.rest != Dim(0)) text += ", rest " + b.rest.text();
    if (b.grain != Dim(1)) text += ", grain " + b.grain.text();
    if (!b.own.empty()) text += fmt::format(", own m{}", fmt::join(b.own, ", m"));
    line(depth, text);
    block(b.body, depth + 1);
    if (b.tail.empty()) return;
    line(depth, "then");
    block(b.tail, depth + 1);
  }

  const std::string& text(const Expr& e) const { return expressions_.text(e); }
  std::string place(SlotId slot, const Expr& offset) const { return fmt::format("m{}[{}]", slot, text(offset)); }

  TextOfConstant apart_;
  Expressions expressions_;
  std::string out_;
};

// As a tree, up to so many nodes.
std::string tree_text(const Expr::Node& n, int& left) {
  if (--left < 0) return "…";
  return node_text(n, [&](std::size_t i) { return tree_text(*n.operands[i], left); });
}

}  // namespace

std::string print(const Expr& e) {
  int nodes = 1000;
  return tree_text(*e.identity(), nodes);
}

std::string print(const Statement& statement) { return Printer().run(statement); }

std::string print(const Function& function, TextOfConstant apart) { return Printer(apart).run(function); }

}  // namespace tenon::kernel
