#include "tenon/api/line_search.h"

#include "tenon/api/loops.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/linear_algebra/dot.h"

namespace tenon::api_detail {
namespace {

constexpr double decrease = 1e-4, curvature = 0.9;  // Wolfe's constants, for quasi-Newton directions
constexpr std::int32_t most_zooms = 30;

Array whole(std::int32_t n) { return Array(Scalar(n)); }

// The function along the line, at a length.
struct Point {
  Array length, value, slope;
};
Point either(const Array& condition, const Point& a, const Point& b) {
  return {where(condition, a.length, b.length), where(condition, a.value, b.value), where(condition, a.slope, b.slope)};
}

// `low`: the best point with enough decrease, to which `gradient` belongs; while nothing is bracketed the last one. An
// interval from low to high holds the step once `zooms` is not negative; `other`: the end that was given up last.
struct WolfeSearch {
  Point low, high, other;
  Array gradient, next, tries, zooms, status, done;
};

// The minimum of the cubic through three points with the slope at the first.
Array of_cubic(const Point& a, const Point& b, const Point& c) {
  const Array db = b.length - a.length, dc = c.length - a.length;
  const Array rb = b.value - a.value - a.slope * db, rc = c.value - a.value - a.slope * dc;
  const Array below = db * db * dc * dc * (db - dc);
  const Array cubic = (dc * dc * rb - db * db * rc) / below, square = (db * db * db * rc - dc * dc * dc * rb) / below;
  return a.length + (sqrt(square * square - 3 * cubic * a.slope) - square) / (3 * cubic);
}
// The minimum of the parabola through two points with the slope at the first.
Array of_parabola(const Point& a, const Point& b) {
  const Array d = b.length - a.length;
  return a.length - a.slope * d * d / (2 * (b.value - a.value - a.slope * d));
}

// Where in the interval to look next: by the cubic, else the parabola, else in the middle, each not too near its ends.
Array inside(const Point& low, const Point& high, const Point& other, const Array& has_other) {
  const Array least = min(low.length, high.length), most = max(low.length, high.length), width = most - least;
  const auto fits = [&](const Array& a, double margin) {
    return (a > least + margin * width) & (a < most - margin * width);
  };
  const Array cubic = of_cubic(low, high, other), parabola = of_parabola(low, high);
  return where(has_other & fits(cubic, 0.2), cubic, where(fits(parabola, 0.1), parabola, least + 0.5 * width));
}

}  // namespace

LineSearch line_search(const Slope& f, const DescentLine& line, const Array& first, std::int64_t most_tries) {
  const DType dtype = line.value.dtype();
  const double too_small = dtype == DType::f64 ? 1e-10 : 1e-5;
  const auto step = [&](const WolfeSearch& s) {
    const ValueAndSlope here = f(line.x + s.next * line.direction);
    const Point at{s.next, here.value, dot(here.gradient, line.direction)};
    const Array zooming = s.zooms >= 0;
    // Said so that a value that is NaN is too high.
    const Array enough = at.value <= line.value + decrease * at.length * line.slope;
    const Array lower = (at.value < s.low.value) | ((!zooming) & (s.tries == 0));
    const Array high = !(enough & lower), done = (!high) & (abs(at.slope) <= -curvature * line.slope);
    // Behind the minimum: the interval goes back to what was low.
    const Array back = at.slope * where(zooming, s.high.length - s.low.length, ones_like(at.length)) >= 0;
    const Array goes = (!high) & (!done), turns = goes & back, onwards = goes & (!back);
    const WolfeSearch next{.low = either(high, s.low, at),
                           .high = either(high, at, either(turns, s.low, s.high)),
                           .other = either(high | turns, s.high, s.low),
                           .gradient = where(high, s.gradient, here.gradient),
                           .next = s.next,
                           .tries = s.tries + 1,
                           .zooms = where(zooming, s.zooms + 1, where(high | turns, whole(0), s.zooms)),
                           .status = s.status,
                           .done = done};
    const Array brackets = (!zooming) & onwards, width = abs(next.high.length - next.low.length);
    const Array narrow = (!brackets) & (width <= too_small * max(abs(next.low.length), abs(next.high.length)));
    const Array lost = (!done) & (narrow | (next.zooms >= most_zooms));
    const Array never = (!done) & brackets & (next.tries >= whole(static_cast<std::int32_t>(most_tries)));
    WolfeSearch result = next;
    result.next = where(brackets, 2 * at.length, inside(next.low, next.high, next.other, next.zooms > 0));
    result.status = where(lost, whole(3), where(never, whole(5), whole(0)));
    result.done = done | lost | never;
    return result;
  };
  const Point start{zeros_like(line.value), line.value, line.slope};
  const WolfeSearch begin{start,    start,     start,    line.gradient,       convert(first, dtype),
                          whole(0), whole(-1), whole(0), Array(Scalar(false))};
  const WolfeSearch end = while_loop([](const WolfeSearch& s) { return !s.done; }, step, begin);
  return {end.low.length, end.low.value, end.gradient, end.tries, end.status};
}

}  // namespace tenon::api_detail
