#include "tenon/rewrite/pair_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "tenon/base/settings.h"
#include "tenon/ir/estimate.h"
#include "tenon/ir/literal.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/element_form.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/scores.h"
#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

// When a loop pays. Where blocks are small (settings.h) it always does, so that small arrays test everything.
struct Limits {
  double pairs = 1 << 18;  // elements of all steps
  double row = 256;        // of a step
  double lanes = 32;       // of its longest axis
  double steps = 16;
  double leaf = 8;  // what is read has so many times fewer elements
};
Limits limits() { return blocks_are_small() ? Limits{4, 2, 2, 2, 1.5} : Limits(); }
constexpr std::size_t most_parts = 400;  // of one reduction, eqns
constexpr double most_columns = 64;      // of a product, and terms of one that is computed again
constexpr double costly = 16;            // operations
constexpr std::size_t most_loops = 64;   // of a Program
constexpr double block_bytes = 1 << 14;  // of a long row's lanes, a part of the first-level cache
constexpr std::size_t vector_bytes = 64;
constexpr double longest_row = 8;  // that a step writes out, elements for each lane
// Of a step that sums its lanes: what registers hold of it; and sums of a turn, results of one reduction.
constexpr double longest_summed = 10, most_sums = 16;

class PairSearch {
 public:
  explicit PairSearch(const Program& program)
      : program_(program), maker_(maker_numbers(program)), needs_(program.vars(), 0) {}

