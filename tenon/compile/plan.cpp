#include "tenon/compile/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tenon/base/error.h"
#include "tenon/compile/arena.h"
#include "tenon/compile/blocks.h"
#include "tenon/compile/copies.h"
#include "tenon/compile/fusion.h"
#include "tenon/compile/merge.h"
#include "tenon/compile/pack.h"
#include "tenon/compile/pieces.h"
#include "tenon/ops/index_map.h"
#include "tenon/ops/region.h"
#include "tenon/ops/structure.h"

namespace tenon {
namespace {

using kernel::Block;
using kernel::Expr;
using kernel::SlotId;
using Kind = LowerStructure::Kind;

constexpr std::int64_t local_limit = 64;  // elements that may live in registers
const Expr zero(std::int64_t(0));

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

std::int64_t elements_of(const Type& type) {
  std::int64_t n = 1;
  for (const Dim& d : type.shape) n *= d.value();
  return n;
}

// Where a value is: row-major from an offset.
struct Place {
  SlotId slot;
  Expr offset;
  friend bool operator==(const Place& x, const Place& y) {
    return x.slot == y.slot && (x.offset.identity() == y.offset.identity() ||
                                (kernel::is_constant(x.offset, 0) && kernel::is_constant(y.offset, 0)));
  }
};

class Planner {
 public:
  Planner(const Program& program, Report* report) : program_(program), report_(report) {
    function_.name = program.name().empty() ? "program" : program.name();
  }

  kernel::Function run() {
    std::vector<Place> inputs, outputs;
    for (Var v : program_.inputs()) inputs.push_back(argument(program_.type(v)));
    for (Var v : program_.outputs()) outputs.push_back(argument(program_.type(v)));
    function_.body = block(program_, inputs, outputs, {}, {});
    return std::move(function_);
  }

 private:
  friend class BlockPlanner;
  Place argument(const Type& type) {
    function_.slots.push_back({type.dtype, elements_of(type), kernel::Slot::Place::argument, function_.arguments++});
    return {static_cast<SlotId>(function_.slots.size() - 1), zero};
  }
  Place temporary(const Type& type) {
    kernel::Slot slot{type.dtype, elements_of(type), kernel::Slot::Place::local};
    if (slot.elements > local_limit) slot.place = kernel::Slot::Place::arena;
    function_.slots.push_back(slot);
    return {static_cast<SlotId>(function_.slots.size() - 1), zero};
  }
  std::uint32_t fresh_var() { return function_.vars++; }
  Block block(const Program& program, const std::vector<Place>& inputs, const std::vector<Place>& outputs,
              const std::vector<Place>& carries, const std::set<SlotId>& updated);

  const Program& program_;
  Report* report_;
  kernel::Function function_;
};

// Plans the eqns of one Program (or region) as statements.
class BlockPlanner {
 public:
  BlockPlanner(Planner& planner, const Program& program, const std::vector<Place>& outputs,
               const std::set<SlotId>& updated)
      : planner_(planner),
        program_(program),
        fusion_(fuse(program)),
        outputs_(outputs),
        places_(program.vars()),
        maker_(program.vars(), nullptr),
        pending_(program.vars(), false) {
    writable_slots_ = updated;
    for (const Eqn& eqn : program.eqns())
      for (Var v : eqn.out) maker_[v] = &eqn;
    last_use_.assign(program.vars(), 0);
    for (std::size_t e = 0; e < program.eqns().size(); ++e)
      for (Var v : program.eqns()[e].in) last_use_[v] = e + 1;
    for (Var v : program.outputs()) last_use_[v] = program.eqns().size() + 1;
    if (planner.report_ != nullptr) report_cuts(*planner.report_);
  }

