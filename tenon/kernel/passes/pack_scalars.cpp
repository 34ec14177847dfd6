#include "tenon/kernel/passes/pack_scalars.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tenon/base/hash.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/move_slots.h"

namespace tenon::kernel {
namespace {

constexpr std::size_t fewest_lanes = 4;

bool commutes(Binary op) {
  return op == Binary::add || op == Binary::mul || op == Binary::max || op == Binary::min || op == Binary::eq ||
         op == Binary::ne || op == Binary::and_ || op == Binary::or_ || op == Binary::xor_;
}

// What expressions have in common when only the slots that they read differ; operands that may change places count
// alike.
class Forms {
 public:
  std::size_t operator()(const Expr& e) {
    if (const auto found = known_.find(e.identity()); found != known_.end()) return found->second;
    Hasher h;
    h(e.kind())(e.dtype());
    if (e.kind() == Expr::Kind::constant)
      h(std::string_view(reinterpret_cast<const char*>(e.node().bits.data()), e.node().bits.size()));
    if (e.kind() == Expr::Kind::variable) h(e.node().id);
    if (e.kind() == Expr::Kind::unary) h(e.node().unary);
    if (e.kind() == Expr::Kind::binary) h(e.node().binary);
    if (e.kind() != Expr::Kind::load)
      for (const Expr& operand : ordered(e)) h((*this)(operand));
    const auto form = static_cast<std::size_t>(h.finish().low);
    known_.emplace(e.identity(), form);
    return form;
  }

  // Operands, those of a commuting operation ordered by their forms.
  std::vector<Expr> ordered(const Expr& e) {
    std::vector<Expr> operands;
    for (const auto& operand : e.node().operands)
      if (operand) operands.emplace_back(operand);
    if (e.kind() == Expr::Kind::binary && commutes(e.node().binary) && (*this)(operands[0]) > (*this)(operands[1]))
      std::swap(operands[0], operands[1]);
    return operands;
  }

 private:
  std::unordered_map<const void*, std::size_t> known_;
};

class Packer {
 public:
  Packer(Function& function, const Target& target)
      : f_(function), nest_lanes_(static_cast<std::size_t>(target.register_elements)) {}

  void run() {
    block(f_.body, false);
    if (lanes_.empty()) return;
    std::map<SlotId, MoveSlots::Target> targets;
    for (const auto& [slot, lane] : lanes_) targets.emplace(slot, MoveSlots::Target{lane.array, Expr(lane.at)});
    MoveSlots(std::move(targets)).block(f_.body);
  }

 private:
  // Where a scalar went.
  struct Lane {
    SlotId array;
    std::int64_t at;
  };
  using Lanes = std::map<SlotId, Lane>;

  void block(Block& statements, bool in_loop) {
    Block result;
    for (Statement& s : statements) {
      const bool repeats = !std::holds_alternative<Switch>(s.held());
      for_each_block(s, [&](Block& inside) { block(inside, in_loop || repeats); });
      auto* n = std::get_if<Nest>(&s.held());
      if (in_loop && n != nullptr && n->vars.empty() && n->stores.size() >= fewest_lanes)
        pack(std::move(*n), result);
      else
        result.push_back(std::move(s));
    }
    statements = std::move(result);
  }

  bool is_scalar(SlotId slot, const Expr& offset) const {
    const Slot& s = f_.slots[slot];
    return s.place == Slot::Place::local && s.elements == 1 && is_constant(offset, 0);
  }

  // The nests of the scalars that pack, beside their places; what is left of the nest; then all that was computed takes
  // its place: values are computed before the first is stored.
  void pack(Nest n, Block& to) {
    std::map<std::pair<DType, std::size_t>, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < n.stores.size(); ++i) {
      const Store& s = n.stores[i];
      if (!s.condition && is_scalar(s.slot, s.offset) && s.value.kind() != Expr::Kind::load)
        alike[{s.value.dtype(), forms_(s.value)}].push_back(i);
    }
    Block copies;
    std::vector<bool> done(n.stores.size(), false);
    for (auto& [form, members] : alike) {
      if (members.size() < fewest_lanes || !pack_alike(n, members, to, copies)) continue;
      for (const std::size_t i : members) done[i] = true;
    }
    std::vector<Store> rest;
    for (std::size_t i = 0; i < n.stores.size(); ++i)
      if (!done[i]) rest.push_back(std::move(n.stores[i]));
    n.stores = std::move(rest);
    if (!n.stores.empty()) to.push_back(std::move(n));
    to.insert(to.end(), copies.begin(), copies.end());
  }

