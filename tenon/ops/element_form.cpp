#include "tenon/ops/element_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_set>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/passes/split_nests.h"
#include "tenon/ops/indexing/index_map.h"

namespace tenon {
namespace {

using kernel::Expr;

// Whether an expression has a node of which this holds. Nodes are shared: each is looked at once.
bool any_node(const Expr& e, std::unordered_set<const void*>& seen, FunctionRef<bool(const Expr&)> holds) {
  if (!e || !seen.insert(e.identity()).second) return false;
  if (holds(e)) return true;
  return std::ranges::any_of(e.node().operands, [&](const auto& o) { return o && any_node(Expr(o), seen, holds); });
}
bool any_node(const Expr& e, FunctionRef<bool(const Expr&)> holds) {
  std::unordered_set<const void*> seen;
  return any_node(e, seen, holds);
}
bool is_load(const Expr& e) { return e.kind() == Expr::Kind::load; }
bool varies(const Expr& e) {
  return any_node(e, [](const Expr& n) { return n.kind() == Expr::Kind::variable; });
}
// Whether what is read at this offset is where data say, other data for each element.
bool is_where_data_say(const Expr& offset) {
  return any_node(offset, [](const Expr& n) { return is_load(n) && varies(n.operand(0)); });
}

// The nodes of a value that are no part of an offset.
void walk(const Expr& e, std::unordered_set<const void*>& seen, FunctionRef<void(const Expr&)> visit) {
  if (!e || !seen.insert(e.identity()).second) return;
  visit(e);
  if (is_load(e)) return;
  for (const auto& operand : e.node().operands)
    if (operand) walk(Expr(operand), seen, visit);
}

ElementForm form_of(const Expr& value) {
  constexpr double chosen_by_data = 16, chosen_by_index = 16;
  ElementForm form{.operations = 0};
  std::map<std::uint32_t, const void*> read;
  std::unordered_set<const void*> seen, apart;
  bool chooses = false;
  walk(value, seen, [&](const Expr& e) {
    if (!is_load(e)) {
      chooses = chooses || (e.kind() == Expr::Kind::select && varies(e.operand(0)) && !any_node(e.operand(0), is_load));
      form.operations += kernel::operations_of(e);
      const bool computes = e.kind() == Expr::Kind::unary || e.kind() == Expr::Kind::binary;
      if (e.kind() != Expr::Kind::select && any_node(e, is_load)) {
        form.arithmetic += kernel::operations_of(e);
        form.computed += computes ? 1 : 0;
      }
      const bool divides = e.kind() == Expr::Kind::binary &&
                           (e.node().binary == kernel::Binary::rem || e.node().binary == kernel::Binary::div);
      form.by_parts = form.by_parts || (divides && e.dtype() == DType::i64 && !any_node(e, is_load) && varies(e));
      return;
    }
    if (is_where_data_say(e.operand(0))) form.operations += chosen_by_data;
    const auto [at, first] = read.emplace(e.node().id, e.operand(0).identity());
    const bool another = !first && at->second != e.operand(0).identity();
    form.several = form.several || (e.node().id == 0 && another);
    if (varies(e.operand(0))) apart.insert(e.operand(0).identity());
  });
  if (chooses && apart.size() > 1) form.operations = std::max(form.operations, chosen_by_index);
  if (value.kind() == Expr::Kind::binary && is_load(value.operand(0)) && is_load(value.operand(1)) &&
      value.operand(0).node().id == 0 && value.operand(1).node().id == 1)
    form.of_two = value.node().binary;
  if (value.kind() == Expr::Kind::unary && is_load(value.operand(0)) && value.operand(0).node().id == 0)
    form.of_one = value.node().unary;
  form.view = is_load(value) && value.node().id == 0 && !any_node(value.operand(0), is_load);
  form.by_parts = form.by_parts && !read.empty();
  form.operations = std::max(form.operations, 1.);
  return form;
}

// The hash of indices, with what is loaded by its variable. Linear in the nodes.
class MapHash {
 public:
  explicit MapHash(const Eqn& eqn) : eqn_(eqn) {}
  Hash128 operator()(std::span<const Expr> index) {
    Hasher h;
    for (const Expr& e : index) h(of(e));
    return h.finish();
  }

 private:
  Hash128 of(const Expr& e) {
    if (const auto found = known_.find(e.identity()); found != known_.end()) return found->second;
    const Expr::Node& n = e.node();
    Hasher h;
    h(n.kind)(n.dtype)(n.unary)(n.binary).bytes(n.bits.data(), n.bits.size());
    h(e.kind() == Expr::Kind::load ? static_cast<std::uint64_t>(eqn_.in[n.id]) : std::uint64_t(n.id));
    for (const auto& operand : n.operands)
      if (operand) h(of(Expr(operand)));
    return known_.emplace(e.identity(), h.finish()).first->second;
  }
  const Eqn& eqn_;
  std::map<const void*, Hash128> known_;
};

bool is_own(std::span<const Expr> index) {
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i].kind() != Expr::Kind::variable || index[i].node().id != i) return false;
  return true;
}
bool is_affine(std::span<const Expr> index) {
  return std::ranges::all_of(index, [](const Expr& e) {
    const auto a = kernel::affine(e);
    return a && a->known() && a->terms.size() <= 1;
  });
}

