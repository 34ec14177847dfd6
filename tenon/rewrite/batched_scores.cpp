#include "tenon/rewrite/batched_scores.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tenon/ir/estimate.h"
#include "tenon/ir/literal.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {
namespace {

class ScoresSearch {
 public:
  explicit ScoresSearch(const Program& program) : program_(program), result_(program.vars(), false) {}

  bool run() {
    find_largest();
    if (rows_ < fewest || columns_ < fewest || elements_ / rows_ / columns_ < 2) return false;
    constexpr std::size_t most = 48;  // eqns of a block of rows
    std::size_t large = 0;
    for (const Eqn& eqn : program_.eqns()) {
      const auto is_large = [&](Var v) { return this->is_large(v); };
      if (!leaves_results_alone(eqn)) return false;
      if (std::ranges::none_of(eqn.in, is_large) && std::ranges::none_of(eqn.out, is_large)) continue;
      if (++large > most || !fits(eqn)) return false;
    }
    return makes_ && takes_ && std::ranges::none_of(program_.outputs(), [&](Var v) { return is_large(v); });
  }

 private:
  static constexpr double fewest = 128, wide = 16;  // of rows and columns; of terms and columns of a product
  static constexpr double resident = 1 << 24;       // bytes of a matrix that need no division
  static constexpr double longest_row = 1 << 17;    // bytes

  const Type& type(Var v) const { return program_.type(v); }
  double elements(Var v) const { return estimated_elements(type(v)); }
  // A mask may be one for all matrices.
  bool is_large(Var v) const {
    return !type(v).is_array() || elements(v) > std::max(rows_ * columns_, elements_ / 2 - 1);
  }
  bool is_matrix(Var v) const { return type(v).is_array() && type(v).shape == shape_; }

  std::int64_t row_axis() const { return static_cast<std::int64_t>(shape_.rank()) - 2; }
  static std::vector<std::int64_t> counted_to(std::int64_t n) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }

  void find_largest() {
    for (const Eqn& eqn : program_.eqns()) {
      if (!is_product(*eqn.op) || elements(eqn.out[0]) <= elements_) continue;
      const Type& t = type(eqn.out[0]);
      if (t.rank() < 3 || !t.shape.known() || (t.dtype != DType::f32 && t.dtype != DType::f64)) continue;
      shape_ = t.shape, dtype_ = t.dtype;
      rows_ = estimate(t.shape[t.rank() - 2]), columns_ = estimate(t.shape[t.rank() - 1]);
      elements_ = elements(eqn.out[0]);
    }
  }

  bool is_combined(const Eqn& eqn) const {
    return eqn.op == &broadcast_op() || is_elementwise(eqn) || is_product(*eqn.op) || reduction_of(eqn, program_);
  }
  // What products of matrices give has memory of its own: it is not put beside others, in a concatenation or an update.
  bool leaves_results_alone(const Eqn& eqn) {
    if (std::ranges::none_of(eqn.in, [&](Var v) { return bool(result_[v]); }) || is_combined(eqn)) return true;
    if (eqn.op != &reshape_op() && eqn.op != &transpose_op()) return false;
    result_[eqn.out[0]] = true;
    return true;
  }

  bool fits(const Eqn& eqn) {
    if (!eqn.new_sizes.empty() || effect_of(eqn) != Effect::none || eqn.numerics == Numerics::strict) return false;
    for (const auto& vars : {eqn.in, eqn.out})
      for (const Var v : vars)
        if (is_large(v) && !is_matrix(v)) return false;
    if (eqn.op == &literal_op() || counted_axis(eqn) || eqn.op == &broadcast_op() || is_elementwise(eqn)) return true;
    if (const auto form = reduction_of(eqn, program_)) return form->axes == std::vector{row_axis() + 1};
    return is_product(*eqn.op) && fits_product(eqn);
  }

  bool fits_product(const Eqn& eqn) {
    const ProductForm form = product_form(eqn.params, type(eqn.in[0]), type(eqn.in[1]));
    if (form.batch_a.size() != static_cast<std::size_t>(row_axis()) || form.contract_a.size() != 1 ||
        form.free_a.size() != 1 || form.free_b.size() != 1 || type(eqn.out[0]).dtype != dtype_)
      return false;
    for (std::size_t i = 0; i < 2; ++i) {  // matrices lie behind each other
      const auto& batch = i == 0 ? form.batch_a : form.batch_b;
      if (is_large(eqn.in[i]) && batch != counted_to(row_axis())) return false;
    }
    const std::array all{eqn.in[0], eqn.in[1], eqn.out[0]};
    const auto large = std::ranges::count_if(all, [&](Var v) { return is_large(v); });
    if (large != 1) return false;
    double others = 0;
    for (const Var v : all) others += is_large(v) ? 0 : elements(v);
    const double bytes = rows_ * columns_ * static_cast<double>(size_of(dtype_));
    const bool divides = elements_ >= 8 * others && columns_ * static_cast<double>(size_of(dtype_)) <= longest_row;
    if (elements_ < 1.5 * others || (bytes > resident && !divides)) return false;
    const bool makes = is_large(eqn.out[0]);
    (makes ? makes_ : takes_) = true;
    if (makes) return kernel::estimate(form.sum_sizes) >= wide;
    result_[eqn.out[0]] = true;
    const bool sums_rows = (is_large(eqn.in[0]) ? form.contract_a[0] : form.contract_b[0]) == row_axis();
    const double batch = elements_ / rows_ / columns_;
    return elements(eqn.out[0]) / batch / (sums_rows ? columns_ : rows_) >= wide;
  }

  const Program& program_;
  std::vector<bool> result_;  // of a product that takes matrices, or a view of it
  Shape shape_;
  DType dtype_ = DType::f32;
  double rows_ = 0, columns_ = 0, elements_ = 0;
  bool makes_ = false, takes_ = false;
};

}  // namespace

bool has_batched_scores(const Program& program) { return ScoresSearch(program).run(); }

}  // namespace tenon
