// What follows from tables alone, computed now.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// Eqns whose operands are tables, or made of numbers, and whose result is as small, become tables: an index that was
// counted from the end, a mask that compares numbers. Pure eqns that hold no Programs. In regions too. Exact; linear in
// the eqns; memoised.
ProgramRef fold_tables(const ProgramRef& program);

}  // namespace tenon
