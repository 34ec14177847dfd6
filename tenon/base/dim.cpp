#include "tenon/base/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tenon/base/dim_code.h"
#include "tenon/base/error.h"

namespace tenon {

// An atom is a size variable, or a floor-division, modulo, minimum or maximum of two Dims.
struct DimAtom {
  enum class Kind : std::uint8_t { variable, floor_div, modulo, min, max } kind = Kind::variable;
  SizeVar variable = 0;
  std::vector<Dim> operands;  // two, or none
  // As a tree: its nodes, and how deep it is. What looks at a Dim recurs so deep.
  std::int64_t nodes = 1, depth = 1;
};

// A product of atoms, sorted; powers as repetition.
using Monomial = std::vector<std::shared_ptr<const DimAtom>>;
struct MonomialLess {
  bool operator()(const Monomial& a, const Monomial& b) const;
};
using Terms = std::map<Monomial, std::int64_t, MonomialLess>;

namespace {

int compare(const Dim& a, const Dim& b);

int compare(const DimAtom& a, const DimAtom& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == DimAtom::Kind::variable) return a.variable == b.variable ? 0 : a.variable < b.variable ? -1 : 1;
  if (const int c = compare(a.operands[0], b.operands[0]); c != 0) return c;
  return compare(a.operands[1], b.operands[1]);
}

int compare(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;  // higher degree first
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const int c = compare(*a[i], *b[i]); c != 0) return c;
  return 0;
}

[[noreturn]] void overflow() { throw ShapeError("a size does not fit in 63 bits.", "Check the sizes."); }
std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) overflow();
  return r;
}
std::int64_t checked_sub(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_sub_overflow(a, b, &r)) overflow();
  return r;
}
std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) overflow();
  return r;
}
std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) throw ShapeError("a size is divided by 0.");
  if (b == -1) return checked_mul(a, -1);
  const std::int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

}  // namespace

bool MonomialLess::operator()(const Monomial& a, const Monomial& b) const { return compare(a, b) < 0; }

// Canonical: sorted monomials with coefficients that are not 0; the constant is the empty monomial.
struct DimPolynomial {
  Terms terms;

  static Terms of(const Dim& d) {
    if (d.polynomial_) return d.polynomial_->terms;
    if (d.value_ == 0) return {};
    return {{Monomial{}, d.value_}};
  }
  static Dim make(Terms terms) {
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
    if (terms.empty()) return Dim(0);
    if (terms.size() == 1 && terms.begin()->first.empty()) return Dim(terms.begin()->second);
    auto polynomial = std::make_shared<DimPolynomial>();
    polynomial->terms = std::move(terms);
    return Dim(std::shared_ptr<const DimPolynomial>(std::move(polynomial)));
  }
  static Dim atom(DimAtom::Kind kind, const Dim& a, const Dim& b) {
    constexpr std::int64_t deepest = 500, largest = 20'000;
    DimAtom atom{kind, 0, {a, b}};
    for (const Dim& operand : atom.operands)
      for (const auto& [monomial, coefficient] : of(operand))
        for (const auto& factor : monomial) {
          atom.nodes += factor->nodes;
          atom.depth = std::max(atom.depth, factor->depth + 1);
        }
    if (atom.depth > deepest || atom.nodes > largest)
      throw ShapeError(fmt::format("a symbolic size divides, or takes the lesser or larger of, sizes that do so, {}.",
                                   atom.depth > deepest ? fmt::format("more than {} deep", deepest)
                                                        : fmt::format("in more than {} places", largest)),
                       "Check the sizes; a size that is a number has no such limit.");
    return make({{Monomial{std::make_shared<const DimAtom>(std::move(atom))}, 1}});
  }
};

