// Sums that wait for another reduction of the same elements: of terms that a part of the elements can make around a
// maximum or a mean of its own.
#pragma once

#include <compare>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/program.h"
#include "tenon/rewrite/eqn_numbers.h"

namespace tenon {

// What is summed: coefficient · Π elements · Π rows · Π exp(x - r) · Π (x - r), where all choices are met, else 0.
struct SummedTerm {
  struct Factor {
    Var of;
    bool divides = false;
    friend auto operator<=>(const Factor&, const Factor&) = default;
  };
  struct Choice {
    Var condition;
    bool met;
    friend auto operator<=>(const Choice&, const Choice&) = default;
  };
  double coefficient = 1;
  std::vector<Factor> elements = {};                // arrays that wait for nothing
  std::vector<Factor> rows = {};                    // broadcasts along the axes that are reduced
  std::vector<Choice> choices = {};                 // which wait for nothing either
  std::vector<Var> exponents = {}, distances = {};  // each r, a broadcast too

  friend bool operator==(const SummedTerm&, const SummedTerm&) = default;
};
using SummedTerms = std::vector<SummedTerm>;

// A space of more axes than the elements have, as attention has: what is made of these is repeated along the others,
// and multiplied with arrays of this shape.
struct WiderSpace {
  Shape shape;
  std::vector<std::int64_t> of_elements;  // which of its axes the elements' are
  std::vector<std::int64_t> axes;         // that are summed
  // The other operand of a product, which is part of each term, and which axes its own are.
  std::optional<Var> other = {};
  std::vector<std::int64_t> of_other = {};
};
struct WaitingSum {
  std::size_t eqn;
  SummedTerms terms;
  std::optional<WiderSpace> wider = {};
  std::vector<std::int64_t> then = {};  // axes of what is left, that are summed too
};

// The reduction that sums wait for: a maximum, or a sum.
struct FirstReduction {
  std::size_t eqn;
  bool largest;
  Var x;
  std::vector<std::int64_t> axes;
};
std::optional<FirstReduction> first_reduction(const Program& program, std::size_t e);

// Follows what waits for it, over at most 400 eqns. `wider`: also sums in wider spaces and over more axes, and
// products. `is_late`: whether a variable waits for other reductions; then what it is made of counts as elements, where
// it can.
std::vector<WaitingSum> sums_that_wait(const Program& program, std::span<const std::size_t> maker,
                                       const EqnReaders& readers, const FirstReduction& first, bool wider,
                                       FunctionRef<bool(Var)> is_late);
// The eqns that make what a sum adds up, of elements on: those of its terms, not of what rows have one of.
std::set<std::size_t> terms_eqns(const Program& program, std::span<const std::size_t> maker, const WaitingSum& sum,
                                 const FirstReduction& first);
// What its terms read of each element: arrays and masks that wait for nothing, each once, without a product's other
// operand.
std::vector<Var> elements_read(const WaitingSum& sum);

// What is repeated along these axes, `dims` of whose result its own are: in the shape `rows`, which lacks the axes.
Array of_rows(const Array& x, std::span<const std::int64_t> dims, const std::vector<std::int64_t>& axes,
              const Shape& rows);

// Π (t + d) as the coefficients of t^0, t^1, …; the last one is 1 and left out.
Arrays polynomial(std::span<const Array> d);

}  // namespace tenon
