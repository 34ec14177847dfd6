#include "tenon/compile/target.h"

#include <algorithm>

#include "tenon/base/settings.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/runtime/threads/processors.h"

namespace tenon {

kernel::Target target() {
  static const std::int64_t half_of_cache = std::clamp<std::int64_t>(first_cache_bytes() / 2, 8 << 10, 32 << 10);
  kernel::Target cpu{.threads = threads(), .cache_bytes = half_of_cache};
  if (blocks_are_small())
    cpu.worth_forking = 0, cpu.cache_bytes = cpu.shortest_run = cpu.vector_bytes = 1, cpu.product_bytes = 64,
    cpu.long_rows = 16;
  return cpu;
}

}  // namespace tenon
