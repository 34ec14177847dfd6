#include "tenon/compile/plan/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "tenon/compile/plan/calls.h"
#include "tenon/compile/plan/factors.h"
#include "tenon/compile/plan/planned_work.h"
#include "tenon/compile/plan/readers.h"
#include "tenon/ir/op.h"
#include "tenon/kernel/passes/split_nests.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

// Whether an eqn that is no element reads the array that `maker` makes: a reduction reads its elements, and what a mask
// chooses of indices along an axis are the numbers of places.
bool needs_array(const Eqn& eqn, const Eqn* maker) {
  using Kind = LowerStructure::Kind;
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  if (rule_of<LowerReduction>(*eqn.op) != nullptr) return false;
  if (structure != nullptr && structure->kind == Kind::compress) return maker == nullptr || !counted_axis(*maker);
  return structure == nullptr || structure->kind != Kind::count;
}

ElementForms forms_of(const Program& program) {
  ElementForms forms(program.vars());
  for (const Eqn& eqn : program.eqns())
    if (is_element(eqn)) forms[eqn.out[0]] = element_form(program, eqn, !has_many_parts(eqn));
  return forms;
}

// So many simple operations cost less than a round trip of their result through a cache, or through memory.
constexpr int simple = 3, simple_beside_memory = 12, heaviest = 1000;
// Larger than a cache for sure: of a size that varies, blocks of rows pass what is stored through the caches anyway.
bool in_memory(const Type& type) {
  constexpr std::int64_t cached = 1 << 20;  // bytes
  const Dim elements = type.shape.elements();
  return elements.known() && elements.value() > cached / static_cast<std::int64_t>(size_of(type.dtype));
}

double elements(const Type& type) { return kernel::estimate(type.shape.elements()); }
int round_trip(const Type& type) { return in_memory(type) ? simple_beside_memory : simple; }

// What an eqn's result costs to compute again, if its operands cost that much.
int weight_of(const Eqn& eqn, const ElementForm& form, const std::vector<int>& operands) {
  int weight = static_cast<int>(form.operations);
  for (Var v : eqn.in) weight = std::min(weight + operands[v], heaviest);
  return weight;
}

// What each value is as an expression of what is stored, if all that can be fused is.
struct Expressions {
  // How many reductions, structures and ends of expressions lie on the longest way to a value.
  std::vector<int> depth;
  std::vector<int> weight;  // what computing it again would repeat, in simple operations
  std::vector<int> length;  // eqns of the longest way that are one expression
  std::vector<bool> ends;   // an expression
};
constexpr int longest = 400;  // expression, in eqns one behind the other: what compiles it recurs as deep as it is
Expressions expressions_of(const Program& program, const ElementForms& forms, std::vector<bool> ends) {
  const std::size_t n = program.vars();
  Expressions all{std::vector<int>(n, 0), std::vector<int>(n, 0), std::vector<int>(n, 0), std::move(ends)};
  for (const Eqn& eqn : program.eqns()) {
    int below = 0, before = 0;
    for (Var v : eqn.in) {
      below = std::max(below, all.depth[v] + all.ends[v]);
      before = std::max(before, all.ends[v] ? 0 : all.length[v]);
    }
    const int weight = is_element(eqn) ? weight_of(eqn, forms[eqn.out[0]], all.weight) : 0;
    for (Var v : eqn.out) {
      all.depth[v] = below + (is_element(eqn) || eqn.in.empty() ? 0 : 1);
      all.weight[v] = weight;
      all.length[v] = is_element(eqn) ? before + 1 : 0;
      all.ends[v] = all.ends[v] || (all.length[v] >= longest && !forms[v].view);
    }
  }
  return all;
}

// One nest, if nothing in it is stored: its values, each at the length of its expression.
class Body {
 public:
  static constexpr std::int64_t largest = 800;
  // `outside`: how many operands it reads from memory, each of which takes a register for its address.
  void add(Var v, int at, int last_read, const Type& type, int weight, int outside) {
    values_.push_back({v, at, std::max(at, last_read), round_trip(type), weight, 1 + 3 * outside});
    size_ += values_.back().size;
  }
  // Cuts it into bodies of at most about `largest` values, where what has to be stored for that is cheap beside them:
  // `ends` is set. LLVM's time for one body grows with its square. Sorts, and is linear beside that.
  void cut(std::vector<bool>& ends) {
    if (size_ <= largest) return;
    std::ranges::sort(values_, {}, &Value::at);
    std::vector<const Value*> by_last_read;
    for (const Value& v : values_) by_last_read.push_back(&v);
    std::ranges::sort(by_last_read, {}, &Value::last_read);
    for (std::size_t first = 0; size_ > largest;) {
      const std::optional<std::size_t> end = cheapest(first, by_last_read);
      if (!end) return;
      for (std::size_t i = first; i < *end; ++i) size_ -= values_[i].size;
      for (std::size_t i = first; i < *end; ++i)
        if (values_[i].last_read > values_[*end - 1].at) ends[values_[i].var] = true;
      first = *end;
    }
  }

