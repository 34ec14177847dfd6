#include "tenon/rewrite/streams.h"

#include <algorithm>
#include <limits>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array combined(kernel::Combine combine, const Array& a, const Array& b) {
  return bind1(combining_op(combine), {}, {a, b});
}

// Whether it reduces few rows to one: these are combined where they are computed.
bool has_few_rows(const StreamStep& step) {
  constexpr std::int64_t few = 8;
  if (step.axes.size() != 1 || step.elements.rank() < 2) return false;
  const auto axis = static_cast<std::size_t>(step.axes[0]);
  const Dim rows = step.elements.shape()[axis];
  return axis + 1 < step.elements.rank() && rows.known() && rows.value() >= 1 && rows.value() <= few;
}
Array rows_combined(kernel::Combine combine, const Array& x, std::int64_t axis) {
  Arrays rows;
  for (std::int64_t k = 0; k < x.shape()[static_cast<std::size_t>(axis)].value(); ++k)
    rows.push_back(squeeze(slice_in_dim(x, k, k + 1, axis), axis));
  while (rows.size() > 1) {  // pair by pair
    for (std::size_t k = 0; k < rows.size() / 2; ++k) rows[k] = combined(combine, rows[2 * k], rows[2 * k + 1]);
    if (rows.size() % 2 != 0) rows[rows.size() / 2] = rows.back();
    rows.resize((rows.size() + 1) / 2);
  }
  return rows[0];
}

}  // namespace

Array along_step(const Array& x, const StreamStep& step) {
  if (step.axes.empty()) return x;
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 0; axis < step.elements.rank(); ++axis)
    if (!std::ranges::binary_search(step.axes, static_cast<std::int64_t>(axis)))
      dims.push_back(static_cast<std::int64_t>(axis));
  return broadcast_in_dim(x, step.elements.shape(), dims);
}

Dim elements_each(const StreamStep& step) {
  Dim count = 1;
  for (const std::int64_t axis : step.axes) count = count * step.elements.shape()[static_cast<std::size_t>(axis)];
  return count;
}

Array by_turn(const Array& x, std::int64_t steps_a_turn) {
  if (steps_a_turn == 1) return x;
  const Shape rows = x.shape().without_axis(0).with_axis(0, steps_a_turn);
  return reshape(x, rows.with_axis(0, exact_quotient(x.shape()[0], steps_a_turn).value()));
}

Stream monoid_stream(kernel::Combine combine, const Scalar& initial, const Type& result,
                     std::function<Array(const Array&, std::vector<std::int64_t>)> reduce) {
  const DType dtype = computed_in(result.dtype);
  return {
      .initial = {full(result.shape, Array(initial.convert(dtype)))},
      .take =
          [=](std::span<const Array> state, const StreamStep& step) {
            const Array part = convert(step.elements, dtype);
            if (has_few_rows(step))
              return Arrays{combined(combine, state[0], rows_combined(combine, part, step.axes[0]))};
            return Arrays{combined(combine, state[0], step.axes.empty() ? part : reduce(part, step.axes))};
          },
      .finish = [=](std::span<const Array> state, const Array&) { return Arrays{convert(state[0], result.dtype)}; },
      .join = [=](const Array& a, const Array& b) { return combined(combine, convert(a, dtype), convert(b, dtype)); },
      .identity = initial.convert(dtype)};
}

Stream row_stream(const Type& row) {
  return {.initial = {zeros_like(row)},
          .take = [](std::span<const Array>, const StreamStep& step) { return Arrays{step.elements}; },
          .finish = [](std::span<const Array> state, const Array&) { return Arrays{state[0]}; }};
}

Array finite_or_zero(const Array& x) { return where(abs(x) == std::numeric_limits<double>::infinity(), 0, x); }

LargestSoFar largest_so_far(const Array& before, const Array& x, const StreamStep& step) {
  const auto distance = [](const Array& a, const Array& b) { return where(a == b, 0, abs(a - b)); };  // of infinities
  if (step.axes.empty()) {  // the element is the largest, or what it was is so still
    const Array shrunk = exp(-distance(x, before)), grows = x > before;
    return {max(before, x), where(grows, 1, shrunk), where(grows, shrunk, 1)};
  }
  const Array largest = max(before, amax(x, Axes(step.axes)));
  return {largest, exp(x - along_step(finite_or_zero(largest), step)), exp(-distance(largest, before))};
}