  // `carries`: where the first outputs go at the end, after everything has been read.
  Block run(const std::vector<Place>& inputs, const std::vector<Place>& carries) {
    for (std::size_t i = 0; i < inputs.size(); ++i) places_[program_.inputs()[i]] = inputs[i];
    // An output that nothing else names is computed right where it belongs.
    for (std::size_t i = 0; i < outputs_.size(); ++i) wanted_.emplace(program_.outputs()[i], outputs_[i]);
    for (at_ = 0; at_ < program_.eqns().size(); ++at_) {
      const Eqn& eqn = program_.eqns()[at_];
      const std::size_t before = block_.size();
      if (std::holds_alternative<LowerElement>(*eqn.op->lower)) {
        if (fusion_.stored[eqn.out[0]]) pending_[eqn.out[0]] = true;
      } else if (std::holds_alternative<LowerReduction>(*eqn.op->lower)) {
        reduction(eqn);
      } else {
        structure(eqn, std::get<LowerStructure>(*eqn.op->lower).kind);
      }
      asked_for_by(eqn.where, before);
    }
    for (Var v = 0; v < program_.vars(); ++v)
      if (pending_[v]) flush(v);
    const auto is_at = [&](Var v, const Place& place) { return stored(v) == place; };
    const auto at_home = [&](std::size_t i) { return i < carries.size() && is_at(program_.outputs()[i], carries[i]); };
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Var v = program_.outputs()[i];
      const std::size_t before = block_.size();
      if (!at_home(i) && !is_at(v, outputs_[i])) copy(outputs_[i], stored(v), program_.type(v));
      asked_for_by(line_of(v), before);
    }
    for (std::size_t i = 0; i < carries.size(); ++i) {
      const std::size_t before = block_.size();
      if (!at_home(i) && !(carries[i] == outputs_[i]))
        copy(carries[i], outputs_[i], program_.type(program_.outputs()[i]));
      asked_for_by(line_of(program_.outputs()[i]), before);
    }
    return std::move(block_);
  }

 private:
  void report_cuts(Report& report) const {
    for (const Eqn& eqn : program_.eqns()) {
      const Var v = eqn.out.empty() ? 0 : eqn.out[0];
      if (eqn.out.empty() || !fusion_.stored[v]) continue;
      const auto& [phrase, reader] = fusion_.reasons[v];
      const Type& type = program_.type(v);
      report.cuts.push_back({fmt::format("{} {}", eqn.op->name, type.text()),
                             elements_of(type) * static_cast<std::int64_t>(size_of(type.dtype)),
                             reader.empty() ? std::string(phrase) : fmt::format("{} {}", phrase, reader), eqn.where});
    }
  }

  const std::vector<std::int64_t> sizes(Var v) const { return program_.type(v).shape.sizes(); }

  Source line_of(Var v) const { return maker_[v] == nullptr ? Source() : maker_[v]->where; }
  // Statements from `first` on that do not know yet whose they are.
  void asked_for_by(const Source& where, std::size_t first) {
    for (std::size_t i = first; i < block_.size(); ++i)
      std::visit(
          [&](auto& held) {
            if constexpr (requires { held.where; })
              if (!held.where.known()) held.where = where;
          },
          block_[i].held());
  }

  void copy(const Place& to, const Place& from, const Type& type) {
    const std::int64_t row = type.rank() == 0 ? 1 : type.shape[type.rank() - 1].value();
    block_.push_back(kernel::Copy{to.slot, from.slot, to.offset, from.offset, elements_of(type), row});
  }

  Place place_for(Var v) {
    if (const auto found = wanted_.find(v); found != wanted_.end()) return found->second;
    return planner_.temporary(program_.type(v));
  }

