#include "tenon/rewrite/pattern.h"

#include <fmt/format.h>

#include <set>

#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

constexpr std::size_t largest_pattern = 64;  // nodes
constexpr int most_steps = 1024;             // of one search

class Search {
 public:
  Search(const Pattern& pattern, const Graph& graph, Compared how)
      : pattern_(pattern), graph_(graph), how_(how), bound_(pattern.holes.size() + pattern.nodes.size(), unbound) {}

  std::optional<std::vector<Var>> run(Var root) {
    const Eqn* made = graph_.maker(root);
    if (made == nullptr) return {};
    recompute_ = made->recompute;
    goals_.push_back({pattern_.root, root});
    if (!solve(0)) return {};
    return bound_;
  }

 private:
  static constexpr Var unbound = ~Var(0);
  struct Goal {
    Pattern::Ref ref;
    Var var;
  };

  bool solve(std::size_t at) {
    if (at == goals_.size()) return true;
    if (++steps_ > most_steps) return false;
    const auto [ref, var] = goals_[at];
    if (bound_[ref] != unbound) return bound_[ref] == var && solve(at + 1);
    const Pattern::Node* node = pattern_.node(ref);
    if (node == nullptr ? !fits(pattern_.holes[ref], var) : !fits(*node, var)) return false;
    bound_[ref] = var;
    if (node == nullptr || node->op == nullptr) {
      if (solve(at + 1)) return true;
    } else if (solve_operands(*node, graph_.maker(var)->in, at)) {
      return true;
    }
    bound_[ref] = unbound;
    return false;
  }

  bool solve_operands(const Pattern::Node& node, const std::vector<Var>& in, std::size_t at) {
    const bool swaps = node.op->traits.commutative && in.size() == 2 && in[0] != in[1];
    for (const bool swapped : {false, true}) {
      if (swapped && !swaps) break;
      const std::size_t before = goals_.size();
      for (std::size_t i = 0; i < in.size(); ++i) goals_.push_back({node.in[i], in[swapped ? in.size() - 1 - i : i]});
      if (solve(at + 1)) return true;
      goals_.resize(before);
    }
    return false;
  }

  bool fits(const Type& hole, Var var) const { return how_ == Compared::skeletons || graph_.type(var) == hole; }

  bool fits(const Pattern::Node& node, Var var) const {
    if (how_ == Compared::exactly && !(graph_.type(var) == node.type)) return false;
    if (node.op == nullptr) {
      const std::optional<Scalar>& number = graph_.number(var);
      if (!number) return false;
      return how_ == Compared::exactly ? *number == *node.number : may_be_equal(*number, *node.number);
    }
    const Eqn* eqn = graph_.maker(var);
    if (eqn == nullptr || eqn->op != node.op || eqn->in.size() != node.in.size() || eqn->recompute != recompute_ ||
        eqn->out.size() <= node.out || eqn->out[node.out] != var)
      return false;
    return how_ == Compared::skeletons || eqn->params == node.params;
  }
  // Of numbers in other dtypes: those that a float does not hold may be rounded.
  static bool may_be_equal(const Scalar& a, const Scalar& b) {
    const double x = a.as_double(), y = b.as_double();
    return a.dtype() == b.dtype() ? a == b : std::abs(x - y) <= 1e-2 * std::abs(y) || x == y || x != x || y != y;
  }

  const Pattern& pattern_;
  const Graph& graph_;
  Compared how_;
  std::vector<Var> bound_;
  std::vector<Goal> goals_;
  RecomputeScope recompute_ = 0;
  int steps_ = 0;
};

[[noreturn]] void refuse(const Rule& rule, const std::string& why, std::string_view advice) {
  throw RewriteError(fmt::format("rule \"{}\": {}", rule.name, why), advice, rule.where);
}

// Refs of a Program's variables, and the nodes that they need; numbers are nodes without op.
class Builder {
 public:
  Builder(const Rule& rule, const Program& program, const SizeBinding& sizes) : rule_(rule), sizes_(sizes) {
    for (const Var v : program.inputs()) {
      refs_.emplace(v, static_cast<Pattern::Ref>(pattern.holes.size()));
      pattern.holes.push_back(type(program, v));
    }
    for (const Eqn& eqn : program.eqns()) add(program, eqn);
    if (program.outputs()[0] < program.vars()) pattern.root = refs_.at(program.outputs()[0]);
  }
  Pattern pattern;

 private:
  Type type(const Program& program, Var v) const { return substitute(program.type(v), sizes_); }

  void add(const Program& program, const Eqn& eqn) {
    if (pattern.nodes.size() >= largest_pattern)
      refuse(rule_, fmt::format("its pattern has more than {} eqns.", largest_pattern), "Match a smaller part.");
    if (eqn.op == &require_equal_op()) return;  // the Program that is rewritten keeps its own
    if (effect_of(eqn) != Effect::none)
      refuse(rule_, fmt::format("its pattern has an effect, {}.", eqn.op->name), "Patterns are of pure functions.");
    Pattern::Node node{.op = eqn.op,
                       .params = eqn.params.map_dims([&](const Dim& d) { return substitute(d, sizes_); })};
    for (const Var v : eqn.in) node.in.push_back(refs_.at(v));
    for (std::size_t i = 0; i < eqn.out.size(); ++i) {
      Pattern::Node result = node;
      result.out = i;
      result.type = type(program, eqn.out[i]);
      result.number = number_of(eqn, node);
      if (result.number) result.op = nullptr, result.in.clear();
      refs_[eqn.out[i]] = static_cast<Pattern::Ref>(pattern.holes.size() + pattern.nodes.size());
      pattern.nodes.push_back(std::move(result));
    }
  }
  std::optional<Scalar> number_of(const Eqn& eqn, const Pattern::Node& node) const {
    if (eqn.op == &literal_op()) return literal_value(eqn.params);
    if (!eqn.op->traits.rearranges || node.in.empty()) return {};
    const Pattern::Node* from = pattern.node(node.in[0]);
    return from == nullptr ? std::nullopt : from->number;
  }

