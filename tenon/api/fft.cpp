#include "tenon/api/fft.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/fourier.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

using fft::Norm;
using enum FourierKind;
using AxisNumbers = std::vector<std::int64_t>;
using Lengths = std::optional<std::vector<Dim>>;

FourierScale scale_of(FourierKind kind, Norm norm) {
  const bool forwards = kind == forward || kind == real_forward;
  if (norm == Norm::ortho) return FourierScale::by_root;
  return forwards == (norm == Norm::forward) ? FourierScale::by_count : FourierScale::none;
}

// x with n elements along an axis: cut, or with zeros behind.
Array resized(const Array& x, std::int64_t axis, const Dim& n) {
  const Dim have = x.shape()[static_cast<std::size_t>(axis)];
  if (decided_equal(n, have).value_or(false)) return x;
  const Dim kept = min(n, have);
  const Array part = decided_equal(kept, have).value_or(false) ? x : slice_in_dim(x, 0, kept, axis);
  if (decided_equal(kept, n).value_or(false)) return part;
  Shape rest = x.shape();
  rest[static_cast<std::size_t>(axis)] = n - kept;
  return concatenate({part, zeros(rest, x.dtype())}, axis);
}

// Numbers of the kind that a transform takes.
Array taken(std::string_view name, const Array& given, FourierKind kind) {
  const Array x = widened(to_inexact(given));
  if (kind == real_forward) {
    if (is_complex(x.dtype()))
      throw DTypeError(fmt::format("{}: {} is complex.", name, x.type().text()),
                       "It takes real numbers: give real(x), or transform it by fft.");
    return x;
  }
  return is_complex(x.dtype()) ? x : convert(x, complex_of(x.dtype()));
}

Array transformed(std::string_view name, const Operand& given, FourierKind kind, const Lengths& lengths,
                  AxisNumbers axes, Norm norm) {
  const SourceScope place(given.where(), name);
  Array x = taken(name, given.array(), kind);
  const auto text = [&] { return given->type().text(); };
  if (lengths && lengths->size() != axes.size())
    throw ShapeError(fmt::format("{}: {} lengths of {} axes.", name, lengths->size(), axes.size()),
                     "Give each axis its length.");
  for (std::int64_t& axis : axes) axis = static_cast<std::int64_t>(normalize_axis(axis, x.rank(), name));
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(i))
      throw ShapeError(fmt::format("{}: axis {} of {} is given twice.", name, axes[i], text()),
                       "Give each axis once; transform the result once more for the second time.");
  if (axes.empty()) {
    if (kind == forward || kind == inverse) return x;
    throw ShapeError(fmt::format("{}: {} has no axis to transform.", name, text()), "Give an array of rank 1.");
  }
  Dim size = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool to_real = kind == real_inverse && i + 1 == axes.size();
    const Dim have = x.shape()[static_cast<std::size_t>(axes[i])];
    const Dim n = lengths ? (*lengths)[i] : to_real ? 2 * (have - 1) : have;
    if (n.try_value().value_or(1) < 1)
      throw ShapeError(fmt::format("{}: {} elements of axis {} of {}.", name, n.text(), axes[i], text()),
                       "A transform takes 1 or more.");
    if (to_real) size = n;
    x = resized(x, axes[i], to_real ? floor_div(n, 2) + 1 : n);
  }
  return fourier_transform(x, kind, std::move(axes), scale_of(kind, norm), size);
}

Array along_one(std::string_view name, const Operand& x, FourierKind kind, const fft::Options& options) {
  return transformed(name, x, kind, options.n ? Lengths({*options.n}) : Lengths(), {options.axis}, options.norm);
}
Array along_many(std::string_view name, const Operand& x, FourierKind kind, const fft::ManyOptions& options) {
  AxisNumbers axes;
  if (options.axes) {
    axes = *options.axes;
  } else {
    const auto count = static_cast<std::int64_t>(options.s ? options.s->size() : x->rank());
    for (std::int64_t axis = -count; axis < 0; ++axis) axes.push_back(axis);
  }
  return transformed(name, x, kind, options.s, std::move(axes), options.norm);
}
Array along_two(std::string_view name, const Operand& x, FourierKind kind, const fft::PlaneOptions& options) {
  return transformed(name, x, kind, options.s, options.axes, options.norm);
}

// The norm of the transform that goes the other way.
Norm other_way(Norm norm) {
  return norm == Norm::ortho ? Norm::ortho : norm == Norm::forward ? Norm::backward : Norm::forward;
}