  std::vector<PairLoop> find() {
    find_ends();
    if (ends_.empty() || (!blocks_are_small() && has_scores(program_))) return {};
    keep_those_that_pay();
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      std::uint64_t needs = 0;
      for (const Var v : eqn.in) needs |= needs_[v];
      if (const auto end = ends_.find(e); end != ends_.end()) needs |= place(std::move(end->second));
      for (const Var v : eqn.out) needs_[v] = needs;
    }
    drop_what_nobody_reads();
    join_sides();
    for (PairLoop& loop : loops_) divide(loop);
    return std::move(loops_);
  }

 private:
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  const Type& type(Var v) const { return program_.type(v); }
  double elements(Var v) const { return estimated_elements(type(v)); }

  // --- what may be one ---
  void find_ends() {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      note_comparison(eqn);
      if (eqn.numerics != Numerics::relaxed || !eqn.new_sizes.empty()) continue;
      const auto is_large = [&](Var v) { return elements(v) >= limits().pairs; };
      if (std::ranges::none_of(eqn.in, is_large)) continue;
      std::optional<PairEnd> end;
      if (const auto form = reduction_of(eqn, program_))
        end = reduction_end(e, form->axes);
      else if (few_in_order(eqn))
        end = reduction_end(e, {static_cast<std::int64_t>(type(eqn.in[0]).rank()) - 1});
      else if (is_product(*eqn.op) && type(eqn.out[0]).dtype != DType::bool_)
        end = product_end(e);
      if (end) ends_.emplace(e, std::move(*end));
    }
  }
  std::optional<PairEnd> reduction_end(std::size_t e, std::vector<std::int64_t> axes) const {
    const Var v = program_.eqns()[e].in[0];
    PairEnd end{e, false, {v}, type(v).shape.dims(), std::move(axes)};
    if (!choose_axes(end) || !collect({end.of}, elements(v), end)) return {};
    return end;
  }
  std::optional<PairEnd> product_end(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    const ProductAxes product(program_, eqn);
    PairEnd end{e, true, {eqn.out[0]}, product.sizes, std::vector<std::int64_t>(product.sizes.size() - product.summed)};
    std::iota(end.axes.begin(), end.axes.end(), static_cast<std::int64_t>(product.summed));
    // Of a computed operand; what the other one's columns repeat of it are few.
    const double pairs = std::max(elements(eqn.in[0]), elements(eqn.in[1]));
    if (end.axes.empty() || kernel::estimate(end.sizes) > most_columns * pairs || !choose_axes(end)) return {};
    if (!collect({operand_part(product, eqn, 0, end.of), operand_part(product, eqn, 1, end.of)}, pairs, end) ||
        end.parts.empty())
      return {};
    end.forms_pairs = true;
    return end;
  }
  // The longest axis that is reduced is the loop's; the lanes are the longest one that stays, or else that is there.
  bool choose_axes(PairEnd& end) const {
    const auto size = [&](std::int64_t axis) { return axis == no_axis ? 0 : kernel::estimate(end.sizes[at(axis)]); };
    for (const std::int64_t axis : end.axes)
      if (size(axis) > size(end.of.loop)) end.of.loop = axis;
    for (const bool reduced : {false, true}) {
      if (reduced && size(end.of.lane) >= limits().lanes) break;
      for (std::int64_t axis = 0; at(axis) < end.sizes.size(); ++axis)
        if (axis != end.of.loop && std::ranges::count(end.axes, axis) == reduced && size(axis) >= size(end.of.lane))
          end.of.lane = axis;
    }
    const double all = kernel::estimate(end.sizes);
    return all >= limits().pairs && size(end.of.loop) >= limits().steps && size(end.of.lane) >= limits().lanes &&
           all >= limits().row * size(end.of.loop) && all >= limits().leaf * elements(program_.eqns()[end.eqn].out[0]);
  }

  // Notes what a step computes for these parts and what it reads, if it can: that has far fewer elements than pairs.
  bool collect(std::vector<PairPart> open, double pairs, PairEnd& end) const {
    while (!open.empty()) {
      const PairPart part = open.back();
      open.pop_back();
      if (end.parts.contains(part) || end.leaves.contains(part)) continue;
      if (!type(part.v).is_array()) return false;
      const Eqn* eqn = maker(part.v);
      const bool number = eqn != nullptr && eqn->op == &literal_op();
      const bool of_pairs = part.loop != no_axis && part.lane != no_axis;  // however few of them the whole has for each
      if (!number && !of_pairs && elements(part.v) * limits().leaf <= pairs) {
        end.leaves.insert(part);
        continue;
      }
      const auto operands = eqn == nullptr ? std::nullopt : parts_read(program_, *eqn, part);
      if (!operands || end.parts.size() >= most_parts) return false;
      end.parts.insert(part);
      end.forms_pairs = end.forms_pairs || reduction_of(*eqn, program_) || is_product(*eqn->op);
      open.insert(open.end(), operands->begin(), operands->end());
    }
    return true;
  }

  // --- what has to be the same to the bit ---
  // A comparison of numbers with what was made of the same numbers, as a gradient has that finds an extremum by its
  // value: computed twice, in different orders, they would differ in their last bits.
  struct Comparison {
    Var result, of;
  };
  void note_comparison(const Eqn& eqn) {
    if (eqn.out.size() != 1 || type(eqn.out[0]).dtype != DType::bool_ || eqn.in.size() != 2 ||
        !is_inexact(type(eqn.in[0]).dtype) || elements(eqn.in[0]) < 2)
      return;
    for (const auto& [of, with] : {std::pair(eqn.in[0], eqn.in[1]), std::pair(eqn.in[1], eqn.in[0])})
      if (is_made_of(with, of)) comparisons_.push_back({eqn.out[0], of});
  }
  // Where too many eqns lie in between: yes. What is an input is never computed again.
  bool is_made_of(Var made, Var of) const {
    if (maker_[of] == nowhere) return false;
    std::vector<Var> open{made};
    std::set<Var> seen;
    while (!open.empty()) {
      const Var v = open.back();
      open.pop_back();
      if (v == of) return true;
      if (maker_[v] == nowhere || maker_[v] < maker_[of] || !seen.insert(v).second) continue;
      if (seen.size() > most_parts) return true;
      const Eqn& eqn = program_.eqns()[maker_[v]];
      open.insert(open.end(), eqn.in.begin(), eqn.in.end());
    }
    return false;
  }
  bool has_comparison(const PairEnd& end) const {
    return std::ranges::any_of(comparisons_, [&](const Comparison& c) { return has(end, c.result); });
  }
  static bool has(const PairEnd& end, Var v) {
    return std::ranges::any_of(end.parts, [&](const PairPart& part) { return part.v == v; });
  }
  // The comparisons of which one side would be of a loop, and the other one not of the same loop.
  std::vector<Comparison> apart() const {
    if (comparisons_.empty()) return {};
    std::vector<bool> outside(program_.vars(), false);  // what is read outside of loops
    for (const Var v : program_.outputs()) outside[v] = true;
    for (std::size_t e = program_.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program_.eqns()[e];
      if (!ends_.contains(e) &&
          (effect_of(eqn) != Effect::none || std::ranges::any_of(eqn.out, [&](Var v) { return bool(outside[v]); })))
        for (const Var v : eqn.in) outside[v] = true;
    }
    std::vector<Comparison> found;
    std::ranges::copy_if(comparisons_, std::back_inserter(found), [&](const Comparison& c) {
      return outside[c.result] || std::ranges::any_of(ends_, [&](const auto& end) {
               return has(end.second, c.result) && !is_beside_its_extremum(end.second);
             });
    });
    return found;
  }
  bool is_beside_its_extremum(const PairEnd& end) const {
    const auto compared = compared_end(program_, maker_, end.eqn);
    return compared && !compared->end.mask() && std::ranges::any_of(ends_, [&](const auto& other) {
             return !other.second.product &&
                    other.second.of == PairPart{compared->end.of[0].var, end.of.loop, end.of.lane};
           });
  }

  // --- which of them pay ---
  // Something as large as all pairs would be stored else: by a product or a reduction below, or since several read it.
  // Where it is stored anyway, nothing is saved.
  void keep_those_that_pay() {
    std::vector<std::vector<std::size_t>> of(program_.vars());  // of each variable, the ends of its parts
    for (const auto& [e, end] : ends_)
      for (const PairPart& part : end.parts) of[part.v].push_back(e);
    std::set<std::size_t> pay;
    for (Var v = 0; v < program_.vars(); ++v)
      if (of[v].size() > 1 && element_form(program_, *maker(v)).operations >= costly)
        pay.insert(of[v].begin(), of[v].end());
    std::erase_if(ends_, [&](const auto& end) { return !end.second.forms_pairs && !pay.contains(end.first); });
    std::vector<Var> in_memory(program_.outputs().begin(), program_.outputs().end());
    const auto reads = [&](const Eqn& eqn) {
      if (!is_computed_in_nests(eqn)) in_memory.insert(in_memory.end(), eqn.in.begin(), eqn.in.end());
    };
    for (std::size_t e = 0; e < program_.eqns().size(); ++e)
      if (!ends_.contains(e)) reads(program_.eqns()[e]);
    const auto drop_stored = [&] {
      const std::size_t before = ends_.size();
      while (!in_memory.empty()) {
        const std::vector<std::size_t> stored = std::exchange(of[in_memory.back()], {});
        in_memory.pop_back();
        for (const std::size_t e : stored)
          if (ends_.erase(e) > 0) reads(program_.eqns()[e]);
      }
      return ends_.size() != before;
    };
    drop_stored();
    // What is dropped computes its comparisons elsewhere.
    constexpr int most_rounds = 8;
    for (int round = 1; round <= most_rounds; ++round) {
      for (const Comparison& c : round < most_rounds ? apart() : comparisons_) in_memory.push_back(c.of);
      if (!drop_stored()) return;
    }
  }
  // Whether it reads elements of its operands, wherever these are made.
  bool is_computed_in_nests(const Eqn& eqn) const {
    return rule_of<LowerElement>(*eqn.op) != nullptr || reduction_of(eqn, program_) ||
           (is_product(*eqn.op) && parts_read(program_, eqn, {eqn.out[0]}));
  }

  // --- which share a loop ---
  std::uint64_t all_needs(std::uint64_t needs) const {
    for (std::uint64_t before = 0; before != needs;) {
      before = needs;
      for (std::size_t i = 0; i < loops_.size(); ++i)
        if (needs >> i & 1) needs |= loops_[i].needs;
    }
    return needs;
  }
  // The loop that has it, as a bit.
  std::uint64_t place(PairEnd end) {
    const Dim steps = end.sizes[at(end.of.loop)];
    std::uint64_t needs = 0;
    for (const PairPart& leaf : end.leaves) needs |= needs_[leaf.v];
    needs = all_needs(needs);
    const bool only_beside = has_comparison(end);
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      PairLoop& loop = loops_[i];
      if (loop.steps != steps) continue;
      const std::uint64_t own = std::uint64_t(1) << i;
      if (needs & own) {
        if (compares(loop, end)) return own;
        continue;
      }
      if (only_beside || !(shares_pairs(loop, end) || loops_.size() == most_loops)) continue;
      loop.needs |= needs;
      loop.ends.push_back(std::move(end));
      return own;
    }
    if (only_beside || loops_.size() == most_loops) return 0;
    loops_.push_back({.steps = steps, .needs = needs});
    loops_.back().ends.push_back(std::move(end));
    return std::uint64_t(1) << (loops_.size() - 1);
  }
  // Whether a step computes something of pairs for both: else one loop only has more to hold in registers.
  static bool shares_pairs(const PairLoop& loop, const PairEnd& end) {
    const auto is_shared = [&](const PairPart& part) {
      return part.loop != no_axis && part.lane != no_axis &&
             std::ranges::any_of(loop.ends, [&](const PairEnd& other) { return other.parts.contains(part); });
    };
    return std::ranges::any_of(end.parts, is_shared);
  }
  // Whether what it reduces is compared with a result of the same elements, as hoist_reductions takes it in together
  // with that: the elements are stacked then.
  bool compares(PairLoop& loop, const PairEnd& end) const {
    const auto compared = compared_end(program_, maker_, end.eqn);
    if (!compared || compared->end.mask()) return false;
    const PairPart of{compared->end.of[0].var, end.of.loop, end.of.lane};
    const auto is_of_it = [&](const PairEnd& other) { return !other.product && !other.compared && other.of == of; };
    const auto found = std::ranges::find_if(loop.ends, is_of_it);
    if (found == loop.ends.end()) return false;
    const StreamEnd::Kind kind = compared->end.kind;
    const bool own =
        kind == StreamEnd::Kind::exponentials ||
        (kind == StreamEnd::Kind::first_index && loop.steps.known() && beside_lanes(found->sizes, of) == 1);
    if (own) {
      PairEnd one = *found;
      one.eqn = end.eqn;
      one.compared = compared->end;
      loop.ends.push_back(std::move(one));
      return true;
    }
    for (PairEnd& other : loop.ends) other.as_it_is = other.as_it_is || is_of_it(other);
    loop.stacked.insert(of);
    return true;
  }

  // An index needs nothing of the extremum that it was found by.
  void drop_what_nobody_reads() {
    std::map<std::size_t, const PairEnd*> ends;
    for (const PairLoop& loop : loops_)
      for (const PairEnd& end : loop.ends) ends.emplace(end.eqn, &end);
    std::vector<bool> read(program_.vars(), false);
    for (const Var v : program_.outputs()) read[v] = true;
    for (std::size_t e = program_.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program_.eqns()[e];
      if (effect_of(eqn) == Effect::none && std::ranges::none_of(eqn.out, [&](Var v) { return bool(read[v]); }))
        continue;
      const auto end = ends.find(e);
      if (end == ends.end() || end->second->as_it_is) {
        for (const Var v : eqn.in) read[v] = true;
        continue;
      }
      for (const PairPart& leaf : end->second->leaves) read[leaf.v] = true;
      if (const auto& compared = end->second->compared; compared && compared->kind == StreamEnd::Kind::exponentials)
        read[*compared->reference] = true;
    }
    for (PairLoop& loop : loops_)
      std::erase_if(loop.ends, [&](const PairEnd& end) {
        return !end.as_it_is &&
               std::ranges::none_of(program_.eqns()[end.eqn].out, [&](Var v) { return bool(read[v]); });
      });
  }

  // --- one loop for both sides ---
  // Where two loops compute the same costly values of pairs, and the steps of each are the lanes of the other, one loop
  // computes them for both: a step adds its lanes up for the ends of the other loop. The longer side has the lanes.
  void join_sides() {
    for (std::size_t i = 0; i < loops_.size(); ++i)
      for (std::size_t k = i + 1; k < loops_.size() && may_share(loops_[i]); ++k) {
        PairLoop &one = loops_[i], &other = loops_[k];
        const std::uint64_t bits[] = {std::uint64_t(1) << i, std::uint64_t(1) << k};
        if (!may_share(other) || !are_sides(one, other) || (all_needs(one.needs) & bits[1]) != 0 ||
            (all_needs(other.needs) & bits[0]) != 0 ||
            sums_a_step(one.steps.value() > other.steps.value() ? one : other) > most_sums)
          continue;
        PairLoop turned = std::exchange(other, {});
        if (one.steps.value() > turned.steps.value())
          std::swap(one.ends, turned.ends), std::swap(one.steps, turned.steps);
        for (PairEnd& end : turned.ends) one.ends.push_back(with_sides_swapped(std::move(end)));
        one.needs |= turned.needs;
        for (PairLoop& loop : loops_)
          if ((loop.needs & bits[1]) != 0) loop.needs |= bits[0];
      }
  }
  // Whether steps may compute other ends too: each of its ends is a plain reduction, and short rows leave room for
  // them.
  bool may_share(const PairLoop& loop) const {
    if (loop.ends.empty() || !loop.steps.known() || !loop.stacked.empty()) return false;
    return std::ranges::all_of(loop.ends,
                               [&](const PairEnd& end) {
                                 return !end.compared && !end.as_it_is && !end.by_lanes() &&
                                        !few_in_order(program_.eqns()[end.eqn]) && end.sizes[at(end.of.lane)].known() &&
                                        std::ranges::count(end.axes, end.of.lane) == 0 && !has_comparison(end);
                               }) &&
           widest_row(loop).first <= longest_summed;
  }
  // Elements that a step has for each lane of what the loop reduces.
  static double sums_a_step(const PairLoop& loop) {
    double sums = 0;
    for (const PairEnd& end : loop.ends) sums += beside_lanes(end.sizes, end.of);
    return sums;
  }
  bool are_sides(const PairLoop& one, const PairLoop& other) const {
    const auto is_costly = [&](const PairPart& part) {
      return part.loop != no_axis && part.lane != no_axis &&
             element_form(program_, *maker(part.v)).operations >= costly;
    };
    const auto goes_along = [](const PairLoop& x, const Dim& lanes) {
      return std::ranges::all_of(x.ends, [&](const PairEnd& end) { return end.sizes[at(end.of.lane)] == lanes; });
    };
    if (!goes_along(one, other.steps) || !goes_along(other, one.steps)) return false;
    for (const PairEnd& end : one.ends)
      for (const PairPart& part : end.parts)
        if (is_costly(part) && std::ranges::any_of(other.ends, [&](const PairEnd& there) {
              return there.parts.contains(with_sides_swapped(part));
            }))
          return true;
    return false;
  }
  static PairPart with_sides_swapped(PairPart part) {
    std::swap(part.loop, part.lane);
    return part;
  }
  static PairEnd with_sides_swapped(PairEnd end) {
    for (std::set<PairPart>* parts : {&end.parts, &end.leaves})
      for (const PairPart& part : std::exchange(*parts, {})) parts->insert(with_sides_swapped(part));
    end.of = with_sides_swapped(end.of);
    return end;
  }

  // --- how a loop goes ---
  // Several steps a turn read and write the rows of a result once, and compare once: written out where rows are short.
  // Longer ones stay in the first-level cache, for a block of the lanes. What is stacked has all steps, and no others.
  void divide(PairLoop& loop) const {
    constexpr double most = 64;  // elements of all rows that are written out
    if (!loop.steps.known()) return;
    const auto [widest, bytes] = widest_row(loop);
    if (std::ranges::any_of(loop.ends, &PairEnd::by_lanes)) return share_lanes(loop, widest, bytes);
    if (widest >= longest_row && loop.stacked.empty() && go_by_blocks(loop, widest, bytes)) return;
    const bool compares = std::ranges::any_of(loop.ends, [](const PairEnd& end) { return end.compared.has_value(); });
    for (const std::int64_t count : {compares ? 8 : 4, 4, 3, 2})
      if ((loop.stacked.empty() || loop.steps.value() % count == 0) && static_cast<double>(count) * widest <= most) {
        loop.together = count;
        return;
      }
  }
  // The most elements that a step has for a lane, and the bytes of the widest.
  std::pair<double, std::size_t> widest_row(const PairLoop& loop) const {
    double widest = 1;
    std::size_t bytes = 1;
    for (const PairEnd& end : loop.ends) {
      widest = std::max(widest, beside_lanes(end.sizes, end.of));
      if (const auto few = few_in_order(program_.eqns()[end.eqn]))  // of the state
        widest = std::max(widest, 2.0 * static_cast<double>(few->count.value()));
      for (const PairPart& part : end.parts) {
        widest = std::max(widest, beside_lanes(type(part.v).shape.dims(), part));
        if (is_product(*maker(part.v)->op))
          widest = std::max(widest, beside_lanes(ProductAxes(program_, *maker(part.v)).sizes, part));
        bytes = std::max(bytes, size_of(type(part.v).dtype));
      }
    }
    return {widest, bytes};
  }
  bool go_by_blocks(PairLoop& loop, double widest, std::size_t bytes) const {
    constexpr std::int64_t fewest = 16, fewest_of_tiles = 8;  // blocks; delay_sums leaves so many matrices in the loop
    const auto vector = static_cast<std::int64_t>(vector_bytes / bytes);
    auto block = static_cast<std::int64_t>(block_bytes / widest / static_cast<double>(bytes));
    for (const PairEnd& end : loop.ends) {
      const Dim& lanes = end.sizes[at(end.of.lane)];
      if (!lanes.known() || lanes.value() < fewest_of_tiles * vector) return false;
      block = std::min(block, lanes.value() / fewest);
    }
    block = std::max(block / vector * vector, vector);
    // The last block may have lanes that are not there: none that is reduced.
    const auto has_all = [&](const PairEnd& end) {
      return std::ranges::count(end.axes, end.of.lane) == 0 || end.sizes[at(end.of.lane)].value() % block == 0;
    };
    if (!std::ranges::all_of(loop.ends, has_all)) return false;
    loop.block = block;
    loop.tiles = std::ranges::any_of(loop.ends, [&](const PairEnd& end) { return has_tiles(end); });
    loop.together = loop.tiles ? 32 : 4;
    return true;
  }
  // Threads share the lanes where steps add these up: in few parts, whose rows stay in the first-level cache. The parts
  // are whole vectors, and none has lanes that are not there, where such are found.
  void share_lanes(PairLoop& loop, double widest, std::size_t bytes) const {
    constexpr double masked = 1.1;  // the time of a part some of whose lanes are not there
    const std::int64_t lanes = loop.ends[0].sizes[at(loop.ends[0].of.lane)].value();
    const std::int64_t vector = static_cast<std::int64_t>(vector_bytes / bytes);
    const std::int64_t fewest = blocks_are_small() ? 2 : std::clamp<std::int64_t>(lanes / 256, 2, 8), most = fewest * 4;
    const auto in_cache =
        std::max(static_cast<std::int64_t>(block_bytes / widest / static_cast<double>(bytes)), vector);
    const std::int64_t least = std::clamp((lanes + in_cache - 1) / in_cache, fewest, most);
    double best = std::numeric_limits<double>::infinity();
    for (std::int64_t count = least; count <= 2 * least; ++count) {
      const std::int64_t part = (lanes + count - 1) / count, vectors = (part + vector - 1) / vector;
      const bool whole = lanes % count == 0;
      const double time = static_cast<double>(vectors * count) * (whole ? 1 : masked);
      if (time >= best) continue;
      best = time;
      loop.part = whole || blocks_are_small() ? part : vectors * vector;
    }
    loop.together = std::clamp<std::int64_t>(static_cast<std::int64_t>(most_sums / widest), 1, 4);
    loop.together = std::min(loop.together, loop.steps.value());
  }
  bool has_tiles(const PairEnd& end) const {
    return (end.product && is_tile(program_, program_.eqns()[end.eqn], &end)) ||
           std::ranges::any_of(end.parts, [&](const PairPart& part) {
             return is_product(*maker(part.v)->op) && is_tile(program_, *maker(part.v), nullptr);
           });
  }
  static double beside_lanes(const std::vector<Dim>& sizes, const PairPart& part) {
    double count = 1;
    for (std::int64_t axis = 0; at(axis) < sizes.size(); ++axis)
      if (axis != part.loop && axis != part.lane) count *= kernel::estimate(sizes[at(axis)]);
    return count;
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  std::map<std::size_t, PairEnd> ends_;  // by their eqns
  std::vector<Comparison> comparisons_;
  std::vector<PairLoop> loops_;
  std::vector<std::uint64_t> needs_;  // of which loops each variable is made
};

}  // namespace

