#include "bench/gradbench/gmm.h"

#include "bench/gradbench/case.h"

namespace gradbench {
namespace {

struct Parameters {
  Array alpha, mu, q, l;
};

// The matrices L, [k,d,d]: l below the diagonal, by columns, and e^q on it.
Array factors(const Parameters& p, const Array& diagonal) {
  const std::int64_t k = p.q.size(0), d = p.q.size(1);
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t j = 0; j < d; ++j)
    for (std::int64_t i = j + 1; i < d; ++i) rows.push_back(i), columns.push_back(j);
  const Array below = tn::zeros({k, d, d}, tn::DType::f64).at(tn::all, tn::from(rows), tn::from(columns)).set(p.l);
  return below + diagonal(tn::all, tn::all, tn::newaxis) * tn::eye(d, tn::DType::f64);
}

Array log_likelihood(const Parameters& p, const Array& x) {
  const std::int64_t n = x.size(0), k = p.q.size(0), d = p.q.size(1);
  const Array diagonal = tn::exp(p.q);
  const Array scaled = tn::einsum("kij,nkj->nki", factors(p, diagonal), x(tn::all, tn::newaxis) - p.mu);
  const Array each = p.alpha + tn::sum(p.q, -1) - 0.5 * tn::sum(tn::square(scaled), -1);
  const Array prior = tn::sum(tn::square(diagonal)) + tn::sum(tn::square(p.l));
  return gmm::constant(static_cast<int>(d), static_cast<int>(k), static_cast<int>(n)) +
         tn::sum(tn::logsumexp(each, -1)) - static_cast<double>(n) * tn::logsumexp(p.alpha) - 0.5 * prior;
}

}  // namespace

bool run_gmm() {
  bool agrees = true;
  for (const auto& [d, k, n] : {std::array{10, 25, 1000}, std::array{20, 50, 10000}}) {
    const gmm::Inputs in(d, k, n);
    const Parameters p{array(in.alpha, {k}), array(in.mu, {k, d}), array(in.q, {k, d}),
                       array(in.l, {k, d * (d - 1) / 2})};
    agrees =
        measure(in.name(), log_likelihood, tn::grad(log_likelihood), gmm::by_hand(in, true), p, array(in.x, {n, d})) &&
        agrees;
  }
  return agrees;
}

}  // namespace gradbench
