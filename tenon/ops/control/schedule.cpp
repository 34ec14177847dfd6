#include "tenon/ops/control/schedule.h"

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/traced_region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr std::int64_t never_left = std::int64_t(1) << 40;  // the level of the first carry

Array number(std::int64_t value) { return Array(Scalar(value)); }
Array element(const Array& x, const Array& i) { return reshape(dynamic_slice(x, Arrays{i}, {Dim(1)}), Shape{}); }
Array places_like(const Array& at) { return arange(at.shape()[0], DType::i64); }
Array place_of_largest(const Array& x) { return convert(argmax(x), DType::i64); }
Arrays from(const Arrays& all, std::size_t begin) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.end()};
}

// After how many of the segments the next carry is best kept, where `places` hold the first one and those to come: with
// b(s, r) = C(s + r, s) and the least r for which b(places, r) is no less than the number of segments, the largest m
// with m <= b(places, r-1) and segments - m >= b(places-1, r-1).
Array next_kept(const Array& segments, const Array& places) {
  const Arrays end = while_loop_of([&](const Arrays& s) { return Arrays{s[1] < segments}; },
                                   [&](const Arrays& s) {
                                     const Array r = s[0] + 1;
                                     return Arrays{r, s[1] * (places + r) / r};
                                   },
                                   {number(0), number(1)});
  const Array &r = end[0], before = end[1] * r / (places + r);
  return max(min(before, segments - before * places / (places + r - 1)), number(1));
}

// One carry more at step t: its place and the new `at` and `level`. A carry without use has level -1. Where all are of
// use, the last one gives its place and its level, one up, to the new one, and those of lesser levels lose their use.
Arrays place_online(const Array& t, const Array& at, const Array& level) {
  const Array places = places_like(at), least = convert(argmin(level), DType::i64), found = element(level, least) < 0;
  const Array last = place_of_largest(at), height = element(level, last);
  const Array place = where(found, least, last);
  const Array own = where(found, where(t == 0, number(never_left), number(0)), height + 1);
  const Array rest = where((!found) & (level <= height), number(-1), level);
  return {place, where(places == place, t, at), where(places == place, own, rest)};
}

Kept go_out_online(const Schedule& schedule, const WayOut& out, const Arrays& state) {
  const std::int64_t n = schedule.checkpoints.count;
  Arrays start{number(0), full(Shape{Dim(n)}, number(-1)), full(Shape{Dim(n)}, number(-1))};
  // One place is the first carry's.
  if (n == 1) start[1] = full(Shape{Dim(1)}, number(0));
  const Arrays first = n == 1 ? out.keep(number(0), state) : state;
  const Arrays end = while_loop_of([&](const Arrays& s) { return Arrays{out.more(from(s, 3))}; },
                                   [&](const Arrays& s) {
                                     const Array& t = s[0];
                                     const Arrays placed = n == 1 ? Arrays{t, s[1], s[2]} : place_online(t, s[1], s[2]);
                                     const Arrays kept = n == 1 ? from(s, 3) : out.keep(placed[0], from(s, 3));
                                     const Arrays reached = out.run(t, t + schedule.segment, kept);
                                     return joined({Arrays{reached[0], placed[1], placed[2]}, from(reached, 1)});
                                   },
                                   joined({start, first}));
  return {end[0], end[1], from(end, 3)};
}

Kept go_out_binomial(const Schedule& schedule, const WayOut& out, const Arrays& state) {
  const std::int64_t n = schedule.checkpoints.count, segment = schedule.segment;
  const Array& steps = *schedule.steps;
  const Arrays start{number(0), number(0), full(Shape{Dim(n)}, number(-1))};
  const Arrays end = while_loop_of(
      [&](const Arrays& s) { return Arrays{s[0] < steps}; },
      [&](const Arrays& s) {
        const Array &t = s[0], &place = s[1];
        const Array left = (steps - t + (segment - 1)) / segment;
        const Array next = t + segment * next_kept(left, n - place);
        const Array to = where(place == n - 1, steps, min(next, steps));
        const Arrays reached = out.run(t, to, out.keep(place, from(s, 3)));
        return joined({Arrays{reached[0], place + 1, where(places_like(s[2]) == place, t, s[2])}, from(reached, 1)});
      },
      joined({start, state}));
  return {end[0], end[2], from(end, 3)};
}

