#include "tenon/ir/parse.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "tenon/base/dim_text.h"
#include "tenon/base/fork.h"
#include "tenon/base/text_scanner.h"
#include "tenon/ir/op.h"
#include "tenon/ir/scalar.h"

namespace tenon {
namespace {

// Texts may come from anywhere: what nests deeper than this is refused before it exhausts the stack.
constexpr int deepest = 100;

// Sources hold names that live forever.
const char* lasting_name(std::string_view file) {
  static constinit ForkMutex mutex;
  static constinit Lasting<std::set<std::string, std::less<>>> all;
  auto& names = all.get();
  const std::lock_guard lock(mutex);
  const auto found = names.find(file);
  return (found != names.end() ? found : names.emplace(file).first)->c_str();
}

class Parser final : public ParamsReader {
 public:
  Parser(std::string_view text, std::string_view file)
      : text_(text), file_(file), place_file_(lasting_name(file)), scan_(text, file) {}

  ProgramRef run() {
    ProgramRef result = program_text();
    if (!scan_.at_end()) scan_.fail(fmt::format("expected the end of the text, found {}.", scan_.found()));
    return result;
  }

  // --- ParamsReader ---
  void field(std::string_view name) override {
    if (!first_field_) scan_.expect(",");
    first_field_ = false;
    if (!scan_.accept(name))
      scan_.fail(fmt::format("expected the parameter '{}', found {}.", name, scan_.found()),
                 "Parameters stand in the order in which they are printed, none left out.");
    scan_.expect("=");
  }
  std::int64_t integer() override {
    const TextPlace at = scan_.place();
    const bool negative = scan_.accept("-");
    return signed_value(at, negative, scan_.natural("an integer"));
  }
  bool boolean() override {
    if (scan_.accept("true")) return true;
    if (!scan_.accept("false")) scan_.fail(fmt::format("expected true or false, found {}.", scan_.found()));
    return false;
  }
  double real() override { return number(DType::f64).as<double>(); }
  std::string word() override { return value_word("a word"); }
  std::string text() override {
    mark_value();
    return scan_.quoted();
  }
  Dim dim() override {
    mark_value();
    const Nesting nesting(*this);
    return dim_text();
  }
  Scalar scalar() override {
    const DType dtype = dtype_of_word(value_word("a dtype"));
    scan_.expect(":");
    return number(dtype);
  }
  Type type() override {
    mark_value();
    return type_text();
  }
  ProgramRef program() override {
    if (nothing()) return nullptr;
    const bool first = first_field_;
    std::vector<bool> lists = std::exchange(list_first_, {});
    ProgramRef nested = program_text();
    first_field_ = first;
    list_first_ = std::move(lists);
    return nested;
  }
  bool nothing() override { return scan_.accept("none"); }
  void begin_list() override {
    mark_value();
    scan_.expect("[");
    list_first_.push_back(true);
  }
  bool item() override {
    if (scan_.accept("]")) {
      list_first_.pop_back();
      return false;
    }
    if (!list_first_.back()) scan_.expect(",", " or ']'");
    list_first_.back() = false;
    return true;
  }
  [[noreturn]] void fail(const std::string& what) override { scan_.fail_at(value_at_, what); }

 private:
  // The names of one Program; nested ones have their own.
  struct Names {
    std::unordered_map<std::string, Var> vars;
    std::map<std::string, SizeVar> sizes;
    std::map<SizeVar, TextPlace> undeclared;  // sizes that were read first
    std::set<SizeVar> declared;
  };
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > deepest) parser_.scan_.fail(fmt::format("nested more than {} deep.", deepest));
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  void mark_value() { value_at_ = scan_.place(); }
  std::string value_word(std::string_view wanted) {
    mark_value();
    return scan_.word(wanted);
  }
  DType dtype_of_word(const std::string& word) {
    const auto dtype = dtype_from_name(word);
    if (!dtype) scan_.fail_at(value_at_, fmt::format("'{}' is not a dtype.", word));
    return *dtype;
  }
  Scalar number(DType dtype) {
    mark_value();
    const std::string digits = scan_.number();
    try {
      return Scalar::parse(digits, dtype);
    } catch (const ParseError& error) {
      scan_.fail_at(value_at_, bare_message(error));
    }
  }
  std::int64_t signed_value(TextPlace at, bool negative, std::uint64_t magnitude) {
    value_at_ = at;
    return read_signed(scan_, at, negative, magnitude);
  }

