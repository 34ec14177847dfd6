#include "tenon/compile/fusion.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "tenon/compile/pieces.h"
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
// Larger than a cache for sure: of a size that varies, blocks of rows pass what is stored through the caches anyway.
bool in_memory(const Type& type) {
  constexpr std::int64_t cached = 1 << 20;  // bytes
  const Dim elements = type.shape.elements();
  return elements.known() && elements.value() > cached / static_cast<std::int64_t>(size_of(type.dtype));
}

double elements(const Type& type) { return kernel::estimate(type.shape.elements()); }
int round_trip(const Type& type) { return in_memory(type) ? simple_beside_memory : simple; }

// What an eqn's result costs to compute again, if its operands cost that much.
int weight_of(const Eqn& eqn, const std::vector<int>& operands) {
  int weight = is_costly(eqn) ? costly : 1;
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
Expressions expressions_of(const Program& program, std::vector<bool> ends) {
  const std::size_t n = program.vars();
  Expressions all{std::vector<int>(n, 0), std::vector<int>(n, 0), std::vector<int>(n, 0), std::move(ends)};
  for (const Eqn& eqn : program.eqns()) {
    int below = 0, before = 0;
    for (Var v : eqn.in) {
      below = std::max(below, all.depth[v] + all.ends[v]);
      before = std::max(before, all.ends[v] ? 0 : all.length[v]);
    }
    const int weight = is_element(eqn) ? weight_of(eqn, all.weight) : 0;
    for (Var v : eqn.out) {
      all.depth[v] = below + (is_element(eqn) ? 0 : 1);
      all.weight[v] = weight;
      all.length[v] = is_element(eqn) ? before + 1 : 0;
      all.ends[v] = all.ends[v] || (all.length[v] >= longest && !is_view(eqn));
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

// Where expressions end so that no nest becomes much larger than LLVM compiles in time.
std::vector<bool> ends_of_bodies(const Program& program) {
  const std::size_t n = program.vars();
  std::vector<bool> ends(n, false);
  if (std::ssize(program.eqns()) <= Body::largest / 4) return ends;
  const Expressions all = expressions_of(program, ends);
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
        last_read[v] = std::max(last_read[v], is_view(eqn) ? last_read[out] : all.length[out]);
    const auto is_outside = [&](Var v) { return all.length[v] == 0 && !counted[v]; };
    if (!is_view(eqn) && !eqn.in.empty())
      bodies[nest[out]].add(out, all.length[out], last_read[out], program.type(out), is_costly(eqn) ? costly : 1,
                            static_cast<int>(std::ranges::count_if(eqn.in, is_outside)));
    for (const Var v : eqn.in) counted[v] = true;
  }
  for (auto& [key, body] : bodies) body.cut(ends);
  return ends;
}

// Computes again what was to be stored, where that is cheap from the values that are.
void recompute_cheap(const Program& program, const std::vector<bool>& may, Fusion& fusion) {
  std::vector<int> weight(program.vars(), 0);
  for (const Eqn& eqn : program.eqns()) {
    if (!is_element(eqn)) continue;
    const int cost = weight_of(eqn, weight);
    const Var out = eqn.out[0];
    if (may[out] && cost <= round_trip(program.type(out))) {
      fusion.stored[out] = false;
      fusion.reasons[out] = {};
    }
    weight[out] = fusion.stored[out] ? 0 : cost;
  }
}

// Where a value is read from: the nests, and in each the index maps, canonical as far as the views on the way are the
// same.
class Readers {
 public:
  void add(std::size_t nest, double elements) { add({nest, Hash128(), elements}); }
  // Of an operand of an eqn, what reads the eqn's result.
  void add(const Readers& more, const Eqn& eqn, std::size_t operand, double elements) {
    several_nests_ = several_nests_ || more.several_nests_;
    many_ = many_ || more.many_;
    for (std::size_t i = 0; i < more.count_; ++i) {
      Read read = more.reads_[i];
      if (!is_elementwise(eqn)) {
        Hasher map;
        map(read.map)(eqn.op->name)(operand);
        eqn.params.hash(map);
        for (std::size_t k = 1; k < eqn.in.size(); ++k) map(eqn.in[k]);  // places that data say
        read.map = map.finish();
        // Each element of a part is computed where the part is, and once.
        if (concatenated_axis(eqn) || eqn.op == &pad_op()) read.elements = std::min(read.elements, elements);
      }
      add(read);
    }
  }
  bool several_nests() const { return several_nests_; }
  // How often one nest computes each of so many elements again, where every map computes its own.
  double again(double elements) const {
    if (many_) return most;
    double times = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      double read = 0;
      for (std::size_t k = 0; k < count_; ++k) read += reads_[k].nest == reads_[i].nest ? reads_[k].elements : 0;
      if (read > reads_[i].elements) times = std::max(times, read / std::max(elements, 1.) - 1);
    }
    return times;
  }

 private:
  struct Read {
    std::size_t nest;
    Hash128 map;
    double elements;
  };
  static constexpr std::size_t most = 8;  // maps that are told apart
  void add(const Read& read) {
    several_nests_ = several_nests_ || (count_ > 0 && reads_[0].nest != read.nest);
    for (std::size_t i = 0; i < count_; ++i)
      if (reads_[i].nest == read.nest && reads_[i].map == read.map) return;
    if (count_ < most)
      reads_[count_++] = read;
    else
      many_ = true;
  }

  std::array<Read, most> reads_{};
  std::size_t count_ = 0;
  bool several_nests_ = false, many_ = false;
};

// The highest level of each of some groups; of more than a few, some are forgotten.
class Levels {
 public:
  void raise(std::size_t group, std::size_t level) {
    Level* lowest = all_.data();
    for (Level& each : all_) {
      if (each.level > 0 && each.group == group) return void(each.level = std::max(each.level, level));
      if (each.level < lowest->level) lowest = &each;
    }
    if (level > lowest->level) *lowest = {group, level};
  }
  void raise(const Levels& to, std::size_t by = 0, std::optional<std::size_t> but_of = {}) {
    for (const Level& each : to.all_)
      if (each.level > 0 && each.group != but_of) raise(each.group, each.level + by);
  }
  std::size_t in(std::size_t group) const {
    for (const Level& each : all_)
      if (each.group == group) return each.level;
    return 0;
  }

 private:
  struct Level {
    std::size_t group = 0, level = 0;
  };
  std::array<Level, 4> all_{};
};

// Divides each group by how often one of its values is read at another index on the way to the next: no nest holds
// both.
void divide_groups(const Program& program, Fusion& fusion) {
  // By variable: the levels, from 1, of what its expression reads at its own index, and those above what it reads
  // elsewhere.
  std::vector<Levels> here(program.vars()), elsewhere(program.vars());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> groups;
  for (const Eqn& eqn : program.eqns()) {
    if (!is_element(eqn)) continue;
    const Var out = eqn.out[0];
    for (const Var v : eqn.in) {
      elsewhere[out].raise(elsewhere[v]);
      if (is_elementwise(eqn))
        here[out].raise(here[v]);
      else
        elsewhere[out].raise(here[v], 1);
    }
    if (!fusion.stored[out]) continue;
    const std::size_t group = fusion.group[out];
    const std::size_t level = std::max({std::size_t(1), here[out].in(group), elsewhere[out].in(group)});
    elsewhere[out].raise(here[out], 1, group);  // of other groups, they are stored before
    here[out] = {};
    here[out].raise(group, level);
    if (level == 1) continue;
    const auto [at, fresh] = groups.emplace(std::pair(group, level), fusion.groups);
    if (fresh) ++fusion.groups;
    fusion.group[out] = at->second;
  }
}

}  // namespace

bool has_many_parts(const Eqn& eqn) { return concatenated_axis(eqn) && eqn.in.size() > most_pieces; }

Fusion fuse(const Program& program) {
  const std::size_t n = program.vars();
  Fusion fusion{std::vector<bool>(n, false), std::vector<std::size_t>(n, 0), std::vector<Fusion::Reason>(n), {}, 0};
  const auto [depth, weight, length, ends] = expressions_of(program, ends_of_bodies(program));
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
  // A read at places that data say computes every part of a concatenation for each element: where it takes about as
  // many elements as there are, the concatenation is stored.
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
        readers[v].add(own, elements(program.type(v)));
      }
      continue;
    }
    const Var out = eqn.out[0];
    if (packs_bits(eqn) || chooses_parts(eqn)) require(unviewed(eqn.in[0]), "an operand of", eqn.op->name);
    if (unpacks_bits(eqn) || has_many_parts(eqn)) require(out, unpacks_bits(eqn) ? "bits" : "made of many parts");
    const bool several = readers[out].several_nests();
    const bool repeated =
        readers[out].again(elements(program.type(out))) * weight[out] >= round_trip(program.type(out));
    const bool recomputed = ((several || larger[out]) && weight[out] > simple) || repeated;
    fusion.stored[out] = must[out] || (recomputed && !eqn.in.empty() && !is_view(eqn));
    if (fusion.stored[out]) {
      may_be_recomputed[out] = !must[out] && !larger[out] && !repeated;
      if (!must[out])
        fusion.reasons[out] = {larger[out] ? "costly, and a larger array reads each element several times"
                               : several   ? "costly, and several nests read it"
                                           : "costly, and read at several indices",
                               {}};
      fusion.group[out] = unpacks_bits(eqn) || has_many_parts(eqn) ? fusion.fresh_group() : nest_of(out);
      readers[out] = Readers();
      readers[out].add(fusion.group[out], elements(program.type(out)));
    }
    // A larger reader computes each element of this operand several times.
    const Dim mine = program.type(out).shape.elements();
    for (std::size_t i = 0; i < eqn.in.size(); ++i) {
      const Var v = eqn.in[i];
      readers[v].add(readers[out], eqn, i, elements(program.type(v)));
      const Dim theirs = program.type(v).shape.elements();
      larger[v] = larger[v] || at_least(mine - theirs, 1) || (!fusion.stored[out] && larger[out]);
    }
  }
  recompute_cheap(program, may_be_recomputed, fusion);
  divide_groups(program, fusion);
  return fusion;
}

}  // namespace tenon