Stream exponentials_stream(const Type& result) {
  const DType dtype = computed_in(result.dtype);
  const Array nothing = full(result.shape, Array(Scalar(0.0).convert(dtype)));
  return {.initial = {nothing - std::numeric_limits<double>::infinity(), nothing},
          .take =
              [=](std::span<const Array> state, const StreamStep& step) {
                const auto [largest, each, scale] = largest_so_far(state[0], convert(step.elements, dtype), step);
                return Arrays{largest, state[1] * scale + (step.axes.empty() ? each : sum(each, Axes(step.axes)))};
              },
          .finish =
              [=](std::span<const Array> state, const Array& reference) {
                return Arrays{convert(state[1] * exp(state[0] - convert(reference, dtype)), result.dtype)};
              }};
}

Stream masked_exponentials_stream(const Type& result) {
  const Stream all = exponentials_stream(result);
  Arrays initial = all.initial;
  initial.push_back(full(result.shape, Array(false)));
  return {.initial = std::move(initial),
          .take =
              [=](std::span<const Array> state, StreamStep step) {
                const Array some = step.axes.empty() ? step.mask : any(step.mask, Axes(step.axes));
                step.elements = where(step.mask, step.elements, -std::numeric_limits<double>::infinity());
                Arrays next = all.take(state.first(2), step);
                next.push_back(state[2] | some);
                return next;
              },
          .finish =
              [=](std::span<const Array> state, const Array& reference) {
                return Arrays{where(state[2], all.finish(state.first(2), reference)[0], 0)};
              }};
}

Array share_of_steps(const Array& before, DType dtype) { return 1 / (convert(before, dtype) + 1); }

Stream squares_stream(const Type& result, const Dim& count) {
  const DType dtype = computed_in(result.dtype);
  const Array nothing = full(result.shape, Array(Scalar(0.0).convert(dtype)));
  return {.initial = {nothing, nothing},
          .take =
              [=](std::span<const Array> state, const StreamStep& step) {
                const Array &mean = state[0], &squares = state[1], x = convert(step.elements, dtype);
                const Array& part = step.beside[0];
                if (step.axes.empty()) {
                  const Array off = x - mean, next = mean + off * part;
                  return Arrays{next, squares + off * (x - next)};
                }
                const Array elements = convert(size_as_array(elements_each(step)), dtype);
                const Array here = tenon::sum(x, Axes(step.axes)) / elements, off = here - mean;
                const Array own = tenon::sum(square(x - along_step(here, step)), Axes(step.axes));
                return Arrays{mean + off * part, squares + own + square(off) * (elements * (1 - part))};
              },
          .finish =
              [=](std::span<const Array> state, const Array& reference) {
                const Array all = convert(size_as_array(count), dtype);
                return Arrays{convert(state[1] + square(state[0] - convert(reference, dtype)) * all, result.dtype)};
              },
          .beside = [=](const Array& before) { return Arrays{share_of_steps(before, dtype)}; }};
}

Stream masked_squares_stream(const Type& result) {
  const DType dtype = computed_in(result.dtype);
  const Array nothing = full(result.shape, Array(Scalar(0.0).convert(dtype)));
  return {.initial = {nothing, nothing, nothing},
          .take =
              [=](std::span<const Array> state, const StreamStep& step) {
                const Array &mean = state[0], &squares = state[1], &before = state[2];
                const Array x = convert(step.elements, dtype), counts = convert(step.mask, dtype);
                if (step.axes.empty()) {
                  const Array off = where(step.mask, x - mean, 0), count = before + counts;
                  const Array next = mean + off / max(count, 1);
                  return Arrays{next, squares + where(step.mask, off * (x - next), 0), count};
                }
                const Axes axes(step.axes);
                const Array here = tenon::sum(counts, axes), count = before + here, some = max(count, 1);
                const Array own = tenon::sum(where(step.mask, x, 0), axes) / max(here, 1), off = own - mean;
                const Array around = tenon::sum(square(where(step.mask, x - along_step(own, step), 0)), axes);
                return Arrays{where(here > 0, mean + off * (here / some), mean),
                              squares + around + where(here > 0, square(off) * (here * (before / some)), 0), count};
              },
          .finish =
              [=](std::span<const Array> state, const Array& reference) {
                const Array off = square(state[0] - convert(reference, dtype)) * state[2];
                return Arrays{convert(state[1] + where(state[2] > 0, off, 0), result.dtype)};
              }};
}

