#include "tenon/api/packed_bits.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// x with the axis that is meant behind all others, and where it was.
struct BitsLast {
  Array x;
  std::int64_t axis;
  Shape before;  // the other axes
  Dim size;
};
BitsLast with_bits_last(std::string_view name, const Array& given, const std::optional<std::int64_t>& axis) {
  if (!axis) return {in_a_row(given), 0, {}, given.shape().elements()};
  const std::size_t at = normalize_axis(*axis, given.rank(), name);
  return {move_axis(given, *axis, -1), static_cast<std::int64_t>(at), given.shape().without_axis(at),
          given.shape()[at]};
}
// How far up each of eight bits stands, u8.
Array bit_places(BitOrder order) {
  const Array up = iota(DType::u8, {8}, 0);
  return order == BitOrder::big ? Array(Scalar(std::uint8_t(7))) - up : up;
}
Array with_zeros_behind(const Array& x, const Dim& count) {
  if (count.try_value() == 0) return x;
  Shape shape = x.shape();
  shape[shape.rank() - 1] = count;
  return concatenate({x, zeros(shape, x.dtype())}, -1);
}

}  // namespace

Array packbits(const Operand& given, const PackOptions& options) {
  constexpr std::string_view name = "packbits";
  const SourceScope place(given.where(), name);
  if (is_inexact(given->dtype()))
    throw DTypeError(
        fmt::format("{}: Expected an input array of integer or boolean data type: {}.", name, given->type().text()),
        "Compare: x != 0.");
  const BitsLast last = with_bits_last(name, given, options.axis);
  const Dim n = floor_div(last.size + 7, 8);
  const Array bits =
      with_zeros_behind(convert(last.x != Array(Scalar::zero(given->dtype())), DType::u8), 8 * n - last.size);
  Shape eight = last.before;
  eight.push_back(n), eight.push_back(8);
  return move_axis(convert(sum(shift_left(reshape(bits, eight), bit_places(options.bitorder)), -1), DType::u8), -1,
                   last.axis);
}

Array unpackbits(const Operand& given, const UnpackOptions& options) {
  constexpr std::string_view name = "unpackbits";
  const SourceScope place(given.where(), name);
  if (given->dtype() != DType::u8)
    throw DTypeError(
        fmt::format("{}: Expected an input array of unsigned byte data type: {}.", name, given->type().text()),
        "Convert it to u8.");
  const BitsLast last = with_bits_last(name, given, options.axis);
  const Array bits =
      shift_right(expand_dims(last.x, -1), bit_places(options.bitorder)) & Array(Scalar(std::uint8_t(1)));
  const Dim n = 8 * last.size;
  Shape row = last.before;
  row.push_back(n);
  Array made = reshape(bits, row);
  if (options.count) {
    const Dim wanted = *options.count >= 0 ? Dim(*options.count) : max(n + *options.count, 0), kept = min(wanted, n);
    made = with_zeros_behind(slice_in_dim(made, 0, kept, -1), wanted - kept);
  }
  return move_axis(made, -1, last.axis);
}

}  // namespace tenon
