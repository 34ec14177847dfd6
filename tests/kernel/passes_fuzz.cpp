// Random kernels through each pass, and through all of them to native code: results are those of the interpreter. What
// fails is made smaller and printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "tenon/base/number_text.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/compile/pipeline.h"
#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/open_numbers.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/parse.h"
#include "tenon/kernel/verify.h"
#include "tenon/runtime/memory/found_memory.h"
#include "tests/caches.h"
#include "tests/fuzzing.h"
#include "tests/kernel/shrink.h"

namespace tenon::kernel {
namespace {

using Results = std::vector<Bytes>;

Results interpreted(const RandomKernel& k, const Function& f, Order order = Order::forward) {
  Results memory = k.arguments;
  interpret(f, memory, k.sizes, order);
  return memory;
}

template <class T>
double distance(T x, T y) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    return std::max(distance(x.real(), y.real()), distance(x.imag(), y.imag()));
  } else if constexpr (NarrowFloat<T>) {
    return distance(static_cast<float>(x), static_cast<float>(y));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) && std::isnan(y)) return 0;
    if (x == y) return 0;
    return std::abs(static_cast<double>(x) - static_cast<double>(y)) /
           std::max({1., std::abs(double(x)), std::abs(double(y))});
  } else {
    return x == y ? 0 : 1;
  }
}

// How results differ; empty where they do not. Numbers of which `tolerance` is not 0 may differ by that, relatively.
std::string difference(const Function& f, const Results& x, const Results& y, double tolerance) {
  for (const Slot& s : f.slots) {
    if (s.place != Slot::Place::argument) continue;
    const Bytes &a = x[s.argument], &b = y[s.argument];
    const std::string found = dispatch(s.dtype, [&]<class T>(std::type_identity<T>) -> std::string {
      const bool exact = !is_inexact(s.dtype) || is_float8(s.dtype);
      const double allowed = exact ? 0 : NarrowFloat<T> ? 1000 * tolerance : tolerance;
      for (std::size_t at = 0; at + sizeof(T) <= a.size(); at += sizeof(T)) {
        T p, q;
        std::memcpy(&p, a.data() + at, sizeof p), std::memcpy(&q, b.data() + at, sizeof q);
        if (!(distance(p, q) <= allowed))
          return fmt::format("argument {}, element {}: {} by the interpreter before, {} now", s.argument,
                             at / sizeof(T), number_text(s.dtype, a.data() + at), number_text(s.dtype, b.data() + at));
      }
      return {};
    });
    if (!found.empty()) return found;
  }
  return {};
}

constexpr double rounding = 1e-4;
// What a pass may change in numbers that are rounded.
double tolerance_of(const Pass& pass) {
  if (pass.reassociates) return rounding;
  return pass.name == "split_complex" ? 1e-5 : 0;  // whose quotients are by another formula than the interpreter's
}

// What goes wrong with a pass on a kernel; empty: nothing.
std::string wrong_with(const Pass& pass, const RandomKernel& k, const Function& before) {
  try {
    const Function after = run_pass(pass, before);
    const std::string text = print(after);
    if (text == print(before)) return {};
    if (print(parse(text)) != text) return "the text is another one when it is read back";
    const Results expected = interpreted(k, before);
    for (const Order order : {Order::forward, Order::backward})
      if (auto differ = difference(before, expected, interpreted(k, after, order), tolerance_of(pass)); !differ.empty())
        return differ;
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

std::string text_behind(const Pass& pass, const Function& f) {
  try {
    return print(pass.run(f));
  } catch (const Error& e) {
    return e.what();
  }
}

bool is_sound(const RandomKernel& k) {
  verify(k.function);
  return difference(k.function, interpreted(k, k.function), interpreted(k, k.function, Order::backward), 0).empty();
}

// As machines may be: in which whatever can be divided into blocks is, and in which nothing is worth that.
std::vector<Target> targets() {
  Target small{.threads = 3};
  small.worth_forking = 0, small.cache_bytes = 1, small.shortest_run = 1, small.vector_bytes = 1;
  Target few = small;
  few.register_elements = 4, few.small_frame_bytes = 256, few.cache_bytes = 64, few.long_rows = 0;
  few.updates_of_copies = 0;
  return {Target{.threads = 2}, small, few};
}

bool has_complex(const Function& f) {
  return std::ranges::any_of(f.slots, [](const Slot& s) { return is_complex(s.dtype); });
}

// Each pass by itself, as far as it stands for itself, and all one behind the other.
void through_passes(std::uint64_t seed, const Target& target) {
  const RandomKernel k = random_kernel(seed);
  ASSERT_TRUE(is_sound(k)) << print(k.function);
  Function so_far = k.function;
  bool behind_complex = false;
  for (const Pass& pass : kernel_passes(target)) {
    behind_complex = behind_complex || pass.name == "split_complex";
    for (const bool alone : {true, false}) {
      if (alone && behind_complex && has_complex(k.function)) continue;
      const Function& before = alone ? k.function : so_far;
      const std::string wrong = wrong_with(pass, k, before);
      if (wrong.empty()) continue;
      RandomKernel start = k;
      start.function = before;
      const RandomKernel less = smaller(start, [&](const RandomKernel& each) {
        return is_sound(each) && !wrong_with(pass, each, each.function).empty();
      });
      FAIL() << "seed " << seed << ", pass " << pass.name << (alone ? " alone" : "") << ": " << wrong
             << "\nthe same of\n"
             << print(less.function) << wrong_with(pass, less, less.function) << "\nbehind it\n"
             << text_behind(pass, less.function);
    }
    so_far = run_pass(pass, std::move(so_far));
  }
}

TEST(KernelPasses, FuzzKeepWhatTheInterpreterFinds) {
  SCOPED_TRACE(fuzzing::repeat_with());
  const std::vector<Target> all = targets();
  for (std::int64_t i = 0; i < fuzzing::cases(20); ++i)
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (!fuzzing::is_full() && static_cast<std::size_t>(i) % all.size() != n) continue;  // one target for each kernel
      through_passes(fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i), all[n]);
      if (HasFatalFailure()) return;
    }
}

