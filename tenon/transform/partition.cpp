// Partial evaluation of a Program by known inputs, and the choice of residuals by a minimum cut.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "tenon/base/estimate.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/update_chain.h"
#include "tenon/transform/coefficients.h"
#include "tenon/transform/made_again.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/min_cut.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

std::int64_t bytes_of(const Type& type) {
  if (!type.is_array()) return std::int64_t(1) << 30;  // a list: as if large
  std::int64_t elements = 1;
  for (const Dim& d : type.shape) elements *= d.known() ? std::max<std::int64_t>(d.value(), 1) : 64;
  return elements * static_cast<std::int64_t>(size_of(type.dtype));
}

enum class Part { first, both, second };  // of an eqn; `both`: a region op that is split

class Partition {
 public:
  Partition(const Program& program, const PartitionRequest& request)
      : program_(program), request_(request), sums_again_(sums_made_again(program, request)) {}

  Partitioned run() {
    classify();
    Scope first;
    sizes_ = first.size_params_of(program_);
    Replay known(program_, sizes_);
    replay_first(first, known);
    choose();
    return replay_second(first, known);
  }

 private:
  struct Split {
    SplitResult parts;
    Arrays residuals;  // handles of the first part
  };

  // Which eqns and variables are known. A region op with a known output is split.
  void classify() {
    known_.assign(program_.vars(), false);
    constant_.assign(program_.vars(), false);
    rounded_.assign(program_.vars(), false);
    made_at_.assign(program_.vars(), 0);
    asked_in_.assign(program_.vars(), 0);
    ragged_.assign(program_.vars(), false);
    for (Var v = 0; request_.given_sizes && v < ragged_.size(); ++v)
      ragged_[v] = has_decided_size(program_, program_.type(v));
    for (std::size_t i = 0; i < request_.known_in.size(); ++i) known_[program_.inputs()[i]] = request_.known_in[i];
    std::vector<SizeVar> undecided;
    for (const Eqn& eqn : program_.eqns()) {
      Mask unknown;
      bool all_known = true, all_constant = is_recomputable(eqn);
      for (Var v : eqn.in) {
        unknown.push_back(!known_[v]);
        all_known = all_known && known_[v];
        all_constant = all_constant && constant_[v];
      }
      const bool sized = knows_sizes(eqn, undecided);
      Part part = all_known && sized ? Part::first : Part::second;
      if (!all_known && sized && eqn.op->split) {
        const Mask out = eqn.op->split->reach(eqn.params, unknown, recurse());
        if (std::ranges::find(out, false) != out.end()) {
          part = Part::both;
          for (std::size_t i = 0; i < out.size(); ++i) known_[eqn.out[i]] = !out[i];
        }
      }
      if (part == Part::first)
        for (Var v : eqn.out) {
          known_[v] = true;
          constant_[v] = all_constant;
          rounded_[v] = rounds(eqn);
        }
      if (part == Part::first && compares_with_itself(eqn)) firm_.insert(&eqn);
      if (part == Part::second) undecided.insert(undecided.end(), eqn.new_sizes.begin(), eqn.new_sizes.end());
      part_.push_back(part);
      for (Var v : eqn.out) made_at_[v] = part_.size();
    }
  }

  bool is_sum_again(const Eqn& eqn) const {
    return sums_again_[static_cast<std::size_t>(&eqn - program_.eqns().data())];
  }
  // Whether computing an eqn again may round its result otherwise: code differs with what else it computes.
  bool rounds(const Eqn& eqn) const {
    if (is_sum_again(eqn)) return is_inexact(program_.type(eqn.out[0]).dtype);
    if (!is_recomputable(eqn) || !is_inexact(program_.type(eqn.out[0]).dtype)) return false;
    const bool elementwise = rule_of<LowerElement>(*eqn.op)->elementwise;
    return std::ranges::any_of(eqn.in, [&](Var v) {
      return elementwise ? is_inexact(program_.type(v).dtype) && !constant_[v] : bool(rounded_[v]);
    });
  }
  // Whether an eqn asks how a number compares with what comes of the same number and is kept, such as the largest of
  // several. Of a number computed again it would not be the same answer.
  bool compares_with_itself(const Eqn& eqn) {
    if (!is_recomputable(eqn) || eqn.in.size() != 2 || program_.type(eqn.out[0]).dtype != DType::bool_) return false;
    const Var x = eqn.in[0], y = eqn.in[1];
    if (rounded_[x] == rounded_[y]) return false;
    return rounded_[x] ? comes_of(y, x) : comes_of(x, y);
  }
  // Beyond so many eqns it is taken to: what is kept without need then is a bool an element.
  static constexpr std::size_t most_asked = 1000;
  bool comes_of(Var result, Var from) {
    std::vector<Var> waiting{result};
    ++question_;
    for (std::size_t asked = 0; !waiting.empty();) {
      const Var v = waiting.back();
      waiting.pop_back();
      if (v == from) return true;
      if (made_at_[v] <= made_at_[from] || std::exchange(asked_in_[v], question_) == question_) continue;
      if (++asked > most_asked) return true;
      const Eqn& maker = program_.eqns()[made_at_[v] - 1];
      waiting.insert(waiting.end(), maker.in.begin(), maker.in.end());
    }
    return false;
  }

