// Functions of the user's called while programs run: eagerly, compiled, in loops, branches, batches and derivatives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tenon/tenon.h"
#include "tests/api/agreement.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::all_values;
using tn::Array;
using tn::close;
using tn::message_of;
using tn::numbers;

namespace {

using In = std::span<const Array>;
using Calls = std::vector<double>;

// x² by a function that tenon does not see; notes the sums of what it is called with.
struct Squares {
  Calls seen = {};
  tn::HostCallOptions options = {};
  Array operator()(const Array& x) {
    return tn::host_call(
        [this](In in) {
          double sum = 0;
          std::vector<double> made;
          for (const double v : all_values(in[0])) sum += v, made.push_back(v * v);
          seen.push_back(sum);
          std::vector<std::int64_t> dims;
          for (const tn::Dim& d : in[0].shape()) dims.push_back(d.value());
          return std::vector{tn::array<double>(made, dims)};
        },
        {x.type()}, {{x}}, options)[0];
  }
};

// Notes numbers as they come by.
void note(Calls& seen, const Array& x) {
  tn::host_call([&seen](In in) { return seen.push_back(in[0].item<double>()), std::vector<Array>(); }, {}, {{x}},
                {.effect = true});
}

TEST(Host, EagerAndCompiledGiveTheSame) {
  Squares squares;
  const Array x = numbers({3, 4});
  const auto f = [&](Array v) { return squares(v + 1) * 2; };
  const Array want = (x + 1) * (x + 1) * 2;
  EXPECT_TRUE(close(f(x), want, 1e-12));
  const auto compiled = tn::jit(f);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(close(compiled(x), want, 1e-12));
  EXPECT_EQ(squares.seen.size(), 4u);
}

TEST(Host, SeveralOperandsAndResultsOfManyTypes) {
  const auto f = tn::jit([](Array a, Array b, Array c) {
    const auto out = tn::host_call(
        [](In in) {
          EXPECT_EQ(in[0].type().text() + in[1].type().text() + in[2].type().text(), "f32[2]i64[]bool[0,3]");
          return std::vector{Array(in[1] + 1), Array{7.f, 8.f, 9.f}, tn::zeros({0}, tn::DType::u8)};
        },
        {b.type(), tn::Type::array(tn::DType::f32, {tn::Dim(3)}), tn::Type::array(tn::DType::u8, {tn::Dim(0)})},
        {{a, b, c}});
    return std::tuple(out[0], out[1] + a(0), out[2]);
  });
  const auto [n, x, none] = f(tn::zeros({2}), Array(tn::Scalar(std::int64_t(4))), tn::zeros({0, 3}, tn::DType::bool_));
  EXPECT_EQ(n.item<std::int64_t>(), 5);
  EXPECT_THAT(all_values(x), ElementsAre(7, 8, 9));
  EXPECT_EQ(none.type().text(), "u8[0]");
}

TEST(Host, EffectsStayInOrderAndPureCallsThatNobodyNeedsGo) {
  Calls seen;
  Squares unused;
  const auto f = tn::jit([&](Array x) {
    note(seen, x);
    unused(x);
    note(seen, x + 1);
    note(seen, x);
    return x * 2;
  });
  f(Array(1.0)), f(Array(5.0));
  EXPECT_THAT(seen, ElementsAre(1, 2, 1, 5, 6, 5));
  EXPECT_TRUE(unused.seen.empty());
}

TEST(Host, LoopsAndBranches) {
  Calls seen;
  const auto f = tn::jit([&](Array n) {
    return tn::fori_loop(
        0, n,
        [&](Array i, Array c) {
          return tn::cond(i % 2 == 0, [&](Array v) { return note(seen, i), v + 1; }, [&](Array v) { return v * 2; }, c);
        },
        Array(1.0));
  });
  EXPECT_EQ(f(Array(tn::Scalar(std::int64_t(5)))).item<double>(), 11);
  EXPECT_THAT(seen, ElementsAre(0, 2, 4));
  seen.clear();
  const auto g = tn::jit([&](Array x) {
    return tn::while_loop([](Array v) { return v < 10.0; }, [&](Array v) { return note(seen, v), v * 2; }, x);
  });
  EXPECT_EQ(g(Array(3.0)).item<double>(), 12);
  EXPECT_THAT(seen, ElementsAre(3, 6));
}

TEST(Host, BatchesByEveryMethod) {
  const Array x = numbers({3, 2}), want = x * x;
  const auto of = [&](tn::HostBatch batch, std::size_t calls) {
    Squares squares{.options = {.batch = batch}};
    const auto rows = tn::vmap([&](Array row) { return squares(row); });
    EXPECT_TRUE(close(rows(x), want, 1e-12));
    EXPECT_EQ(squares.seen.size(), calls);
    EXPECT_TRUE(close(tn::jit(rows)(x), want, 1e-12));
    EXPECT_EQ(squares.seen.size(), 2 * calls);
    EXPECT_TRUE(close(tn::jit(tn::vmap(rows))(tn::reshape(x, {1, 3, 2})), tn::reshape(want, {1, 3, 2}), 1e-12));
  };
  of(tn::HostBatch::sequential, 3);
  of(tn::HostBatch::expand_dims, 1);
  of(tn::HostBatch::broadcast_all, 1);
  Squares refused{.options = {.batch = tn::HostBatch::refuse}};
  EXPECT_THAT(message_of([&] { tn::vmap([&](Array row) { return refused(row); })(x); }),
              AllOf(HasSubstr("UnsupportedError: vmap: host_call"), HasSubstr("sequential")));
}

TEST(Host, OperandsWithoutABatch) {
  for (const auto& [batch, text] :
       {std::pair(tn::HostBatch::sequential, "f64[2]f64[2]"), std::pair(tn::HostBatch::expand_dims, "f64[3,2]f64[1,2]"),
        std::pair(tn::HostBatch::broadcast_all, "f64[3,2]f64[3,2]")}) {
    std::string seen;
    const Array y = numbers({2});
    const auto f = [&](Array row) {
      return tn::host_call(
          [&](In in) {
            seen = in[0].type().text() + in[1].type().text();
            return std::vector{Array(in[0] + in[1])};
          },
          {row.type()}, {{row, y}}, {.batch = batch})[0];
    };
    EXPECT_TRUE(close(tn::jit(tn::vmap(f))(numbers({3, 2})), numbers({3, 2}) + y, 1e-12));
    EXPECT_EQ(seen, text);
  }
}

TEST(Host, LanesThatDoNotRunCallNothing) {
  Calls seen;
  const auto f = [&](Array x) {
    return tn::cond(x > 2.0, [&](Array v) { return note(seen, v), v; }, [&](Array v) { return -v; }, x);
  };
  const Array x = {1.0, 4.0, 2.0, 3.0};
  EXPECT_THAT(all_values(tn::jit(tn::vmap(f))(x)), ElementsAre(-1, 4, -2, 3));
  EXPECT_THAT(seen, ElementsAre(4, 3));
  seen.clear();
  const auto g = [&](Array v) {
    return tn::while_loop([](Array w) { return w < 4.0; }, [&](Array w) { return note(seen, w), w * 2; }, v);
  };
  EXPECT_THAT(all_values(tn::jit(tn::vmap(g))(x)), ElementsAre(4, 4, 4, 6));
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 2));
}

