#include "tenon/ir/decided_sizes.h"

#include <algorithm>

namespace tenon {

bool has_other_sizes(const Type& type, std::span<const SizeVar> given) {
  bool other = false;
  type.visit_dims([&](const Dim& d) {
    d.visit_variables([&](SizeVar s) { other = other || std::ranges::find(given, s) == given.end(); });
  });
  return other;
}

bool has_decided_size(const Program& program, const Type& type) {
  return has_other_sizes(type, program.size_params());
}

}  // namespace tenon
