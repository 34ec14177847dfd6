// Collectives: what the lanes of a vmap tell each other, along the name that it gives to their axis.
//   tn::vmap([](Array x) { return x / tn::psum(x, "i"); }, {.axis_name = "i"})(Array{1.f, 3.f})   // 0.25 0.75
// All are made of one op, which a lane is given the values of all lanes by. A derivative that is taken inside of a lane
// sums cotangents over the lanes, as JAX does: that of psum is psum.
#pragma once

#include <string>
#include <string_view>

#include "tenon/ir/array.h"

namespace tenon {

// While it lives, on this thread, an axis has a name: `lane`, i32[], is the number of the lane that is traced.
class NamedAxis {
 public:
  NamedAxis(std::string name, Array lane, Dim size);
  ~NamedAxis();
  NamedAxis(const NamedAxis&) = delete;
  NamedAxis& operator=(const NamedAxis&) = delete;

  static const NamedAxis* innermost();
  static const NamedAxis* find(std::string_view name);  // nullptr: no axis has it
  const NamedAxis* outer() const { return outer_; }
  const std::string& name() const { return name_; }
  const Array& lane() const { return lane_; }
  const Dim& size() const { return size_; }

 private:
  std::string name_;
  Array lane_;
  Dim size_;
  const NamedAxis* outer_;
};

// Each of these throws ShapeError where no axis has the name.
// x of all lanes, stacked along a new axis 0. The same in every lane.
//   tn::vmap([](Array x) { return tn::all_gather(x, "i"); }, {.axis_name = "i"})(Array{1, 2})   // 1 2, 1 2
Array all_gather(const Operand& x, std::string_view axis);
// Σ x over the lanes, their mean, the largest, the smallest. The same in every lane; of bools, psum counts.
//   tn::vmap([](Array x) { return x - tn::pmean(x, "i"); }, {.axis_name = "i"})(Array{1.f, 3.f})   // -1 1
Array psum(const Operand& x, std::string_view axis);
Array pmean(const Operand& x, std::string_view axis);
Array pmax(const Operand& x, std::string_view axis);
Array pmin(const Operand& x, std::string_view axis);
// The number of the lane, i32[], and how many there are.
//   tn::vmap([](Array x) { return x * tn::axis_index("i"); }, {.axis_name = "i"})(Array{5, 7})   // 0 7
Array axis_index(std::string_view axis, const Source& where = std::source_location::current());
Dim axis_size(std::string_view axis, const Source& where = std::source_location::current());

// The op that vmap takes the values of all lanes by: its results are the same in every lane.
bool is_all_gather(const OpInfo& op);

}  // namespace tenon
