// Reductions of all elements, in whatever shape they are.
#include <algorithm>
#include <map>

#include "tenon/ir/bind.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

// An expression of arrays that are all reshaped from one shape, or transposed alike.
class Reshaped {
 public:
  Reshaped(const Match& m, const Array& x) : m_(m), found_(look(x, 1)) {}
  bool found() const { return found_ && shape_; }
  // The expression of the arrays as they were.
  Array before(const Array& x) {
    const Eqn& eqn = *m_.maker(x);
    if (is_view(eqn)) return m_.operand(eqn, 0);
    if (const auto number = m_.constant(x)) return filled(*number, Type::array(x.dtype(), *shape_));
    if (const auto made = made_.find(x.traced()->var); made != made_.end()) return made->second;
    Arrays operands;
    for (std::size_t i = 0; i < eqn.in.size(); ++i) operands.push_back(before(m_.operand(eqn, i)));
    return made_.emplace(x.traced()->var, bind_op(*eqn.op, eqn.params, operands)[0]).first->second;
  }

 private:
  static constexpr int most = 64;  // eqns

  static bool is_view(const Eqn& eqn) { return eqn.op == &reshape_op() || eqn.op == &transpose_op(); }
  bool moves_alike(const Eqn& eqn) const {
    return eqn.op != &transpose_op() || permutation_of(eqn.params) == permutation_of(view_->params);
  }

  // `often`: how often the one that reads it does. What others read, too, stays as it is.
  bool look(const Array& x, std::ptrdiff_t often) {
    const Eqn* eqn = m_.maker(x);
    if (eqn == nullptr || ++seen_ > most || eqn->recompute != m_.maker(m_.root())->recompute) return false;
    if (is_view(*eqn)) {
      const Shape& from = m_.operand(*eqn, 0).shape();
      if (view_ != nullptr && (view_->op != eqn->op || *shape_ != from || !moves_alike(*eqn))) return false;
      view_ = eqn, shape_ = from;
      return true;
    }
    if (m_.constant(x)) return true;
    if (!is_elementwise(*eqn) || eqn->in.empty() || eqn->out.size() != 1 || m_.reads(x) > often) return false;
    for (std::size_t i = 0; i < eqn->in.size(); ++i)
      if (!look(m_.operand(*eqn, i), std::ranges::count(eqn->in, eqn->in[i]))) return false;
    return true;
  }

  const Match& m_;
  int seen_ = 0;
  const Eqn* view_ = nullptr;  // one of those that make the other shape
  std::optional<Shape> shape_;
  std::map<Var, Array> made_;
  const bool found_;
};

// So that what makes the elements and what reduces them agree in their shape, and share a nest.
RuleRef reductions_of_all() {
  return std::make_shared<const Rule>(Rule{
      .name = "reduction of all of reshape(x), transpose(x)",
      .exactness = Exactness::reassociates,
      .replacement = [](const Match& m) -> MaybeArray {
        const Eqn& root = *m.maker(m.root());
        const Type in[]{m[0].type()};
        if (m.size() != 1 || !in[0].is_array() || in[0].rank() == 0 || m.root().rank() != 0) return {};
        const ReductionForm form = rule_of<LowerReduction>(*root.op)->rule(root.params, in);
        if (form.axes.size() != in[0].rank()) return {};
        Reshaped reshaped(m, m[0]);
        if (!reshaped.found()) return {};
        const Array x = reshaped.before(m[0]);
        if (x.rank() == 0) return {};
        return bind1(*root.op, reduction_params(Axes().of(x.type(), root.op->name)), {x});
      },
      .roots = [](const OpInfo& op) { return rule_of<LowerReduction>(op) != nullptr; },
      .applies_to =
          [] {
            using Holes = std::span<const Array>;
            const Type x = Type::array(DType::f32, {Dim(3), Dim(4)}), p = Type::array(DType::bool_, {Dim(6)});
            const auto flat = [](const Array& a) { return reshape(a, {a.shape().elements()}); };
            return std::vector<Rule::Example>{{{x, x}, [=](Holes h) { return sum(square(flat(h[0]) - flat(h[1]))); }},
                                              {{x, x}, [=](Holes h) { return sum(transpose(h[0]) * transpose(h[1])); }},
                                              {{x}, [=](Holes h) { return amax(reshape(h[0], {2, 3, 2}) * 3.0f); }},
                                              {{p}, [=](Holes h) { return any(reshape(h[0], {2, 3})); }}};
          }});
}

}  // namespace

std::vector<RuleRef> reduction_rules() { return {reductions_of_all()}; }

}  // namespace tenon