  // Whether no size that an eqn's params tell is decided by the second part alone.
  bool knows_sizes(const Eqn& eqn, const std::vector<SizeVar>& undecided) const {
    bool all = true;
    if (undecided.empty()) return all;
    eqn.params.visit_dims([&](const Dim& d) {
      d.visit_variables([&](SizeVar s) {
        const bool shown = std::ranges::any_of(program_.size_facts(), [&](const SizeFact& fact) {
          return fact.size == Dim::variable(s) && known_[fact.of];
        });
        all = all && (shown || std::ranges::find(undecided, s) == undecided.end());
      });
    });
    return all;
  }

  // Whether the second part may compute a known eqn's results again: by choice, or since it must not keep them.
  bool is_again(const Eqn& eqn) const {
    if (is_sum_again(eqn) || (is_recomputable(eqn) && !firm_.contains(&eqn))) return true;
    if (effect_of(eqn) != Effect::none) return false;
    return std::ranges::any_of(eqn.out, [&](Var v) { return ragged_[v]; });
  }
  // Whether the first half of a split eqn runs in the second part too, since what it gives must not be kept.
  bool runs_again(std::size_t e) const {
    if (part_[e] != Part::both || !request_.given_sizes) return false;
    std::vector<SizeVar> given;
    for (const Dim& size : sizes_) given.push_back(*bare_variable(size));
    return std::ranges::any_of(program_.eqns()[e].out, [&](Var v) { return known_[v] && ragged_[v]; }) ||
           std::ranges::any_of(splits_.at(e).residuals,
                               [&](const Array& r) { return has_other_sizes(r.type(), given); });
  }

