// What masks choose, by every kind of vector, in parts and whole: beside a loop.
#include "tenon/runtime/masks/masks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace tenon {
namespace {

constexpr std::byte untouched{0xa5};

std::vector<std::uint8_t> mask_of(std::int64_t n, int kind, std::mt19937& random) {
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n));
  for (auto& m : mask) {
    const auto drawn = random();
    m = kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? drawn % 2 : kind == 3 ? drawn % 40 == 0 : drawn % 3 == 0 ? 0x40 : 0;
  }
  return mask;
}

// This code is not optimised: a loop over millions of bytes would take seconds.
bool begins_with(const std::vector<std::byte>& all, const std::vector<std::byte>& first) {
  return all.size() >= first.size() && (first.empty() || std::memcmp(all.data(), first.data(), first.size()) == 0);
}

class Masks : public testing::TestWithParam<std::int64_t> {};

TEST_P(Masks, ChooseRowsAndPutThemBack) {
  const auto bytes = static_cast<std::size_t>(GetParam());
  std::mt19937 random(7);
  for (const std::int64_t n : {0, 1, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1000, 4099, 1'200'001})
    for (int kind = 0; kind < 5; ++kind) {
      if (n > 10'000 && bytes > 16) continue;
      const std::vector<std::uint8_t> mask = mask_of(n, kind, random);
      std::vector<std::byte> rows(mask.size() * bytes), chosen, back(rows.size());
      for (std::size_t i = 0; i < rows.size(); i += sizeof(std::uint32_t)) {
        const auto drawn = static_cast<std::uint32_t>(random());
        std::memcpy(rows.data() + i, &drawn, std::min(sizeof(drawn), rows.size() - i));
      }
      for (std::size_t i = 0; i < mask.size(); ++i)
        if (mask[i] != 0 && bytes > 0) {
          chosen.resize(chosen.size() + bytes);
          std::memcpy(chosen.data() + chosen.size() - bytes, rows.data() + i * bytes, bytes);
          std::memcpy(back.data() + i * bytes, rows.data() + i * bytes, bytes);
        }
      const auto count = static_cast<std::int64_t>(bytes == 0 ? 0 : chosen.size() / bytes);
      // Nothing is written behind what fits, in room for all and in room for those alone.
      for (const bool exact : {false, true}) {
        const std::int64_t room = exact ? count : n;
        std::vector<std::byte> to((static_cast<std::size_t>(room) + 1) * bytes + 64, untouched);
        EXPECT_EQ(tenon_compress(mask.data(), n, rows.data(), GetParam(), room, exact, to.data()), count);
        EXPECT_TRUE(begins_with(to, chosen)) << n << " " << kind;
        for (std::size_t i = static_cast<std::size_t>(room) * bytes; i < to.size(); ++i) EXPECT_EQ(to[i], untouched);
      }
      std::vector<std::byte> to(rows.size() + 64, untouched);
      EXPECT_EQ(tenon_compress(mask.data(), n, rows.data(), GetParam(), count + 1, 1, to.data()), -sizes_differ);
      EXPECT_EQ(tenon_uncompress(mask.data(), n, chosen.data(), GetParam(), count, to.data()), 0);
      EXPECT_TRUE(begins_with(to, back)) << n << " " << kind;
      for (std::size_t i = back.size(); i < to.size(); ++i) EXPECT_EQ(to[i], untouched);
      EXPECT_EQ(tenon_uncompress(mask.data(), n, chosen.data(), GetParam(), count + 1, to.data()), -sizes_differ);
    }
}

INSTANTIATE_TEST_SUITE_P(OfBytes, Masks, testing::Values(1, 2, 4, 8, 12, 16, 40));

template <class T>
void expect_places() {
  std::mt19937 random(9);
  for (const std::int64_t n : {0, 1, 8, 16, 17, 100, 5000, 700'001})
    for (int kind = 0; kind < 5; ++kind) {
      const std::vector<std::uint8_t> mask = mask_of(n, kind, random);
      std::vector<T> want;
      for (std::int64_t i = 0; i < n; ++i)
        if (mask[static_cast<std::size_t>(i)] != 0) want.push_back(static_cast<T>(i));
      std::vector<T> to(static_cast<std::size_t>(n));
      const std::int64_t count = tenon_places(mask.data(), n, sizeof(T), n, 0, to.data());
      ASSERT_EQ(count, static_cast<std::int64_t>(want.size()));
      to.resize(want.size());
      EXPECT_EQ(to, want);
    }
}
TEST(Masks, TellPlaces) {
  expect_places<std::int32_t>();
  expect_places<std::int64_t>();
}

}  // namespace
}  // namespace tenon
