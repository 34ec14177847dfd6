#include "tenon/rewrite/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <unordered_map>

#include "tenon/base/fork.h"
#include "tenon/base/log.h"
#include "tenon/base/pass.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/print.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr std::size_t longest_chain = 48;     // of replacements, each of what the one before made
constexpr std::size_t most_a_program = 1000;  // applications beyond
constexpr std::size_t most_an_eqn = 16;       // these for each eqn
constexpr std::size_t largest_inlined = 64;   // eqns of a callee that is called once, with all that it calls
constexpr std::size_t always_inlined = 8;     // eqns of one that is called more often

thread_local NotesApplied* notes = nullptr;

// Uses of rules, process-wide.
class Uses {
 public:
  void add(const std::string& rule, double milliseconds) {
    const std::lock_guard lock(mutex_);
    RuleUse& use = uses_[rule];
    ++use.times, use.milliseconds += milliseconds;
  }
  std::map<std::string, RuleUse> all() {
    const std::lock_guard lock(mutex_);
    return uses_;
  }

 private:
  ForkMutex mutex_;
  std::map<std::string, RuleUse> uses_;
};
Uses& uses() {
  static constinit Lasting<Uses> all;
  return all.get();
}

// How many eqns a Program has with all that it calls, at most `most`.
std::size_t inlined_eqns(const Program& program, std::size_t most) {
  std::size_t count = program.eqns().size();
  for (const Eqn& eqn : program.eqns()) {
    if (count > most) break;
    eqn.params.visit_programs([&](const ProgramRef& p) {
      if (p && count <= most) count += inlined_eqns(*p, most - count);
    });
  }
  return count;
}

class Rewriter final : public Graph, public Match {
 public:
  Rewriter(const RuleSet& rules, Phase phase, Calls calls) : rules_(rules), phase_(phase), calls_(calls) {
    for (const RuleRef& rule : rules.rules())
      if (is_left_out(rule->name)) left_out_.insert(rule.get());
  }

  // The Program itself where nothing applies in it.
  ProgramRef run(const ProgramRef& program) {
    ProgramRef result;
    if (const auto found = made_.find(program->hash()); found != made_.end()) {
      result = found->second;
    } else {
      require_stack();
      Rewriter inside(*this);
      result = inside.rewrite_one(program);
      made_ = std::move(inside.made_);
      if (!inside.why_not_.empty()) why_not_ = std::move(inside.why_not_);
      other_shape_ = other_shape_ || inside.other_shape_;
      if (!inside.changed_) result = program;
      made_.emplace(program->hash(), result);
    }
    changed_ = changed_ || result != program;
    return result;
  }

  const std::string& why_not() const { return why_not_; }
  bool other_shape() const { return other_shape_; }

  // --- Graph
  const Eqn* maker(Var v) const override { return scope_->maker(v); }
  const Type& type(Var v) const override { return scope_->type(v); }
  const std::optional<Scalar>& number(Var v) const override { return v < numbers_.size() ? numbers_[v] : no_number_; }

  // --- Match
  const Array& operator[](std::size_t hole) const override { return found_->holes[hole]; }
  std::size_t size() const override { return found_->holes.size(); }
  const Array& root() const override { return found_->root; }
  const Eqn* maker(const Array& x) const override {
    const Traced* traced = x.traced();
    return traced == nullptr || traced->scope != scope_->serial() ? nullptr : scope_->maker(traced->var);
  }
  Array operand(const Eqn& eqn, std::size_t i) const override { return handle(eqn.in[i]); }
  std::optional<Scalar> constant(const Array& x) const override {
    const Traced* traced = x.traced();
    return traced == nullptr || traced->scope != scope_->serial() ? std::nullopt : number(traced->var);
  }
  int reads(const Array& x) const override {
    const Traced* traced = x.traced();
    if (traced == nullptr) return 0;
    const auto found = reads_.find(traced->var);
    return found == reads_.end() ? 1 : found->second;
  }

 private:
  struct Found {
    Array root;
    Arrays holes;
  };

  // Of a region of the outer one's Program.
  explicit Rewriter(Rewriter& outer)
      : rules_(outer.rules_),
        phase_(outer.phase_),
        calls_(outer.calls_),
        left_out_(outer.left_out_),
        made_(std::move(outer.made_)) {}

