// einsum of any number of operands, beside sums written as loops over all letters; and the orders of its products,
// beside all orders there are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "tenon/ops/linear_algebra/contraction_order.h"
#include "tenon/tenon.h"
#include "tests/error_message.h"
#include "tests/fuzzing.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> numbers(const Array& x) {
  std::vector<double> made;
  const Array wide = reshape(convert(x, DType::f64), {x.shape().elements()});
  for (std::int64_t i = 0; i < wide.shape()[0].value(); ++i) made.push_back(wide(i).item<double>());
  return made;
}

struct Problem {
  std::vector<std::string> terms;
  std::string result, text;  // text: with blanks and "..." where terms have letters of more axes
  std::map<char, std::int64_t> sizes;
  Arrays operands;

  // The sum over all letters that the result lacks, an element of the result after the other.
  std::vector<double> by_loops() const {
    std::vector<std::vector<double>> data;
    std::string letters = result;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      data.push_back(numbers(operands[i]));
      for (char c : terms[i])
        if (letters.find(c) == std::string::npos) letters += c;
    }
    std::int64_t all = 1, inner = 1;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      all *= sizes.at(letters[i]);
      if (i >= result.size()) inner *= sizes.at(letters[i]);
    }
    std::vector<double> sums(static_cast<std::size_t>(inner == 0 ? 0 : all / inner), 0);
    if (inner == 0) {
      std::int64_t outer = 1;
      for (char c : result) outer *= sizes.at(c);
      return std::vector<double>(static_cast<std::size_t>(outer), 0);
    }
    for (std::int64_t at = 0; at < all; ++at) {
      std::map<char, std::int64_t> index;
      std::int64_t rest = at;
      for (std::size_t i = letters.size(); i-- > 0;) {
        index[letters[i]] = rest % sizes.at(letters[i]);
        rest /= sizes.at(letters[i]);
      }
      double product = 1;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
          const std::int64_t n = operands[i].shape()[axis].value();
          offset = offset * n + (n == 1 ? 0 : index[terms[i][axis]]);  // 1 broadcasts
        }
        product *= data[i][static_cast<std::size_t>(offset)];
      }
      sums[static_cast<std::size_t>(at / inner)] += product;
    }
    return sums;
  }
};

// Up to five operands of up to three axes, of five letters; small integers, so that sums are exact in every dtype.
Problem drawn(std::mt19937_64& random, DType dtype) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Problem p;
  const bool unnamed = below(4) == 0;  // X and Y are what "..." stands for
  for (char c : std::string("abcdeXY")) p.sizes[c] = static_cast<std::int64_t>(below(12) == 0 ? 0 : 1 + below(4));
  const std::size_t count = 1 + below(5);
  std::string used;
  for (std::size_t i = 0; i < count; ++i) {
    std::string term, text;
    for (std::size_t axis = below(4); axis-- > 0;) {
      const char c = "abcde"[below(5)];
      term += c, text += c;
    }
    if (unnamed) {
      const std::string axes = std::string("XY").substr(below(3));
      const std::size_t at = below(term.size() + 1);
      term.insert(at, axes), text.insert(at, "...");
    }
    std::vector<Dim> shape;
    for (char c : term) shape.emplace_back(below(6) == 0 && std::ranges::count(term, c) == 1 ? 1 : p.sizes[c]);
    const Shape whole(shape);
    const Array x = convert(arange(whole.elements(), DType::i32) * static_cast<int>(1 + below(5)) % 5, DType::i32) - 2;
    p.operands.push_back(convert(reshape(x, whole), dtype));
    p.terms.push_back(term);
    p.text += (i == 0 ? "" : ", ") + text;
    for (char c : term)
      if (used.find(c) == std::string::npos) used += c;
  }
  // A letter that is of size 1 everywhere is of size 1.
  for (char c : used) {
    bool larger = false;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t axis = 0; axis < p.terms[i].size(); ++axis)
        larger |= p.terms[i][axis] == c && p.operands[i].shape()[axis] != Dim(1);
    if (!larger) p.sizes[c] = 1;
  }
  std::ranges::shuffle(used, random);
  std::string text;
  bool told = false;
  for (char c : used) {
    if (c == 'X' || c == 'Y') {
      if (std::exchange(told, true)) continue;
      text += "...";
      for (char of : std::string("XY"))
        if (used.find(of) != std::string::npos) p.result += of;
    } else if (below(2) == 0) {
      text += c, p.result += c;
    }
  }
  p.text += "->" + text;
  return p;
}