namespace {

int compare(const Dim& a, const Dim& b) {
  const Terms x = DimPolynomial::of(a), y = DimPolynomial::of(b);
  auto i = x.begin(), j = y.begin();
  for (; i != x.end() && j != y.end(); ++i, ++j) {
    if (const int c = compare(i->first, j->first); c != 0) return c;
    if (i->second != j->second) return i->second < j->second ? -1 : 1;
  }
  return i == x.end() ? (j == y.end() ? 0 : -1) : 1;
}

}  // namespace

Dim::Dim(std::shared_ptr<const DimPolynomial> polynomial) : polynomial_(std::move(polynomial)) {}

void Dim::throw_unknown() const {
  visit_variables([](SizeVar v) { sizes_asked_for().push_back(v); });
  throw ConcretizationError(
      fmt::format("the value of a size was asked for that is not known while tracing: {}.", text()),
      "Compute with the size itself, or take size_as_array() of it for its value when the Program runs.");
}

Dim Dim::variable(SizeVar var) {
  return DimPolynomial::make({{Monomial{std::make_shared<const DimAtom>(DimAtom{DimAtom::Kind::variable, var})}, 1}});
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return checked_add(a.value(), b.value());
  Terms sum = DimPolynomial::of(a);
  for (const auto& [monomial, coefficient] : DimPolynomial::of(b))
    sum[monomial] = checked_add(sum[monomial], coefficient);
  return DimPolynomial::make(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return checked_sub(a.value(), b.value());
  Terms difference = DimPolynomial::of(a);
  for (const auto& [monomial, coefficient] : DimPolynomial::of(b))
    difference[monomial] = checked_sub(difference[monomial], coefficient);
  return DimPolynomial::make(std::move(difference));
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return checked_mul(a.value(), b.value());
  Terms product;
  // Products of sums grow exponentially; sizes of programs have a few terms.
  constexpr std::size_t most_terms = 1000;
  if (DimPolynomial::of(a).size() * DimPolynomial::of(b).size() > most_terms)
    throw ShapeError("a symbolic size grows beyond 1000 terms.", "Check the sizes.");
  for (const auto& [m, c] : DimPolynomial::of(a))
    for (const auto& [n, d] : DimPolynomial::of(b)) {
      Monomial both = m;
      both.insert(both.end(), n.begin(), n.end());
      std::ranges::sort(both, [](const auto& x, const auto& y) { return compare(*x, *y) < 0; });
      product[both] = checked_add(product[both], checked_mul(c, d));
    }
  return DimPolynomial::make(std::move(product));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b == Dim(1)) return a;
  if (b == Dim(0)) throw ShapeError("a size is divided by 0.");
  if (a.known() && b.known()) return floor_div(a.value(), b.value());
  if (b == Dim(-1)) return 0 - a;
  if (b.known()) {  // an exact quotient stays a polynomial
    Terms quotient = DimPolynomial::of(a);
    if (std::ranges::all_of(quotient, [&](const auto& t) { return t.second % b.value() == 0; })) {
      for (auto& [monomial, coefficient] : quotient) coefficient /= b.value();
      return DimPolynomial::make(std::move(quotient));
    }
  }
  if (a == b) return 1;
  return DimPolynomial::atom(DimAtom::Kind::floor_div, a, b);
}

