// Everything between a traced Program and machine code: the passes over Programs and those over the loop language, in
// order.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tenon/kernel/passes/pass.h"
#include "tenon/kernel/passes/share_donated.h"
#include "tenon/kernel/target.h"
#include "tenon/rewrite/pass.h"

namespace tenon {

// From a traced Program to the one that is planned.
std::span<const ProgramPass> compile_passes();

// From the plan's Function to the one that code is generated of. A name may stand twice: that pass runs twice.
// `donated` tells which arguments may share memory; what comes of it is put where `shared` points, which may be null.
std::vector<kernel::Pass> kernel_passes(const kernel::Target& target, const kernel::Donated& donated = {},
                                        std::vector<std::optional<std::uint32_t>>* shared = nullptr);

// Tells, once, of names in TENON_PASSES that none of them has, or that are needed.
void check_passes_left_out();

}  // namespace tenon
