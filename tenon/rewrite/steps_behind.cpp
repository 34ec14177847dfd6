#include "tenon/rewrite/steps_behind.h"

#include <algorithm>

#include "tenon/base/estimate.h"
#include "tenon/base/settings.h"
#include "tenon/ops/element_form.h"
#include "tenon/rewrite/streams.h"

namespace tenon {
namespace {

class StepsBehind {
 public:
  StepsBehind(const Program& program, StepsOf steps, FunctionRef<bool(Var)> is_before, bool reverse)
      : program_(program), steps_(steps), is_before_(is_before), reverse_(reverse) {}

  std::optional<StepsIn> behind(const Eqn& eqn) const {
    if (eqn.out.size() != 1 || !eqn.new_sizes.empty()) return std::nullopt;
    if (eqn.op == &gather_op()) return steps_of_gather(eqn);
    if (is_product(*eqn.op)) return steps_of_product(eqn);
    std::optional<StepsIn> steps;
    for (Var v : eqn.in) {
      const auto own = steps_(v);
      if (!own && !is_before_(v)) return std::nullopt;
      if (own && steps && own != steps) {
        const auto both = is_elementwise(eqn) ? of_later(*own, *steps) : std::nullopt;
        if (!both) return std::nullopt;
        steps = both;
      } else if (own) {
        steps = own;
      }
    }
    const Type &from = type(eqn.in[0]), &out = type(eqn.out[0]);
    if (!out.is_array()) return std::nullopt;
    const std::int64_t axis = steps->axis;
    if (eqn.op == &reshape_op()) {
      const Dim elements = step_shape(from.shape, *steps).elements();
      steps = parts_along(out.shape, elements_before(from.shape, at(axis)), *steps);
      if (steps && step_shape(out.shape, *steps).elements() != elements) return std::nullopt;
    } else if (eqn.op == &slice_op()) {
      const SliceForm form = slice_form(eqn.params);
      if (out.shape[at(axis)] != from.shape[at(axis)]) {
        if (steps->chunk || !form.start[at(axis)].known() || !out.shape[at(axis)].known() ||
            !from.shape[at(axis)].known())
          return std::nullopt;
        steps->first = steps->first + form.start[at(axis)] * steps->stride;
        steps->count = out.shape[at(axis)];
        steps->stride *= form.stride[at(axis)];
      } else if (form.stride[at(axis)] != 1) {
        return std::nullopt;
      }
    } else if (eqn.op == &reverse_op()) {
      if (std::ranges::count(reversed_axes(eqn.params), axis) > 0) {
        if (steps->chunk || !steps->count.known() || !steps->first.known()) return std::nullopt;
        steps->first = steps->first + (steps->count - 1) * steps->stride;
        steps->stride = -steps->stride;
      }
    } else if (const auto to = axis_in_result(program_, eqn, eqn.in[0], axis)) {
      steps->axis = *to;
    } else {
      return std::nullopt;
    }
    return steps;
  }

 private:
  const Type& type(Var v) const { return program_.type(v); }

  // Of what reads one step of an array at places that this step's indices say.
  std::optional<StepsIn> steps_of_gather(const Eqn& eqn) const {
    const auto of = steps_(eqn.in[0]), own = steps_(eqn.in[1]);
    const auto batch = of && !of->chunk ? gather_batch(eqn.params, of->axis, type(eqn.out[0]).rank()) : std::nullopt;
    if (!batch || (own ? *own != with_axis(*of, batch->indices) : !is_before_(eqn.in[1]))) return std::nullopt;
    return with_axis(*of, batch->result);
  }
  // Of a product of each step's rows with what is the same at each: it makes few numbers of a row, or a step has enough
  // rows for a product of its own.
  std::optional<StepsIn> steps_of_product(const Eqn& eqn) const {
    if (eqn.numerics != Numerics::relaxed || !is_real(type(eqn.out[0]).dtype)) return {};
    const ProductForm form = product_form(eqn.params, type(eqn.in[0]), type(eqn.in[1]));
    if (form.contract_a.empty()) return {};
    for (const bool swapped : {false, true}) {
      const Var v = eqn.in[swapped ? 1 : 0], other = eqn.in[swapped ? 0 : 1];
      const auto own = steps_(v);
      if (!own || steps_(other) || !is_before_(other)) continue;
      const auto& free = swapped ? form.free_b : form.free_a;
      const auto place = std::ranges::find(free, own->axis);
      if (place == free.end()) return {};
      const bool few = makes_few_of_rows(program_, eqn);
      if (few ? own->chunk.has_value() : rows_of_step(v, *own, free) < fewest_rows()) return {};
      const std::size_t before = form.batch_a.size() + (swapped ? form.free_a.size() : 0);
      return with_axis(*own, static_cast<std::int64_t>(before) + (place - free.begin()));
    }
    return {};
  }
  static double fewest_rows() { return blocks_are_small() ? 2 : 32; }
  double rows_of_step(Var v, const StepsIn& steps, const std::vector<std::int64_t>& free) const {
    double rows = steps.chunk ? estimate(*steps.chunk) : 1;
    for (const std::int64_t axis : free)
      if (axis != steps.axis) rows *= estimate(type(v).shape[at(axis)]);
    return rows;
  }
  // Of as many steps of two arrays, those that come later in the loop.
  std::optional<StepsIn> of_later(const StepsIn& a, const StepsIn& b) const {
    constexpr std::int64_t most = 4;  // steps that it holds what they made
    if (a.axis != b.axis || a.chunk || b.chunk || a.count != b.count || a.stride != b.stride) return {};
    const auto apart = (a.first - b.first).try_value();
    if (!apart || std::abs(*apart) > most) return {};
    return (*apart > 0) != reverse_ ? a : b;
  }

  const Program& program_;
  const StepsOf steps_;
  const FunctionRef<bool(Var)> is_before_;
  const bool reverse_;
};

}  // namespace

bool makes_few_of_rows(const Program& program, const Eqn& product) {
  constexpr double most = 4;
  const Type &a = program.type(product.in[0]), &b = program.type(product.in[1]);
  const ProductForm form = product_form(product.params, a, b);
  double of_a = 1, of_b = 1;
  for (const std::int64_t axis : form.free_b) of_a *= estimate(b.shape[at(axis)]);
  for (const std::int64_t axis : form.free_a) of_b *= estimate(a.shape[at(axis)]);
  return std::min(of_a, of_b) <= most;
}

std::optional<StepsIn> steps_behind(const Program& program, const Eqn& eqn, StepsOf steps,
                                    FunctionRef<bool(Var)> is_before, bool reverse) {
  return StepsBehind(program, steps, is_before, reverse).behind(eqn);
}

}  // namespace tenon