TEST(Host, DerivativesSeeValuesOnce) {
  Calls seen;
  const auto f = [&](Array x) {
    const Array y = tn::sin(x);
    note(seen, y);
    return y * y;
  };
  const double want = 2 * std::sin(0.5) * std::cos(0.5);
  for (const bool compiled : {false, true}) {
    seen.clear();
    const Array slope = compiled ? tn::jit(tn::grad(f))(Array(0.5)) : tn::grad(f)(Array(0.5));
    EXPECT_NEAR(slope.item<double>(), want, 1e-12);
    EXPECT_THAT(seen, ElementsAre(testing::DoubleNear(std::sin(0.5), 1e-12)));
  }
  const auto [value, tangent] = tn::jvp(f, std::tuple(Array(0.5)), std::tuple(Array(2.0)));
  EXPECT_NEAR(tangent.item<double>(), 2 * want, 1e-12);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(Host, NoDerivativeUnlessOneIsGiven) {
  Squares squares;
  const auto f = [&](Array x) { return tn::sum(squares(x)); };
  const Array x = numbers({3});
  EXPECT_THAT(message_of([&] { tn::grad(f)(x); }),
              AllOf(HasSubstr("DifferentiationError: host_call has no derivative"), HasSubstr("custom_jvp")));
  EXPECT_TRUE(close(tn::grad([&](Array v) { return tn::sum(v * squares(tn::stop_gradient(v))); })(x), x * x, 1e-12));
  const auto known = tn::custom_jvp([&](Array v) { return squares(v); },
                                    [&](Array v, Array dv) { return std::pair(squares(v), 2 * v * dv); });
  EXPECT_TRUE(close(tn::jit(tn::grad([&](Array v) { return tn::sum(known(v)); }))(x), 2 * x, 1e-12));
}

struct Mine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(Host, WhatIsThrownComesOutAsItIs) {
  const auto wrong = [](Array x) {
    return tn::host_call(
        [](In in) -> std::vector<Array> {
          if (in[0].item<double>() > 1) throw Mine("too large");
          return {in[0]};
        },
        {x.type()}, {{x}})[0];
  };
  const auto f =
      tn::jit([&](Array n) { return tn::fori_loop(0, 10, [&](Array, Array c) { return wrong(c) + 1; }, n); });
  for (int i = 0; i < 3; ++i) EXPECT_THROW(f(Array(0.0)), Mine);
  EXPECT_THROW(wrong(Array(2.0)), Mine);
  EXPECT_EQ(tn::jit(wrong)(Array(1.0)).item<double>(), 1);  // and all is usable
}

TEST(Host, ResultsOfOtherTypes) {
  const auto gives = [](std::vector<Array> made) {
    return tn::jit([made](Array x) { return tn::host_call([made](In) { return made; }, {x.type()}, {{x}})[0]; });
  };
  const Array x = numbers({3});
  EXPECT_THAT(message_of([&] { gives({})(x); }), HasSubstr("host_call: gave 0 arrays, 1 were announced."));
  EXPECT_THAT(message_of([&] { gives({numbers({2})})(x); }),
              HasSubstr("host_call: gave f64[2] as result 0, f64[3] was announced."));
  EXPECT_THAT(message_of([&] { gives({tn::zeros({3}, tn::DType::i32)})(x); }), HasSubstr("gave i32[3] as result 0"));
}

TEST(Host, OperandsMayBeKeptAndTheLibraryCalled) {
  std::vector<Array> kept;
  const auto inner = tn::jit([](Array v) { return tn::sum(v * v); });
  const auto f = tn::jit([&](Array x) {
    return tn::host_call([&](In in) { return kept.push_back(in[0]), std::vector{inner(in[0])}; },
                         {tn::Type::array(tn::DType::f64, {})}, {{x * 2}})[0];
  });
  EXPECT_NEAR(f(Array{1.0, 2.0}).item<double>(), 20, 1e-12);
  EXPECT_NEAR(f(Array{0.0, 3.0}).item<double>(), 36, 1e-12);
  EXPECT_THAT(all_values(kept[0]), ElementsAre(2, 4));
}

// What the program was called with is handed on as it is; what it computes, and what it may overwrite, is copied.
TEST(Host, ArgumentsAreNotCopied) {
  std::vector<Array> kept;
  const auto keep = [&](const Array& x) {
    return tn::host_call(
        [&](In in) {
          kept.push_back(in[0]);
          return std::vector<Array>{in[0]};
        },
        {x.type()}, {{x}})[0];
  };
  const auto data_of = [](const Array& a) { return a.to_buffer().data(); };
  for (const tn::Sizes sizes : {tn::Sizes::automatic, tn::Sizes::symbolic}) {
    const auto f = tn::jit(
        [&](const Array& x, const Array& y) {
          const Array first = keep(x), computed = keep(y * 2.0), last = keep(y);
          return first + computed + last;
        },
        {.sizes = sizes});
    for (const std::int64_t n : {3, 1000}) {
      kept.clear();
      const Array x = tn::arange(n, tn::DType::f64), y = x + 1.0;
      EXPECT_TRUE(close(f(x, y), x + y * 3.0, 1e-12));
      ASSERT_EQ(kept.size(), 3u);
      EXPECT_EQ(data_of(kept[0]), data_of(x)) << n;
      EXPECT_EQ(data_of(kept[2]), data_of(y)) << n;
      EXPECT_TRUE(close(kept[1], y * 2.0, 0));
    }
  }
  // In a function that calls another compiled one, in a loop, and of columns, which are copied for the program.
  kept.clear();
  const Array x = numbers({1, 2, 3});
  const auto inner = tn::jit([&](const Array& v) { return keep(v) * 2.0; });
  const auto outer = tn::jit([&](const Array& v) {
    return tn::fori_loop(0, 2, [&](const Array&, const Array& c) { return c + keep(v); }, inner(v));
  });
  EXPECT_TRUE(close(outer(x), x * 4.0, 1e-12));
  ASSERT_EQ(kept.size(), 3u);
  for (const Array& a : kept) EXPECT_EQ(data_of(a), data_of(x));
  const auto donating = tn::jit([&](const Array& v) { return keep(v) + 1.0; }, {.donate = {0}});
  kept.clear();
  Array given = x + 0.0;
  EXPECT_TRUE(close(donating(std::move(given)), x + 1.0, 1e-12));
  EXPECT_TRUE(close(kept[0], x, 0)) << "what it was called with, whatever becomes of the memory";
}

TEST(Host, ThreadsAndSubnormals) {
  const double tiny = 1e-310;
  const auto f = tn::jit([&](Array x) {
    return tn::host_call([&](In in) { return std::vector{Array(tn::Scalar(in[0].item<double>() * tiny * 1e300))}; },
                         {x.type()}, {{x}})[0];
  });
  std::vector<double> made(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < made.size(); ++i)
      threads.emplace_back([&, i] { made[i] = f(Array(static_cast<double>(i))).item<double>(); });
  }
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], static_cast<double>(i) * 1e-10, 1e-22);
}

