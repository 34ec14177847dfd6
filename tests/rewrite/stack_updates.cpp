// Loops that write rows one after the other: which of them stack these rows, and that results stay what they were.
#include "tenon/rewrite/stack_updates.h"

#include <cmath>
#include <random>

#include "tenon/ir/parse.h"
#include "tenon/ir/recurse.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/gradient.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/same.h"

namespace tenon::of_stack_updates {
namespace {

constexpr std::int64_t T = 5, D = 3;

bool has_updates(const ProgramRef& p) {
  return find_eqn(*p, [](const Eqn& eqn) { return is_update(*eqn.op); }) != nullptr;
}
bool has_slices(const ProgramRef& p) {
  return find_eqn(*p, [](const Eqn& eqn) { return eqn.op == &dynamic_slice_op(); }) != nullptr;
}

struct State {
  Array c, ys;
};
using Write = std::function<Array(const Array& ys, const Array& i, const Array& row)>;

// c becomes tanh(c + x), and each step writes what it is.
State written(const Array& c, const Array& xs, const Array& ys, const Array& numbers, const Write& write,
              bool reverse = false) {
  const auto step = [&](const State& s, const std::pair<Array, Array>& x) {
    const Array next = tanh(s.c + x.second);
    return std::pair(State{next, write(s.ys, x.first, next)}, std::tuple<>());
  };
  return scan(step, State{c, ys}, std::pair(numbers, xs), {.reverse = reverse}).first;
}
Array set(const Array& ys, const Array& i, const Array& row) { return ys.at(i).set(row); }
Array empty() { return zeros({T, D}, DType::f64); }

using Function = Array (*)(Array c, Array xs, Array ys);
struct WrittenCase {
  const char* name;
  Function f;
};

// The rows are stacked.
const std::vector<WrittenCase> stacked{
    {"ByTheirNumbers", [](Array c, Array xs, Array ys) { return written(c, xs, ys, arange(T), set).ys; }},
    {"InZeros", [](Array c, Array xs, Array) { return written(c, xs, empty(), arange(T), set).ys; }},
    {"InReverse", [](Array c, Array xs, Array ys) { return written(c, xs, ys, arange(T), set, true).ys; }},
    {"BesideTheEndOfTheLoop",
     [](Array c, Array xs, Array ys) {
       const State end = written(c, xs, ys, arange(T), set);
       return end.c * end.ys;
     }},
    {"ByNumbersOfOtherDtypes",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, convert(arange(T, DType::i64) - 1, DType::i32) + 1, set).ys;
     }},
    {"ByNumbersFromTheEnd", [](Array c, Array xs, Array ys) { return written(c, xs, ys, arange(T) - T, set).ys; }},
    {"ByNumbersThatAreKnown",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, reverse(arange(2 * T)(slice(T - 1, {}, -1)), {0}), set).ys;
     }},
    {"ByACounter",
     [](Array c, Array xs, Array ys) {
       const auto step = [](const std::tuple<Array, State>& s, const Array& x) {
         const auto& [i, state] = s;
         const Array next = tanh(state.c + x);
         return std::pair(std::tuple(i + 1, State{next, state.ys.at(i - 12).set(next)}), i);
       };
       const auto [end, counts] = scan(step, std::tuple(Array(12), State{c, ys}), xs);
       return std::get<1>(end).ys + convert(reshape(counts, {T, 1}), DType::f64);
     }},
    {"ByForiLoop",
     [](Array c, Array xs, Array ys) {
       return fori_loop(
                  0, T,
                  [&](const Array& i, const State& s) {
                    const Array next = tanh(s.c + xs(i));
                    return State{next, s.ys.at(i).set(next)};
                  },
                  State{c, ys})
           .ys;
     }},
    {"FromTheLastToTheFirst",
     [](Array c, Array xs, Array ys) {
       return fori_loop(
                  0, T,
                  [&](const Array& i, const State& s) {
                    const Array next = tanh(s.c * i + xs(T - 1 - i));
                    return State{next, s.ys.at(T - 1 - i).set(next)};
                  },
                  State{c, ys})
           .ys;
     }},
    {"Twice",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T),
                      [](const Array& ys, const Array& i, const Array& row) {
                        return ys.at(i).set(row * 2).at(i).set(row);
                      })
           .ys;
     }},
    {"WhereItIsKnownToBeSo",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T),
                      [](const Array& ys, const Array& i, const Array& row) {
                        return where(i < T, where(i > -1, ys.at(i).set(row), ys), ys * 2);
                      })
           .ys;
     }},
    {"AsASlice",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T),
                      [](const Array& ys, const Array& i, const Array& row) {
                        return dynamic_update_slice(ys, reshape(row, {1, D}), Arrays{i, Array(7)});
                      })
           .ys;
     }},
    {"SeveralAStep",
     [](Array c, Array xs, Array ys) {
       const auto twice = written(c, xs, concatenate({ys, ys}, 0), arange(T) * 2,
                                  [](const Array& ys, const Array& i, const Array& row) {
                                    return dynamic_update_slice(ys, stack({row, row * 2}), Arrays{i, Array(0)});
                                  });
       return twice.ys(slice(0, T));
     }},
    {"InTwoArrays",
     [](Array c, Array xs, Array ys) {
       const auto step = [](const std::tuple<Array, Array, Array>& s, const std::pair<Array, Array>& x) {
         const auto& [c, a, b] = s;
         const Array next = tanh(c + x.second);
         return std::pair(std::tuple(next, a.at(x.first).set(next), b.at(x.first).set(c)), next * 2);
       };
       const auto [end, more] = scan(step, std::tuple(c, ys, empty()), std::pair(arange(T), xs));
       return std::get<1>(end) - std::get<2>(end) * more;
     }},
    {"OfNumbers",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, sum(ys, 1), arange(T),
                      [](const Array& ys, const Array& i, const Array& row) { return ys.at(i).set(sum(row)); })
           .ys;
     }},
    {"AsColumns",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, transpose(ys), arange(T),
                      [](const Array& ys, const Array& i, const Array& row) {
                        return dynamic_update_slice(ys, reshape(row, {D, 1}), Arrays{Array(0), i});
                      })
           .ys;
     }},
    {"OfAnotherDtype",
     [](Array c, Array xs, Array ys) {
       const auto narrow = [](const Array& ys, const Array& i, const Array& row) {
         return ys.at(i).set(convert(row, DType::bf16));
       };
       return convert(written(c, xs, convert(ys, DType::bf16), arange(T), narrow).ys, DType::f64);
     }},
    {"InALoopAroundIt",
     [](Array c, Array xs, Array) {
       return fori_loop(
           0, 3,
           [&](const Array& i, const Array& c) { return sum(written(c * i, xs, empty(), arange(T), set).ys, {{0}}); },
           c);
     }},
    {"InABranch",
     [](Array c, Array xs, Array ys) {
       return cond(sum(c) > 0, [&] { return written(c, xs, ys, arange(T), set).ys; }, [&] { return ys; });
     }},
    {"InAFunction",
     [](Array c, Array xs, Array ys) {
       return jit([](Array c, Array xs, Array ys) { return written(c, xs, ys, arange(T), set).ys; })(c, xs, ys);
     }},
};