  void replay_first(Scope&, Replay& known) {
    Scope& first = *Scope::top();
    for (std::size_t i = 0; i < program_.inputs().size(); ++i) {
      const Var v = program_.inputs()[i];
      if (known_[v]) known.set(v, first.input(known.type(v)));
    }
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (part_[e] != Part::second) find_sizes(eqn, known, [](Var) {});
      if (part_[e] == Part::first) known.bind_eqn(eqn);
      if (part_[e] == Part::both) splits_.emplace(e, split(eqn, known));
    }
  }

  Split split(const Eqn& eqn, Replay& known) {
    const EqnScope place(eqn);
    Mask operand_known;
    std::vector<Type> types;
    for (Var v : eqn.in) {
      operand_known.push_back(known_[v]);
      types.push_back(known.type(v));
    }
    const Params params = known.params(eqn);
    Split result{(*eqn.op->split).split({params, types, operand_known, request_.recompute, recurse()}), {}};
    Arrays operands;
    for (std::size_t i : result.parts.first_in) operands.push_back(known.get(eqn.in[i]));
    Arrays outputs = bind_op(*result.parts.first, result.parts.first_params, operands);
    for (std::size_t i = 0; i < result.parts.first_out.size(); ++i)
      set_output(known, eqn.out[result.parts.first_out[i]], outputs[i]);
    result.residuals.assign(outputs.begin() + static_cast<std::ptrdiff_t>(result.parts.first_out.size()),
                            outputs.end());
    return result;
  }

  static void set_output(Replay& replay, Var v, const Array& result) {
    replay.bind_sizes(v, result);
    replay.set(v, result);
  }

  // The variable that an operand of a split eqn's second half is; none: a residual.
  static std::optional<Var> variable_of(const SplitResult::Source& source, const Eqn& eqn) {
    using From = SplitResult::Source::From;
    if (source.from == From::residual) return std::nullopt;
    return source.from == From::operand ? eqn.in[source.index] : eqn.out[source.index];
  }

  // Known variables that the second part reads as they are.
  std::vector<Var> reads() const {
    std::vector<Var> reads;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (part_[e] == Part::second) {
        for (Var v : eqn.in)
          if (known_[v]) reads.push_back(v);
      } else if (part_[e] == Part::both) {
        for (const auto& source : splits_.at(e).parts.second_in)
          if (const auto v = variable_of(source, eqn); v && known_[*v]) reads.push_back(*v);
        if (runs_again(e))
          for (std::size_t i : splits_.at(e).parts.first_in) reads.push_back(eqn.in[i]);
      }
    }
    for (std::size_t i = 0; i < program_.outputs().size(); ++i) {
      const Var v = program_.outputs()[i];
      if (known_[v] && !request_.known_out[i]) reads.push_back(v);
    }
    return reads;
  }

  // What is kept anyway.
  std::vector<bool> free_variables() const {
    std::vector<bool> is_free(program_.vars(), false);
    for (std::size_t i = 0; i < request_.free_in.size(); ++i)
      if (request_.free_in[i]) is_free[program_.inputs()[i]] = true;
    for (std::size_t i = 0; i < request_.free_out.size(); ++i)
      if (request_.free_out[i] && request_.known_out[i]) is_free[program_.outputs()[i]] = true;
    return is_free;
  }
  // Bytes that a step changes of what a loop only updates in places (rewrite/delta_stacks.h keeps no more than these).
  std::map<Var, std::int64_t> changed_bytes() const {
    std::map<Var, std::int64_t> bytes;
    for (const auto& [chain, kept] : updated_carries(program_, request_.first_carry, request_.carries))
      if (known_[chain.values.back()])
        for (Var v : chain.values) bytes.emplace(v, kept);
    return bytes;
  }
  // Inputs and outputs of a function or branch: of two cuts of one size the one through them is taken, since others may
  // keep them anyway. Of a loop's body only what is free is kept anyway.
  std::vector<bool> border_variables() const {
    std::vector<bool> border(program_.vars(), false);
    if (!request_.free_in.empty()) return border;
    for (Var v : program_.inputs()) border[v] = true;
    for (std::size_t i = 0; i < program_.outputs().size(); ++i)
      if (request_.known_out[i]) border[program_.outputs()[i]] = true;
    return border;
  }

  // What the second part needs to have known variables, without a choice.
  void keep(std::vector<Var> waiting) {
    std::vector<bool> seen(program_.vars(), false);
    while (!waiting.empty()) {
      const Var v = waiting.back();
      waiting.pop_back();
      if (constant_[v] || save_[v] || seen[v]) continue;
      seen[v] = true;
      const Eqn* maker = ragged_[v] ? maker_of(v) : nullptr;
      if (maker == nullptr)
        save_[v] = !ragged_[v];
      else
        waiting.insert(waiting.end(), maker->in.begin(), maker->in.end());
    }
  }

  // save_[v]: v is a residual. Constants are always made again. Without recomputation, what is read is saved.
  void choose() {
    save_.assign(program_.vars(), false);
    const std::vector<Var> wanted = reads();
    if (!request_.recompute) return keep(wanted);
    // Each known variable is an edge (in, out) of the weight of saving it; an eqn's operands lead to its results
    // without a bound, so that cutting elsewhere means saving; what cannot be made again hangs on the source.
    const std::size_t n = program_.vars(), source = 2 * n, sink = 2 * n + 1;
    const auto start = [](std::size_t v) { return 2 * v; };
    const auto end = [](std::size_t v) { return 2 * v + 1; };
    FlowGraph graph(2 * n + 2);
    const std::vector<bool> is_free = free_variables(), at_border = border_variables();
    const std::map<Var, std::int64_t> deltas = changed_bytes();
    const auto weight = [&](Var v) {
      if (ragged_[v]) return FlowGraph::unbounded;
      const auto delta = deltas.find(v);
      const std::int64_t bytes = delta != deltas.end() ? delta->second : bytes_of(program_.type(v));
      return is_free[v] ? 0 : bytes * 8 + !at_border[v];
    };
    for (Var v = 0; v < n; ++v)
      if (known_[v] && !constant_[v]) graph.add_edge(start(v), end(v), weight(v));
    for (Var v : program_.inputs())
      if (known_[v]) graph.add_edge(source, start(v), FlowGraph::unbounded);
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (part_[e] == Part::second) continue;
      const bool again = part_[e] == Part::first ? is_again(eqn) : runs_again(e);
      for (Var out : eqn.out) {
        if (!known_[out] || constant_[out]) continue;
        if (!again)
          graph.add_edge(source, start(out), FlowGraph::unbounded);
        else
          for (Var in : eqn.in)
            if (known_[in] && !constant_[in]) graph.add_edge(end(in), start(out), FlowGraph::unbounded);
      }
    }
    for (Var v : wanted)
      if (!constant_[v]) graph.add_edge(end(v), sink, FlowGraph::unbounded);
    const std::vector<bool> below = graph.sink_side(source, sink);
    for (Var v = 0; v < n; ++v) save_[v] = known_[v] && !constant_[v] && !below[start(v)] && below[end(v)];
    // A variable of weight 0 on the way is saved wherever it is reached.
    for (Var v = 0; v < n; ++v)
      if (known_[v] && is_free[v] && below[end(v)]) save_[v] = true;
  }

  Partitioned replay_second(Scope& first, const Replay& known) {
    Partitioned result;
    Arrays first_outputs;
    for (std::size_t i = 0; i < program_.outputs().size(); ++i)
      if (request_.known_out[i]) {
        if (!known_[program_.outputs()[i]])
          throw VerifyError("partition: an output was asked for as known that is not.");
        first_outputs.push_back(known.get(program_.outputs()[i]));
      }
    const std::size_t known_outputs = first_outputs.size();
    TraceResult traced;
    {
      Scope second;
      Replay rest = request_.given_sizes ? Replay(program_, sizes_) : Replay(known, program_);
      for (std::size_t i = 0; i < program_.inputs().size(); ++i) {
        const Var v = program_.inputs()[i];
        if (!known_[v]) rest.set(v, second.input(rest.type(v)));
      }
      remade_.assign(program_.vars(), false);
      for (std::size_t e = 0; e < program_.eqns().size(); ++e) bind_second(e, known, rest);
      Arrays outputs;
      for (std::size_t i = 0; i < program_.outputs().size(); ++i)
        if (!request_.known_out[i]) {
          const Var v = program_.outputs()[i];
          if (known_[v]) make_again(v, known, rest);
          outputs.push_back(rest.get(v));
        }
      traced = second.finish(outputs, program_.name() + "_rest", true);
    }
    // Residuals are what the second part captured: inputs and outputs of the first are not stored again.
    using From = Partitioned::Residual::From;
    const auto there_already = places_of_first(first, known);
    for (const Array& capture : traced.captures) {
      const auto found = there_already.find(first.resolve(capture));
      if (found == there_already.end()) {
        result.residuals.push_back({From::stored, first_outputs.size() - known_outputs, capture.type()});
        first_outputs.push_back(capture);
      } else {
        result.residuals.push_back({found->second.from, found->second.index, capture.type()});
      }
    }
    const SizeBinding own = own_sizes();
    for (auto& residual : result.residuals) residual.type = substitute(residual.type, own);
    for (const Dim& size : traced.sizes) {
      const auto v = bare_variable(size);
      const auto at = own.find(*v);
      result.second_sizes.push_back(at == own.end() ? std::nullopt : std::optional(at->second));
    }
    result.second = traced.program;
    result.first = first.finish(first_outputs, program_.name() + "_known").program;
    return result;
  }

  // Where variables of the first part are without being stored: an input, or else an output; of several outputs that
  // are one variable, one that is kept anyway.
  struct Place {
    Partitioned::Residual::From from;
    std::size_t index;
    bool stays;
  };
  std::unordered_map<Var, Place> places_of_first(Scope& first, const Replay& known) const {
    using From = Partitioned::Residual::From;
    std::unordered_map<Var, Place> places;
    for (std::size_t i = 0; i < program_.inputs().size(); ++i)
      if (const Var v = program_.inputs()[i]; known_[v])
        places.emplace(first.resolve(known.get(v)), Place{From::input, i, true});
    for (std::size_t i = 0; i < program_.outputs().size(); ++i) {
      if (!request_.known_out[i]) continue;
      const Place here{From::output, i, i < request_.free_out.size() && request_.free_out[i]};
      const auto [there, is_new] = places.emplace(first.resolve(known.get(program_.outputs()[i])), here);
      if (!is_new && here.stays && !there->second.stays) there->second = here;
    }
    return places;
  }

  // The trace's variables for size parameters, back to the Program's own.
  SizeBinding own_sizes() const {
    SizeBinding own;
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      own.emplace(*bare_variable(sizes_[i]), Dim::variable(program_.size_params()[i]));
    return own;
  }

  void bind_second(std::size_t e, const Replay& known, Replay& rest) {
    const Eqn& eqn = program_.eqns()[e];
    if (part_[e] == Part::first) return;
    if (part_[e] == Part::second) {
      for (Var v : eqn.in)
        if (known_[v]) make_again(v, known, rest);
      return bind(eqn, known, rest);
    }
    find_sizes(eqn, known, rest);
    if (runs_again(e)) run_again(e, known, rest);
    const EqnScope place(eqn);
    const Split& split = splits_.at(e);
    Arrays operands;
    for (const auto& source : split.parts.second_in) {
      const auto v = variable_of(source, eqn);
      if (v && known_[*v]) make_again(*v, known, rest);
      operands.push_back(v ? rest.get(*v) : split.residuals[source.index]);
    }
    if (split.parts.second_operands) operands = split.parts.second_operands(std::move(operands));
    Params params = split.parts.second_params;
    if (split.parts.second_params_of) {
      std::vector<Type> types;
      for (const Array& operand : operands) types.push_back(operand.type());
      params = split.parts.second_params_of(types);
    }
    if (split.parts.second_recompute != 0) Scope::top()->recompute = split.parts.second_recompute;
    const Arrays outputs = bind_op(*split.parts.second, here(params, known, rest), operands);
    for (std::size_t i = 0; i < split.parts.second_out.size(); ++i)
      set_output(rest, eqn.out[split.parts.second_out[i]], outputs[i]);
  }

  // Puts a known variable into the second part: a residual, or computed again from residuals.
  // Depth first, by a stack of its own: chains may be as long as the Program. An eqn is bound behind its operands.
  void make_again(Var wanted, const Replay& known, Replay& rest) {
    struct Waiting {
      const Eqn* maker;
      std::size_t next;  // operand
    };
    std::vector<Waiting> stack;
    const auto enter = [&](Var v) {
      if (remade_[v]) return;
      remade_[v] = true;
      const Eqn* maker = save_[v] ? nullptr : maker_of(v);
      if (maker == nullptr)
        rest.set(v, known.get(v));
      else
        stack.push_back({maker, 0});
    };
    enter(wanted);
    while (!stack.empty()) {
      auto& [maker, next] = stack.back();
      if (next < maker->in.size()) {
        enter(maker->in[next++]);
        continue;
      }
      const Eqn* const made = maker;
      stack.pop_back();
      bind(*made, known, rest);
      for (Var out : made->out) remade_[out] = true;
    }
  }

  // Params of the first part, where sizes that data decide have found another name in the second.
  Params here(const Params& params, const Replay& known, const Replay& rest) const {
    if (!request_.given_sizes) return params;
    SizeBinding names;
    for (const Eqn& eqn : program_.eqns())
      for (SizeVar s : eqn.new_sizes) {
        const auto there = bare_variable(known.size(s));
        if (there && rest.knows(s)) names.emplace(*there, rest.size(s));
      }
    if (names.empty()) return params;
    return params.map_dims([&](const Dim& d) { return substitute(d, names); });
  }

  // The first half of a split eqn, in the second part.
  void run_again(std::size_t e, const Replay& known, Replay& rest) {
    const Eqn& eqn = program_.eqns()[e];
    const EqnScope place(eqn);
    Split& split = splits_.at(e);
    Arrays operands;
    for (std::size_t i : split.parts.first_in) {
      make_again(eqn.in[i], known, rest);
      operands.push_back(rest.get(eqn.in[i]));
    }
    const Arrays outputs = bind_op(*split.parts.first, here(split.parts.first_params, known, rest), operands);
    for (std::size_t i = 0; i < split.parts.first_out.size(); ++i) {
      const Var v = eqn.out[split.parts.first_out[i]];
      set_output(rest, v, outputs[i]);
      remade_[v] = true;
    }
    split.residuals.assign(outputs.begin() + static_cast<std::ptrdiff_t>(split.parts.first_out.size()), outputs.end());
  }

  void bind(const Eqn& eqn, const Replay& known, Replay& rest) {
    find_sizes(eqn, known, rest);
    rest.bind_eqn(eqn);
    if (request_.given_sizes)
      for (Var v : eqn.out) rest.bind_sizes(v, rest.get(v));
  }

  // Sizes that data decide and that an eqn's params tell: found again from those data, if nothing has shown them here.
  // `make` puts a known variable into the part.
  void find_sizes(const Eqn& eqn, Replay& part, FunctionRef<void(Var)> make) {
    std::vector<SizeVar> missing;
    eqn.params.visit_dims([&](const Dim& d) {
      d.visit_variables([&](SizeVar s) {
        if (!part.knows(s)) missing.push_back(s);
      });
    });
    for (SizeVar s : missing) {
      for (const SizeFact& fact : program_.size_facts()) {
        if (part.knows(s) || fact.size != Dim::variable(s) || !known_[fact.of]) continue;
        make(fact.of);
        part.bind_sizes(Type::array(DType::bool_, {fact.size}), bind1(*find_op(fact.key), {}, {part.get(fact.of)}));
      }
      for (const Eqn& maker : program_.eqns())
        if (!part.knows(s) && known_[maker.out.empty() ? 0 : maker.out[0]] &&
            std::ranges::find(maker.new_sizes, s) != maker.new_sizes.end())
          make(maker.out[0]);
    }
  }
  void find_sizes(const Eqn& eqn, const Replay& known, Replay& rest) {
    if (request_.given_sizes) find_sizes(eqn, rest, [&](Var v) { make_again(v, known, rest); });
  }

  // The eqn that made a variable, if it may be computed again.
  const Eqn* maker_of(Var v) {
    if (maker_.empty()) {
      maker_.assign(program_.vars(), nullptr);
      for (std::size_t e = 0; e < program_.eqns().size(); ++e)
        if (part_[e] == Part::first && is_again(program_.eqns()[e]))
          for (Var out : program_.eqns()[e].out) maker_[out] = &program_.eqns()[e];
    }
    if (!request_.recompute && !constant_[v] && !ragged_[v]) return nullptr;
    return maker_[v];
  }

  const Program& program_;
  const PartitionRequest& request_;
  std::vector<bool> sums_again_;  // of eqns
  std::vector<Dim> sizes_;
  std::vector<bool> known_, constant_, save_, remade_;
  std::vector<bool> rounded_;          // may be another number if it is computed again
  std::vector<std::size_t> made_at_;   // of each variable: the number of eqns up to the one that makes it
  std::vector<std::size_t> asked_in_;  // the last question that came to it
  std::size_t question_ = 0;
  std::set<const Eqn*> firm_;  // kept, though they could be computed again
  std::vector<bool> ragged_;   // has a size that must not be among the residuals'
  std::vector<Part> part_;
  std::map<std::size_t, Split> splits_;
  std::vector<const Eqn*> maker_;
};

}  // namespace

