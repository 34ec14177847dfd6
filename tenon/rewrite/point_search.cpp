#include "tenon/rewrite/point_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tenon/base/settings.h"
#include "tenon/ir/estimate.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

struct PointLimits {
  double pairs = 1 << 18;  // elements of a source
  double row = 16;         // along an extremum's axis
};
PointLimits point_limits() { return blocks_are_small() ? PointLimits{4, 2} : PointLimits(); }
constexpr double few = 8;               // what is read, or stands at points, has so many times fewer elements
constexpr std::size_t most_eqns = 400;  // of one end
constexpr std::size_t most_sources = 16;
constexpr std::size_t most_levels = 8;  // ends that wait for each other

bool is_number(const Type& type) { return type.is_array() && type.shape.known() && is_real(type.dtype); }

class PointSearch {
 public:
  explicit PointSearch(const Program& program) : program_(program), maker_(maker_numbers(program)) {
    plan_.zero_with.resize(program.vars());
    plan_.has_others.resize(program.vars(), false);
  }

  PointPlan find() {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) look_at(e);
    drop_what_stays();
    form_groups();
    return std::move(plan_);
  }

 private:
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  const Type& type(Var v) const { return program_.type(v); }
  double elements(Var v) const { return estimated_elements(type(v)); }
  bool is_zero(Var v) const { return is_filled_with_zero(program_, maker_, v); }
  using ZeroWith = std::map<std::size_t, PointLabels>;
  const ZeroWith& zero_with(Var v) const { return plan_.zero_with[v]; }

  void look_at(std::size_t e) {
    const Eqn& eqn = program_.eqns()[e];
    if (eqn.out.size() != 1 || eqn.numerics != Numerics::relaxed || !eqn.new_sizes.empty() ||
        effect_of(eqn) != Effect::none || !type(eqn.out[0]).is_array() || !type(eqn.out[0]).shape.known())
      return;
    if (auto source = source_of(e)) {
      if (plan_.sources.size() == most_sources) return;
      if (source->kind == PointSource::Kind::added) {  // to what may be of sources too
        const Var before = eqn.in[0];
        plan_.zero_with[source->v] = zero_with(before);
        plan_.has_others[source->v] = plan_.has_others[before] || (zero_with(before).empty() && !is_zero(before));
      }
      plan_.zero_with[source->v].emplace(plan_.sources.size(), own_labels(source->v));
      plan_.sources.push_back(std::move(*source));
      return;
    }
    if (eqn.op == &gather_op()) return look_at_gather(e);
    if (std::ranges::all_of(eqn.in, [&](Var v) { return zero_with(v).empty(); }) || is_end(e)) return;
    ZeroWith sum = result_of(eqn);
    if (sum.empty()) return;
    plan_.zero_with[eqn.out[0]] = std::move(sum);
    plan_.has_others[eqn.out[0]] =
        std::ranges::any_of(eqn.in, [&](Var v) { return bool(plan_.has_others[v]); }) ||
        (adds(eqn) && std::ranges::any_of(terms(eqn), [&](Var v) { return zero_with(v).empty() && !is_zero(v); }));
  }
  // Whether it is the sum of its terms, or chooses among them.
  bool adds(const Eqn& eqn) const {
    if (eqn.op == &select_op()) return zero_with(eqn.in[0]).empty();
    if (!is_elementwise(eqn) || eqn.in.size() != 2) return false;
    const auto of_two = element_form(program_, eqn).of_two;
    return of_two == kernel::Binary::add || of_two == kernel::Binary::sub;
  }
  static std::span<const Var> terms(const Eqn& eqn) {
    return std::span(eqn.in).subspan(eqn.op == &select_op() ? 1 : 0);
  }

  // --- where points lie ---
  std::optional<PointSource> source_of(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    const Var v = eqn.out[0];
    if (elements(v) < point_limits().pairs) return {};
    if (eqn.op == &scatter_op()) {
      if (!is_number(type(v)) || elements(eqn.in[2]) * few > elements(v)) return {};
      auto points = elements_added(eqn.params, type(eqn.in[0]), type(eqn.in[1]));
      if (!points) return {};
      return PointSource{PointSource::Kind::added, e, v, elements(v), std::move(*points)};
    }
    if (eqn.op != &eq_op() || !is_number(type(eqn.in[0]))) return {};
    for (const auto& [x, with] : {std::pair(eqn.in[0], eqn.in[1]), std::pair(eqn.in[1], eqn.in[0])})
      if (auto source = extremum(e, x, with); source && are_pairs(*source)) return source;
    return {};
  }
  std::optional<PointSource> extremum(std::size_t e, Var x, Var with) const {
    const Eqn* repeated = maker(with);
    if (repeated == nullptr || repeated->op != &broadcast_op()) return {};
    const Var best = repeated->in[0];
    const Eqn* made = maker(best);
    const auto form = made == nullptr ? std::nullopt : reduction_of(*made, program_);
    if (!form || made->in[0] != x || form->axes.size() != 1 || made->numerics != Numerics::relaxed ||
        (form->combine != kernel::Combine::min && form->combine != kernel::Combine::max) ||
        !repeats_along(program_, repeated, form->axes))
      return {};
    std::vector<std::int64_t> others;
    for (std::int64_t axis = 0; at(axis) < type(x).rank(); ++axis)
      if (axis != form->axes[0]) others.push_back(axis);
    if (broadcast_form(repeated->params).dims != others ||
        static_cast<double>(type(x).shape[at(form->axes[0])].value()) < point_limits().row)
      return {};
    return PointSource{.kind = PointSource::Kind::extremum,
                       .eqn = e,
                       .v = program_.eqns()[e].out[0],
                       .pairs = elements(x),
                       .elements = x,
                       .best = best,
                       .smallest = form->combine == kernel::Combine::min,
                       .axis = form->axes[0]};
  }
  // Whether its elements are made of far fewer, by sums or products: stream_pairs finds the extremum and its place
  // without storing them.
  bool are_pairs(const PointSource& source) const {
    const std::vector<PointSource> alone{source};
    PointBody body;
    return PointParts(program_, maker_, alone, plan_.zero_with, 0, false)
               .collect({{source.elements, own_labels(source.elements)}}, body) &&
           is_of_fewer(body, source.pairs) && std::ranges::any_of(body.parts, [&](const PointPart& part) {
             const Eqn& eqn = *maker(part.v);
             return reduction_of(eqn, program_) || is_product(*eqn.op);
           });
  }
  bool is_of_fewer(const PointBody& body, double pairs) const {
    return std::ranges::all_of(body.leaves, [&](const PointPart& leaf) { return elements(leaf.v) * few <= pairs; });
  }
  PointLabels own_labels(Var v) const {
    PointLabels own(type(v).rank());
    std::iota(own.begin(), own.end(), 0);
    return own;
  }
  // Few elements of an array that is made of far fewer.
  void look_at_gather(std::size_t e) {
    const Eqn& eqn = program_.eqns()[e];
    const Var x = eqn.in[0];
    if (plan_.sources.size() == most_sources || elements(x) < point_limits().pairs || maker(x) == nullptr ||
        elements(eqn.out[0]) * few > elements(x) || !is_number(type(x)) || !zero_with(x).empty())
      return;
    auto points = elements_read(eqn.params, type(x), type(eqn.in[1]));
    if (!points) return;
    plan_.sources.push_back({PointSource::Kind::read, e, eqn.out[0], elements(x), std::move(*points)});
    const std::size_t source = plan_.sources.size() - 1;
    PointEnd end{e};
    PointEnd::Of& of = end.of[source];
    of.labels = own_labels(x);
    of.operands = {{x, of.labels}};
    const PointParts parts(program_, maker_, plan_.sources, plan_.zero_with, source, false);
    if (parts.collect(of.operands, of.at_points) && is_of_fewer(of.at_points, elements(x)))
      ends_.emplace(e, std::move(end));
    else
      plan_.sources.pop_back();
  }

  // --- what is zero with them ---
  // Empty: it is not known to be.
  ZeroWith result_of(const Eqn& eqn) const {
    const Var out = eqn.out[0];
    if (eqn.op == &broadcast_op()) {
      const auto dims = broadcast_form(eqn.params).dims;
      return relabelled(eqn.in[0], type(out).rank(), [&](std::size_t axis) { return at(dims[axis]); });
    }
    if (eqn.op == &transpose_op()) {
      const auto places = inverse_permutation(permutation_of(eqn.params));
      return relabelled(eqn.in[0], type(out).rank(), [&](std::size_t axis) { return at(places[axis]); });
    }
    if (const auto form = reduction_of(eqn, program_)) {
      if (form->combine != kernel::Combine::add) return {};
      const std::size_t left = type(out).rank();
      return relabelled(eqn.in[0], left, [&](std::size_t axis) {
        const auto a = static_cast<std::int64_t>(axis);
        return std::ranges::count(form->axes, a) > 0 ? left : at(axis_left(form->axes, a));
      });
    }
    if (is_product(*eqn.op)) {
      const auto k = factor(eqn);
      if (!k) return {};
      const ProductAxes product(program_, eqn);
      return relabelled(eqn.in[*k], product.summed, [&](std::size_t axis) {
        return std::min(at(product.of[*k][axis]), product.summed);  // what is summed has no label
      });
    }
    return is_elementwise(eqn) ? of_elements(eqn) : ZeroWith();
  }
  // `to`: which axis of the result an axis of the operand becomes; `rank`: none.
  template <class To>
  ZeroWith relabelled(Var from, std::size_t rank, To to) const {
    ZeroWith result;
    for (const auto& [source, labels] : zero_with(from)) {
      PointLabels& own = result[source];
      own.assign(rank + 1, no_axis);
      for (std::size_t axis = 0; axis < labels.size(); ++axis) own[to(axis)] = labels[axis];
      own.pop_back();
    }
    return result;
  }
  // Which of two factors alone is zero with sources.
  std::optional<std::size_t> factor(const Eqn& eqn) const {
    if (!is_number(type(eqn.out[0])) || zero_with(eqn.in[0]).empty() == zero_with(eqn.in[1]).empty()) return {};
    return zero_with(eqn.in[0]).empty() ? 1 : 0;
  }
  ZeroWith of_elements(const Eqn& eqn) const {
    const auto of_terms = [&]() -> ZeroWith {  // what each source gives
      ZeroWith all;
      for (const Var v : terms(eqn))
        for (const auto& [source, labels] : zero_with(v))
          if (!all.emplace(source, labels).second && all.at(source) != labels) return {};
      return all;
    };
    if (!is_number(type(eqn.out[0]))) return {};
    if (eqn.op == &select_op()) {
      if (adds(eqn)) return of_terms();
      return zero_with(eqn.in[1]).empty() && is_zero(eqn.in[2]) ? zero_with(eqn.in[0]) : ZeroWith();
    }
    if (eqn.op == &convert_op()) return is_inexact(type(eqn.out[0]).dtype) ? zero_with(eqn.in[0]) : ZeroWith();
    const ElementForm form = element_form(program_, eqn);
    if (form.of_one == kernel::Unary::neg) return zero_with(eqn.in[0]);
    if (!form.of_two) return {};
    switch (*form.of_two) {
      case kernel::Binary::add:
      case kernel::Binary::sub:
        return of_terms();
      case kernel::Binary::mul: {
        const auto k = factor(eqn);
        return k ? zero_with(eqn.in[*k]) : ZeroWith();
      }
      case kernel::Binary::div:
        return zero_with(eqn.in[1]).empty() ? zero_with(eqn.in[0]) : ZeroWith();
      default:
        return {};
    }
  }

  // --- what ends them ---
  bool is_end(std::size_t e) {
    const Eqn& eqn = program_.eqns()[e];
    PointEnd end{e};
    const auto form = reduction_of(eqn, program_);
    if (form && form->combine == kernel::Combine::add && is_number(type(eqn.out[0]))) {
      for (const auto& [source, labels] : zero_with(eqn.in[0])) end.of[source] = {{{eqn.in[0], labels, true}}, labels};
    } else if (is_product(*eqn.op)) {
      const auto k = factor(eqn);
      if (!k) return false;
      const ProductAxes product(program_, eqn);
      for (const auto& [source, labels] : zero_with(eqn.in[*k])) {
        PointEnd::Of& of = end.of[source];
        of.labels.assign(product.sizes.size(), no_axis);
        for (std::size_t axis = 0; axis < labels.size(); ++axis) of.labels[at(product.of[*k][axis])] = labels[axis];
        of.operands = PointParts(program_, maker_, plan_.sources, plan_.zero_with, source, false)
                          .operands_of_product(eqn, of.labels, true);
      }
    }
    if (end.of.empty() || elements(eqn.out[0]) * few > fewest_pairs(end)) return false;
    const std::size_t left = form ? 0 : ProductAxes(program_, eqn).summed;
    const auto sums_labelled = [&](const auto& of) {
      const PointLabels& labels = of.second.labels;
      for (std::size_t axis = left; axis < labels.size(); ++axis)
        if (labels[axis] != no_axis && (!form || std::ranges::count(form->axes, static_cast<std::int64_t>(axis)) > 0))
          return true;
      return false;
    };
    if (std::ranges::none_of(end.of, sums_labelled)) return false;
    for (auto& [source, of] : end.of) {
      const auto collects = [&](bool rows, PointBody& body) {
        return PointParts(program_, maker_, plan_.sources, plan_.zero_with, source, rows).collect(of.operands, body);
      };
      if (!collects(false, of.at_points) || (plan_.sources[source].is_extremum() && !collects(true, of.in_rows)))
        return false;
    }
    if (!find_besides(end)) return false;
    ends_.emplace(e, std::move(end));
    return true;
  }
  double fewest_pairs(const PointEnd& end) const {
    double fewest = std::numeric_limits<double>::infinity();
    for (const auto& of : end.of) fewest = std::min(fewest, plan_.sources[of.first].pairs);
    return fewest;
  }
  // The eqns that make the terms of no source, each once, in order.
  bool find_besides(PointEnd& end) const {
    std::set<std::size_t> found;
    for (std::vector<std::size_t> open{end.eqn}; !open.empty();) {
      const Eqn& eqn = program_.eqns()[open.back()];
      open.pop_back();
      for (const Var v : eqn.in)
        if (plan_.has_others[v] && found.insert(maker_[v]).second) open.push_back(maker_[v]);
      if (found.size() > most_eqns) return false;
    }
    end.besides.assign(found.begin(), found.end());
    return true;
  }
  // What its terms of no source read.
  void each_besides(const PointEnd& end, FunctionRef<void(Var)> f) const {
    if (end.besides.empty()) return;
    std::vector<std::size_t> eqns = end.besides;
    eqns.push_back(end.eqn);
    for (const std::size_t e : eqns)
      for (const Var v : program_.eqns()[e].in)
        if (zero_with(v).empty()) f(v);
  }
  static void each_leaf(const PointEnd& end, FunctionRef<void(Var)> f) {
    for (const auto& [source, of] : end.of)
      for (const PointBody* body : {&of.at_points, &of.in_rows})
        for (const PointPart& leaf : body->leaves) f(leaf.v);
  }
  // What a source's ends read besides: the elements of which it is an extremum, or where it adds what.
  void each_of_source(std::size_t source, FunctionRef<void(Var)> f) const {
    const PointSource& s = plan_.sources[source];
    if (s.is_extremum()) return f(s.elements), f(s.best);
    const Eqn& eqn = program_.eqns()[s.eqn];
    for (std::size_t k = 1; k < eqn.in.size(); ++k) f(eqn.in[k]);
  }

  // A source that others read is stored, or compared, all the same.
  void drop_what_stays() {
    for (bool changed = true; changed && !ends_.empty();) {
      std::vector<bool> read(program_.vars(), false);
      for (const Var v : program_.outputs()) read[v] = true;
      for (std::size_t e = program_.eqns().size(); e-- > 0;) {
        const Eqn& eqn = program_.eqns()[e];
        if (effect_of(eqn) == Effect::none && std::ranges::none_of(eqn.out, [&](Var v) { return bool(read[v]); }))
          continue;
        const auto end = ends_.find(e);
        if (end == ends_.end()) {
          for (const Var v : eqn.in) read[v] = true;
          continue;
        }
        each_leaf(end->second, [&](Var v) { read[v] = true; });
        each_besides(end->second, [&](Var v) { read[v] = true; });
        for (const auto& of : end->second.of) each_of_source(of.first, [&](Var v) { read[v] = true; });
      }
      changed = std::erase_if(ends_, [&](const auto& end) {
                  return std::ranges::any_of(end.second.of, [&](const auto& of) {
                    const PointSource& source = plan_.sources[of.first];
                    return source.kind != PointSource::Kind::read && read[source.v];
                  });
                }) > 0;
    }
  }

  void form_groups() {
    // Sources of one end are of one group, and so are ends of one level: how many ends wait for each other.
    std::vector<std::size_t> first(plan_.sources.size());
    std::iota(first.begin(), first.end(), std::size_t(0));
    for (const auto& [e, end] : ends_)
      for (const auto& of : end.of) {
        const std::size_t one = first[of.first], other = first[end.of.begin()->first];
        std::ranges::replace(first, std::max(one, other), std::min(one, other));
      }
    std::vector<std::size_t> level(program_.vars(), 0);
    std::map<std::pair<std::size_t, std::size_t>, PointGroup> groups;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      std::size_t before = 0;
      const auto waits_for = [&](Var v) { before = std::max(before, level[v]); };
      if (const auto end = ends_.find(e); end != ends_.end()) {
        each_leaf(end->second, waits_for), each_besides(end->second, waits_for);
        for (const auto& of : end->second.of) each_of_source(of.first, waits_for);
        if (++before <= most_levels) {
          PointGroup& group = groups[{before, first[end->second.of.begin()->first]}];
          for (const auto& of : end->second.of) group.sources.insert(of.first);
          group.ends.push_back(std::move(end->second));
        }
      } else {
        for (const Var v : eqn.in) waits_for(v);
      }
      for (const Var v : eqn.out) level[v] = before;
    }
    for (auto& [key, group] : groups) plan_.groups.push_back(std::move(group));
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  PointPlan plan_;
  std::map<std::size_t, PointEnd> ends_;  // by their eqns
};

}  // namespace