  const Rule& rule_;
  const SizeBinding& sizes_;
  std::map<Var, Pattern::Ref> refs_;
};

bool reads_all_holes(const Pattern& pattern) {
  std::set<Pattern::Ref> read{pattern.root};
  for (const Pattern::Node& node : pattern.nodes) read.insert(node.in.begin(), node.in.end());
  for (Pattern::Ref hole = 0; hole < pattern.holes.size(); ++hole)
    if (!read.contains(hole)) return false;
  return true;
}

std::vector<std::vector<Type>> combinations(const std::vector<Type>& of, std::size_t holes) {
  std::vector<std::vector<Type>> all{{}};
  for (std::size_t i = 0; i < holes; ++i) {
    std::vector<std::vector<Type>> longer;
    for (const auto& some : all)
      for (const Type& type : of) longer.push_back(some), longer.back().push_back(type);
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::string_view name(Exactness exactness) {
  constexpr std::string_view names[]{"exact", "reassociates", "assumes_finite", "avoids_overflow"};
  return names[static_cast<std::size_t>(exactness)];
}

Hash128 Pattern::skeleton() const {
  Hasher h;
  h(holes.size())(root);
  for (const Node& node : nodes) {
    h(node.op == nullptr ? std::string_view() : node.op->name)(node.out)(node.in.size());
    for (const Ref ref : node.in) h(ref);
    if (node.number) h(node.number->as_double());
  }
  return h.finish();
}

std::optional<std::vector<Var>> find_pattern(const Pattern& pattern, const Graph& graph, Var root, Compared how) {
  return Search(pattern, graph, how).run(root);
}

std::vector<std::vector<Type>> types_to_try(const Rule& rule) {
  if (!rule.examples.empty()) return rule.examples;
  const auto of = [](DType dtype, std::size_t rank) {
    return Type::array(dtype, Shape(std::vector<Dim>(rank, Dim(3))));
  };
  std::vector<std::vector<Type>> all;
  const std::size_t most_ranks = rule.holes <= 1 ? 5 : rule.holes <= 3 ? 4 : 2;
  for (const DType dtype : {DType::f32, DType::i32, DType::bool_, DType::c64}) {
    std::vector<Type> ranks;
    for (std::size_t rank = 0; rank < most_ranks; ++rank) ranks.push_back(of(dtype, rank));
    if (rule.holes <= 4)
      std::ranges::move(combinations(ranks, rule.holes), std::back_inserter(all));
    else
      for (const Type& type : ranks) all.emplace_back(rule.holes, type);
  }
  for (const std::size_t rank : {0, 1, 2})  // conditions, and indices
    if (rule.holes >= 2 && rule.holes <= 4)
      for (auto& mixed : combinations({of(DType::bool_, rank), of(DType::f32, rank), of(DType::i32, rank)}, rule.holes))
        all.push_back(std::move(mixed));
  return all;
}

std::shared_ptr<const Pattern> trace_pattern(const Rule& rule, std::span<const Type> types) {
  Scope scope;
  Arrays holes;
  for (const Type& type : types) holes.push_back(scope.input(type));
  Array result;
  try {
    result = rule.pattern(holes);
  } catch (const RewriteError&) {
    throw;
  } catch (const Error&) {
    return nullptr;
  }
  const TraceResult traced = scope.finish(Arrays{result});
  if (!traced.captures.empty())
    refuse(rule, "its pattern reads an array from outside.",
           "Numbers are matched by their value; an array that may be any is a parameter of the pattern.");
  const ProgramRef program = inline_calls(traced.program);
  SizeBinding sizes;
  for (std::size_t i = 0; i < program->size_params().size(); ++i)
    sizes.emplace(program->size_params()[i], traced.sizes[i]);
  return std::make_shared<const Pattern>(Builder(rule, *program, sizes).pattern);
}

void require_rule(std::string_view asked, const RuleRef& rule) {
  if (rule == nullptr)
    throw RewriteError(fmt::format("{}: a rule is null.", asked),
                       "Make rules by rule(...), or take library_rule(...).");
}

void check_rule(const Rule& rule) {
  if (rule.name.empty()) refuse(rule, "it has no name.", "Name it: rules are told apart and switched off by name.");
  if (rule.roots != nullptr) return;
  std::string why = "no operand type was tried";
  bool any = false;
  for (const std::vector<Type>& types : types_to_try(rule)) {
    const auto pattern = trace_pattern(rule, types);
    if (pattern == nullptr) continue;
    const Pattern::Node* root = pattern->node(pattern->root);
    if (root == nullptr || root->op == nullptr) continue;  // for these types it is an operand, or a number
    any = true;
    if (!reads_all_holes(*pattern))
      refuse(rule, "its pattern does not read all of its parameters, so that nothing says what they stand for.",
             "Leave the parameter out of the pattern and the replacement.");
  }
  if (any) return;
  for (const std::vector<Type>& types : types_to_try(rule))
    if (trace_pattern(rule, types) != nullptr)
      refuse(rule, "its pattern matches everything: it is one of its parameters, or a number.",
             "A pattern applies at least one op.");
  refuse(rule, "its pattern takes no operands of the dtypes and ranks that were tried.",
         "Call it with arrays to see why, or say the types by Rule::examples.");
}

}  // namespace tenon
