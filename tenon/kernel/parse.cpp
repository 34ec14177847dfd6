#include "tenon/kernel/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tenon/base/dim_text.h"
#include "tenon/base/fork.h"
#include "tenon/base/number_text.h"
#include "tenon/base/text_scanner.h"
#include "tenon/kernel/text.h"
#include "tenon/kernel/wrong_operation.h"

namespace tenon::kernel {
namespace {

constexpr int deepest = 4 * deepest_text;         // of expressions, and of blocks
constexpr int deepest_graph = 4096;               // of expressions, names resolved: passes go down them by calls
constexpr std::uint32_t most_numbered = 1 << 20;  // variables, arguments, sizes: what is numbered, and not listed

template <class Op>
std::map<std::string, Op, std::less<>> by_name(Op last) {
  std::map<std::string, Op, std::less<>> ops;
  for (int i = 0; i <= static_cast<int>(last); ++i) ops.emplace(name(static_cast<Op>(i)), static_cast<Op>(i));
  return ops;
}
const std::map<std::string, Unary, std::less<>>& unary_ops() {
  static constinit Lasting<const std::map<std::string, Unary, std::less<>>> ops;
  return ops.get([] { return by_name(Unary::imag); });
}
const std::map<std::string, Binary, std::less<>>& binary_ops() {
  static constinit Lasting<const std::map<std::string, Binary, std::less<>>> ops;
  return ops.get([] { return by_name(Binary::complex); });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : scan_(text, file) {}

  Function run() {
    const unsigned column = scan_.place().column;
    header();
    while (scan_.accept("not")) limits();
    while (begins_slot()) slot();
    f_.body = block(column);
    if (!scan_.at_end()) scan_.fail(fmt::format("expected a statement or the end, found {}.", scan_.found()));
    return std::move(f_);
  }

 private:
  // --- tokens ---
  [[noreturn]] void fail_at(TextPlace at, const std::string& what, std::string_view advice = {}) const {
    scan_.fail_at(at, what, advice);
  }
  std::uint32_t number_below(std::uint32_t limit, std::string_view wanted) {
    const TextPlace at = scan_.place();
    const std::uint64_t value = scan_.natural(wanted);
    if (value >= limit) fail_at(at, fmt::format("expected {} below {}, found {}.", wanted, limit, value));
    return static_cast<std::uint32_t>(value);
  }
  // The number of a word such as m12, of which the letter is known.
  std::optional<std::uint32_t> numbered(std::string_view word, char letter) const {
    if (word.size() < 2 || word.size() > 8 || word[0] != letter) return {};
    std::uint32_t number = 0;
    for (const char c : word.substr(1)) {
      if (!is_digit(c)) return {};
      number = 10 * number + static_cast<std::uint32_t>(c - '0');
    }
    return number < most_numbered ? std::optional(number) : std::nullopt;
  }
  std::uint32_t numbered_word(char letter, std::string_view wanted) {
    const TextPlace at = scan_.place();
    const std::string word = scan_.word(wanted);
    const auto number = numbered(word, letter);
    if (!number) fail_at(at, fmt::format("expected {}, found '{}'.", wanted, word));
    return *number;
  }
  Dim dim() {
    return read_dim(scan_, [this](const std::string& name, TextPlace at) {
      const auto number = numbered(name, 's'), slot = numbered(name, 'n');
      if (!number && !slot)
        fail_at(at, fmt::format("'{}' is no size parameter.", name),
                "They are called s0, s1, …; what the slot m2 holds as a size is n2.");
      return number ? Dim::variable(*number) : size_in(*slot);
    });
  }
  Sizes dims() {
    Sizes all;
    do all.push_back(dim());
    while (scan_.accept(","));
    return all;
  }
  DType dtype(std::string_view wanted = "a dtype") {
    const TextPlace at = scan_.place();
    const std::string word = scan_.word(wanted);
    const auto d = dtype_from_name(word);
    if (!d) fail_at(at, fmt::format("'{}' is no dtype.", word));
    return *d;
  }
  template <std::size_t n>
  std::size_t one_of(const std::array<std::string_view, n>& words, std::string_view wanted) {
    for (std::size_t i = 0; i < n; ++i)
      if (accept_words(words[i])) return i;
    scan_.fail(fmt::format("expected {}, found {}.", wanted, scan_.found()));
  }
  // Words with single spaces between them.
  bool accept_words(std::string_view words) {
    const auto space = words.find(' ');
    if (!scan_.accept(words.substr(0, space))) return false;
    if (space != std::string_view::npos) scan_.expect(words.substr(space + 1));
    return true;
  }
  void bytes_of(DType d, std::string_view digits, TextPlace at, std::byte* to) {
    try {
      parse_number(digits, d, to);
    } catch (const ParseError& error) {
      fail_at(at, bare_message(error));
    }
  }

  // --- the Function and its slots ---
  void header() {
    scan_.expect("function");
    scan_.expect("@");
    f_.name = scan_.next() == '"' ? scan_.quoted() : scan_.name("a name");
    if (scan_.accept("arena")) scan_.expect("="), f_.arena_bytes = dim();
    if (scan_.accept("arguments")) scan_.expect("="), f_.arguments = number_below(most_numbered, "a number");
    if (scan_.accept("sizes")) scan_.expect("="), f_.sizes = number_below(most_numbered, "a number");
    f_.lists = scan_.accept("lists");
    f_.checks_sizes = scan_.accept("checks");
  }
  void limits() {
    const bool empty = scan_.accept("empty");
    if (!empty) scan_.expect("negative");
    (empty ? f_.not_empty : f_.not_negative) = dims();
  }
  // m0: …, where a statement may begin with m0, too.
  bool begins_slot() const {
    if (scan_.next() != 'm') return false;
    TextScanner ahead = scan_;
    return numbered(ahead.word("a slot"), 'm') && ahead.next() == ':';
  }
  void slot() {
    const TextPlace at = scan_.place();
    if (numbered_word('m', "a slot") != f_.slots.size())
      fail_at(at, fmt::format("slots are numbered from m0 on: expected m{}.", f_.slots.size()));
    scan_.expect(":");
    Slot s{dtype(), 0, Slot::Place::local};
    scan_.expect("[");
    s.elements = dim();
    scan_.expect("]");
    s.place = static_cast<Slot::Place>(one_of(place_names, "a place such as argument or local"));
    if (s.place == Slot::Place::argument) s.argument = number_below(most_numbered, "the number of an argument");
    if (s.place == Slot::Place::arena) s.arena_offset = dim();
    if (s.place == Slot::Place::size && !scan_.accept("any")) s.most = dim();
    if (s.place == Slot::Place::found) s.argument = numbered_word('m', "the slot of an address");
    if (s.place == Slot::Place::constant || s.place == Slot::Place::numbers) {
      if (scan_.accept("of")) {
        scan_.expect("object");
        s.object = number_below(1 << 16, "the number of an object");
        if (f_.objects.size() <= *s.object) f_.objects.resize(*s.object + 1, nullptr);
      }
      values(s);
    }
    f_.slots.push_back(std::move(s));
  }
  void values(Slot& s) {
    scan_.expect("[");
    std::array<std::byte, 16> bits{};
    for (bool first = true; !scan_.accept("]"); first = false) {
      if (!first) scan_.expect(",", " or ']'");
      const TextPlace at = scan_.place();
      bytes_of(s.dtype, scan_.number(), at, bits.data());
      s.values.insert(s.values.end(), bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(size_of(s.dtype)));
    }
  }

  // --- statements ---
  // Those that begin in a column behind this one.
  Block block(unsigned column) {
    if (++depth_of_blocks_ > deepest) scan_.fail(fmt::format("blocks nested more than {} deep.", deepest));
    Block statements;
    while (!scan_.at_end() && scan_.place().column > column) statements.push_back(statement());
    --depth_of_blocks_;
    return statements;
  }
  Statement statement() {
    named_.clear(), small_.clear(), nodes_.clear();
    TextPlace at = scan_.place();
    const unsigned column = at.column;
    std::string word = scan_.word("a statement");
    while (is_name(word)) {
      define(word);
      at = scan_.place();
      word = scan_.word("a statement");
    }
    if (word == "each") return each(at, column);
    if (word == "in" || word == "combine") {
      Nest n;
      n.independent = false;
      n.combines = word == "combine";
      if (!n.combines) scan_.expect("order");
      loops(n.vars, n.sizes);
      n.stores = stores(column);
      return n;
    }
    if (word == "copy") return copy();
    if (word == "product") return product();
    if (word == "for") return loop(column);
    if (word == "while") return while_loop(column);
    if (word == "switch") return choice(column);
    if (word == "blocks") return blocks(column, false);
    if (word == "parallel") return scan_.expect("blocks"), blocks(column, true);
    return element_or_call(word, at);
  }

  // t0 = …
  bool is_name(std::string_view word) const { return numbered(word, 't') && scan_.next() == '='; }
  void define(const std::string& word) {
    scan_.expect("=");
    const TextPlace at = scan_.place();
    const Expr e = expression();
    if (!named_.emplace(word, e).second) fail_at(at, fmt::format("{} has a value already.", word));
  }
  std::uint32_t variable_number() {
    const std::uint32_t var = numbered_word('i', "a variable such as i0");
    f_.vars = std::max(f_.vars, var + 1);
    return var;
  }
  void variable_below(std::uint32_t& var, Dim& size) {
    var = variable_number();
    scan_.expect("<");
    size = dim();
  }
  void loops(std::vector<std::uint32_t>& vars, Sizes& sizes) {
    scan_.expect("[");
    for (bool first = true; !scan_.accept("]"); first = false) {
      if (!first) scan_.expect(",", " or ']'");
      variable_below(vars.emplace_back(), sizes.emplace_back());
    }
  }
  SlotId slot_word() {
    const TextPlace at = scan_.place();
    const std::uint32_t slot = numbered_word('m', "a slot such as m0");
    if (slot >= f_.slots.size()) fail_at(at, fmt::format("there is no slot m{}.", slot));
    return slot;
  }
  void place(SlotId& slot, Expr& offset) {
    slot = slot_word();
    offset = offset_in_brackets();
  }
  Expr offset_in_brackets() {
    scan_.expect("[");
    const Expr offset = index();
    scan_.expect("]");
    return offset;
  }
  Store store() {
    Store s;
    place(s.slot, s.offset);
    scan_.expect("=");
    s.value = expression();
    if (scan_.accept("if")) s.condition = expression();
    return s;
  }
  std::vector<Store> stores(unsigned column) {
    std::vector<Store> all;
    while (!scan_.at_end() && scan_.place().column > column) all.push_back(store());
    return all;
  }
  Statement each(TextPlace at, unsigned column) {
    std::vector<std::uint32_t> vars;
    Sizes sizes;
    loops(vars, sizes);
    if (scan_.at_end() || scan_.place().line != at.line) return Nest{vars, sizes, stores(column), true};
    Reduce r;
    r.outer_vars = std::move(vars), r.outer_sizes = std::move(sizes);
    place(r.slot, r.offset);
    scan_.expect("=");
    r.combine = combine();
    scan_.expect("over");
    loops(r.inner_vars, r.inner_sizes);
    scan_.expect("of");
    r.value = expression();
    scan_.expect("from");
    r.initial = expression();
    while (!scan_.at_end() && scan_.place().column > column)
      if (r.stores.empty() && scan_.accept("also")) {
        r.others.push_back(other_result());
      } else {
        scan_.expect("and");
        r.stores.push_back(store());
      }
    return r;
  }
  Combine combine() {
    return static_cast<Combine>(one_of(combine_names, "how it combines: sum, product, max, min, all or any"));
  }
  Reduce::Result other_result() {
    Reduce::Result other{};
    place(other.slot, other.offset);
    scan_.expect("=");
    other.combine = combine();
    scan_.expect("of");
    other.value = expression();
    scan_.expect("from");
    other.initial = expression();
    return other;
  }
  Statement copy() {
    Copy c;
    place(c.to, c.to_offset);
    scan_.expect("=");
    place(c.from, c.from_offset);
    scan_.expect(",");
    c.elements = dim();
    scan_.expect("elements");
    if (scan_.accept(",")) scan_.expect("rows"), scan_.expect("of"), c.row = dim();
    return c;
  }
  void three(Dim& x, Dim& y, Dim& z) {
    scan_.expect("(");
    x = dim();
    scan_.expect(",");
    y = dim();
    scan_.expect(",");
    z = dim();
    scan_.expect(")");
  }
  Statement product() {
    Product p;
    place(p.c, p.c_offset);
    p.accumulate = scan_.accept("+");
    scan_.expect("=");
    place(p.a, p.a_offset);
    scan_.expect("x");
    place(p.b, p.b_offset);
    scan_.expect(",");
    p.batch = dim();
    scan_.expect("x");
    three(p.m, p.k, p.n);
    scan_.expect(",");
    scan_.expect("strides");
    three(p.a_batch, p.a_m, p.a_k);
    scan_.expect("x");
    three(p.b_batch, p.b_k, p.b_n);
    scan_.expect("to");
    three(p.c_batch, p.c_m, p.c_n);
    scan_.expect("of");
    p.dtype = dtype();
    return p;
  }
  Statement loop(unsigned column) {
    For f;
    if (scan_.accept("in")) scan_.expect("order"), f.in_order = true;
    variable_below(f.var, f.count);
    f.body = block(column);
    return f;
  }
  Statement while_loop(unsigned column) {
    While w;
    w.apart = scan_.accept("apart");
    w.condition = expression();
    w.before = block(column);
    scan_.expect("do");
    w.body = block(column);
    return w;
  }
  Statement choice(unsigned column) {
    Switch s;
    s.index = index();
    while (!scan_.at_end() && scan_.place().column == column && scan_.accept("case"))
      s.branches.push_back(block(column));
    return s;
  }
  Statement blocks(unsigned column, bool parallel) {
    Blocks b{.parallel = parallel};
    variable_below(b.var, b.count);
    while (scan_.accept(",")) {
      if (scan_.accept("rest"))
        b.rest = dim();
      else if (scan_.accept("grain"))
        b.grain = dim();
      else if (scan_.accept("own") || !b.own.empty())
        b.own.push_back(slot_word());
      else
        scan_.fail(fmt::format("expected rest, grain or own, found {}.", scan_.found()));
    }
    b.body = block(column);
    if (!scan_.at_end() && scan_.place().column == column && scan_.accept("then")) b.tail = block(column);
    return b;
  }
  Statement element_or_call(const std::string& word, TextPlace at) {
    const auto slot = numbered(word, 'm');
    if (!slot) return call(word, at, {});
    if (*slot >= f_.slots.size()) fail_at(at, fmt::format("there is no slot m{}.", *slot));
    if (scan_.next() != '[') return scan_.expect("="), element(*slot);
    const Expr offset = offset_in_brackets();
    scan_.expect("=");
    at = scan_.place();
    Call c = call(scan_.word("a function"), at, slot);
    c.result_offset = offset;
    return c;
  }
  Element element(SlotId slot) {
    Element e{.element = slot};
    e.access = static_cast<Element::Access>(one_of(access_names, "'element', 'written element' or 'new element'"));
    e.index = index();
    scan_.expect("of");
    scan_.expect("list");
    e.list = index();
    scan_.expect(",");
    e.bytes = dim();
    scan_.expect("bytes");
    if (scan_.accept(",")) scan_.expect("consumes"), e.consumed = index();
    return e;
  }
  Call call(const std::string& function, TextPlace at, std::optional<SlotId> result) {
    if (scan_.next() != '(') fail_at(at, fmt::format("there is no statement '{}'.", function));
    Call c{.function = function, .result = result};
    scan_.expect("(");
    for (bool first = true; !scan_.accept(")"); first = false) {
      if (!first) scan_.expect(",", " or ')'");
      Call::Argument& a = c.arguments.emplace_back();
      if (scan_.accept("&"))
        place(a.address.emplace(), a.value);
      else
        a.value = index();
      a.written = scan_.accept("written");
    }
    if (scan_.accept("by")) scan_.expect("table"), c.table = true;
    scan_.expect(",");
    at = scan_.place();
    std::array<std::byte, 16> bits{};
    bytes_of(DType::f64, scan_.number(), at, bits.data());
    std::memcpy(&c.nanoseconds, bits.data(), sizeof c.nanoseconds);
    if (!std::isfinite(c.nanoseconds) || c.nanoseconds < 0) fail_at(at, "a time that is no number from 0 on.");
    scan_.expect("ns");
    return c;
  }

  // --- expressions ---
  // A node, unless there is an equal one that is small: those are one, as far as the text says.
  using Key = std::tuple<Expr::Kind, DType, Unary, Binary, std::array<std::byte, 16>, std::uint32_t,
                         std::array<const Expr::Node*, 3>>;
  Expr made(Expr::Node node, TextPlace at) {
    if (const auto wrong = wrong_operation(node); !wrong.empty()) fail_at(at, fmt::format("{}.", wrong));
    Key key{node.kind, node.dtype, node.unary, node.binary, node.bits, node.id, {}};
    Extent extent;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      if (node.operands[i]) {
        std::get<6>(key)[i] = node.operands[i].get();
        const Extent& of = nodes_.at(node.operands[i].get());
        extent.nodes = std::min(extent.nodes + of.nodes, largest_repeated + 1);
        extent.depth = std::max(extent.depth, of.depth + 1);
      }
    if (extent.depth > deepest_graph) fail_at(at, fmt::format("an expression more than {} deep.", deepest_graph));
    if (extent.nodes > largest_repeated) return kept(std::move(node), extent);
    const auto found = small_.find(key);
    if (found != small_.end()) return found->second;
    return small_.emplace(key, kept(std::move(node), extent)).first->second;
  }
  struct Extent {
    std::int64_t nodes = 1;  // of its text without names; at most one too many
    int depth = 0;
  };
  Expr kept(Expr::Node node, const Extent& extent) {
    Expr e = expr_of(std::move(node));
    nodes_.emplace(e.identity(), extent);
    return e;
  }

  Expr index() {
    const TextPlace at = scan_.place();
    Expr e = expression();
    if (e.dtype() != DType::i64) fail_at(at, fmt::format("expected an i64, found a value of {}.", name(e.dtype())));
    return e;
  }
  Expr expression() {
    if (++depth_ > deepest) scan_.fail(fmt::format("expressions nested more than {} deep.", deepest));
    const TextPlace at = scan_.place();
    Expr e =
        is_digit(scan_.next()) || scan_.next() == '-' ? number(DType::i64, at) : of_word(scan_.word("a value"), at);
    --depth_;
    return e;
  }
  Expr number(DType d, TextPlace at) {
    Expr::Node node{.kind = Expr::Kind::constant, .dtype = d};
    const TextPlace digits_at = scan_.place();
    bytes_of(d, scan_.number(), digits_at, node.bits.data());
    return made(std::move(node), at);
  }
  Expr of_word(const std::string& word, TextPlace at) {
    if (scan_.next() == '(') return applied(word, at);
    if (const auto d = dtype_from_name(word); d && scan_.accept(":")) return number(*d, at);
    if (word == "true" || word == "false") {
      Expr::Node node{.kind = Expr::Kind::constant, .dtype = DType::bool_};
      node.bits[0] = std::byte(word == "true" ? 1 : 0);
      return made(std::move(node), at);
    }
    if (const auto found = named_.find(word); found != named_.end()) return found->second;
    const auto var = numbered(word, 'i'), size = numbered(word, 's'), slot = numbered(word, 'm'),
               found = numbered(word, 'n');
    if (var) f_.vars = std::max(f_.vars, *var + 1);
    if (var || size)
      return made({.kind = Expr::Kind::variable, .dtype = DType::i64, .id = var ? *var : first_size_variable + *size},
                  at);
    if (found)
      return made(
          {.kind = Expr::Kind::variable, .dtype = DType::i64, .id = first_size_variable + first_found_size + *found},
          at);
    if (!slot) fail_at(at, fmt::format("'{}' is no value.", word));
    if (*slot >= f_.slots.size()) fail_at(at, fmt::format("there is no slot m{}.", *slot));
    scan_.expect("[");
    const Expr offset = expression();
    scan_.expect("]");
    return made({.kind = Expr::Kind::load, .dtype = f_.slots[*slot].dtype, .id = *slot, .operands = {offset.shared()}},
                at);
  }
  Expr applied(const std::string& word, TextPlace at) {
    const auto unary = unary_ops().find(word);
    const auto binary = binary_ops().find(word);
    constexpr std::string_view bits_as = "bits_as_";
    const bool bits = word.starts_with(bits_as);
    const auto d = dtype_from_name(bits ? std::string_view(word).substr(bits_as.size()) : std::string_view(word));
    std::vector<Expr> operands;
    scan_.expect("(");
    do operands.push_back(expression());
    while (operands.size() < 3 && scan_.accept(","));
    scan_.expect(")");
    Expr::Node node{.kind = Expr::Kind::select, .dtype = operands.back().dtype()};
    if (unary != unary_ops().end() && operands.size() == 1)
      node.kind = Expr::Kind::unary, node.unary = unary->second, node.dtype = dtype_of_unary(unary->second, node.dtype);
    else if (binary != binary_ops().end() && operands.size() == 2)
      node.kind = Expr::Kind::binary, node.binary = binary->second,
      node.dtype = dtype_of_binary(binary->second, node.dtype);
    else if (d && operands.size() == 1)
      node.kind = bits ? Expr::Kind::bitcast : Expr::Kind::convert, node.dtype = *d;
    else if (word != "select" || operands.size() != 3)
      fail_at(at, fmt::format("there is no operation '{}' of {} operands.", word, operands.size()));
    for (std::size_t i = 0; i < operands.size(); ++i) node.operands[i] = operands[i].shared();
    return made(std::move(node), at);
  }
  static DType dtype_of_unary(Unary op, DType d) {
    if (op == Unary::is_finite) return DType::bool_;
    return (op == Unary::real || op == Unary::imag) && is_complex(d) ? real_part_of(d) : d;
  }
  static DType dtype_of_binary(Binary op, DType d) {
    if (op >= Binary::eq && op <= Binary::ge) return DType::bool_;
    return op == Binary::complex && (d == DType::f32 || d == DType::f64) ? complex_of(d) : d;
  }

  TextScanner scan_;
  Function f_;
  int depth_ = 0, depth_of_blocks_ = 0;
  // Of the statement at hand.
  std::unordered_map<std::string, Expr> named_;
  std::map<Key, Expr> small_;
  std::unordered_map<const Expr::Node*, Extent> nodes_;
};

}  // namespace

Function parse(std::string_view text, std::string_view file) { return Parser(text, file).run(); }

}  // namespace tenon::kernel
