#include "tenon/api/rewrites.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tenon/base/pass.h"
#include "tenon/ir/scope.h"
#include "tenon/rewrite/collapse_loops.h"
#include "tenon/rewrite/collapse_turns.h"
#include "tenon/rewrite/roll_calls.h"
#include "tenon/rewrite/rules/rules.h"
#include "tenon/rewrite/stack_updates.h"

namespace tenon {
namespace {

thread_local RuleSetRef in_force;

// Rules of one name are one: which is switched off by name has to be clear.
void require_names_apart(const std::vector<RuleRef>& rules) {
  std::map<std::string_view, const Rule*> seen;
  for (const RuleRef& rule : rules) {
    const auto [at, added] = seen.emplace(rule->name, rule.get());
    const RuleRef library = find_rule(rule->name);
    if (at->second != rule.get() || (library != nullptr && library != rule))
      throw RewriteError(fmt::format("two rules are named \"{}\"{}.", rule->name,
                                     library == nullptr ? "" : ", one of them the library's"),
                         "Give each a name of its own.", rule->where);
  }
}

}  // namespace

namespace api_detail {

RuleRef checked_rule(Rule rule) {
  const CompileTime outside;
  check_rule(rule);
  auto made = std::make_shared<const Rule>(std::move(rule));
  try_rule(made);
  return made;
}

RuleSetRef rules_here() { return in_force; }

RulesInstead::RulesInstead(RuleSetRef rules) : before_(std::exchange(in_force, std::move(rules))) {}
RulesInstead::~RulesInstead() { in_force = std::move(before_); }

RuleSetRef with_rules_here(const std::vector<RuleRef>& rules) {
  if (rules.empty()) return in_force;
  std::vector<RuleRef> all;
  if (in_force != nullptr) all.assign(in_force->rules().begin(), in_force->rules().end());
  for (const RuleRef& rule : rules) {
    require_rule("rewrites", rule);
    if (std::ranges::find(all, rule) == all.end()) all.push_back(rule);
  }
  require_names_apart(all);
  const CompileTime outside;
  return std::make_shared<const RuleSet>(std::move(all));
}

ProgramRef before_differentiation(const ProgramRef& program) {
  struct Step {
    const char* name;
    ProgramRef (*run)(const ProgramRef&);
  };
  constexpr Step steps[] = {{"roll_calls", roll_shared_calls},
                            {"collapse_loops", collapse_turns},
                            {"collapse_loops", collapse_loops},
                            {"stack_updates", stack_updates}};
  ProgramRef result = in_force == nullptr
                          ? program
                          : rewrite(program, *in_force, Phase::before_differentiation, Calls::short_ones_inlined);
  for (const auto& [name, run] : steps)
    if (!is_left_out(name)) result = run(result);
  return result;
}

}  // namespace api_detail

Rewrites::Rewrites(std::vector<RuleRef> rules) : before_(std::exchange(in_force, api_detail::with_rules_here(rules))) {}
Rewrites::~Rewrites() { in_force = std::move(before_); }

RuleRef library_rule(std::string_view name) {
  if (RuleRef rule = find_rule(name)) return rule;
  std::string names;
  for (const RuleRef& rule : all_rules()) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", rule->name);
  throw RewriteError(fmt::format("there is no rule \"{}\".", name), fmt::format("There are {}.", names));
}

std::string list_rules() {
  const std::map<std::string, RuleUse> uses = rule_uses();
  const std::span<const RuleRef> applied = default_rules().rules();
  std::string text;
  for (const RuleRef& rule : all_rules()) {
    const auto found = uses.find(rule->name);
    const RuleUse use = found == uses.end() ? RuleUse() : found->second;
    const bool is_default = std::ranges::find(applied, rule) != applied.end();
    text += fmt::format("{} ({}{}): applied {} times in {:.3f} ms\n", rule->name, name(rule->exactness),
                        is_default ? "" : ", where asked for", use.times, use.milliseconds);
  }
  return text;
}

}  // namespace tenon
