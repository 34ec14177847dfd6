#include "tenon/compile/target.h"

#include <algorithm>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/runtime/threads/processors.h"

namespace tenon {

kernel::Target target() {
  static constinit Lasting<const std::int64_t> half_of_cache;
  kernel::Target cpu{.threads = threads(), .cache_bytes = half_of_cache.get([] {
                       return std::clamp<std::int64_t>(first_cache_bytes() / 2, 8 << 10, 32 << 10);
                     })};
  if (blocks_are_small())
    cpu.worth_forking = 0, cpu.shortest_run = cpu.vector_bytes = 1, cpu.cache_bytes = cpu.product_bytes = 64,
    cpu.long_rows = 16;
  return cpu;
}

}  // namespace tenon
