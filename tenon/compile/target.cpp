#include "tenon/compile/target.h"

#include "tenon/base/settings.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {

kernel::Target target() {
  kernel::Target cpu{.threads = threads()};
  if (blocks_are_small())
    cpu.worth_forking = 0, cpu.cache_bytes = cpu.shortest_run = cpu.vector_bytes = 1, cpu.product_bytes = 64,
    cpu.long_rows = 16;
  return cpu;
}

}  // namespace tenon
