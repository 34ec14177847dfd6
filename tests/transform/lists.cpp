// Lists in native code against the reference evaluator: every way in which loops, branches and programs hand them on;
// what it costs when something fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tenon/compile/executable.h"
#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/runtime/memory/allocator.h"

namespace tenon {
namespace {

using Function = std::function<Arrays(std::span<const Array>)>;

const Type number = Type::array(DType::i32, {}), f64 = Type::array(DType::f64, {});

ProgramRef trace(const std::vector<Type>& types, const Function& f) {
  Scope scope;
  Arrays in;
  for (const Type& t : types) in.push_back(scope.input(t));
  return scope.finish(f(in)).program;
}

std::string text(const Value& v) {
  if (const auto* list = std::get_if<ListValue>(&v)) {
    std::string all = "[";
    for (const Value& item : *list->items) all += text(item) + " ";
    all += "] of " + list->element.text();
    if (list->lengths && !list->items->empty())  // an empty list has none in any lane
      for (const std::int64_t n : *list->lengths) all += " " + std::to_string(n);
    return all;
  }
  const Buffer b = std::get<Buffer>(v).contiguous_copy();
  std::string bytes = type_of(v).text() + " ";
  for (std::size_t i = 0; i < b.bytes(); ++i) bytes += std::to_string(static_cast<int>(b.data()[i])) + ",";
  return bytes;
}

// Runs natively, gives what the evaluator gives, bit by bit, and leaves no memory behind.
std::vector<Value> expect_same(const ProgramRef& p, const std::vector<Value>& in) {
  EXPECT_EQ(why_not_native(*run_passes(compile_passes(), p)), "");
  const auto compiled = compile(p);
  compiled->run(in);  // what a thread keeps for its next call is there afterwards
  const std::size_t before = memory_statistics().live_bytes;
  for (int i = 0; i < 50; ++i) compiled->run(in);
  // Counted to within 64 KiB a thread.
  EXPECT_LE(memory_statistics().live_bytes, before + (128 << 10));
  const std::vector<Value> got = compiled->run(in), want = evaluate(*p, {}, in);
  EXPECT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(text(got[i]), text(want[i])) << "output " << i;
  return got;
}

Array integer(int i) { return Array(Scalar(i)); }
Value scalar(int i) {
  Buffer b = Buffer::allocate(DType::i32, std::vector<std::int64_t>{});
  *b.as<std::int32_t>() = i;
  return b;
}
Value vector(const std::vector<double>& x) {
  Buffer b = Buffer::allocate(DType::f64, std::vector<std::int64_t>{static_cast<std::int64_t>(x.size())});
  std::ranges::copy(x, b.as<double>());
  return b;
}
Value real(double x) {
  Buffer b = Buffer::allocate(DType::f64, std::vector<std::int64_t>{});
  *b.as<double>() = x;
  return b;
}

// while i < n: push f(i), with `given` beside; the list.
Array record(const Array& n, const std::function<Array(const Array& i, const Array& given)>& f, const Array& given) {
  LoopParams p{
      .body = trace({number, given.type(), number},
                    [&](std::span<const Array> s) { return Arrays{s[2] + integer(1), f(s[2], s[1])}; }),
      .cond = trace({number, given.type(), number}, [](std::span<const Array> s) { return Arrays{s[2] < s[0]}; }),
      .consts = 2,
      .carries = 1};
  return loop(p, Arrays{n, given, zeros_like(number)})[1];
}
Array record(const Array& n, const std::function<Array(const Array& i)>& f) {
  return record(n, [&](const Array& i, const Array&) { return f(i); }, n);
}
Array reals(const Array& n) {
  return record(n, [](const Array& i) { return convert(i, DType::f64) * Array(Scalar(0.5)) + Array(Scalar(1.0)); });
}

TEST(NativeLists, ElementsOfEveryTypeAndSize) {
  for (const DType dtype :
       {DType::bool_, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64,
        DType::f8e4m3fn, DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64})
    for (const std::vector<Dim>& shape :
         {std::vector<Dim>{}, {Dim(3)}, {Dim(64)}, {Dim(7), Dim(13)}, {Dim(0)}, {Dim(2), Dim(0)}}) {
      const ProgramRef p = trace({number}, [&](std::span<const Array> in) {
        return Arrays{record(
            in[0], [&](const Array& i) { return broadcast_in_dim(convert(i % integer(5), dtype), Shape(shape), {}); })};
      });
      SCOPED_TRACE(Type::array(dtype, Shape(shape)).text());
      for (const int n : {0, 1, 3, 300}) expect_same(p, {scalar(n)});
    }
}

// What a step keeps is read backwards by the next loop, that makes a list itself; arrays are stacked beside.
TEST(NativeLists, LoopsAlongThem) {
  for (const bool reverse : {false, true}) {
    const ProgramRef p = trace({number}, [&](std::span<const Array> in) {
      const LoopParams along{
          .body =
              trace({f64, f64, f64}, [](std::span<const Array> s) { return Arrays{s[1] - s[0] + s[2], s[0] - s[1]}; }),
          .reverse = reverse,
          .carries = 1};
      return loop(along, Arrays{Array(Scalar(0.25)), reals(in[0]), reals(in[0])});
    });
    for (const int n : {0, 1, 2, 65, 1000}) expect_same(p, {scalar(n)});
  }
}

// Where the number of steps is given, an empty list is zeros.
TEST(NativeLists, BesideALength) {
  const ProgramRef p = trace({number, Type::array(DType::f64, {Dim(4)})}, [&](std::span<const Array> in) {
    const LoopParams along{
        .body =
            trace({f64, f64, f64}, [](std::span<const Array> s) { return Arrays{s[0] + s[1] * s[2] + s[1], s[0]}; }),
        .length = Dim(4),
        .reverse = true,
        .carries = 1};
    return loop(along, Arrays{Array(Scalar(0.3)), in[1], reals(in[0])});
  });
  expect_same(p, {scalar(4), vector({1, 2, 3, 4})});
  expect_same(p, {scalar(0), vector({1, 2, 3, 4})});
  EXPECT_THROW(evaluate(*p, {}, std::vector<Value>{scalar(3), vector({1, 2, 3, 4})}), ShapeError);
  EXPECT_THROW(compile(p)->run(std::vector<Value>{scalar(3), vector({1, 2, 3, 4})}), ShapeError);
}

// A condition ends a loop along lists and arrays before they end.
TEST(NativeLists, UntilAConditionEnds) {
  const ProgramRef p = trace({f64, number, Type::array(DType::f64, {Dim(4)})}, [&](std::span<const Array> in) {
    const LoopParams along{
        .body = trace({f64, f64, f64, f64}, [](std::span<const Array> s) { return Arrays{s[1] + s[2] * s[3], s[1]}; }),
        .cond = trace({f64, f64}, [](std::span<const Array> s) { return Arrays{s[1] < s[0]}; }),
        .length = Dim(4),
        .consts = 1,
        .carries = 1};
    return loop(along, Arrays{in[0], Array(Scalar(0.0)), in[2], reals(in[1])});
  });
  for (const double most : {-1., 0.5, 5., 100.})
    for (const int n : {0, 4}) expect_same(p, {real(most), scalar(n), vector({1, 2, 3, 4})});
}

// f of every element of a list.
Array map_list(const Array& list, const std::function<Array(const Array&)>& f) {
  LoopParams each;
  {
    Scope scope;
    each.body = scope.finish(Arrays{f(scope.input(*list.type().element))}).program;
  }
  return loop(each, Arrays{list})[0];
}

TEST(NativeLists, OfLists) {
  const ProgramRef p = trace({number}, [&](std::span<const Array> in) {
    const Array lists = record(in[0], [](const Array& i) { return reals(i % integer(4)); });
    const Array sums = map_list(lists, [](const Array& inner) {
      const LoopParams add{.body = trace({f64, f64}, [](std::span<const Array> s) { return Arrays{s[0] + s[1]}; }),
                           .carries = 1};
      return loop(add, Arrays{Array(Scalar(0.0)), inner})[0];
    });
    const Array again = map_list(lists, [](const Array& inner) { return inner; });
    return Arrays{lists, sums, again, list_sum(lists, again), empty_list(lists.type())};
  });
  for (const int n : {0, 1, 9, 200}) expect_same(p, {scalar(n)});
}

TEST(NativeLists, InAndOutOfPrograms) {
  const Type list = Type::list(f64), nested = Type::list(list);
  const ProgramRef p = trace({list, nested, list}, [&](std::span<const Array> in) {
    return Arrays{in[0], list_sum(in[0], in[2]), in[1], map_list(in[1], [](const Array& l) { return list_sum(l, l); }),
                  in[0]};
  });
  const ProgramRef q = trace({number}, [](std::span<const Array> in) {
    return Arrays{reals(in[0]), record(in[0], [](const Array& i) { return reals(i); }), empty_list(f64)};
  });
  for (const int n : {0, 1, 20}) {
    const std::vector<Value> in = evaluate(*q, {}, std::vector<Value>{scalar(n)});
    expect_same(p, in);
    expect_same(p, {in[0], in[1], in[0]});
  }
}

TEST(NativeLists, ThroughBranches) {
  const ProgramRef p = trace({number, number}, [&](std::span<const Array> in) {
    const Array list = reals(in[1]);
    const std::vector<Type> types{list.type(), number};
    const auto branch = [&](const std::function<Arrays(std::span<const Array>)>& f) { return trace(types, f); };
    const CondParams choose{
        .branches = {branch([](std::span<const Array> x) { return Arrays{x[0], x[0]}; }),
                     branch([](std::span<const Array> x) {
                       const Array made = reals(x[1]);
                       return Arrays{list_sum(made, x[0]), made};
                     }),
                     branch([](std::span<const Array> x) { return Arrays{empty_list(*x[0].type().element), x[0]}; })},
        .sizes = {{}, {}, {}}};
    const Arrays chosen = cond(choose, in[0], Arrays{list, in[1]});
    return Arrays{chosen[0], chosen[1], list};
  });
  for (const int branch : {0, 1, 2})
    for (const int n : {0, 5}) expect_same(p, {scalar(branch), scalar(n)});
}

// Carries that are lists: summed, exchanged, left as they are, and stacked in a list.
TEST(NativeLists, AsCarries) {
  const ProgramRef p = trace({number, number}, [&](std::span<const Array> in) {
    const Type list = Type::list(f64);
    const LoopParams steps{.body = trace({list, number, list, list, list, number},
                                         [](std::span<const Array> s) {
                                           return Arrays{
                                               list_sum(s[2], s[0]), s[4], s[3], s[5] + integer(1), s[3], s[0], s[2]};
                                         }),
                           .cond = trace({list, number, list, list, list, number},
                                         [](std::span<const Array> s) { return Arrays{s[5] < s[1]}; }),
                           .consts = 2,
                           .carries = 4};
    return loop(steps, Arrays{reals(in[0]), in[1], empty_list(f64), reals(in[0]), reals(in[1]), zeros_like(number)});
  });
  for (const int n : {0, 1, 70})
    for (const int count : {0, 1, 2, 5}) expect_same(p, {scalar(n), scalar(count)});
}

TEST(NativeLists, OfLanes) {
  const Type lanes = Type::array(DType::i32, {Dim(3)});
  const ProgramRef p = trace({lanes, lanes, Type::array(DType::bool_, {Dim(3)})}, [&](std::span<const Array> in) {
    const auto counted = [&](const Array& n, double by) {  // lane l records n[l] numbers
      const LoopParams q{
          .body = trace({lanes, number},
                        [&](std::span<const Array> s) {
                          const Array each = convert(s[0], DType::f64) * Array(Scalar(by)) +
                                             broadcast_in_dim(convert(s[1], DType::f64), Shape({Dim(3)}), {});
                          return Arrays{s[1] + integer(1), each, broadcast_in_dim(s[1], Shape({Dim(3)}), {}) < s[0]};
                        }),
          .cond = trace({lanes, number}, [](std::span<const Array> s) { return Arrays{s[1] < amax(s[0])}; }),
          .consts = 1,
          .carries = 1,
          .lanes = true};
      return loop(q, Arrays{n, zeros_like(number)})[1];
    };
    const auto given = [](const Array&, const Array& list) { return list; };
    const Array a = counted(in[0], 1.0), b = counted(in[1], -2.0);
    const Array chosen = list_select(in[2], a, b), half = list_select(in[2], chosen, empty_list(*a.type().element));
    return Arrays{a,
                  chosen,
                  list_active({&chosen, 1}, 1),
                  list_active({&half, 1}, 1),
                  list_active(Arrays{half, a, b}, 1),
                  list_sum(chosen, empty_list(*a.type().element)),
                  list_select(in[2], record(amax(in[0]), given, a), record(amax(in[0]), given, b))};
  });
  const auto integers = [](std::vector<std::int32_t> x) {
    Buffer b = Buffer::allocate(DType::i32, std::vector<std::int64_t>{3});
    std::ranges::copy(x, b.as<std::int32_t>());
    return Value(b);
  };
  for (const int chosen : {0, 3, 5, 7}) {
    Buffer flags = Buffer::allocate(DType::bool_, std::vector<std::int64_t>{3});
    for (int i = 0; i < 3; ++i) flags.as<bool>()[i] = (chosen >> i) & 1;
    expect_same(p, {integers({2, 5, 0}), integers({4, 1, 9}), flags});
    expect_same(p, {integers({0, 0, 0}), integers({1, 3, 2}), flags});
    expect_same(p, {integers({0, 0, 0}), integers({0, 0, 0}), flags});
  }
}

// --- what fails ---
TEST(NativeLists, OfDifferentLengthsAreRefused) {
  const ProgramRef sum =
      trace({number, number}, [](std::span<const Array> in) { return Arrays{list_sum(reals(in[0]), reals(in[1]))}; });
  expect_same(sum, {scalar(0), scalar(3)});
  for (const ProgramRef& p : {sum, trace({number, number}, [](std::span<const Array> in) {
                                const LoopParams along{.body = trace({f64, f64}, [](std::span<const Array> s) {
                                                         return Arrays{s[0] * s[1]};
                                                       })};
                                return loop(along, Arrays{reals(in[0]), reals(in[1])});
                              })}) {
    std::string said;
    for (const auto& run : {std::function([&] { evaluate(*p, {}, std::vector<Value>{scalar(2), scalar(3)}); }),
                            std::function([&] { compile(p)->run(std::vector<Value>{scalar(2), scalar(3)}); })})
      try {
        run();
        ADD_FAILURE() << "lists of different lengths were accepted";
      } catch (const ShapeError& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("lists of 2 and 3 elements"));
        EXPECT_THAT(e.what(), testing::StartsWith(said));
        said = e.what();
      }
  }
}

// Beyond memory: refused with both numbers, before anything is touched, and what there was is freed.
TEST(NativeLists, BeyondMemoryAreRefused) {
  const ProgramRef p = trace({number}, [](std::span<const Array> in) {
    const Array small = reals(in[0]);
    const Array large = record(in[0], [](const Array& i) {
      return broadcast_in_dim(convert(i, DType::f64), Shape({Dim(std::int64_t(1) << 38)}), {});
    });
    return Arrays{small, map_list(large, [](const Array& x) { return sum(x, {0}); })};
  });
  const auto compiled = compile(p);
  compiled->run(std::vector<Value>{scalar(0)});
  const std::size_t before = memory_statistics().live_bytes;
  for (int i = 0; i < 50; ++i)
    EXPECT_THAT([&] { compiled->run(std::vector<Value>{scalar(100)}); },
                testing::ThrowsMessage<MemoryError>(
                    testing::ContainsRegex("[0-9]+ bytes were asked for; [0-9]+ bytes are available")));
  EXPECT_LE(memory_statistics().live_bytes, before + (128 << 10));
}

// Inner lists are released with each outer step: memory does not grow with the number of steps.
TEST(NativeLists, AreReleasedBehindTheirLastUse) {
  const ProgramRef p = trace({number}, [](std::span<const Array> in) {
    const LoopParams steps{
        .body = trace({number, f64, number},
                      [](std::span<const Array> s) {
                        const LoopParams add{
                            .body = trace({f64, f64}, [](std::span<const Array> t) { return Arrays{t[0] + t[1]}; }),
                            .carries = 1};
                        const auto each = [](const Array& i, const Array& given) {
                          return given + convert(i, DType::f64);
                        };
                        return Arrays{loop(add, Arrays{s[1], record(s[0], each, s[1])})[0], s[2] + integer(1)};
                      }),
        .cond = trace({number, f64, number}, [](std::span<const Array> s) { return Arrays{s[2] < integer(1000)}; }),
        .consts = 1,
        .carries = 2};
    return loop(steps, Arrays{in[0], Array(Scalar(0.0)), zeros_like(number)});
  });
  const auto compiled = compile(p);
  EXPECT_EQ(why_not_native(*run_passes(compile_passes(), p)), "");
  compiled->run(std::vector<Value>{scalar(1)});
  const std::size_t before = memory_statistics().live_bytes;
  compiled->run(std::vector<Value>{scalar(100000)});  // 800 kB a step, 800 MB in all
  EXPECT_LE(memory_statistics().peak_bytes, before + (16 << 20));
}

}  // namespace
}  // namespace tenon
