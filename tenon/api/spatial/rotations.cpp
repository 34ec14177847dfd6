// Quaternions from and to other descriptions of rotations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numbers>

#include "tenon/api/linalg.h"
#include "tenon/api/searchsorted.h"
#include "tenon/api/spatial.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::spatial {
namespace {

constexpr double pi = std::numbers::pi;

Array numbers_of(std::string_view name, const Operand& given, std::int64_t last) {
  const Array x = widened(to_inexact(given)).with_weak(false);
  if (is_complex(x.dtype()))
    throw DTypeError(fmt::format("{}: {} is complex.", name, given->type().text()), "Give real numbers.");
  if (x.rank() == 0 || x.shape()[x.rank() - 1].try_value() != last)
    throw ShapeError(fmt::format("{}: {} has not {} numbers along its last axis.", name, given->type().text(), last),
                     "The axes before it are a batch.");
  return x;
}
Array component(const Array& x, std::int64_t i) { return squeeze(slice_in_dim(x, i, i + 1, -1), -1); }
template <std::size_t n>
std::array<Array, n> components(const Array& x) {
  std::array<Array, n> parts;
  for (std::size_t i = 0; i < n; ++i) parts[i] = component(x, static_cast<std::int64_t>(i));
  return parts;
}
Array along(const Array& x) { return expand_dims(x, -1); }
Array vector_of(const Array& quat) { return slice_in_dim(quat, 0, 3, -1); }
Array dot_of(const Array& x) { return sum(x * x, -1); }

// √s where s > 0, 0 with a derivative of 0 elsewhere.
Array root(const Array& s) {
  const Array some = s > 0;
  return where(some, sqrt(where(some, s, ones_like(s))), zeros_like(s));
}
Array normalized(const Array& quat) { return quat / along(sqrt(dot_of(quat))); }

Array radians(const Array& x, bool degrees) { return degrees ? x * convert(pi / 180, x.dtype()) : x; }
Array in_degrees(const Array& x, bool degrees) { return degrees ? x * convert(180 / pi, x.dtype()) : x; }

// Angles whose square is less are taken by series, whose next terms are below the rounding of f64.
constexpr double small_square = 1e-6;

struct EulerAxes {
  std::vector<std::int64_t> numbers;  // 0, 1, 2: x, y, z
  bool turning;                       // with what was rotated before
};
EulerAxes euler_axes(std::string_view name, std::string_view seq, std::size_t least) {
  const auto all = [&](std::string_view letters) {
    return std::ranges::all_of(seq, [&](char c) { return letters.find(c) != std::string_view::npos; });
  };
  if (seq.size() < least || seq.size() > 3 || !(all("xyz") || all("XYZ")))
    throw ShapeError(fmt::format("{}: axes \"{}\".", name, seq),
                     least == 3 ? "Give three letters of x, y and z, or of X, Y and Z."
                                : "Give one to three letters of x, y and z, or of X, Y and Z.");
  EulerAxes axes{{}, all("XYZ")};
  for (const char c : seq) axes.numbers.push_back(std::tolower(static_cast<unsigned char>(c)) - 'x');
  if (std::ranges::adjacent_find(axes.numbers) != axes.numbers.end())
    throw ShapeError(fmt::format("{}: axes \"{}\", of which one follows itself.", name, seq),
                     "Consecutive axes differ: add their angles.");
  return axes;
}

// p·q: the rotation q, then p.
Array product(const Array& p, const Array& q) {
  const auto [a, b, c, d] = components<4>(p);
  const auto [x, y, z, w] = components<4>(q);
  return stack({d * x + w * a + b * z - c * y, d * y + w * b + c * x - a * z, d * z + w * c + a * y - b * x,
                d * w - a * x - b * y - c * z},
               -1);
}

Array wrapped(const Array& angle) {  // to [-π, π)
  const Array turns = floor((angle + convert(pi, angle.dtype())) / convert(2 * pi, angle.dtype()));
  return angle - turns * convert(2 * pi, angle.dtype());
}

}  // namespace

