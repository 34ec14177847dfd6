// Observations and the codes that are nearest to them.
#pragma once

#include "tenon/ir/array.h"

namespace tenon::cluster {

struct Codes {
  Array codes, distances;
};
// For each observation, a row of [m, n], the number of the nearest row of the code book, [k, n], by Euclid's distance:
// i32, the first of equal ones; and the distance. Vectors are rows of one number. Integers become f32 (64-bit ones
// f64). Derivatives of the distances, which are 0 where a distance is 0. Throws ShapeError where rows differ in length,
// and where the book is empty.
//   cluster::vq(Array{{0.f, 1.f}}, Array{{5.f, 5.f}, {0.f, 0.f}})   // 1, 1
Codes vq(const Operand& observations, const Operand& code_book);

}  // namespace tenon::cluster
