// strict_in_place: updates that copy their array are errors that name the copy's line and what forces it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tenon/tenon.h"
#include "tests/error_message.h"
#include "tests/island.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tn::Array;
using tn::message_of;

namespace {

const tn::JitOptions strict{.strict_in_place = true};

Array thousandths(std::int64_t n) { return tn::arange(n, tn::DType::f32) * 1e-3f; }

// "strict_in_place.cpp:LINE", for expectations about the line that they stand on.
std::string line(int at) { return "strict_in_place.cpp:" + std::to_string(at); }

// y[i] = sin(y[i-1]) + x[i], by updates of a carry.
Array recurrence(const Array& x) {
  return tn::fori_loop(
      1, x.size(0), [&](const Array& i, const Array& y) { return y.at(i).set(tn::sin(y(i - 1)) + x(i)); },
      tn::zeros_like(x));
}

}  // namespace

TEST(StrictInPlace, AcceptsWhatStaysInPlace) {
  const Array x = thousandths(500), batch = tn::stack({x, 2.f * x});
  const auto loss = [](const Array& v) { return tn::sum(tn::square(recurrence(v))); };
  EXPECT_TRUE(tn::array_equal(tn::jit(recurrence, strict)(x), tn::jit(recurrence)(x)));
  EXPECT_TRUE(tn::array_equal(tn::jit(tn::vmap(recurrence), strict)(batch), tn::jit(tn::vmap(recurrence))(batch)));
  EXPECT_TRUE(tn::array_equal(tn::jit(tn::grad(loss), strict)(x), tn::jit(tn::grad(loss))(x)));
  EXPECT_NO_THROW(tn::jit(tn::vmap(tn::grad(loss)), strict)(batch));
  const auto nested = [](const Array& v) {
    return tn::fori_loop(
        0, 3,
        [&](const Array& k, const Array& y) {
          return tn::fori_loop(
              0, 4, [&](const Array& i, const Array& z) { return z.at(4 * k + i).add(v(i)).at(i).mul(2.f); }, y);
        },
        tn::zeros_like(v));
  };
  EXPECT_TRUE(tn::array_equal(tn::jit(nested, strict)(x), tn::jit(nested)(x)));
}

TEST(StrictInPlace, DonatedArguments) {
  const auto set = [](const Array& x, const Array& v) { return x.at(3).set(v); };
  const auto f = tn::jit(set, {.donate = {0}, .strict_in_place = true});
  Array x = thousandths(500);
  const float* memory = x.span<float>().data();
  const Array y = f(x, 7.f);
  EXPECT_EQ(y.span<float>().data(), memory);
  EXPECT_EQ(y(3).item<float>(), 7.f);
  // Without donation it is the caller's.
  const std::string refused = message_of<tn::CompileError>([&] { tn::jit(set, strict)(thousandths(500), Array(1.f)); });
  EXPECT_THAT(refused, AllOf(HasSubstr("strict_in_place: dynamic_update_slice of f32[500] copies 2,000 bytes"),
                             HasSubstr("it is the caller's, argument 0"),
                             HasSubstr("Donate it: jit(f, {.donate = {0}})."), HasSubstr(line(56))));
  // What cannot be taken at a call is said then, and nothing is lost.
  Array shared = thousandths(500);
  const Array other = shared;
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { f(shared, Array(1.f)); }),
              AllOf(HasSubstr("argument 0 is donated and would be copied, because another handle shares its memory"),
                    HasSubstr("variable that is not const")));
  EXPECT_TRUE(tn::array_equal(shared, thousandths(500)));
  const Array fixed = thousandths(500);
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { f(fixed, Array(1.f)); }), HasSubstr("passed as a const variable"));
  const Array captured = thousandths(500);
  EXPECT_THAT(message_of<tn::CompileError>(
                  [&] { tn::jit([&](const Array& v) { return captured.at(3).set(v); }, strict)(Array(1.f)); }),
              AllOf(HasSubstr("an array that the function captures"), HasSubstr("Pass it as an argument")));
}

TEST(StrictInPlace, NamesTheReadThatForcesACopy) {
  const auto later = [](const Array& x) {
    const Array y = tn::exp(x);
    const Array z = y.at(3).set(1.f);
    return std::pair(z, tn::sum(y));
  };
  const auto beside = [](const Array& x) {
    return tn::fori_loop(
        0, 10,
        [&](const Array& i, const std::pair<Array, Array>& c) {
          const Array next = c.first.at(i).set(2.f);
          return std::pair(next, c.second + tn::sum(c.first * next));
        },
        std::pair(tn::exp(x), tn::sum(x)));
  };
  const auto message = [](const auto& f) {
    return message_of<tn::CompileError>([&] { tn::jit(f, strict)(thousandths(500)); });
  };
  EXPECT_THAT(message(later),
              AllOf(HasSubstr("of f32[500] copies 2,000 bytes: what it was before is read afterwards"),
                    HasSubstr(line(86)), HasSubstr(line(87)), HasSubstr("Read what is needed of it before")));
  EXPECT_THAT(message(beside),
              AllOf(HasSubstr("copies 2,000 bytes, 10 times: what it was before is read afterwards by mul"),
                    HasSubstr(line(93)), HasSubstr(line(94))));
  // explain names the same.
  const std::string told = tn::explain(beside)(thousandths(500));
  EXPECT_TRUE(std::regex_search(told, std::regex("2,000 bytes, 10 times at .*:93: scatter of "
                                                 "f32\\[500\\]: what it was before is read afterwards by mul at "
                                                 ".*:94\n")))
      << told;
}

