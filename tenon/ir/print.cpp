#include "tenon/ir/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tenon/ir/op.h"
#include "tenon/ir/scalar.h"

namespace tenon {
namespace {

// What needs no quotes behind @.
bool is_plain_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

class Printer final : public ParamsWriter {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void program_text(const Program& program) {
    out_ += "program @";
    if (program.name().empty())
      out_ += "_";
    else if (is_plain_name(program.name()))
      out_ += program.name();
    else
      text(program.name());
    if (!program.size_params().empty()) {
      out_ += "[";
      for (std::size_t i = 0; i < program.size_params().size(); ++i)
        out_ += fmt::format("{}s{}", i > 0 ? ", " : "", program.size_params()[i]);
      out_ += "]";
    }
    out_ += "(";
    for (std::size_t i = 0; i < program.inputs().size(); ++i)
      out_ +=
          fmt::format("{}%{}: {}", i > 0 ? ", " : "", program.inputs()[i], program.type(program.inputs()[i]).text());
    out_ += ") {\n";
    ++depth_;
    for (const Eqn& eqn : program.eqns()) eqn_text(program, eqn);
    indent();
    out_ += "return";
    for (std::size_t i = 0; i < program.outputs().size(); ++i)
      out_ += fmt::format("{} %{}", i > 0 ? "," : "", program.outputs()[i]);
    out_ += "\n";
    --depth_;
    indent();
    out_ += "}";
  }
  std::string take() { return std::move(out_); }

  void field(std::string_view name) override {
    out_ += first_ ? "" : ", ";
    first_ = false;
    out_ += fmt::format("{}=", name);
  }
  void integer(std::int64_t value) override { out_ += fmt::format("{}", value); }
  void boolean(bool value) override { out_ += value ? "true" : "false"; }
  void real(double value) override { out_ += Scalar(value).text(); }
  void word(std::string_view value) override { out_ += value; }
  void text(std::string_view value) override {
    out_ += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') out_ += '\\';
      if (static_cast<unsigned char>(c) < 0x20)
        out_ += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      else
        out_ += c;
    }
    out_ += '"';
  }
  void dim(const Dim& value) override { out_ += value.text(); }
  void scalar(const Scalar& value) override { out_ += fmt::format("{}:{}", name(value.dtype()), value.text()); }
  void type(const Type& value) override { out_ += value.text(); }
  void program(const ProgramRef& value) override {
    if (!value) return nothing();
    const bool first = first_;
    program_text(*value);
    first_ = first;
  }
  void nothing() override { out_ += "none"; }
  void begin_list() override {
    out_ += "[";
    list_first_.push_back(true);
  }
  void item() override {
    out_ += list_first_.back() ? "" : ", ";
    list_first_.back() = false;
  }
  void end_list() override {
    out_ += "]";
    list_first_.pop_back();
  }

 private:
  void indent() { out_.append(2 * static_cast<std::size_t>(depth_), ' '); }

  void eqn_text(const Program& program, const Eqn& eqn) {
    indent();
    for (std::size_t i = 0; i < eqn.out.size(); ++i)
      out_ += fmt::format("{}%{}: {}", i > 0 ? ", " : "", eqn.out[i], program.type(eqn.out[i]).text());
    if (!eqn.out.empty()) out_ += " = ";
    out_ += eqn.op->name;
    for (std::size_t i = 0; i < eqn.in.size(); ++i) out_ += fmt::format("{} %{}", i > 0 ? "," : "", eqn.in[i]);
    if (!eqn.params.none()) {
      out_ += " {";
      first_ = true;
      eqn.params.ops()->write(eqn.params.value(), *this);
      out_ += "}";
    }
    if (!eqn.new_sizes.empty()) {
      out_ += " new[";
      for (std::size_t i = 0; i < eqn.new_sizes.size(); ++i)
        out_ += fmt::format("{}s{}", i > 0 ? ", " : "", eqn.new_sizes[i]);
      out_ += "]";
    }
    if (eqn.numerics == Numerics::strict) out_ += " strict";
    if (eqn.recompute != 0) out_ += fmt::format(" recompute[{}]", eqn.recompute);
    if (options_.places && eqn.where.known()) out_ += "  // " + eqn.where.text();
    out_ += "\n";
  }

  PrintOptions options_;
  std::string out_;
  int depth_ = 0;
  bool first_ = true;
  std::vector<bool> list_first_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) {
  Printer printer(options);
  printer.program_text(program);
  return printer.take() + "\n";
}

std::ostream& operator<<(std::ostream& out, const ProgramRef& program) { return out << print(*program); }

}  // namespace tenon