Kept go_out_every(const Schedule& schedule, const WayOut& out, const Arrays& state) {
  const Array& steps = *schedule.steps;
  const Arrays end = while_loop_of([&](const Arrays& s) { return Arrays{s[0] < steps}; },
                                   [&](const Arrays& s) {
                                     const Array to = min(s[0] + schedule.segment, steps);
                                     return out.run(s[0], to, out.keep(s[0] / schedule.segment, from(s, 1)));
                                   },
                                   joined({Arrays{number(0)}, state}));
  return {end[0], std::nullopt, from(end, 1)};
}

// The carry at `start`, from the last one that is kept; carries on the way are kept where places are free: those that
// hold nothing, or what lies behind `front`. Returns the new `at`, the carry, and what is kept.
Arrays run_again(const Schedule& schedule, const WayBack& back, const Array& start, const Array& front, const Array& at,
                 const Arrays& kept) {
  const auto is_free = [&](const Array& at) { return (at < 0) | (at >= front); };
  const Array last = place_of_largest(where(at <= start, at, number(-1)));
  const Arrays carry = back.restore(last, kept);
  return from(
      while_loop_of([&](const Arrays& s) { return Arrays{s[0] < start}; },
                    [&](const Arrays& s) {
                      const auto carry_of = [&](const Arrays& all) {
                        return Arrays(all.begin() + 2, all.begin() + 2 + static_cast<std::ptrdiff_t>(carry.size()));
                      };
                      const Array free = is_free(s[1]), segments = (start - s[0]) / schedule.segment + 1;
                      const Array count = convert(sum(free), DType::i64);
                      const Array to = s[0] + schedule.segment * next_kept(segments, count + 1);
                      const Arrays ran = back.run(s[0], to, carry_of(s));
                      const Array wanted = (count > 0) & (to < start), place = place_of_largest(free);
                      const Array now = where(wanted & (places_like(s[1]) == place), to, s[1]);
                      return joined({Arrays{to, now}, ran, back.keep(place, wanted, ran, from(s, 2 + carry.size()))});
                    },
                    joined({Arrays{element(at, last), at}, carry, kept})),
      1);
}

}  // namespace

Dim places_of(const Schedule& schedule, const Dim& steps) {
  const std::int64_t count = schedule.checkpoints.count;
  return schedule.checkpoints.kind == CheckpointKind::binomial ? Dim(count)
                                                               : floor_div(steps + Dim(count - 1), Dim(count));
}

Kept go_out(const Schedule& schedule, const WayOut& out, const Arrays& state) {
  if (schedule.checkpoints.kind == CheckpointKind::every) return go_out_every(schedule, out, state);
  return schedule.steps ? go_out_binomial(schedule, out, state) : go_out_online(schedule, out, state);
}

Arrays come_back(const Schedule& schedule, const WayBack& back, const Kept& kept, const Arrays& pulled) {
  const std::size_t many = kept.state.size();
  const bool every = schedule.checkpoints.kind == CheckpointKind::every;
  // The step before which all is still to be pulled back; then what is pulled; of `binomial` also `at`, what is kept.
  Arrays start = joined({Arrays{kept.steps}, pulled});
  if (!every) start = joined({start, Arrays{*kept.at}, kept.state});
  const Arrays end = while_loop_of(
      [&](const Arrays& s) { return Arrays{s[0] > 0}; },
      [&](const Arrays& s) {
        const Array &front = s[0], place = (front - 1) / schedule.segment, first = place * schedule.segment;
        const Arrays so_far(s.begin() + 1, s.begin() + 1 + static_cast<std::ptrdiff_t>(pulled.size()));
        if (every) return joined({Arrays{first}, back.pull(first, front, back.restore(place, kept.state), so_far)});
        const std::size_t at = 1 + pulled.size();
        const Arrays again = run_again(schedule, back, first, front, s[at], from(s, at + 1));
        const std::size_t carries = again.size() - 1 - many;
        const Arrays carry(again.begin() + 1, again.begin() + 1 + static_cast<std::ptrdiff_t>(carries));
        return joined(
            {Arrays{first}, back.pull(first, front, carry, so_far), Arrays{again[0]}, from(again, 1 + carries)});
      },
      start);
  return {end.begin() + 1, end.begin() + 1 + static_cast<std::ptrdiff_t>(pulled.size())};
}

}  // namespace tenon