TEST(Host, CancellingEndsTheCall) {
  tn::Context context;
  int calls = 0;
  const auto f = tn::jit([&](Array x) {
    return tn::fori_loop(
        0, 1'000'000,
        [&](Array, Array c) {
          tn::host_call([&](In) { return context.cancel(), ++calls, std::vector<Array>(); }, {}, {}, {.effect = true});
          return c + 1;
        },
        x);
  });
  EXPECT_THROW(f.with(context)(Array(0.0)), tn::CancelledError);
  EXPECT_LT(calls, 100'000);
}

// The positive elements, as many as there are.
Array kept(const Array& x, Calls* seen = nullptr) {
  const auto positive = [](const Array& in) {
    std::vector<double> made;
    for (const double v : all_values(in))
      if (v > 0) made.push_back(v);
    return made;
  };
  const tn::HostSizes sizes{
      1, [positive](In in) { return std::vector{static_cast<std::int64_t>(positive(in[0]).size())}; }};
  return tn::host_call(
      [positive, seen](In in) {
        std::vector<double> made = positive(in[0]);
        if (seen != nullptr) seen->push_back(static_cast<double>(made.size()));
        return std::vector{tn::array<double>(made, {static_cast<std::int64_t>(made.size())})};
      },
      sizes, [](std::span<const tn::Dim> n) { return std::vector{tn::Type::array(tn::DType::f64, {n[0]})}; }, {{x}})[0];
}

TEST(Host, SizesThatTheHostDecides) {
  Calls seen;
  const auto f = [&](const Array& x) { return kept(x, &seen) * 2.0; };
  const auto compiled = tn::jit(f);
  const Array x = tn::Array{1.0, -2.0, 3.0, -4.0};
  for (const Array& in : {x, -x * 2.0, tn::abs(x), -tn::abs(x)}) {
    const Array want = tn::compress(in, in > 0.0) * 2.0;
    EXPECT_TRUE(close(f(in), want, 0.0));
    EXPECT_TRUE(close(compiled(in), want, 0.0));
  }
  EXPECT_THAT(seen, ElementsAre(2, 2, 2, 2, 4, 4, 0, 0));
}

TEST(Host, SizesThatTheHostDecidesInLoopsAndLanes) {
  const auto sums = [](const Array& rows) {
    return tn::scan([](const Array& c, const Array& row) { return std::pair(c + tn::sum(kept(row * c)), c); },
                    Array(1.0), rows)
        .first;
  };
  const Array rows = tn::Array{{1.0, -1.0, 2.0}, {-1.0, -1.0, -1.0}, {0.5, 0.5, 0.5}};
  double want = 1;
  for (const std::vector<double>& row : {std::vector{1.0, 2.0}, {}, {0.5, 0.5, 0.5}}) {
    double sum = 0;
    for (const double v : row) sum += v * want;
    want += sum;
  }
  EXPECT_TRUE(close(tn::jit(sums)(rows), Array(want), 1e-12));
  // What no lane differs in has one size.
  const Array shared = tn::vmap([&](const Array& s) { return kept(rows(0)) * s; })(tn::Array{1.0, 2.0});
  EXPECT_TRUE(close(shared, tn::Array{{1.0, 2.0}, {2.0, 4.0}}, 0.0));
  EXPECT_THAT(message_of<tn::ShapeError>([&] { tn::vmap([](const Array& row) { return kept(row); })(rows); }),
              HasSubstr("differs from lane to lane"));
}

TEST(Host, SizesThatTheHostDecidesAreHeld) {
  const auto of = [](std::int64_t said, std::int64_t made) {
    return tn::jit([=](const Array& x) {
      const tn::HostSizes sizes{1, [said](In) { return std::vector{said}; }};
      return tn::host_call(
          [made](In) { return std::vector{tn::zeros({made}, tn::DType::f64)}; }, sizes,
          [](std::span<const tn::Dim> n) { return std::vector{tn::Type::array(tn::DType::f64, {n[0]})}; }, {{x}})[0];
    })(numbers({3}));
  };
  EXPECT_EQ(of(5, 5).size(0), 5);
  EXPECT_THAT(message_of<tn::ShapeError>([&] { of(-2, 2); }), HasSubstr("a size is -2"));
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { of(2, 3); }), AllOf(HasSubstr("f64[3]"), HasSubstr("f64[2]")));
  EXPECT_THROW(tn::jit([](const Array& x) {
                 const tn::HostSizes sizes{2, [](In) { return std::vector<std::int64_t>{1}; }};
                 return tn::host_call([](In in) { return std::vector{in[0]}; }, sizes,
                                      [](std::span<const tn::Dim> n) {
                                        return std::vector{tn::Type::array(tn::DType::f64, {n[0], n[1]})};
                                      },
                                      {{x}})[0];
               })(numbers({3})),
               tn::RuntimeError);
}

