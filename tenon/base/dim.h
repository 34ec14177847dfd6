// Dim: the size of one axis; a number, or a polynomial with integer coefficients over symbolic atoms.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"

namespace tenon {

// A size variable of a Program. Its number means something only inside that Program.
using SizeVar = std::uint32_t;
// Variables from here on are sizes that code finds as it runs: they may be 0.
inline constexpr SizeVar first_found_size = SizeVar(1) << 30;
inline bool is_found_size(SizeVar var) { return var >= first_found_size; }

struct DimPolynomial;

// A value type. Known sizes cost nothing beyond an integer; symbolic ones share an immutable canonical polynomial whose
// atoms are size variables and interned floor-divisions, modulos, minima and maxima of Dims. Canonical form decides
// most equalities: (T+1)*2 == 2*T+2. Two Dims that compare unequal may still be equal at run time.
class Dim {
 public:
  Dim() = default;
  Dim(std::int64_t value) : value_(value) {}  // implicit: sizes are written as numbers
  static Dim variable(SizeVar var);

  bool known() const { return polynomial_ == nullptr; }
  std::int64_t value() const {  // throws ConcretizationError unless known()
    if (!known()) throw_unknown();
    return value_;
  }
  std::optional<std::int64_t> try_value() const { return known() ? std::optional(value_) : std::nullopt; }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim modulo(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  // a / b where that is a Dim and no rest is left, whatever the variables are; nothing where that does not show.
  friend std::optional<Dim> exact_quotient(const Dim& a, const Dim& b);
  // Whether a Dim is known to be that large wherever its variables are at least 1, and found sizes at least 0.
  friend bool at_least(const Dim& a, std::int64_t least);
  friend bool operator==(const Dim& a, const Dim& b);
  // With a number as users write it, n == 3. Of a size that a trace takes for any, the answer may not be known: it
  // throws ConcretizationError then.
  template <std::integral Number>
  friend bool operator==(const Dim& a, Number b) {
    return a.known() ? a.value_ == static_cast<std::int64_t>(b) : a.is(static_cast<std::int64_t>(b));
  }

  // "3", "T", "2*S+1", "(T//2)"; names the variables by `name`.
  std::string text(FunctionRef<std::string(SizeVar)> name) const;
  std::string text() const;  // variables as s0, s1, …

  // Replaces every variable by a Dim; the result is canonical again.
  Dim substitute(FunctionRef<Dim(SizeVar)> by) const;
  void visit_variables(FunctionRef<void(SizeVar)> seen) const;  // each occurrence, in canonical order
  std::int64_t evaluate(FunctionRef<std::int64_t(SizeVar)> value) const;
  // The same arithmetic elsewhere, in postfix order: numbers and variables, then what combines the last two.
  struct Step {
    enum class Kind : std::uint8_t { number, variable, add, mul, floor_div, modulo, min, max } kind;
    std::int64_t value;  // the number, or the variable
  };
  void visit_steps(FunctionRef<void(const Step&)> seen) const;
  void hash(Hasher& hasher) const;

 private:
  explicit Dim(std::shared_ptr<const DimPolynomial> polynomial);
  [[noreturn]] void throw_unknown() const;
  bool is(std::int64_t number) const;
  friend struct DimPolynomial;
  std::int64_t value_ = 0;
  std::shared_ptr<const DimPolynomial> polynomial_;
};

// While it lives, these variables stand for any sizes from `least` to `most` on this thread, and with `distinct` for
// different ones; other variables stand for any from 0.
class AnySizes {
 public:
  static constexpr std::int64_t least = 2, most = (std::int64_t(1) << 31) - 1;
  AnySizes(std::vector<SizeVar> variables, bool distinct);
  ~AnySizes();
  AnySizes(const AnySizes&) = delete;
  AnySizes& operator=(const AnySizes&) = delete;
  // A size of an enclosing one or of this.
  static bool holds(SizeVar variable);

 private:
  friend std::optional<bool> decided_equal(const Dim& a, const Dim& b);
  std::vector<SizeVar> variables_;
  bool distinct_;
  AnySizes* outer_;
};

bool has_found_size(const Dim& dim);

// What follows of two sizes, whatever their variables are; nothing where it does not follow.
std::optional<bool> decided_equal(const Dim& a, const Dim& b);
std::optional<bool> decided_less(const Dim& a, const Dim& b);
// The same as an answer to the user: throws ConcretizationError where AnySizes hold of all that it depends on, and
// takes sizes that data decide for different.
bool asked_equal(const Dim& a, const Dim& b);
bool asked_less(const Dim& a, const Dim& b);  // throws wherever it does not follow

// The variables of sizes whose value, or comparison, was asked for in vain on this thread since it was cleared.
std::vector<SizeVar>& sizes_asked_for();

}  // namespace tenon
