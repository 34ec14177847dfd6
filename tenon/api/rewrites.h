// Rules of the user's: what may stand in place of what, in functions that are jitted or differentiated.
//   auto halves = tn::rule("exp(x)²", tn::Exactness::reassociates,
//                          [](Array x) { return tn::exp(x) * tn::exp(x); }, [](Array x) { return tn::exp(2 * x); });
//   tn::verify(halves);
//   auto g = tn::jit(f, {.rewrites = {halves}});
#pragma once

#include <functional>
#include <utility>

#include "tenon/rewrite/verify_rule.h"

namespace tenon {

// A parameter of a pattern: it stands for an array of any dtype and shape that the pattern takes.
using Hole = Array;

// Where a rule applies: a function of the pattern's parameters, or of the Match, that returns a bool.
template <class F>
struct When {
  F holds;
};
template <class F>
When<F> when(F holds) {
  return {std::move(holds)};
}

namespace api_detail {

template <class F>
struct Arity;
template <class R, class... Args>
struct Arity<std::function<R(Args...)>> {
  static constexpr std::size_t value = sizeof...(Args);
};
template <class F>
inline constexpr std::size_t arity = Arity<decltype(std::function(std::declval<F>()))>::value;

template <std::size_t n, class F>
auto called_with(const F& f, const auto& holes) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) { return f(holes[i]...); }(std::make_index_sequence<n>());
}

RuleRef checked_rule(Rule rule);

}  // namespace api_detail

// A rule: where the pattern is found and the guard holds, the replacement takes its place. Pattern and replacement are
// functions of as many arrays, and give one of the same dtype and shape. Throws RewriteError where it is no rule.
//   auto nothing = tn::rule("nothing is added", tn::Exactness::reassociates, [](Array x) { return x + 0.f; },
//                           tn::when([](const tn::Match&) { return true; }), [](Array x) { return x; });
template <class Pattern, class F, class Replacement>
RuleRef rule(std::string name, Exactness exactness, Pattern pattern, When<F> guard, Replacement replacement,
             Phase phase = Phase::both, const Source& where = std::source_location::current()) {
  using namespace api_detail;
  constexpr std::size_t holes = arity<Pattern>;
  static_assert(holes == arity<Replacement>, "rule: pattern and replacement take the same parameters");
  Rule made{.name = std::move(name), .exactness = exactness, .phase = phase, .holes = holes};
  made.pattern = [=](std::span<const Array> x) -> Array { return called_with<holes>(pattern, x); };
  made.replacement = [=](const Match& m) -> MaybeArray { return Array(called_with<holes>(replacement, m)); };
  made.guard = [=](const Match& m) -> bool {
    if constexpr (std::is_invocable_v<F, const Match&>)
      return guard.holds(m);
    else
      return called_with<holes>(guard.holds, m);
  };
  made.where = where;
  return checked_rule(std::move(made));
}
template <class Pattern, class Replacement>
RuleRef rule(std::string name, Exactness exactness, Pattern pattern, Replacement replacement, Phase phase = Phase::both,
             const Source& where = std::source_location::current()) {
  return rule(std::move(name), exactness, std::move(pattern), when([](const Match&) { return true; }),
              std::move(replacement), phase, where);
}

// While it lives, functions that are differentiated, and functions that jit is called for, have these rules, beside
// those of scopes around. One within another, on one thread.
class Rewrites {
 public:
  explicit Rewrites(std::vector<RuleRef> rules);
  ~Rewrites();
  Rewrites(const Rewrites&) = delete;
  Rewrites& operator=(const Rewrites&) = delete;

 private:
  RuleSetRef before_;
};

// The library's rule of that name. Throws RewriteError where there is none, with the names that there are.
RuleRef library_rule(std::string_view name);

// A line a rule of the library: its name, exactness, and how often it was applied in this process and in what time.
//   const std::string rules = tn::list_rules();
std::string list_rules();

namespace api_detail {

// The rules in force on this thread; null where there are none.
RuleSetRef rules_here();
// While it lives, these alone are.
class RulesInstead {
 public:
  explicit RulesInstead(RuleSetRef rules);
  ~RulesInstead();
  RulesInstead(const RulesInstead&) = delete;
  RulesInstead& operator=(const RulesInstead&) = delete;

 private:
  RuleSetRef before_;
};
RuleSetRef with_rules_here(const std::vector<RuleRef>& rules);
// What is about to be differentiated, rewritten by the rules in force; loops of loops are one, and loops that write
// rows one after the other stack them, so that their derivatives are and do.
ProgramRef before_differentiation(const ProgramRef& program);

}  // namespace api_detail
}  // namespace tenon