TEST(StrictInPlace, LoopsAndBranches) {
  const auto message = [](const auto& f) {
    return message_of<tn::CompileError>([&] { tn::jit(f, strict)(thousandths(500)); });
  };
  // Every value of the carry is stacked.
  EXPECT_THAT(message([](const Array& x) {
                return tn::scan(
                    [](const Array& c, const Array& i) {
                      const Array next = c.at(i).set(1.f);
                      return std::pair(next, next);
                    },
                    tn::exp(x), tn::arange(10));
              }),
              AllOf(HasSubstr("copies 2,000 bytes, 10 times"), HasSubstr("the loop keeps it of each step")));
  // Each step begins with the same array.
  EXPECT_THAT(message([](const Array& x) {
                return tn::scan(
                           [&](const Array& c, const Array& i) { return std::pair(c + tn::sum(x.at(i).mul(2.f)), i); },
                           tn::zeros({}), tn::arange(10))
                    .first;
              }),
              AllOf(HasSubstr("10 times"), HasSubstr("each step of the loop begins with it")));
  // Carries that change places.
  EXPECT_THAT(message([](const Array& x) {
                return tn::fori_loop(
                    0, 10,
                    [](const Array& i, const std::pair<Array, Array>& c) {
                      return std::pair(c.second, c.first.at(i).add(1.f));
                    },
                    std::pair(tn::exp(x), tn::sin(x)));
              }),
              AllOf(HasSubstr("10 times"), HasSubstr("Let arrays that are updated keep their places")));
  // A branch that updates an argument.
  const auto branch = [](const Array& x) {
    return tn::cond(
        tn::sum(x) > 0.f, [](const Array& y) { return y.at(2).set(1.f); }, [](const Array& y) { return y; }, x);
  };
  EXPECT_THAT(message(branch), AllOf(HasSubstr("copies 2,000 bytes"), HasSubstr("it is the caller's, argument 0")));
  EXPECT_NO_THROW(tn::jit(branch, {.donate = {0}, .strict_in_place = true})(thousandths(500)));
}

// Of arrays that are large enough to be divided among the threads, too: the rows that a gradient reads before are read
// from all over the table.
TEST(StrictInPlace, AStepOfDescentOnSomeRows) {
  const auto loss = [](const Array& table, const Array& ids) { return tn::sum(tn::sin(table(ids))); };
  const auto step = [&](const Array& table, const Array& ids) {
    const tn::Rows rows = tn::grad(loss, tn::sparse<>)(table, ids);
    return table.at(rows.indices).add(-0.1 * rows.values);
  };
  for (const std::int64_t n : {100, 20000}) {
    const Array ids = (tn::arange(50) * 7919) % n;
    const auto table = [&] { return tn::sin(tn::reshape(tn::arange(n * 64, tn::DType::f64), {n, 64})); };
    const auto strictly = tn::jit(step, {.donate = {0}, .strict_in_place = true});
    EXPECT_TRUE(tn::allclose(strictly(table(), ids), step(table(), ids), 1e-12, 1e-12)) << n;
  }
}

TEST(StrictInPlace, MutableReferences) {
  tn::Ref r = tn::make_ref(thousandths(500));
  const auto f = tn::jit(
      [&](const Array& v) {
        r[3] += v;
        return v;
      },
      strict);
  EXPECT_NO_THROW(f(Array(1.f)));
  EXPECT_FLOAT_EQ(r()(3).item<float>(), 1.003f);
}

// Where nothing is updated there is nothing to demand, and small arrays live in registers.
TEST(StrictInPlace, LeavesTheRestAlone) {
  EXPECT_NO_THROW(tn::jit([](const Array& x) { return std::pair(x, tn::reverse(x, {0})); }, strict)(thousandths(500)));
  EXPECT_NO_THROW(tn::jit(
      [](const Array& x) {
        return tn::fori_loop(0, 10, [](const Array&, const Array& c) { return tn::reverse(c, {0}) + 1.f; }, x);
      },
      strict)(thousandths(500)));
  EXPECT_THAT(message_of<tn::CompileError>([] {
                tn::jit([](const Array& x) { return tn::island(tn::compress(x.at(3).set(1.f), x > 0.1f)); },
                        strict)(thousandths(500));
              }),
              AllOf(HasSubstr("runs by the reference evaluator"), HasSubstr("island: a test's op")));
}
