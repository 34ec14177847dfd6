// softmax(q·kᵀ/√d)·v in its spelling by hand, and the gradient of the sum of its squares in q, k and v: 64 heads of 256
// x 64, beside bench/limits/attention.cpp; with a causal mask, with lengths, and 4 heads of each row of 16 sequences as
// other libraries lay them out; and 8 long heads. One long head, beside an eighth of 8; f16 and bf16, and sizes that
// vary, beside f32 of sizes that are known.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

Array drawn(std::uint64_t seed, const tn::Shape& shape) {
  return 1.7F * (2.0F * tn::random::uniform(tn::random::key(seed), shape) - 1.0F);
}

enum class Masked { none, causal, padding };

// lengths: of the keys that each head has.
Array attention(const Array& q, const Array& k, const Array& v, const Array& lengths, Masked masked) {
  const tn::Shape shape{q.dim(0), q.dim(1), k.dim(1)};
  Array scores = tn::einsum("hid,hjd->hij", q, k) * 0.125F;
  const Array column = tn::broadcast_in_dim(tn::arange(shape[2], tn::DType::i32), shape, {2});
  if (masked == Masked::causal)
    scores =
        tn::where(column <= tn::broadcast_in_dim(tn::arange(shape[1], tn::DType::i32), shape, {1}), scores, -1e30F);
  if (masked == Masked::padding) scores = tn::where(column < tn::broadcast_in_dim(lengths, shape, {0}), scores, -1e30F);
  const auto of_rows = [&](const Array& x) { return tn::broadcast_in_dim(x, shape, {0, 1}); };
  const Array p = tn::exp(scores - of_rows(tn::amax(scores, 2)));
  return tn::einsum("hij,hjd->hid", p / of_rows(tn::sum(p, 2)), v);
}

// [sequence, row, head, feature].
Array of_sequences(const Array& q, const Array& k, const Array& v, const Array&) {
  const Array scores = tn::einsum("bihd,bjhd->bhij", q, k) * 0.125F;
  const Array p = tn::exp(scores - tn::amax(scores, tn::Axes(3).keepdims()));
  return tn::einsum("bhij,bjhd->bihd", p / tn::sum(p, tn::Axes(3).keepdims()), v);
}

Array of_one(const Array& q, const Array& k, const Array& v, const Array&) {
  return tn::matmul(tn::softmax(tn::matmul(q, tn::transpose(k)) * 0.125F), v);
}

struct How {
  std::string figure = "";  // what it is beside others of its case
  tn::DType dtype = tn::DType::f32;
  bool sizes_vary = false;
  double parts = 1;  // what is measured is so many times the figure
};
template <class F>
void measure(const std::string& name, const tn::Shape& shape, F of, const Array& lengths, const How& how = {}) {
  const Array q = tn::convert(drawn(1, shape), how.dtype), k = tn::convert(drawn(2, shape), how.dtype),
              v = tn::convert(drawn(3, shape), how.dtype);
  const auto squares = [=](const Array& a, const Array& b, const Array& c, const Array& n) {
    return tn::sum(tn::square(tn::convert(of(a, b, c, n), tn::DType::f32)));
  };
  // Compiled for another length first, all lengths are variables.
  const auto timed = [&](const std::string& figure, auto f) {
    if (how.sizes_vary) {
      const auto axis = static_cast<std::int64_t>(shape.rank()) - 2;
      const auto shorter = [&](const Array& x) { return tn::slice_in_dim(x, 0, x.dim(axis) - 56, axis); };
      f(shorter(q), shorter(k), shorter(v), lengths);
    }
    bench::emit(name, figure + how.figure, bench::median_seconds(f, q, k, v, lengths) * 1e3 / how.parts, "ms");
  };
  timed("forward", tn::jit(of));
  timed("value and gradient", tn::jit(tn::value_and_grad<0, 1, 2>(squares)));
}
void measure(const std::string& name, std::int64_t heads, std::int64_t length, Masked masked, const How& how = {}) {
  const auto of = [=](const Array& q, const Array& k, const Array& v, const Array& lengths) {
    return attention(q, k, v, lengths, masked);
  };
  measure(name, {heads, length, 64}, of, length - tn::arange(heads, tn::DType::i32), how);
}

}  // namespace

int main() {
  const std::string heads = "attention 64 heads x 256 x 64", one = "attention 1 head x 8192 x 64";
  measure(heads, 64, 256, Masked::none);
  measure(heads, 64, 256, Masked::none, {.figure = ", f16", .dtype = tn::DType::f16});
  measure(heads, 64, 256, Masked::none, {.figure = ", bf16", .dtype = tn::DType::bf16});
  measure(heads, 64, 256, Masked::none, {.figure = ", any length", .sizes_vary = true});
  measure("attention 64 heads x 256 x 64, causal", 64, 256, Masked::causal);
  measure("attention 64 heads x 256 x 64, padding", 64, 256, Masked::padding);
  measure("attention 16 x 4 heads x 256 x 64", {16, 256, 4, 64}, of_sequences, Array(0));
  measure(one, 8, 8192, Masked::none, {.figure = ", an eighth of 8 heads", .parts = 8});
  measure(one, {8192, 64}, of_one, Array(0));
  measure(one, {8192, 64}, of_one, Array(0), {.figure = ", f16", .dtype = tn::DType::f16});
  measure(one, {8192, 64}, of_one, Array(0), {.figure = ", bf16", .dtype = tn::DType::bf16});
  measure(one, {8192, 64}, of_one, Array(0), {.figure = ", any length", .sizes_vary = true});
}