  ProgramRef rewrite_one(const ProgramRef& program) {
    eqns_ = program->eqns().size();
    for (const Eqn& eqn : program->eqns())
      if (calls_ != Calls::stay && eqn.op == &call_op()) ++times_called_[callee_of_call(eqn.params).program->hash()];
    return rewritten(*program, [&](Replay& replay) {
      scope_ = Scope::top();
      const std::vector<int> reads = reads_of(*program);
      const auto count = [&](Var v) {
        if (const Traced* traced = replay.get(v).traced()) reads_[traced->var] += reads[v];
      };
      for (const Var v : program->inputs()) count(v);
      for (const Eqn& eqn : program->eqns()) {
        bind(replay, eqn);
        for (const Var v : eqn.out) count(v);
      }
    });
  }

  // Binds an eqn, and sets what takes the place of its results.
  void bind(Replay& replay, const Eqn& eqn) {
    const EqnScope place(eqn);
    if (is_inlined(eqn)) return inline_call(replay, eqn);
    // What stays a call is compiled by itself, and rewritten then.
    const bool stays = calls_ == Calls::stay && rule_of<LowerCall>(*eqn.op) != nullptr;
    const Params params = eqn.params.hold_programs() && !stays
                              ? replay.params(eqn).map_programs([&](const ProgramRef& p) { return p ? run(p) : p; })
                              : replay.params(eqn);
    Arrays results = bind_op(*eqn.op, params, replay.operands(eqn));
    replay.bind_sizes(eqn, results);
    for (const Array& result : results) note_number(result.traced()->var);
    if (results.size() == 1) results[0] = settled(results[0]);
    replay.set_results(eqn, results);
  }

  bool is_inlined(const Eqn& eqn) const {
    if (calls_ == Calls::stay || eqn.op != &call_op()) return false;
    const ProgramRef callee = callee_of_call(eqn.params).program;
    const auto times = times_called_.find(callee->hash());
    const bool once = times != times_called_.end() && times->second == 1;
    const std::size_t most = once ? largest_inlined : always_inlined;
    return inlined_eqns(*callee, most) <= most;
  }
  void inline_call(Replay& replay, const Eqn& eqn) {
    const LowerCall::Callee callee = callee_of_call(replay.params(eqn));
    replay.set_results(eqn, replayed(*callee.program, callee.sizes, replay.operands(eqn)));
  }
  Arrays replayed(const Program& program, std::span<const Dim> sizes, const Arrays& inputs) {
    require_stack();
    Replay replay(program, sizes);
    for (std::size_t i = 0; i < inputs.size(); ++i) replay.set(program.inputs()[i], inputs[i]);
    for (const Eqn& eqn : program.eqns()) bind(replay, eqn);
    Arrays outputs;
    for (const Var v : program.outputs()) outputs.push_back(replay.get(v));
    return outputs;
  }

  Array handle(Var v) const { return Array(Traced{scope_->serial(), v}, false); }

  void note_number(Var v) {
    if (v < numbers_.size()) return;
    numbers_.resize(v + 1);
    const Eqn* eqn = scope_->maker(v);
    if (eqn == nullptr || eqn->out.size() != 1) return;
    const Traits& traits = eqn->op->traits;
    if (eqn->op == &literal_op()) {
      numbers_[v] = literal_value(eqn->params);
    } else if (traits.rearranges) {
      numbers_[v] = number(eqn->in[0]);
    } else if (traits.determined && is_elementwise(*eqn) && !eqn->in.empty() && !is_complex(scope_->type(v).dtype)) {
      std::vector<Scalar> in;
      for (const Var operand : eqn->in)
        if (number(operand)) in.push_back(*number(operand));
      if (in.size() == eqn->in.size()) numbers_[v] = computed_from(*eqn, in, scope_->type(v));
    }
  }

  // What stands in place of a variable when no rule applies any more.
  Array settled(const Array& result) {
    const Var v = result.traced()->var;
    if (v >= state_.size()) state_.resize(v + 1);
    if (state_[v].done) return handle(state_[v].instead);
    const Eqn* eqn = scope_->maker(v);
    if (eqn == nullptr) return result;
    if (state_[v].open) throw_undone(v);
    Array instead = result;
    for (const RuleSet::Candidate& candidate : rules_.at(*eqn->op)) {
      const auto place = found(candidate, v);
      if (!place) continue;
      if (const MaybeArray other = applied(*candidate.rule, *place, v)) {
        instead = *other;
        break;
      }
    }
    state_[v].done = true;
    state_[v].instead = instead.traced()->var;
    return instead;
  }

