// Spectral factors of matrices in the last two axes, of f32, f64, c64 or c128: the ops, and what their evaluation and
// their code share.
#pragma once

#include "tenon/ir/op.h"
#include "tenon/ops/factors/textbook.h"
#include "tenon/runtime/linear_algebra/spectra.h"

namespace tenon {

// Of the Hermitian matrix that the lower triangle of a stands for: {w}, or {w, v}.
Arrays hermitian_spectrum(const Array& a, bool vectors);
// {s}, or {s, u, vh} of min(m, n) columns and rows, or all.
Arrays singular_spectrum(const Array& a, bool vectors, bool full);
// {w, left vectors, right vectors}, those that are asked for.
Arrays general_spectrum(const Array& a, bool left, bool right);
// {t}, or {t, z} with a = z·t·zᴴ.
Arrays schur_form(const Array& a, bool vectors);

namespace matrices {

LibraryForm spectrum_form(TenonSpectrum::Kind kind, const Type& a, std::int64_t vectors, bool full = false);

// one(matrix i) gives the parts of results for each: columns or elements, row-major. Results have types `out`.
std::vector<Value> evaluate_each(const Value& a, std::span<const Type> out,
                                 FunctionRef<std::vector<std::vector<textbook::Number>>(const textbook::Matrix&)> one);
std::vector<textbook::Number> numbers(const std::vector<double>& values);

}  // namespace matrices
}  // namespace tenon