Rotation Rotation::from_quat(const Operand& quat) {
  const SourceScope place(quat.where(), "from_quat");
  return {normalized(numbers_of("from_quat", quat, 4))};
}

Rotation Rotation::from_matrix(const Operand& matrix) {
  constexpr std::string_view name = "from_matrix";
  const SourceScope place(matrix.where(), name);
  const Array m = numbers_of(name, matrix, 3);
  if (m.rank() < 2 || m.shape()[m.rank() - 2].try_value() != 3)
    throw ShapeError(fmt::format("{}: {} is no matrix of three rows.", name, matrix->type().text()),
                     "The last two axes have the size 3.");
  std::array<std::array<Array, 3>, 3> at;
  for (std::int64_t i = 0; i < 3; ++i)
    at[static_cast<std::size_t>(i)] = components<3>(squeeze(slice_in_dim(m, i, i + 1, -2), -2));
  const Array trace = at[0][0] + at[1][1] + at[2][2];
  // Of the four formulas the one that divides by the largest component.
  const Array largest = argmax(stack({at[0][0], at[1][1], at[2][2], trace}, -1), -1);
  Array quat = stack({at[2][1] - at[1][2], at[0][2] - at[2][0], at[1][0] - at[0][1], 1 + trace}, -1);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (j + 1) % 3;
    std::array<Array, 3> part;
    part[i] = 1 - trace + 2 * at[i][i], part[j] = at[j][i] + at[i][j], part[k] = at[k][i] + at[i][k];
    quat = where(along(largest == static_cast<std::int32_t>(i)),
                 stack({part[0], part[1], part[2], at[k][j] - at[j][k]}, -1), quat);
  }
  return {normalized(quat)};
}

Rotation Rotation::from_rotvec(const Operand& rotvec, bool degrees) {
  const SourceScope place(rotvec.where(), "from_rotvec");
  const Array v = radians(numbers_of("from_rotvec", rotvec, 3), degrees), s = dot_of(v);
  const Array is_small = s <= convert(small_square, s.dtype()), angle = sqrt(where(is_small, ones_like(s), s));
  const Array sine = where(is_small, 0.5 - s / 48 + s * s / 3840, sin(angle / 2) / angle);
  const Array cosine = where(is_small, 1 - s / 8 + s * s / 384, cos(angle / 2));
  return {concatenate({v * along(sine), along(cosine)}, -1)};
}

Rotation Rotation::from_mrp(const Operand& mrp) {
  const SourceScope place(mrp.where(), "from_mrp");
  const Array p = numbers_of("from_mrp", mrp, 3), s = along(dot_of(p));
  return {concatenate({2 * p, 1 - s}, -1) / (1 + s)};
}

Rotation Rotation::from_euler(std::string_view seq, const Operand& angles, bool degrees) {
  constexpr std::string_view name = "from_euler";
  const SourceScope place(angles.where(), name);
  const EulerAxes axes = euler_axes(name, seq, 1);
  const Array given = angles->rank() == 0 ? expand_dims(angles, 0) : angles.array();
  const Array half =
      radians(numbers_of(name, Operand(given, angles.where()), static_cast<std::int64_t>(seq.size())), degrees) / 2;
  MaybeArray made;
  for (std::size_t i = 0; i < seq.size(); ++i) {
    const Array angle = component(half, static_cast<std::int64_t>(i)), none = zeros_like(angle);
    Arrays parts{none, none, none, cos(angle)};
    parts[static_cast<std::size_t>(axes.numbers[i])] = sin(angle);
    const Array one = stack(parts, -1);
    made = !made ? one : axes.turning ? product(*made, one) : product(one, *made);
  }
  return {*made};
}

