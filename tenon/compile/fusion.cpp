#include "tenon/compile/fusion.h"

#include <algorithm>
#include <array>
#include <map>

#include "tenon/ir/op.h"
#include "tenon/ops/structure.h"

namespace tenon {
namespace {

bool is_element(const Eqn& eqn) { return rule_of<LowerElement>(*eqn.op) != nullptr; }

// Its operand at other indices: where many read it, the operand is stored instead, which may be smaller.
bool is_view(const Eqn& eqn) {
  static constexpr std::string_view views[]{"broadcast", "reshape", "transpose", "slice", "reverse"};
  return std::ranges::find(views, eqn.op->name) != std::end(views);
}

// Each element is made of eight of the operand: stored, so that every one is computed where its nest is.
bool packs_bits(const Eqn& eqn) { return eqn.op->name == "pack_bits"; }
// Its parts come from eight bits of each byte: stored, so that what reads it is one nest of its own index.
bool unpacks_bits(const Eqn& eqn) { return eqn.op->name == "unpack_bits"; }

// Worth a round trip through memory: what costs more than a few simple operations.
bool is_costly(const Eqn& eqn) {
  static constexpr std::string_view names[]{
      "exp",  "expm1",    "log", "log1p", "sin", "cos",   "tan", "tanh", "sinh",  "cosh", "asin",   "acos",
      "atan", "logistic", "erf", "erfc",  "pow", "atan2", "div", "sqrt", "rsqrt", "rem",  "gather", "concatenate"};
  return std::ranges::find(names, eqn.op->name) != std::end(names);
}

// So many simple operations cost less than a round trip of their result through a cache, or through memory.
constexpr int simple = 3, simple_beside_memory = 12, costly = 16, heaviest = 1000;
bool in_memory(const Type& type) {
  constexpr std::int64_t cached = 1 << 20;
  const Dim elements = type.shape.elements();
  return elements.known() && elements.value() > cached / static_cast<std::int64_t>(size_of(type.dtype));
}

// What an eqn's result costs to compute again, if its operands cost that much.
int weight_of(const Eqn& eqn, const std::vector<int>& operands) {
  int weight = is_costly(eqn) ? costly : 1;
  for (Var v : eqn.in) weight = std::min(weight + operands[v], heaviest);
  return weight;
}

// What each value is as an expression of what is stored, if all that can be fused is.
struct Expressions {
  // How many reductions, structures and ends of long expressions lie on the longest way to a value.
  std::vector<int> depth;
  std::vector<int> weight;  // what computing it again would repeat, in simple operations
  std::vector<bool> ends;   // a long expression
};
Expressions expressions_of(const Program& program) {
  constexpr int longest = 400;
  const std::size_t n = program.vars();
  Expressions all{std::vector<int>(n, 0), std::vector<int>(n, 0), std::vector<bool>(n, false)};
  std::vector<int> length(n, 0);  // eqns of the longest way that are one expression
  for (const Eqn& eqn : program.eqns()) {
    int below = 0, before = 0;
    for (Var v : eqn.in) {
      below = std::max(below, all.depth[v] + all.ends[v]);
      before = std::max(before, all.ends[v] ? 0 : length[v]);
    }
    const int weight = is_element(eqn) ? weight_of(eqn, all.weight) : 0;
    for (Var v : eqn.out) {
      all.depth[v] = below + (is_element(eqn) ? 0 : 1);
      all.weight[v] = weight;
      length[v] = is_element(eqn) ? before + 1 : 0;
      all.ends[v] = length[v] >= longest && !is_view(eqn);
    }
  }
  return all;
}

// Computes again what was to be stored, where that is cheap from the values that are.
void recompute_cheap(const Program& program, const std::vector<bool>& may, Fusion& fusion) {
  std::vector<int> weight(program.vars(), 0);
  for (const Eqn& eqn : program.eqns()) {
    if (!is_element(eqn)) continue;
    const int cost = weight_of(eqn, weight);
    const Var out = eqn.out[0];
    if (may[out] && cost <= (in_memory(program.type(out)) ? simple_beside_memory : simple)) {
      fusion.stored[out] = false;
      fusion.reasons[out] = {};
    }
    weight[out] = fusion.stored[out] ? 0 : cost;
  }
}

// The nests that read a value, two of them at most: what matters is whether there are several.
class Readers {
 public:
  void add(std::size_t nest) {
    if (count_ == 0 || (count_ == 1 && nests_[0] != nest)) nests_[count_++] = nest;
  }
  void add(const Readers& more) {
    for (std::size_t i = 0; i < more.count_; ++i) add(more.nests_[i]);
  }
  bool several() const { return count_ > 1; }

