// Updates, in place where nothing reads the old value later.
#include <algorithm>

#include "tenon/compile/plan/block_planner.h"
#include "tenon/ops/indexing/index_map.h"

namespace tenon {

// Whether an expression that is not stored yet reads x, through others that are not stored.
bool BlockPlanner::reads(Var v, Var x) const {
  std::vector<Var> open{v};
  std::set<Var> seen;
  while (!open.empty()) {
    const Var at = open.back();
    open.pop_back();
    if (!seen.insert(at).second || places_[at] || maker_[at] == nullptr) continue;
    for (Var in : maker_[at]->in) {
      if (in == x) return true;
      open.push_back(in);
    }
  }
  return false;
}
// Expressions of eqns so far, needed behind this one and not stored yet, that read x.
std::vector<Var> BlockPlanner::later_readers(Var x) const {
  std::vector<Var> readers;
  for (std::size_t e = 0; e < at_; ++e)
    for (Var v : program_.eqns()[e].out)
      if (!places_[v] && last_use_[v] > at_ + 1 && reads(v, x)) readers.push_back(v);
  return readers;
}

// The place that the result of an update starts from: the operand's own, where nothing reads the operand's old value
// later, nor the update itself beside, and the memory is ours; else a copy.
Place BlockPlanner::overwritten(const Eqn& eqn) {
  const Var x = eqn.in[0], y = eqn.out[0];
  for (Var v : later_readers(x)) stored(v);  // of the old value
  const bool ours = places_[x] && writable_slots_.contains(places_[x]->slot);
  const bool read_beside = std::any_of(eqn.in.begin() + 1, eqn.in.end(), [&](Var v) {
    return v == x || (ours && places_[v] && places_[v]->slot == places_[x]->slot);
  });
  if (ours && !read_beside && last_use_[x] <= at_ + 1) return *places_[x];
  const Place to = place_for(y);
  store_into(x, to, last_use_[x] <= at_ + 1, eqn, [&] { return eqn.op->name; });
  writable_slots_.insert(to.slot);
  return to;
}

void BlockPlanner::update(const Eqn& eqn) {
  const Var x = eqn.in[0], part = eqn.in[1];
  std::vector<Expr> starts;
  const Sizes &whole = sizes(x), &extent = sizes(part);
  std::vector<Place> start_places;
  for (std::size_t i = 2; i < eqn.in.size(); ++i) start_places.push_back(stored(eqn.in[i]));
  if (pending_[part]) flush(part);
  if (reads(part, x)) stored(part);
  const Place to = overwritten(eqn);
  begin_nest(extent, false);
  std::vector<Expr> index;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Expr start = kernel::convert(DType::i64, load_of(start_places[i], program_.type(eqn.in[i + 2]).dtype, zero));
    const Expr inside = kernel::binary(
        kernel::Binary::max, kernel::binary(kernel::Binary::min, start, kernel::size(whole[i] - extent[i])), zero);
    require_not_negative(whole[i] - extent[i]);
    index.push_back(whole[i] == extent[i] ? nest_.index[i] : inside + nest_.index[i]);
  }
  const Expr value = element(part, nest_.index);
  block_.push_back(
      kernel::Nest{nest_.vars, nest_.extents, {{to.slot, to.offset + row_major<Expr>(whole, index), value, {}}}, true});
  places_[eqn.out[0]] = to;
}

bool combines_updates(const Program& program, const Eqn& eqn) {
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  return structure != nullptr && structure->kind == LowerStructure::Kind::scatter &&
         scatter_form(eqn.params, program.type(eqn.in[0]), program.type(eqn.in[1]), program.type(eqn.in[2])).combine;
}

// What updates are combined with is computed there, and so are they, unless they read what is overwritten.
void BlockPlanner::scatter(const Eqn& eqn) {
  const Type& type = program_.type(eqn.in[0]);
  const ScatterForm form = scatter_form(eqn.params, type, program_.type(eqn.in[1]), program_.type(eqn.in[2]));
  for (const Var v : {eqn.in[1], eqn.in[2]}) {
    if (pending_[v]) flush(v);
    if (!form.combine || reads(v, eqn.in[0])) stored(v);
  }
  const Place to = overwritten(eqn);
  const Sizes& extent = sizes(eqn.in[2]);
  begin_nest(extent, false);
  const ScatterForm::Target target =
      form.target(nest_.index, [&](std::span<const Expr> index) { return element(eqn.in[1], index); });
  for (const Dim& limit : target.limits) require_not_negative(limit);
  const Expr offset = to.offset + row_major<Expr>(type.shape.dims(), target.index);
  Expr value = element(eqn.in[2], nest_.index);
  if (form.combine) value = kernel::binary(*form.combine, kernel::load(to.slot, type.dtype, offset), value);
  kernel::Nest nest{nest_.vars, nest_.extents, {{to.slot, offset, value, target.inside}}, false};
  const bool rounds = form.combine == kernel::Binary::add || form.combine == kernel::Binary::mul;
  nest.combines = form.combine && !(rounds && is_inexact(type.dtype) && eqn.numerics == Numerics::strict);
  block_.push_back(std::move(nest));
  places_[eqn.out[0]] = to;
}

}  // namespace tenon