// They stay where they are: what else happens to the array, or which rows there are, needs it.
const std::vector<WrittenCase> not_stacked{
    {"WhereDataSay", [](Array c, Array xs, Array ys) { return written(c, xs, ys, argsort(sum(xs, 1)), set).ys; }},
    {"ToSomeRows", [](Array c, Array xs, Array ys) { return written(c, xs(slice(1, {})), ys, arange(T - 1), set).ys; }},
    {"OutsideToo", [](Array c, Array xs, Array ys) { return written(c, xs, ys, arange(T) + 1, set).ys; }},
    {"MovedInside",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T) + 1,
                      [](const Array& ys, const Array& i, const Array& row) {
                        return dynamic_update_slice(ys, reshape(row, {1, D}), Arrays{i, Array(0)});
                      })
           .ys;
     }},
    {"EverySecond",
     [](Array c, Array xs, Array ys) { return written(c, xs, concatenate({ys, ys}, 0), arange(T) * 2, set).ys; }},
    {"OneOnly", [](Array c, Array xs, Array ys) { return written(c, xs, ys, arange(T) * 0, set).ys; }},
    {"WhereTheArrayIsRead",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T),
                      [](const Array& ys, const Array& i, const Array& row) { return ys.at(i).set(row + sum(ys)); })
           .ys;
     }},
    {"WhereEachStepGivesTheArray",
     [](Array c, Array xs, Array ys) {
       const auto step = [](const State& s, const std::pair<Array, Array>& x) {
         const State next{tanh(s.c + x.second), s.ys.at(x.first).set(s.c)};
         return std::pair(next, next.ys);
       };
       const auto [end, all] = scan(step, State{c, ys}, std::pair(arange(T), xs));
       return end.ys + sum(all, {{0}});
     }},
    {"WhereDataDecide",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T),
                      [](const Array& ys, const Array& i, const Array& row) {
                        return where(sum(row) > 0, ys.at(i).set(row), ys);
                      })
           .ys;
     }},
    {"InSums",
     [](Array c, Array xs, Array ys) {
       return written(c, xs, ys, arange(T),
                      [](const Array& ys, const Array& i, const Array& row) { return ys.at(i).add(row); })
           .ys;
     }},
    {"ByANumberThatWrapsAround",
     [](Array c, Array xs, Array ys) {
       const Array numbers = convert(convert(arange(T) + 254, DType::u8), DType::i32);  // 254, 255, 0, …
       return written(c, xs, ys, numbers - 254, set).ys;
     }},
    {"WhileItHolds",
     [](Array c, Array, Array ys) {
       const auto end = while_loop([](const std::pair<Array, State>& s) { return s.first < T; },
                                   [](const std::pair<Array, State>& s) {
                                     const Array next = tanh(s.second.c + 1.0);
                                     return std::pair(s.first + 1, State{next, s.second.ys.at(s.first).set(next)});
                                   },
                                   std::pair(Array(0), State{c, ys}));
       return end.second.ys;
     }},
    // One array in one place, whose rows are written again and again.
    {"OfACarryOfALoopAroundIt",
     [](Array c, Array xs, Array ys) {
       return fori_loop(
                  0, 3, [&](const Array&, const State& s) { return written(s.c, xs, s.ys, arange(T), set); },
                  State{c, ys})
           .ys;
     }},
    // Rows in pieces that lie apart: a stack would have to be copied there.
    {"AlongTheAxisInTheMiddle",
     [](Array c, Array xs, Array ys) {
       const Array cube = stack({ys, ys});
       const auto plane = written(c, xs, cube, arange(T), [](const Array& ys, const Array& i, const Array& row) {
         return dynamic_update_slice(ys, reshape(stack({row, row}), {2, 1, D}), Arrays{Array(0), i, Array(0)});
       });
       return plane.ys(0);
     }},
};

