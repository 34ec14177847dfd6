// Lists as generated code drives them: what is freed when.
#include "tenon/runtime/lists/lists.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tenon/runtime/memory/allocator.h"

namespace tenon {
namespace {

constexpr std::size_t slack = 128 << 10;  // live bytes are counted to within 64 KiB a thread

std::size_t live() { return memory_statistics().live_bytes; }

TEST(Lists, ChunksThatWereReadBackwardsAreFreed) {
  const std::size_t before = live();
  const ListPool pool;
  constexpr std::int64_t many = 1 << 20;
  const std::int64_t list = tenon_list_make(8, 0, many);
  tenon_list_finish(list, many, 0, nullptr);
  EXPECT_GE(live() + slack, before + 8 * many);
  tenon_list_retain(list);
  tenon_list_trim(list, many / 4);  // somebody else may still read it
  EXPECT_EQ(list_length(list), many);
  tenon_list_release(list);
  std::memset(list_element(list, many / 4), 7, 8);
  tenon_list_trim(list, many / 4);
  EXPECT_EQ(list_length(list), many / 4 + 1);
  EXPECT_LE(live(), before + 6 * many);
  EXPECT_EQ(*list_element(list, many / 4), std::byte{7});
  tenon_list_trim(list, 0);
  EXPECT_LE(live(), before + slack);
  tenon_list_release(list);
}

TEST(Lists, OfListsReleaseTheirElements) {
  const std::size_t before = live();
  const ListPool pool;
  const std::int64_t outer = tenon_list_make(8, 1, 100);
  for (std::int64_t i = 0; i < 100; ++i) {
    const std::int64_t inner = tenon_list_make(8, 0, 10000);
    tenon_list_finish(inner, 10000, 0, nullptr);
    std::memcpy(list_element(outer, i), &inner, sizeof inner);
  }
  tenon_list_finish(outer, 100, 0, nullptr);
  EXPECT_GE(live(), before + 100 * 80000);
  tenon_list_trim(outer, 31);
  EXPECT_LE(live(), before + 65 * 100000);
  tenon_list_release(outer);
  EXPECT_LE(live(), before + slack);
}

TEST(Lists, APoolFreesWhatIsLeft) {
  const std::size_t before = live();
  {
    const ListPool pool;
    for (int i = 0; i < 100; ++i) tenon_list_make(8, i % 2, 10000);
    tenon_list_open(0, 1 << 20, 1);
  }
  EXPECT_LE(live(), before + slack);
}

}  // namespace
}  // namespace tenon
