#include "tenon/rewrite/mask_reductions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/kernel/analysis/cost.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr double dearest = 1;  // nanoseconds an element of what is computed for all rows

bool is(const Eqn& eqn, LowerStructure::Kind kind) {
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  return structure != nullptr && structure->kind == kind;
}

bool mentions_sizes(const Params& params) {
  bool some = false;
  params.visit_dims([&](const Dim& d) { some = some || !d.known(); });
  return some;
}

// What an elementwise eqn costs an element, but for reading its operands.
double price(const Program& program, const Eqn& eqn) {
  std::vector<Type> in, out;
  for (const Var v : eqn.in) in.push_back(program.type(v));
  for (const Var v : eqn.out) out.push_back(program.type(v));
  std::vector<kernel::Expr> index;
  for (std::uint32_t i = 0; i < out[0].rank(); ++i) index.push_back(kernel::variable(i));
  const auto load = [&](std::size_t k, std::span<const kernel::Expr>) {
    return kernel::variable(static_cast<std::uint32_t>(out[0].rank() + k), in[k].dtype);
  };
  return kernel::nanoseconds(
      rule_of<LowerElement>(*eqn.op)->rule({eqn.params, in, out, index, load, [](const Dim&) {}}));
}

// A value whose first axis has one row for each element that a mask chooses. Without a mask: each row is the same.
struct ChosenRows {
  std::optional<Var> mask;
  double price = 0;
  int depth = 0;  // of the expression, which what rewrites it recurs along
};
constexpr int deepest = 64;

