// Discrete Fourier transforms: library code (tenon/runtime/fft), linear, so that each is the other's derivative.
#include "tenon/ops/linear_algebra/fourier.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tenon/ir/describe_params.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/runtime/fft/fft.h"

namespace tenon {

BOOST_DESCRIBE_ENUM(FourierKind, forward, inverse, real_forward, real_inverse)
BOOST_DESCRIBE_ENUM(FourierScale, none, by_count, by_root)
struct FourierParams {
  FourierKind kind;
  std::vector<std::int64_t> axes;
  FourierScale scale;
  Dim size;
};
BOOST_DESCRIBE_STRUCT(FourierParams, (), (kind, axes, scale, size))

namespace {

extern const OpInfo fft_info;

bool gives_half(const FourierParams& p) { return p.kind == FourierKind::real_forward; }
bool gives_real(const FourierParams& p) { return p.kind == FourierKind::real_inverse; }

std::vector<Type> fft_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<FourierParams>();
  if (in.size() != 1) throw VerifyError("fft: takes one operand.");
  const Type& x = in[0];
  if (!x.is_array()) throw DTypeError("fft: " + x.text() + " is not an array.", "Stack the list first.");
  if (gives_half(p) ? x.dtype != DType::f32 && x.dtype != DType::f64 : !is_complex(x.dtype))
    throw DTypeError(fmt::format("fft: {} is not {}.", x.text(), gives_half(p) ? "real, f32 or f64" : "complex"),
                     "Convert it, with convert().");
  if (p.axes.empty()) throw ShapeError("fft: no axis is given.", "Give one or more.");
  std::vector<bool> taken(x.rank());
  for (const std::int64_t axis : p.axes) {
    const std::int64_t found = normalize_axis(axis, x.rank(), "fft");
    if (found != axis || taken[static_cast<std::size_t>(axis)])
      throw ShapeError(fmt::format("fft: axis {} of {} is given twice.", axis, x.text()), "Give each axis once.");
    taken[static_cast<std::size_t>(axis)] = true;
  }
  Shape shape = x.shape;
  Dim& last = shape[static_cast<std::size_t>(p.axes.back())];
  if (gives_half(p)) last = floor_div(last, 2) + 1;
  if (gives_real(p)) {
    if (p.size.try_value().value_or(1) < 0)
      throw ShapeError(fmt::format("fft: {} numbers are asked for.", p.size.text()), "The size is 1 or more.");
    context.require_equal(last, floor_div(p.size, 2) + 1, [&] {
      return fmt::format("fft: {} numbers of {} are the first half of {}, but there are {}.",
                         (floor_div(p.size, 2) + 1).text(), x.text(), p.size.text(), last.text());
    });
    last = p.size;
  }
  const DType real = real_part_of(x.dtype);
  return {Type::array(gives_real(p) ? real : complex_of(real), shape)};
}

// --- evaluation: lines in two, or p, by the smallest prime factor p of their size ---
using Number = std::complex<double>;
std::vector<Number> transformed(const std::vector<Number>& x, double sign) {
  const std::size_t n = x.size();
  std::size_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0) p = n;
  const std::size_t m = n / std::max<std::size_t>(p, 1);
  if (n <= 1) return x;
  std::vector<std::vector<Number>> parts(p);
  for (std::size_t r = 0; r < p; ++r) {
    for (std::size_t j = r; j < n; j += p) parts[r].push_back(x[j]);
    if (m > 1) parts[r] = transformed(parts[r], sign);
  }
  std::vector<Number> roots(n), y(n);
  for (std::size_t k = 0; k < n; ++k)
    roots[k] = std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t r = 0; r < p; ++r) y[k] += parts[r][k % m] * roots[r * k % n];
  return y;
}

// Elements as complex numbers of double precision, in their order.
std::vector<Number> numbers_of(const Buffer& x) {
  std::vector<Number> numbers;
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (dtypes::inexact.has(*dtype_of<T>) && sizeof(T) >= 4)
      for (std::int64_t i = 0; i < x.elements(); ++i) numbers.emplace_back(x.as<T>()[i]);
  });
  return numbers;
}

