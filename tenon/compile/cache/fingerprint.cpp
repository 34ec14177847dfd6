#include "tenon/compile/cache/fingerprint.h"

#include <cpuid.h>

#include <utility>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"
#include "tenon/runtime/threads/processors.h"
#include "tenon/runtime/threads/threads.h"

namespace tenon {
namespace {

// The maker, the model, and the instructions that it has and the system lets run; not which of several it is.
void add_processor(Hasher& h) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const auto leaf = [&](unsigned number, unsigned part) {
    return __get_cpuid_count(number, part, &eax, &ebx, &ecx, &edx) != 0;
  };
  if (leaf(0, 0)) h(ebx)(ecx)(edx);
  if (leaf(1, 0)) h(eax)(ecx)(edx);
  if ((ecx & bit_OSXSAVE) != 0) {
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    h(low)(high);
  }
  for (const auto& [number, part] : {std::pair(7u, 0u), {7u, 1u}, {0x14u, 0u}, {0x19u, 0u}, {0x24u, 0u}})
    if (leaf(number, part)) h(eax)(ebx)(ecx)(edx);
  if (leaf(0xd, 1)) h(eax);
  if (leaf(0x80000001, 0)) h(ecx)(edx);
  if (leaf(0x80000008, 0)) h(ebx);
}

Hash128 lasting_part() {
  Hasher h;
  h(source_hash())(first_cache_bytes())(last_cache_bytes());
  add_processor(h);
  for (const char* name : {"TENON_CPU", "TENON_UNITS", "TENON_BLOCKS", "TENON_PASSES"}) h(setting(name).value_or(""));
  return h.finish();
}

}  // namespace

Hash128 fingerprint() {
  static constinit Lasting<const Hash128> lasting;
  return Hasher()(lasting.get(lasting_part))(threads()).finish();
}

}  // namespace tenon