Dim modulo(const Dim& a, const Dim& b) {
  if (b == Dim(0)) throw ShapeError("a size is divided by 0.");
  if (b == Dim(1) || b == Dim(-1) || a == b) return 0;
  if (a.known() && b.known()) return a.value() - floor_div(a.value(), b.value()) * b.value();
  if (b.known() && floor_div(a, b) * b == a) return 0;
  return DimPolynomial::atom(DimAtom::Kind::modulo, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return std::min(a.value(), b.value());
  if (const Dim difference = a - b; difference.known()) return difference.value() <= 0 ? a : b;
  return compare(a, b) < 0 ? DimPolynomial::atom(DimAtom::Kind::min, a, b)
                           : DimPolynomial::atom(DimAtom::Kind::min, b, a);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return std::max(a.value(), b.value());
  if (const Dim difference = a - b; difference.known()) return difference.value() >= 0 ? a : b;
  return compare(a, b) < 0 ? DimPolynomial::atom(DimAtom::Kind::max, a, b)
                           : DimPolynomial::atom(DimAtom::Kind::max, b, a);
}

std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) {
    if (b.value_ == 0 || a.value_ % b.value_ != 0) return std::nullopt;
    return Dim(a.value_ / b.value_);
  }
  if (a == Dim(0)) return Dim(0);
  const Terms divisor = DimPolynomial::of(b);
  if (divisor.size() != 1) return a == b ? std::optional(Dim(1)) : std::nullopt;
  const auto& [atoms, factor] = *divisor.begin();
  Terms quotient;
  for (const auto& [monomial, coefficient] : DimPolynomial::of(a)) {
    Monomial left = monomial;
    for (const auto& atom : atoms) {
      const auto same = std::ranges::find_if(left, [&](const auto& x) { return compare(*x, *atom) == 0; });
      if (same == left.end()) return std::nullopt;
      left.erase(same);
    }
    if (coefficient % factor != 0) return std::nullopt;
    quotient[left] = coefficient / factor;
  }
  return DimPolynomial::make(std::move(quotient));
}

bool at_least(const Dim& a, std::int64_t least) {
  if (a.known()) return a.value_ >= least;
  std::int64_t lowest = 0;
  for (const auto& [monomial, coefficient] : a.polynomial_->terms) {
    const auto is_variable = [](const auto& atom) { return atom->kind == DimAtom::Kind::variable; };
    if (!monomial.empty() && (coefficient < 0 || !std::ranges::all_of(monomial, is_variable))) return false;
    if (std::ranges::any_of(monomial, [](const auto& atom) { return is_found_size(atom->variable); })) continue;
    if (__builtin_add_overflow(lowest, coefficient, &lowest)) return false;
  }
  return lowest >= least;
}

bool has_found_size(const Dim& dim) {
  bool found = false;
  dim.visit_variables([&](SizeVar v) { found = found || is_found_size(v); });
  return found;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.known() != b.known()) return false;
  if (a.known()) return a.value_ == b.value_;
  return a.polynomial_ == b.polynomial_ || compare(a, b) == 0;
}

namespace {

std::string atom_text(const DimAtom& atom, FunctionRef<std::string(SizeVar)> name) {
  using Kind = DimAtom::Kind;
  if (atom.kind == Kind::variable) return name(atom.variable);
  const std::string a = atom.operands[0].text(name), b = atom.operands[1].text(name);
  switch (atom.kind) {
    case Kind::floor_div:
      return fmt::format("div({},{})", a, b);
    case Kind::modulo:
      return fmt::format("mod({},{})", a, b);
    case Kind::min:
      return fmt::format("min({},{})", a, b);
    default:
      return fmt::format("max({},{})", a, b);
  }
}

void visit_atoms(const Dim& dim, FunctionRef<void(const DimAtom&)> seen) {
  for (const auto& [monomial, coefficient] : DimPolynomial::of(dim))
    for (const auto& atom : monomial) seen(*atom);
}

}  // namespace

std::string Dim::text(FunctionRef<std::string(SizeVar)> name) const {
  if (known()) return fmt::format("{}", value_);
  std::string text;
  for (const auto& [monomial, coefficient] : polynomial_->terms) {
    if (coefficient < 0)
      text += "-";
    else if (!text.empty())
      text += "+";
    const std::uint64_t magnitude =
        coefficient < 0 ? -static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
    if (magnitude != 1 || monomial.empty()) text += fmt::format("{}{}", magnitude, monomial.empty() ? "" : "*");
    for (std::size_t i = 0; i < monomial.size(); ++i) text += (i > 0 ? "*" : "") + atom_text(*monomial[i], name);
  }
  return text;
}