 private:
  struct Value {
    Var var;
    int at, last_read, to_store, weight, size;
  };
  // Behind the values of the next body. What was read last before it begins stays out of account.
  std::optional<std::size_t> cheapest(std::size_t first, const std::vector<const Value*>& by_last_read) const {
    const int begin = values_[first].at;
    auto ended = std::ranges::lower_bound(by_last_read, begin, {}, &Value::last_read);
    std::optional<std::size_t> best;
    std::int64_t to_store = 0, weight = 0, least = 0, size = 0;
    for (std::size_t i = first; i < values_.size();) {
      const int at = values_[i].at;
      for (; i < values_.size() && values_[i].at == at; ++i)
        to_store += values_[i].to_store, weight += values_[i].weight, size += values_[i].size;
      for (; ended != by_last_read.end() && (*ended)->last_read <= at; ++ended)
        if ((*ended)->at >= begin) to_store -= (*ended)->to_store;
      if (size > largest && best) break;
      if (size < largest / 2 || 4 * to_store > weight || i == values_.size()) continue;
      if (!best || to_store <= least) best = i, least = to_store;
    }
    return best;
  }

  std::vector<Value> values_;
  std::int64_t size_ = 0;
};

// Where expressions end: at calls of units, and so that no nest becomes much larger than LLVM compiles in time.
std::vector<bool> ends_of_bodies(const Program& program, const ElementForms& forms) {
  const std::size_t n = program.vars();
  std::vector<bool> ends = ends_at_calls(program, forms);
  if (std::ssize(program.eqns()) <= Body::largest / 4) return ends;
  const Expressions all = expressions_of(program, forms, ends);
  std::vector<Hash128> nest(n);
  std::vector<int> last_read(n, 0);
  std::vector<bool> counted(n, false);
  std::map<Hash128, Body> bodies;
  for (const Eqn& eqn : program.eqns())
    for (Var v : eqn.out) {
      Hasher key;
      for (const Dim& d : program.type(v).shape) d.hash(key);
      nest[v] = key(all.depth[v]).finish();
    }
  for (std::size_t e = program.eqns().size(); e-- > 0;) {
    const Eqn& eqn = program.eqns()[e];
    if (!is_element(eqn)) continue;
    const Var out = eqn.out[0];
    for (Var v : eqn.in)
      if (all.depth[v] == all.depth[out])
        last_read[v] = std::max(last_read[v], forms[out].view ? last_read[out] : all.length[out]);
    const auto is_outside = [&](Var v) { return all.length[v] == 0 && !counted[v]; };
    if (!forms[out].view && !eqn.in.empty())
      bodies[nest[out]].add(out, all.length[out], last_read[out], program.type(out),
                            static_cast<int>(forms[out].operations),
                            static_cast<int>(std::ranges::count_if(eqn.in, is_outside)));
    for (const Var v : eqn.in) counted[v] = true;
  }
  for (auto& [key, body] : bodies) body.cut(ends);
  return ends;
}

// Computes again what was to be stored, where that is cheap from the values that are.
void recompute_cheap(const Program& program, const ElementForms& forms, const std::vector<bool>& may, Fusion& fusion) {
  std::vector<int> weight(program.vars(), 0);
  for (const Eqn& eqn : program.eqns()) {
    if (!is_element(eqn)) continue;
    const Var out = eqn.out[0];
    const int cost = weight_of(eqn, forms[out], weight);
    if (may[out] && cost <= round_trip(program.type(out))) {
      fusion.stored[out] = false;
      fusion.reasons[out] = {};
    }
    weight[out] = fusion.stored[out] ? 0 : cost;
  }
}

// The highest level of each of some groups; of more than a few, the highest of any of the others.
class Levels {
 public:
  void raise(std::size_t group, int depth, std::size_t level) {
    Level* lowest = all_.data();
    for (Level& each : all_) {
      if (each.level > 0 && each.group == group) return void(each.level = std::max(each.level, level));
      if (each.level < lowest->level) lowest = &each;
    }
    forgotten_ = std::max(forgotten_, std::min(level, lowest->level));
    if (level > lowest->level) *lowest = {group, level, depth};
  }
  // Of groups at this depth: none but these meets again what is at it, or deeper.
  void raise(const Levels& to, int depth, std::size_t by = 0, std::optional<std::size_t> but_of = {}) {
    if (to.forgotten_ > 0) forgotten_ = std::max(forgotten_, to.forgotten_ + by);
    for (const Level& each : to.all_)
      if (each.level > 0 && each.depth >= depth && each.group != but_of) raise(each.group, each.depth, each.level + by);
  }
  std::size_t in(std::size_t group) const {
    for (const Level& each : all_)
      if (each.level > 0 && each.group == group) return std::max(each.level, forgotten_);
    return forgotten_;
  }

