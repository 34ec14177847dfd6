// What follows from tables alone is a table.
#include "tenon/rewrite/fold_tables.h"

#include <gtest/gtest.h>

#include "tenon/ir/bind.h"
#include "tenon/ops/structure/table.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Array table(std::vector<std::int64_t> values) {
  const Array numbers = array<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
  return bind1(table_op(), table_params(*numbers.buffer()), {});
}
std::int64_t eqns_but_tables(const ProgramRef& p) {
  return std::ranges::count_if(p->eqns(), [](const Eqn& eqn) { return eqn.op != &table_op(); });
}
ProgramRef folded(const std::function<Array(Array)>& f) {
  const Array x = arange(4, DType::f64) * 2.0;
  const ProgramRef p = share_calls(trace(f)(x)), q = fold_tables(p);
  EXPECT_TRUE(all(jit(f)(x) == f(x)).item<bool>());
  return q;
}

TEST(FoldTables, IndicesFromTheEnd) {
  // A negative index is moved inside by a comparison, a sum and a choice: all of a table.
  EXPECT_EQ(eqns_but_tables(folded([](Array x) { return x(table({3, -1, 0, -4})); })), 1);
}

TEST(FoldTables, WhatReadsOtherValuesStays) {
  const ProgramRef q = folded([](Array x) { return x + convert(table({1, 2, 3, 4}), DType::f64); });
  EXPECT_EQ(eqns_but_tables(q), 2);  // the numbers of the table as real ones, and their sum with x
}

TEST(FoldTables, ProgramsWithoutTablesAreLeft) {
  const ProgramRef p = trace([](Array x) { return x + 1.0; })(ones({3}));
  EXPECT_EQ(fold_tables(p), p);
}

TEST(FoldTables, TextReadsBack) {
  const ProgramRef p = trace([](Array x) { return x(table({1, 0})); })(ones({3}));
  EXPECT_EQ(parse(print(*p))->hash(), p->hash());
}

}  // namespace
}  // namespace tenon
