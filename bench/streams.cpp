// Reductions of what a scan stacks, in many spellings: each beside the plain mean square of the same outputs, T1000 B32
// D128, which is that of bench/scan_reduce.cpp.
#include <cmath>
#include <functional>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

constexpr std::int64_t T = 1000, B = 32, D = 128;

Array wave(std::vector<std::int64_t> shape, double scale, double phase) {
  std::int64_t n = 1;
  for (const auto d : shape) n *= d;
  const Array flat = tn::sin(tn::arange(n, tn::DType::f64) * 0.37 + phase) * scale;
  return tn::reshape(tn::convert(flat, tn::DType::f32), tn::Shape(std::vector<tn::Dim>(shape.begin(), shape.end())));
}

std::pair<Array, Array> cell(const Array& c, const Array& x) {
  const Array next = tn::sin(c + x);
  return {next, next};
}
Array outputs(const Array& xs, tn::ScanOptions options = {}) {
  return tn::scan(cell, tn::zeros({B, D}), xs, options).second;
}
Array nested(const Array& xs) {
  const auto outer = [](const Array& c, const Array& x) { return tn::scan(cell, c, x); };
  return tn::reshape(tn::scan(outer, tn::zeros({B, D}), tn::reshape(xs, {T / 10, 10, B, D})).second, {T, B, D});
}
Array updated(const Array& xs) {
  const auto step = [&](const Array& i, const std::pair<Array, Array>& s) {
    const Array next = tn::sin(s.first + xs(i));
    return std::pair(next, s.second.at(i).set(next));
  };
  return tn::fori_loop(0, T, step, std::pair(Array(tn::zeros({B, D})), Array(tn::zeros({T, B, D})))).second;
}

// A path that a loop writes row by row, each of the row before.
Array path(const Array& xs) {
  const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 1).set(tn::sin(rows(i) + xs(i))); };
  return tn::fori_loop(0, T, step, Array(tn::zeros({T + 1, B, D})));
}

using Loss = std::function<Array(const Array& xs, const Array& ts, const Array& mask)>;
struct Spelling {
  const char* name;
  Loss loss;
  bool has_gradient = true;
};

Array mean_square(const Array& ys, const Array& ts) { return tn::mean(tn::square(ys - ts)); }
Array kept(const Array& mask) { return tn::broadcast_in_dim(mask > 0, {T, B, D}, {0, 1}); }