std::vector<std::int64_t> PointParts::kept(const PointLabels& labels) const {
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < labels.size(); ++axis)
    if (!is_fixed(labels[axis])) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

bool PointParts::is_of_others(const PointPart& part) const {
  return part.linear && !zero_with_[part.v].contains(source_);
}

PointLabels PointParts::labels_of_product(const Eqn& eqn, const PointPart& part) const {
  const ProductAxes product(program_, eqn);
  PointLabels labels = part.labels;
  labels.resize(product.sizes.size(), no_axis);
  for (const std::size_t k : {0, 1})  // what a sum leaves out is of the point, too
    if (const auto own = zero_with_[eqn.in[k]].find(source_); part.linear && own != zero_with_[eqn.in[k]].end())
      for (std::size_t axis = 0; axis < own->second.size(); ++axis) labels[at(product.of[k][axis])] = own->second[axis];
  return labels;
}

std::vector<PointPart> PointParts::operands_of_product(const Eqn& eqn, const PointLabels& labels, bool linear) const {
  const ProductAxes product(program_, eqn);
  std::vector<PointPart> operands;
  for (const std::size_t k : {0, 1}) {
    PointPart& from = operands.emplace_back(PointPart{eqn.in[k], {}, linear && !zero_with_[eqn.in[k]].empty()});
    for (const std::int64_t axis : product.of[k]) from.labels.push_back(labels[at(axis)]);
  }
  return operands;
}

