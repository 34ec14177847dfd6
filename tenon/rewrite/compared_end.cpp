#include <algorithm>

#include "tenon/ir/literal.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {
namespace {

// Finds what compares elements with a result of all of them: sum(exp(x - m)), sum((x - m)^2), the index of the largest.
class Comparisons {
 public:
  Comparisons(const Program& program, std::span<const std::size_t> maker) : program_(program), maker_(maker) {}

  std::optional<ComparedEnd> of(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    const auto form = eqn.numerics == Numerics::relaxed ? reduction_of(eqn, program_) : std::nullopt;
    if (!form || form->axes.empty()) return {};
    if (form->combine == kernel::Combine::min) return index(e, *form);
    if (!is_real(type(eqn.in[0]).dtype)) return {};
    if (form->combine != kernel::Combine::add) return {};
    StreamEnd end{e, StreamEnd::Kind::exponentials, {}, form->axes, {}, {}, {}};
    Var terms = eqn.in[0];
    std::optional<Var> mask;  // where it is false, they are 0
    if (const Eqn* chosen = maker(terms); is(chosen, select_op()) && is_zero(chosen->in[2])) {
      end.absorbed.insert(maker_[terms]);
      mask = chosen->in[0], terms = chosen->in[1];
    }
    const Eqn* of = maker(terms);
    if (of == nullptr || of->numerics != Numerics::relaxed) return {};
    end.absorbed.insert(maker_[terms]);
    if (!is(of, exp_op())) {
      if (!is(of, mul_op()) || of->in[0] != of->in[1]) return {};
      end.kind = StreamEnd::Kind::squares;
    }
    const Eqn* off = maker(of->in[0]);
    if (!is(off, sub_op())) return {};
    const auto found = reference(off->in[1], form->axes);
    if (!found) return {};
    end.of = {{off->in[0], {}}};
    if (mask) end.of.push_back({*mask, {}});
    end.reference = found->of, end.reference_dims = found->dims;
    end.absorbed.insert(maker_[of->in[0]]);
    return ComparedEnd{std::move(end), off->in[1]};
  }

 private:
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  const Type& type(Var v) const { return program_.type(v); }
  static bool is(const Eqn* eqn, const OpInfo& op) { return eqn != nullptr && eqn->op == &op; }

  // The operand of a broadcast that repeats it over all of these axes, and its axes in the result.
  struct Reference {
    Var of;
    std::vector<std::int64_t> dims;
  };
  std::optional<Reference> reference(Var v, std::span<const std::int64_t> axes) const {
    const Eqn* eqn = maker(v);
    if (!repeats_along(program_, eqn, axes)) return {};
    return Reference{eqn->in[0], broadcast_form(eqn->params).dims};
  }

  // min(where((x == max(x)) | (x != x), 0 1 2 …, none)), as argmax() makes it.
  std::optional<ComparedEnd> index(std::size_t e, const ReductionForm& form) const {
    const Eqn& eqn = program_.eqns()[e];
    const Eqn* chosen = maker(eqn.in[0]);
    if (!is(chosen, select_op()) || form.axes.size() != 1) return {};
    if (!counts_along(chosen->in[1], form.axes[0]) || !filling_literal(program_, maker_, chosen->in[2])) return {};
    StreamEnd end{e, StreamEnd::Kind::first_index, {}, form.axes, {}, {}, {maker_[eqn.in[0]], maker_[chosen->in[0]]}};
    const Eqn* found = maker(chosen->in[0]);
    if (is(found, or_op())) {
      const Eqn* unlike = maker(found->in[1]);
      if (!is(unlike, ne_op()) || unlike->in[0] != unlike->in[1]) return {};
      end.absorbed.insert({maker_[found->in[0]], maker_[found->in[1]]});
      found = maker(found->in[0]);
      if (found == nullptr || found->in[0] != unlike->in[0]) return {};
    }
    if (!is(found, eq_op())) return {};
    // Compared with the largest, or the least, of the same elements, as it is.
    const auto extremum = reference(found->in[1], form.axes);
    const Eqn* of = extremum ? maker(extremum->of) : nullptr;
    while (of != nullptr && of->op == &reshape_op()) of = maker(of->in[0]);
    const auto best = of == nullptr ? std::nullopt : reduction_of(*of, program_);
    if (!best || !is_extremum_of(*of, *best, found->in[0], form.axes) ||
        (best->combine != kernel::Combine::max && best->combine != kernel::Combine::min))
      return {};
    end.of = {{found->in[0], {}}};
    end.reference = of->out[0];
    return ComparedEnd{std::move(end), found->in[1]};
  }
  // Of the same elements, or of all there are, in whatever shape.
  bool is_extremum_of(const Eqn& best, const ReductionForm& form, Var elements,
                      const std::vector<std::int64_t>& axes) const {
    if (best.in[0] == elements) return form.axes == axes;
    const Eqn* made = maker(elements);
    return is(made, reshape_op()) && made->in[0] == best.in[0] && form.axes.size() == type(best.in[0]).rank() &&
           axes.size() == type(elements).rank();
  }
  // 0 1 2 … along an axis, whatever the others are.
  bool counts_along(Var v, std::int64_t axis) const {
    const Eqn* eqn = maker(v);
    while (is(eqn, broadcast_op())) {
      const auto dims = broadcast_form(eqn->params).dims;
      axis = std::ranges::find(dims, axis) - dims.begin();
      eqn = maker(eqn->in[0]);
    }
    return eqn != nullptr && counted_axis(*eqn) == axis;
  }
  bool is_zero(Var v) const { return is_filled_with_zero(program_, maker_, v); }

  const Program& program_;
  std::span<const std::size_t> maker_;
};

}  // namespace

std::optional<ComparedEnd> compared_end(const Program& program, std::span<const std::size_t> maker, std::size_t e) {
  return Comparisons(program, maker).of(e);
}

}  // namespace tenon
