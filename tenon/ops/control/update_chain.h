// Update chains: how a Program carries an array that it changes in places only, and how to take such changes back.
#pragma once

#include <optional>

#include "tenon/ir/replay.h"

namespace tenon {

// From an input of a Program to one of its variables: each link is an update of what the link before gave, a cond whose
// branches all carry the same operand on, or a loop that carries it.
struct UpdateChain {
  struct Link {
    const Eqn* eqn;
    std::size_t operand, result;           // of the eqn, where the array goes in and comes out
    std::vector<UpdateChain> inner;        // of the branches of a cond, of the body of a loop
    std::vector<const Program*> inner_of;  // whose they are
  };
  std::size_t input = 0;    // of the Program
  std::vector<Var> values;  // the input, then what each link gives
  std::vector<Link> links;
};

// Whether sizes are numbers, or what a Program is given: those that it finds are known within it alone.
bool are_given(const Program& program, std::span<const Dim> sizes);

// The chain that ends at a variable; nothing where it is changed otherwise on the way. The Program must outlive it.
std::optional<UpdateChain> update_chain(const Program& program, Var to);

// A carry of a loop's body that is only updated, and by so little that what a step changes is worth keeping in its
// place: less than half of its bytes. Inner loops whose number of steps data decide count as a few steps.
struct UpdatedCarry {
  UpdateChain chain;  // from the carry to what it is after the step
  double kept;        // bytes a step, with sizes that vary as they are estimated
};
// In the order of the carries, which are the body's first outputs and its inputs from `first_carry` on. The body must
// outlive them.
std::vector<UpdatedCarry> updated_carries(const Program& body, std::size_t first_carry, std::size_t carries);

// Which rows are kept of each update: those that it overwrites, so that a pass can be taken back, or those that it
// leaves, so that it can be done again.
enum class KeptRows : std::uint8_t { before, after };

// Binds the eqn of a link as Replay::bind_eqn does; gives what must be kept of it.
Arrays bind_keeping(const UpdateChain::Link& link, Replay& replay, KeptRows rows);
// How many arrays these are.
std::size_t kept_arrays(const UpdateChain::Link& link);

// The array before a link, given what it was after it and KeptRows::before; or after it, given what it was before and
// KeptRows::after. `sizes`: what the sizes of the link's Program are here.
Array pass_link(const UpdateChain::Link& link, const Replay& sizes, const Array& x, std::span<const Array> kept,
                KeptRows rows);

// The same for the links first…last-1 of a chain; `kept` are those of all links, in the order of the links.
Array pass_links(const UpdateChain& chain, const Replay& sizes, std::size_t first, std::size_t last, Array x,
                 std::span<const Array> kept, KeptRows rows);

}  // namespace tenon