Rotation Rotation::identity(DType dtype) { return {convert(Array{0.f, 0.f, 0.f, 1.f}, dtype)}; }

Array Rotation::as_quat(const QuatOptions& options) const {
  Array q = numbers_of("as_quat", quat, 4);
  if (options.canonical) {
    const auto [x, y, z, w] = components<4>(q);
    const Array negative = (w < 0) | ((w == 0) & ((x < 0) | ((x == 0) & ((y < 0) | ((y == 0) & (z < 0))))));
    q = where(along(negative), -q, q);
  }
  return options.scalar_first ? concatenate({slice_in_dim(q, 3, 4, -1), vector_of(q)}, -1) : q;
}

Array Rotation::as_matrix() const {
  const auto [x, y, z, w] = components<4>(numbers_of("as_matrix", quat, 4));
  const auto row = [](const Array& a, const Array& b, const Array& c) { return stack({a, b, c}, -1); };
  const Array xx = x * x, yy = y * y, zz = z * z, ww = w * w;
  return stack({row(xx - yy - zz + ww, 2 * (x * y - z * w), 2 * (x * z + y * w)),
                row(2 * (x * y + z * w), yy - xx - zz + ww, 2 * (y * z - x * w)),
                row(2 * (x * z - y * w), 2 * (y * z + x * w), zz - xx - yy + ww)},
               -2);
}

Array Rotation::as_rotvec(bool degrees) const {
  const Array given = numbers_of("as_rotvec", quat, 4), w = component(given, 3);
  const Array q = where(along(w < 0), -given, given), v = vector_of(q), s = dot_of(v);  // an angle of π or less
  const Array is_small = s <= convert(small_square / 4, s.dtype());
  const Array angle = 2 * atan2(sqrt(where(is_small, ones_like(s), s)), component(q, 3));
  const Array scale = where(is_small, 2 + s / 3 + s * s * convert(0.15, s.dtype()), angle / sin(angle / 2));
  return in_degrees(v * along(scale), degrees);
}

Array Rotation::as_mrp() const {
  const Array q = numbers_of("as_mrp", quat, 4), w = component(q, 3);
  return vector_of(q) / along(where(w < 0, w - 1, w + 1));
}

Array Rotation::as_euler(std::string_view seq, bool degrees) const {
  constexpr std::string_view name = "as_euler";
  EulerAxes axes = euler_axes(name, seq, 3);
  if (axes.turning) std::ranges::reverse(axes.numbers);
  const std::int64_t i = axes.numbers[0], j = axes.numbers[1];
  const bool symmetric = i == axes.numbers[2];
  const std::int64_t k = symmetric ? 3 - i - j : axes.numbers[2];
  const Array whole = numbers_of(name, quat, 4);
  const auto q = components<4>(whole);
  const auto at = [&](std::int64_t n) { return q[static_cast<std::size_t>(n)]; };
  const double sign = (i - j) * (j - k) * (k - i) < 0 ? -1 : 1;
  const Array third_part = sign < 0 ? -at(k) : at(k);
  const Array a = symmetric ? q[3] : q[3] - at(j), b = symmetric ? at(i) : at(i) + third_part;
  const Array c = symmetric ? at(j) : at(j) + q[3], d = symmetric ? third_part : third_part - at(i);
  const auto number = [&](double x) { return convert(x, whole.dtype()); };
  const auto length = [](const Array& x, const Array& y) { return root(x * x + y * y); };
  const Array middle = 2 * atan2(length(c, d), length(a, b));
  // About one line at both ends of the middle angle: atan2 of zeros there has no derivative.
  const Array straight = abs(middle) <= number(1e-7), turned_over = abs(middle - number(pi)) <= number(1e-7);
  const Array half_sum = atan2(where(turned_over, zeros_like(b), b), where(turned_over, ones_like(a), a));
  const Array half_difference = atan2(where(straight, zeros_like(d), d), where(straight, ones_like(c), c));
  const Array degenerate = straight | turned_over, none = zeros_like(middle);
  Array first = half_sum - half_difference, third = half_sum + half_difference;
  if (axes.turning) std::swap(first, third);
  first = where(degenerate, where(straight, 2 * half_sum, 2 * half_difference * number(axes.turning ? 1 : -1)), first);
  third = where(degenerate, none, third);
  if (!symmetric) (axes.turning ? first : third) = (axes.turning ? first : third) * number(sign);
  return in_degrees(wrapped(stack({first, symmetric ? middle : middle - number(pi / 2), third}, -1)), degrees);
}

