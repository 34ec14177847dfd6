// One code for all sizes, beside the code that is compiled for a size alone: how much slower it runs, and how long both
// take to compile.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/specialise.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;
using tn::Arrays;
using tn::Dim;

namespace {

struct Case {
  std::string name;
  std::vector<std::vector<std::int64_t>> shapes;  // -1: the size that varies
  std::vector<std::int64_t> lengths;
  std::function<Arrays(std::span<const Array>)> f;
};

std::vector<Case> rows_and_elements() {
  return {
      {"elementwise and sum, f32[N]",
       {{-1}, {-1}},
       {10, 100, 1000, 10'007, 100'003, 1'000'003},
       [](auto in) { return Arrays{tn::sum(tn::square(in[0] - in[1])), in[0] * in[1] + 1.0f}; }},
      {"20 x sin, f32[N]",
       {{-1}},
       {10, 100, 1000, 10'007, 1'000'003},
       [](auto in) {
         Array x = in[0];
         for (int i = 0; i < 20; ++i) x = tn::sin(x) + 0.1f;
         return Arrays{x};
       }},
      {"softmax of rows, f32[N,100]",
       {{-1, 100}},
       {2, 10, 1001, 20'011},
       [](auto in) { return Arrays{tn::softmax(in[0])}; }},
      {"softmax of rows, f32[100,N]",
       {{100, -1}},
       {10, 101, 1001, 20'011},
       [](auto in) { return Arrays{tn::softmax(in[0])}; }},
      {"layer norm, f32[N,256]",
       {{-1, 256}},
       {2, 10, 1001, 10'007},
       [](auto in) {
         const Array d = in[0] - tn::mean(in[0], tn::Axes(1).keepdims());
         return Arrays{d / tn::sqrt(tn::mean(d * d, tn::Axes(1).keepdims()) + 1e-5f)};
       }},
  };
}

std::vector<Case> products() {
  const auto mlp = [](Array x, Array w, Array v) {
    return tn::sum(tn::square(tn::matmul(tn::tanh(tn::matmul(x, w)), v)));
  };
  return {
      {"matmul, f32[N,64] x f32[64,64]",
       {{-1, 64}, {64, 64}},
       {2, 10, 100, 1001, 10'007},
       [](auto in) { return Arrays{tn::matmul(in[0], in[1])}; }},
      {"matmul, f32[N,N] x f32[N,N]",
       {{-1, -1}, {-1, -1}},
       {10, 64, 100, 257},
       [](auto in) { return Arrays{tn::matmul(in[0], in[1])}; }},
      {"gradient of an MLP of 2 layers, batch N",
       {{-1, 32}, {32, 64}, {64, 8}},
       {2, 10, 100, 1001, 10'007},
       [mlp](auto in) {
         auto [dx, dw, dv] = tn::grad<0, 1, 2>(mlp)(in[0], in[1], in[2]);
         return Arrays{dw, dv};
       }},
  };
}

std::vector<Case> loops() {
  const auto recurrent = [](Array xs, Array c) {
    return tn::sum(tn::scan([](Array c, Array x) { return std::pair(tn::sin(c + x), c * x); }, c, xs).second);
  };
  return {
      {"scan of N steps, f32[8]",
       {{-1, 8}, {8}},
       {10, 100, 1000, 10'007},
       [](auto in) {
         auto [last, all] = tn::scan([](Array c, Array x) { return std::pair(tn::sin(c + x), c * x); }, in[1], in[0]);
         return Arrays{last, all};
       }},
      {"gradient of a scan of N steps, f32[8]",
       {{-1, 8}, {8}},
       {10, 100, 1000, 10'007},
       [recurrent](auto in) {
         auto [dx, dc] = tn::grad<0, 1>(recurrent)(in[0], in[1]);
         return Arrays{dx, dc};
       }},
      {"scan of 100 steps, f32[N]",
       {{100, -1}, {-1}},
       {10, 100, 1000, 10'007},
       [](auto in) {
         auto [last, all] = tn::scan([](Array c, Array x) { return std::pair(tn::sin(c + x), c * x); }, in[1], in[0]);
         return Arrays{last, all};
       }},
  };
}

std::vector<Case> moved_elements() {
  return {
      {"gather and scatter of N, f32[1000]",
       {{-1}, {1000}},
       {10, 100, 1000, 100'003},
       [](auto in) {
         const Array index = tn::convert(in[0] * 900.0f, tn::DType::i32);
         return Arrays{tn::take(in[1], index, 0), in[1].at(index).add(in[0])};
       }},
      {"stencil, f32[N]",
       {{-1}},
       {10, 100, 1000, 10'007, 1'000'003},
       [](auto in) {
         const Dim n = in[0].shape()[0];
         const auto part = [&](std::int64_t from) { return tn::slice_in_dim(in[0], from, n - 2 + from, 0); };
         return Arrays{part(0) - 2.0f * part(1) + part(2)};
       }},
      {"two arrays put together, f32[N]",
       {{-1}, {-1}},
       {10, 100, 1000, 10'007, 1'000'003},
       [](auto in) { return Arrays{tn::concatenate({in[0], in[1]}, 0) * 2.0f}; }},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& some : {rows_and_elements(), products(), loops(), moved_elements()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

tn::Value filled(const tn::Type& type) {
  tn::Buffer b = tn::Buffer::allocate(type.dtype, type.shape.sizes());
  for (std::int64_t i = 0; i < b.elements(); ++i) b.as<float>()[i] = 0.1f + float((i * 37) % 101) / 120.0f;
  return b;
}

// The least of many batches, which take turns: what else the machine does meets both alike.
template <class F, class G>
std::pair<double, double> least_seconds(F&& f, G&& g) {
  const auto batch = [](auto&& call, long calls) {
    const double start = bench::now();
    for (long i = 0; i < calls; ++i) call();
    return (bench::now() - start) / static_cast<double>(calls);
  };
  f(), g();
  const long calls = std::clamp(static_cast<long>(1e-3 / std::max(batch(f, 1), 1e-9)), 1L, 10'000L);
  double least_f = 1e300, least_g = 1e300;
  for (int repeat = 0; repeat < 40; ++repeat) {
    least_f = std::min(least_f, batch(f, calls));
    least_g = std::min(least_g, batch(g, calls));
  }
  return {least_f, least_g};
}

// A call as users make it, for any length and for this one alone: with what the guard, memory for results and the sizes
// of a call take.
std::pair<double, double> calls_seconds(const Case& c, std::int64_t length) {
  const auto arrays = [&](std::int64_t n) {
    Arrays in;
    for (const auto& shape : c.shapes) {
      std::vector<Dim> dims;
      for (const std::int64_t d : shape) dims.push_back(d < 0 ? n : d);
      in.emplace_back(std::get<tn::Buffer>(filled(tn::Type::array(tn::DType::f32, tn::Shape(dims)))));
    }
    return in;
  };
  const auto f = [&c](const Arrays& in) { return c.f(in); };
  auto one = tn::jit(f, {.sizes = tn::Sizes::fixed}), all = tn::jit(f);
  for (const std::int64_t n : {17, 19}) all(arrays(n));
  const Arrays in = arrays(length);
  return least_seconds([&] { one(in); }, [&] { all(in); });
}

// The code alone, in memory that is there.
std::pair<double, double> code_seconds(const tn::Executable& one, const tn::Executable& all,
                                       std::span<const tn::Value> in, std::span<const std::int64_t> sizes) {
  const std::vector<tn::Value> out = one.run(in);
  std::vector<void*> at;
  for (const std::span<const tn::Value> values : {in, std::span<const tn::Value>(out)})
    for (const tn::Value& v : values) at.push_back(const_cast<std::byte*>(std::get<tn::Buffer>(v).data()));
  return least_seconds([&] { one.native()->call(at.data()); }, [&] { all.native()->call(at.data(), sizes); });
}

void measure(const Case& c) {
  const Dim n = Dim::variable(tn::fresh_size());
  std::vector<tn::Type> types;
  for (const auto& shape : c.shapes) {
    std::vector<Dim> dims;
    for (const std::int64_t d : shape) dims.push_back(d < 0 ? n : Dim(d));
    types.push_back(tn::Type::array(tn::DType::f32, tn::Shape(dims)));
  }
  const tn::ProgramRef program = tn::trace_types([&](std::span<const Array> in) { return c.f(in); }, types,
                                                 std::vector<bool>(types.size(), false), "a benchmark")
                                     .program;
  double start = bench::now();
  const auto all = tn::compile(program);
  const double compile = bench::now() - start;
  double compile_one = 0, worst = 0, worst_code = 0;
  for (const std::int64_t length : c.lengths) {
    const std::int64_t sizes[]{length};
    const tn::ProgramRef at = tn::specialised(*program, sizes);
    start = bench::now();
    const auto one = tn::compile(at);
    compile_one = std::max(compile_one, bench::now() - start);
    std::vector<tn::Value> in;
    for (const tn::Type& type : at->input_types()) in.push_back(filled(type));
    const auto [code, sized_code] = code_seconds(*one, *all, in, sizes);
    const auto [specialised, sized] = calls_seconds(c, length);
    const std::string of = fmt::format("N = {}, ", length);
    bench::emit(c.name, of + "specialised", specialised * 1e6, "us");
    bench::emit(c.name, of + "one code for all sizes, ratio", sized / specialised, "ratio");
    bench::emit(c.name, of + "one code for all sizes, ratio without the call", sized_code / code, "ratio");
    worst = std::max(worst, sized / specialised);
    worst_code = std::max(worst_code, sized_code / code);
  }
  bench::emit(c.name, "slowest ratio", worst, "ratio");
  bench::emit(c.name, "slowest ratio without the call", worst_code, "ratio");
  bench::emit(c.name, "compile, one size", compile_one * 1e3, "ms");
  bench::emit(c.name, "compile, all sizes", compile * 1e3, "ms");
}

}  // namespace

int main(int count, char** words) {
  for (const Case& c : cases())
    if (count < 2 || c.name.find(words[1]) != std::string::npos) measure(c);
}
