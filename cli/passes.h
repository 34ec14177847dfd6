// The passes that `tenon opt` knows by name: transformations and rewrites.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/ir/program.h"

namespace tenon::cli {

struct NamedPass {
  std::string name;
  std::string summary;
  // The number behind "name=", or nothing.
  std::function<ProgramRef(const ProgramRef&, std::optional<std::int64_t>)> run;
  bool numbered = false;  // whether "name=number" is understood
};
const std::vector<NamedPass>& passes();

// Each of "name" or "name=number" in order. Throws Error where there is no such pass, or it takes no number.
ProgramRef apply_passes(ProgramRef program, const std::vector<std::string>& names);

}  // namespace tenon::cli
