// Pattern: what a rule's pattern became when it was traced, and the search for it.
#pragma once

#include "tenon/ir/op.h"
#include "tenon/rewrite/rule.h"

namespace tenon {

struct Pattern {
  using Ref = std::uint32_t;  // of a hole, then of nodes
  struct Node {
    const OpInfo* op = nullptr;  // null: a number, in each of its elements
    Params params = {};
    std::vector<Ref> in = {};
    std::size_t out = 0;  // which result of the eqn
    std::optional<Scalar> number = {};
    Type type = {};
  };
  std::vector<Type> holes;
  std::vector<Node> nodes;
  Ref root = 0;
  const Node* node(Ref ref) const { return ref < holes.size() ? nullptr : &nodes[ref - holes.size()]; }
  Hash128 skeleton() const;  // of ops and numbers: patterns of equal skeletons are found in the same places
};

// What a search looks through.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual const Eqn* maker(Var v) const = 0;
  virtual const Type& type(Var v) const = 0;
  virtual const std::optional<Scalar>& number(Var v) const = 0;  // that each element is known to be
};

enum class Compared : std::uint8_t { skeletons, exactly };

// What each ref of the pattern stands for where it is found with its root at `root`; operands of commutative ops in
// either order. Eqns of other recompute scopes than the root's are not looked into. Time is bounded.
std::optional<std::vector<Var>> find_pattern(const Pattern& pattern, const Graph& graph, Var root, Compared how);

}  // namespace tenon
