// Which reductions over pairs become loops (stream_pairs.h), and what a step of each computes and reads.
#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <set>

#include "tenon/ir/program.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/product_axes.h"

namespace tenon {

// One step's part of a variable: that of the axis along which the steps lie, if it has it; its vectors go along `lane`.
struct PairPart {
  Var v;
  std::int64_t loop = no_axis, lane = no_axis;
  friend auto operator<=>(const PairPart&, const PairPart&) = default;
};
// Of which parts of its operands a part of an eqn's result is made, in their order; nothing where no step makes it.
std::optional<std::vector<PairPart>> parts_read(const Program& program, const Eqn& eqn, const PairPart& part);

// The part of operand 0 or 1 that a part of a product reads.
PairPart operand_part(const ProductAxes& product, const Eqn& eqn, std::size_t k, const PairPart& of);

// A reduction over pairs: of a step's part, or of the products of two.
struct PairEnd {
  std::size_t eqn;
  bool product;
  PairPart of;                                 // of a product: of the result, with the axes that it sums behind it
  std::vector<Dim> sizes;                      // of the whole that is reduced
  std::vector<std::int64_t> axes;              // of the whole that are reduced, the loop's among them
  std::set<PairPart> parts = {}, leaves = {};  // what is computed, and what is read
  bool as_it_is = false;                       // it reduces an array that the loop stacks
  bool forms_pairs = false;                    // it has a product or a reduction below
  // What compares the elements with a result of all of them: sum(exp(x - m)), or the index of the extremum.
  std::optional<StreamEnd> compared = {};
  // Whether each step has a result of its own, of all its lanes.
  bool by_lanes() const { return std::ranges::count(axes, of.loop) == 0; }
};
struct PairLoop {
  Dim steps;
  std::int64_t together = 1;  // steps that a turn of the loop takes; the last turn may have fewer
  std::int64_t block = 0;     // lanes of a block, where the loop runs for so many of them at a time; else none
  bool tiles = false;         // whether a block's products are ones of matrices
  std::int64_t part = 0;      // where steps add their lanes up: so many at a time, and fewer the last time; else none
  std::vector<PairEnd> ends = {};
  std::set<PairPart> stacked = {};  // arrays that others compare with a result
  std::uint64_t needs = 0;          // of other loops, a bit each
};
// Whether a block of lanes of such a product, over the steps of a turn, is a product of matrices that is worth it: it
// sums many terms, or of what is reduced has many columns.
bool is_tile(const Program& program, const Eqn& eqn, const PairEnd* end);
// None needs, through others, what it makes itself.
std::vector<PairLoop> find_pairs(const Program& program);

}  // namespace tenon
