#include "tenon/transform/made_again.h"

#include <cmath>

#include "tenon/ir/estimate.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

constexpr std::size_t most_followed = 1000;
// More terms take longer than memory takes to keep a number and to give it back.
constexpr double most_terms = 128;
// How many times as much as what it is made of a result takes at least; and what a loop may keep without a question:
// it stays in a processor's cache.
constexpr double least_ratio = 4, kept_bytes = 1 << 20;

class Search {
 public:
  Search(const Program& body, const PartitionRequest& request, const Dim& steps)
      : body_(body),
        request_(request),
        steps_(std::max(estimate(steps), 1.)),
        makers_(body.vars(), none),
        input_(body.vars(), none),
        asked_(body.vars(), none),
        again_(body.eqns().size(), false) {}

  std::vector<bool> found() {
    for (std::size_t i = 0; i < body_.inputs().size(); ++i) input_[body_.inputs()[i]] = i;
    for (std::size_t e = 0; e < body_.eqns().size(); ++e) {
      const Eqn& eqn = body_.eqns()[e];
      again_[e] = terms_of(eqn) <= most_terms && is_far_larger(e);
      for (const Var v : eqn.out) makers_[v] = e;
    }
    return std::move(again_);
  }

 private:
  static constexpr std::size_t none = std::size_t(-1);

  // How many elements of its operands a result adds up; none of what is no sum.
  double terms_of(const Eqn& eqn) const {
    if (eqn.out.empty() || !eqn.new_sizes.empty() || effect_of(eqn) != Effect::none) return HUGE_VAL;
    if (is_product(*eqn.op))
      return kernel::estimate(product_form(eqn.params, body_.type(eqn.in[0]), body_.type(eqn.in[1])).sum_sizes);
    if (rule_of<LowerReduction>(*eqn.op) == nullptr) return HUGE_VAL;
    return estimated_elements(body_.type(eqn.in[0])) / std::max(estimated_elements(body_.type(eqn.out[0])), 1.);
  }

  bool is_far_larger(std::size_t e) {
    const Eqn& eqn = body_.eqns()[e];
    double bytes = 0;
    for (const Var v : eqn.out) bytes += estimated_bytes(body_.type(v));
    if (steps_ * bytes < kept_bytes) return false;
    std::vector<Var> waiting(eqn.in.begin(), eqn.in.end());
    double made_of = 0;
    for (std::size_t followed = 0; !waiting.empty();) {
      const Var v = waiting.back();
      waiting.pop_back();
      if (std::exchange(asked_[v], e) == e) continue;
      const std::size_t maker = makers_[v];
      if (maker != none && (again_[maker] || is_recomputable(body_.eqns()[maker]))) {
        if (++followed > most_followed) return false;
        const auto& in = body_.eqns()[maker].in;
        waiting.insert(waiting.end(), in.begin(), in.end());
      } else {
        made_of +=
            input_[v] < request_.first_carry ? estimated_bytes(body_.type(v)) / steps_ : estimated_bytes(body_.type(v));
      }
      if (bytes < least_ratio * made_of) return false;
    }
    return true;
  }

  const Program& body_;
  const PartitionRequest& request_;
  double steps_;
  std::vector<std::size_t> makers_;  // eqns, of variables
  std::vector<std::size_t> input_;   // which one a variable is
  std::vector<std::size_t> asked_;   // the last eqn that came to it
  std::vector<bool> again_;
};

}  // namespace

std::vector<bool> sums_made_again(const Program& body, const PartitionRequest& request) {
  if (!request.steps || !request.recompute) return std::vector<bool>(body.eqns().size(), false);
  return Search(body, request, *request.steps).found();
}

}  // namespace tenon