std::string Dim::text() const {
  return text(
      [](SizeVar v) { return is_found_size(v) ? fmt::format("n{}", v - first_found_size) : fmt::format("s{}", v); });
}

Dim Dim::substitute(FunctionRef<Dim(SizeVar)> by) const {
  if (known()) return *this;
  const auto of_atom = [&](const DimAtom& atom) -> Dim {
    using Kind = DimAtom::Kind;
    if (atom.kind == Kind::variable) return by(atom.variable);
    const Dim a = atom.operands[0].substitute(by), b = atom.operands[1].substitute(by);
    switch (atom.kind) {
      case Kind::floor_div:
        return floor_div(a, b);
      case Kind::modulo:
        return modulo(a, b);
      case Kind::min:
        return min(a, b);
      default:
        return max(a, b);
    }
  };
  Dim sum = 0;
  for (const auto& [monomial, coefficient] : polynomial_->terms) {
    Dim product = coefficient;
    for (const auto& atom : monomial) product = product * of_atom(*atom);
    sum = sum + product;
  }
  return sum;
}

void Dim::visit_variables(FunctionRef<void(SizeVar)> seen) const {
  if (known()) return;
  visit_atoms(*this, [&](const DimAtom& atom) {
    if (atom.kind == DimAtom::Kind::variable) return seen(atom.variable);
    for (const Dim& operand : atom.operands) operand.visit_variables(seen);
  });
}

std::int64_t Dim::evaluate(FunctionRef<std::int64_t(SizeVar)> value) const {
  return substitute([&](SizeVar v) { return Dim(value(v)); }).value();
}

void Dim::visit_steps(FunctionRef<void(const Step&)> seen) const {
  using Kind = Step::Kind;
  if (known()) return seen({Kind::number, value_});
  const auto of_atom = [&](const DimAtom& atom) {
    if (atom.kind == DimAtom::Kind::variable) return seen({Kind::variable, atom.variable});
    for (const Dim& operand : atom.operands) operand.visit_steps(seen);
    switch (atom.kind) {
      case DimAtom::Kind::floor_div:
        return seen({Kind::floor_div, 0});
      case DimAtom::Kind::modulo:
        return seen({Kind::modulo, 0});
      case DimAtom::Kind::min:
        return seen({Kind::min, 0});
      default:
        return seen({Kind::max, 0});
    }
  };
  bool first_term = true;
  for (const auto& [monomial, coefficient] : polynomial_->terms) {
    bool first_factor = coefficient == 1 && !monomial.empty();
    if (!first_factor) seen({Kind::number, coefficient});
    for (const auto& atom : monomial) {
      of_atom(*atom);
      if (!std::exchange(first_factor, false)) seen({Kind::mul, 0});
    }
    if (!std::exchange(first_term, false)) seen({Kind::add, 0});
  }
}

void Dim::hash(Hasher& hasher) const {
  if (known()) {
    hasher(value_);
    return;
  }
  hasher(polynomial_->terms.size());
  for (const auto& [monomial, coefficient] : polynomial_->terms) {
    hasher(coefficient)(monomial.size());
    for (const auto& atom : monomial) {
      hasher(atom->kind)(atom->variable);
      for (const Dim& operand : atom->operands) operand.hash(hasher);
    }
  }
}

DimCode::DimCode(const Dim& dim) {
  if (dim.known())
    known_ = dim.value();
  else
    dim.visit_steps([&](const Dim::Step& step) { steps_.push_back(step); });
}

std::int64_t DimCode::operator()(std::span<const std::int64_t> values) const {
  if (steps_.empty()) return known_;
  if (steps_.size() == 1) return values[static_cast<std::size_t>(steps_[0].value)];
  return run(values);
}

