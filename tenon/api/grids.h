// Numbers in equal steps, and grids of them, as NumPy names them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

struct SpacedOptions {
  bool endpoint = true;             // whether the last number is `stop`, or would be the next
  std::optional<DType> dtype = {};  // of integers: rounded down
  std::int64_t axis = 0;            // of the result, along which the numbers stand
};
// `num` numbers from start to stop in equal steps, of f32, or of f64 where start or stop are or are 64-bit integers.
// Both broadcast: [num, axes…]. The last one is exactly `stop`. Derivatives in both. Throws ShapeError where num is
// negative.
//   linspace(0.f, 1.f, 5)   // 0 0.25 0.5 0.75 1
Array linspace(const Operand& start, const Operand& stop, const Dim& num = 50, const SpacedOptions& options = {});
// The same and the step between them: NaN where there is no second number.
//   linspace_and_step(0.f, 1.f, 3)   // 0 0.5 1, 0.5
struct SpacedNumbers {
  Array numbers, step;
};
SpacedNumbers linspace_and_step(const Operand& start, const Operand& stop, const Dim& num = 50,
                                const SpacedOptions& options = {});
// base to the power of these; and numbers of which each is the same multiple of the one before, exactly start and stop
// at the ends, of one sign.
//   logspace(0.f, 2.f, 3)         // 1 10 100
//   geomspace(1.f, 100.f, 3)      // 1 10 100
Array logspace(const Operand& start, const Operand& stop, const Dim& num = 50, const Operand& base = 10,
               const SpacedOptions& options = {});
Array geomspace(const Operand& start, const Operand& stop, const Dim& num = 50, const SpacedOptions& options = {});

// Of vectors (or numbers) the arrays of their elements at all points of the grid that they span: of x and y two of
// shape [y, x], as pictures have them, or [x, y] with `matrix_order`; of further vectors further axes. `sparse`: of
// size 1 along the other axes, to which they broadcast. Throws ShapeError where one has more axes.
//   meshgrid({linspace(0.f, 1.f, 3), linspace(0.f, 1.f, 2)})[0]   // 0 0.5 1, 0 0.5 1
struct MeshgridOptions {
  bool matrix_order = false, sparse = false;
};
std::vector<Array> meshgrid(std::span<const Array> vectors, const MeshgridOptions& options = {},
                            const Source& where = std::source_location::current());
inline std::vector<Array> meshgrid(std::initializer_list<Array> vectors, const MeshgridOptions& options = {},
                                   const Source& where = std::source_location::current()) {
  return meshgrid(std::span(vectors.begin(), vectors.size()), options, where);
}

}  // namespace tenon
