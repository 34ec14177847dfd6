// What runs by the reference evaluator: in a scope, or in one of the two runs of a test.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/bind.h"

namespace tenon {

// What runs in its scope is evaluated op by op.
class ByOracle {
 public:
  ByOracle() : before_(install_executor(&reference_)) {}
  ~ByOracle() { install_executor(before_); }
  ByOracle(const ByOracle&) = delete;
  ByOracle& operator=(const ByOracle&) = delete;

 private:
  ReferenceExecutor reference_;
  Executor* before_;
};

// A test by native code and by the evaluator: instantiate it with testing::Bool() and name_of_way.
class BothWays : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) oracle_.emplace();
  }
  void TearDown() override { oracle_.reset(); }

 private:
  std::optional<ByOracle> oracle_;
};
inline std::string name_of_way(const testing::TestParamInfo<bool>& info) {
  return info.param ? "ByTheEvaluator" : "NativeCode";
}

}  // namespace tenon