// A size or a stride, of which only running tells what it is likely to be.
std::int64_t likely(const Dim& d) {
  constexpr double most = 9e18;
  if (d.known()) return d.value();
  return static_cast<std::int64_t>(std::clamp(kernel::estimate(d), -most, most));
}

// How many elements of a nest read the same element at this offset, at most.
double times_read(const kernel::Nest& nest, const Expr& offset) {
  const auto at = kernel::affine(offset);
  if (!at) return ElementForm::unbounded;
  double times = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;
  for (std::size_t i = 0; i < nest.vars.size(); ++i) {
    const Dim stride = at->coefficient(nest.vars[i]);
    if (stride == Dim(0))
      times *= kernel::estimate(nest.sizes[i]);
    else if (nest.sizes[i] == Dim(1))
      continue;
    else
      strides.emplace_back(std::abs(std::max(likely(stride), -std::numeric_limits<std::int64_t>::max())),
                           likely(nest.sizes[i]));
  }
  return kernel::lead_apart(std::move(strides)) ? times : ElementForm::unbounded;
}

// What the nest that stores the value reads of each operand, once it is cut where its own index decides: operands are
// the slots.
void count_reads(const Expr& value, const Type& type, ElementForm& form) {
  kernel::Nest whole{{}, type.shape.dims(), {}, true};
  std::vector<Expr> index;
  for (std::uint32_t i = 0; i < type.rank(); ++i) whole.vars.push_back(i), index.push_back(kernel::variable(i));
  if (is_load(value) && form.reads.size() == 1 && kernel::affine(value.operand(0)))  // nothing to cut
    return void(form.reads[0].times = times_read(whole, value.operand(0)));
  whole.stores.push_back({static_cast<kernel::SlotId>(-1), row_major<Expr>(type.shape.dims(), index), value, {}});
  kernel::Function function;
  function.body.push_back(std::move(whole));
  kernel::split_nests(function);
  form.cuts = static_cast<int>(function.body.size()) - 1;
  std::map<std::size_t, int> maps;
  for (ElementForm::Read& r : form.reads) r.elements = r.times = 0, ++maps[r.operand];
  for (const kernel::Statement& s : function.body) {
    const auto& nest = std::get<kernel::Nest>(s.held());
    std::map<std::size_t, double> times;
    for (const kernel::Store& store : nest.stores)
      kernel::visit_loads(store.value, [&](const Expr& load) {
        const double one = times_read(nest, load.operand(0));
        times[load.node().id] = std::max(times[load.node().id], one);
      });
    for (ElementForm::Read& r : form.reads) {
      if (!times.contains(r.operand)) continue;
      r.elements += kernel::estimate(nest.sizes);
      r.times += maps[r.operand] == 1 ? times[r.operand] : ElementForm::unbounded;
    }
  }
}

}  // namespace

ElementForm element_form(const Program& program, const Eqn& eqn, bool with_reads) {
  const auto* lower = rule_of<LowerElement>(*eqn.op);
  if (lower == nullptr) return {};
  std::vector<Type> in, out;
  for (const Var v : eqn.in) in.push_back(program.type(v));
  for (const Var v : eqn.out) out.push_back(program.type(v));
  std::vector<Expr> index;
  for (std::size_t i = 0; i < out[0].rank(); ++i) index.push_back(kernel::variable(static_cast<std::uint32_t>(i)));
  std::map<std::pair<std::size_t, std::vector<const void*>>, Expr> loads;  // of one place, one node
  std::vector<ElementForm::Read> reads;
  std::vector<Expr> kept;  // keys
  MapHash map_of(eqn);
  const auto load = [&](std::size_t k, std::span<const Expr> at) {
    std::vector<const void*> key;
    for (const Expr& e : at) key.push_back(e.identity());
    Expr& known = loads[{k, std::move(key)}];
    if (known) return known;
    kept.insert(kept.end(), at.begin(), at.end());
    known = kernel::load(static_cast<std::uint32_t>(k), in[k].dtype, row_major<Expr>(in[k].shape.dims(), at));
    if (with_reads && !lower->elementwise)
      reads.push_back({k, is_own(at) ? Hash128() : map_of(at), kernel::estimate(out[0].shape.elements()),
                       ElementForm::unbounded, is_affine(at)});
    return known;
  };
  const Expr value = lower->rule({eqn.params, in, out, index, load, [](const Dim&) {}});
  ElementForm form = form_of(value);
  form.reads = std::move(reads);
  if (!form.reads.empty()) count_reads(value, out[0], form);
  return form;
}

bool is_of_elements(const Program& program) {
  return std::ranges::all_of(
      program.eqns(), [](const Eqn& eqn) { return is_element(eqn) || rule_of<LowerReduction>(*eqn.op) != nullptr; });
}

}  // namespace tenon