  bool pack_alike(const Nest& n, std::vector<std::size_t>& members, Block& to, Block& copies) {
    const Lanes before = lanes_;
    const std::size_t slots = f_.slots.size();
    // Lanes that have a place already keep their order.
    std::ranges::stable_sort(members, {}, [&](std::size_t i) {
      const auto found = lanes_.find(n.stores[i].slot);
      return found == lanes_.end() ? std::int64_t(-1) : found->second.at;
    });
    std::vector<SlotId> written;
    for (const std::size_t i : members) written.push_back(n.stores[i].slot);
    const auto place = array_of(written);
    Block nests;
    bool good = place && contiguous(*place);
    for (std::size_t from = 0; good && from < members.size(); from += nest_lanes_) {
      const std::size_t count = std::min(nest_lanes_, members.size() - from);
      good = nest_of(n, std::span(members).subspan(from, count), {place->array, place->at[from]}, nests, copies);
    }
    if (!good) {
      lanes_ = before;
      f_.slots.resize(slots);
      return false;
    }
    to.insert(to.end(), nests.begin(), nests.end());
    return true;
  }

  bool nest_of(const Nest& n, std::span<const std::size_t> members, Lane place, Block& nests, Block& copies) {
    std::vector<Expr> values;
    for (const std::size_t i : members) values.push_back(n.stores[i].value);
    const auto count = static_cast<std::int64_t>(members.size());
    var_ = f_.vars++;
    shuffles_ = operations_ = 0;
    unified_.clear();
    const auto value = unify(values);
    if (!value || shuffles_ > operations_) return false;
    f_.slots.push_back({value->dtype(), count, Slot::Place::local});
    const auto beside = static_cast<SlotId>(f_.slots.size() - 1);
    nests.push_back(Nest{{var_}, {count}, {{beside, variable(var_), *value, {}}}, true});
    copies.push_back(Copy{place.array, beside, Expr(place.at), Expr(0), count, count});
    return true;
  }

  // One expression of the lane's number for these expressions of one form.
  std::optional<Expr> unify(const std::vector<Expr>& lanes) {
    std::vector<const void*> key;
    for (const Expr& e : lanes) key.push_back(e.identity());
    if (const auto found = unified_.find(key); found != unified_.end()) return found->second;
    const auto result = unify_anew(lanes);
    unified_.emplace(std::move(key), result);
    return result;
  }

  std::optional<Expr> unify_anew(const std::vector<Expr>& lanes) {
    const Expr& first = lanes[0];
    if (std::ranges::all_of(lanes, [&](const Expr& e) { return e.identity() == first.identity(); })) return first;
    if (std::ranges::any_of(lanes,
                            [&](const Expr& e) { return e.kind() != first.kind() || e.dtype() != first.dtype(); }))
      return {};
    switch (first.kind()) {
      case Expr::Kind::constant:
      case Expr::Kind::variable:
        return first;  // of one form: equal
      case Expr::Kind::load:
        return unify_loads(lanes);
      default:
        break;
    }
    std::vector<std::vector<Expr>> operands;
    for (const Expr& e : lanes) operands.push_back(forms_.ordered(e));
    std::vector<Expr> united;
    for (std::size_t k = 0; k < operands[0].size(); ++k) {
      std::vector<Expr> column;
      for (const auto& of_lane : operands) {
        if (of_lane.size() != operands[0].size()) return {};
        column.push_back(of_lane[k]);
      }
      const auto one = unify(column);
      if (!one) return {};
      united.push_back(*one);
    }
    ++operations_;
    const auto same_op = [&](const Expr& e) {
      return e.node().unary == first.node().unary && e.node().binary == first.node().binary;
    };
    if (!std::ranges::all_of(lanes, same_op)) return {};
    // What waits for a shuffle comes first: a multiplication there fuses with the addition that waits for it.
    const bool late = std::ranges::any_of(united, [&](const Expr& e) { return late_.contains(e.identity()); });
    if (united.size() == 2 && !late_.contains(united[0].identity()) && late && commutes(first.node().binary))
      std::swap(united[0], united[1]);
    Expr result = with_operands(first, united);
    if (late) late_.insert(result.identity()), kept_.push_back(result);
    return result;
  }

  static Expr with_operands(const Expr& first, const std::vector<Expr>& united) {
    if (first.kind() == Expr::Kind::unary) return unary(first.node().unary, united[0]);
    if (first.kind() == Expr::Kind::binary) return binary(first.node().binary, united[0], united[1]);
    if (first.kind() == Expr::Kind::select) return select(united[0], united[1], united[2]);
    if (first.kind() == Expr::Kind::bitcast) return bitcast(first.dtype(), united[0]);
    return convert(first.dtype(), united[0]);
  }

