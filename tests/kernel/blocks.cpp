// Parallel blocks and their tails in native code: of no blocks, of one, of several, by sizes that are known and that
// are not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tenon/compile/native/codegen.h"
#include "tenon/kernel/parse.h"
#include "tenon/kernel/verify.h"

namespace tenon::kernel {
namespace {

// Which of 11 elements blocks of four and a tail of three write, each with the number of its block.
std::vector<float> written_by(const std::string& count, const std::string& rest, std::int64_t size) {
  const Function f = parse(fmt::format(R"(function @blocks arena=0 arguments=1 sizes=1
  m0: f32[11] argument 0
  parallel blocks i0<{}, rest {}
    each [i1<4]
      m0[add(mul(i0, 4), i1)] = f32(i0)
  then
    each [i2<3]
      m0[add(mul(i0, 4), i2)] = f32(i0)
)",
                                       count, rest));
  verify(f);
  std::vector<float> result(11, -1);
  void* arguments[] = {result.data(), &size};
  EXPECT_EQ(compile_native(f)->entry(arguments, nullptr, &never_cancelled), 0);
  return result;
}

TEST(ParallelBlocks, HaveATailWhereThereIsNoBlockToo) {
  for (const std::int64_t count : {0, 1, 2})
    for (const bool known_count : {true, false})
      for (const std::int64_t rest : {0, 3}) {
        std::vector<float> expected(11, -1);
        for (std::int64_t i = 0; i < 4 * count + rest; ++i)
          expected[static_cast<std::size_t>(i)] = static_cast<float>(i / 4);
        const std::string blocks = known_count ? std::to_string(count) : "s0-1";  // a size is 1 at least
        EXPECT_EQ(written_by(blocks, std::to_string(rest), count + 1), expected)
            << blocks << " of " << count << ", " << rest;
        if (rest == 3) {
          EXPECT_EQ(written_by(blocks, fmt::format("s0{:+}", 2 - count), count + 1), expected)
              << blocks << " of " << count;
        }
      }
}

}  // namespace
}  // namespace tenon::kernel
