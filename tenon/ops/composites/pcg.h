// PCG64 with the output function DXSM, of other ops, as numpy.random.PCG64DXSM has it: a linear congruential generator
// of 128 bits, whose numbers at any place follow from the first state by one affine map. Sources: O'Neill, "PCG: a
// family of simple fast space-efficient statistically good algorithms for random number generation" (2014); Brown,
// "Random number generation with arbitrary strides" (1994), of the maps; and NumPy's SeedSequence, after O'Neill's
// seed_seq_fe.
#pragma once

#include <array>

#include "tenon/ir/array.h"

namespace tenon::pcg {

// The words of a state and of an odd increment, from the upper ones on, u32 each: what a key holds.
using Words = std::array<Array, 8>;

// The generator that numpy.random.PCG64DXSM(seed) is, of a seed of two words.
Words seeded(const Array& upper, const Array& lower);
// The first `count` numbers, u64[count]. The increment counts as odd. Time grows with the numbers; each is computed by
// itself, of the state before 256 of them.
Array numbers(const Words& words, const Dim& count);

}  // namespace tenon::pcg
