// The rules of the loop op, a room for each; what they share: who is a const, a carry, an xs, a ys, and the carry
// fix-point.
#pragma once

#include "tenon/ir/describe_params.h"
#include "tenon/ir/recurse.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/control/region.h"

namespace tenon {

BOOST_DESCRIBE_ENUM(CheckpointKind, every, binomial)
BOOST_DESCRIBE_STRUCT(Checkpoints, (), (kind, count))
BOOST_DESCRIBE_STRUCT(LoopParams, (),
                      (body, cond, length, reverse, consts, carries, lanes, body_sizes, cond_sizes, checkpoints))

inline const LoopParams& loop_of(const Eqn& eqn) { return eqn.params.as<LoopParams>(); }

struct LoopRoles {
  std::size_t consts, carries, xs, ys;
  explicit LoopRoles(const LoopParams& p)
      : consts(static_cast<std::size_t>(p.consts)),
        carries(static_cast<std::size_t>(p.carries)),
        xs(p.body->inputs().size() - consts - carries),
        ys(p.body->outputs().size() - carries - (p.lanes ? 1 : 0)) {}
  std::size_t operands() const { return consts + carries + xs; }
  std::size_t results() const { return carries + ys; }
  bool is_const(std::size_t i) const { return i < consts; }
  bool is_carry(std::size_t i) const { return i >= consts && i < consts + carries; }
  bool is_xs(std::size_t i) const { return i >= consts + carries; }
};

inline bool stacks_lists(const LoopParams& p) { return p.cond != nullptr || !p.length; }

// The size parameters of the loop's body (or condition), bound to the sizes given.
SizeBinding loop_sizes(const Program& program, std::span<const Dim> sizes);

// Inputs of the body that depend on operands of the mask, after enough steps; all of them where the condition does.
Mask loop_body_mask(const LoopParams& p, Mask in, Recurse& recurse);

// Whether the condition depends on the consts and carries of a mask of the body's inputs.
bool loop_cond_reached(const LoopParams& p, const Mask& body_in, Recurse& recurse);

// Whether lanes that run together take different numbers of steps by something else than the condition: along lists of
// their own, or because they did already before a batch axis was added.
bool lanes_end_apart(const LoopParams& p, const Mask& batched);

JvpResult loop_jvp(const JvpArgs& args);
SplitResult loop_split(const SplitArgs& args);
// The same of a loop with checkpoints. Absent: nothing is gained by them, or they cannot be.
std::optional<SplitResult> checkpointed_split(const SplitArgs& args);
void loop_transpose(const TransposeArgs& args);
BatchResult loop_batch(const BatchArgs& args);

}  // namespace tenon
