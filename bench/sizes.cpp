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

std::vector<Case> cases() {
  const auto mlp = [](Array x, Array w, Array v) {
    return tn::sum(tn::square(tn::matmul(tn::tanh(tn::matmul(x, w)), v)));
  };
  const auto recurrent = [](Array xs, Array c) {
    return tn::sum(tn::scan([](Array c, Array x) { return std::pair(tn::sin(c + x), c * x); }, c, xs).second);
  };
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
       {1, 10, 1001, 20'011},
       [](auto in) { return Arrays{tn::softmax(in[0])}; }},
      {"softmax of rows, f32[100,N]",
       {{100, -1}},
       {10, 101, 1001, 20'011},
       [](auto in) { return Arrays{tn::softmax(in[0])}; }},
      {"layer norm, f32[N,256]",
       {{-1, 256}},
       {1, 10, 1001, 10'007},
       [](auto in) {
         const Array d = in[0] - tn::mean(in[0], tn::Axes(1).keepdims());
         return Arrays{d / tn::sqrt(tn::mean(d * d, tn::Axes(1).keepdims()) + 1e-5f)};
       }},
      {"matmul, f32[N,64] x f32[64,64]",
       {{-1, 64}, {64, 64}},
       {1, 10, 100, 1001, 10'007},
       [](auto in) { return Arrays{tn::matmul(in[0], in[1])}; }},
      {"matmul, f32[N,N] x f32[N,N]",
       {{-1, -1}, {-1, -1}},
       {10, 64, 100, 257},
       [](auto in) { return Arrays{tn::matmul(in[0], in[1])}; }},
      {"gradient of an MLP of 2 layers, batch N",
       {{-1, 32}, {32, 64}, {64, 8}},
       {1, 10, 100, 1001, 10'007},
       [mlp](auto in) {
         auto [dx, dw, dv] = tn::grad<0, 1, 2>(mlp)(in[0], in[1], in[2]);
         return Arrays{dw, dv};
       }},
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

tn::Value filled(const tn::Type& type) {
  tn::Buffer b = tn::Buffer::allocate(type.dtype, type.shape.sizes());
  for (std::int64_t i = 0; i < b.elements(); ++i) b.as<float>()[i] = 0.1f + float((i * 37) % 101) / 120.0f;
  return b;
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
  double compile_one = 0, worst = 0;
  const auto seconds = [](const tn::Executable& code, std::span<const tn::Value> in,
                          std::span<const std::int64_t> sizes) {
    return bench::median_seconds([&] { code.run(in, sizes); });
  };
  for (const std::int64_t length : c.lengths) {
    const std::int64_t sizes[]{length};
    const tn::ProgramRef at = tn::specialised(*program, sizes);
    start = bench::now();
    const auto one = tn::compile(at);
    compile_one = std::max(compile_one, bench::now() - start);
    std::vector<tn::Value> in;
    for (const tn::Type& type : at->input_types()) in.push_back(filled(type));
    const double specialised = seconds(*one, in, {}), sized = seconds(*all, in, sizes);
    bench::emit(c.name, fmt::format("N = {}, specialised", length), specialised * 1e6, "us");
    bench::emit(c.name, fmt::format("N = {}, one code for all sizes, ratio", length), sized / specialised, "ratio");
    worst = std::max(worst, sized / specialised);
  }
  bench::emit(c.name, "slowest ratio", worst, "ratio");
  bench::emit(c.name, "compile, one size", compile_one * 1e3, "ms");
  bench::emit(c.name, "compile, all sizes", compile * 1e3, "ms");
}

}  // namespace

int main(int count, char** words) {
  for (const Case& c : cases())
    if (count < 2 || c.name.find(words[1]) != std::string::npos) measure(c);
}
