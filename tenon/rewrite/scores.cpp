#include "tenon/rewrite/scores.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tenon/ir/estimate.h"
#include "tenon/ir/literal.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {
namespace {

class ScoresSearch {
 public:
  explicit ScoresSearch(const Program& program) : program_(program), given_(program.vars(), false), result_(given_) {}

  bool run() {
    find_largest();
    if (rows_ < fewest || columns_ < fewest || (is_one() && elements_ < fewest_of_one)) return false;
    constexpr std::size_t most = 48;  // eqns of a block of rows
    std::size_t large = 0;
    for (const Var v : program_.inputs()) given_[v] = true;
    for (const Eqn& eqn : program_.eqns()) {
      if (eqn.op == &reshape_op() && given_[eqn.in[0]]) {
        given_[eqn.out[0]] = true;
        continue;
      }
      const auto is_large = [&](Var v) { return this->is_large(v); };
      if (!leaves_results_alone(eqn)) return false;
      if (std::ranges::none_of(eqn.in, is_large) && std::ranges::none_of(eqn.out, is_large)) continue;
      if (++large > most || !fits(eqn)) return false;
    }
    // One matrix without reductions along its rows is one of pairs (stream_pairs.h).
    return makes_ && takes_ && (reduces_ || !is_one()) &&
           std::ranges::none_of(program_.outputs(), [&](Var v) { return is_large(v); });
  }

 private:
  static constexpr double fewest = 128, wide = 16;  // of rows and columns; of terms and columns of a product
  static constexpr double fewest_of_one = 1 << 18;  // elements of one matrix alone
  static constexpr double resident = 1 << 24;       // bytes of a matrix that need no division
  static constexpr double longest_row = 1 << 17;    // bytes

  const Type& type(Var v) const { return program_.type(v); }
  // An axis that the matrices lack is short where nothing is known of it.
  double elements(Var v) const {
    constexpr double short_axis = 64;
    double all = 1;
    for (const Dim& size : type(v).shape)
      all *= size.known() || shape_.rank() == 0 || std::ranges::count(shape_, size) > 0 ? estimate(size) : short_axis;
    return all;
  }
  bool is_one() const { return elements_ < 2 * rows_ * columns_; }
  // A mask may be one for all matrices.
  bool is_large(Var v) const {
    return !type(v).is_array() || elements(v) > std::max(is_one() ? 0 : rows_ * columns_, elements_ / 2 - 1);
  }
  bool is_matrix(Var v) const { return type(v).is_array() && type(v).shape == shape_; }

  // Axes from one to another, which is none of them.
  static std::vector<std::int64_t> counted(std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(to - from));
    std::iota(numbers.begin(), numbers.end(), from);
    return numbers;
  }
  std::int64_t column_axis() const { return static_cast<std::int64_t>(shape_.rank()) - 1; }
  std::vector<std::int64_t> row_axes() const { return counted(batch_axes_, column_axis()); }

  void find_largest() {
    for (const Eqn& eqn : program_.eqns()) {
      if (!is_product(*eqn.op) || elements(eqn.out[0]) <= elements_) continue;
      const Type& t = type(eqn.out[0]);
      const ProductForm form = product_form(eqn.params, type(eqn.in[0]), type(eqn.in[1]));
      if (form.free_a.empty() || form.free_b.size() != 1 || (t.dtype != DType::f32 && t.dtype != DType::f64)) continue;
      if (std::ranges::any_of(t.shape, [](const Dim& size) { return has_found_size(size); })) continue;
      shape_ = t.shape, dtype_ = t.dtype, batch_axes_ = std::ssize(form.batch_a);
      rows_ = 1, columns_ = estimate(t.shape[t.rank() - 1]), elements_ = elements(eqn.out[0]);
      for (const std::int64_t axis : row_axes()) rows_ *= estimate(t.shape[static_cast<std::size_t>(axis)]);
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
        if (is_large(v) && !is_matrix(v) && !given_[v]) return false;
    if (eqn.op == &literal_op() || counted_axis(eqn) || eqn.op == &broadcast_op() || is_elementwise(eqn)) return true;
    if (const auto form = reduction_of(eqn, program_)) {
      reduces_ = true;
      return is_matrix(eqn.in[0]) && form->axes == std::vector{column_axis()};
    }
    return is_product(*eqn.op) && fits_product(eqn);
  }

  bool fits_product(const Eqn& eqn) {
    const ProductForm form = product_form(eqn.params, type(eqn.in[0]), type(eqn.in[1]));
    if (std::ssize(form.batch_a) != batch_axes_ || type(eqn.out[0]).dtype != dtype_) return false;
    const std::array all{eqn.in[0], eqn.in[1], eqn.out[0]};
    if (std::ranges::count_if(all, [&](Var v) { return is_large(v); }) != 1) return false;
    if (std::ranges::any_of(all, [&](Var v) { return is_large(v) && !is_matrix(v); })) return false;
    double others = 0;
    for (const Var v : all) others += is_large(v) ? 0 : elements(v);
    const double bytes = rows_ * columns_ * static_cast<double>(size_of(dtype_));
    const bool divides = elements_ >= 8 * others && columns_ * static_cast<double>(size_of(dtype_)) <= longest_row;
    if (elements_ < 1.5 * others || ((is_one() || bytes > resident) && !divides)) return false;
    return is_large(eqn.out[0]) ? makes(form) : takes(eqn, form);
  }
  bool makes(const ProductForm& form) {
    if (form.free_b.size() != 1 || form.contract_a.size() != 1) return false;
    makes_ = true;
    return kernel::estimate(form.sum_sizes) >= wide;
  }
  // Matrices lie behind each other; either their columns are summed, or all of their rows.
  bool takes(const Eqn& eqn, const ProductForm& form) {
    const bool first = is_large(eqn.in[0]);
    const auto &batch = first ? form.batch_a : form.batch_b, &summed = first ? form.contract_a : form.contract_b;
    const bool sums_rows = summed == row_axes();
    if (batch != counted(0, batch_axes_) || (first ? form.free_b : form.free_a).size() != 1 ||
        !(sums_rows || summed == std::vector{column_axis()}))
      return false;
    takes_ = true, result_[eqn.out[0]] = true;
    return elements(eqn.out[0]) / (elements_ / rows_ / columns_) / (sums_rows ? columns_ : rows_) >= wide;
  }

  const Program& program_;
  std::vector<bool> given_;   // an input, or a view of one: read where it lies
  std::vector<bool> result_;  // of a product that takes matrices, or a view of it
  Shape shape_;               // of the matrices: axes of the batch, of rows, and that of columns
  DType dtype_ = DType::f32;
  std::int64_t batch_axes_ = 0;
  double rows_ = 0, columns_ = 0, elements_ = 0;  // of a matrix; of all
  bool makes_ = false, takes_ = false, reduces_ = false;
};

}  // namespace

bool has_scores(const Program& program) { return ScoresSearch(program).run(); }

}  // namespace tenon