  std::optional<Found> found(const RuleSet::Candidate& candidate, Var root) {
    const Rule& rule = *candidate.rule;
    if ((rule.phase != Phase::both && rule.phase != phase_) || left_out_.contains(&rule)) return {};
    const Eqn& eqn = *scope_->maker(root);
    Found place{handle(root), {}};
    if (candidate.pattern == nullptr) {
      if (rule.exactness != Exactness::exact && eqn.numerics == Numerics::strict) return {};
      for (const Var v : eqn.in) place.holes.push_back(handle(v));
    } else {
      auto vars = find_pattern(*candidate.pattern, *this, root, Compared::skeletons);
      if (!vars) return {};
      std::vector<Type> types;
      for (std::size_t i = 0; i < rule.holes; ++i) types.push_back(scope_->type((*vars)[i]));
      const auto exact = rules_.exact(rule, types);
      if (exact == nullptr || exact->node(exact->root) == nullptr) return {};
      vars = find_pattern(*exact, *this, root, Compared::exactly);
      if (!vars || (rule.exactness != Exactness::exact && is_strict(*exact, *vars))) return {};
      for (std::size_t i = 0; i < rule.holes; ++i) place.holes.push_back(handle((*vars)[i]));
    }
    found_ = &place;
    const bool holds = rule.guard == nullptr || rule.guard(*this);
    found_ = nullptr;
    return holds ? std::optional(std::move(place)) : std::nullopt;
  }
  bool is_strict(const Pattern& pattern, const std::vector<Var>& vars) const {
    for (std::size_t i = pattern.holes.size(); i < vars.size(); ++i) {
      const Eqn* eqn = vars[i] == ~Var(0) ? nullptr : scope_->maker(vars[i]);
      if (eqn != nullptr && eqn->numerics == Numerics::strict && eqn->op != &literal_op()) return true;
    }
    return false;
  }

  MaybeArray applied(const Rule& rule, const Found& place, Var root) {
    const auto start = std::chrono::steady_clock::now();
    const Eqn eqn = *scope_->maker(root);
    const Type wanted = scope_->type(root);
    const EqnScope at(eqn);
    std::optional<TraceResult> traced;
    {
      Scope inside;
      inside.recompute = scope_->recompute, inside.numerics = scope_->numerics;
      found_ = &place;
      const MaybeArray made = replacement(rule);
      found_ = nullptr;
      if (!made) return {};
      if (made->type() != wanted) {
        other_shape_ = other_shape_ || made->type().dtype == wanted.dtype;
        return not_applied(rule, other_type(wanted, made->type()));
      }
      traced = inside.finish(Arrays{*made});
    }
    note(rule, eqn, wanted, *traced->program);
    changed_ = true;
    if (++applied_ > most_a_program + most_an_eqn * eqns_ || chain_.size() >= longest_chain) throw_endless(rule);
    chain_.push_back({&rule, root});
    state_[root].open = true;
    Array instead = replayed(*traced->program, traced->sizes, traced->captures)[0];
    state_[root].open = false;
    chain_.pop_back();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    uses().add(rule.name, time.count());
    return instead;
  }

  // Nothing where it does not take what the pattern takes: of dtypes, say.
  MaybeArray replacement(const Rule& rule) {
    const auto refused = [&](const Error& error) {
      not_applied(rule, fmt::format("its replacement cannot be traced: {}", error.asked()));
    };
    try {
      return rule.replacement(*this);
    } catch (const ShapeError& error) {
      refused(error);
    } catch (const DTypeError& error) {
      refused(error);
    } catch (const TreeError& error) {
      refused(error);
    } catch (const UnsupportedError& error) {
      refused(error);
    }
    return {};
  }
  static std::string other_type(const Type& wanted, const Type& made) {
    return fmt::format("its replacement is {} where its pattern is {}.", made.text(), wanted.text());
  }
  MaybeArray not_applied(const Rule& rule, std::string why) {
    if (log_enabled(LogTopic::rewrite))
      log_line(LogTopic::rewrite, fmt::format("rule \"{}\" is not applied: {}", rule.name, why));
    why_not_ = std::move(why);
    return {};
  }

