// How much a plan computes, beside what the eqns of its Program do when each computes each of its elements once.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/compile/plan/fusion.h"
#include "tenon/compile/plan/readers.h"

namespace tenon {

using ElementForms = std::vector<ElementForm>;  // of each eqn's first result, by variable

class Work {
 public:
  static constexpr double bound = 2;
  // Of a value of so many elements, of which so many are computed.
  void add(const ElementForm& form, double elements, double evaluations) {
    for (const auto& [of, each] : {std::pair(&number_, double(form.computed)), {&cost_, form.arithmetic}})
      of->once += elements * each, of->planned += evaluations * each;
  }
  void add_reduction(double elements) {
    for (Count* of : {&number_, &cost_}) of->once += elements, of->planned += elements;
  }
  // Whether all of it stays within the bound with such a value.
  bool allows(const ElementForm& form, double elements, double evaluations) const {
    Work with = *this;
    with.add(form, elements, evaluations);
    return with.is_bounded();
  }
  bool is_bounded() const { return number_.is_bounded() && cost_.is_bounded(); }

 private:
  struct Count {
    double once = 0, planned = 0;
    bool is_bounded() const { return planned <= bound * once; }
  };
  Count number_, cost_;  // of operations, and of what they are worth
};

// Adds to the readers of an eqn's operands those that read its result; `fresh` gives the number of a nest that only one
// part is stored by.
void read_by(const Program& program, const Eqn& eqn, const ElementForm& form, FunctionRef<std::size_t()> fresh,
             std::vector<Readers>& readers);

// What the nests of a plan compute together. Follows the planner as to which values share a nest, and counts a nest as
// cut only where it has few enough parts for that. Three walks over the eqns.
Work work_of(const Program& program, const ElementForms& forms, const Fusion& fusion);

}  // namespace tenon
