#include "tests/programs/plain.h"

#include <algorithm>
#include <cmath>

namespace tenon::sample {
namespace {

constexpr std::int64_t nowhere = -1;
constexpr double filling = 3;

// Where an index lies on an axis of n elements: negative ones count from the end.
std::int64_t along(double index, std::int64_t n, IndexMode mode) {
  std::int64_t i = static_cast<std::int64_t>(index);
  if (i < 0) i += n;
  if (i >= 0 && i < n) return i;
  return mode == IndexMode::clip && n > 0 ? std::clamp<std::int64_t>(i, 0, n - 1) : nowhere;
}

// The elements of a place, row-major; `nowhere` for those outside.
std::vector<std::int64_t> positions(const Kind& x, const Place& place, const std::vector<Plain>& indices,
                                    IndexMode otherwise) {
  const IndexMode mode = place.mode.value_or(otherwise);
  const std::int64_t n = x.dims[0],
                     rest = n == 0 ? Kind{x.dtype, {x.dims.begin() + 1, x.dims.end()}}.elements() : x.elements() / n;
  std::vector<std::int64_t> at;
  const auto row = [&](std::int64_t i) {
    for (std::int64_t r = 0; r < rest; ++r) at.push_back(i == nowhere ? nowhere : i * rest + r);
  };
  const auto point = [&](std::int64_t i, std::int64_t j) {
    at.push_back(i == nowhere || j == nowhere ? nowhere : i * rest + j);
  };
  switch (place.form) {
    case Place::Form::row:
    case Place::Form::rows:
      for (const double i : indices[0].v) row(along(i, n, mode));
      break;
    case Place::Form::element:
    case Place::Form::points:
      for (std::size_t k = 0; k < indices[0].v.size(); ++k)
        point(along(indices[0].v[k], n, mode), along(indices[1].v[k], rest, mode));
      break;
    case Place::Form::column:
      for (std::int64_t i = 0; i < n; ++i) point(i, along(indices[0].v[0], rest, mode));
      break;
    case Place::Form::part:
      for (std::int64_t i = place.start; i < place.stop; ++i) row(i);
      break;
    case Place::Form::block: {  // moved inside
      const auto start = [&](std::size_t axis) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(indices[axis].v[0]), 0,
                                        x.dims[axis] - place.sizes[axis]);
      };
      for (std::int64_t i = 0; i < place.sizes[0]; ++i)
        if (place.sizes.size() == 1)
          at.push_back(start(0) + i);
        else
          for (std::int64_t j = 0; j < place.sizes[1]; ++j) point(start(0) + i, start(1) + j);
    }
  }
  return at;
}

}  // namespace

Plain PlainWorld::zeros(const Kind& kind) const {
  const auto n = static_cast<std::size_t>(kind.elements());
  return {kind, std::vector<double>(n, 0.), std::vector<double>(is_inexact(kind.dtype) ? n * directions_ : 0, 0.)};
}

Plain PlainWorld::simple(const Step& step, const Values& in) const {
  Plain out = zeros(step.out[0]);
  // Element i of the result, with its derivatives in elements of the operands.
  struct Term {
    double slope;
    std::size_t operand, element;
  };
  const auto put = [&](std::size_t i, double value, std::initializer_list<Term> terms) {
    out.v[i] = value;
    if (out.d.empty()) return;
    for (const Term& t : terms)
      if (t.slope != 0 && !in[t.operand].d.empty())
        for (std::size_t k = 0; k < directions_; ++k)
          out.d[i * directions_ + k] += t.slope * in[t.operand].d[t.element * directions_ + k];
  };
  const auto a = [&](std::size_t i) { return in[0].v[i]; };
  const auto b = [&](std::size_t i) { return in[1].v[i]; };
  const auto share = [](bool all, bool tie) { return tie ? 0.5 : all ? 1. : 0.; };
  if (step.what == Do::total) {
    double sum = 0;
    for (std::size_t i = 0; i < in[0].v.size(); ++i) put(0, sum += a(i), {{1, 0, i}});
    return out;
  }
  for (std::size_t i = 0; i < out.v.size(); ++i) switch (step.what) {
      case Do::number:
        put(i, step.value, {});
        break;
      case Do::iota:
        put(i, static_cast<double>(i), {});
        break;
      case Do::fill:
        put(i, a(0), {{1, 0, 0}});
        break;
      case Do::sine:
        put(i, std::sin(a(i)), {{std::cos(a(i)), 0, i}});
        break;
      case Do::tanh:
        put(i, std::tanh(a(i)), {{1 - std::tanh(a(i)) * std::tanh(a(i)), 0, i}});
        break;
      case Do::negate:
        put(i, -a(i), {{-1, 0, i}});
        break;
      case Do::add:
        put(i, a(i) + b(i), {{1, 0, i}, {1, 1, i}});
        break;
      case Do::subtract:
        put(i, a(i) - b(i), {{1, 0, i}, {-1, 1, i}});
        break;
      case Do::multiply:
        put(i, a(i) * b(i), {{b(i), 0, i}, {a(i), 1, i}});
        break;
      case Do::least:
        put(i, std::min(a(i), b(i)),
            {{share(a(i) < b(i), a(i) == b(i)), 0, i}, {share(b(i) < a(i), a(i) == b(i)), 1, i}});
        break;
      case Do::greatest:
        put(i, std::max(a(i), b(i)),
            {{share(a(i) > b(i), a(i) == b(i)), 0, i}, {share(b(i) > a(i), a(i) == b(i)), 1, i}});
        break;
      case Do::less:
        put(i, a(i) < b(i), {});
        break;
      case Do::both:
        put(i, a(i) * b(i), {});
        break;
      case Do::opposite:
        put(i, 1 - a(i), {});
        break;
      case Do::select: {
        const std::size_t chosen = a(in[0].v.size() == 1 ? 0 : i) != 0 ? 1 : 2;
        put(i, in[chosen].v[i], {{1, chosen, i}});
        break;
      }
      default:  // convert
        put(i, is_inexact(step.out[0].dtype) || !is_inexact(in[0].kind.dtype) ? a(i) : std::trunc(a(i)), {{1, 0, i}});
    }
  return out;
}