  void note(const Rule& rule, const Eqn& eqn, const Type& type, const Program& made) const {
    const bool logged = log_enabled(LogTopic::rewrite);
    if (!logged && !NotesApplied::wanted()) return;
    std::string after;
    for (const Eqn& e : made.eqns()) after += fmt::format("{}{}", after.empty() ? "" : ", ", e.op->name);
    const Applied applied{rule.name, rule.exactness, eqn.where, fmt::format("{} {}", eqn.op->name, type.text()),
                          after.empty() ? "what is there" : after};
    NotesApplied::note(applied);
    if (logged)
      log_line(LogTopic::rewrite, fmt::format("rule \"{}\"{}: {} as {}", applied.rule, applied.where.at_text(),
                                              applied.before, applied.after));
  }

  std::string names_from(std::size_t first) const {
    std::string names;
    std::set<std::string_view> seen;
    for (std::size_t i = first; i < chain_.size(); ++i)
      if (seen.insert(chain_[i].rule->name).second)
        names += fmt::format("{}\"{}\"", names.empty() ? "" : " and ", chain_[i].rule->name);
    return names;
  }
  static constexpr std::string_view leave_out =
      "Say by a guard where a rule applies, or leave one of them out: a rule goes from what costs more to what costs "
      "less.";
  [[noreturn]] void throw_undone(Var v) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < chain_.size(); ++i)
      if (chain_[i].root == v) first = i;
    const std::string names = names_from(first);
    const bool alone = names.find(" and ") == std::string::npos;
    throw RewriteError(alone ? fmt::format("rule {} gives back what it was applied to.", names)
                             : fmt::format("the rules {} undo each other.", names),
                       leave_out, chain_.back().rule->where);
  }
  [[noreturn]] void throw_endless(const Rule& rule) const {
    const std::string names = names_from(chain_.size() / 2);
    throw RewriteError(fmt::format("the rules do not end: what {} made is rewritten again and again.",
                                   names.empty() ? fmt::format("\"{}\"", rule.name) : names),
                       leave_out, rule.where);
  }

  const RuleSet& rules_;
  Phase phase_;
  Calls calls_;
  std::set<const Rule*> left_out_;
  Scope* scope_ = nullptr;
  const Found* found_ = nullptr;
  const std::optional<Scalar> no_number_;
  std::vector<std::optional<Scalar>> numbers_;
  struct State {
    bool done = false, open = false;
    Var instead = 0;
  };
  std::vector<State> state_;
  std::unordered_map<Var, int> reads_;
  std::unordered_map<Hash128, int> times_called_;
  struct Link {
    const Rule* rule;
    Var root;
  };
  std::vector<Link> chain_;
  std::size_t applied_ = 0, eqns_ = 0;
  bool changed_ = false;
  bool other_shape_ = false;
  std::string why_not_;  // a rule was not applied where its pattern was found
  std::unordered_map<Hash128, ProgramRef> made_;
};

bool has_candidates(const Program& program, const RuleSet& rules) {
  return find_eqn(program, [&](const Eqn& eqn) { return !rules.at(*eqn.op).empty(); }) != nullptr;
}

}  // namespace

struct RuleSet::Exact {
  ForkMutex mutex;
  std::map<std::pair<const Rule*, Hash128>, std::shared_ptr<const Pattern>> patterns;
};

RuleSet::RuleSet(std::vector<RuleRef> rules) : rules_(std::move(rules)), exact_(std::make_unique<Exact>()) {
  const std::vector<const OpInfo*> ops = all_ops();
  for (const RuleRef& rule : rules_) {
    if (rule->roots != nullptr) {
      for (const OpInfo* op : ops)
        if (rule->roots(*op)) at_[op].push_back({rule.get(), nullptr});
      continue;
    }
    std::set<Hash128> seen;
    for (const std::vector<Type>& types : types_to_try(*rule)) {
      auto pattern = trace_pattern(*rule, types);
      const Pattern::Node* root = pattern == nullptr ? nullptr : pattern->node(pattern->root);
      if (root == nullptr || root->op == nullptr || !seen.insert(pattern->skeleton()).second) continue;
      at_[root->op].push_back({rule.get(), std::move(pattern)});
    }
  }
}
RuleSet::~RuleSet() = default;

