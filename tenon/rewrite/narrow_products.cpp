#include "tenon/rewrite/narrow_products.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/labelled_product.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/product_axes.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Labels = std::vector<std::int64_t>;  // one an axis: axes of one label go in step

bool contains(const Labels& labels, std::int64_t label) { return std::ranges::find(labels, label) != labels.end(); }

bool multiplies(const Program& program, const Eqn& eqn) {
  return is_elementwise(eqn) && eqn.in.size() == 2 && element_form(program, eqn).of_two == kernel::Binary::mul;
}

// A product as an einsum: an operand that was broadcast lacks the labels of the axes that it repeats along.
struct Contraction {
  Var a, b;
  Labels of_a, of_b, result;
  std::map<std::int64_t, Dim> sizes;

  bool needs_less(const Program& program) const {
    return program.type(a).rank() + program.type(b).rank() < width || result.size() < rank;
  }
  std::size_t width = 0, rank = 0;  // of the product as it was: axes of both operands, and of the result
};

class Narrow {
 public:
  explicit Narrow(const Program& program)
      : program_(program),
        maker_(makers_of(program)),
        reads_(reads_of(program)),
        in_memory_(program.vars(), false),
        in_place_(in_memory_),
        whole_(in_memory_) {
    for (const Eqn& eqn : program.eqns())
      if (rule_of<LowerElement>(*eqn.op) == nullptr && rule_of<LowerReduction>(*eqn.op) == nullptr)
        for (std::size_t i = 0; i < eqn.in.size(); ++i) {
          const Var v = eqn.in[i];
          in_memory_[v] = true;
          in_place_[v] = in_place_[v] || !is_product(*eqn.op);
          whole_[v] = whole_[v] || i < read_whole(eqn);
        }
    for (const Var v : program.outputs()) in_memory_[v] = in_place_[v] = whole_[v] = true;
  }

  void bind(Replay& replay) const {
    for (const Eqn& eqn : program_.eqns()) {
      const auto narrow = narrowed(eqn);
      if (!narrow) {  // a product that a sum has taken is dead
        replay.bind_eqn(eqn, narrow_products);
        continue;
      }
      const EqnScope place(eqn);
      replay.set(eqn.out[0], computed(*narrow, replay));
    }
  }

 private:
  std::optional<Contraction> narrowed(const Eqn& eqn) const {
    auto c = is_product(*eqn.op) ? product(eqn) : summed(eqn);
    if (!c || !(c->needs_less(program_) || is_for_elements(eqn) || lies_apart(*c, c->a, c->of_a) ||
                lies_apart(*c, c->b, c->of_b)))
      return {};
    return c;
  }

  // A loop reads its last operands step by step.
  static std::size_t read_whole(const Eqn& eqn) {
    if (eqn.op != &loop_op()) return eqn.in.size();
    const LoopRoles roles(loop_of(eqn));
    return roles.consts + roles.carries;
  }
  // A product that sums nothing, and that no library reads: what reads its elements multiplies.
  bool is_for_elements(const Eqn& eqn) const {
    return is_product(*eqn.op) && !whole_[eqn.out[0]] &&
           product_form(eqn.params, program_.type(eqn.in[0]), program_.type(eqn.in[1])).contract_a.empty();
  }

  // The labels of the batch: the axes that both operands and the result have.
  static Labels batch_of(const Contraction& c) {
    Labels batch;
    for (const std::int64_t label : c.of_a)
      if (contains(c.of_b, label) && contains(c.result, label)) batch.push_back(label);
    return batch;
  }
  // Whether the matrices of an operand that is stored for the product would not lie one behind another.
  bool lies_apart(const Contraction& c, Var operand, const Labels& of) const {
    const Labels batch = batch_of(c);
    return std::ranges::any_of(batch, [&](std::int64_t l) { return place_of(of, l) >= std::ssize(batch); }) &&
           !in_memory(operand, in_place_);
  }
  // The operand with its matrices one behind another, if it does not lie in memory already.
  Array matrix_by_matrix(const Contraction& c, Var operand, Array x, Labels& of) const {
    if (!lies_apart(c, operand, of)) return x;
    Labels order = batch_of(c), permutation;
    for (const std::int64_t label : of)
      if (!contains(order, label)) order.push_back(label);
    for (const std::int64_t label : order) permutation.push_back(place_of(of, label));
    of = std::move(order);
    return transpose(std::move(x), permutation);
  }

