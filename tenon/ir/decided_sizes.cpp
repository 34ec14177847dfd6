#include "tenon/ir/decided_sizes.h"

#include <algorithm>

namespace tenon {

bool has_decided_size(const Program& program, const Type& type) {
  bool decided = false;
  type.visit_dims([&](const Dim& d) {
    d.visit_variables([&](SizeVar s) {
      for (const Eqn& eqn : program.eqns())
        decided = decided || std::ranges::find(eqn.new_sizes, s) != eqn.new_sizes.end();
    });
  });
  return decided;
}

}  // namespace tenon
