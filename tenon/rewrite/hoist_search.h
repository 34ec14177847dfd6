// What hoist_reductions moves into a loop: which eqns are made step by step there, and which reductions of them end as
// streams.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "tenon/ir/program.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/rewrite/waiting_sums.h"

namespace tenon {

// A sum over the steps that waits for a maximum or a sum of all of them.
struct WaitingEnd {
  FirstReduction first;
  WaitingSum sum;
};

// A reduction over the steps; as `row`, a slice of one step; or, as `part`, a reduction over other axes, of which the
// loop stacks each step's part, or what is left where `axes` of it are reduced.
struct StreamEnd {
  enum class Kind : std::uint8_t {
    monoid,
    product,
    exponentials,
    squares,
    waiting,
    first_index,
    first_in_order,
    row,
    part
  };
  std::size_t eqn;  // whose results it is
  Kind kind;
  // What it takes in: of a product both operands; of exponentials and squares also a mask, where it has one, that says
  // which elements count; of waiting sums what else their terms read, the other operand of a product last.
  std::vector<Along> of;
  std::vector<std::int64_t> axes;  // of the first, that are reduced; its own one is among them
  std::optional<Var> reference;    // with what elements are compared, and which axes of `of` its axes are
  std::vector<std::int64_t> reference_dims;
  std::set<std::size_t> absorbed;  // eqns between `of` and the result
  std::shared_ptr<const WaitingEnd> waits = {};

  const Along* mask() const {
    const bool may = kind == Kind::exponentials || kind == Kind::squares;
    return may && of.size() > 1 ? &of[1] : nullptr;
  }
};

// A reduction that compares elements with a result of all of them, which `against` repeats; how the steps lie in the
// elements is for the caller to say.
struct ComparedEnd {
  StreamEnd end;
  Var against;
};
std::optional<ComparedEnd> compared_end(const Program& program, std::span<const std::size_t> maker, std::size_t e);

struct Hoist {
  std::size_t loop;  // of the Program's eqns
  // Of a loop that does several steps a turn: how many, and which output each array of all steps is.
  std::int64_t steps_a_turn = 1;
  std::map<Var, std::size_t> unrolled;
  std::set<std::size_t> moved;             // eqns that become part of the body, what of them stays behind, too
  std::vector<StreamEnd> ends;             // become carries, or stacks
  std::set<std::size_t> taken;             // all eqns that are written anew or go, the loop among them
  std::vector<bool> gone;                  // of the loop's outputs: stacks that nothing else reads
  std::unordered_map<Var, StepsIn> steps;  // how they lie in each variable that is made of the loop's

  // By how many steps an elementwise eqn reads an operand late: what an earlier one made.
  std::int64_t lag(const Eqn& eqn, Var operand) const;
};
// Of all loops that have some and can be written anew together: none needs early what another one makes. They come in
// the order of the loops.
std::vector<Hoist> find_hoists(const Program& program);

// A reduction of what the steps of a loop give, as explain() tells of it; or a stack that is stored for what is none.
struct HoistNote {
  std::string value;  // "sum f32[32,128]"
  Source where, loop;
  std::string stays = {};  // why it is no part of the loop; empty where it is
  bool stack = false;
};
// Of the reductions that no Hoist moves: why. Of stacks that other ops read: by which.
std::vector<HoistNote> notes_of_what_stays(const Program& program);
HoistNote note_of(const Program& program, std::size_t eqn, std::size_t loop);

// What a top_k asks for of a stream, where these are a known number, and few.
std::optional<FirstInOrder> few_in_order(const Eqn& eqn);

}  // namespace tenon
