// Rules as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "none.h"
#include "tenon/rewrite/rule.h"

namespace tenon::python {

namespace nb = nanobind;

struct PyRule {
  RuleRef rule;
};

std::vector<RuleRef> rules_of(nb::handle rules);  // of a sequence of them

}  // namespace tenon::python
