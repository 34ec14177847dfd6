// Values as nests: what an element is at an index, which values share a nest, reductions, small products.
#include <algorithm>
#include <functional>

#include "tenon/base/factors.h"
#include "tenon/compile/plan/block_planner.h"
#include "tenon/compile/plan/factors.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/indexing/index_map.h"

namespace tenon {
namespace {

Expr kernel_offset(const Type& type, std::span<const Expr> index) { return row_major<Expr>(type.shape.dims(), index); }

bool same(std::span<const Expr> a, std::span<const Expr> b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return x.identity() == y.identity(); });
}

std::vector<const void*> key_of(std::span<const Expr> index) {
  std::vector<const void*> key;
  for (const Expr& e : index) key.push_back(e.identity());
  return key;
}

// What could become one operation with a sum that it is a term of: a product, and a sign that a product takes over.
bool may_be_contracted(const Expr& e) {
  if (!is_inexact(e.dtype())) return false;
  if (e.kind() == Expr::Kind::unary) return e.node().unary == kernel::Unary::neg;
  return e.kind() == Expr::Kind::binary &&
         (e.node().binary == kernel::Binary::mul || e.node().binary == kernel::Binary::complex);
}

}  // namespace

// Equal indices are one node, whichever eqns have made them: what is computed at an index is computed once.
Expr BlockPlanner::element(Var v, std::span<const Expr> index) {
  if (same(index, nest_.index)) return element_at(v, index);
  std::vector<Expr> shared;
  for (const Expr& e : index) shared.push_back(nest_.shared(e));
  return element_at(v, shared);
}

// The element of a variable at an index: a load, or the expression of the eqn that makes it.
Expr BlockPlanner::element_at(Var v, std::span<const Expr> index) {
  if (pending_[v] && nest_.values.contains(v) && same(index, nest_.index)) return nest_.values.at(v);
  if (pending_[v]) flush_before(v);
  if (places_[v]) {
    const Place& place = *places_[v];
    const Type& type = program_.type(v);
    if (type.rank() > 0 && !same(index, nest_.index)) nest_.identity_only = false;
    const Expr offset =
        nest_.flat && same(index, nest_.index) && sizes(v) == nest_.sizes ? *nest_.flat : kernel_offset(type, index);
    return load_of(place, type.dtype, offset);
  }
  const Eqn& eqn = *maker_[v];
  const auto key = std::pair(v, key_of(index));
  if (const auto found = nest_.memo.find(key); found != nest_.memo.end()) return found->second.second;
  std::vector<Type> in, out;
  for (Var i : eqn.in) in.push_back(program_.type(i));
  for (Var o : eqn.out) out.push_back(program_.type(o));
  const auto& rule = rule_of<LowerElement>(*eqn.op)->rule;
  Expr value =
      rule({eqn.params, in, out, index, [&](std::size_t k, std::span<const Expr> i) { return element(eqn.in[k], i); },
            [&](const Dim& size) { require_not_negative(size); }});
  if (eqn.numerics == Numerics::strict && may_be_contracted(value))
    value = kernel::unary(kernel::Unary::rounded, value);
  nest_.memo.emplace(key, std::pair(std::vector<Expr>(index.begin(), index.end()), value));
  return value;
}
// Noted where only running tells. A Program of known sizes has been checked.
void BlockPlanner::require_not_negative(const Dim& size) {
  if (has_found_size(size)) return check_not_negative(size);
  if (!size.known()) planner_.function_.not_negative.push_back(size);
}

// Loads of one place are one node, so that a nest reads it once.
Expr BlockPlanner::load_of(const Place& place, DType dtype, const Expr& offset) {
  const Expr at = nest_.shared(place.offset + offset);
  const auto key = std::pair(place.slot, at.identity());
  if (const auto found = nest_.loads.find(key); found != nest_.loads.end()) return found->second;
  return nest_.loads.emplace(key, kernel::load(place.slot, dtype, at)).first->second;
}

// A pending value is needed elsewhere than at this nest's own index: it is stored first.
void BlockPlanner::flush_before(Var v) {
  if (building_.contains(v)) throw Split{v};
  struct Waiting {
    explicit Waiting(Building& nest) : now(nest), held(std::exchange(nest, {})) {}
    ~Waiting() { now = std::move(held); }  // with the same memory: spans of its index are in use
    Building &now, held;
  };
  const Waiting waiting(nest_);
  flush(v);
}

