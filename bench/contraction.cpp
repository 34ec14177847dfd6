// Contractions that users spell in many ways, forward and the gradient of the sum of squares in both operands; the
// cases of limits/contraction.cpp. All spellings of a case give the same numbers: its slowest stands beside the limit
// and beside its fastest.
#include <algorithm>
#include <functional>
#include <string_view>

#include "bench/filled.h"
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

struct Spelling {
  const char* name;
  std::function<Array(const Array& a, const Array& b)> f;
};

struct Case {
  std::string name, limit;
  Array a, b;
  const char *slope_a, *slope_b;  // the limit's checksums of the gradient
  std::vector<Spelling> spellings;
};

// The least of two turns: what other programs take of the machine comes and goes.
class Times {
 public:
  explicit Times(std::size_t count) : least_(count, 1e9) {}
  void add(std::size_t i, double seconds) { least_[i] = std::min(least_[i], seconds); }
  void emit(const Case& c, const std::string& figure) const {
    for (std::size_t i = 0; i < least_.size(); ++i)
      bench::emit(c.name, figure + ", " + c.spellings[i].name, least_[i] * 1e3, "ms");
    bench::emit(c.name, figure + ", fastest", *std::ranges::min_element(least_) * 1e3, "ms");
    bench::emit(c.name, figure + ", slowest", *std::ranges::max_element(least_) * 1e3, "ms");
  }

 private:
  std::vector<double> least_;
};

void measure(const Case& c) {
  const auto compiled = [](const Spelling& s) {
    const auto squares = [f = s.f](const Array& a, const Array& b) { return tn::sum(tn::square(f(a, b))); };
    return std::pair(tn::jit([f = s.f](const Array& a, const Array& b) { return f(a, b); }),
                     tn::jit(tn::grad<0, 1>(squares)));
  };
  std::vector<decltype(compiled(c.spellings[0]))> all;
  for (const Spelling& s : c.spellings) {
    const auto& [value, slopes] = all.emplace_back(compiled(s));
    bench::emit(c.limit, "checksum out", bench::weighted(value(c.a, c.b)), "");
    const auto [da, db] = slopes(c.a, c.b);
    bench::emit(c.limit, std::string("checksum ") + c.slope_a, bench::weighted(da), "");
    bench::emit(c.limit, std::string("checksum ") + c.slope_b, bench::weighted(db), "");
  }
  Times forward(all.size()), gradient(all.size());
  for (int turn = 0; turn < 2; ++turn)
    for (std::size_t i = 0; i < all.size(); ++i) {
      forward.add(i, bench::median_seconds(all[i].first, c.a, c.b));
      gradient.add(i, bench::median_seconds(all[i].second, c.a, c.b));
    }
  forward.emit(c, "forward");
  gradient.emit(c, "gradient");
}

// w[a, b], x[c, d, b] -> [c, d, a]; the first two are those of the question that this case is from.
std::vector<Spelling> of_rows() {
  const auto turned = [](const Array& w) { return tn::transpose(w); };
  const auto flat = [](const Array& x) { return tn::reshape(x, {-1, x.dim(2)}); };
  const auto shaped = [](const Array& rows, const Array& x) {
    return tn::reshape(rows, {x.dim(0), x.dim(1), rows.dim(1)});
  };
  return {
      {"vmap of vmap",
       [](auto& w, auto& x) {
         const auto one = [&](const Array& v) { return tn::matmul(w, v); };
         return tn::vmap(tn::vmap(one))(x);
       }},
      {"einsum", [](auto& w, auto& x) { return tn::einsum("ab,cdb->cda", w, x); }},
      {"einsum, swapped", [](auto& w, auto& x) { return tn::einsum("cdb,ab->cda", x, w); }},
      {"einsum, then transposed",
       [](auto& w, auto& x) { return tn::transpose(tn::einsum("ab,cdb->acd", w, x), {1, 2, 0}); }},
      {"matmul", [=](auto& w, auto& x) { return tn::matmul(x, turned(w)); }},
      {"matmul of rows", [=](auto& w, auto& x) { return shaped(tn::matmul(flat(x), turned(w)), x); }},
      {"matmul, then transposed",
       [=](auto& w, auto& x) { return shaped(tn::transpose(tn::matmul(w, tn::transpose(flat(x)))), x); }},
      {"dot_general, then transposed",
       [](auto& w, auto& x) {
         return tn::transpose(tn::dot_general(w, x, {.contract_a = {1}, .contract_b = {2}}), {1, 2, 0});
       }},
      {"dot_general, swapped",
       [](auto& w, auto& x) { return tn::dot_general(x, w, {.contract_a = {2}, .contract_b = {1}}); }},
      {"vmap of matmul",
       [=](auto& w, auto& x) { return tn::vmap([&](const Array& m) { return tn::matmul(m, turned(w)); })(x); }},
      {"vmap over w",
       [](auto& w, auto& x) {
         const auto one = [&](const Array& row) { return tn::matmul(x, row); };
         return tn::vmap(one, {.in_axes = {0}, .out_axes = 2})(w);
       }},
      {"vmap of sums of products",
       [](auto& w, auto& x) {
         const auto of = [](const Array& row) { return [=](const Array& v) { return tn::sum(row * v); }; };
         const auto all = [&](const Array& v) { return tn::vmap([&](const Array& row) { return of(row)(v); })(w); };
         return tn::vmap(tn::vmap(all))(x);
       }},
  };
}