std::int64_t DimCode::run(std::span<const std::int64_t> values) const {
  std::array<std::int64_t, 32> few;
  std::vector<std::int64_t> many(steps_.size() > few.size() ? steps_.size() : 0);
  std::int64_t* top = many.empty() ? few.data() : many.data();  // behind the last value
  for (const Dim::Step& step : steps_) {
    using Kind = Dim::Step::Kind;
    if (step.kind == Kind::number || step.kind == Kind::variable) {
      *top++ = step.kind == Kind::number ? step.value : values[static_cast<std::size_t>(step.value)];
      continue;
    }
    const std::int64_t y = *--top;
    std::int64_t& x = top[-1];
    switch (step.kind) {
      case Kind::add:
        x = checked_add(x, y);
        break;
      case Kind::mul:
        x = checked_mul(x, y);
        break;
      case Kind::floor_div:
        x = floor_div(x, y);
        break;
      case Kind::modulo:
        x = checked_sub(x, checked_mul(floor_div(x, y), y));
        break;
      case Kind::min:
        x = std::min(x, y);
        break;
      default:
        x = std::max(x, y);
    }
  }
  return top[-1];
}

// --- what is known of sizes ---

namespace {

thread_local AnySizes* any_sizes = nullptr;

// What follows of operands that are never less than a and b; below 0 where nothing does. `divisor`: where it is a
// number.
std::int64_t least_of_atom(DimAtom::Kind kind, std::optional<std::int64_t> a, std::optional<std::int64_t> b,
                           std::optional<std::int64_t> divisor) {
  using Kind = DimAtom::Kind;
  if (kind == Kind::max) return std::max(a.value_or(-1), b.value_or(-1));
  if (kind == Kind::min) return std::min(a.value_or(-1), b.value_or(-1));
  if (b.value_or(0) <= 0 || (kind == Kind::floor_div && a.value_or(-1) < 0)) return -1;
  return kind == Kind::floor_div && divisor ? *a / *divisor : 0;
}

// A number that the size is never less than, where one follows: with each variable as its least value and a rest that
// is not negative, no coefficient is negative.
std::optional<std::int64_t> least(const Dim& d, int& questions) {
  if (--questions < 0) return std::nullopt;  // minima and maxima within each other
  // What is subtracted is at most so large.
  for (const auto& [monomial, coefficient] : DimPolynomial::of(d)) {
    if (coefficient >= 0 || monomial.size() != 1 || monomial[0]->kind == DimAtom::Kind::variable) continue;
    const DimAtom& atom = *monomial[0];
    const Dim &a = atom.operands[0], &b = atom.operands[1];
    const Dim rest = d - DimPolynomial::make({{monomial, coefficient}});
    if (atom.kind == DimAtom::Kind::min) {
      const auto by_a = least(rest + a * coefficient, questions), by_b = least(rest + b * coefficient, questions);
      return by_a && by_b ? std::max(by_a, by_b) : by_a ? by_a : by_b;
    }
    if (atom.kind == DimAtom::Kind::max || least(b, questions).value_or(0) < 1) continue;
    if (atom.kind == DimAtom::Kind::modulo) return least(rest + (b - 1) * coefficient, questions);
    if (least(a, questions).value_or(-1) >= 0) return least(rest + a * coefficient, questions);
  }
  const Dim shifted = d.substitute(
      [](SizeVar v) { return AnySizes::holds(v) ? Dim::variable(v) + AnySizes::least : Dim::variable(v); });
  if (shifted.known()) return shifted.value();
  std::int64_t constant = 0;
  for (const auto& [monomial, coefficient] : DimPolynomial::of(shifted)) {
    if (monomial.empty()) {
      if (__builtin_add_overflow(constant, coefficient, &constant)) return std::nullopt;
      continue;
    }
    if (coefficient < 0) {  // the greatest value of a variable that has one
      const DimAtom& atom = *monomial[0];
      if (monomial.size() > 1 || atom.kind != DimAtom::Kind::variable || !AnySizes::holds(atom.variable)) return {};
      std::int64_t most = 0;
      if (__builtin_mul_overflow(coefficient, AnySizes::most - AnySizes::least, &most) ||
          __builtin_add_overflow(constant, most, &constant))
        return std::nullopt;
      continue;
    }
    std::int64_t lowest = coefficient;
    for (const auto& atom : monomial) {
      if (atom->kind == DimAtom::Kind::variable) {
        lowest = 0;
        continue;
      }
      // The variables of operands have been shifted already: those that were given are asked about.
      const auto unshift = [](const Dim& operand) {
        return operand.substitute(
            [](SizeVar v) { return AnySizes::holds(v) ? Dim::variable(v) - AnySizes::least : Dim::variable(v); });
      };
      const auto a = least(unshift(atom->operands[0]), questions), b = least(unshift(atom->operands[1]), questions);
      const std::int64_t l = least_of_atom(atom->kind, a, b, atom->operands[1].try_value());
      if (l < 0 || __builtin_mul_overflow(lowest, l, &lowest)) return std::nullopt;
    }
    if (__builtin_add_overflow(constant, lowest, &constant)) return std::nullopt;
  }
  return constant;
}

std::optional<std::int64_t> least(const Dim& d) {
  int questions = 64;
  return least(d, questions);
}

bool of_any_sizes(const Dim& d) {
  bool all = true;
  d.visit_variables([&](SizeVar v) { all = all && AnySizes::holds(v); });
  return all;
}

[[noreturn]] void throw_undecided(const Dim& a, std::string_view relation, const Dim& b) {
  (a - b).visit_variables([](SizeVar v) { sizes_asked_for().push_back(v); });
  throw ConcretizationError(
      fmt::format("whether {} {} {} was asked, which is not known while tracing.", a.text(), relation, b.text()),
      "Compare it as an array where the program decides as it runs: size_as_array(n), in Python tnp.asarray(n). Sizes "
      "that a function decides by are numbers where it is jitted with sizes fixed.");
}

}  // namespace