// Stores a pending value, with other pending values of its group in the same nest: all of them, or as many as LLVM
// compiles in time, which grows with the square of a nest's stores.
void BlockPlanner::flush(Var v) {
  constexpr std::ptrdiff_t most_stores = 64;
  const std::size_t of = fusion_.group[v];
  std::vector<Var> group;
  for (Var o : pending_of_[of])
    if (pending_[o] && !building_.contains(o)) group.push_back(o);
  if (std::ssize(group) > most_stores) {
    const std::ptrdiff_t first = (std::ranges::find(group, v) - group.begin()) / most_stores * most_stores;
    group = {group.begin() + first, std::ranges::next(group.begin(), first + most_stores, group.end())};
  }
  while (!group.empty()) {
    try {
      flush_together(group);
      group.clear();
    } catch (const Split& split) {  // one is read by another at other indices: it is stored in a nest before
      if (std::ranges::find(group, split.first) == group.end()) throw;
      flush_together({split.first});
      std::erase(group, split.first);
    }
  }
  std::erase_if(pending_of_[of], [&](Var o) { return !pending_[o] && !building_.contains(o); });
}
void BlockPlanner::await(Var v) {
  pending_[v] = true;
  pending_of_[fusion_.group[v]].push_back(v);
}

// Where a value of a group is stored, however often its nest is begun.
const Place& BlockPlanner::group_place(Var v) {
  if (!group_places_.contains(v)) group_places_.emplace(v, place_for(v));
  return group_places_.at(v);
}

void BlockPlanner::flush_together(const std::vector<Var>& group) {
  building_.insert(group.begin(), group.end());
  Block nests;
  try {
    const bool by_parts = group.size() == 1 && has_many_parts(*maker_[group[0]]);
    nests = by_parts ? nests_of_parts(group[0]) : Block{nest_of(group)};
  } catch (const Split&) {
    for (Var o : group) building_.erase(o), pending_[o] = true;
    throw;
  }
  for (Var o : group) {
    building_.erase(o);
    pending_[o] = false;
    places_[o] = group_place(o);
  }
  std::ranges::move(nests, std::back_inserter(block_));
}

kernel::Nest BlockPlanner::nest_of(const std::vector<Var>& group) {
  const Sizes& extent = sizes(group[0]);
  kernel::Nest nest = build_nest(group, extent, false);
  // Everything is read at the nest's own index: one flat loop serves. Small arrays keep their rows: all that reads and
  // writes them agrees in pieces then, and they become registers.
  if (nest_.identity_only && extent.size() > 1 && !planner_.target_.in_registers(elements_of(program_.type(group[0]))))
    nest = build_nest(group, extent, true);
  nest.where = line_of(group.back());
  return nest;
}

// Of a concatenation: each part is stored by a nest of its own.
kernel::Block BlockPlanner::nests_of_parts(Var v) {
  const Eqn& eqn = *maker_[v];
  const auto axis = static_cast<std::size_t>(*concatenated_axis(eqn));
  const Place place = group_place(v);
  Block nests;
  Expr begin(0);
  for (const Var part : eqn.in) {
    const Sizes& extent = sizes(part);
    begin_nest(extent, false);
    const Expr value = element(part, nest_.index);
    std::vector<Expr> at = nest_.index;
    at[axis] = at[axis] + begin;
    const Expr offset = place.offset + kernel_offset(program_.type(v), at);
    if (kernel::product_of(extent) != Dim(0))
      nests.push_back(kernel::Nest{nest_.vars, nest_.extents, {{place.slot, offset, value, {}}}, true, line_of(v)});
    begin = begin + kernel::size(extent[axis]);
  }
  return nests;
}

kernel::Nest BlockPlanner::build_nest(const std::vector<Var>& group, const Sizes& extent, bool flat) {
  begin_nest(extent, flat);
  kernel::Nest nest{nest_.vars, nest_.extents, {}, true};
  for (Var o : group) {
    const Place& place = group_place(o);
    pending_[o] = false;  // its own expression, not a load of it
    const Expr value = element(o, nest_.index);
    pending_[o] = true;
    nest_.values.insert_or_assign(o, value);
    nest.stores.push_back(
        {place.slot, place.offset + (flat ? *nest_.flat : kernel_offset(program_.type(o), nest_.index)), value, {}});
  }
  return nest;
}