// Results computed in the memory of inputs of their type: each as without.
std::string wrong_with_donated(const RandomKernel& k) {
  const auto slot_of = [&](std::uint32_t argument) -> const Slot& {
    return *std::ranges::find_if(
        k.function.slots, [&](const Slot& s) { return s.place == Slot::Place::argument && s.argument == argument; });
  };
  Donated donated(k.function.arguments);
  for (std::uint32_t to = k.inputs; to < k.function.arguments; ++to)
    for (std::uint32_t from = 0; from < k.inputs; ++from)
      if (slot_of(to).dtype == slot_of(from).dtype && slot_of(to).elements == slot_of(from).elements)
        donated[to].push_back(from);
  Results memory = k.arguments;
  const Results expected = interpreted(k, k.function);
  Function f = k.function;
  const auto shared = share_donated(f, donated);
  verify(f, "share_donated");
  interpret(f, memory, k.sizes, Order::backward, shared);
  for (std::uint32_t i = k.inputs; i < k.function.arguments; ++i)
    if (memory[shared[i].value_or(i)] != expected[i]) return fmt::format("argument {} is another", i);
  return {};
}

TEST(KernelPasses, FuzzShareDonatedMemory) {
  SCOPED_TRACE(fuzzing::repeat_with());
  for (std::int64_t i = 0; i < fuzzing::cases(200); ++i) {
    const std::uint64_t seed = fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i);
    const RandomKernel k = random_kernel(seed, {.results = true});
    const std::string wrong = wrong_with_donated(k);
    if (wrong.empty()) continue;
    const RandomKernel less =
        smaller(k, [&](const RandomKernel& each) { return is_sound(each) && !wrong_with_donated(each).empty(); });
    FAIL() << "seed " << seed << ": " << wrong << "\nthe same of\n" << print(less.function) << wrong_with_donated(less);
  }
}

Results native(const RandomKernel& k, const Function& f) {
  const auto code = compile_native(f);
  Results memory = k.arguments;
  std::vector<void*> arguments;
  for (Bytes& each : memory) {
    each.reserve(each.size() + 64);
    arguments.push_back(each.data());
  }
  std::vector<std::int64_t> sizes = k.sizes;
  arguments.push_back(sizes.data());
  const auto bytes = f.arena_bytes.evaluate([&](SizeVar v) { return sizes.at(v); });
  const FoundMemory found;
  void* arena = std::aligned_alloc(64, static_cast<std::size_t>((bytes + 127) / 64 * 64));
  const std::int32_t failed = code->entry(arguments.data(), arena, &never_cancelled);
  std::free(arena);
  if (failed != 0) throw RuntimeError("the code failed.");
  return memory;
}

std::string wrong_with_native(const RandomKernel& k, const Target& target) {
  try {
    const Function f = run_passes(kernel_passes(target), k.function);
    return difference(k.function, interpreted(k, k.function), native(k, f), rounding);
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(KernelCode, FuzzComputesWhatTheInterpreterFinds) {
  SCOPED_TRACE(fuzzing::repeat_with());
  for (std::int64_t i = 0; i < fuzzing::cases(20); ++i) {
    const std::uint64_t seed = fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i);
    const RandomKernel k = random_kernel(seed);
    for (const Target& target : targets()) {
      const std::string wrong = wrong_with_native(k, target);
      if (wrong.empty()) continue;
      const RandomKernel less = smaller(
          k, [&](const RandomKernel& each) { return is_sound(each) && !wrong_with_native(each, target).empty(); });
      FAIL() << "seed " << seed << ": " << wrong << "\nthe same of\n"
             << print(less.function) << wrong_with_native(less, target) << "\nof which code is generated as\n"
             << print(run_passes(kernel_passes(target), less.function));
    }
  }
}

// Open numbers, each somewhat larger.
class OtherNumbers : public Rewrite {
 public:
  explicit OtherNumbers(const Function& f) : numbers_(f) {}
  void block(Block& statements) {
    for (Statement& s : statements) {
      for_each_expression(s, [&](Expr& e) { e = (*this)(e); });
      for_each_block(s, [&](Block& inside) { block(inside); });
    }
  }

 protected:
  Expr finish(const Expr& e) override {
    if (!numbers_.place(e.node())) return e;
    return constant_like(e, 1.0625 * *real_constant(e.node()));
  }

 private:
  OpenNumbers numbers_;
};

// Code that was generated for a kernel with other numbers.
TEST(KernelCode, FuzzIsCodeForOtherNumbers) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::size_t shared = 0;
  for (std::int64_t i = 0; i < fuzzing::cases(20); ++i) {
    const std::uint64_t seed = fuzzing::seed() * 1'000'003 + static_cast<std::uint64_t>(i);
    const RandomKernel k = random_kernel(seed);
    const Target target = targets()[static_cast<std::size_t>(i) % 3];
    Function f = run_passes(kernel_passes(target), k.function);
    compile_native(f);
    OtherNumbers(f).block(f.body);
    const std::size_t before = cache_named("code").hits;
    const std::string wrong = difference(f, interpreted(k, f), native(k, f), rounding);
    shared += cache_named("code").hits - before;
    ASSERT_EQ(wrong, "") << "seed " << seed << "\n" << print(f);
  }
  EXPECT_GT(shared, 0U);
}

}  // namespace
}  // namespace tenon::kernel