  // The element of a variable at an index: a load, or the expression of the eqn that makes it.
  Expr element(Var v, std::span<const Expr> index) {
    if (pending_[v] && in_nest_.contains(v) && same(index, nest_index_)) return in_nest_.at(v);
    if (pending_[v]) flush_before(v);
    if (places_[v]) {
      const Place& place = *places_[v];
      const Type& type = program_.type(v);
      if (type.rank() > 0 && !same(index, nest_index_)) identity_only_ = false;
      const Expr offset =
          flat_ && same(index, nest_index_) && sizes(v) == nest_sizes_ ? *flat_ : kernel_offset(type, index);
      return load_of(place, type.dtype, offset);
    }
    const Eqn& eqn = *maker_[v];
    const auto key = std::pair(v, key_of(index));
    if (const auto found = memo_.find(key); found != memo_.end()) return found->second.second;
    std::vector<Type> in, out;
    for (Var i : eqn.in) in.push_back(program_.type(i));
    for (Var o : eqn.out) out.push_back(program_.type(o));
    const auto& rule = std::get<LowerElement>(*eqn.op->lower).rule;
    const Expr value = rule(
        {eqn.params, in, out, index, [&](std::size_t k, std::span<const Expr> i) { return element(eqn.in[k], i); }});
    memo_.emplace(key, std::pair(std::vector<Expr>(index.begin(), index.end()),
                                 value));  // the index is kept alive: it is the key
    return value;
  }
  static Expr kernel_offset(const Type& type, std::span<const Expr> index) {
    const auto sizes = type.shape.sizes();
    return row_major<Expr>(sizes, index);
  }
  // Loads of one place are one node, so that a nest reads it once.
  Expr load_of(const Place& place, DType dtype, const Expr& offset) {
    const Expr at = place.offset + offset;
    const auto key = std::pair(place.slot, at.identity());
    if (const auto found = loads_.find(key); found != loads_.end()) return found->second;
    return loads_.emplace(key, kernel::load(place.slot, dtype, at)).first->second;
  }
  static bool same(std::span<const Expr> a, std::span<const Expr> b) {
    return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return x.identity() == y.identity(); });
  }
  static std::vector<const void*> key_of(std::span<const Expr> index) {
    std::vector<const void*> key;
    for (const Expr& e : index) key.push_back(e.identity());
    return key;
  }

  // A pending value is needed elsewhere than at this nest's own index: it is stored first.
  void flush_before(Var v) {
    if (building_.contains(v)) throw Split{v};
    SavedNest saved(*this);
    in_nest_.clear();
    flush(v);
  }

  struct SavedNest {
    explicit SavedNest(BlockPlanner& p)
        : planner(p),
          in_nest(std::move(p.in_nest_)),
          vars(p.nest_vars_),
          index(std::move(p.nest_index_)),
          sizes(p.nest_sizes_),
          flat(p.flat_),
          identity(p.identity_only_),
          memo(std::move(p.memo_)),
          loads(std::move(p.loads_)) {
      p.memo_.clear();
      p.loads_.clear();
    }
    ~SavedNest() {
      planner.in_nest_ = std::move(in_nest);
      planner.nest_vars_ = vars;
      planner.nest_index_ = std::move(index);  // the same memory: spans of it are in use
      planner.nest_sizes_ = sizes;
      planner.flat_ = flat;
      planner.identity_only_ = identity;
      planner.memo_ = std::move(memo);
      planner.loads_ = std::move(loads);
    }
    BlockPlanner& planner;
    std::map<Var, Expr> in_nest;
    std::vector<std::uint32_t> vars;
    std::vector<Expr> index;
    std::vector<std::int64_t> sizes;
    std::optional<Expr> flat;
    bool identity;
    std::map<std::pair<Var, std::vector<const void*>>, std::pair<std::vector<Expr>, Expr>> memo;
    std::map<std::pair<SlotId, const void*>, Expr> loads;
  };

  // Stores a pending value, with all other pending values of its group in the same nest.
  void flush(Var v) {
    std::vector<Var> group;
    for (Var o = 0; o < program_.vars(); ++o)
      if (pending_[o] && !building_.contains(o) && fusion_.group[o] == fusion_.group[v]) group.push_back(o);
    while (!group.empty()) {
      try {
        return flush_together(group);
      } catch (const Split& split) {  // one is read by another at other indices: it is stored in a nest before
        flush_together({split.first});
        std::erase(group, split.first);
      }
    }
  }
  struct Split {
    Var first;
  };

  void flush_together(const std::vector<Var>& group) {
    building_.insert(group.begin(), group.end());
    kernel::Nest nest;
    try {
      const auto extent = sizes(group[0]);
      nest = build_nest(group, extent, false);
      // Everything is read at the nest's own index: one flat loop serves. Small arrays keep their rows: all that reads
      // and writes them agrees in pieces then, and they become registers.
      if (identity_only_ && extent.size() > 1 && elements_of(program_.type(group[0])) > local_limit)
        nest = build_nest(group, extent, true);
    } catch (const Split&) {
      for (Var o : group) building_.erase(o), pending_[o] = true;
      throw;
    }
    for (Var o : group) {
      building_.erase(o);
      pending_[o] = false;
      places_[o] = group_places_.at(o);
    }
    nest.where = line_of(group.back());
    block_.push_back(std::move(nest));
  }

  kernel::Nest build_nest(const std::vector<Var>& group, const std::vector<std::int64_t>& extent, bool flat) {
    begin_nest(extent, flat);
    kernel::Nest nest{
        nest_vars_, flat ? std::vector<std::int64_t>{elements_of(program_.type(group[0]))} : extent, {}, true};
    for (Var o : group) {
      if (!group_places_.contains(o)) group_places_.emplace(o, place_for(o));
      const Place& place = group_places_.at(o);
      pending_[o] = false;  // its own expression, not a load of it
      const Expr value = element(o, nest_index_);
      pending_[o] = true;
      in_nest_.insert_or_assign(o, value);
      nest.stores.push_back(
          {place.slot, place.offset + (flat ? *flat_ : kernel_offset(program_.type(o), nest_index_)), value, {}});
    }
    return nest;
  }

  void begin_nest(const std::vector<std::int64_t>& extent, bool flat) {
    in_nest_.clear();
    memo_.clear();
    loads_.clear();
    nest_index_.clear();
    nest_vars_.clear();
    flat_.reset();
    nest_sizes_ = extent;
    identity_only_ = true;
    if (flat) {
      nest_vars_.push_back(planner_.fresh_var());
      flat_ = kernel::variable(nest_vars_[0]);
      nest_index_ = from_row_major<Expr>(extent, *flat_);
      return;
    }
    for (std::size_t i = 0; i < extent.size(); ++i) {
      nest_vars_.push_back(planner_.fresh_var());
      nest_index_.push_back(kernel::variable(nest_vars_.back()));
    }
  }

  // The place of a variable, storing it now if it is not in memory yet.
  Place stored(Var v) {
    if (places_[v]) return *places_[v];
    if (!pending_[v]) {
      pending_[v] = true;
      fusion_.group[v] = fusion_.fresh_group();
    }
    flush(v);
    return *places_[v];
  }
  // As stored(), right in a given place where nothing else needs the value.
  void store_into(Var v, const Place& to, bool last) {
    if (places_[v] || wanted_.contains(v) || !last) return copy(to, stored(v), program_.type(v));
    wanted_.emplace(v, to);
    stored(v);
    wanted_.erase(v);
  }

  void reduction(const Eqn& eqn) {
    const Var x = eqn.in[0], y = eqn.out[0];
    const std::vector<Type> in{program_.type(x)};
    const ReductionForm form = std::get<LowerReduction>(*eqn.op->lower).rule(eqn.params, in);
    const auto extent = sizes(x);
    begin_nest(extent, false);
    kernel::Reduce r{.combine = form.combine,
                     .initial = kernel::constant(in[0].dtype, form.initial.data()),
                     .value = element(x, nest_index_)};
    if (is_half(in[0].dtype)) r.initial = kernel::convert(DType::f32, r.initial);
    const auto accumulated = [&](const Expr& x) { return is_half(x.dtype()) ? kernel::convert(DType::f32, x) : x; };
    r.value = accumulated(r.value);
    std::vector<Expr> outer;
    for (std::size_t i = 0; i < extent.size(); ++i) {
      const bool inner = std::ranges::binary_search(form.axes, static_cast<std::int64_t>(i));
      (inner ? r.inner_vars : r.outer_vars).push_back(nest_vars_[i]);
      (inner ? r.inner_sizes : r.outer_sizes).push_back(extent[i]);
      if (!inner) outer.push_back(nest_index_[i]);
    }
    const bool flat = identity_only_ && r.outer_vars.empty() && extent.size() > 1 && elements_of(in[0]) > local_limit;
    if (flat) {
      begin_nest(extent, true);
      r.value = accumulated(element(x, nest_index_));
      r.inner_vars = nest_vars_;
      r.inner_sizes = {elements_of(in[0])};
    }
    const Place to = place_for(y);
    r.slot = to.slot;
    r.offset = to.offset + kernel_offset(program_.type(y), outer);
    places_[y] = to;
    block_.push_back(std::move(r));
  }

  // Whether an expression that is not stored yet reads x, through others that are not stored.
  bool reads(Var v, Var x) const {
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
  std::vector<Var> later_readers(Var x) const {
    std::vector<Var> readers;
    for (std::size_t e = 0; e < at_; ++e)
      for (Var v : program_.eqns()[e].out)
        if (!places_[v] && last_use_[v] > at_ + 1 && reads(v, x)) readers.push_back(v);
    return readers;
  }

  void structure(const Eqn& eqn, Kind kind) {
    switch (kind) {
      case Kind::product:
        return product(eqn);
      case Kind::update_slice:
        return update(eqn);
      case Kind::scatter:
        return scatter(eqn);
      case Kind::loop:
        return loop(eqn);
      case Kind::cond:
        return branch(eqn);
      default:
        throw CompileError(fmt::format("plan: {} has no native form.", eqn.op->name));
    }
  }

  void product(const Eqn& eqn) {
    const ProductForm form = product_form(eqn.params, program_.type(eqn.in[0]), program_.type(eqn.in[1]));
    const Place to = place_for(eqn.out[0]);
    const Type& type = program_.type(eqn.out[0]);
    const std::int64_t n = elements_of(type);
    std::int64_t sum = 1;
    for (std::int64_t s : form.sum_sizes) sum *= s;
    const bool tiny = n <= local_limit && sum <= 16;
    const auto strided = form.strides(program_.type(eqn.in[0]).shape.sizes(), program_.type(eqn.in[1]).shape.sizes());
    if (!tiny && strided && type.dtype != DType::bool_) {
      const Place a = stored(eqn.in[0]), b = stored(eqn.in[1]);
      kernel::Product p = *strided;
      p.dtype = type.dtype;
      p.a = a.slot, p.b = b.slot, p.c = to.slot;
      p.a_offset = a.offset, p.b_offset = b.offset, p.c_offset = to.offset;
      places_[eqn.out[0]] = to;
      block_.push_back(p);
      return;
    }
    inline_product(eqn, form, to, tiny);
  }

  // Small (or oddly laid out) products as a nest of sums; every step of a small sum is written out, starting with its
  // first product.
  void inline_product(const Eqn& eqn, const ProductForm& form, const Place& to, bool unrolled) {
    stored(eqn.in[0]), stored(eqn.in[1]);
    const Type& type = program_.type(eqn.out[0]);
    const bool logical = type.dtype == DType::bool_;
    const auto extent = sizes(eqn.out[0]);
    begin_nest(extent, false);
    // Products of f16 and bf16 are summed in f32.
    const bool half = is_half(type.dtype);
    const auto term = [&](std::span<const Expr> k) {
      Expr a = element(eqn.in[0], form.index_a<Expr>(nest_index_, k)),
           b = element(eqn.in[1], form.index_b<Expr>(nest_index_, k));
      if (half) a = kernel::convert(DType::f32, a), b = kernel::convert(DType::f32, b);
      return kernel::binary(logical ? kernel::Binary::and_ : kernel::Binary::mul, a, b);
    };
    const Expr offset = to.offset + kernel_offset(type, nest_index_);
    places_[eqn.out[0]] = to;
    std::int64_t total = 1;
    for (std::int64_t s : form.sum_sizes) total *= s;
    if (unrolled && total > 0) {
      Expr sum;
      for_each_index(form.sum_sizes, [&](std::span<const std::int64_t> index) {
        std::vector<Expr> k(index.begin(), index.end());
        const Expr next = term(k);
        sum = sum ? kernel::binary(logical ? kernel::Binary::or_ : kernel::Binary::add, sum, next) : next;
      });
      block_.push_back(
          kernel::Nest{nest_vars_, extent, {{to.slot, offset, kernel::convert(type.dtype, sum), {}}}, true});
      return;
    }
    kernel::Reduce r{.outer_vars = nest_vars_,
                     .outer_sizes = extent,
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
    block_.push_back(std::move(r));
  }

  // --- updates in place ---
  // The place that the result of an update starts from: the operand's own, where nothing reads the operand's old value
  // later and the memory is ours; else a copy.
  Place overwritten(const Eqn& eqn) {
    const Var x = eqn.in[0], y = eqn.out[0];
    for (Var v : later_readers(x)) stored(v);  // of the old value
    const bool ours = places_[x] && writable_slots_.contains(places_[x]->slot);
    if (ours && last_use_[x] <= at_ + 1) return *places_[x];
    const Place to = place_for(y);
    store_into(x, to, last_use_[x] <= at_ + 1);
    writable_slots_.insert(to.slot);
    return to;
  }

  void update(const Eqn& eqn) {
    const Var x = eqn.in[0], part = eqn.in[1];
    std::vector<Expr> starts;
    const auto whole = sizes(x), extent = sizes(part);
    std::vector<Place> start_places;
    for (std::size_t i = 2; i < eqn.in.size(); ++i) start_places.push_back(stored(eqn.in[i]));
    if (pending_[part]) flush(part);
    if (reads(part, x)) stored(part);
    const Place to = overwritten(eqn);
    begin_nest(extent, false);
    std::vector<Expr> index;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Expr start =
          kernel::convert(DType::i64, load_of(start_places[i], program_.type(eqn.in[i + 2]).dtype, zero));
      const Expr inside = kernel::binary(kernel::Binary::max,
                                         kernel::binary(kernel::Binary::min, start, Expr(whole[i] - extent[i])), zero);
      index.push_back(whole[i] == extent[i] ? nest_index_[i] : inside + nest_index_[i]);
    }
    const Expr value = element(part, nest_index_);
    block_.push_back(
        kernel::Nest{nest_vars_, extent, {{to.slot, to.offset + row_major<Expr>(whole, index), value, {}}}, true});
    places_[eqn.out[0]] = to;
  }

  void scatter(const Eqn& eqn) {
    const Type& type = program_.type(eqn.in[0]);
    const ScatterForm form = scatter_form(eqn.params, type, program_.type(eqn.in[1]), program_.type(eqn.in[2]));
    stored(eqn.in[1]), stored(eqn.in[2]);
    const Place to = overwritten(eqn);
    const auto extent = sizes(eqn.in[2]);
    begin_nest(extent, false);
    const ScatterForm::Target target =
        form.target(nest_index_, [&](std::span<const Expr> index) { return element(eqn.in[1], index); });
    const Expr offset = to.offset + row_major<Expr>(type.shape.sizes(), target.index);
    Expr value = element(eqn.in[2], nest_index_);
    if (form.combine) value = kernel::binary(*form.combine, kernel::load(to.slot, type.dtype, offset), value);
    block_.push_back(kernel::Nest{nest_vars_, extent, {{to.slot, offset, value, target.inside}}, false});
    places_[eqn.out[0]] = to;
  }

  // --- control flow ---
  void loop(const Eqn& eqn) {
    const auto& p = eqn.params.as<LoopParams>();
    const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
    std::vector<Place> inputs, outputs, ends;
    for (std::size_t i = 0; i < consts; ++i) inputs.push_back(stored(eqn.in[i]));
    const std::uint32_t var = planner_.fresh_var();
    const std::int64_t count = p.length ? p.length->value() : 0;
    const Expr step = p.reverse ? Expr(count - 1) - kernel::variable(var) : kernel::variable(var);
    const auto at_step = [&](const Place& whole, const Type& type) {
      const std::int64_t each = type.shape[0].value() == 0 ? 0 : elements_of(type) / type.shape[0].value();
      return Place{whole.slot, whole.offset + step * Expr(each)};
    };
    std::set<SlotId> updated;            // carries that the body may update in place
    std::map<std::size_t, Place> views;  // stacked outputs that lie in a carry's history, at a step
    for (std::size_t i = 0; i < carries; ++i) {
      const Var initial = eqn.in[consts + i];
      const bool last =
          last_use_[initial] <= at_ + 1 && std::ranges::count(eqn.in, initial) == 1 && later_readers(initial).empty();
      if (const auto history = carry_history(eqn, i, step)) {
        store_into(initial, history->begin, last);
        inputs.push_back(history->before), outputs.push_back(history->after), ends.push_back(history->after);
        places_[eqn.out[i]] = history->end;
        for (const std::size_t k : history->stacked_before) views.emplace(k, history->before);
        for (const std::size_t k : history->stacked_after) views.emplace(k, history->after);
        continue;
      }
      // A small carry lives in registers; where it is wanted, it goes when the loop ends.
      const Type& type = program_.type(eqn.out[i]);
      const Place carry = elements_of(type) <= local_limit ? planner_.temporary(type) : place_for(eqn.out[i]);
      store_into(initial, carry, last);
      inputs.push_back(carry), outputs.push_back(planner_.temporary(type)), ends.push_back(carry);
      updated.insert(carry.slot);
    }
    for (std::size_t i = consts + carries; i < eqn.in.size(); ++i)
      inputs.push_back(at_step(stored(eqn.in[i]), program_.type(eqn.in[i])));
    for (std::size_t i = carries; i < eqn.out.size(); ++i) {
      if (const auto view = views.find(i); view != views.end()) {
        outputs.push_back(view->second);
        continue;
      }
      places_[eqn.out[i]] = place_for(eqn.out[i]);
      outputs.push_back(at_step(*places_[eqn.out[i]], program_.type(eqn.out[i])));
    }
    Block body = planner_.block(*p.body, inputs, outputs, ends, updated);
    if (p.cond) {
      const Place running = planner_.temporary(Type::array(DType::bool_, {}));
      const std::vector<Place> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(consts + carries));
      Block before = planner_.block(*p.cond, state, {running}, {}, {});
      block_.push_back(
          kernel::While{std::move(before), kernel::load(running.slot, DType::bool_, zero), std::move(body)});
    } else {
      block_.push_back(kernel::For{var, count, std::move(body)});
    }
    for (std::size_t i = 0; i < carries; ++i) {
      if (!places_[eqn.out[i]]) places_[eqn.out[i]] = ends[i];
      if (updated.contains(ends[i].slot)) writable_slots_.insert(ends[i].slot);
    }
  }

  // All values of a carry, one behind the other, where the loop stacks them anyway: before each step, after it, or
  // both. The stacked outputs are views of it then, and no step copies. Of large carries: small ones live in registers.
  struct History {
    Place begin, before, after, end;
    std::vector<std::size_t> stacked_before, stacked_after;  // outputs of the loop
  };
  std::optional<History> carry_history(const Eqn& eqn, std::size_t carry, const Expr& step) {
    const auto& p = eqn.params.as<LoopParams>();
    const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
    const Type& type = program_.type(eqn.out[carry]);
    const Program& body = *p.body;
    if (p.cond || !p.length || elements_of(type) <= local_limit) return {};
    const Var after = body.outputs()[carry], before = body.inputs()[consts + carry];
    std::vector<std::size_t> stacked_before, stacked_after;
    for (std::size_t i = carries; i < eqn.out.size(); ++i) {
      if (wanted_.contains(eqn.out[i])) continue;
      const Var o = body.outputs()[i];
      if (o == before) stacked_before.push_back(i);
      if (o == after &&
          std::ranges::find(body.outputs(), o) - body.outputs().begin() == static_cast<std::ptrdiff_t>(carry))
        stacked_after.push_back(i);
    }
    if (before == after || (stacked_before.empty() && stacked_after.empty())) return {};
    const std::int64_t each = elements_of(type), count = p.length->value();
    const SlotId slot = planner_.temporary(Type::array(type.dtype, {count + 1, each})).slot;
    const Expr first(p.reverse ? each : std::int64_t(0)), second(p.reverse ? std::int64_t(0) : each);
    for (const std::size_t i : stacked_before) places_[eqn.out[i]] = Place{slot, first};
    for (const std::size_t i : stacked_after) places_[eqn.out[i]] = Place{slot, second};
    const Expr at = step * Expr(each);
    return History{{slot, Expr(p.reverse ? count * each : 0)}, {slot, at + first},        {slot, at + second},
                   {slot, Expr(p.reverse ? 0 : count * each)}, std::move(stacked_before), std::move(stacked_after)};
  }

  void branch(const Eqn& eqn) {
    const auto& p = eqn.params.as<CondParams>();
    std::vector<Place> inputs, outputs;
    const Place index = stored(eqn.in[0]);
    for (std::size_t i = 1; i < eqn.in.size(); ++i) inputs.push_back(stored(eqn.in[i]));
    for (Var v : eqn.out) {
      outputs.push_back(place_for(v));
      places_[v] = outputs.back();
    }
    const Expr chosen =
        kernel::binary(kernel::Binary::max,
                       kernel::binary(kernel::Binary::min,
                                      kernel::convert(DType::i64, kernel::load(index.slot, DType::i32, index.offset)),
                                      Expr(static_cast<std::int64_t>(p.branches.size()) - 1)),
                       zero);
    kernel::Switch s{chosen, {}};
    for (const ProgramRef& b : p.branches) s.branches.push_back(planner_.block(*b, inputs, outputs, {}, {}));
    block_.push_back(std::move(s));
  }

  Planner& planner_;
  const Program& program_;
  Fusion fusion_;
  std::vector<Place> outputs_;
  std::vector<std::optional<Place>> places_;
  std::vector<const Eqn*> maker_;
  std::vector<bool> pending_;
  std::vector<std::size_t> last_use_;
  std::map<Var, Place> wanted_, group_places_;
  std::set<Var> building_;
  std::set<SlotId> writable_slots_;
  std::size_t at_ = 0;
  Block block_;
  // The nest that is being built.
  std::vector<std::uint32_t> nest_vars_;
  std::vector<Expr> nest_index_;
  std::vector<std::int64_t> nest_sizes_;
  std::optional<Expr> flat_;
  bool identity_only_ = true;
  std::map<Var, Expr> in_nest_;
  std::map<std::pair<Var, std::vector<const void*>>, std::pair<std::vector<Expr>, Expr>> memo_;
  std::map<std::pair<SlotId, const void*>, Expr> loads_;
};

