// explain(f)(args…): what a function becomes when it is compiled, as text.
#pragma once

#include "tenon/api/jit.h"
#include "tenon/compile/report.h"

namespace tenon {

namespace api_detail {

// Collects what derivatives keep and what hoist_reductions() moves while a function is traced on this thread.
class TracingReport {
 public:
  TracingReport();
  ~TracingReport();
  TracingReport(const TracingReport&) = delete;
  TracingReport& operator=(const TracingReport&) = delete;
  Report report;

 private:
  TracingReport* before_;
};

std::string explain_traced(const TracedFunction& traced, const std::vector<bool>& donated, Report report);

template <class F>
struct Explained {
  F f;
  std::vector<std::size_t> donate;
  RuleSetRef rules;
  Numerics numerics;
  template <class... Args>
  std::string operator()(const Args&... args) {
    const std::array<std::size_t, sizeof...(Args)> counts{tree::leaves(args).size()...};
    TracingReport tracing;
    Flattened<F, Args...> flat(f, args...);
    const TracedFunction traced =
        traced_by_rules(rules, numerics, [&] { return trace_flat(flat, flat.arguments(), writes_refs); });
    return explain_traced(traced, donation_of(donate, counts).leaves, std::move(tracing.report));
  }
};

}  // namespace api_detail

// std::cout << tn::explain(step)(params, xs, ys): the kernels with their ops, operations and bytes; the matrix
// products; the memory needed at most; what is kept for reverse mode; what is stored instead of being fused, and why;
// which reductions loops take in, and why others stay behind them; copies that in-place semantics could not avoid; and
// why a function runs by the reference evaluator, if it does; each with the user's line. f is a function, or what jit()
// made of it; it is traced once more, and not run. Throws what tracing throws.
//   const std::string told = tn::explain([](Array x) { return tn::sum(tn::exp(x)); })(Array{1.f, 2.f});
template <class F>
auto explain(F f) {
  return api_detail::Explained<F>{std::move(f), {}, api_detail::rules_here(), numerics_here()};
}
template <class F>
auto explain(const Jitted<F>& f) {
  return api_detail::Explained<F>{f.function(), f.options().donate, f.rules(), f.options().numerics};
}

}  // namespace tenon