const Spelling spellings[]{
    {"masked by where",
     [](auto& x, auto& t, auto& m) { return tn::sum(tn::where(kept(m), tn::square(outputs(x) - t), 0)); }},
    {"masked by a product",
     [](auto& x, auto& t, auto& m) {
       return tn::sum(tn::square(outputs(x) - t) * tn::convert(kept(m), tn::DType::f32));
     }},
    {"over B and D, then T",
     [](auto& x, auto& t, auto&) { return tn::mean(tn::sqrt(tn::mean(tn::square(outputs(x) - t), {1, 2}))); }},
    {"over D alone",
     [](auto& x, auto& t, auto&) { return tn::sum(tn::square(tn::mean(tn::square(outputs(x) - t), 2))); }},
    {"over T alone",
     [](auto& x, auto& t, auto&) { return tn::sum(tn::square(tn::sum(tn::square(outputs(x) - t), 0))); }},
    {"logsumexp over T", [](auto& x, auto&, auto&) { return tn::sum(tn::logsumexp(outputs(x), 0)); }},
    {"var over T", [](auto& x, auto&, auto&) { return tn::sum(tn::var(outputs(x), 0)); }},
    {"argmax over T", [](auto& x, auto&, auto&) { return tn::sum(tn::argmax(outputs(x), 0)); }, false},
    {"max over T", [](auto& x, auto&, auto&) { return tn::sum(tn::amax(outputs(x), 0)); }},
    {"two losses",
     [](auto& x, auto& t, auto&) {
       const Array ys = outputs(x);
       return mean_square(ys, t) + tn::mean(tn::abs(ys));
     }},
    {"three losses",
     [](auto& x, auto& t, auto&) {
       const Array ys = outputs(x);
       return mean_square(ys, t) + tn::mean(tn::abs(ys)) + tn::amax(ys);
     }},
    {"unrolled by 4", [](auto& x, auto& t, auto&) { return mean_square(outputs(x, {.unroll = 4}), t); }},
    {"reversed", [](auto& x, auto& t, auto&) { return mean_square(outputs(x, {.reverse = true}), t); }},
    {"nested scans", [](auto& x, auto& t, auto&) { return mean_square(nested(x), t); }},
    {"update loop", [](auto& x, auto& t, auto&) { return mean_square(updated(x), t); }},
    {"later steps alone",
     [](auto& x, auto& t, auto&) { return mean_square(outputs(x)(tn::slice(10, T)), t(tn::slice(10, T))); }},
    {"transposed",
     [](auto& x, auto& t, auto&) {
       return mean_square(tn::transpose(outputs(x), {1, 0, 2}), tn::transpose(t, {1, 0, 2}));
     }},
    {"in one row",
     [](auto& x, auto& t, auto&) { return mean_square(tn::reshape(outputs(x), {-1}), tn::reshape(t, {-1})); }},
    {"inner product", [](auto& x, auto& t, auto&) { return tn::einsum("tbd,tbd->", outputs(x), t); }},
    {"unrolled by 3", [](auto& x, auto& t, auto&) { return mean_square(outputs(x, {.unroll = 3}), t); }},
    {"update loop of rows before",
     [](auto& x, auto& t, auto&) { return mean_square(path(x)(tn::slice(1, T + 1)), t); }},
    {"a path with its begin",
     [](auto& x, auto&, auto&) {
       return tn::mean(tn::square(tn::concatenate({tn::expand_dims(x(0), 0), outputs(x)}, 0)));
     }},
    {"differences", [](auto& x, auto&, auto&) { return tn::sum(tn::square(tn::diff(outputs(x), 1, 0))); }},
    {"weighted sum over T",
     [](auto& x, auto&, auto& m) { return tn::sum(tn::einsum("t,tbd->bd", m(tn::all, 0), outputs(x))); }},
    {"the last step", [](auto& x, auto&, auto&) { return tn::mean(tn::square(outputs(x)(-1))); }},
    {"var under a mask", [](auto& x, auto&, auto& m) { return tn::sum(tn::var(outputs(x), 0, {.where = kept(m)})); }},
    {"var over T of lanes",
     [](auto& x, auto&, auto&) {
       const auto one = [](const Array& x) { return tn::var(tn::scan(cell, tn::zeros({D}), x).second, 0); };
       return tn::sum(tn::vmap(one, {.in_axes = 1})(x));
     }},
    {"cross entropy of labels",
     [](auto& x, auto&, auto&) {
       const Array labels = tn::reshape(tn::arange(T * B) % D, {T, B, 1});
       return -tn::mean(tn::take_along_axis(tn::nn::log_softmax(outputs(x)), labels, 2));
     }},
    {"in a branch",
     [](auto& x, auto& t, auto& m) {
       return tn::cond(
           m(0, 0) > 0, mean_square, [](const Array& ys, const Array&) { return tn::mean(ys); }, outputs(x), t);
     }},
};

template <class F>
double milliseconds(F& f, const Array& xs, const Array& ts, const Array& mask) {
  return bench::median_seconds(f, xs, ts, mask) * 1e3;
}

// `plain`, of the mean square, is taken anew beside each: other programs' load comes and goes.
template <class F, class Plain>
void measure(const std::string& name, const std::string& figure, F& f, Plain& plain, const Array& xs, const Array& ts,
             const Array& mask) {
  const double before = milliseconds(plain, xs, ts, mask), here = milliseconds(f, xs, ts, mask),
               behind = milliseconds(plain, xs, ts, mask);
  bench::emit(name, figure, here, "ms");
  bench::emit(name, figure + ", to the mean square", 2 * here / (before + behind), "ratio");
}

}  // namespace

int main() {
  const Array xs = wave({T, B, D}, 1.7, 0), ts = wave({T, B, D}, 1.7, 1), mask = wave({T, B}, 1, 2) + 0.5f;
  const Loss plain = [](auto& x, auto& t, auto&) { return mean_square(outputs(x), t); };
  const auto both_of = [](const Loss& loss) {
    return tn::jit(tn::value_and_grad([=](Array x, Array t, Array m) { return loss(x, t, m); }));
  };
  const auto of = [](const Loss& loss) { return tn::jit([=](Array x, Array t, Array m) { return loss(x, t, m); }); };
  auto forward = of(plain);
  auto both = both_of(plain);
  for (const Spelling& s : spellings) {
    const std::string name = std::string("scan reduced: ") + s.name;
    auto f = of(s.loss);
    measure(name, "forward", f, forward, xs, ts, mask);
    if (!s.has_gradient) continue;
    auto g = both_of(s.loss);
    measure(name, "value and gradient", g, both, xs, ts, mask);
  }
}