TEST(Einsum, FuzzBesideLoops) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  const std::vector<DType> dtypes{DType::f32, DType::f64, DType::i32, DType::i64, DType::c64, DType::bool_, DType::u8};
  for (std::int64_t i = 0, count = fuzzing::cases(150); i < count; ++i) {
    const DType dtype = dtypes[random() % dtypes.size()];
    const Problem p = drawn(random, dtype);
    SCOPED_TRACE(fmt::format("{} of {}", p.text, name(dtype)));
    std::vector<double> wanted = p.by_loops();
    if (dtype == DType::bool_) std::ranges::transform(wanted, wanted.begin(), [](double x) { return double(x != 0); });
    if (dtype == DType::u8)
      std::ranges::transform(wanted, wanted.begin(), [](double x) { return x - 256 * std::floor(x / 256); });
    const Array got = einsum(p.text, p.operands);
    EXPECT_EQ(got.dtype(), dtype);
    const auto real_numbers = [](const Array& x) { return numbers(is_complex(x.dtype()) ? real(x) : x); };
    ASSERT_THAT(real_numbers(got), testing::ElementsAreArray(wanted));
    if (i % 12 != 0) continue;
    const auto compiled = jit([text = p.text](const Arrays& all) { return einsum(text, all); });
    ASSERT_THAT(real_numbers(compiled(p.operands)), testing::ElementsAreArray(wanted));
    // Each operand's share of the slope is the value, as many times as there are operands.
    if (dtype != DType::f64 || p.operands.empty()) continue;
    const auto total = [text = p.text](const Arrays& all) { return sum(einsum(text, all)); };
    const Arrays slopes = grad(total)(p.operands);
    for (std::size_t k = 0; k < slopes.size(); ++k)
      ASSERT_NEAR(sum(slopes[k] * p.operands[k]).item<double>(), total(p.operands).item<double>(), 1e-9);
  }
}

TEST(Einsum, NumbersStandBesideArrays) {
  EXPECT_THAT(numbers(einsum("i,,i->", Array{1., 2.}, 3., Array{1., 1.})), ElementsAre(9));
  EXPECT_THAT(numbers(einsum("i,j,k", Array{1, 2}, Array{3}, Array{1, 1})), ElementsAre(3, 3, 6, 6));
}

TEST(Einsum, APathIsFollowed) {
  const Array x = reshape(arange(6, DType::f32), {2, 3}), y = reshape(arange(12, DType::f32), {3, 4}),
              z = reshape(arange(4, DType::f32), {4});
  const std::vector<double> wanted = numbers(matmul(x, matmul(y, z)));
  using Path = std::vector<std::vector<std::int64_t>>;
  for (const Path& path : {Path{{0, 1}, {0, 1}}, Path{{1, 2}}, Path{{2, 0, 1}}, Path{{0}, {1}, {0, 2}, {1, 0}}})
    EXPECT_THAT(numbers(einsum("ij,jk,k->i", {x, y, z}, {.path = path})), testing::ElementsAreArray(wanted));
  EXPECT_THAT(einsum_path("ij,jk,k->i", {x, y, z}), ElementsAre(ElementsAre(1, 2), ElementsAre(0, 1)));
  for (const Path& path : {Path{{0, 3}}, Path{{0, 0}}, Path{{-1, 0}}, Path{{}}, Path{{0, 1}, {0, 2}}})
    EXPECT_THAT(message_of<ShapeError>([&] { einsum("ij,jk,k->i", {x, y, z}, {.path = path}); }),
                HasSubstr("A step names operands that are left"));
}

TEST(Einsum, SaysWhatDoesNotFit) {
  const Array x = zeros({2, 3});
  const auto says = [](auto call, const char* text) { EXPECT_THAT(message_of<ShapeError>(call), HasSubstr(text)); };
  says([&] { einsum("ij,jk,kl->il", x, x, x); },
       "einsum: 'ij,jk,kl->il' of f32[2,3], f32[2,3], f32[2,3]: axes 'j' have");
  says([&] { einsum("ij,ij,->", x, x); }, "names 3 operands, and 2 are given");
  says([&] { einsum("ij,", Arrays{}); }, "names 2 operands, and 0 are given");
  says([&] { einsum("i.j->", x); }, "neither a letter nor one \"...\"");
  says([&] { einsum("...i...->", x); }, "neither a letter nor one \"...\"");
  says([&] { einsum("ij->ii", x); }, "or has it twice");
  says([&] { einsum("ii->i", x); }, "axes 'i' have the sizes 2 and 3");
  says([&] { einsum("...ijk->", x); }, "names 3 axes of f32[2,3]");
  EXPECT_THAT(message_of<DTypeError>([&] { einsum("ij,ij,ij->", {x, x, x}, {.preferred = DType::i32}); }),
              HasSubstr("i32 is preferred"));
}

// Bytes are multiplied as they are, and what they make in what is preferred.
TEST(Einsum, PreferredIsOfEveryProduct) {
  const Array x = full({200, 200}, Array(std::int8_t(100)));
  const Array made = einsum("ij,jk,kl->", {x(slice(0, 2)), x, x(all, slice(0, 1))}, {.preferred = DType::i64});
  EXPECT_EQ(made.dtype(), DType::i64);
  EXPECT_EQ(made.item<std::int64_t>(), 2LL * 200 * 200 * 1000000);
}