 private:
  struct Level {
    std::size_t group = 0, level = 0;
    int depth = 0;
  };
  std::array<Level, 6> all_{};
  std::size_t forgotten_ = 0;
};

// Divides each group by how often one of its values is read at another index on the way to the next: no nest holds
// both.
void divide_groups(const Program& program, const std::vector<int>& depth, Fusion& fusion) {
  // By variable: the levels, from 1, of what its expression reads at its own index, and those above what it reads
  // elsewhere.
  std::vector<Levels> here(program.vars()), elsewhere(program.vars());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> groups;
  for (const Eqn& eqn : program.eqns()) {
    if (!is_element(eqn)) continue;
    const Var out = eqn.out[0];
    const int at = depth[out];
    for (const Var v : eqn.in) {
      if (depth[v] < at) continue;
      elsewhere[out].raise(elsewhere[v], at);
      if (is_elementwise(eqn))
        here[out].raise(here[v], at);
      else
        elsewhere[out].raise(here[v], at, 1);
    }
    if (!fusion.stored[out]) continue;
    const std::size_t group = fusion.group[out];
    const std::size_t level = std::max({std::size_t(1), here[out].in(group), elsewhere[out].in(group)});
    elsewhere[out].raise(here[out], at, 1, group);  // of other groups, they are stored before
    here[out] = {};
    here[out].raise(group, at, level);
    if (level == 1) continue;
    const auto [found, fresh] = groups.emplace(std::pair(group, level), fusion.groups);
    if (fresh) ++fusion.groups;
    fusion.group[out] = found->second;
  }
}

std::string_view why_not_again(bool larger, bool several) {
  if (larger) return "costly, and a larger array reads each element several times";
  return several ? "costly, and several nests read it" : "costly, and read at several indices";
}

}  // namespace

bool has_many_parts(const Eqn& eqn) { return concatenated_axis(eqn) && eqn.in.size() > kernel::most_pieces; }

namespace {

// Decides, backwards: what reads a value is decided before it.
class Decisions {
 public:
  Decisions(const Program& program, const ElementForms& forms, const Expressions& all)
      : program_(program),
        forms_(forms),
        all_(all),
        makers_(makers_of(program)),
        many_calls_(has_many_calls(program)) {}

  // By what values are worth. `bounded`: so that everything together is at most twice what the eqns compute, whichever
  // nests are cut or shared.
  Fusion fusion(bool bounded) {
    const std::size_t n = program_.vars();
    bounded_ = bounded;
    fusion_ = {std::vector<bool>(n, false), std::vector<std::size_t>(n, 0), std::vector<Fusion::Reason>(n), all_.ends,
               0};
    readers_.assign(n, {});
    must_.assign(n, false), larger_.assign(n, false), may_be_recomputed_.assign(n, false);
    call_.assign(n, 0), work_ = {}, group_of_.clear();
    for (Var v : program_.outputs()) require(v, "an output");
    for (Var v = 0; v < n; ++v)
      if (all_.ends[v]) require(v, "the end of a long expression");
    for (std::size_t e = program_.eqns().size(); e-- > 0;)
      if (const Eqn& eqn = program_.eqns()[e]; is_element(eqn))
        element(eqn);
      else
        other(eqn, e + 1);
    if (!bounded) recompute_cheap(program_, forms_, may_be_recomputed_, fusion_);
    divide_groups(program_, all_.depth, fusion_);
    return std::move(fusion_);
  }

 private:
  void require(Var v, std::string_view phrase, std::string_view reader = {}) {
    if (!must_[v]) fusion_.reasons[v] = {phrase, reader};
    must_[v] = true;
  }
  double size(Var v) const { return elements(program_.type(v)); }
  std::size_t nest_of(Var v) {
    const std::string key = fmt::format("{}@{}@{}", program_.type(v).shape.text(), all_.depth[v], call_[v]);
    const auto [at, fresh] = group_of_.emplace(key, fusion_.groups);
    if (fresh) ++fusion_.groups;
    return at->second;
  }
  Var unviewed(Var v) const {
    while (makers_[v] != nullptr && forms_[v].view) v = makers_[v]->in[0];
    return v;
  }
  // A read at places that data say computes every part of a concatenation for each element: where it takes about as
  // many elements as there are, the concatenation is stored.
  bool chooses_parts(const Eqn& eqn) const {
    if (eqn.op != &gather_op()) return false;
    const Eqn* whole = makers_[unviewed(eqn.in[0])];
    if (whole == nullptr || !concatenated_axis(*whole)) return false;
    const Dim taken = program_.type(eqn.out[0]).shape.elements(), all = program_.type(whole->out[0]).shape.elements();
    return !taken.known() || !all.known() || taken.value() * static_cast<std::int64_t>(whole->in.size()) >= all.value();
  }