  std::optional<Contraction> product(const Eqn& eqn) const {
    const Type &a = program_.type(eqn.in[0]), &b = program_.type(eqn.in[1]);
    if (eqn.numerics != Numerics::relaxed || a.dtype == DType::bool_ || is_half(a.dtype)) return {};
    const ProductAxes axes(program_, eqn);
    Contraction c{eqn.in[0], eqn.in[1], axes.of[0], axes.of[1], Labels(axes.summed), {}, a.rank() + b.rank()};
    std::iota(c.result.begin(), c.result.end(), 0);
    for (std::size_t label = 0; label < axes.sizes.size(); ++label)
      c.sizes.emplace(static_cast<std::int64_t>(label), axes.sizes[label]);
    c.rank = c.result.size();
    once(c.a, c.of_a), once(c.b, c.of_b);
    return sums_something(c) ? std::optional(c) : std::nullopt;
  }

  // What an operand was before it was broadcast, and transposed.
  void once(Var& v, Labels& labels) const {
    for (const Eqn* made = maker_[v]; made != nullptr && made->numerics == Numerics::relaxed; made = maker_[v]) {
      Labels before;
      const Shape& from = program_.type(made->in.empty() ? v : made->in[0]).shape;
      if (made->op == &broadcast_op()) {
        const BroadcastForm form = broadcast_form(made->params);
        for (std::size_t i = 0; i < form.dims.size(); ++i) {
          if (from[i] != form.shape[static_cast<std::size_t>(form.dims[i])]) return;
          before.push_back(labels[static_cast<std::size_t>(form.dims[i])]);
        }
      } else if (made->op == &transpose_op() && (repeats(made->in[0]) || !in_place_[v])) {
        const Labels permutation = permutation_of(made->params);
        before.resize(labels.size());
        for (std::size_t i = 0; i < labels.size(); ++i) before[static_cast<std::size_t>(permutation[i])] = labels[i];
      } else {
        return;
      }
      v = made->in[0], labels = std::move(before);
    }
  }
  bool repeats(Var v) const {
    const Eqn* made = maker_[v];
    return made != nullptr && made->op == &broadcast_op();
  }

