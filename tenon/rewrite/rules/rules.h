// The library's rules, a family a file.
#pragma once

#include "tenon/rewrite/engine.h"

namespace tenon {

std::vector<RuleRef> algebra_rules();  // identities, constants that absorb, operands that are equal, what undoes itself
std::vector<RuleRef> number_rules();   // what follows from numbers alone
std::vector<RuleRef> choice_rules();   // chains of selects
std::vector<RuleRef> conversion_rules();  // chains of conversions
std::vector<RuleRef>
product_rules();  // products of matrices, in the order that costs least; solve in place of inverses
std::vector<RuleRef> outer_product_rules();  // products that sum nothing
std::vector<RuleRef> index_rules();          // reads and updates at indices that follow from counting; parts amid zeros
std::vector<RuleRef> gathered_part_rules();  // parts of what is gathered and of what is scattered
std::vector<RuleRef> order_rules();          // the first few in order
std::vector<RuleRef> reduction_rules();      // reductions of all elements, in whatever shape
std::vector<RuleRef> stability_rules();      // what overflows on the way; none is applied unless it is asked for

// Those that are applied to all that is compiled.
const RuleSet& default_rules();
// All, to be asked for by name: null where there is none.
RuleRef find_rule(std::string_view name);
std::vector<RuleRef> all_rules();

// Ops that compute each element by itself, to the same bits wherever they run.
bool is_exact_elementwise(const OpInfo& op);

// An array of this type, each of whose elements is the number.
Array filled(const Scalar& number, const Type& type);

}  // namespace tenon
