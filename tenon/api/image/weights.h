// What elements of an image weigh in one of another size, along one axis.
#pragma once

#include <vector>

#include "tenon/api/image.h"

namespace tenon::image {

// How an axis of `from` elements becomes one of `to`: p lies at p · scale + translation.
struct Resampling {
  ResizeMethod method;
  bool antialias;
  // PyTorch's cubes are Keys's where the image is smoothed.
  ResizeMethod kind() const {
    return method == ResizeMethod::cubic_pytorch && antialias ? ResizeMethod::cubic : method;
  }
};

// Weights of known sizes and scale: those of element j of the result are of `taps` elements from first[j] on.
struct Weights {
  std::int64_t taps = 0;
  std::vector<std::int64_t> first;
  std::vector<double> values;  // [to, taps]
};
Weights weights_between(const Resampling& how, std::int64_t from, std::int64_t to);

// [from, to], of any sizes, in the dtype of scale and translation.
Array weight_matrix(const Resampling& how, const Dim& from, const Dim& to, const Array& scale,
                    const Array& translation);

}  // namespace tenon::image
