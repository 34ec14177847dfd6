// Complex numbers leave the loop language: what reads, computes and stores them does so part by part.
#pragma once

#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

// Slots of complex numbers become real ones of twice the elements, the parts of a number beside each other; an
// expression becomes two, which share what they have in common. A store becomes two of one nest; a sum two sums; a
// product over axes a nest in order. Products of matrices keep their dtype: their offsets are in real elements then,
// their strides in numbers. Linear in the nodes.
void split_complex(Function& function, const Target& target = {});

}  // namespace tenon::kernel