ProgramRef written_program(const WrittenCase& c) {
  return trace(c.f)(zeros({D}, DType::f64), zeros({T, D}, DType::f64), zeros({T, D}, DType::f64));
}
std::string name_of_written(const testing::TestParamInfo<WrittenCase>& info) { return info.param.name; }
void PrintTo(const WrittenCase& c, std::ostream* to) { *to << c.name; }

class Stacked : public testing::TestWithParam<WrittenCase> {};
TEST_P(Stacked, NoArrayIsUpdated) {
  const ProgramRef p = written_program(GetParam()), q = stack_updates(p);
  EXPECT_TRUE(has_updates(p)) << p;
  EXPECT_FALSE(has_updates(q)) << q;
  expect_same(p, q, waves_for(*p));
  EXPECT_EQ(stack_updates(q)->hash(), q->hash()) << q;  // nothing is left to do
}
TEST_P(Stacked, DerivativesAreTheSame) {
  const ProgramRef p = written_program(GetParam()), q = stack_updates(p);
  const Mask in{true, true, true}, out{true};
  const ProgramRef forward = jvp(p, in, out), back = pullback(p, in, out);
  expect_same(forward, jvp(q, in, out), waves_for(*forward));
  expect_same(forward, stack_updates(inline_calls(forward)), waves_for(*forward));
  expect_same(back, pullback(q, in, out), waves_for(*back));
}
INSTANTIATE_TEST_SUITE_P(Rows, Stacked, testing::ValuesIn(stacked), name_of_written);

class Left : public testing::TestWithParam<WrittenCase> {};
TEST_P(Left, AsTheyAre) {
  const ProgramRef p = written_program(GetParam()), q = stack_updates(p);
  EXPECT_TRUE(has_updates(q)) << q;
  expect_same(p, q, waves_for(*p));
}
INSTANTIATE_TEST_SUITE_P(Rows, Left, testing::ValuesIn(not_stacked), name_of_written);

TEST(StackUpdates, RowsThatAreReadInOrderAreXs) {
  const auto read = [](const Array& xs, const Array& c) {
    return fori_loop(0, T, [&](const Array& i, const Array& c) { return tanh(c + xs(i) * xs(i - T)); }, c);
  };
  const ProgramRef p = trace(read)(empty(), zeros({D}, DType::f64));
  EXPECT_TRUE(has_slices(p)) << p;
  EXPECT_FALSE(has_slices(stack_updates(p))) << stack_updates(p);
  expect_same(p, stack_updates(p), waves_for(*p));
  const auto neighbours = [](const Array& xs, const Array& c) {
    return fori_loop(1, T, [&](const Array& i, const Array& c) { return tanh(c + xs(i) * xs(i - 1)); }, c);
  };
  const ProgramRef q = trace(neighbours)(empty(), zeros({D}, DType::f64));
  EXPECT_EQ(stack_updates(q)->hash(), q->hash());
}