Stream first_index_stream(kernel::Combine combine, const Scalar& initial, const Type& result, DType of,
                          const Dim& count, const Scalar& none, bool backwards) {
  const DType dtype = computed_in(of);
  return {.initial = {full(result.shape, Array(initial.convert(dtype))), full(result.shape, Array(none))},
          .take =
              [=](std::span<const Array> state, const StreamStep& step) {
                const Array &best = state[0], &index = state[1], x = convert(step.elements, dtype);
                Array here = x, place = convert(step.index, result.dtype);
                if (!step.axes.empty()) {
                  const std::int64_t axis = step.axes[0];
                  here = combine == kernel::Combine::max ? amax(x, axis) : amin(x, axis);
                  Array first = x == along_step(here, step);
                  if (is_real(dtype)) first = first | (x != x);
                  const Dim count = x.shape()[static_cast<std::size_t>(axis)];
                  const Array places = iota(result.dtype, x.shape(), axis);
                  place = place * convert(size_as_array(count), result.dtype) +
                          amin(where(first, places, Array(none)), axis);
                }
                const bool largest = combine == kernel::Combine::max;
                Array better;
                if (backwards)
                  better = largest ? here >= best : here <= best;
                else if (is_real(dtype))  // or NaN
                  better = (!(largest ? here <= best : here >= best)) & (best == best);
                else
                  better = largest ? here > best : here < best;
                if (backwards && is_real(dtype)) better = better | (here != here);
                return Arrays{combined(combine, best, here), where(better, place, index)};
              },
          .finish =
              [=](std::span<const Array> state, const Array&) {
                // None is better than what the state begins with: then all are that, the first as well.
                const Array first = where(size_as_array(count) > 0, 0, Array(none));
                return Arrays{where(state[1] == Array(none), convert(first, result.dtype), state[1])};
              },
          .numbered = true};
}

Stream first_in_order_stream(const Type& values, const Type& places, const Dim& count, bool smallest, bool backwards) {
  const DType dtype = computed_in(values.dtype);
  const auto last = values.rank() - 1;
  const auto k = static_cast<std::size_t>(values.shape[last].value());
  const Shape shape = values.shape.without_axis(last);
  Arrays initial(k, full(shape, Array((smallest ? highest(values.dtype) : lowest(values.dtype)).convert(dtype))));
  initial.insert(initial.end(), k, full(shape, Array(Scalar(0).convert(places.dtype))));
  // Whether x, which comes after y, precedes it. NaN is the largest.
  const auto precedes = [=](const Array& x, const Array& y) {
    const Array &low = smallest ? x : y, &high = smallest ? y : x;
    if (!is_real(dtype)) return backwards ? low <= high : low < high;
    return backwards ? (low <= high) | (high != high) : (!(high <= low)) & (low == low);
  };
  const auto put = [=](Arrays& state, const Array& x, const Array& number) {
    const Array place = broadcast_in_dim(number, shape, {});
    const Array held = backwards ? convert(size_as_array(count), places.dtype) - 1 - number : number;
    Array before;  // whether x precedes the one before
    Array other, place_of_other;
    for (std::size_t i = 0; i < k; ++i) {
      const Array last = std::exchange(other, state[i]), place_of_last = std::exchange(place_of_other, state[k + i]);
      const Array here = precedes(x, other) | (held <= static_cast<std::int32_t>(i));
      state[i] = where(here, i == 0 ? x : where(before, last, x), other);
      state[k + i] = where(here, i == 0 ? place : where(before, place_of_last, place), place_of_other);
      before = here;
    }
  };
  return {.initial = std::move(initial),
          .take =
              [=](std::span<const Array> state, const StreamStep& step) {
                Arrays next(state.begin(), state.end());
                const Array x = convert(step.elements, dtype), place = convert(step.index, places.dtype);
                if (step.axes.empty()) {
                  put(next, x, place);
                  return next;
                }
                const std::int64_t axis = step.axes[0], rows = x.shape()[static_cast<std::size_t>(axis)].value();
                for (std::int64_t i = 0; i < rows; ++i) {
                  const std::int64_t row = backwards ? rows - 1 - i : i;
                  put(next, squeeze(slice_in_dim(x, row, row + 1, axis), axis), place * rows + row);
                }
                return next;
              },
          .finish =
              [=](std::span<const Array> state, const Array&) {
                const auto axis = static_cast<std::int64_t>(last);
                return Arrays{convert(stack(state.first(k), axis), values.dtype), stack(state.subspan(k), axis)};
              },
          .numbered = true};
}

}  // namespace tenon
