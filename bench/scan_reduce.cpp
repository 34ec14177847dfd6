// mean((y - scan(cell))²), the cases of limits/scan_reduce.cpp: sin(c + x), and an RNN cell beside the time of its
// products alone, which the product library takes one after another.
#include <cmath>

#include "bench/filled.h"
#include "bench/measure.h"
#include "tenon/runtime/linear_algebra/products.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

struct Size {
  std::int64_t T, B, D;
  std::string name() const { return "T" + std::to_string(T) + " B" + std::to_string(B) + " D" + std::to_string(D); }
};

void sines(const Size& size) {
  const auto [T, B, D] = size;
  const Array xs = bench::filled({T, B, D}, 1, -1.7f, 1.7f), ys = bench::filled({T, B, D}, 2, -1.7f, 1.7f);
  const auto loss = [B = B, D = D](const Array& xs, const Array& ys) {
    const auto cell = [](const Array& c, const Array& x) {
      const Array next = tn::sin(c + x);
      return std::pair(next, next);
    };
    return tn::mean(tn::square(ys - tn::scan(cell, tn::zeros({B, D}), xs).second));
  };
  const auto forward = tn::jit(loss);
  const auto both = tn::jit(tn::value_and_grad(loss));
  const std::string name = "scan of sin(c+x), " + size.name() + ", stacked, reduced",
                    limit = "P1 sin(c+x) " + size.name();
  const auto [value, slopes] = both(xs, ys);
  bench::emit(limit, "checksum loss", forward(xs, ys).template item<float>(), "");
  bench::emit(limit, "checksum d xs", bench::weighted(slopes), "");
  bench::emit(name, "forward", bench::median_seconds(forward, xs, ys) * 1e3, "ms");
  bench::emit(name, "value and gradient", bench::median_seconds(both, xs, ys) * 1e3, "ms");
}

struct Parameters {
  Array u, w, b;
};

// Row-major c = a·b, of which each operand may be transposed: a[m, k], b[k, n].
void product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, bool a_turned, const float* b,
             bool b_turned, float* c) {
  const TenonGemm g{static_cast<std::int32_t>(tn::DType::f32),
                    0,
                    1,
                    m,
                    n,
                    k,
                    0,
                    a_turned ? 1 : k,
                    a_turned ? m : 1,
                    0,
                    b_turned ? 1 : n,
                    b_turned ? k : 1,
                    0,
                    n,
                    1};
  tenon_gemm(&g, a, b, c);
}

// The products of the cell and nothing else, on arrays of the same sizes: x·W of all steps at once, c·U step by step;
// with the gradient g·Uᵀ step by step, and those of U and W over all steps at once. What is done step by step, each
// thread does for its part of the batch, as nothing there reads another row.
class Products {
 public:
  Products(const Size& size, const Parameters& p, const Array& xs)
      : size_(size), u_(p.u), w_(p.w), xs_(xs), states_(bench::filled({size.T, size.B, size.D}, 5)) {
    made_.resize(static_cast<std::size_t>(size.T * size.B * size.D));
    made_too_ = made_;
    slopes_.resize(static_cast<std::size_t>(size.D * size.D));
  }
  void forward() {
    const auto [T, B, D] = size_;
    product(T * B, D, D, elements(xs_), false, elements(w_), false, made_.data());
    each_step(false);
  }
  void both() {
    const auto [T, B, D] = size_;
    forward();
    each_step(true);
    product(D, D, T * B, elements(states_), true, made_too_.data(), false, slopes_.data());
    product(D, D, T * B, elements(xs_), true, made_too_.data(), false, slopes_.data());
  }

 private:
  static const float* elements(const Array& a) { return a.span<float>().data(); }
  void each_step(bool turned) {
    const std::int64_t T = size_.T, B = size_.B, D = size_.D;
    const float *u = elements(u_), *states = elements(states_);
    tn::each_range(B, B / 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = 0; t < T; ++t) {
        const std::int64_t row = (t * B + begin) * D;
        product(end - begin, D, D, states + row, false, u, turned, made_too_.data() + row);
      }
    });
  }

  Size size_;
  Array u_, w_, xs_, states_;
  std::vector<float> made_, made_too_, slopes_;
};

void recurrent_network(const Size& size) {
  const auto [T, B, D] = size;
  const float most = 1.7f / std::sqrt(static_cast<float>(D));
  const Parameters p{bench::filled({D, D}, 3, -most, most), bench::filled({D, D}, 4, -most, most), tn::zeros({D})};
  const Array xs = bench::filled({T, B, D}, 1, -1.7f, 1.7f), ys = bench::filled({T, B, D}, 2, -1.7f, 1.7f);
  const auto loss = [B = B, D = D](const Parameters& p, const Array& xs, const Array& ys) {
    const auto cell = [&](const Array& c, const Array& x) {
      const Array next = tn::tanh(tn::matmul(c, p.u) + tn::matmul(x, p.w) + p.b);
      return std::pair(next, next);
    };
    return tn::mean(tn::square(ys - tn::scan(cell, tn::zeros({B, D}), xs).second));
  };
  const auto forward = tn::jit(loss);
  const auto both = tn::jit(tn::value_and_grad(loss));
  const std::string name = "RNN cell, " + size.name() + ", stacked, reduced", limit = "P1 rnn " + size.name();
  const auto [value, slopes] = both(p, xs, ys);
  bench::emit(limit, "checksum loss", forward(p, xs, ys).template item<float>(), "");
  bench::emit(limit, "checksum d u", bench::weighted(slopes.u), "");
  bench::emit(limit, "checksum d w", bench::weighted(slopes.w), "");
  bench::emit(limit, "checksum d b", bench::weighted(slopes.b), "");
  Products products(size, p, xs);
  bench::emit(name, "forward", bench::median_seconds(forward, p, xs, ys) * 1e3, "ms");
  bench::emit(name, "forward, its products alone", bench::median_seconds([&] { products.forward(); }) * 1e3, "ms");
  bench::emit(name, "value and gradient", bench::median_seconds(both, p, xs, ys) * 1e3, "ms");
  bench::emit(name, "value and gradient, its products alone", bench::median_seconds([&] { products.both(); }) * 1e3,
              "ms");
}

}  // namespace

int main() {
  for (const Size& size : {Size{1000, 32, 128}, Size{200, 64, 256}}) {
    sines(size);
    recurrent_network(size);
  }
}
