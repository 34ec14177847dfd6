// Memo: what is asked for again is remembered, within bounds of number and memory.
#include "tenon/transform/memo.h"

#include <gtest/gtest.h>

#include "tenon/ir/scope.h"
#include "tenon/ops/elementwise/arithmetic.h"

namespace tenon {
namespace {

Hash128 key(int i) { return Hasher()("test")(i).finish(); }

ProgramRef chain(int eqns) {
  Scope scope;
  Array x = scope.input(Type::array(DType::f64, {}));
  for (int i = 0; i < eqns; ++i) x = sin(x);
  return scope.finish(Arrays{x}).program;
}

TEST(Memo, RemembersWhatIsAskedForAgain) {
  static constinit Memo<Mask> memo;
  int made = 0;
  const auto ask = [&](int i) { return memo.get(key(i), [&] { return ++made, Mask(3, true); }); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(0), Mask(3, true));
  EXPECT_EQ(made, 1);
  // The one that is asked for in between stays, the others go in their order.
  for (int i = 1; i < 10'000; ++i) ask(i), ask(0);
  EXPECT_EQ(made, 10'000);
  ask(9'999), ask(9'000);
  EXPECT_EQ(made, 10'000);
  ask(1);
  EXPECT_EQ(made, 10'001);
}

TEST(Memo, HoldsSoMuchMemory) {
  static constinit Memo<ProgramRef> memo;
  std::vector<std::weak_ptr<const Program>> made;
  for (int i = 0; i < 40; ++i)
    memo.get(key(i), [&] {
      const ProgramRef p = chain(2'000);
      made.push_back(p);
      return p;
    });
  std::size_t alive = 0, bytes = 0;
  for (const auto& p : made)
    if (const ProgramRef held = p.lock()) ++alive, bytes += held_bytes(held);
  EXPECT_LT(alive, 40);
  EXPECT_LE(bytes, std::size_t(16) << 20);
  EXPECT_GT(bytes, std::size_t(8) << 20);
  // One that is larger than all that may be held is remembered until the next.
  int large = 0;
  const auto ask = [&] { return memo.get(key(-1), [&] { return ++large, chain(60'000); }); };
  ask(), ask();
  EXPECT_EQ(large, 1);
  EXPECT_TRUE(made.back().expired());
}

}  // namespace
}  // namespace tenon
