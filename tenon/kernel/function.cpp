#include "tenon/kernel/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tenon/base/dim_fold.h"
#include "tenon/base/error.h"

namespace tenon::kernel {

double estimate(const Sizes& sizes) {
  double product = 1;
  for (const Dim& s : sizes) product *= estimate(s);
  return product;
}

std::vector<Reduce::Result> Reduce::results() const {
  std::vector<Result> all{{combine, initial, value, slot, offset}};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}
void Reduce::set_results(std::vector<Result> all) {
  combine = all[0].combine, initial = all[0].initial, value = all[0].value;
  slot = all[0].slot, offset = all[0].offset;
  all.erase(all.begin());
  others = std::move(all);
}
Nest Reduce::stores_everywhere() const {
  Nest nest{outer_vars, outer_sizes, stores, true, where};
  nest.vars.insert(nest.vars.end(), inner_vars.begin(), inner_vars.end());
  nest.sizes.insert(nest.sizes.end(), inner_sizes.begin(), inner_sizes.end());
  return nest;
}

namespace {

// No size that is between them for all that is found is left out; absent: without end on that side.
using Bound = std::optional<Dim>;
struct Between {
  Bound low, high;
};

bool at_least(const Bound& x, std::int64_t least) { return x && at_least(*x, least); }
template <class F>
Bound of_both(const Bound& x, const Bound& y, F f) {
  return x && y ? Bound(f(*x, *y)) : Bound();
}

Between product(const Between& x, const Between& y) {
  const auto times = [](const Dim& a, const Dim& b) { return a * b; };
  for (const auto& [number, other] : {std::pair(&x, &y), std::pair(&y, &x)}) {
    const Bound& n = number->low;
    if (!n || !n->known() || number->high != n) continue;
    if (*n == Dim(0)) return {0, 0};
    const Between scaled{of_both(n, other->low, times), of_both(n, other->high, times)};
    return n->value() < 0 ? Between{scaled.high, scaled.low} : scaled;
  }
  if (!at_least(x.low, 0) || !at_least(y.low, 0)) return {};
  return {of_both(x.low, y.low, times), of_both(x.high, y.high, times)};
}
// Rounded down, or what is left; a divisor that is found may be 0, and counts as 1 then.
Between quotient(const Between& x, const Between& y) {
  const auto over = [](const Dim& a, const Dim& b) { return floor_div(a, b); };
  if (y.low == y.high && at_least(y.low, 1)) return {of_both(x.low, y.low, over), of_both(x.high, y.low, over)};
  if (!at_least(x.low, 0) || !at_least(y.low, 0)) return {};
  return {0, x.high};
}
Between rest(const Between& y) {
  if (!at_least(y.low, 0)) return {};
  return {0, y.high ? Bound(max(*y.high, 1)) : Bound()};
}
// Of the larger one where `most`, else of the smaller: a side that is not known for both may be known for one.
Bound extremum(const Bound& x, const Bound& y, bool most, bool either) {
  if (x && y) return most ? max(*x, *y) : min(*x, *y);
  return either ? (x ? x : y) : Bound();
}

Between combined(Dim::Step::Kind kind, const Between& x, const Between& y) {
  using Kind = Dim::Step::Kind;
  const auto plus = [](const Dim& a, const Dim& b) { return a + b; };
  switch (kind) {
    case Kind::add:
      return {of_both(x.low, y.low, plus), of_both(x.high, y.high, plus)};
    case Kind::mul:
      return product(x, y);
    case Kind::floor_div:
      return quotient(x, y);
    case Kind::modulo:
      return rest(y);
    case Kind::min:
      return {extremum(x.low, y.low, false, false), extremum(x.high, y.high, false, true)};
    default:
      return {extremum(x.low, y.low, true, true), extremum(x.high, y.high, true, false)};
  }
}

}  // namespace

std::optional<Dim> largest(const Function& function, const Dim& size) {
  if (!has_found_size(size)) return size;
  const auto of_leaf = [&](const Dim::Step& step) {
    if (step.kind == Dim::Step::Kind::number) return Between{Dim(step.value), Dim(step.value)};
    const auto v = static_cast<SizeVar>(step.value);
    return is_found_size(v) ? Between{0, function.slots[slot_of_size(v)].most}
                            : Between{Dim::variable(v), Dim::variable(v)};
  };
  return folded<Between>(size, of_leaf, combined).high;
}

std::optional<std::int64_t> bound_of(const Function& function, const Dim& any) {
  const std::optional<Dim> size = largest(function, any);
  if (!size || size->known()) return size ? size->try_value() : std::nullopt;
  using Kind = Dim::Step::Kind;
  using Most = std::optional<std::int64_t>;
  return folded<Most>(
      *size, [](const Dim::Step& step) { return step.kind == Kind::number ? Most(step.value) : Most(); },
      [](Kind kind, const Most& x, const Most& y) {
        if (kind == Kind::modulo) return y && *y > 0 ? Most(*y - 1) : Most();
        return kind == Kind::min && (x || y) ? Most(std::min(x ? *x : *y, y ? *y : *x)) : Most();
      });
}

Dim room_for(const Function& function, DType dtype, const Dim& elements) {
  constexpr double most_bytes = 1 << 28;
  const std::optional<Dim> most = largest(function, elements);
  return most && (most == elements || estimate(*most) * static_cast<double>(size_of(dtype)) <= most_bytes) ? *most
                                                                                                           : elements;
}

}  // namespace tenon::kernel