  std::optional<Expr> unify_loads(const std::vector<Expr>& lanes) {
    std::vector<SlotId> slots;
    for (const Expr& e : lanes) slots.push_back(e.node().id);
    const bool scalars =
        std::ranges::all_of(lanes, [&](const Expr& e) { return is_scalar(e.node().id, e.operand(0)); });
    if (scalars) {
      if (std::ranges::count(slots, slots[0]) == static_cast<std::ptrdiff_t>(slots.size())) return lanes[0];
      const auto place = array_of(slots);
      if (!place) return {};
      return shuffled(load(place->array, lanes[0].dtype(), index(place->at)));
    }
    // Elements of one array, at constant distances from each other.
    if (std::ranges::any_of(slots, [&](SlotId s) { return s != slots[0]; })) return {};
    const auto start = affine(lanes[0].operand(0));
    std::vector<std::int64_t> at;
    for (const Expr& e : lanes) {
      auto offset = affine(e.operand(0));
      if (!start || !offset || offset->terms != start->terms) return {};
      const Dim distance = offset->constant - start->constant;
      if (!distance.known()) return {};
      at.push_back(distance.value());
    }
    return load(slots[0], lanes[0].dtype(), to_expr(*start) + index(at));
  }

  Expr shuffled(const Expr& load) {
    if (!affine(load.operand(0))) late_.insert(load.identity()), kept_.push_back(load);
    return load;
  }

  struct Place {
    SlotId array;
    std::vector<std::int64_t> at;
  };
  static bool contiguous(const Place& place) {
    for (std::size_t i = 1; i < place.at.size(); ++i)
      if (place.at[i] != place.at[i - 1] + 1) return false;
    return true;
  }

  // The array that holds these scalars: the one where they are, or a new one where none has a place yet.
  std::optional<Place> array_of(const std::vector<SlotId>& scalars) {
    const auto packed =
        static_cast<std::size_t>(std::ranges::count_if(scalars, [&](SlotId s) { return lanes_.contains(s); }));
    if (packed == 0) {
      std::vector<SlotId> fresh;
      for (const SlotId s : scalars)
        if (std::ranges::find(fresh, s) == fresh.end()) fresh.push_back(s);
      f_.slots.push_back({f_.slots[scalars[0]].dtype, static_cast<std::int64_t>(fresh.size()), Slot::Place::local});
      const auto array = static_cast<SlotId>(f_.slots.size() - 1);
      for (std::size_t i = 0; i < fresh.size(); ++i)
        lanes_.emplace(fresh[i], Lane{array, static_cast<std::int64_t>(i)});
    } else if (packed < scalars.size()) {
      return {};
    }
    Place place{lanes_.at(scalars[0]).array, {}};
    for (const SlotId s : scalars) {
      const Lane& lane = lanes_.at(s);
      if (lane.array != place.array) return {};
      place.at.push_back(lane.at);
    }
    return place;
  }

  // at[lane] as an expression: an affine one, or read from a table.
  Expr index(const std::vector<std::int64_t>& at) {
    const Expr lane = variable(var_);
    const std::int64_t stride = at.size() > 1 ? at[1] - at[0] : 0;
    bool affine = true;
    for (std::size_t i = 0; i < at.size(); ++i)
      affine = affine && at[i] == at[0] + stride * static_cast<std::int64_t>(i);
    if (affine && (stride == 1 || stride == 0)) return lane * Expr(stride) + Expr(at[0]);
    ++shuffles_;
    Slot table{DType::i64, static_cast<std::int64_t>(at.size()), Slot::Place::constant};
    table.values.resize(at.size() * sizeof(std::int64_t));
    std::memcpy(table.values.data(), at.data(), table.values.size());
    f_.slots.push_back(std::move(table));
    return load(static_cast<SlotId>(f_.slots.size() - 1), DType::i64, lane);
  }

  Function& f_;
  std::size_t nest_lanes_;  // a longer array is computed by several nests: each is written out
  Forms forms_;
  Lanes lanes_;
  // The nest that is being made.
  std::uint32_t var_ = 0;
  std::size_t shuffles_ = 0, operations_ = 0;
  std::map<std::vector<const void*>, std::optional<Expr>> unified_;
  std::unordered_set<const void*> late_;  // expressions that wait for a shuffle
  std::vector<Expr> kept_;                // keeps them alive
};

}  // namespace

void pack_scalars(Function& function, const Target& target) { Packer(function, target).run(); }

}  // namespace tenon::kernel
