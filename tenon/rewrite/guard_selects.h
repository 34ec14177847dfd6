// where(p, updated, old) as updates that write nothing where p does not hold.
#pragma once

#include "tenon/ir/program.h"

namespace tenon {

// A select by one bool between an array and updates of it becomes those updates, each writing what is there where the
// bool says so: O(rows) instead of O(elements), in place, and with derivatives that are no more than that. Only where
// nothing else reads what lies between. Of the eqns of a Program itself; its regions have been traced, and so
// rewritten, before. Values are the same to the bit. Linear in the eqns.
ProgramRef guard_selects(const ProgramRef& program);

}  // namespace tenon