std::optional<std::vector<PointPart>> PointParts::operands(const PointPart& part) const {
  if (is_the_point(part) || is_of_others(part)) return std::vector<PointPart>();
  const Eqn* made = maker(part.v);
  if (made == nullptr || made->out.size() != 1 || !made->new_sizes.empty() || effect_of(*made) != Effect::none)
    return {};
  const Eqn& eqn = *made;
  const std::size_t rank = part.labels.size();
  if (eqn.op == &literal_op() || counted_axis(eqn)) return std::vector<PointPart>();
  const auto of_first = [&](PointLabels labels) {
    return std::vector{PointPart{eqn.in[0], std::move(labels), part.linear}};
  };
  if (eqn.op == &broadcast_op()) {
    const BroadcastForm form = broadcast_form(eqn.params);
    PointLabels labels;
    for (std::size_t axis = 0; axis < form.dims.size(); ++axis) {
      if (program_.type(eqn.in[0]).shape[axis] != form.shape[at(form.dims[axis])]) return {};
      labels.push_back(part.labels[at(form.dims[axis])]);
    }
    return std::ranges::is_sorted(form.dims) ? std::optional(of_first(std::move(labels))) : std::nullopt;
  }
  if (eqn.op == &scatter_op()) return part.linear ? std::optional(of_first(part.labels)) : std::nullopt;
  if (eqn.op == &transpose_op())
    return of_first(permuted(part.labels, inverse_permutation(permutation_of(eqn.params))));
  if (const auto form = reduction_of(eqn, program_)) {
    // What a sum leaves out is of the point, too; a row of an extremum is that along its axis.
    const PointLabels* own = part.linear ? &zero_with_[eqn.in[0]].at(source_) : nullptr;
    const bool row = rows_ && part.v == sources_[source_].best;
    PointLabels labels = part.labels;
    for (const std::int64_t axis : form->axes)  // ascending
      labels.insert(labels.begin() + axis, own != nullptr ? (*own)[at(axis)] : row ? sources_[source_].axis : no_axis);
    return of_first(std::move(labels));
  }
  if (is_product(*eqn.op)) return operands_of_product(eqn, labels_of_product(eqn, part), part.linear);
  if (!is_elementwise(eqn)) return {};
  // Factors, and what chooses among terms, are not linear; nor are the operands of the comparison that is the source.
  const bool linear = part.linear && part.v != sources_[source_].v;
  const auto of_two = linear ? element_form(program_, eqn).of_two : std::nullopt;
  const bool terms = of_two == kernel::Binary::add || of_two == kernel::Binary::sub;
  std::vector<PointPart> parts;
  for (std::size_t k = 0; k < eqn.in.size(); ++k) {
    const Var v = eqn.in[k];
    if (!program_.type(v).is_array()) return {};
    const bool is_term = terms || (eqn.op == &select_op() && zero_with_[eqn.in[0]].empty() && k > 0);
    parts.push_back({v, program_.type(v).rank() == rank ? part.labels : PointLabels(program_.type(v).rank(), no_axis),
                     linear && (is_term || zero_with_[v].contains(source_))});
  }
  return parts;
}

