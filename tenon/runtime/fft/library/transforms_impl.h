// The definition of transform(), over ducc0's templates: a file of its own compiles it for TENON_FFT_REAL.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>

#include "ducc0/fft/fftnd_impl.h"
#include "tenon/base/memo.h"
#include "tenon/runtime/fft/library/transforms.h"

namespace DUCC0_NAMESPACE::detail_fft {
template <class Plan>
std::size_t held_bytes(const shared_ptr<Plan>& plan) {
  return plan->footprint();
}

namespace {  // where ducc0 has its own

// Plans of all lengths are kept, in place of ducc0's own few short ones: a long line takes as long to plan as to
// transform. Both its kinds of plans come by here.
template <class Plan>
shared_ptr<Plan> kept_plan(size_t length, bool vectorize) {
  static constinit tenon::Memo<shared_ptr<Plan>> plans("fourier", 64, std::size_t(64) << 20);
  return plans.get(tenon::Hasher()(length)(vectorize).finish(), [&] { return make_shared<Plan>(length, vectorize); });
}
template <>
shared_ptr<pocketfft_c<TENON_FFT_REAL>> get_plan(size_t length, bool vectorize) {
  return kept_plan<pocketfft_c<TENON_FFT_REAL>>(length, vectorize);
}
template <>
shared_ptr<pocketfft_r<TENON_FFT_REAL>> get_plan(size_t length, bool vectorize) {
  return kept_plan<pocketfft_r<TENON_FFT_REAL>>(length, vectorize);
}

}  // namespace
}  // namespace DUCC0_NAMESPACE::detail_fft

namespace tenon {
namespace fft_detail {

namespace ducc = DUCC0_NAMESPACE;
using Sizes = std::vector<std::size_t>;

inline std::size_t elements(const Sizes& sizes) {
  std::size_t count = 1;
  for (const std::size_t n : sizes) count *= n;
  return count;
}

}  // namespace fft_detail

template <class T>
void transform(const TenonFft& of, const void* x, void* y) {
  using namespace fft_detail;
  using Number = std::complex<T>;
  const Sizes from(of.dims(), of.dims() + of.rank), axes(of.axes(), of.axes() + of.count);
  const std::size_t last = axes.back();
  const bool to_half = of.kind == TenonFft::real_forward, to_real = of.kind == TenonFft::real_inverse;
  Sizes to = from;
  if (to_half) to[last] = from[last] / 2 + 1;
  if (to_real) to[last] = static_cast<std::size_t>(of.size);
  if (elements(to) == 0) return;
  if (elements(from) == 0) {  // sums of nothing
    std::fill_n(static_cast<Number*>(y), elements(to), Number());
    return;
  }
  double count = 1;
  for (const std::size_t axis : axes) count *= static_cast<double>(to_real ? to[axis] : from[axis]);
  const auto factor = static_cast<T>(of.scale == TenonFft::none       ? 1
                                     : of.scale == TenonFft::by_count ? 1 / count
                                                                      : 1 / std::sqrt(count));
  constexpr std::size_t all_threads = 0;
  const auto numbers = [&] { return ducc::cfmav<Number>(static_cast<const Number*>(x), from); };
  if (to_half) {
    ducc::r2c(ducc::cfmav<T>(static_cast<const T*>(x), from), ducc::vfmav<Number>(static_cast<Number*>(y), to), axes,
              true, factor, all_threads);
  } else if (to_real) {
    ducc::c2r(numbers(), ducc::vfmav<T>(static_cast<T*>(y), to), axes, false, factor, all_threads);
  } else {
    ducc::c2c(numbers(), ducc::vfmav<Number>(static_cast<Number*>(y), to), axes, of.kind == TenonFft::forward, factor,
              all_threads);
  }
}

}  // namespace tenon
