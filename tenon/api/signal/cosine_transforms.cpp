// Discrete cosine transforms, each by a Fourier transform of as many real numbers.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "tenon/api/fft.h"
#include "tenon/api/signal/segments.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array part_of_last(const Array& x, const Dim& from, const Dim& to, std::int64_t step = 1) {
  return slice_in_dim(x, from, to, -1, step);
}
Array turned_around(const Array& x) { return reverse(x, {static_cast<std::int64_t>(x.rank()) - 1}); }
Dim last_length(const Array& x) { return x.shape()[x.rank() - 1]; }

// cos and sin of πk / 2n, of k up to n/2.
struct Turn {
  Turn(const Dim& n, DType d)
      : angle(arange(floor_div(n, 2) + 1, d) * (convert(std::numbers::pi / 2, d) / convert(size_as_array(n), d))),
        c(cos(angle)),
        s(sin(angle)) {}
  Array angle, c, s;
};

// What multiplies elements of dct by the norm, along the last axis.
Array factors(const Dim& n, DType d, fft::Norm norm) {
  const Array count = convert(size_as_array(n), d);
  if (norm == fft::Norm::forward) return 1 / (2 * count);
  return rsqrt(where(arange(n) == 0, 4 * count, 2 * count));
}

// Even elements, then the odd ones turned around, have a transform whose elements are those of the cosine transform
// turned by πk / 2n: the real part of one is its k-th, the imaginary part that which is as far from the end.
Array cosines_of(const Array& x, fft::Norm norm) {
  const Dim n = last_length(x);
  const Array z = fft::rfft(concatenate({part_of_last(x, 0, n, 2), turned_around(part_of_last(x, 1, n, 2))}, -1));
  const Turn turn(n, x.dtype());
  const Array re = real(z), im = imag(z);
  const Array first = 2 * (re * turn.c + im * turn.s), second = 2 * (re * turn.s - im * turn.c);
  const Array y = concatenate({first, turned_around(part_of_last(second, 1, floor_div(n - 1, 2) + 1))}, -1);
  return norm == fft::Norm::backward ? y : y * factors(n, x.dtype(), norm);
}
Array of_cosines(const Array& given, fft::Norm norm) {
  const Dim n = last_length(given), half = floor_div(n, 2);
  const Array y = norm == fft::Norm::backward ? given : given / factors(n, given.dtype(), norm);
  const Turn turn(n, y.dtype());
  const Array first = part_of_last(y, 0, half + 1) / 2;
  const Array second = signal::with_zeros(turned_around(part_of_last(y, n - half, n)) / 2, -1, 1, 0);
  const Array z = complex(first * turn.c + second * turn.s, first * turn.s - second * turn.c);
  const Array x = fft::irfft(z, {.n = n});
  const Dim evens = n - half;
  const Array even = part_of_last(x, 0, evens), odd = turned_around(part_of_last(x, evens, n));
  const Array both = stack({even, signal::with_zeros(odd, -1, 0, evens - half)}, -1);
  Shape flat = x.shape();
  flat[x.rank() - 1] = 2 * evens;
  return part_of_last(reshape(both, flat), 0, n);
}

using CosineTransform = Array (*)(const Array& x, fft::Norm norm);

Array along(std::string_view name, CosineTransform f, const Array& x, std::int64_t axis, const std::optional<Dim>& n,
            fft::Norm norm) {
  const Array line = move_axis(x, axis, -1);
  const Dim length = n.value_or(last_length(line));
  if (length.try_value().value_or(1) < 1)
    throw ShapeError(fmt::format("{}: {} elements of axis {} of {}.", name, length.text(), axis, x.type().text()),
                     "A transform takes 1 or more.");
  return move_axis(f(signal::with_zeros(line, -1, 0, length - last_length(line)), norm), -1, axis);
}

Array cosine_transform(std::string_view name, CosineTransform f, const Operand& given,
                       const std::optional<std::vector<Dim>>& lengths, std::vector<std::int64_t> axes, fft::Norm norm) {
  const SourceScope place(given.where(), name);
  const Array x = widened(to_inexact(given));
  if (lengths && lengths->size() != axes.size())
    throw ShapeError(fmt::format("{}: {} lengths of {} axes.", name, lengths->size(), axes.size()),
                     "Give each axis its length.");
  for (std::int64_t& axis : axes) axis = static_cast<std::int64_t>(normalize_axis(axis, x.rank(), name));
  std::vector<std::int64_t> sorted = axes;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw ShapeError(fmt::format("{}: axis {} of {} is given twice.", name, *twice, x.type().text()),
                     "Give each axis once.");
  const auto of = [&](Array part) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      part = along(name, f, part, axes[i], lengths ? std::optional((*lengths)[i]) : std::nullopt, norm);
    return part;
  };
  return is_complex(x.dtype()) ? complex(of(real(x)), of(imag(x))) : of(x);
}
Array cosine_transform(std::string_view name, CosineTransform f, const Operand& x, const fft::Options& options) {
  return cosine_transform(name, f, x, options.n ? std::optional(std::vector{*options.n}) : std::nullopt, {options.axis},
                          options.norm);
}
Array cosine_transform(std::string_view name, CosineTransform f, const Operand& x, const fft::ManyOptions& options) {
  std::vector<std::int64_t> axes = options.axes.value_or(std::vector<std::int64_t>());
  const auto count = static_cast<std::int64_t>(options.s ? options.s->size() : x->rank());
  if (!options.axes)
    for (std::int64_t axis = -count; axis < 0; ++axis) axes.push_back(axis);
  return cosine_transform(name, f, x, options.s, std::move(axes), options.norm);
}

}  // namespace

namespace fft {

Array dct(const Operand& x, const Options& options) { return cosine_transform("dct", cosines_of, x, options); }
Array idct(const Operand& x, const Options& options) { return cosine_transform("idct", of_cosines, x, options); }
Array dctn(const Operand& x, const ManyOptions& options) { return cosine_transform("dctn", cosines_of, x, options); }
Array idctn(const Operand& x, const ManyOptions& options) { return cosine_transform("idctn", of_cosines, x, options); }

}  // namespace fft
}  // namespace tenon