void BlockPlanner::begin_nest(const Sizes& extent, bool flat) {
  nest_ = {.sizes = extent};
  const auto add_variable = [&](const Dim& size) {
    nest_.vars.push_back(planner_.fresh_var());
    nest_.extents.push_back(size);
    return kernel::variable(nest_.vars.back());
  };
  if (flat) {
    nest_.flat = add_variable(kernel::product_of(extent));
    nest_.index = from_row_major<Expr>(extent, *nest_.flat);
    for (Expr& e : nest_.index) e = nest_.shared(e);
    return;
  }
  // First axes of one element have no variable: the nest's rows are those of the next, as of an array without them.
  std::size_t first = 0;
  while (first + 1 < extent.size() && extent[first] == Dim(1)) ++first;
  nest_.index.assign(first, Expr(0));
  for (std::size_t i = first; i < extent.size(); ++i) nest_.index.push_back(add_variable(extent[i]));
}

// Of strict sums and products of floats: element after element, in the order of the operand's. Else in any order.
void BlockPlanner::reduce(const Eqn& eqn, kernel::Reduce r) {
  const DType dtype = r.value.dtype();
  const bool rounds = is_inexact(dtype) && (r.combine == kernel::Combine::add || r.combine == kernel::Combine::mul);
  if (eqn.numerics != Numerics::strict || !rounds) return block_.push_back(std::move(r));
  const Type& type = program_.type(eqn.out[0]);
  Place sum{r.slot, r.offset};
  if (type.dtype != dtype) {  // halves are summed in f32
    sum = planner_.temporary(Type::array(dtype, type.shape));
    std::vector<Expr> index;
    for (const std::uint32_t var : r.outer_vars) index.push_back(kernel::variable(var));
    sum.offset = sum.offset + kernel_offset(type, index);
  }
  kernel::Nest in_order = r.stores_everywhere();
  in_order.independent = false, in_order.where = eqn.where;
  block_.push_back(kernel::Nest{r.outer_vars, r.outer_sizes, {{sum.slot, sum.offset, r.initial, {}}}, true, eqn.where});
  const Expr before = load_of({sum.slot, Expr(std::int64_t(0))}, dtype, sum.offset);
  const auto combine = r.combine == kernel::Combine::add ? kernel::Binary::add : kernel::Binary::mul;
  in_order.stores = {{sum.slot, sum.offset, kernel::binary(combine, before, r.value), {}}};
  block_.push_back(std::move(in_order));
  if (type.dtype != dtype)
    block_.push_back(kernel::Nest{
        r.outer_vars, r.outer_sizes, {{r.slot, r.offset, kernel::convert(type.dtype, before), {}}}, true, eqn.where});
}

void BlockPlanner::reduction(const Eqn& eqn) {
  const Var x = eqn.in[0], y = eqn.out[0];
  const std::vector<Type> in{program_.type(x)};
  const ReductionForm form = rule_of<LowerReduction>(*eqn.op)->rule(eqn.params, in);
  const auto extent = sizes(x);
  begin_nest(extent, false);
  kernel::Reduce r{.combine = form.combine,
                   .initial = kernel::constant(in[0].dtype, form.initial.data()),
                   .value = element(x, nest_.index)};
  if (is_narrow(in[0].dtype)) r.initial = kernel::convert(DType::f32, r.initial);
  const auto accumulated = [&](const Expr& x) { return is_narrow(x.dtype()) ? kernel::convert(DType::f32, x) : x; };
  r.value = accumulated(r.value);
  std::vector<Expr> outer;
  const std::size_t first = extent.size() - nest_.vars.size();  // axis that has a variable
  for (std::size_t i = 0; i < extent.size(); ++i) {
    const bool inner = std::ranges::binary_search(form.axes, static_cast<std::int64_t>(i));
    if (!inner) outer.push_back(nest_.index[i]);
    if (!inner && i < first) continue;
    (inner ? r.inner_vars : r.outer_vars).push_back(i < first ? planner_.fresh_var() : nest_.vars[i - first]);
    (inner ? r.inner_sizes : r.outer_sizes).push_back(extent[i]);
  }
  const bool flat = nest_.identity_only && r.outer_vars.empty() && extent.size() > 1 &&
                    !planner_.target_.in_registers(elements_of(in[0]));
  if (flat) {
    begin_nest(extent, true);
    r.value = accumulated(element(x, nest_.index));
    r.inner_vars = nest_.vars;
    r.inner_sizes = nest_.extents;
  }
  const Place to = place_for(y);
  r.slot = to.slot;
  r.offset = to.offset + kernel_offset(program_.type(y), outer);
  places_[y] = to;
  reduce(eqn, std::move(r));
}