PairPart operand_part(const ProductAxes& product, const Eqn& eqn, std::size_t k, const PairPart& part) {
  return {eqn.in[k], place_of(product.of[k], part.loop), place_of(product.of[k], part.lane)};
}

std::optional<std::vector<PairPart>> parts_read(const Program& program, const Eqn& eqn, const PairPart& part) {
  if (eqn.out.size() != 1 || !eqn.new_sizes.empty() || effect_of(eqn) != Effect::none) return {};
  const Type& out = program.type(eqn.out[0]);
  if (eqn.op == &literal_op() || counted_axis(eqn)) return std::vector<PairPart>();
  const auto by_axes = [&](auto before) {
    const auto axis = [&](std::int64_t a) { return a == no_axis ? no_axis : before(a); };
    return std::vector{PairPart{eqn.in[0], axis(part.loop), axis(part.lane)}};
  };
  if (eqn.op == &broadcast_op()) {
    const BroadcastForm form = broadcast_form(eqn.params);
    const Shape& from = program.type(eqn.in[0]).shape;
    auto read = by_axes([&](std::int64_t axis) { return place_of(form.dims, axis); });
    for (const std::int64_t axis : {read[0].loop, read[0].lane})
      if (axis != no_axis && from[at(axis)] != out.shape[at(form.dims[at(axis)])]) return {};
    return std::ranges::is_sorted(form.dims) ? std::optional(std::move(read)) : std::nullopt;
  }
  if (eqn.op == &transpose_op())
    return by_axes([&](std::int64_t axis) { return permutation_of(eqn.params)[at(axis)]; });
  if (const auto form = reduction_of(eqn, program))
    return by_axes([&](std::int64_t axis) {
      for (const std::int64_t reduced : form->axes) axis += reduced <= axis;
      return axis;
    });
  if (is_product(*eqn.op)) {
    const ProductAxes product(program, eqn);
    const std::vector<Dim> terms(product.sizes.begin() + static_cast<std::ptrdiff_t>(product.summed),
                                 product.sizes.end());
    if (out.dtype == DType::bool_ || kernel::estimate(terms) > most_columns) return {};
    return std::vector{operand_part(product, eqn, 0, part), operand_part(product, eqn, 1, part)};
  }
  if (!is_elementwise(eqn)) return {};
  std::vector<PairPart> parts;
  for (const Var v : eqn.in) {
    if (!program.type(v).is_array()) return {};
    parts.push_back(program.type(v).rank() == out.rank() ? PairPart{v, part.loop, part.lane} : PairPart{v});
  }
  return parts;
}

bool is_tile(const Program& program, const Eqn& eqn, const PairEnd* end) {
  constexpr double many = 16;
  const DType dtype = program.type(eqn.out[0]).dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return false;
  const ProductAxes product(program, eqn);
  double terms = 1, columns = 1;
  for (std::int64_t axis = 0; at(axis) < product.sizes.size(); ++axis) {
    if (end != nullptr && axis == end->of.lane) continue;
    (at(axis) < product.summed ? columns : terms) *= kernel::estimate(product.sizes[at(axis)]);
  }
  return end == nullptr ? terms >= many : at(end->of.lane) < product.summed && columns >= many;
}

std::vector<PairLoop> find_pairs(const Program& program) { return PairSearch(program).find(); }

}  // namespace tenon
