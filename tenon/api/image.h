// Images in other sizes: each element of the result is a weighted mean of those of the image around its place.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon::image {

// Weights by the distance: of the nearest element alone; falling in a straight line to 0 at 1; cubic to 0 at 2 (Keys
// 1981), and PyTorch's, which differ where there is no antialiasing: steeper, with the ends' elements beyond them;
// Lanczos's windows of 3 and 5; and by how much of an element the place covers.
enum class ResizeMethod { nearest, linear, lanczos3, lanczos5, cubic, cubic_pytorch, area };
struct ResizeOptions {
  ResizeMethod method = ResizeMethod::linear;
  bool antialias = true;  // where the image shrinks, weights are as much wider
};

// x in another shape of the same rank: element i of an axis of m elements covers i to i + 1 of m, as each of n does of
// the result. Axes of one size stay as they are. Integers become f32 (64-bit ones f64), but of the nearest elements
// every dtype stays; f8, f16 and bf16 are computed in f32. Linear in x, with derivatives of any order. Time grows with
// the larger of the two images times the number of weights that are not 0. Throws ShapeError where ranks differ, and
// where elements are wanted of an axis that has none.
//   image::resize(Array{0.f, 1.f}, {4})   // 0 0.25 0.75 1
Array resize(const Operand& x, const Shape& shape, const ResizeOptions& options = {});

// x in another shape, where what lies at p along an axis lies at p · scale + translation; zeros where no part of x
// does. `scale` and `translation` have an element for each of `axes`, and may be traced: derivatives in them too. Time
// grows with the products of old and new sizes. Not of the nearest elements: UnsupportedError.
//   image::scale_and_translate(Array{1.f, 2.f, 3.f}, {3}, {0}, Array{1.f}, Array{1.f})   // 0 1 2
Array scale_and_translate(const Operand& x, const Shape& shape, std::vector<std::int64_t> axes, const Operand& scale,
                          const Operand& translation, const ResizeOptions& options = {});

}  // namespace tenon::image