Array Rotation::apply(const Operand& vectors, bool inverse) const {
  const SourceScope place(vectors.where(), "apply");
  const Array v = numbers_of("apply", vectors, 3), m = as_matrix();
  const auto last = static_cast<std::int64_t>(m.rank()) - 1;
  const Array turned = inverse ? move_axis(m, last, last - 1) : m;
  return sum(turned * expand_dims(v, -2), -1);
}

Rotation Rotation::inv() const {
  const Array q = numbers_of("inv", quat, 4);
  return {concatenate({-vector_of(q), slice_in_dim(q, 3, 4, -1)}, -1)};
}

Array Rotation::magnitude() const {
  const Array q = numbers_of("magnitude", quat, 4);
  return 2 * atan2(root(dot_of(vector_of(q))), abs(component(q, 3)));
}

Rotation Rotation::mean(const std::optional<Array>& weights) const {
  const Array q = numbers_of("mean", quat, 4);
  if (q.rank() != 2 || (weights && (weights->rank() != 1 || decided_equal(weights->shape()[0], q.shape()[0]) == false)))
    throw ShapeError(
        fmt::format("mean: rotations {} with weights {}.", q.type().text(), weights ? weights->type().text() : "1"),
        "Rotations are rows of four, with a weight each.");
  const Array weighted = weights ? q * along(convert(*weights, q.dtype())) : q;
  const Array vectors = linalg::eigh(matmul(transpose(weighted), q)).eigenvectors;
  return {component(vectors, 3)};
}

Rotation operator*(const Rotation& p, const Rotation& q) {
  const Met met = in_one_dtype(Arrays{numbers_of("product", p.quat, 4), numbers_of("product", q.quat, 4)});
  return {normalized(product(met.operands[0], met.operands[1]))};
}

Slerp Slerp::init(const Operand& times, const Rotation& rotations) {
  constexpr std::string_view name = "Slerp";
  const SourceScope place(times.where(), name);
  const Array q = numbers_of(name, rotations.quat, 4), t = convert(times, q.dtype());
  const Dim n = t.rank() == 1 ? t.shape()[0] : Dim(0);
  if (q.rank() != 2 || decided_equal(q.shape()[0], n) == false || n.try_value().value_or(2) < 2)
    throw ShapeError(fmt::format("{}: rotations {} at times {}.", name, q.type().text(), times->type().text()),
                     "Give a vector of two or more times, and a row of four for each.");
  const auto part = [&](const Array& x, const Dim& first) { return slice_in_dim(x, first, first + (n - 1), 0); };
  const Rotation from{part(q, 0)}, to{part(q, 1)};
  return {t, part(t, 1) - part(t, 0), from, (from.inv() * to).as_rotvec()};
}

Rotation Slerp::operator()(const Operand& at) const {
  const SourceScope place(at.where(), "Slerp");
  const Array x = convert(at, times.dtype()), found = searchsorted(times, x);
  const Array i = clamp(found - 1, 0, convert(size_as_array(timedelta.shape()[0]), found.dtype()) - 1);
  const Array part = (x - take(times, i)) / take(timedelta, i);
  return Rotation{take(rotations.quat, i)} * Rotation::from_rotvec(take(rotvecs, i) * along(part));
}

}  // namespace tenon::spatial
