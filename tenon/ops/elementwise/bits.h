// Booleans as bits: how reverse mode keeps masks.
#pragma once

#include <optional>

#include "tenon/ir/array.h"
#include "tenon/ir/program.h"

namespace tenon {

// bool[…, n, …] -> u8[…, m, …], m = ⌈n/8⌉: bit k of byte j is element k·m + j along the axis; bits behind the last
// element are 0. Eight runs of elements, so that a vector of bytes is made of eight vectors of elements.
Array pack_bits(const Array& x, std::int64_t axis);
// The n elements along the axis again.
Array unpack_bits(const Array& bytes, std::int64_t axis, std::int64_t n);

// How a value is kept as bits where it is stacked: along its last axis, so that rows stay rows, or along the longest
// where that is short. A long last axis is divided into groups, so that neighbours stay close.
struct Bits {
  Type grouped;  // what is packed: the value itself, or with an axis of groups before the last one
  std::int64_t axis;
  Type packed;
};
// Nothing where it gains little: of fewer than 64 booleans a step, or 2²² in all steps; of fewer than 512 where data
// decide how many steps there are.
std::optional<Bits> kept_as_bits(const Type& type, const std::optional<Dim>& steps);
// Appends the eqns that pack a variable; returns their result.
Var pack_in(ProgramParts& program, const Bits& bits, Var booleans);
// Eqns that give a variable of the Program from its bits.
std::vector<Eqn> unpack_in(ProgramParts& program, const Bits& bits, Var packed, Var booleans);
const OpInfo& pack_bits_op();

}  // namespace tenon