std::span<const RuleSet::Candidate> RuleSet::at(const OpInfo& op) const {
  const auto found = at_.find(&op);
  return found == at_.end() ? std::span<const Candidate>() : found->second;
}

std::shared_ptr<const Pattern> RuleSet::exact(const Rule& rule, std::span<const Type> types) const {
  constexpr std::size_t most = 1024;
  const bool known = std::ranges::all_of(types, [](const Type& t) { return t.is_array() && t.shape.known(); });
  if (!known) return trace_pattern(rule, types);
  Hasher h;
  for (const Type& type : types) h(type.text());
  const std::pair key(&rule, h.finish());
  {
    const std::lock_guard lock(exact_->mutex);
    if (const auto found = exact_->patterns.find(key); found != exact_->patterns.end()) return found->second;
  }
  auto pattern = trace_pattern(rule, types);
  const std::lock_guard lock(exact_->mutex);
  if (exact_->patterns.size() >= most) exact_->patterns.clear();
  return exact_->patterns[key] = std::move(pattern);
}

NotesApplied::NotesApplied() : outer_(notes) { notes = this; }
NotesApplied::~NotesApplied() { notes = outer_; }
bool NotesApplied::wanted() { return notes != nullptr; }
void NotesApplied::note(const Applied& applied) {
  for (NotesApplied* n = notes; n != nullptr; n = n->outer_) n->applied_.push_back(applied);
}

std::map<std::string, RuleUse> rule_uses() { return uses().all(); }

void try_rule(const RuleRef& rule) {
  const RuleSet alone({rule});
  std::string why;
  bool fits = false;
  for (const std::vector<Type>& types : types_to_try(*rule)) {
    const auto pattern = trace_pattern(*rule, types);
    const Pattern::Node* root = pattern == nullptr ? nullptr : pattern->node(pattern->root);
    if (root == nullptr || root->op == nullptr) continue;
    Scope scope;
    Arrays holes;
    for (const Type& type : types) holes.push_back(scope.input(type));
    Rewriter rewriter(alone, rule->phase == Phase::both ? Phase::after_differentiation : rule->phase,
                      Calls::short_ones_inlined);
    rewriter.run(scope.finish(Arrays{rule->pattern(holes)}).program);
    if (rewriter.other_shape()) {
      why = rewriter.why_not(), fits = false;
      break;
    }
    fits = fits || rewriter.why_not().empty();  // it applies there, or its guard refuses
    if (why.empty()) why = rewriter.why_not();
  }
  if (!fits && !why.empty())
    throw RewriteError(fmt::format("rule \"{}\": {}", rule->name, why),
                       "Both have one dtype and one shape: convert, reshape or broadcast the replacement.",
                       rule->where);
}

std::optional<Scalar> computed_from(const Eqn& eqn, std::span<const Scalar> in, const Type& out) {
  std::vector<Value> values;
  for (const Scalar& number : in) {
    Buffer one = Buffer::allocate(number.dtype(), {});
    std::memcpy(one.data(), number.data(), size_of(number.dtype()));
    values.emplace_back(std::move(one));
  }
  const Type scalar[]{Type::array(out.dtype, {})};
  const std::vector<Value> results = (*eqn.op->eval)(eqn.params, values, {{}, scalar});
  const Scalar result = Array(std::get<Buffer>(results[0])).item_scalar({});
  if (!is_inexact(result.dtype())) return result;
  const double size = std::abs(result.as_double());
  const double least = result.dtype() == DType::f64 ? std::numeric_limits<double>::min()
                                                    : static_cast<double>(std::numeric_limits<float>::min());
  return size == 0 || size >= least ? std::optional(result) : std::nullopt;
}

ProgramRef rewrite(const ProgramRef& program, const RuleSet& rules, Phase phase, Calls calls) {
  if (!has_candidates(*program, rules)) return program;
  const CompileTime outside;
  return Rewriter(rules, phase, calls).run(program);
}

}  // namespace tenon
