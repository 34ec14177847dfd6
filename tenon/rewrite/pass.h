// Pass: a named rewriting of Programs; and the list of them that every compiled Program goes through.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tenon/ir/program.h"

namespace tenon {

struct Pass {
  std::string name;
  std::string summary;  // one line
  std::function<ProgramRef(const ProgramRef&)> run;
};

// Runs one pass. Its result has been verified as every Program is, and must have the same types of inputs and outputs;
// a VerifyError names the pass otherwise. TENON_LOG=rewrite tells what it changed and in which time.
ProgramRef run_pass(const Pass& pass, const ProgramRef& program);
ProgramRef run_passes(std::span<const Pass> passes, const ProgramRef& program);

// What stands between a Program and its plan, in order: calls are inlined, then each rewrite runs once.
std::span<const Pass> compile_passes();

}  // namespace tenon
