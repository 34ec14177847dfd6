// Parts of arrays of pairs as the steps of a loop see them (stream_pairs.h): how they are laid out, and what makes them
// of each other.
#pragma once

#include <map>

#include "tenon/ir/replay.h"
#include "tenon/rewrite/pair_search.h"

namespace tenon {

constexpr std::int64_t block_axis = -2;  // of a part whose lanes come in blocks

// Axes as others number them: blocks stay what they are.
template <class Renumber>
std::vector<std::int64_t> renumbered(std::vector<std::int64_t> axes, Renumber renumber) {
  for (std::int64_t& axis : axes)
    if (axis != block_axis) axis = renumber(axis);
  return axes;
}

// Of the loops of one Program, one after the other.
class PairParts {
 protected:
  PairParts(const Program& program, Replay& replay)
      : program_(program), maker_(maker_numbers(program)), replay_(replay) {}

  // The loop that is being made.
  void enter(const PairLoop& pairs);
  Dim all_turns() const;
  // The numbers of the steps of each turn.
  Array numbers() const;
  // The rows of all turns behind each other.
  Array by_step(Array stack) const;
  // The axes of a whole array that its part has, in their order there: blocks of lanes first, then the steps of a turn,
  // where it has several, and the lanes last.
  std::vector<std::int64_t> axes_of(std::size_t rank, const PairPart& part) const;
  // Of all steps: these along the first axis.
  std::vector<std::int64_t> axes_of_steps(std::size_t rank, const PairPart& part) const;
  // The shape of a part, of an array of such sizes.
  Shape shape_of(const std::vector<Dim>& sizes, const PairPart& part) const;
  std::int64_t blocks_of(std::int64_t lanes) const;
  // With those that the last part of the lanes lacks.
  std::int64_t in_whole_parts(std::int64_t lanes) const;
  // What has all lanes along the last axis, with blocks of them along the first; the last block has some more.
  Array in_blocks(Array x) const;
  // All lanes again along the last axis of what has blocks of them along the first.
  Array out_of_blocks(const Array& x, std::int64_t lanes) const;
  static Array padded(const Array& x, std::int64_t axis, std::int64_t more);
  // What a loop reads, with the steps along the first axis and the lanes along the last one.
  Array laid_out(const PairPart& leaf) const;
  static Array broadcast(const Array& x, const Shape& shape, const std::vector<std::int64_t>& dims);
  // A step's part, of parts that are there.
  Array computed(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made,
                 std::span<const Array> numbers) const;
  // Whether blocks of it are products of matrices.
  bool is_tile(const Eqn& eqn, const PairEnd* end) const;
  // A block of a product of arrays as a product of matrices for each; of all steps of the turn their sum where asked.
  Array tile(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made, bool summed) const;
  // The products that a product of arrays sums, with an axis for each of those.
  Array multiplied(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made) const;
  // Of what is reduced, the steps of a turn.
  std::int64_t turn_axis() const;

  const Program& program_;
  const std::vector<std::size_t> maker_;
  Replay& replay_;
  // Of the loop that is being made: its steps, how many a turn takes, and whether the last turn has fewer.
  Dim steps_;
  std::int64_t together_ = 1;
  bool has_rest_ = false;
  std::int64_t block_ = 0;  // lanes of a block
  std::int64_t part_ = 0;   // lanes that steps add up at a time
  bool tiles_ = false;      // whether products are ones of matrices
  bool one_lane_ = false;   // whether parts have one lane, whose number is known
};

}  // namespace tenon
