// Programs as native code, beside the reference evaluator: what tests of code for found sizes share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"

namespace tenon {

using Function = std::function<Arrays(Arrays)>;

// NaN agrees with NaN.
inline bool close(const Array& a, const Array& b) {
  if (a.type() != b.type()) return false;
  if (!is_inexact(a.dtype())) return same_bits(a.to_buffer(), b.to_buffer());
  const double tolerance = a.dtype() == DType::f64 || a.dtype() == DType::c128 ? 1e-11
                           : is_narrow(a.dtype())                              ? (is_float8(a.dtype()) ? 0.3 : 2e-2)
                                                                               : 2e-5;
  const Array of_numbers = where(a == a, a, zeros_like(a)), wanted = where(b == b, b, zeros_like(b));
  return all((a == a) == (b == b)).item<bool>() && allclose(of_numbers, wanted, tolerance, tolerance);
}

inline Arrays evaluated(const Function& f, const Arrays& in) {
  std::vector<Value> values;
  for (const Array& a : in) values.emplace_back(a.to_buffer());
  Arrays want;
  for (const Value& value : evaluate(*trace(f)(in), {}, values)) want.emplace_back(std::get<Buffer>(value));
  return want;
}

inline void expect_agreement(const Function& f, const Arrays& in, const std::string& what = "") {
  const Arrays want = evaluated(f, in), got = jit(f)(in);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(close(got[i], want[i])) << what << ": result " << i << "\n" << got[i] << "\nwanted\n" << want[i];
}

inline std::string explained(const Function& f, const Arrays& in) { return explain(jit(f))(in); }

inline void expect_native(const Function& f, const Arrays& in, const std::string& what = "") {
  const std::string text = explained(f, in);
  EXPECT_THAT(text, testing::HasSubstr("native code:")) << what;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("without native form"))) << what;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("runs in pieces"))) << what;
  expect_agreement(f, in, what);
}

constexpr DType all_dtypes[] = {DType::bool_, DType::i8,  DType::i16, DType::i32, DType::i64,      DType::u8,
                                DType::u16,   DType::u32, DType::u64, DType::f16, DType::f8e4m3fn, DType::f8e5m2,
                                DType::bf16,  DType::f32, DType::f64, DType::c64, DType::c128};

}  // namespace tenon
