#include "tenon/ops/composites/philox.h"

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"

namespace tenon {
namespace {

Array word_number(std::uint32_t value) { return Array(Scalar(value)); }

TwoWords product_of_words(const Array& x, std::uint32_t factor) {
  return words_of(convert(x, DType::u64) * Array(Scalar(std::uint64_t(factor))));
}

}  // namespace

std::array<Array, 4> philox4x32(const std::array<Array, 2>& key, const std::array<Array, 4>& counter) {
  std::array<Array, 2> k = key;
  std::array<Array, 4> x = counter;
  for (int round = 0; round < 10; ++round) {
    const TwoWords a = product_of_words(x[0], 0xD2511F53u), b = product_of_words(x[2], 0xCD9E8D57u);
    x = {b.upper ^ x[1] ^ k[0], b.lower, a.upper ^ x[3] ^ k[1], a.lower};
    k = {k[0] + word_number(0x9E3779B9u), k[1] + word_number(0xBB67AE85u)};
  }
  return x;
}

}  // namespace tenon
