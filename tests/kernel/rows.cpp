// Statements of some rows: what emitters look for stays as it was.
#include "tenon/kernel/analysis/rows.h"

#include <gtest/gtest.h>

#include "tenon/kernel/parse.h"

namespace tenon::kernel {
namespace {

// Stores to places beside each other are one node and constants that are added to it: so a run of them is found, and
// written as whole vectors. In memory that a block has for itself, too.
TEST(RestrictToRows, LeavesPlacesBesideEachOtherSo) {
  const Function f = parse(R"(function @f arguments=1
  m0: f32[4096] argument 0
  m1: f32[4096] arena 0
  each [i0<2048]
    m1[mul(i0, 2)] = m0[i0]
    m1[add(mul(i0, 2), 1)] = neg(m0[i0])
)");
  RestrictToRows restrict_to_rows({{0, {{7, 64}}}, 64, 2048}, {{1, {1, 2}}}, {}, {}, {});
  const Statement s = restrict_to_rows(f.body[0]);
  const Nest& nest = std::get<Nest>(s.held());
  EXPECT_EQ(nest.sizes[0], Dim(64));
  const auto [first, at] = without_constant(nest.stores[0].offset);
  const auto [next, there] = without_constant(nest.stores[1].offset);
  EXPECT_EQ(first.identity(), next.identity()) << print(s);
  EXPECT_EQ(at, 0);
  EXPECT_EQ(there, 1);
}

}  // namespace
}  // namespace tenon::kernel