// A counter of which nothing is left but that it counts is no carry any more: it would tie rows of different lanes.
TEST(StackUpdates, CountersGoThatNothingReads) {
  const auto f = [](const Array& xs, const Array& c) {
    const auto step = [](const std::pair<Array, State>& s, const Array& x) {
      const Array next = tanh(s.second.c + x);
      return std::pair(std::pair(s.first + 1, State{next, s.second.ys.at(s.first).set(next)}), std::tuple<>());
    };
    return scan(step, std::pair(Array(0), State{c, empty()}), xs).first.second.ys;
  };
  const ProgramRef p = stack_updates(trace(f)(empty(), zeros({D}, DType::f64)));
  const Eqn* loop = find_eqn(*p, [](const Eqn& eqn) { return eqn.op->name == "loop"; });
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->out.size(), 2U) << p;
}

TEST(StackUpdates, EffectsStay) {
  const auto f = [](const Array& xs, const Array& c) {
    return written(c, xs, empty(), arange(T),
                   [](const Array& ys, const Array& i, const Array& row) {
                     debug_print("{}", row);
                     return ys.at(i).set(row);
                   })
        .ys;
  };
  const ProgramRef p = stack_updates(trace(f)(empty(), zeros({D}, DType::f64)));
  EXPECT_FALSE(has_updates(p)) << p;
  EXPECT_EQ(p->effect(), Effect::host) << p;
}

// Random loops: numbers of steps and rows, where the numbers of rows come from, and what else reads the arrays.
class Recipe {
 public:
  explicit Recipe(std::mt19937_64& random) : random_(random) {}

  ProgramRef program() {
    const std::int64_t steps = draw(1, 6), rows = draw(0, 2) == 0 ? steps + draw(0, 2) : steps;
    const std::int64_t offset = draw(0, 3) == 0 ? draw(-2, 2) : 0;
    const bool reverse = draw(0, 1) == 1, backwards = draw(0, 2) == 0, counts = draw(0, 1) == 1, set = draw(0, 4) > 0;
    const bool reads_own = draw(0, 5) == 0, gives = draw(0, 3) == 0, decides = draw(0, 4) == 0,
               slices = draw(0, 1) == 1;
    const bool integers = draw(0, 3) == 0, column = draw(0, 3) == 0;
    const DType dtype = draw(0, 2) == 0 ? DType::i64 : DType::i32;
    const auto f = [=](const Array& c, const Array& xs, const Array& before) {
      const Array start = integers ? convert(before * 10, DType::i16) : before;
      const auto step = [&](const std::tuple<Array, Array, Array>& s, const std::pair<Array, Array>& x) {
        const auto& [count, c, ys] = s;
        const Array place = counts ? count : x.first, at = (backwards ? steps - 1 - place : place) + offset;
        const Array seen = slices ? xs(place) : x.second, next = tanh(c + seen);
        Array row = convert(reads_own ? next + sum(ys) : next * 10, start.dtype());
        const auto put = [&](const Array& ys) {
          if (column) return dynamic_update_slice(ys, reshape(row, {D, 1}), Arrays{Array(0), at});
          if (!set) return dynamic_update_slice(ys, reshape(row, {1, D}), Arrays{at, Array(0)});
          return ys.at(at).set(row);
        };
        const Array after = decides ? where(place < 3, put(ys), ys) : put(ys);
        return std::pair(std::tuple(count + (reverse ? -1 : 1), next, after), gives ? next : next * 0);
      };
      const Array first = convert(Array(reverse ? steps - 1 : 0), dtype);
      const auto [end, all] = scan(step, std::tuple(first, c, column ? transpose(start) : start),
                                   std::pair(arange(steps, dtype), xs), {.reverse = reverse});
      const Array ys = convert(std::get<2>(end), DType::f64);
      return std::tuple(column ? transpose(ys) : ys, std::get<1>(end), sum(all));
    };
    return trace(f)(zeros({D}, DType::f64), zeros({steps, D}, DType::f64), zeros({rows, D}, DType::f64));
  }

 private:
  std::int64_t draw(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  std::mt19937_64& random_;
};

TEST(StackUpdates, FuzzedLoopsStayWhatTheyWere) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  int changed = 0;
  const std::int64_t cases = fuzzing::cases(60);
  for (std::int64_t i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    const ProgramRef p = Recipe(random).program(), q = stack_updates(p);
    changed += has_updates(p) && !has_updates(q) ? 1 : 0;
    expect_same(p, q, waves_for(*p));
    const Mask in{true, true, true}, out{true, true, true};
    const ProgramRef back = pullback(p, in, out);
    expect_same(back, pullback(q, in, out), waves_for(*back));
    const ProgramRef lanes = inline_calls(vmap(p, {true, true, true}, out, Dim(2)));
    expect_same(lanes, stack_updates(lanes), waves_for(*lanes));
  }
  EXPECT_GT(5 * changed, cases);
}

}  // namespace
}  // namespace tenon::of_stack_updates