// --- orders ---

Contraction network(std::mt19937_64& random, std::size_t operands, unsigned letters, std::size_t most_axes) {
  Contraction made;
  for (unsigned i = 0; i < letters; ++i) made.sizes.push_back(double(1 + random() % 9));
  for (std::size_t i = 0; i < operands; ++i) {
    std::uint64_t mask = 0;
    for (std::size_t k = 1 + random() % most_axes; k-- > 0;) mask |= std::uint64_t(1) << random() % letters;
    made.operands.push_back(mask);
  }
  for (unsigned i = 0; i < letters; ++i)
    for (std::uint64_t of : made.operands)
      if ((of >> i & 1) != 0 && random() % 4 == 0) made.result |= std::uint64_t(1) << i;
  return made;
}

// The operations of all products in an order; letters of one operand alone are summed before.
double operations(const Contraction& of, const ContractionOrder& order) {
  std::array<std::size_t, 64> owners{};
  const auto count = [&](std::uint64_t letters, int by) {
    for (std::size_t i = 0; i < owners.size(); ++i) owners[i] += (letters >> i & 1) != 0 ? by : 0;
  };
  const auto wanted = [&](std::uint64_t letters, std::size_t least) {
    for (std::size_t i = 0; i < owners.size(); ++i)
      if (owners[i] < least && (of.result >> i & 1) == 0) letters &= ~(std::uint64_t(1) << i);
    return letters;
  };
  std::vector<std::uint64_t> left = of.operands;
  for (std::uint64_t letters : left) count(letters, 1);
  for (std::uint64_t& letters : left) letters = wanted(letters, 2);
  double sum = 0;
  for (const auto& [i, j] : order) {
    const std::uint64_t all = left[i] | left[j];
    for (const std::size_t at : {std::max(i, j), std::min(i, j)}) {
      count(left[at], -1);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const std::uint64_t kept = wanted(all, 1);
    double elements = 1;
    for (std::size_t k = 0; k < of.sizes.size(); ++k) elements *= (all >> k & 1) != 0 ? of.sizes[k] : 1;
    sum += elements * (kept != all ? 2 : 1);
    left.push_back(kept), count(kept, 1);
  }
  return sum;
}

double fewest(const Contraction& of, ContractionOrder& order, std::size_t left) {
  if (left <= 1) return operations(of, order);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < left; ++i)
    for (std::size_t j = i + 1; j < left; ++j) {
      order.emplace_back(i, j);
      best = std::min(best, fewest(of, order, left - 1));
      order.pop_back();
    }
  return best;
}

TEST(ContractionOrders, FuzzOfFewAreTheCheapest) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  for (std::int64_t i = 0, count = fuzzing::cases(60); i < count; ++i) {
    const std::size_t n = 1 + random() % 5;
    const Contraction of = network(random, n, 6, 3);
    ContractionOrder order;
    ASSERT_EQ(operations(of, contraction_order(of)), fewest(of, order, n));
  }
}

// A chain of matrices, as long as letters last; a star of many operands with one letter; many without any together.
TEST(ContractionOrders, OfMany) {
  std::mt19937_64 random(1);
  Contraction chain;
  for (unsigned i = 0; i < 64; ++i) chain.sizes.push_back(i % 2 == 0 ? 2 : 50);
  for (unsigned i = 0; i + 1 < 64; ++i) chain.operands.push_back(std::uint64_t(3) << i);
  chain.result = 1 | std::uint64_t(1) << 63;
  const ContractionOrder order = contraction_order(chain);
  EXPECT_EQ(order.size(), 62);
  // At best 31 products over an axis of 50, then 30 of 2x2 matrices and one that ends in 50.
  EXPECT_LE(operations(chain, order), 1.05 * 2 * (31 * 200 + 30 * 8 + 200));
  for (const std::size_t count : {13U, 100U, 3000U}) {
    Contraction star{std::vector<std::uint64_t>(count, 1), 0, {7}}, apart{{}, 0, {}};
    for (unsigned i = 0; i < 64; ++i) apart.sizes.push_back(3);
    for (std::size_t i = 0; i < count; ++i) apart.operands.push_back(i < 64 ? std::uint64_t(1) << i : 0);
    apart.result = ~std::uint64_t(0) >> (64 - std::min<std::size_t>(count, 64));
    EXPECT_EQ(contraction_order(star).size(), count - 1);
    EXPECT_EQ(contraction_order(apart).size(), count - 1);
    EXPECT_EQ(operations(star, contraction_order(star)), 7.0 * static_cast<double>(count - 2) + 14);
    const Contraction any = network(random, count, 40, 4);
    EXPECT_EQ(contraction_order(any).size(), count - 1);
  }
}

}  // namespace
}  // namespace tenon
