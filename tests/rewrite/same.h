// A Program and what a pass made of it: the same results, to the bit.
#pragma once

#include <gtest/gtest.h>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/tenon.h"

namespace tenon {

inline void expect_same(const ProgramRef& p, const ProgramRef& q, const std::vector<Value>& in) {
  const auto want = evaluate(*p, {}, in), got = evaluate(*q, {}, in);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(array_equal(Array(std::get<Buffer>(got[i])), Array(std::get<Buffer>(want[i])))) << q;
}

}  // namespace tenon