Plain PlainWorld::read(const Plain& x, const Place& place, const Values& indices) const {
  const std::vector<std::int64_t> at = positions(x.kind, place, indices, IndexMode::clip);
  const std::int64_t count = indices.empty() ? 0 : static_cast<std::int64_t>(indices[0].v.size());
  Plain out = zeros(kind_at(x.kind, place, count));
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto from = static_cast<std::size_t>(at[i]);
    out.v[i] = at[i] == nowhere ? (x.kind.dtype == DType::bool_ ? 1 : filling) : x.v[from];
    for (std::size_t k = 0; at[i] != nowhere && !out.d.empty() && k < directions_; ++k)
      out.d[i * directions_ + k] = x.d[from * directions_ + k];
  }
  return out;
}

Plain PlainWorld::update(const Plain& x, ScatterKind how, const Place& place, const Values& indices,
                         const Plain& value) const {
  const std::vector<std::int64_t> at = positions(x.kind, place, indices, IndexMode::fill);
  Plain out = x;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] == nowhere) continue;
    const auto to = static_cast<std::size_t>(at[i]);
    const double old = out.v[to], now = value.v[i];
    double of_old = 0, of_new = 1;  // slopes
    switch (how) {
      case ScatterKind::set:
        out.v[to] = now;
        break;
      case ScatterKind::add:
        out.v[to] = old + now;
        of_old = 1;
        break;
      case ScatterKind::mul:
        out.v[to] = old * now;
        of_old = now;
        of_new = old;
        break;
      default: {
        const bool stays = how == ScatterKind::min ? old < now : old > now;
        out.v[to] = stays ? old : now;
        of_old = old == now ? 0.5 : stays ? 1 : 0;
        of_new = 1 - of_old;
      }
    }
    for (std::size_t k = 0; !out.d.empty() && k < directions_; ++k) {
      double& slope = out.d[to * directions_ + k];
      slope = (of_old == 0 ? 0 : of_old * slope) + (of_new == 0 ? 0 : of_new * value.d[i * directions_ + k]);
    }
  }
  return out;
}

PlainWorld::Values PlainWorld::region(const Step& step, const Values& in, const std::vector<Region>& bodies) const {
  const auto from = [](const Values& values, std::size_t first, std::size_t last) {
    return Values(values.begin() + static_cast<std::ptrdiff_t>(first),
                  values.begin() + static_cast<std::ptrdiff_t>(last));
  };
  const Kind number{DType::i32, {}};
  switch (step.what) {
    case Do::scan: {
      Values carries = from(in, 0, step.carries), stacks;
      for (std::size_t k = step.carries; k < step.out.size(); ++k) stacks.push_back(zeros(step.out[k]));
      const std::int64_t length = *step.length;
      for (std::int64_t t = 0; t < length; ++t) {
        const std::int64_t at = step.reverse ? length - 1 - t : t;
        const Place row{.form = Place::Form::row};
        const Plain index{number, {static_cast<double>(at)}, {}};
        Values inputs = carries;
        for (std::size_t k = step.carries; k < in.size(); ++k) inputs.push_back(read(in[k], row, {index}));
        const Values out = bodies[0](inputs);
        carries = from(out, 0, step.carries);
        for (std::size_t k = 0; k < stacks.size(); ++k)
          stacks[k] = update(stacks[k], ScatterKind::set, row, {index}, out[step.carries + k]);
      }
      carries.insert(carries.end(), stacks.begin(), stacks.end());
      return carries;
    }
    case Do::repeat: {
      Values carries = in;
      while (bodies[0](carries)[0].v[0] != 0) carries = bodies[1](carries);
      return carries;
    }
    case Do::count: {
      const double upper = step.length ? static_cast<double>(step.lower + *step.length) : in[0].v[0];
      Values carries = from(in, step.length ? 0 : 1, in.size());
      for (double i = static_cast<double>(step.lower); i < upper; ++i) {
        Values inputs{{number, {i}, {}}};
        inputs.insert(inputs.end(), carries.begin(), carries.end());
        carries = bodies[0](inputs);
      }
      return carries;
    }
    case Do::branch: {
      const auto last = static_cast<double>(bodies.size() - 1);
      const double chosen = in[0].kind.dtype == DType::bool_ ? 1 - in[0].v[0] : std::clamp(in[0].v[0], 0., last);
      return bodies[static_cast<std::size_t>(chosen)](from(in, 1, in.size()));
    }
    default:
      return bodies[0](in);
  }
}

}  // namespace tenon::sample