// Every line along an axis, through f; lines may have another size after it.
template <class F>
void each_line(std::vector<Number>& numbers, std::vector<std::int64_t>& dims, std::size_t axis, std::int64_t size,
               F f) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : dims[i];
  std::vector<Number> made(static_cast<std::size_t>(outer * size * inner));
  const std::int64_t n = dims[axis];
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      std::vector<Number> line;
      for (std::int64_t j = 0; j < n; ++j) line.push_back(numbers[static_cast<std::size_t>((o * n + j) * inner + i)]);
      const std::vector<Number> after = f(line);
      for (std::int64_t j = 0; j < size; ++j)
        made[static_cast<std::size_t>((o * size + j) * inner + i)] = after[static_cast<std::size_t>(j)];
    }
  numbers = std::move(made);
  dims[axis] = size;
}

std::vector<Value> fft_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<FourierParams>();
  const Buffer x = family::contiguous(in[0]);
  const Dim size_given = context.out[0].shape[static_cast<std::size_t>(p.axes.back())];
  std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
  std::vector<Number> numbers = numbers_of(x);
  const bool forwards = p.kind == FourierKind::forward || gives_half(p);
  const double sign = forwards ? -1 : 1;
  const auto last = static_cast<std::size_t>(p.axes.back());
  double count = 1;
  for (std::size_t i = 0; i + 1 < p.axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(p.axes[i]);
    count *= static_cast<double>(dims[axis]);
    each_line(numbers, dims, axis, dims[axis], [&](const auto& line) { return transformed(line, sign); });
  }
  const std::int64_t size = size_given.value();
  count *= static_cast<double>(gives_real(p) ? size : dims[last]);
  each_line(numbers, dims, last, size, [&](std::vector<Number> line) {
    if (gives_real(p)) {  // the other half is the conjugate of this
      const auto n = static_cast<std::size_t>(size);
      line.resize(n);
      if (n > 0) line[0] = line[0].real();
      if (n > 0 && n % 2 == 0) line[n / 2] = line[n / 2].real();
      for (std::size_t k = n / 2 + 1; k < n; ++k) line[k] = std::conj(line[n - k]);
    }
    std::vector<Number> after = transformed(line, sign);
    after.resize(static_cast<std::size_t>(size));
    return after;
  });
  const double factor = p.scale == FourierScale::none       ? 1
                        : p.scale == FourierScale::by_count ? 1 / count
                                                            : 1 / std::sqrt(count);
  Buffer out = Buffer::allocate(context.out[0].dtype, dims);
  dispatch(out.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (dtypes::inexact.has(*dtype_of<T>) && sizeof(T) >= 4)
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const Number scaled = numbers[i] * factor;
        if constexpr (std::is_floating_point_v<T>)
          out.as<T>()[i] = static_cast<T>(scaled.real());
        else
          out.as<T>()[i] = T(scaled);
      }
  });
  return {out};
}

// --- transposition: of complex numbers without conjugation, as everywhere ---
// Of n numbers the first half counts once where a number has no partner in the other half, and `inside` times
// elsewhere.
Array weights(const Array& half, const Dim& n, std::int64_t axis, double inside) {
  const Array at = iota(DType::i32, half.shape(), axis);
  const Array alone = (at == 0) | (2 * at == convert(size_as_array(n), DType::i32));
  const DType real = real_part_of(half.dtype());
  return where(alone, convert(1.0, real), convert(inside, real));
}

void fft_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  auto p = args.params.as<FourierParams>();
  const Array& c = *args.cotangents[0];
  const std::int64_t axis = p.axes.back();
  if (gives_half(p)) {  // of x: Re Σ c[k] exp(-2πi jk/n)
    const Dim n = args.operands[0].type.shape[static_cast<std::size_t>(axis)];
    const Array half = conj(c) * weights(c, n, axis, 0.5);
    args.sink.add(0, fourier_transform(half, FourierKind::real_inverse, p.axes, p.scale, n));
  } else if (gives_real(p)) {
    const Array half = conj(fourier_transform(c, FourierKind::real_forward, p.axes, p.scale));
    args.sink.add(0, half * weights(half, p.size, axis, 2));
  } else {
    args.sink.add(0, bind1(fft_info, args.params, {c}));
  }
}