namespace {

// Wider integers than bytes have no library: a nest is as fast as one where it reads vectors, along what is summed or
// along the columns of the result. Columns of enough rows are worth laying b out for.
bool pays_to_lay_out(const kernel::Product& p) {
  return p.c_n == Dim(1) && p.b_n != Dim(1) && !kernel::at_most(p.n, 1) && !kernel::at_most(p.m, 3);
}
bool streams(const kernel::Product& p) {
  return p.c_n == Dim(1) && (p.b_n == Dim(1) || (p.a_k == Dim(1) && p.b_k == Dim(1)));
}

using Axes64 = std::vector<std::int64_t>;
Axes64 joined(std::initializer_list<std::reference_wrapper<const Axes64>> groups) {
  Axes64 all;
  for (const Axes64& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}
// The axes of these groups are 0, 1, … in their order.
void number(std::initializer_list<Axes64*> groups) {
  std::int64_t next = 0;
  for (Axes64* group : groups)
    for (std::int64_t& axis : *group) axis = next++;
}
Type in_order(const Type& type, std::span<const std::int64_t> axes) {
  Type ordered = Type::array(type.dtype, {});
  for (const std::int64_t axis : axes) ordered.shape.push_back(type.shape[static_cast<std::size_t>(axis)]);
  return ordered;
}

// The library makes a matrix of complex numbers ready for each product: one sum is less than that.
bool is_one_sum(const kernel::Product& p) { return is_complex(p.dtype) && p.m == Dim(1) && p.n == Dim(1); }

}  // namespace

void BlockPlanner::product(const Eqn& eqn) {
  const ProductForm form = product_form(eqn.params, program_.type(eqn.in[0]), program_.type(eqn.in[1]));
  const Place to = place_for(eqn.out[0]);
  const Type& type = program_.type(eqn.out[0]);
  const bool tiny =
      planner_.target_.in_registers(elements_of(type)) && kernel::at_most(kernel::product_of(form.sum_sizes), 16);
  auto strided = form.strides(program_.type(eqn.in[0]).shape.dims(), program_.type(eqn.in[1]).shape.dims());
  if (strided) strided->dtype = type.dtype;
  if (strided && (is_one_sum(*strided) || (eqn.numerics == Numerics::strict && is_inexact(type.dtype))))
    strided.reset();
  std::array<Var, 2> factors = factors_of(program_, eqn, maker_);
  if (places_[eqn.in[0]] && places_[eqn.in[1]]) factors = {eqn.in[0], eqn.in[1]};  // converted already
  const bool library =
      factors[0] != eqn.in[0] ||
      (strided && is_byte(type.dtype) &&
       has_library_of_bytes(strided->m, strided->n, strided->batch * strided->m * strided->n * strided->k));
  const bool integer = is_integer(type.dtype) && !tiny && strided && !library;
  const bool by_columns = integer && pays_to_lay_out(*strided);
  if (!tiny && strided && type.dtype != DType::bool_ && !by_columns && !(integer && streams(*strided))) {
    const Place a = stored(factors[0]), b = stored(factors[1]);
    return matrix_product(eqn, *strided, a, b, to);
  }
  if (!tiny && !strided && is_inexact(type.dtype) && eqn.numerics != Numerics::strict &&
      merged_product(eqn, factors, form, to))
    return;
  std::optional<LaidOut> columns;
  if (by_columns) columns = laid_out(eqn.in[1], joined({form.batch_b, form.contract_b, form.free_b}));
  inline_product(eqn, form, to, tiny, columns);
}

// Axes that are batch, free or summed and do not lie behind each other in an operand are laid out so, where that is
// little beside the product: a product of matrices then.
bool BlockPlanner::merged_product(const Eqn& eqn, const std::array<Var, 2>& operands, const ProductForm& form,
                                  const Place& to) {
  constexpr double fewest = 1 << 16, times = 16;  // multiplications, and as many for each element that moves
  const Type &a = program_.type(operands[0]), &b = program_.type(operands[1]);
  const auto axes_a = joined({form.batch_a, form.free_a, form.contract_a});
  const auto axes_b = joined({form.batch_b, form.contract_b, form.free_b});
  const Type laid_a = in_order(a, axes_a), laid_b = in_order(b, axes_b);
  const double work = form.multiplications(program_.type(eqn.out[0]));
  for (const auto& [lays_a, lays_b] : {std::pair(true, false), {false, true}, {true, true}}) {
    ProductForm merged = form;
    if (lays_a) number({&merged.batch_a, &merged.free_a, &merged.contract_a});
    if (lays_b) number({&merged.batch_b, &merged.contract_b, &merged.free_b});
    const auto strided = merged.strides((lays_a ? laid_a : a).shape.dims(), (lays_b ? laid_b : b).shape.dims());
    const double moved = (lays_a ? estimated_elements(a) : 0) + (lays_b ? estimated_elements(b) : 0);
    if (!strided || work < fewest || work < times * moved) continue;
    const Place left = lays_a ? laid_out(operands[0], axes_a).place : stored(operands[0]);
    const Place right = lays_b ? laid_out(operands[1], axes_b).place : stored(operands[1]);
    matrix_product(eqn, *strided, left, right, to);
    return true;
  }
  return false;
}

void BlockPlanner::matrix_product(const Eqn& eqn, kernel::Product p, const Place& a, const Place& b, const Place& to) {
  p.dtype = program_.type(eqn.out[0]).dtype;
  p.a = a.slot, p.b = b.slot, p.c = to.slot;
  p.a_offset = a.offset, p.b_offset = b.offset, p.c_offset = to.offset;
  places_[eqn.out[0]] = to;
  block_.push_back(std::move(p));
}

BlockPlanner::LaidOut BlockPlanner::laid_out(Var b, std::span<const std::int64_t> axes) {
  stored(b);
  const Type type = in_order(program_.type(b), axes);
  const Place to = planner_.temporary(type);
  begin_nest(type.shape.dims(), false);
  std::vector<Expr> index(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) index[static_cast<std::size_t>(axes[i])] = nest_.index[i];
  const Expr value = element(b, index);
  block_.push_back(
      kernel::Nest{nest_.vars, nest_.extents, {{to.slot, kernel_offset(type, nest_.index), value, {}}}, true});
  return {to, type};
}

// Small (or oddly laid out) products as a nest of sums; every step of a small sum is written out, starting with its
// first product.
void BlockPlanner::inline_product(const Eqn& eqn, const ProductForm& form, const Place& to, bool unrolled,
                                  const std::optional<LaidOut>& columns) {
  stored(eqn.in[0]), stored(eqn.in[1]);
  const Type& type = program_.type(eqn.out[0]);
  const bool logical = type.dtype == DType::bool_;
  const auto extent = sizes(eqn.out[0]);
  begin_nest(extent, false);
  // Products of f16 and bf16 are summed in f32.
  const bool half = is_narrow(type.dtype);
  const auto of_b = [&](std::span<const Expr> k) {
    if (!columns) return element(eqn.in[1], form.index_b<Expr>(nest_.index, k));
    const auto batch = static_cast<std::ptrdiff_t>(form.batch_b.size());
    std::vector<Expr> index(nest_.index.begin(), nest_.index.begin() + batch);
    index.insert(index.end(), k.begin(), k.end());
    index.insert(index.end(), nest_.index.begin() + batch + static_cast<std::ptrdiff_t>(form.free_a.size()),
                 nest_.index.end());
    return load_of(columns->place, type.dtype, kernel_offset(columns->type, index));
  };
  const auto term = [&](std::span<const Expr> k) {
    Expr a = element(eqn.in[0], form.index_a<Expr>(nest_.index, k)), b = of_b(k);
    if (half) a = kernel::convert(DType::f32, a), b = kernel::convert(DType::f32, b);
    return kernel::binary(logical ? kernel::Binary::and_ : kernel::Binary::mul, a, b);
  };
  const Expr offset = to.offset + kernel_offset(type, nest_.index);
  places_[eqn.out[0]] = to;
  if (unrolled && kernel::product_of(form.sum_sizes) != Dim(0)) {
    Expr sum;
    for_each_index(Shape(form.sum_sizes).sizes(), [&](std::span<const std::int64_t> index) {
      std::vector<Expr> k(index.begin(), index.end());
      const Expr next = term(k);
      sum = sum ? kernel::binary(logical ? kernel::Binary::or_ : kernel::Binary::add, sum, next) : next;
    });
    block_.push_back(
        kernel::Nest{nest_.vars, nest_.extents, {{to.slot, offset, kernel::convert(type.dtype, sum), {}}}, true});
    return;
  }
  kernel::Reduce r{.outer_vars = nest_.vars,
                   .outer_sizes = nest_.extents,
                   .inner_sizes = form.sum_sizes,
                   .combine = logical ? kernel::Combine::or_ : kernel::Combine::add,
                   .slot = to.slot,
                   .offset = offset};
  std::vector<Expr> k;
  for (std::size_t i = 0; i < form.sum_sizes.size(); ++i) {
    r.inner_vars.push_back(planner_.fresh_var());
    k.push_back(kernel::variable(r.inner_vars.back()));
  }
  r.value = term(k);
  const Scalar nothing = Scalar::zero(r.value.dtype());
  r.initial = kernel::constant(r.value.dtype(), nothing.data());
  reduce(eqn, std::move(r));
}

}  // namespace tenon
