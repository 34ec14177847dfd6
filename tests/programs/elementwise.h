// The elementwise statements of random Programs: one function of the operands', drawn from those of their kind.
// Domains are kept where functions are smooth and results moderate.
#pragma once

#include "tenon/ir/array.h"
#include "tests/programs/choices.h"

namespace tenon::sample {

inline bool is_number(const Array& a) { return a.dtype() != DType::bool_; }
inline bool inexact(const Array& a) { return is_inexact(a.dtype()); }
inline bool real(const Array& a) { return is_real(a.dtype()); }
inline bool integer(const Array& a) { return is_integer(a.dtype()); }
inline bool boolean(const Array& a) { return a.dtype() == DType::bool_; }

// Of numbers; a second operand has the dtype of the first, and a shape that agrees.
Array some_unary(Choices& c, const Array& x);
Array some_binary(Choices& c, const Array& x, const Array& y);
// Of any dtype; a bool.
Array some_comparison(Choices& c, const Array& x, const Array& y);

}  // namespace tenon::sample
