// The engine: applies rules to a Program until none applies any more.
#pragma once

#include <map>
#include <unordered_map>

#include "tenon/rewrite/pattern.h"

namespace tenon {

// Rules, found by the op of their patterns' roots. Immutable; safe to share among threads.
class RuleSet {
 public:
  explicit RuleSet(std::vector<RuleRef> rules);
  ~RuleSet();
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  std::span<const RuleRef> rules() const { return rules_; }
  // One form of a rule that may be found at an op; no pattern of a rule of facts.
  struct Candidate {
    const Rule* rule;
    std::shared_ptr<const Pattern> pattern;
  };
  std::span<const Candidate> at(const OpInfo& op) const;
  // The pattern of a rule for these types; null where it does not take them.
  std::shared_ptr<const Pattern> exact(const Rule& rule, std::span<const Type> types) const;

 private:
  struct Exact;
  std::vector<RuleRef> rules_;
  std::unordered_map<const OpInfo*, std::vector<Candidate>> at_;
  std::unique_ptr<Exact> exact_;
};
// While it lives, notes what is applied on this thread.
class NotesApplied {
 public:
  NotesApplied();
  ~NotesApplied();
  NotesApplied(const NotesApplied&) = delete;
  NotesApplied& operator=(const NotesApplied&) = delete;
  const std::vector<Applied>& applied() const { return applied_; }
  static void note(const Applied& applied);
  static bool wanted();

 private:
  std::vector<Applied> applied_;
  NotesApplied* outer_;
};

// What an eqn of one result computes from these numbers, where evaluation and code give the same; else nothing: of
// complex numbers they round apart, which NaN it is depends on the processor, and code flushes what is smaller than
// normal.
std::optional<Scalar> computed_from(const Eqn& eqn, std::span<const Scalar> in, const Type& out);

// What becomes of plain calls: they stay, or those of short functions become part of the caller, so that patterns are
// found across them.
enum class Calls : std::uint8_t { stay, short_ones_inlined };

// Applies the rules of a phase (one of the two) everywhere, in regions and callees too. Each eqn is bound once,
// operands first, and what takes its place is looked at again. Throws RewriteError where rules do not end: one undoes
// another, or they make more and more. Time: linear in the eqns.
ProgramRef rewrite(const ProgramRef& program, const RuleSet& rules, Phase phase, Calls calls = Calls::stay);

// Applies a rule to its own pattern, for all types to try. Throws RewriteError where its replacement has another type
// or cannot be traced, or contains the pattern again.
void try_rule(const RuleRef& rule);

// How often rules were applied in this process and how long it took to find and apply them, by name.
struct RuleUse {
  std::size_t times = 0;
  double milliseconds = 0;
};
std::map<std::string, RuleUse> rule_uses();

}  // namespace tenon