BatchResult fft_batch(const BatchArgs& args) {
  auto p = args.params.as<FourierParams>();
  for (std::int64_t& axis : p.axes) ++axis;
  return {{bind1(fft_info, make_params(p), {args.operands[0]})}, {true}};
}

// --- lowering ---
LibraryForm fft_form(const Params& params, std::span<const Type> in) {
  static_assert(sizeof(TenonFft) == 6 * sizeof(std::int64_t));
  require_fft_library();
  const auto& p = params.as<FourierParams>();
  const Type& x = in[0];
  const auto word = [](auto value) { return static_cast<std::int64_t>(value); };
  LibraryForm form{"tenon_fft",
                   {word(real_part_of(x.dtype) == DType::f64), word(p.kind), word(p.scale), p.size, word(x.rank()),
                    word(p.axes.size())}};
  form.description.insert(form.description.end(), x.shape.begin(), x.shape.end());
  form.description.insert(form.description.end(), p.axes.begin(), p.axes.end());
  const double count = kernel::estimate(x.shape.elements());
  form.nanoseconds = 500 + 0.3 * count * std::log2(2 + count);
  return form;
}

// --- samples ---
std::vector<SampleCase> fft_samples(DType d) {
  std::vector<SampleCase> cases;
  const auto add = [&](FourierKind kind, std::vector<std::int64_t> axes, FourierScale scale, Dim size, Shape shape) {
    cases.push_back(
        {make_params(FourierParams{kind, std::move(axes), scale, size}), {Type::array(d, shape)}, {{-1, 1}}});
  };
  using enum FourierKind;
  using enum FourierScale;
  if (d == DType::f32 || d == DType::f64) {
    add(real_forward, {0}, none, 0, {Dim(6)});
    add(real_forward, {1}, by_root, 0, {Dim(2), Dim(5)});
    add(real_forward, {2, 0}, by_count, 0, {Dim(4), Dim(2), Dim(3)});
    add(real_forward, {0}, none, 0, {Dim(1)});
    add(real_forward, {1}, none, 0, {Dim(0), Dim(4)});
  } else if (is_complex(d)) {
    add(forward, {0}, none, 0, {Dim(6)});
    add(inverse, {1}, by_count, 0, {Dim(2), Dim(7)});
    add(forward, {0, 2}, by_root, 0, {Dim(3), Dim(2), Dim(4)});
    add(forward, {0}, none, 0, {Dim(0), Dim(2)});
    add(real_inverse, {0}, by_count, 6, {Dim(4)});
    add(real_inverse, {0}, none, 5, {Dim(3)});
    add(real_inverse, {0, 1}, by_root, 1, {Dim(3), Dim(1)});
  }
  return cases;
}

const OpInfo fft_info{.name = "fft",
                      .summary = "a discrete Fourier transform along `axes`, of complex or real numbers",
                      .params = &describe::params_ops<FourierParams>,
                      .type = TypeRule(fft_type),
                      .eval = EvalRule(fft_eval),
                      .jvp = jvp_by_itself(fft_info),
                      .transpose = TransposeRule(fft_transpose),
                      .batch = BatchRule(fft_batch),
                      .split = Absent{"wholly known or not"},
                      .guard = Absent{"no Programs inside"},
                      .lower = LowerRule(LowerLibrary{fft_form}),
                      .alias = Absent{"each element reads many"},
                      .effect = Absent{"pure"},
                      .sample = SampleRule(fft_samples)};
const bool fft_installed = (install_op(fft_info), true);

}  // namespace

Array fourier_transform(const Operand& x, FourierKind kind, std::vector<std::int64_t> axes, FourierScale scale,
                        const Dim& size) {
  const SourceScope place(x.where(), "fft");
  return bind1(fft_info, make_params(FourierParams{kind, std::move(axes), scale, size}), {x.array()});
}

}  // namespace tenon
