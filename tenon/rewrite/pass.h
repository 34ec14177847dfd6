// Passes over Programs.
#pragma once

#include <span>
#include <string>

#include "tenon/base/pass.h"
#include "tenon/ir/program.h"

namespace tenon {

using ProgramPass = Pass<ProgramRef>;

// A pass must not change the types of inputs and outputs; everything else of a Program has been verified as it was
// built. TENON_LOG=rewrite tells what a pass changed and in which time.
template <>
struct PassSubject<ProgramRef> {
  static constexpr std::string_view unit = "eqns", ending = ".tn";
  static std::size_t size(const ProgramRef& program) { return program->eqns().size(); }
  static std::string text(const ProgramRef& program);
  static ProgramRef before(const ProgramRef& program) { return program; }
  static bool changed(const ProgramRef& before, const ProgramRef& after) { return before->hash() != after->hash(); }
  static void verify(const std::string& pass, const ProgramRef& before, const ProgramRef& after);
};

ProgramRef run_passes(std::span<const ProgramPass> passes, const ProgramRef& program);

}  // namespace tenon
