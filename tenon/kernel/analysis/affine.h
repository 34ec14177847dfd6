// Affine forms of offsets, and substitution of loop variables: what passes over the loop language reason with.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/kernel/expr.h"

namespace tenon::kernel {

// constant + Σ coefficient·variable, of loop variables; no coefficient is 0. Sizes are no variables here.
struct Affine {
  Dim constant = 0;
  std::map<std::uint32_t, Dim> terms;

  Dim coefficient(std::uint32_t var) const {
    const auto found = terms.find(var);
    return found == terms.end() ? Dim(0) : found->second;
  }
  bool known() const;  // it has no sizes that vary
  void add(std::uint32_t var, const Dim& coefficient);
  friend bool operator==(const Affine&, const Affine&) = default;
};

// Empty where the expression is not affine: it divides, compares, or reads memory; or a number in it is more than 63
// bits hold. Linear in its nodes.
std::optional<Affine> affine(const Expr& e);
Expr to_expr(const Affine& a);

// Whether an index is a multiple of a number whatever its variables are; false where that does not show.
bool is_multiple(const Expr& index, std::int64_t of);

struct IndexRange {
  Dim low, high;  // both included
};
// An offset that is affine but for some indices whose range is known.
struct BoundedAffine {
  struct Term {
    Dim coefficient;
    Expr index;
    IndexRange range;
  };
  Affine affine;
  std::vector<Term> bounded = {};
};
// What is not affine has to have a range.
using RangeOf = FunctionRef<std::optional<IndexRange>(const Expr&)>;
std::optional<BoundedAffine> bounded_affine(const Expr& e, RangeOf range_of);
Expr to_expr(const BoundedAffine& a);

// Rewrites expressions: variables by `vars`, loads by `load`, all nodes by `finish`. Shared nodes stay shared, through
// all calls of one Rewrite.
class Rewrite {
 public:
  std::map<std::uint32_t, Expr> vars;
  virtual ~Rewrite() = default;
  Expr operator()(const Expr& e);

 protected:
  // The load with its offset already rewritten.
  virtual Expr load(const Expr& old, const Expr& offset);
  // Any node, after its operands have been rewritten.
  virtual Expr finish(const Expr& e) { return e; }

 private:
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;  // the old expression is kept alive: it is the key
};

}  // namespace tenon::kernel