Block Planner::block(const Program& program, const std::vector<Place>& inputs, const std::vector<Place>& outputs,
                     const std::vector<Place>& carries, const std::set<SlotId>& updated) {
  return BlockPlanner(*this, program, outputs, updated).run(inputs, carries);
}

}  // namespace

namespace {

bool compiles(const Type& type) {
  if (!type.is_array() || !type.shape.known()) return false;
  return !is_complex(type.dtype);
}

}  // namespace

std::string why_not_native(const Program& program) {
  if (!program.size_params().empty()) return "its sizes are symbolic";
  for (const Type& type : program.parts().types)
    if (!compiles(type)) return fmt::format("{} has no native form", type.text());
  for (const Eqn& eqn : program.eqns()) {
    if (!eqn.op->lower) return fmt::format("{}: {}", eqn.op->name, eqn.op->lower.reason());
    if (std::holds_alternative<LowerCall>(*eqn.op->lower)) return fmt::format("{} was not inlined", eqn.op->name);
    if (const auto* structure = std::get_if<LowerStructure>(&*eqn.op->lower))
      if (structure->kind == Kind::host || structure->kind == Kind::list)
        return fmt::format("{} runs outside of native code", eqn.op->name);
    std::string inside;
    eqn.params.visit_programs([&](const ProgramRef& p) {
      if (p && inside.empty()) inside = why_not_native(*p);
    });
    if (!inside.empty()) return inside;
  }
  return {};
}

kernel::Function plan(const Program& program, Report* report) {
  kernel::Function function = Planner(program, report).run();
  split_into_pieces(function);
  forward_copies(function);
  pack_scalars(function);
  divide_into_blocks(function, block_limits());
  merge_reductions(function);
  lay_out_arena(function);
  return function;
}

}  // namespace tenon
