#include "tenon/runtime/linear_algebra/product_kernels.h"

#include <libxsmm_cpuid.h>
#include <libxsmm_generator.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"

// libxsmm tells of errors by this function, which is ours: where it writes no kernel, products do without.
extern "C" [[gnu::visibility("hidden")]] void libxsmm_handle_error(libxsmm_generated_code* code, unsigned error,
                                                                   const char* /*context*/, int /*say*/) {
  code->last_error = error;
}

namespace tenon {
namespace {

VectorUnit detect() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return VectorUnit::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return VectorUnit::avx2;
  return __builtin_cpu_supports("sse3") ? VectorUnit::sse3 : VectorUnit::none;
}

unsigned architecture(VectorUnit unit) noexcept {
  return unit == VectorUnit::avx512 ? LIBXSMM_X86_AVX512_CORE
         : unit == VectorUnit::avx2 ? LIBXSMM_X86_AVX2
                                    : LIBXSMM_X86_SSE3;
}

// Offsets inside a kernel are 32-bit numbers of bytes, with a sign.
bool addressable(const KernelShape& s) noexcept {
  constexpr std::uint64_t limit = std::uint64_t(1) << 31;
  const std::uint64_t element = s.f64 != 0 ? 8 : 4;
  const std::uint64_t a_rows = s.a_by_columns != 0 ? s.k : s.m;
  return s.a_distance * a_rows * element < limit && std::uint64_t(s.b_distance) * s.k * element < limit &&
         std::uint64_t(s.c_distance) * s.m * element < limit;
}

struct Code {
  void* memory = nullptr;
  std::size_t bytes = 0;
  ProductKernel kernel() const noexcept { return std::bit_cast<ProductKernel>(memory); }
};

// libxsmm counts by columns, so to it our c is its transpose: b's columns times a's rows. Only its code generator is
// linked, which keeps no state: no environment is read, nothing printed, no signal handled.
Code generate(const KernelShape& s) noexcept {
  const VectorUnit unit = vector_unit();
  if (unit == VectorUnit::none || !addressable(s)) return {};
  libxsmm_descriptor_blob memory;
  const int flags = s.a_by_columns != 0 ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const auto precision = s.f64 != 0 ? LIBXSMM_GEMM_PRECISION_F64 : LIBXSMM_GEMM_PRECISION_F32;
  const auto number = [](std::uint32_t n) { return static_cast<libxsmm_blasint>(n); };
  const libxsmm_gemm_descriptor* descriptor = libxsmm_gemm_descriptor_dinit(
      &memory, precision, number(s.n), number(s.m), number(s.k), number(s.b_distance), number(s.a_distance),
      number(s.c_distance), 1, s.accumulate != 0 ? 1 : 0, flags, LIBXSMM_GEMM_PREFETCH_NONE);
  if (descriptor == nullptr) return {};
  constexpr std::size_t most = 128 << 10, page = 4096;
  void* const code = ::mmap(nullptr, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return {};
  libxsmm_generated_code generated{};
  generated.generated_code = code;
  generated.buffer_size = most;
  generated.code_type = 2;  // machine code
  generated.arch = architecture(unit);
  libxsmm_generator_gemm_kernel(&generated, descriptor);
  const std::size_t used = (generated.code_size + page - 1) / page * page;
  if (generated.last_error != 0 || used == 0 || ::mprotect(code, used, PROT_READ | PROT_EXEC) != 0) {
    ::munmap(code, most);
    return {};
  }
  if (used < most) ::munmap(static_cast<char*>(code) + used, most - used);
  return {code, used};
}

std::uint64_t hash(const KernelShape& shape) noexcept {
  static_assert(sizeof(KernelShape) == 32);
  std::uint64_t words[4];
  std::memcpy(words, &shape, sizeof words);
  std::uint64_t h = 0;
  for (const std::uint64_t word : words) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h;
}

struct Made {
  KernelShape shape;
  ProductKernel kernel;
};

// Open addressing; a place is written once, so readers need no lock. Two threads that miss the same shape both
// generate it, and one of them throws its work away.
constexpr std::size_t places = 8192;
static_assert(std::has_single_bit(places) && most_product_kernels < places);
std::array<std::atomic<const Made*>, places> table;
std::atomic<std::uint32_t> count{0};

ProductKernel insert(const KernelShape& shape, std::size_t place) noexcept {
  if (count.fetch_add(1, std::memory_order_relaxed) >= most_product_kernels) {
    count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  const Code code = generate(shape);
  const Made* const made = new (std::nothrow) Made{shape, code.kernel()};
  if (made == nullptr) {
    if (code.memory != nullptr) ::munmap(code.memory, code.bytes);
    return nullptr;
  }
  for (;; place = (place + 1) % places) {
    const Made* found = nullptr;
    if (table[place].compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made->kernel;
    if (found->shape == shape) {
      if (code.memory != nullptr) ::munmap(code.memory, code.bytes);
      delete made;
      count.fetch_sub(1, std::memory_order_relaxed);
      return found->kernel;
    }
  }
}

}  // namespace

VectorUnit vector_unit() noexcept {
  static constinit Lasting<const VectorUnit> chosen;
  return chosen.get([] {
    const std::string_view cap = setting("TENON_CPU").value_or("");
    const VectorUnit most = cap == "baseline" ? VectorUnit::sse3
                            : cap == "avx2"   ? VectorUnit::avx2
                                              : VectorUnit::avx512;
    return std::min(detect(), most);
  });
}

ProductKernel product_kernel(const KernelShape& shape) noexcept {
  for (std::size_t place = hash(shape) % places;; place = (place + 1) % places) {
    const Made* const made = table[place].load(std::memory_order_acquire);
    if (made == nullptr) return insert(shape, place);
    if (made->shape == shape) return made->kernel;
  }
}

}  // namespace tenon
