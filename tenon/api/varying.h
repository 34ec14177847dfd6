// Arrays whose sizes the data of a branch, or of a step, decide. Branches return, and steps pass on, values of one
// type: such an array is a list of its rows there, and its sizes are numbers. Where it is used it is an array again.
#pragma once

#include "tenon/ir/bind.h"

namespace tenon::api_detail {

// Which of several arrays vary, and along which axes. Axes of one size share a number.
class VaryingSizes {
 public:
  explicit VaryingSizes(std::size_t arrays) : numbers_(arrays) {}

  bool any() const { return count_ > 0; }
  bool varies(std::size_t array) const { return !numbers_[array].empty(); }
  bool varies(std::size_t array, std::size_t axis) const {
    return axis < numbers_[array].size() && numbers_[array][axis].has_value();
  }
  std::size_t arrays() const { return numbers_.size(); }
  std::size_t values() const { return numbers_.size() + count_; }  // of their form for all: then the numbers

  // That axis of an array of that rank varies from now on. All that vary share one number until split() is called.
  void add(std::size_t array, std::size_t rank, std::size_t axis);
  // The sizes along all axes that vary, as one of those who make these arrays has them: axes that share a number and
  // differ there get numbers of their own. Says whether there were any.
  bool split(FunctionRef<Dim(std::size_t array, std::size_t axis)> size);

  // The arrays as values of one type: those that do not vary, lists of rows, and then the numbers, i64[].
  Arrays pack(std::span<const Array> arrays) const;
  Arrays unpack(std::span<const Array> values) const;

 private:
  std::vector<std::vector<std::optional<std::size_t>>> numbers_;  // by array and axis; no axes where none varies
  std::size_t count_ = 0;
};

}  // namespace tenon::api_detail
