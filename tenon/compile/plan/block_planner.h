// Planning of one Program: its function's slots and variables, and the eqns of each block (itself, bodies, branches) as
// statements. What the rooms of nests, updates and control flow share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "tenon/compile/plan/fusion.h"
#include "tenon/compile/report.h"
#include "tenon/compile/units.h"
#include "tenon/ir/program.h"
#include "tenon/kernel/analysis/shared_values.h"
#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

using kernel::Block;
using kernel::Expr;
using kernel::SlotId;

inline Dim elements_of(const Type& type) { return type.shape.elements(); }

// What memory holds of a value: of a list its handle.
inline Type held_type(const Type& type) { return type.is_list() ? Type::array(DType::i64, {}) : type; }

// Where a value is: row-major from an offset.
struct Place {
  SlotId slot;
  Expr offset = Expr(std::int64_t(0));
  friend bool operator==(const Place& x, const Place& y) {
    return x.slot == y.slot && (x.offset.identity() == y.offset.identity() ||
                                (kernel::is_constant(x.offset, 0) && kernel::is_constant(y.offset, 0)));
  }
};

class Planner {
 public:
  Planner(const Program& program, const kernel::Target& target, Report* report)
      : program_(program), target_(target), report_(report) {
    function_.name = program.name().empty() ? "program" : program.name();
    function_.sizes = static_cast<std::uint32_t>(program.size_params().size());
  }

  std::pair<kernel::Function, Units> run();

 private:
  friend class BlockPlanner;
  ProgramRef of_function(const ProgramRef& program, std::span<const Dim> sizes);
  ProgramRef with_found_sizes(const Program& program, std::span<const Dim> sizes);
  void give_found_sizes(const Program& program, const std::vector<Place>& outputs);
  const UnitSlot& unit(const ProgramRef& callee);
  SlotId description(const void* object, const std::vector<Dim>& sizes);
  std::uint32_t number_of(const void* object);
  Place argument(const Type& type);
  Place output(const Type& type);
  Place temporary(const Type& type);
  Place element(const Type& type);  // of a list
  Place constant(const Buffer& array);
  std::uint32_t fresh_var() { return function_.vars++; }
  // `sizes`: what the Program's size parameters are, of those of the Function.
  Block block(const ProgramRef& program, std::span<const Dim> sizes, const std::vector<Place>& inputs,
              const std::vector<Place>& outputs, const std::vector<Place>& carries, const std::set<SlotId>& updated,
              const std::vector<bool>& given = {}, const Eqn* around = nullptr);

  const Program& program_;
  const kernel::Target target_;
  Report* report_;
  kernel::Function function_;
  Units units_;
  std::unordered_map<Hash128, const UnitSlot*> unit_of_;
  std::map<std::pair<const void*, std::vector<std::int64_t>>, SlotId> descriptions_;
  std::unordered_map<const void*, std::uint32_t> objects_;  // of the function's, their numbers
  std::map<std::string, SlotId> sizes_of_units_;            // by their text
  Block first_;                                             // what the function begins with
};

std::string_view update_of(const Program& program, std::size_t output);

// Whether an eqn of the Program itself, not of its regions, decides a size.
bool decides_sizes(const Program& program);
// Whether code of an eqn may end since sizes do not go with each other.
bool may_check_sizes(const Eqn& eqn);

// Plans the eqns of one Program (or region, of the eqn `around`) as statements.
class BlockPlanner {
 public:
  BlockPlanner(Planner& planner, const Program& program, const std::vector<Place>& outputs,
               const std::set<SlotId>& updated, const Eqn* around);

  // `carries`: where the first outputs go at the end, after everything has been read. `given`: lists among the inputs
  // whose reference is the block's own; those of carries are anyway.
  Block run(const std::vector<Place>& inputs, const std::vector<Place>& carries, const std::vector<bool>& given);

 private:
  using Sizes = kernel::Sizes;
  static const Expr zero;