class MaskReductions {
 public:
  explicit MaskReductions(const Program& program)
      : program_(program), maker_(makers_of(program)), along_(program.vars()), needed_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns())
      if (auto along = found(eqn)) along_[eqn.out[0]] = along;
    find_needed();
    // A product of which one vector is needed reads the other as it is, too.
    for (int round = 0; round < 2 && keep_products(round > 0); ++round) find_needed();
    for (const Eqn& eqn : program.eqns())
      if (!skipped(eqn) && !becomes_masked(eqn)) see_sizes(eqn);
  }

  void bind(Replay& replay) {
    for (const Eqn& eqn : program_.eqns()) {
      if (skipped(eqn)) {
        count(eqn, replay);
      } else if (becomes_masked(eqn)) {
        const EqnScope place(eqn);
        replay.set(eqn.out[0], masked(eqn, replay));
      } else {
        replay.bind_eqn(eqn, mask_reductions);
      }
    }
  }

 private:
  void find_needed() {
    for (const Var v : program_.outputs()) needed_[v] = true;
    for (std::size_t e = program_.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program_.eqns()[e];
      if (ends(eqn)) {
        needed_[*along_[eqn.in[0]]->mask] = true;
        continue;
      }
      const bool stays = !skipped(eqn), chooses = is(eqn, LowerStructure::Kind::compress);
      for (const Var v : eqn.in) needed_[v] = needed_[v] || stays || chooses || !along_[v];
    }
  }
  // Those that cannot end both of their operands, or all. False: there are none.
  bool keep_products(bool all) {
    bool some = false;
    for (const Eqn& eqn : program_.eqns())
      if (ends(eqn) && is_product(*eqn.op) && needed_[eqn.in[0]] != needed_[eqn.in[1]]) some = true;
    if (!some) return false;
    for (const Eqn& eqn : program_.eqns())
      if (ends(eqn) && is_product(*eqn.op) && (all || needed_[eqn.in[0]] != needed_[eqn.in[1]]))
        kept_.insert(eqn.out[0]);
    return true;
  }

  std::size_t rank_of_mask(Var mask) const { return program_.type(mask).rank(); }
  Dim rows(Var v) const { return program_.type(v).shape[0]; }

  std::optional<ChosenRows> found(const Eqn& eqn) const {
    if (is(eqn, LowerStructure::Kind::compress)) {
      const Shape& mask = program_.type(eqn.in[1]).shape;
      if (std::ranges::any_of(mask.dims(), [](const Dim& d) { return d == Dim(0); })) return {};
      return ChosenRows{eqn.in[1], 0};
    }
    if (eqn.op == &broadcast_op()) return found_broadcast(eqn);
    if (!is_elementwise(eqn) || effect_of(eqn) != Effect::none || mentions_sizes(eqn.params)) return {};
    ChosenRows all{std::nullopt, price(program_, eqn)};
    for (const Var v : eqn.in) {
      const std::optional<ChosenRows>& one = along_[v];
      if (!one || rows(v) != rows(eqn.out[0]) || (all.mask && one->mask && *all.mask != *one->mask)) return {};
      if (one->mask) all.mask = one->mask;
      all.price += one->price;
      all.depth = std::max(all.depth, one->depth + 1);
    }
    return all.depth <= deepest ? std::optional(all) : std::nullopt;
  }
  // Of what has no such axis, or of what has it in front as well.
  std::optional<ChosenRows> found_broadcast(const Eqn& eqn) const {
    const BroadcastForm form = broadcast_form(eqn.params);
    if (form.shape.rank() == 0 || form.shape[0].known()) return {};
    for (std::size_t i = 1; i < form.shape.rank(); ++i)
      if (!form.shape[i].known()) return {};
    if (std::ranges::find(form.dims, 0) == form.dims.end()) return ChosenRows{};
    if (form.dims[0] != 0 || !along_[eqn.in[0]] || rows(eqn.in[0]) != form.shape[0]) return {};
    ChosenRows more = *along_[eqn.in[0]];
    return ++more.depth <= deepest ? std::optional(more) : std::nullopt;
  }

  // Whether an eqn may end what is along a mask.
  bool ends(const Eqn& eqn) const {
    const auto goes = [&](Var v) { return along_[v] && along_[v]->mask && along_[v]->price <= dearest; };
    if (eqn.in.empty() || !goes(eqn.in[0])) return false;
    if (is(eqn, LowerStructure::Kind::uncompress)) return *along_[eqn.in[0]]->mask == eqn.in[1];
    if (eqn.numerics != Numerics::relaxed) return false;
    if (rule_of<LowerReduction>(*eqn.op) != nullptr && eqn.in.size() == 1)
      return std::ranges::binary_search(reduction(eqn).axes, 0);
    if (!is_product(*eqn.op) || kept_.contains(eqn.out[0]) || !goes(eqn.in[1]) ||
        *along_[eqn.in[0]]->mask != *along_[eqn.in[1]]->mask)
      return false;
    const DType dtype = program_.type(eqn.out[0]).dtype;
    return program_.type(eqn.in[0]).rank() == 1 && program_.type(eqn.in[1]).rank() == 1 &&
           program_.type(eqn.out[0]).rank() == 0 && dtype != DType::bool_ && !is_narrow(dtype) &&
           program_.type(eqn.in[0]).dtype == dtype && program_.type(eqn.in[1]).dtype == dtype &&
           rows(eqn.in[0]) == rows(eqn.in[1]);
  }
  bool becomes_masked(const Eqn& eqn) const {
    return ends(eqn) && std::ranges::all_of(eqn.in, [&](Var v) {
             return !needed_[v] || (is(eqn, LowerStructure::Kind::uncompress) && v == eqn.in[1]);
           });
  }
  // Nothing that is left reads what the eqn makes.
  bool skipped(const Eqn& eqn) const { return eqn.out.size() == 1 && along_[eqn.out[0]] && !needed_[eqn.out[0]]; }

  ReductionForm reduction(const Eqn& eqn) const {
    const std::vector<Type> in{program_.type(eqn.in[0])};
    return rule_of<LowerReduction>(*eqn.op)->rule(eqn.params, in);
  }

  void see_sizes(const Eqn& eqn) {
    const auto see = [&](const Dim& d) { d.visit_variables([&](SizeVar s) { mentioned_.insert(s); }); };
    eqn.params.visit_dims(see);
    for (const Var v : eqn.out) program_.type(v).visit_dims(see);
  }

  void count(const Eqn& eqn, Replay& replay) const {
    for (const SizeVar s : eqn.new_sizes)
      if (mentioned_.contains(s)) {
        const EqnScope place(eqn);
        replay.bind_size(s, size_of_chosen(replay.get(eqn.in[1])));
      }
  }

  // The value of all rows, those that the mask leaves out among them; along its axes.
  Array whole(Var v, Var mask, Replay& replay) {
    const std::pair key(v, mask);
    if (const auto known = whole_.find(key); known != whole_.end()) return known->second;
    const Eqn& eqn = *maker_[v];
    Array result;
    if (is(eqn, LowerStructure::Kind::compress)) {
      result = replay.get(eqn.in[0]);
    } else if (eqn.op == &broadcast_op()) {
      const BroadcastForm form = broadcast_form(eqn.params);
      const bool spread = std::ranges::find(form.dims, 0) == form.dims.end();
      const auto more = static_cast<std::int64_t>(rank_of_mask(mask)) - 1;
      std::vector<Dim> sizes = replay.type(mask).shape.dims();
      sizes.insert(sizes.end(), form.shape.begin() + 1, form.shape.end());
      std::vector<std::int64_t> dims;
      for (std::int64_t i = 0; !spread && i < more; ++i) dims.push_back(i);
      for (const std::int64_t d : form.dims) dims.push_back(d + more);
      const EqnScope place(eqn);
      result = broadcast_in_dim(spread ? replay.get(eqn.in[0]) : whole(eqn.in[0], mask, replay), Shape(sizes), dims);
    } else {
      Arrays operands;
      for (const Var in : eqn.in) operands.push_back(whole(in, mask, replay));
      const EqnScope place(eqn);
      result = bind_op(*eqn.op, eqn.params, operands)[0];
    }
    return whole_.emplace(key, std::move(result)).first->second;
  }

  // Where the mask holds; elsewhere this number.
  static Array chosen(const Array& x, const Array& mask, const Scalar& otherwise) {
    std::vector<std::int64_t> dims(mask.rank());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<std::int64_t>(i);
    const Array holds = mask.rank() == x.rank() ? mask : broadcast_in_dim(mask, x.shape(), dims);
    return bind1(select_op(), {}, {holds, x, broadcast_in_dim(Array(otherwise), x.shape(), {})});
  }

  Array masked(const Eqn& eqn, Replay& replay) {
    const Var mask = *along_[eqn.in[0]]->mask;
    const Array holds = replay.get(mask);
    Array x = whole(eqn.in[0], mask, replay);
    if (is(eqn, LowerStructure::Kind::uncompress)) return chosen(x, holds, Scalar::zero(x.dtype()));
    const auto more = static_cast<std::int64_t>(rank_of_mask(mask)) - 1;
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i <= more; ++i) axes.push_back(i);
    if (is_product(*eqn.op)) {
      x = x * whole(eqn.in[1], mask, replay);
      return sum(chosen(x, holds, Scalar::zero(x.dtype())), Axes(axes));
    }
    const ReductionForm form = reduction(eqn);
    for (const std::int64_t axis : form.axes)
      if (axis != 0) axes.push_back(axis + more);
    return bind1(*eqn.op, reduction_params(axes), {chosen(x, holds, form.initial)});
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<std::optional<ChosenRows>> along_;
  std::vector<bool> needed_;  // as it is
  std::set<Var> kept_;        // products
  std::set<SizeVar> mentioned_;
  std::map<std::pair<Var, Var>, Array> whole_;
};

}  // namespace

ProgramRef mask_reductions(const ProgramRef& program) {
  if (find_eqn(*program, [](const Eqn& e) { return is(e, LowerStructure::Kind::compress); }) == nullptr) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("mask_reductions")(program->hash()).finish(),
                  [&] { return rewritten(*program, [&](Replay& replay) { MaskReductions(*program).bind(replay); }); });
}

}  // namespace tenon