 private:
  std::array<std::size_t, 2> nests_{};
  std::size_t count_ = 0;
};

}  // namespace

Fusion fuse(const Program& program) {
  const std::size_t n = program.vars();
  Fusion fusion{std::vector<bool>(n, false), std::vector<std::size_t>(n, 0), std::vector<Fusion::Reason>(n), {}, 0};
  const auto [depth, weight, ends] = expressions_of(program);
  fusion.ends = ends;
  std::map<std::string, std::size_t> group_of;
  const auto nest_of = [&](Var v) {
    const std::string key = program.type(v).shape.text() + "@" + std::to_string(depth[v]);
    const auto [at, fresh] = group_of.emplace(key, fusion.groups);
    if (fresh) ++fusion.groups;
    return at->second;
  };
  // Backwards: the nests that read each value, through what is not stored.
  std::vector<Readers> readers(n);
  std::vector<bool> must(n, false), larger(n, false), may_be_recomputed(n, false);
  const auto require = [&](Var v, std::string_view phrase, std::string_view reader = {}) {
    if (!must[v]) fusion.reasons[v] = {phrase, reader};
    must[v] = true;
  };
  const std::vector<const Eqn*> makers = makers_of(program);
  const auto unviewed = [&](Var v) {
    while (makers[v] != nullptr && is_view(*makers[v])) v = makers[v]->in[0];
    return v;
  };
  // A read at places that data say computes every part of a concatenation and takes one of them, for each element:
  // where it takes about as many as there are, the concatenation is stored.
  const auto chooses_parts = [&](const Eqn& eqn) {
    if (eqn.op != &gather_op()) return false;
    const Eqn* whole = makers[unviewed(eqn.in[0])];
    if (whole == nullptr || !concatenated_axis(*whole)) return false;
    const Dim taken = program.type(eqn.out[0]).shape.elements(), all = program.type(whole->out[0]).shape.elements();
    return !taken.known() || !all.known() || taken.value() * static_cast<std::int64_t>(whole->in.size()) >= all.value();
  };
  for (Var v : program.outputs()) require(v, "an output");
  for (Var v = 0; v < n; ++v)
    if (ends[v]) require(v, "the end of a long expression");
  for (std::size_t e = program.eqns().size(); e-- > 0;) {
    const Eqn& eqn = program.eqns()[e];
    if (!is_element(eqn)) {
      const bool reduces = rule_of<LowerReduction>(*eqn.op) != nullptr;
      const std::size_t own = fusion.fresh_group();
      for (Var v : eqn.in) {
        if (!reduces) require(v, "an operand of", eqn.op->name);
        readers[v].add(own);
      }
      continue;
    }
    const Var out = eqn.out[0];
    if (packs_bits(eqn) || chooses_parts(eqn)) require(unviewed(eqn.in[0]), "an operand of", eqn.op->name);
    if (unpacks_bits(eqn)) require(out, "bits");
    const bool recomputed = readers[out].several() || larger[out];
    fusion.stored[out] = must[out] || (recomputed && weight[out] > simple && !eqn.in.empty() && !is_view(eqn));
    if (fusion.stored[out]) {
      may_be_recomputed[out] = !must[out] && !larger[out];
      if (!must[out])
        fusion.reasons[out] = {larger[out] ? "costly, and a larger array reads each element several times"
                                           : "costly, and several nests read it",
                               {}};
      fusion.group[out] = unpacks_bits(eqn) ? fusion.fresh_group() : nest_of(out);
      readers[out] = Readers();
      readers[out].add(fusion.group[out]);
    }
    // A larger reader computes each element of this operand several times.
    const Dim mine = program.type(out).shape.elements();
    for (Var v : eqn.in) {
      readers[v].add(readers[out]);
      const Dim theirs = program.type(v).shape.elements();
      larger[v] = larger[v] || (mine.known() && theirs.known() && mine.value() > theirs.value()) ||
                  (!fusion.stored[out] && larger[out]);
    }
  }
  recompute_cheap(program, may_be_recomputed, fusion);
  return fusion;
}

}  // namespace tenon