  // --- block_planner.cpp: what is where ---
  void report_cuts(Report& report) const;
  const Sizes& sizes(Var v) const { return program_.type(v).shape.dims(); }
  Source line_of(Var v) const { return maker_[v] == nullptr ? Source() : maker_[v]->where; }
  void asked_for_by(const Source& where, std::size_t first);
  void copy(const Place& to, const Place& from, const Type& type, const kernel::CopyCause& cause);
  Place place_for(Var v);
  Place stored(Var v);
  template <class Writer>
  void store_into(Var v, const Place& to, bool last, const Eqn& eqn, Writer&& writer);
  bool is_view(const Eqn& eqn) const;
  bool is_fill(Var v) const;
  void expression_ends(Var v);
  void store_ends(bool all);
  void fill(Var v, const Place& to);
  void structure(const Eqn& eqn, LowerStructure::Kind kind);

  // --- plan_copies.cpp ---
  kernel::CopyCause why_kept(const Eqn& eqn, Var x) const;
  kernel::CopyCause why_copied(const Eqn& eqn, Var x, std::string_view writer) const;
  kernel::CopyCause why_carried(std::size_t output) const;

  // --- plan_nests.cpp ---
  // A nest that is being built.
  struct Building {
    std::vector<std::uint32_t> vars = {};
    Sizes extents = {};  // of the variables
    std::vector<Expr> index = {};
    Sizes sizes = {};               // of the array
    std::optional<Expr> flat = {};  // the one variable of all elements
    bool identity_only = true;      // everything is read at the nest's own index
    std::map<Var, Expr> values = {};
    // By variable and index, which is kept alive: it is the key.
    std::map<std::pair<Var, std::vector<const void*>>, std::pair<std::vector<Expr>, Expr>> memo = {};
    std::map<std::pair<SlotId, const void*>, Expr> loads = {};
    kernel::SharedValues shared = {};  // indices and offsets
  };
  struct Split {
    Var first;
  };
  struct LaidOut {  // an operand of a product with its axes in another order
    Place place;
    Type type;
  };
  Expr element(Var v, std::span<const Expr> index);
  Expr element_at(Var v, std::span<const Expr> index);
  Expr load_of(const Place& place, DType dtype, const Expr& offset);
  void flush_before(Var v);
  void flush(Var v);
  void await(Var v);
  void flush_together(const std::vector<Var>& group);
  const Place& group_place(Var v);
  kernel::Nest nest_of(const std::vector<Var>& group);
  Block nests_of_parts(Var v);
  kernel::Nest build_nest(const std::vector<Var>& group, const Sizes& extent, bool flat);
  void require_not_negative(const Dim& size);
  void begin_nest(const Sizes& extent, bool flat);
  void reduction(const Eqn& eqn);
  void reduce(const Eqn& eqn, kernel::Reduce r);
  void product(const Eqn& eqn);
  LaidOut laid_out(Var v, std::span<const std::int64_t> axes);
  void matrix_product(const Eqn& eqn, kernel::Product p, const Place& a, const Place& b, const Place& to);
  bool merged_product(const Eqn& eqn, const std::array<Var, 2>& operands, const ProductForm& form, const Place& to);
  // `columns`: the second operand as [batch…, summed…, columns…].
  void inline_product(const Eqn& eqn, const ProductForm& form, const Place& to, bool unrolled,
                      const std::optional<LaidOut>& columns);

  // --- plan_updates.cpp ---
  bool reads(Var v, Var x) const;
  std::vector<Var> later_readers(Var x) const;
  Place overwritten(const Eqn& eqn);
  void update(const Eqn& eqn);
  void scatter(const Eqn& eqn);

  // --- plan_control_flow.cpp ---
  // All values of a carry, one behind the other, where the loop stacks them anyway: before each step, after it, or
  // both. The stacked outputs are views of it then, and no step copies. Of large carries: small ones live in registers.
  struct History {
    Place begin, before, after, end;
    std::vector<std::size_t> stacked_before, stacked_after;  // outputs of the loop
  };
  // A loop while it is planned. Its body is the block of its Program between `first` and `last`.
  struct LoopPlan {
    const Eqn& eqn;
    const LoopParams& p;
    std::uint32_t var = 0;         // of a For
    std::optional<Place> counter;  // of steps done, where only running tells how many there are, or lists do
    Expr limit, step;              // the most steps, if that is known; the element that a step reads and writes
    std::vector<Place> inputs = {}, outputs = {}, ends = {};
    std::set<SlotId> updated = {};            // carries that the body may update in place
    std::map<std::size_t, Place> views = {};  // stacked outputs that lie in a carry's history, at a step
    std::vector<Var> written = {};            // lists
    Block first = {}, last = {}, after = {};
  };
  void loop(const Eqn& eqn);
  void plan_carries(LoopPlan& l);
  void plan_stacked(LoopPlan& l);
  std::optional<History> carry_history(const Eqn& eqn, std::size_t carry, const Expr& step);
  void branch(const Eqn& eqn);
  std::optional<Place> updated_in_branches(const Eqn& eqn, Var x, Var y);

