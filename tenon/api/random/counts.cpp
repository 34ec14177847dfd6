// Poisson and binomial counts: few by sums, many by Hörmann's transformed rejection, all numbers in one loop.
#include <array>
#include <functional>
#include <limits>

#include "tenon/api/loops.h"
#include "tenon/api/random/parameters.h"
#include "tenon/api/special.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/promotion.h"

namespace tenon::random {
namespace {

constexpr std::int32_t most_rounds = std::numeric_limits<std::int32_t>::max();

Array no_round() { return Array(Scalar(std::int32_t(0))); }
Array same(const Array& like, double x) { return broadcast_to(Array(Scalar(x).convert(like.dtype())), like.shape()); }

// A key for what is left, a value for each number, and where it is accepted.
struct Proposed {
  Array key, value, accepted;
};

// What `propose`, of a key, makes where it is accepted first; -1 where it never is.
Array until_all_accepted(const Array& key, const Array& like,
                         const std::function<Proposed(const Array& key)>& propose) {
  struct State {
    Array rounds, made, there, key;
  };
  const auto step = [&](const State& at) {
    const Proposed next = propose(at.key);
    return State{at.rounds + 1, where(next.accepted, next.value, at.made), at.there | next.accepted, next.key};
  };
  const auto unfinished = [](const State& at) { return any(!at.there) & (at.rounds < most_rounds); };
  const Array none = broadcast_to(Array(Scalar(false)), like.shape());
  return while_loop(unfinished, step, State{no_round(), same(like, -1), none, key}).made;
}

// The key for what is left, u - 1/2, v and 1/2 - |u - 1/2| of uniform u, v.
struct Hat {
  Array key, u, v, away;
};
Hat hat(const Array& key, const Array& like) {
  const Array keys = random::split(key, 3), u = uniform(keys(1), like.shape(), like.dtype()) - 0.5;
  return {keys(0), u, uniform(keys(2), like.shape(), like.dtype()), 0.5 - abs(u)};
}

// How many uniform numbers there are before their product falls below exp(-rate).
Array few_events(const Array& key, const Array& rate, DType dtype) {
  struct State {
    Array rounds, k, key, logs;
  };
  const auto step = [&](const State& at) {
    const Array keys = random::split(at.key), k = at.k + convert(at.logs > -rate, dtype);
    return State{at.rounds + 1, k, keys(0), at.logs + log(uniform(keys(1), rate.shape(), DType::f32))};
  };
  const auto unfinished = [&](const State& at) { return any(at.logs > -rate) & (at.rounds < most_rounds); };
  const State start{no_round(), zeros(rate.shape(), dtype), key, zeros_like(rate)};
  return while_loop(unfinished, step, start).k - 1;
}

Array many_events(const Array& key, const Array& rate) {
  const Array log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
  const Array inverse = 1.1239 + 1.1328 / (b - 3.4), enough = 0.9277 - 3.6224 / (b - 2);
  return until_all_accepted(key, rate, [=](const Array& key) {
    const auto [next, u, v, away] = hat(key, rate);
    const Array k = floor((2 * a / away + b) * u + rate + 0.43);
    const Array s = log(v * inverse / (a / (away * away) + b));
    const Array density = -rate + k * log_rate - special::lgamma(k + 1);
    const Array at_once = (away >= 0.07) & (v <= enough);
    const Array never = (k < 0) | ((away < 0.013) & (v > away));
    return Proposed{next, k, at_once | ((!never) & (s <= density))};
  });
}

// What Stirling's formula leaves of log k!, of k up to 9 from a table.
Array stirling_rest(const Array& k) {
  static constexpr std::array<double, 10> table{
      0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
      0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
  Arrays rows;
  for (const double x : table) rows.push_back(Array(Scalar(x).convert(k.dtype())));
  const Array small = clamp(0.0, k, 9.0);
  const Array square = (small + 1) * (small + 1);
  const Array series = (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / (small + 1);
  return where(k <= 9, take(stack(rows), convert(floor(small), DType::i32)), series);
}

// How many geometric numbers there are before their sum exceeds the count.
Array few_successes(const Array& key, const Array& count, const Array& q) {
  const Array slope = log1p(-q);
  struct State {
    Array rounds, k, total, key;
  };
  const auto step = [&](const State& at) {
    const Array keys = random::split(at.key), k = where(at.total <= count, at.k + 1, at.k);
    return State{at.rounds + 1, k, at.total + ceil(log(uniform(keys(0), q.shape(), q.dtype())) / slope), keys(1)};
  };
  const auto unfinished = [&](const State& at) { return any(at.total <= count) & (at.rounds < most_rounds); };
  return while_loop(unfinished, step, State{no_round(), zeros_like(q), zeros_like(q), key}).k - 1;
}

Array many_successes(const Array& key, const Array& count, const Array& q) {
  const Array width = sqrt(count * q * (1 - q)), b = 1.15 + 2.53 * width, a = -0.0873 + 0.0248 * b + 0.01 * q;
  const Array middle = count * q + 0.5, enough = 0.92 - 4.2 / b, odds = q / (1 - q), alpha = (2.83 + 5.1 / b) * width;
  const Array mode = floor((count + 1) * q);
  const auto log_density = [=](const Array& k) {
    return (mode + 0.5) * log((mode + 1) / (odds * (count - mode + 1))) +
           (count + 1) * log((count - mode + 1) / (count - k + 1)) + (k + 0.5) * log(odds * (count - k + 1) / (k + 1)) +
           stirling_rest(mode) + stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
  };
  return until_all_accepted(key, q, [=](const Array& key) {
    const auto [next, u, v, away] = hat(key, q);
    const Array k = floor((2 * a / away + b) * u + middle), outside = (k < 0) | (k > count);
    const Array s = log(v * alpha / (a / (away * away) + b));
    return Proposed{next, k, ((away >= 0.07) & (v <= enough)) | ((!outside) & (s <= log_density(k)))};
  });
}

}  // namespace

Array poisson(const Operand& key, const Operand& rate, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::poisson");
  if (!is_integer(dtype))
    throw DTypeError("random::poisson: " + std::string(name(dtype)) + " is not an integer dtype.", "Ask for i32.");
  const Array r = spread("poisson", shape, DType::f32, {rate})[0], few = is_nan(r) | (r < 10);
  const Array by_products = few_events(key, where(few, r, 0), dtype);
  const Array made = where(few, by_products, convert(many_events(key, where(few, 1e5, r)), dtype));
  return where(r == 0, 0, made);
}

Array binomial(const Operand& key, const Operand& n, const Operand& p, const MaybeShape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::binomial");
  require_real("binomial", dtype, {n, p});
  const DType computed = p->number() != nullptr && p->weak() ? dtype : to_inexact(p).dtype();
  const Arrays given = spread("binomial", shape, computed, {n, p});
  const Array &count = given[0], &part = given[1], seldom = part < 0.5;
  const Array less = where(seldom, part, 1 - part);
  const Array no_count = is_nan(count) | (count < 0), no_part = is_nan(less) | (less < 0);
  const Array endless = abs(count) == std::numeric_limits<double>::infinity();
  const Array q = where(no_part, 0.01, less), few = no_count | (count * q <= 10), whole = floor(count);
  const Array by_sums = few_successes(key, where(few, whole, 0), q);
  Array made = where(few, by_sums, many_successes(key, where(few | endless, 1e4, whole), where(few, 0.5, q)));
  made = where(no_part | no_count, std::numeric_limits<double>::quiet_NaN(),
               where(endless, std::numeric_limits<double>::infinity(), made));
  const Array kept = seldom | no_count | is_nan(part) | endless;
  return convert(where(kept, made, whole - made), dtype);
}

}  // namespace tenon::random
