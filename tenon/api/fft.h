// Discrete Fourier transforms, as NumPy names them.
//
// Of real or complex numbers: integers become f32 (64-bit ones f64), f8, f16 and bf16 are computed in f32; complex
// results are c64 of f32 and c128 of f64. Any length takes O(n log n), a prime one too; any shape, other axes without
// elements too. Each is linear, and has derivatives of any order. Lines are shared by all threads; the last bits may
// depend on their number. By ducc0's FFT, whose errors grow with √log n, a few units in the last place. Throws
// ShapeError where an axis is not there or given twice, where a length is 0, and where lengths are not as many as axes;
// DTypeError where real numbers are asked for and complex ones given.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon::fft {

// What multiplies: 1 forward and 1/n backward; 1/√n both; 1/n forward and 1 backward.
enum class Norm { backward, ortho, forward };

// `n` elements of the axis are transformed: the axis is cut, or zeros stand behind it; all of it, where n is not given.
struct Options {
  std::optional<Dim> n = {};
  std::int64_t axis = -1;
  Norm norm = Norm::backward;
};
// The same of axes: all, where they are not given, or as many at the end as `s` has lengths.
struct ManyOptions {
  std::optional<std::vector<Dim>> s = {};
  std::optional<std::vector<std::int64_t>> axes = {};
  Norm norm = Norm::backward;
};
// The last two axes, where they are not given.
struct PlaneOptions {
  std::optional<std::vector<Dim>> s = {};
  std::vector<std::int64_t> axes = {-2, -1};
  Norm norm = Norm::backward;
};

// y[k] = Σ x[j] exp(-2πi jk/n); ifft undoes it.
//   fft::fft(Array{1.f, 0.f, 0.f, 0.f})   // 1 1 1 1
Array fft(const Operand& x, const Options& options = {});
Array ifft(const Operand& x, const Options& options = {});
// Of real numbers the first n/2 + 1, which tell the others; irfft gives n real numbers of them, 2(m - 1) of m where n
// is not given.
//   fft::rfft(Array{1.f, 2.f, 3.f, 4.f})   // 10, -2+2i, -2
Array rfft(const Operand& x, const Options& options = {});
Array irfft(const Operand& x, const Options& options = {});
// The n real numbers that `fft` gives of numbers with y[n - j] = conj(y[j]), of which x has the first n/2 + 1; and
// those of real numbers, which `ifft` gives.
//   fft::hfft(Array{1.f, 2.f, 3.f})   // 8 -2 0 -2
Array hfft(const Operand& x, const Options& options = {});
Array ihfft(const Operand& x, const Options& options = {});

// Along axes, one after another; of real numbers the last of them is halved.
//   fft::fftn(Array{{1.f, 2.f}, {3.f, 4.f}})   // 10 -2, -4 0
//   fft::rfft2(Array{{1.f, 2.f}, {3.f, 4.f}})   // 10 -2, -4 0
Array fftn(const Operand& x, const ManyOptions& options = {});
Array ifftn(const Operand& x, const ManyOptions& options = {});
Array rfftn(const Operand& x, const ManyOptions& options = {});
Array irfftn(const Operand& x, const ManyOptions& options = {});
Array fft2(const Operand& x, const PlaneOptions& options = {});
Array ifft2(const Operand& x, const PlaneOptions& options = {});
Array rfft2(const Operand& x, const PlaneOptions& options = {});
Array irfft2(const Operand& x, const PlaneOptions& options = {});

// Discrete cosine transforms of type 2, y[k] = 2 Σ x[j] cos(πk(2j + 1) / 2n), and back: idct undoes dct, and divides by
// 2n where dct multiplies by nothing (Norm::backward). Norm::ortho makes them orthogonal: by 1/√(2n), and 1/√(4n) of k
// = 0. Real numbers stay real; of complex ones both parts are transformed. By one transform of real numbers of n
// elements (Makhoul 1980).
//   fft::dct(Array{1.f, 2.f, 3.f})   // 12 -3.4641 0
Array dct(const Operand& x, const Options& options = {});
Array idct(const Operand& x, const Options& options = {});
Array dctn(const Operand& x, const ManyOptions& options = {});
Array idctn(const Operand& x, const ManyOptions& options = {});

// The frequencies of n samples at distance d, in cycles a unit of d: 0, the positive ones, the negative ones; of real
// samples those that are not negative.
//   fft::fftfreq(4, 0.5)   // 0 0.5 -1 -0.5
Array fftfreq(const Dim& n, const Operand& d = 1.0, DType dtype = DType::f32);
Array rfftfreq(const Dim& n, const Operand& d = 1.0, DType dtype = DType::f32);
// Frequency 0 moved to the middle of axes (of all, where none are given), and back.
//   fft::fftshift(fft::fftfreq(4))   // -0.5 -0.25 0 0.25
Array fftshift(const Operand& x, const std::optional<std::vector<std::int64_t>>& axes = {});
Array ifftshift(const Operand& x, const std::optional<std::vector<std::int64_t>>& axes = {});

}  // namespace tenon::fft