  // --- decided_sizes.cpp ---
  Place place_for_chosen(Var y, const Dim& all);
  void compress(const Eqn& eqn);
  void numbers_of_chosen(const Eqn& eqn, std::int64_t axis);
  void uncompress(const Eqn& eqn);
  void count(const Eqn& eqn);
  void extent(const Eqn& eqn);
  void all_true(Var y);
  bool finds_as_before(Var mask, const Dim& rows) const;
  void check_not_negative(const Dim& size);

  // --- plan_library.cpp ---
  void library(const Eqn& eqn, const LowerLibrary& lower);
  void library(const Eqn& eqn, const LibraryForm& form, std::optional<SlotId> behind = {});
  SlotId description(const LibraryForm& form);
  SlotId words_of(std::vector<Expr> words);
  SlotId sizes_of_unit(const std::vector<Dim>& sizes);
  void unit(const Eqn& eqn, const LowerCall& lower);

  // --- plan_lists.cpp ---
  void set(const Place& to, Expr value);
  Block taken(std::size_t from);
  void call(std::string_view function, std::vector<kernel::Call::Argument> arguments, std::optional<Place> result = {});
  Expr handle(Var v) { return number_at(stored(v)); }
  Expr number_at(const Place& place) { return kernel::load(place.slot, DType::i64, place.offset); }
  void give(Var list, const Place& to, bool last);
  bool given_away(const Eqn& eqn, Var list);
  void release_dead();
  void count_steps(LoopPlan& l);
  Place read_list(LoopPlan& l, Var list);
  Place write_list(LoopPlan& l, Var list);
  void finish_steps(LoopPlan& l);
  Place list_result(Var y);
  void list_op(const Eqn& eqn, LowerStructure::Kind kind);
  void list_elements(const Eqn& eqn, LowerStructure::Kind kind);

  Planner& planner_;
  const Program& program_;
  const Eqn* around_;
  Fusion fusion_;
  std::vector<Place> outputs_;
  std::vector<std::optional<Place>> places_;
  std::vector<const Eqn*> maker_;
  std::vector<bool> pending_;
  std::unordered_map<std::size_t, std::vector<Var>> pending_of_;  // each group, ascending; some are stored by now
  std::unordered_map<std::size_t, int> ends_left_;  // of each group, ends of expressions that are still to come
  std::vector<Var> open_ends_;                      // of each group with some pending, the first
  std::vector<bool> given_;                         // inputs, and views of them
  std::vector<bool> overwritten_;                   // what some eqn may update where it is
  std::vector<std::size_t> last_use_;
  std::map<Var, Place> wanted_, group_places_;
  std::set<Var> building_;
  std::set<SlotId> writable_slots_;
  std::map<Var, Dim> chosen_by_;    // each mask, as this block has found
  std::map<Var, Place> places_of_;  // what each mask chooses, as numbers
  std::vector<Dim> not_negative_;   // as this block has checked
  std::set<Var> owned_;             // lists that this block has made or been given, and not given away
  std::size_t at_ = 0;
  Block block_;
  Building nest_;
};

// As stored(), right in a given place where nothing else needs the value, or it is one number everywhere; else a copy,
// for an eqn that overwrites it by the op that `writer` gives.
template <class Writer>
void BlockPlanner::store_into(Var v, const Place& to, bool last, const Eqn& eqn, Writer&& writer) {
  if (places_[v] || wanted_.contains(v) || !last) {
    if (is_fill(v)) return fill(v, to);
    const Place from = stored(v);
    return copy(to, from, program_.type(v),
                planner_.report_ == nullptr ? kernel::CopyCause() : why_copied(eqn, v, writer()));
  }
  wanted_.emplace(v, to);
  stored(v);
  wanted_.erase(v);
}

}  // namespace tenon
