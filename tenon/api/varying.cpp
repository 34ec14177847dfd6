#include "tenon/api/varying.h"

#include <algorithm>
#include <utility>

#include "tenon/ops/lists/list_elements.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon::api_detail {
namespace {

using Numbers = std::vector<std::optional<std::size_t>>;

// The order of axes in which those that vary come first.
std::vector<std::int64_t> varying_first(const Numbers& numbers) {
  std::vector<std::int64_t> order;
  for (const bool varying : {true, false})
    for (std::size_t axis = 0; axis < numbers.size(); ++axis)
      if (numbers[axis].has_value() == varying) order.push_back(static_cast<std::int64_t>(axis));
  return order;
}

// The axes that vary, which come first, as one, and back.
Array merged(const Array& x, std::size_t varying) {
  if (varying == 1) return x;
  std::vector<Dim> dims{1};
  for (std::size_t axis = 0; axis < varying; ++axis) dims[0] = dims[0] * x.shape()[axis];
  for (std::size_t axis = varying; axis < x.rank(); ++axis) dims.push_back(x.shape()[axis]);
  return reshape(x, Shape(dims));
}
Array divided(const Array& x, std::vector<Dim> sizes) {
  if (sizes.size() == 1) return x;
  for (std::size_t axis = 1; axis < x.rank(); ++axis) sizes.push_back(x.shape()[axis]);
  return reshape(x, Shape(sizes));
}

}  // namespace

void VaryingSizes::add(std::size_t array, std::size_t rank, std::size_t axis) {
  numbers_[array].resize(std::max(rank, numbers_[array].size()));
  numbers_[array][axis] = 0;
  count_ = 1;
  for (Numbers& numbers : numbers_)
    for (auto& number : numbers)
      if (number) number = 0;
}

bool VaryingSizes::split(FunctionRef<Dim(std::size_t, std::size_t)> size) {
  // Of each number so far the sizes that were met, each with its number from now on.
  std::vector<std::vector<std::pair<Dim, std::size_t>>> met(count_);
  std::size_t count = 0;
  for (std::size_t array = 0; array < numbers_.size(); ++array)
    for (std::size_t axis = 0; axis < numbers_[array].size(); ++axis) {
      auto& number = numbers_[array][axis];
      if (!number) continue;
      auto& sizes = met[*number];
      const Dim here = size(array, axis);
      auto at = std::ranges::find_if(sizes, [&](const auto& known) { return known.first == here; });
      if (at == sizes.end()) at = sizes.insert(at, {here, count++});
      number = at->second;
    }
  return std::exchange(count_, count) != count;
}

Arrays VaryingSizes::pack(std::span<const Array> arrays) const {
  Arrays values(arrays.begin(), arrays.end());
  std::vector<std::optional<Array>> sizes(count_);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!varies(i)) continue;
    for (std::size_t axis = 0; axis < arrays[i].rank(); ++axis)
      if (const auto number = numbers_[i][axis]; number && !sizes[*number])
        sizes[*number] = size_as_array(arrays[i].shape()[axis]);
    const auto varying =
        static_cast<std::size_t>(std::ranges::count_if(numbers_[i], &std::optional<std::size_t>::has_value));
    values[i] = list_unstack(merged(transpose(arrays[i], varying_first(numbers_[i])), varying));
  }
  for (const auto& size : sizes) values.push_back(*size);
  return values;
}

Arrays VaryingSizes::unpack(std::span<const Array> values) const {
  Arrays arrays(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(numbers_.size()));
  std::vector<Dim> sizes;
  for (const Array& number : values.subspan(numbers_.size())) sizes.push_back(extent(number));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!varies(i)) continue;
    std::vector<Dim> varying;
    Dim rows = 1;
    for (const auto& number : numbers_[i])
      if (number) varying.push_back(sizes[*number]), rows = rows * sizes[*number];
    arrays[i] =
        transpose(divided(list_stack(values[i], rows), varying), inverse_permutation(varying_first(numbers_[i])));
  }
  return arrays;
}

}  // namespace tenon::api_detail
