// Discrete Fourier transforms.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// forward: Σ x[j] exp(-2πi jk/n), of complex numbers; inverse: the same with +. real_forward: the first n/2 + 1 numbers
// of `forward`, of real ones and the last of the axes; real_inverse: the `size` real numbers that `inverse` gives of
// such n/2 + 1.
enum class FourierKind { forward, inverse, real_forward, real_inverse };
// What the sums are multiplied with: 1, 1/n, or 1/√n, where n elements are transformed together.
enum class FourierScale { none, by_count, by_root };

// The transform along `axes`, at least one, which differ: O(n log n) for any n. f32 and f64, or complex numbers of
// them. Lines of a batch are shared by all threads; `size` is read for real_inverse alone.
Array fourier_transform(const Operand& x, FourierKind kind, std::vector<std::int64_t> axes, FourierScale scale,
                        const Dim& size = 0);

}  // namespace tenon