void require_length(std::string_view name, const Dim& n) {
  if (n.try_value().value_or(1) < 1)
    throw ShapeError(fmt::format("{}: {} samples have no frequencies.", name, n.text()), "Give 1 or more.");
}
// (first + 0, 1, …) / (n d)
Array frequencies(std::string_view op, const Dim& first, const Dim& count, const Dim& n, const Array& d, DType dtype) {
  if (!is_inexact(dtype))
    throw DTypeError(fmt::format("{}: frequencies of {}.", op, name(dtype)), "Ask for f32 or f64.");
  const auto number = [&](const Dim& size) { return convert(size_as_array(size), dtype); };
  return (arange(count, dtype) + number(first)) / (number(n) * convert(d, dtype));
}

// The axes rolled so that element `from(n)` of each stands first.
Array rolled(std::string_view name, const Operand& given, const std::optional<AxisNumbers>& axes,
             Dim (*from)(const Dim& n)) {
  const SourceScope place(given.where(), name);
  Array x = given.array();
  AxisNumbers all;
  for (std::size_t i = 0; i < x.rank(); ++i) all.push_back(static_cast<std::int64_t>(i));
  for (const std::int64_t given_axis : axes.value_or(all)) {
    const auto axis = static_cast<std::int64_t>(normalize_axis(given_axis, x.rank(), name));
    const Dim n = x.shape()[static_cast<std::size_t>(axis)], first = from(n);
    x = concatenate({slice_in_dim(x, first, n, axis), slice_in_dim(x, 0, first, axis)}, axis);
  }
  return x;
}

}  // namespace

namespace fft {

Array fft(const Operand& x, const Options& options) { return along_one("fft", x, FourierKind::forward, options); }
Array ifft(const Operand& x, const Options& options) { return along_one("ifft", x, FourierKind::inverse, options); }
Array rfft(const Operand& x, const Options& options) { return along_one("rfft", x, real_forward, options); }
Array irfft(const Operand& x, const Options& options) { return along_one("irfft", x, real_inverse, options); }
Array hfft(const Operand& x, const Options& options) {
  return along_one("hfft", Operand(conj(x), x.where()), real_inverse,
                   {options.n, options.axis, other_way(options.norm)});
}
Array ihfft(const Operand& x, const Options& options) {
  return conj(along_one("ihfft", x, real_forward, {options.n, options.axis, other_way(options.norm)}));
}
Array fftn(const Operand& x, const ManyOptions& options) {
  return along_many("fftn", x, FourierKind::forward, options);
}
Array ifftn(const Operand& x, const ManyOptions& options) {
  return along_many("ifftn", x, FourierKind::inverse, options);
}
Array rfftn(const Operand& x, const ManyOptions& options) { return along_many("rfftn", x, real_forward, options); }
Array irfftn(const Operand& x, const ManyOptions& options) { return along_many("irfftn", x, real_inverse, options); }
Array fft2(const Operand& x, const PlaneOptions& options) {
  return along_two("fft2", x, FourierKind::forward, options);
}
Array ifft2(const Operand& x, const PlaneOptions& options) {
  return along_two("ifft2", x, FourierKind::inverse, options);
}
Array rfft2(const Operand& x, const PlaneOptions& options) { return along_two("rfft2", x, real_forward, options); }
Array irfft2(const Operand& x, const PlaneOptions& options) { return along_two("irfft2", x, real_inverse, options); }

Array fftfreq(const Dim& n, const Operand& d, DType dtype) {
  const SourceScope place(d.where(), "fftfreq");
  require_length("fftfreq", n);
  return ifftshift(frequencies("fftfreq", 0 - floor_div(n, 2), n, n, d.array(), dtype));
}
Array rfftfreq(const Dim& n, const Operand& d, DType dtype) {
  const SourceScope place(d.where(), "rfftfreq");
  require_length("rfftfreq", n);
  return frequencies("rfftfreq", 0, floor_div(n, 2) + 1, n, d.array(), dtype);
}
Array fftshift(const Operand& x, const std::optional<std::vector<std::int64_t>>& axes) {
  return rolled("fftshift", x, axes, [](const Dim& n) { return n - floor_div(n, 2); });
}
Array ifftshift(const Operand& x, const std::optional<std::vector<std::int64_t>>& axes) {
  return rolled("ifftshift", x, axes, [](const Dim& n) { return floor_div(n, 2); });
}

}  // namespace fft
}  // namespace tenon