bool is_recomputable(const Eqn& eqn) {
  return eqn.new_sizes.empty() && effect_of(eqn) == Effect::none && rule_of<LowerElement>(*eqn.op) != nullptr;
}

Partitioned partition(const ProgramRef& program, const PartitionRequest& request) {
  static constinit Memo<Partitioned> memo;
  Hasher h;
  h("partition")(program->hash())(request.recompute)(request.given_sizes)(request.first_carry)(request.carries);
  h(request.steps ? estimate(*request.steps) : 0);
  hash_mask(h, request.known_in);
  hash_mask(h, request.known_out);
  hash_mask(h, request.free_in);
  hash_mask(h, request.free_out);
  return memo.get(h.finish(), [&] {
    const ProgramRef whole = request.recompute ? collect_coefficients(program, request.known_in) : program;
    return Partition(*whole, request).run();
  });
}

Partitioned linearize(const ProgramRef& program, const Mask& active_in, const Mask& active_out) {
  const ProgramRef both = jvp(program, active_in, active_out);
  PartitionRequest request;
  request.known_in.assign(both->inputs().size(), false);
  std::fill_n(request.known_in.begin(), active_in.size(), true);
  request.known_out.assign(both->outputs().size(), false);
  std::fill_n(request.known_out.begin(), active_out.size(), true);
  request.free_in = request.known_in;
  request.free_out = request.known_out;
  return partition(both, request);
}

}  // namespace tenon
