// GMM: the log-likelihood of points under a mixture of Gaussians with a Wishart prior. The inverse square root of each
// covariance is a lower triangular matrix L with the diagonal e^q; the gradient is in alpha, mu, q and l.
#pragma once

#include <algorithm>
#include <numbers>

#include "bench/gradbench/data.h"

namespace gradbench::gmm {

struct Inputs {
  int d, k, n;
  Values alpha, mu, q, l, x;  // [k], [k,d], [k,d], [k,d(d-1)/2] by columns of L, [n,d]
  Inputs(int d, int k, int n)
      : d(d),
        k(k),
        n(n),
        alpha(values(1, static_cast<std::size_t>(k), -1, 1)),
        mu(values(2, static_cast<std::size_t>(k * d), -1, 1)),
        q(values(3, static_cast<std::size_t>(k * d), -0.5, 0.5)),
        l(values(4, static_cast<std::size_t>(k * d * (d - 1) / 2), -0.3, 0.3)),
        x(values(5, static_cast<std::size_t>(n * d), -2, 2)) {}
  std::string name() const {
    return "gradbench gmm d" + std::to_string(d) + " k" + std::to_string(k) + " n" + std::to_string(n);
  }
};

// What does not depend on the parameters: the prior has gamma 1 and m 0.
inline double constant(int d, int k, int n) {
  const double freedom = d + 1;
  double log_gamma = 0.25 * d * (d - 1) * std::log(std::numbers::pi);
  for (int j = 1; j <= d; ++j) log_gamma += std::lgamma(0.5 * freedom + 0.5 * (1 - j));
  return -0.5 * n * d * std::log(2 * std::numbers::pi) - k * (0.5 * freedom * d * std::numbers::ln2 + log_gamma);
}

inline Result by_hand(const Inputs& in, bool gradient) {
  const int d = in.d, k = in.k, below = d * (d - 1) / 2;
  Values diagonal(in.q.size()), sums(static_cast<std::size_t>(k)), weights(static_cast<std::size_t>(k));
  Values away(static_cast<std::size_t>(k * d)), scaled(static_cast<std::size_t>(k * d));  // x - mu, L·(x - mu)
  Result result{constant(d, k, in.n), Values(gradient ? in.alpha.size() + 2 * in.q.size() + in.l.size() : 0)};
  double *d_alpha = result.derivative.data(), *d_mu = d_alpha + k, *d_q = d_mu + k * d, *d_l = d_q + k * d;
  double prior = 0;
  for (std::size_t i = 0; i < in.q.size(); ++i) diagonal[i] = std::exp(in.q[i]), prior += diagonal[i] * diagonal[i];
  for (const double l : in.l) prior += l * l;
  for (int c = 0; c < k; ++c)
    for (int i = 0; i < d; ++i) sums[c] += in.q[c * d + i];
  for (int point = 0; point < in.n; ++point) {
    for (int c = 0; c < k; ++c) {
      double *a = &away[c * d], *s = &scaled[c * d], square = 0;
      for (int i = 0; i < d; ++i) {
        a[i] = in.x[point * d + i] - in.mu[c * d + i];
        s[i] = diagonal[c * d + i] * a[i];
      }
      const double* l = &in.l[c * below];
      for (int j = 0; j < d; ++j)
        for (int i = j + 1; i < d; ++i) s[i] += *l++ * a[j];
      for (int i = 0; i < d; ++i) square += s[i] * s[i];
      weights[c] = in.alpha[c] + sums[c] - 0.5 * square;
    }
    result.value += log_sum_exp(weights.data(), k);
    for (int c = 0; gradient && c < k; ++c) {
      const double w = weights[c], *a = &away[c * d], *s = &scaled[c * d], *l = &in.l[c * below];
      d_alpha[c] += w;
      for (int i = 0; i < d; ++i) {
        d_q[c * d + i] += w * (1 - s[i] * a[i] * diagonal[c * d + i]);
        d_mu[c * d + i] += w * diagonal[c * d + i] * s[i];
      }
      double* to = d_l + c * below;
      for (int j = 0; j < d; ++j)
        for (int i = j + 1; i < d; ++i) {
          *to++ -= w * s[i] * a[j];
          d_mu[c * d + j] += w * *l++ * s[i];
        }
    }
  }
  Values shares = in.alpha;
  result.value -= in.n * log_sum_exp(shares.data(), k) + 0.5 * prior;
  if (!gradient) return result;
  for (int c = 0; c < k; ++c) d_alpha[c] -= in.n * shares[c];
  for (int i = 0; i < k * d; ++i) d_q[i] -= diagonal[i] * diagonal[i];
  for (int i = 0; i < k * below; ++i) d_l[i] -= in.l[i];
  return result;
}

}  // namespace gradbench::gmm