  Dim dim_text() {
    return read_dim(scan_, [this](const std::string& name, TextPlace at) { return Dim::variable(size(name, at)); });
  }
  SizeVar size(const std::string& name, TextPlace at) {
    const auto [found, fresh] = names_->sizes.emplace(name, static_cast<SizeVar>(names_->sizes.size()));
    if (!names_->declared.contains(found->second)) names_->undeclared.emplace(found->second, at);
    return found->second;
  }
  // [s0, s1]: sizes that stand for themselves from here on.
  std::vector<SizeVar> declare_sizes() {
    std::vector<SizeVar> sizes;
    scan_.expect("[");
    do {
      const TextPlace at = scan_.place();
      const std::string name = scan_.word("the name of a size");
      const SizeVar s = names_->sizes.emplace(name, static_cast<SizeVar>(names_->sizes.size())).first->second;
      if (!names_->declared.insert(s).second) scan_.fail_at(at, fmt::format("the size '{}' is defined twice.", name));
      names_->undeclared.erase(s);
      sizes.push_back(s);
    } while (scan_.accept(","));
    scan_.expect("]");
    return sizes;
  }
  void require_declared_sizes() {
    if (names_->undeclared.empty()) return;
    const auto& [size, at] = *names_->undeclared.begin();
    for (const auto& [name, known] : names_->sizes)
      if (known == size)
        scan_.fail_at(at, fmt::format("the size '{}' is not known here.", name),
                      "Size parameters stand behind the Program's name, sizes that data decide behind 'new'.");
  }

  Type type_text() {
    const Nesting nesting(*this);
    const std::string word = value_word("a type");
    if (scan_.next() == '<') {
      scan_.expect("<");
      Type element = type_text();
      scan_.expect(">");
      if (word == "list") return Type::list(std::move(element));
      if (word == "accum") return Type::accum(std::move(element));
      if (word == "ref") return Type::ref(std::move(element));
      scan_.fail_at(value_at_, fmt::format("'{}' is no type of types.", word), "There are list, accum and ref.");
    }
    const DType dtype = dtype_of_word(word);
    Shape shape;
    scan_.expect("[");
    while (!scan_.accept("]")) {
      if (shape.rank() > 0) scan_.expect(",", " or ']'");
      shape.push_back(dim_text());
    }
    return Type::array(dtype, std::move(shape));
  }

  // --- programs ---
  ProgramRef program_text() {
    const Nesting nesting(*this);
    Names names;
    Names* const outer = std::exchange(names_, &names);
    scan_.expect("program");
    const TextPlace at = scan_.place();
    scan_.expect("@");
    ProgramParts parts;
    parts.name = scan_.next() == '"' ? scan_.quoted() : scan_.name("the Program's name");
    if (parts.name == "_") parts.name.clear();
    if (scan_.next() == '[') parts.size_params = declare_sizes();
    scan_.expect("(");
    while (!scan_.accept(")")) {
      if (!parts.inputs.empty()) scan_.expect(",", " or ')'");
      const Definition input = definition(parts);
      declare(input);
      parts.inputs.push_back(input.var);
    }
    require_declared_sizes();
    scan_.expect("{");
    while (!scan_.accept("return")) parts.eqns.push_back(eqn_text(parts));
    if (scan_.next() == '%') do
        parts.outputs.push_back(use());
      while (scan_.accept(","));
    scan_.expect("}", " behind what is returned");
    names_ = outer;
    return finish(std::move(parts), at);
  }