bool PointParts::is_leaf(const PointPart& part) const {
  if (part.linear) return false;
  const Eqn* made = maker(part.v);
  if (made != nullptr && (made->op == &literal_op() || counted_axis(*made))) return false;
  if (rows_ && part.v == sources_[source_].best) return false;  // by the same elements that are compared with it
  const bool whole = std::ranges::none_of(part.labels, [](std::int64_t label) { return label != no_axis; });
  return made == nullptr || whole || estimated_elements(program_.type(part.v)) * few <= sources_[source_].pairs;
}

bool PointParts::collect(std::vector<PointPart> open, PointBody& body) const {
  while (!open.empty()) {
    const PointPart part = std::move(open.back());
    open.pop_back();
    if (body.parts.contains(part) || body.leaves.contains(part)) continue;
    const Type& type = program_.type(part.v);
    if (!type.is_array() || !type.shape.known() ||
        (!part.linear && !zero_with_[part.v].empty() && !(rows_ && part.v == sources_[source_].v)))
      return false;
    if (is_leaf(part)) {
      body.leaves.insert(part);
      continue;
    }
    const auto read = operands(part);
    if (!read || body.parts.size() >= most_eqns) return false;
    open.insert(open.end(), read->begin(), read->end());
    body.parts.insert(std::move(part));
  }
  return true;
}

PointPlan find_points(const Program& program) { return PointSearch(program).find(); }

}  // namespace tenon