TEST(Host, TextCannotHoldTheFunction) {
  Squares squares;
  const tn::ProgramRef program = tn::trace([&](Array x) { return squares(x); })(numbers({2}));
  const std::string text = tn::print(*program);
  EXPECT_THAT(text, AllOf(HasSubstr("host_call"), HasSubstr("batch=sequential")));
  EXPECT_THAT(message_of([&] { tn::parse(text); }), HasSubstr("cannot hold the function that it calls"));
}

TEST(Host, Printing) {
  const auto f = [](Array x) {
    tn::debug_print("x = {:.2f}, twice {}", x, x * 2);
    return x;
  };
  testing::internal::CaptureStdout();
  tn::jit(f)(Array(1.5));
  f(Array(2.5));
  tn::jit(tn::vmap(f))(Array{1.0, 2.0});
  tn::jit([](Array v) { return tn::debug_print("v {}", v), v; })(Array{1.f, 2.f});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "x = 1.50, twice 3\nx = 2.50, twice 5\nx = 1.00, twice 2\nx = 2.00, twice 4\nv [1, 2] f32[2]\n");
  EXPECT_THAT(message_of([] { tn::debug_print("{} {}", Array(1.0)); }),
              AllOf(HasSubstr("ShapeError: debug_print"), HasSubstr("does not fit")));
}

}  // namespace
