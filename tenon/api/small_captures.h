// Small arrays of integers that a function captures: part of its code, or data.
#pragma once

#include "tenon/api/trace.h"

namespace tenon {

// The function with its small captured arrays of integers or truths as tables: which elements it takes, and how it
// masks them, is known when it is compiled. Only for the first numbers that a function of this form is met with: where
// others come, as labels that change from call to call, all of them are data, and compiled once.
TracedFunction with_tables(TracedFunction traced);

}  // namespace tenon
