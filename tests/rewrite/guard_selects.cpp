// where(p, updated, old): rows alone are chosen, with the values and derivatives that choosing whole arrays has.
#include "tenon/rewrite/guard_selects.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ir/print.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr std::int64_t n = 12;

Array wave(std::int64_t size, double by) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < size; ++i) v.push_back(std::sin(by * static_cast<double>(i) + 0.4));
  return array<double>(v, {size});
}

// Selects between whole arrays.
int whole_selects(const Program& p) {
  int count = 0;
  for (const Eqn& eqn : p.eqns())
    count += eqn.op->name == "select" && p.type(eqn.out[0]).dtype == DType::f64 && p.type(eqn.out[0]).rank() == 1 &&
             p.type(eqn.out[0]).shape[0] == Dim(n);
  return count;
}

using Update = Array (*)(const Array& x, const Array& v);
const std::vector<std::pair<const char*, Update>> updates{
    {"Set", [](const Array& x, const Array& v) { return x.at(std::int64_t(3)).set(v(0)); }},
    {"Add", [](const Array& x, const Array& v) { return x.at(slice(2, 5)).add(v); }},
    {"Mul", [](const Array& x, const Array& v) { return x.at(std::int64_t(-1)).mul(v(1)); }},
    {"Min", [](const Array& x, const Array& v) { return x.at(std::int64_t(4)).min(v(1)); }},
    {"Max", [](const Array& x, const Array& v) { return x.at(std::int64_t(4)).max(v(1)); }},
    {"RowsThatMeet",
     [](const Array& x, const Array& v) {
       return x.at(array<std::int64_t>(std::vector<std::int64_t>{1, 1, 5}, {3})).set(v);
     }},
    {"OutOfBounds",
     [](const Array& x, const Array& v) { return x.at(convert(v(0) * 0.0, DType::i64) + std::int64_t(20)).set(v(0)); }},
    {"Slice", [](const Array& x,
                 const Array& v) { return dynamic_update_slice(x, v, std::vector<Array>{Array(std::int64_t(11))}); }},
    {"TwoUpdates",
     [](const Array& x, const Array& v) { return x.at(std::int64_t(3)).set(v(0)).at(std::int64_t(3)).add(v(1)); }},
};

class GuardedSelects : public testing::TestWithParam<std::pair<const char*, Update>> {};

TEST_P(GuardedSelects, GiveWhatWholeOnesGive) {
  const Update update = GetParam().second;
  const Array x = wave(n, 1.3), v = wave(3, 0.7);
  for (const bool updated_first : {true, false}) {
    const auto chosen = [&](Array p, Array x, Array v) {
      return updated_first ? where(p, update(x, v), x) : where(p, x, update(x, v));
    };
    const ProgramRef program = trace(chosen)(Array(true), x, v);
    EXPECT_EQ(whole_selects(*program), 0) << print(*program);
    for (const bool p : {true, false}) {
      // Outside of a trace `where` chooses between whole arrays.
      const Array want = chosen(Array(p), x, v);
      EXPECT_TRUE(array_equal(jit(chosen)(Array(p), x, v), want));
      EXPECT_TRUE(array_equal(want, p == updated_first ? update(x, v) : x));
      const auto loss = [&](Array x, Array v) { return sum(sin(chosen(Array(p), x, v))); };
      const auto plain = [&](Array x, Array v) {
        return sum(sin(p == updated_first ? update(x, v) : x + sum(v) * 0.0));
      };
      const auto [dx, dv] = jit(grad<0, 1>(loss))(x, v);
      const auto [want_dx, want_dv] = grad<0, 1>(plain)(x, v);
      EXPECT_LT(amax(abs(dx - want_dx)).item<double>(), 1e-14);
      EXPECT_LT(amax(abs(dv - want_dv)).item<double>(), 1e-14);
    }
    const Array mask = array<std::uint32_t>(std::vector<std::uint32_t>{1, 0}, {2}) != 0u;
    const Array lanes = jit(vmap([&](Array p) { return chosen(p, x, v); }))(mask);
    EXPECT_TRUE(array_equal(lanes, stack({chosen(Array(true), x, v), chosen(Array(false), x, v)})));
  }
}

INSTANTIATE_TEST_SUITE_P(Updates, GuardedSelects, testing::ValuesIn(updates),
                         [](const auto& info) { return info.param.first; });

TEST(GuardedSelects, NotWhereTheUpdatedArrayIsReadElsewhere) {
  const Array x = wave(n, 1.3);
  const auto read = [](Array p, Array x) {
    const Array y = x.at(std::int64_t(3)).set(1.0);
    return where(p, y, x) + sum(y);
  };
  EXPECT_EQ(whole_selects(*trace(read)(Array(true), x)), 1);
  const auto other = [](Array p, Array x) { return where(p, x.at(std::int64_t(3)).set(1.0), x * 2.0); };
  EXPECT_EQ(whole_selects(*trace(other)(Array(true), x)), 1);
  const auto by_element = [](Array p, Array x) { return where(p, x.at(std::int64_t(3)).set(1.0), x); };
  EXPECT_EQ(whole_selects(*trace(by_element)(x > 0.0, x)), 1);
}

}  // namespace
}  // namespace tenon
