// Rule: what may stand in place of what, as data: a pattern and a replacement that are ordinary functions of arrays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/array.h"
#include "tenon/ir/program.h"

namespace tenon {

// How results may differ from those of the pattern. Under Numerics::strict only exact rules are applied.
enum class Exactness : std::uint8_t {
  exact,            // to the bit, for all numbers, -0 and infinities; all NaNs are taken for one
  reassociates,     // but for rounding, as if sums and products were taken in another order
  assumes_finite,   // the same, where no operand and nothing in between is infinite or NaN
  avoids_overflow,  // but for rounding, and finite where the pattern overflows on the way
};
std::string_view name(Exactness exactness);

// Where a rule is applied: to functions before they are differentiated, to what is compiled, or to both.
enum class Phase : std::uint8_t { both, before_differentiation, after_differentiation };

// Where a pattern was found: what guards and replacements see.
class Match {
 public:
  virtual ~Match() = default;
  // What the pattern's operands stand for, in its order; of a rule of facts, the operands of its eqn.
  virtual const Array& operator[](std::size_t hole) const = 0;
  virtual std::size_t size() const = 0;
  virtual const Array& root() const = 0;               // what would be replaced
  virtual const Eqn* maker(const Array& x) const = 0;  // the eqn that makes it; null of what comes from outside
  // An operand of an eqn that is around here.
  virtual Array operand(const Eqn& eqn, std::size_t i) const = 0;
  // The number that each of its elements is known to be.
  virtual std::optional<Scalar> constant(const Array& x) const = 0;
  // How many eqns and outputs read it in the Program that is rewritten.
  virtual int reads(const Array& x) const = 0;
};

struct Rule {
  using Function = std::function<Array(std::span<const Array>)>;

  std::string name;
  Exactness exactness = Exactness::exact;
  Phase phase = Phase::both;
  std::size_t holes = 0;
  // Traced for operands of any dtypes and shapes that it takes; its numbers are matched by value. Where there is none,
  // the rule goes by facts: `roots` says which ops it looks at.
  Function pattern = {};
  std::function<bool(const Match&)> guard = {};
  // Nothing where the rule does not apply after all.
  std::function<MaybeArray(const Match&)> replacement = {};
  std::function<bool(const OpInfo&)> roots = {};
  // Types of the holes that show all forms the pattern may have; tried ones where empty.
  std::vector<std::vector<Type>> examples = {};
  // Of a rule of facts: functions that it applies to, with their operands' types, for verify().
  struct Example {
    std::vector<Type> types;
    Function function;
  };
  std::function<std::vector<Example>()> applies_to = {};
  Source where = {};
};
using RuleRef = std::shared_ptr<const Rule>;
class RuleSet;  // tenon/rewrite/engine.h
using RuleSetRef = std::shared_ptr<const RuleSet>;

// One application, as explain() and TENON_LOG=rewrite tell it.
struct Applied {
  std::string rule;
  Exactness exactness;
  Source where;               // the user's line of what was replaced
  std::string before, after;  // "add f32[3]", "literal, mul"
};

// Throws RewriteError where it is no rule: a pattern that is a hole and so matches everything, one that does not read
// one of its holes, that reads arrays from outside or cannot be traced; a replacement of another type.
void check_rule(const Rule& rule);

// Throws RewriteError where there is none.
void require_rule(std::string_view asked, const RuleRef& rule);

// Its pattern, or nothing where the pattern does not take such types.
struct Pattern;
std::shared_ptr<const Pattern> trace_pattern(const Rule& rule, std::span<const Type> types);
// Types of the holes under which a pattern may look differently, or some with which it can be tried.
std::vector<std::vector<Type>> types_to_try(const Rule& rule);

}  // namespace tenon