  ProgramRef finish(ProgramParts parts, TextPlace at) {
    try {
      return Program::finish(std::move(parts));
    } catch (const Error& error) {
      // Eqns carry their places, so an error of an op's rule tells where it stands.
      const Source& where = error.where();
      if (where.known() && where.file == place_file_) at = {where.line, where.column};
      throw error_at(text_, file_, at, bare_message(error), error.advice());
    }
  }

  // %name: type
  struct Definition {
    std::string name;
    TextPlace at;
    Var var;
  };
  Definition definition(ProgramParts& parts) {
    const TextPlace at = scan_.place();
    scan_.expect("%");
    std::string name = scan_.name("the name of a variable");
    scan_.expect(":");
    parts.types.push_back(type_text());
    return {std::move(name), at, static_cast<Var>(parts.types.size() - 1)};
  }
  void declare(const Definition& d) {
    if (!names_->vars.emplace(d.name, d.var).second) scan_.fail_at(d.at, fmt::format("%{} is defined twice.", d.name));
  }
  Var use() {
    const TextPlace at = scan_.place();
    scan_.expect("%");
    const std::string name = scan_.name("the name of a variable");
    const auto found = names_->vars.find(name);
    if (found == names_->vars.end()) scan_.fail_at(at, fmt::format("%{} is not defined before this.", name));
    return found->second;
  }

  // %a: type, %b: type = op %x, %y {params} new[s0] strict recompute[1]
  Eqn eqn_text(ProgramParts& parts) {
    Eqn eqn;
    std::vector<Definition> results;  // not to be read by the eqn itself
    if (scan_.next() == '%') {
      do results.push_back(definition(parts));
      while (scan_.accept(","));
      scan_.expect("=");
    }
    const TextPlace at = scan_.place();
    const std::string op = scan_.word("an op");
    eqn.op = find_op(op);
    if (eqn.op == nullptr) scan_.fail_at(at, fmt::format("there is no op '{}'.", op));
    eqn.where.file = place_file_;
    eqn.where.line = at.line;
    eqn.where.column = at.column;
    if (scan_.next() == '%') do
        eqn.in.push_back(use());
      while (scan_.accept(","));
    if (scan_.next() == '{')
      eqn.params = params_text(*eqn.op);
    else if (eqn.op->params != nullptr)
      scan_.fail_at(at,
                    fmt::format("{} takes parameters behind its operands, in {{…}}: {}.", op, eqn.op->params->names()));
    if (scan_.accept("new")) eqn.new_sizes = declare_sizes();
    if (scan_.accept("strict")) eqn.numerics = Numerics::strict;
    if (scan_.accept("recompute")) {
      scan_.expect("[");
      const TextPlace scope_at = scan_.place();
      const std::uint64_t scope = scan_.natural("the number of a recompute scope");
      if (scope > std::numeric_limits<RecomputeScope>::max())
        scan_.fail_at(scope_at, "a recompute scope is a number of 32 bits.");
      eqn.recompute = static_cast<RecomputeScope>(scope);
      scan_.expect("]");
    }
    require_declared_sizes();
    for (const Definition& d : results) {
      declare(d);
      eqn.out.push_back(d.var);
    }
    return eqn;
  }

  Params params_text(const OpInfo& op) {
    if (op.params == nullptr) scan_.fail(fmt::format("{} has no parameters.", op.name));
    scan_.expect("{");
    first_field_ = true;
    list_first_.clear();
    Params params(*op.params, op.params->read(*this));
    scan_.expect("}", " behind the last parameter");
    return params;
  }

  std::string_view text_, file_;
  const char* place_file_;
  TextScanner scan_;
  Names* names_ = nullptr;
  TextPlace value_at_;  // of the params' value that is being read
  bool first_field_ = true;
  std::vector<bool> list_first_;
  int depth_ = 0;
};

}  // namespace

ProgramRef parse(std::string_view text, std::string_view file) { return Parser(text, file).run(); }

}  // namespace tenon