// a[n, x, y, c], b[m, x, y, c] -> [n, m, x, y]
std::vector<Spelling> of_points() {
  return {
      {"einsum", [](auto& a, auto& b) { return tn::einsum("nxyc,mxyc->nmxy", a, b); }},
      {"einsum, swapped", [](auto& a, auto& b) { return tn::einsum("mxyc,nxyc->nmxy", b, a); }},
      {"vmap of sums of products",
       [](auto& a, auto& b) {
         const auto of = [&](const Array& u) {
           return tn::vmap([&](const Array& v) { return tn::sum(u * v, -1); })(b);
         };
         return tn::vmap(of)(a);
       }},
      {"sum of products", [](auto& a, auto& b) { return tn::sum(tn::expand_dims(a, 1) * tn::expand_dims(b, 0), -1); }},
  };
}

// p[n, 3], q[3, 3] -> [n, 3]
std::vector<Spelling> of_threes() {
  return {
      {"matmul", [](auto& p, auto& q) { return tn::matmul(p, q); }},
      {"einsum", [](auto& p, auto& q) { return tn::einsum("nk,kj->nj", p, q); }},
      {"vmap",
       [](auto& p, auto& q) { return tn::vmap([&](const Array& v) { return tn::matmul(tn::transpose(q), v); })(p); }},
      {"sum of products", [](auto& p, auto& q) { return tn::sum(tn::expand_dims(p, 2) * tn::expand_dims(q, 0), 1); }},
  };
}

// a[n, i, k], b[n, k, j] -> [n, i, j]
std::vector<Spelling> of_matrices() {
  return {
      {"matmul", [](auto& a, auto& b) { return tn::matmul(a, b); }},
      {"einsum", [](auto& a, auto& b) { return tn::einsum("nik,nkj->nij", a, b); }},
      {"vmap", [](auto& a,
                  auto& b) { return tn::vmap([](const Array& a, const Array& b) { return tn::matmul(a, b); })(a, b); }},
      {"sum of products", [](auto& a, auto& b) { return tn::sum(tn::expand_dims(a, 3) * tn::expand_dims(b, 1), 2); }},
  };
}

}  // namespace

// usage: bench_contraction [PART OF A CASE'S NAME]
int main(int argc, char** argv) {
  const std::string_view only = argc > 1 ? argv[1] : "";
  std::vector<std::function<Case()>> cases{[] {
                                             return Case{"contraction ab,cdb->cda, [600,821] [32,100,821]",
                                                         "P4 w[600,821] a[32,100,821]",
                                                         bench::filled({600, 821}, 1),
                                                         bench::filled({32, 100, 821}, 2),
                                                         "dw",
                                                         "da",
                                                         of_rows()};
                                           },
                                           [] {
                                             return Case{"contraction nxyc,mxyc->nmxy, [100,20,20,3] [200,20,20,3]",
                                                         "P4 nxyc,mxyc->nmxy",
                                                         bench::filled({100, 20, 20, 3}, 1),
                                                         bench::filled({200, 20, 20, 3}, 2),
                                                         "dA",
                                                         "dB",
                                                         of_points()};
                                           },
                                           [] {
                                             return Case{"contraction nk,kj->nj, [1000000,3] [3,3]",
                                                         "P4 (1e6,3)x(3,3)",
                                                         bench::filled({1'000'000, 3}, 1),
                                                         bench::filled({3, 3}, 2),
                                                         "dP",
                                                         "dQ",
                                                         of_threes()};
                                           }};
  for (const std::int64_t n : {3, 4, 8})
    cases.emplace_back([n] {
      const std::string size = std::to_string(n) + "," + std::to_string(n) + "]";
      return Case{"contraction nik,nkj->nij, [100000," + size,
                  "100000 products of [" + size,
                  bench::filled({100'000, n, n}, 1),
                  bench::filled({100'000, n, n}, 2),
                  "dA",
                  "dB",
                  of_matrices()};
    });
  for (const auto& made : cases)
    if (const Case c = made(); c.name.find(only) != std::string::npos) measure(c);
}