  // A sum along axes of a product that nothing else reads, transposed or not.
  std::optional<Contraction> summed(const Eqn& eqn) const {
    const auto* reduction = rule_of<LowerReduction>(*eqn.op);
    if (reduction == nullptr || eqn.in.size() != 1 || eqn.numerics != Numerics::relaxed) return {};
    const Type in[]{program_.type(eqn.in[0])};
    const ReductionForm form = reduction->rule(eqn.params, in);
    if (form.combine != kernel::Combine::add || in[0].dtype != program_.type(eqn.out[0]).dtype) return {};
    Var v = eqn.in[0];
    std::vector<const Eqn*> transposes;
    while (maker_[v] != nullptr && maker_[v]->op == &transpose_op() && reads_[v] == 1)
      transposes.push_back(maker_[v]), v = maker_[v]->in[0];
    if (maker_[v] == nullptr || reads_[v] != 1) return {};
    const bool elementwise = multiplies(program_, *maker_[v]);
    if (!elementwise && !is_product(*maker_[v]->op)) return {};
    auto c = elementwise ? elementwise_product(*maker_[v]) : product(*maker_[v]);
    if (!c) return {};
    Labels labels = c->result;
    for (std::size_t i = transposes.size(); i-- > 0;) labels = permuted(labels, permutation_of(transposes[i]->params));
    c->result.clear();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!contains(form.axes, static_cast<std::int64_t>(i))) c->result.push_back(labels[i]);
    }
    if (elementwise && !is_matrix_product(*c)) return {};
    return sums_something(*c) ? c : std::nullopt;
  }

  // x·y, of which a sum may be a product of matrices that were broadcast against each other.
  std::optional<Contraction> elementwise_product(const Eqn& eqn) const {
    const Type& type = program_.type(eqn.out[0]);
    if (eqn.numerics != Numerics::relaxed ||
        !(type.dtype == DType::f32 || type.dtype == DType::f64 || is_integer(type.dtype)))
      return {};
    Labels labels(type.rank());
    std::iota(labels.begin(), labels.end(), 0);
    Contraction c{eqn.in[0], eqn.in[1], labels, labels, labels, {}, 2 * type.rank(), type.rank()};
    for (const std::int64_t label : labels) c.sizes.emplace(label, type.shape[static_cast<std::size_t>(label)]);
    once(c.a, c.of_a), once(c.b, c.of_b);
    return c;
  }
  // Whether something is summed that both operands have, and each has an axis of the result for itself; and storing the
  // operands, where they are not stored anyway, costs less than the library saves.
  bool is_matrix_product(const Contraction& c) const {
    const auto has_own = [&](const Labels& mine, const Labels& other) {
      return std::ranges::any_of(mine, [&](std::int64_t l) { return contains(c.result, l) && !contains(other, l); });
    };
    const auto summed_in_both = [&](std::int64_t l) { return contains(c.of_b, l) && !contains(c.result, l); };
    Dim products = 1, result = 1;
    for (const auto& [label, size] : c.sizes) products = products * size;
    for (const std::int64_t label : c.result) result = result * c.sizes.at(label);
    // A round trip of an element costs as much as the library saves of four multiplications.
    constexpr std::int64_t saved = 4, most_stored = std::int64_t(1) << 26;
    const auto fits = [&](Var v) {
      const Dim mine = program_.type(v).shape.elements();
      if (in_memory(v) || (mine.known() && result.known() && mine.value() <= result.value())) return true;
      return mine.known() && products.known() && mine.value() <= most_stored &&
             mine.value() <= products.value() / saved;
    };
    // Of few terms a sum is faster as it is spelled; for integers both are nests.
    constexpr std::int64_t fewest_terms = 4;
    Dim terms = 1;
    for (const std::int64_t label : c.of_a)
      if (summed_in_both(label)) terms = terms * c.sizes.at(label);
    const bool enough = !terms.known() || terms.value() >= fewest_terms;
    return has_own(c.of_a, c.of_b) && has_own(c.of_b, c.of_a) && std::ranges::any_of(c.of_a, summed_in_both) &&
           (enough || is_integer(program_.type(c.a).dtype)) && fits(c.a) && fits(c.b);
  }

  // Whether an array, or what it is a view of, is stored whatever becomes of this sum.
  bool in_memory(Var v) const { return in_memory(v, in_memory_); }
  bool in_memory(Var v, const std::vector<bool>& there) const {
    while (!there[v] && maker_[v] != nullptr &&
           (maker_[v]->op == &transpose_op() || maker_[v]->op == &reshape_op() || maker_[v]->op == &slice_op()))
      v = maker_[v]->in[0];
    return there[v] || maker_[v] == nullptr || rule_of<LowerElement>(*maker_[v]->op) == nullptr;
  }

  // Whether what is summed outside of the products is known to have elements: a sum of no products is 0, and a product
  // with a sum of nothing is not where the other operand is infinite or not a number.
  static bool sums_something(const Contraction& c) {
    return std::ranges::all_of(c.sizes, [&](const auto& label_size) {
      const auto& [label, size] = label_size;
      return contains(c.result, label) || (contains(c.of_a, label) && contains(c.of_b, label)) ||
             (size.known() && size.value() > 0);
    });
  }

  // ---- What it comes to.
  Array computed(Contraction c, const Replay& replay) const {
    // The operand whose axes the result has first goes first: its rows are the result's.
    const auto own = std::ranges::find_if(c.result, [&](auto l) { return contains(c.of_a, l) != contains(c.of_b, l); });
    if (own != c.result.end() && contains(c.of_b, *own)) std::swap(c.a, c.b), std::swap(c.of_a, c.of_b);
    Labels of_a = c.of_a, of_b = c.of_b;
    Array a = without_lonely(replay.get(c.a), of_a, of_b, c.result),
          b = without_lonely(replay.get(c.b), of_b, of_a, c.result);
    a = matrix_by_matrix(c, c.a, std::move(a), of_a), b = matrix_by_matrix(c, c.b, std::move(b), of_b);
    auto [axes, made] = labelled_product(of_a, of_b, [&](std::int64_t label) { return contains(c.result, label); });
    Array result;
    if (axes.contract_a.empty()) {
      std::ranges::sort(made, {}, [&](std::int64_t label) { return place_of(c.result, label); });
      std::vector<Dim> sizes;
      for (const std::int64_t label : made) sizes.push_back(replay_size(c, label, replay));
      result = spread(a, of_a, made, sizes) * spread(b, of_b, made, sizes);
    } else {
      result = dot_general(a, b, axes);
    }
    return as_wanted(result, made, c, replay);
  }
  static Dim replay_size(const Contraction& c, std::int64_t label, const Replay& replay) {
    return substitute(c.sizes.at(label), replay.sizes());
  }
  // Summed along what neither the other operand nor the result has.
  static Array without_lonely(const Array& x, Labels& labels, const Labels& other, const Labels& result) {
    std::vector<std::int64_t> axes;
    Labels rest;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (contains(other, labels[i]) || contains(result, labels[i]))
        rest.push_back(labels[i]);
      else
        axes.push_back(static_cast<std::int64_t>(i));
    }
    labels = std::move(rest);
    return axes.empty() ? x : sum(x, Axes(axes));
  }
  // An operand along the axes `made`, among which its own are.
  static Array spread(const Array& x, const Labels& labels, const Labels& made, const std::vector<Dim>& sizes) {
    Labels dims;
    for (const std::int64_t label : labels) dims.push_back(place_of(made, label));
    return spread_in_dim(x, Shape(sizes), std::move(dims));
  }
  Array as_wanted(Array x, const Labels& made, const Contraction& c, const Replay& replay) const {
    Dim factor = 1;  // as often as what is left was summed
    for (const auto& [label, size] : c.sizes)
      if (!contains(c.result, label) && !contains(c.of_a, label) && !contains(c.of_b, label))
        factor = factor * replay_size(c, label, replay);
    if (factor != Dim(1)) x = x * convert(size_as_array(factor), x.dtype());
    std::vector<Dim> sizes;
    for (const std::int64_t label : c.result) sizes.push_back(replay_size(c, label, replay));
    return spread(x, made, c.result, sizes);
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<int> reads_;
  std::vector<bool> in_memory_;  // read by what needs it there
  std::vector<bool> in_place_;   // by what needs it as it is, and not in any order of its axes, as products do
  std::vector<bool> whole_;      // by what needs all of it at once, as a loop's steps do not
};

}  // namespace

ProgramRef narrow_products(const ProgramRef& program) {
  if (find_eqn(*program, [](const Eqn& e) { return is_product(*e.op) || rule_of<LowerReduction>(*e.op); }) == nullptr)
    return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("narrow_products")(program->hash()).finish(), [&] {
    return compose_views(rewritten(*program, [&](Replay& replay) { Narrow(*program).bind(replay); }));
  });
}

}  // namespace tenon
