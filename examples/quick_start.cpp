// The README's quick start, compiled and run.
#include <tenon/tenon.h>

#include <iostream>

struct Params {
  tenon::Array w, u, b;  // any aggregate is a tree of arrays
};

tenon::Array loss(const Params& p, const tenon::Array& xs, const tenon::Array& ys) {  // xs: f32[T,B,D]
  auto cell = [&](tenon::Array h, tenon::Array x) {
    h = tenon::tanh(tenon::matmul(x, p.w) + tenon::matmul(h, p.u) + p.b);
    return std::pair(h, h);
  };
  auto [h, predicted] = tenon::scan(cell, tenon::zeros({xs.dim(1), 128}), xs);
  return tenon::mean(tenon::square(predicted - ys));
}

int main() {
  auto slope = tenon::grad([](tenon::Array x) { return tenon::sin(x) * x; });
  std::cout << slope(tenon::Array(0.7f)).item<float>() << '\n';  // sin(0.7) + 0.7 cos(0.7)

  Params params{tenon::full({8, 128}, 0.05f), tenon::full({128, 128}, 0.002f), tenon::zeros({128})};
  tenon::Array xs = tenon::full({100, 32, 8}, 0.1f), ys = tenon::full({100, 32, 128}, 0.5f);
  auto step = tenon::jit(tenon::value_and_grad(loss));
  for (int i = 0; i < 3; ++i) {
    auto [value, slopes] = step(params, xs, ys);  // slopes is a Params
    params = tenon::tree::map([](tenon::Array a, tenon::Array d) { return a - 1.0f * d; }, params, slopes);
    std::cout << "loss " << value.item<float>() << '\n';
  }
}