  void other(const Eqn& eqn, std::size_t number) {
    const std::size_t own = fusion_.fresh_group();
    std::vector<Var> read(eqn.in.begin(), eqn.in.end());
    if (is_product(*eqn.op)) std::ranges::copy(factors_of(program_, eqn, makers_), read.begin());
    for (std::size_t i = 0; i < read.size(); ++i) {
      const Var v = read[i];
      const bool where_combined =
          i > 0 && combines_updates(program_, eqn) && (i == 2 || all_.weight[v] <= simple_beside_memory);
      if (!where_combined && needs_array(eqn, makers_[v])) require(v, "an operand of", eqn.op->name);
      readers_[v].add(own, size(v), false);
      if (many_calls_ && rule_of<LowerCall>(*eqn.op) != nullptr) call_[v] = number;
    }
    if (rule_of<LowerReduction>(*eqn.op) != nullptr) work_.add_reduction(size(eqn.in[0]));
  }

  void element(const Eqn& eqn) {
    const Var out = eqn.out[0];
    const ElementForm& form = forms_[out];
    // Where one element is made of several, each of these is computed where its own nest is; and what is a part of
    // one is stored, so that what reads it is a nest of its own index.
    const bool by_parts = form.by_parts || has_many_parts(eqn);
    if (form.several || chooses_parts(eqn)) require(unviewed(eqn.in[0]), "an operand of", eqn.op->name);
    if (by_parts) require(out, form.by_parts ? "parts of elements" : "made of many parts");
    const Readers& readers = readers_[out];
    const bool several = readers.several_nests();
    const bool repeated = readers.again(size(out)) * all_.weight[out] >= round_trip(program_.type(out));
    const bool costly = ((several || larger_[out]) && all_.weight[out] > simple) || repeated;
    const bool too_often = bounded_ && !work_.allows(form, size(out), readers.evaluations());
    fusion_.stored[out] = must_[out] || ((costly || too_often) && !eqn.in.empty() && !form.view);
    work_.add(form, size(out), fusion_.stored[out] ? size(out) : readers.evaluations());
    if (fusion_.stored[out]) {
      may_be_recomputed_[out] = !must_[out] && !larger_[out] && !repeated;
      if (!must_[out]) fusion_.reasons[out] = {why_not_again(larger_[out], several), {}};
      fusion_.group[out] = by_parts ? fusion_.fresh_group() : nest_of(out);
    }
    read_operands(eqn);
  }

  void read_operands(const Eqn& eqn) {
    const Var out = eqn.out[0];
    if (fusion_.stored[out]) {
      readers_[out] = {};
      readers_[out].add(bounded_ ? fusion_.fresh_group() : fusion_.group[out], size(out), !bounded_);
    }
    read_by(program_, eqn, forms_[out], [&] { return fusion_.fresh_group(); }, readers_);
    // A larger reader computes each element of this operand several times.
    const Dim mine = program_.type(out).shape.elements();
    for (const Var v : eqn.in) {
      const Dim theirs = program_.type(v).shape.elements();
      larger_[v] = larger_[v] || at_least(mine - theirs, 1) || (!fusion_.stored[out] && larger_[out]);
    }
  }

  const Program& program_;
  const ElementForms& forms_;
  const Expressions& all_;
  const std::vector<const Eqn*> makers_;
  const bool many_calls_;
  bool bounded_ = false;
  Fusion fusion_;
  Work work_;
  std::map<std::string, std::size_t> group_of_;
  std::vector<Readers> readers_;   // the nests that read each value, through what is not stored
  std::vector<std::size_t> call_;  // of units, the first that has a value as its operand: an eqn, from 1
  std::vector<bool> must_, larger_, may_be_recomputed_;
};

}  // namespace

Fusion fuse(const Program& program) {
  const ElementForms forms = forms_of(program);
  const Expressions all = expressions_of(program, forms, ends_of_bodies(program, forms));
  Decisions decisions(program, forms, all);
  Fusion fusion = decisions.fusion(false);
  return work_of(program, forms, fusion).is_bounded() ? fusion : decisions.fusion(true);
}

}  // namespace tenon