std::vector<SizeVar>& sizes_asked_for() {
  static thread_local std::vector<SizeVar> all;
  return all;
}

AnySizes::AnySizes(std::vector<SizeVar> variables, bool distinct)
    : variables_(std::move(variables)), distinct_(distinct), outer_(std::exchange(any_sizes, this)) {}
AnySizes::~AnySizes() { any_sizes = outer_; }

bool AnySizes::holds(SizeVar variable) {
  for (const AnySizes* each = any_sizes; each != nullptr; each = each->outer_)
    if (std::ranges::find(each->variables_, variable) != each->variables_.end()) return true;
  return false;
}

std::optional<bool> decided_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const Dim difference = a - b;
  if (difference.known()) return false;
  if (const auto d = least(difference); d && *d > 0) return false;
  if (const auto d = least(b - a); d && *d > 0) return false;
  for (const AnySizes* each = any_sizes; each != nullptr; each = each->outer_) {
    if (!each->distinct_) continue;
    const auto is = [&](const Dim& d) {
      return std::ranges::any_of(each->variables_, [&](SizeVar v) { return Dim::variable(v) == d; });
    };
    if (is(a) && is(b)) return false;
  }
  return std::nullopt;
}

std::optional<bool> decided_less(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return a.value() < b.value();
  if (const auto d = least(b - a); d && *d > 0) return true;
  if (const auto d = least(a - b); d && *d >= 0) return false;
  return std::nullopt;
}

bool asked_equal(const Dim& a, const Dim& b) {
  if (const auto answer = decided_equal(a, b)) return *answer;
  if (of_any_sizes(a - b)) throw_undecided(a, "is", b);
  return false;
}

bool asked_less(const Dim& a, const Dim& b) {
  if (const auto answer = decided_less(a, b)) return *answer;
  throw_undecided(a, "is less than", b);
}

bool Dim::is(std::int64_t number) const { return asked_equal(*this, Dim(number)); }

}  // namespace tenon
