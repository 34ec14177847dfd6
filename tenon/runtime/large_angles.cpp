#include "tenon/runtime/large_angles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

using std::uint64_t;
__extension__ using Twice = unsigned __int128;

// The first 1,280 bits of 2/π.
constexpr std::array<uint64_t, 20> two_over_pi{
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
constexpr double half_pi = 0x1.921fb54442d18p+0, rest_of_half_pi = 0x1.1a62633145c07p-54;

// Below this what the C library takes of π is exact, and its error half a place.
constexpr double large = 0x1p26;

// x = n·π/2 + high + low, n modulo 4.
struct Reduced {
  unsigned quadrant;
  double high, low;
};

// The 192 bits from bit `first` of 2/π on, the highest word first.
std::array<uint64_t, 3> bits_from(int first) {
  const auto word = static_cast<std::size_t>(first / 64);
  const int shift = first % 64;
  std::array<uint64_t, 3> bits;
  for (std::size_t k = 0; k < bits.size(); ++k)
    bits[k] =
        shift == 0 ? two_over_pi[word + k] : two_over_pi[word + k] << shift | two_over_pi[word + k + 1] >> (64 - shift);
  return bits;
}

// Of a finite x of at least 2^26, by Payne's and Hanek's product with those bits of 2/π that count: bits before them
// give multiples of 4, and of those behind x·2/π has less than 2^-137, where no f64 comes nearer to a multiple than
// 2^-62.
Reduced reduce(double x) {
  const auto of_x = std::bit_cast<uint64_t>(x);
  // x = m·2^e, e from -26 to 971; 2 more bits than e are whole numbers of quadrants.
  const int e = static_cast<int>(of_x >> 52) - 1075, first = std::max(e - 2, 0);
  const uint64_t m = (of_x & ((uint64_t(1) << 52) - 1)) | uint64_t(1) << 52;
  const auto bits = bits_from(first);
  // The product's words, the highest first; what lies above the third counts multiples of 4 once it is shifted so that
  // its two highest bits are the quadrant's.
  std::array<uint64_t, 4> p{};
  Twice carry = 0;
  for (std::size_t k = 3; k-- > 0;) {
    carry += Twice(m) * bits[k];
    p[k + 1] = static_cast<uint64_t>(carry), carry >>= 64;
  }
  p[0] = static_cast<uint64_t>(carry);
  if (const int back = 2 - (e - first); back > 0) {  // of smaller x: by up to 28 bits
    for (std::size_t k = 3; k > 0; --k) p[k] = p[k] >> back | p[k - 1] << (64 - back);
  }
  auto quadrant = static_cast<unsigned>(p[1] >> 62);
  std::array<uint64_t, 3> fraction{p[1] << 2 | p[2] >> 62, p[2] << 2 | p[3] >> 62, p[3] << 2};
  const bool nearer_to_next = fraction[0] >> 63 != 0;
  if (nearer_to_next) {  // 1 - fraction
    quadrant = (quadrant + 1) & 3;
    Twice sum = 1;
    for (std::size_t k = 3; k-- > 0;) {
      sum += ~fraction[k];
      fraction[k] = static_cast<uint64_t>(sum), sum >>= 64;
    }
  }
  int zeros = 0;
  while (fraction[0] == 0 && zeros < 128) fraction = {fraction[1], fraction[2], 0}, zeros += 64;
  const int shift = std::countl_zero(fraction[0]);
  if (shift > 0 && shift < 64)
    for (std::size_t k = 0; k < 3; ++k)
      fraction[k] = fraction[k] << shift | (k < 2 ? fraction[k + 1] >> (64 - shift) : 0);
  zeros += shift;
  // 53 bits and 64 of the rest, of a fraction from 1/2 to 1, and both times π/2.
  const double one = std::ldexp(nearer_to_next ? -1.0 : 1.0, -zeros);
  const double high = static_cast<double>(fraction[0] >> 11) * 0x1p-53 * one;
  const uint64_t behind = fraction[0] << 53 | fraction[1] >> 11;
  const double low = static_cast<double>(behind) * 0x1p-117 * one;
  const double product = high * half_pi;
  return {quadrant, product, std::fma(high, half_pi, -product) + (high * rest_of_half_pi + low * half_pi)};
}

double sine(const Reduced& r) { return std::sin(r.high) + r.low * std::cos(r.high); }
double cosine(const Reduced& r) { return std::cos(r.high) - r.low * std::sin(r.high); }
// The sine of the angle `turns` quadrants further on.
double sine_of(const Reduced& r, unsigned turns) {
  const unsigned quadrant = (r.quadrant + turns) & 3;
  const double value = quadrant % 2 == 0 ? sine(r) : cosine(r);
  return quadrant < 2 ? value : -value;
}

bool is_usual(double x) { return !(std::abs(x) >= large) || std::isinf(x); }

const RuntimeSymbol symbols[]{{"tenon_sin", &tenon_sin}, {"tenon_cos", &tenon_cos}, {"tenon_tan", &tenon_tan}};

}  // namespace
}  // namespace tenon

using namespace tenon;

double tenon_sin(double x) {
  return is_usual(x) ? std::sin(x) : std::copysign(1.0, x) * sine_of(reduce(std::abs(x)), 0);
}
double tenon_cos(double x) { return is_usual(x) ? std::cos(x) : sine_of(reduce(std::abs(x)), 1); }
double tenon_tan(double x) {
  if (is_usual(x)) return std::tan(x);
  const Reduced r = reduce(std::abs(x));
  const double tangent = std::tan(r.high), slope = std::fma(tangent, tangent, 1.0);
  double value = tangent + r.low * slope;
  if (r.quadrant % 2 != 0) {  // -1 / tan, with what the sum lost
    const double lost = (tangent - value) + r.low * slope, inverse = 1.0 / value;
    value = -std::fma(inverse, std::fma(-inverse, value, 1.0) - inverse * lost, inverse);
  }
  return std::copysign(1.0, x) * value;
}
