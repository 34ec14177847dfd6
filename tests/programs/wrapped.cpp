#include "tests/programs/wrapped.h"

#include <numbers>

#include "tenon/tenon.h"

namespace tenon::sample {
namespace {

// A number of what the body gives, in which each element weighs differently.
Array weighed(const Array& y) {
  const Array flat = reshape(y, {y.shape().elements()});
  return sum(flat * (convert(iota(DType::i32, {flat.dim(0)}, 0), y.dtype()) * 0.25 + 0.5));
}
Array slope(const Body& body, const Array& x) {
  return grad([&](const Array& v) { return weighed(body(v)); })(x);
}

Array by_tangents(const Body& body, const Array& x, double factor) {
  return custom_jvp(body, [body, factor](const Array& v, const Array& dv) {
    const auto [y, dy] = jvp(body, std::tuple(v), std::tuple(dv));
    return std::pair(y, dy * factor);
  })(x);
}

// Forward mode has nothing of such a function: it is differentiated here, once or twice.
Array by_cotangents(Choices& c, const Body& body, const Array& x, double factor) {
  const auto ruled = custom_vjp(
      body, [body](const Array& v) { return std::pair(body(v), v); },
      [body, factor](const Array& v, const Array& ct) { return std::get<0>(vjp(body, v).second(ct)) * factor; });
  const auto once = [&](const Array& v) { return grad([&](const Array& u) { return weighed(ruled(u)); })(v); };
  if (c.below(3) != 2) return once(x);
  return grad([&](const Array& v) { return weighed(once(v)); })(x);
}

// Rows of a reference, rewritten in turn, some more than once.
Array by_reference(Choices& c, const Body& body, const Array& x) {
  Ref rows = make_ref(x);
  const std::int64_t n = x.size(0), steps = c.between(0, 2 * n);
  const bool reads_back = c.below(2) == 0;
  const auto end = fori_loop(
      std::int32_t(0), static_cast<std::int32_t>(steps),
      [&](const Array& i, const Array& carry) {
        const Array at = i % Array(Scalar(static_cast<std::int32_t>(n)));
        const Array y = body(rows[at]) * carry;
        rows[at] = y;
        return reads_back ? carry * 0.5 + sin(sum(rows[at])) * 0.25 : carry * 0.5;
      },
      ones({}, x.dtype()));
  return rows() + end;
}

// sin(x + quarters·π/2) by a function of the host, whose derivative is the next of them.
Array sine_on_host(const Array& x, int quarters, HostBatch batch) {
  const auto call = [=](const Array& v) {
    return host_call([=](std::span<const Array> in) { return Arrays{sin(in[0] + quarters * (std::numbers::pi / 2))}; },
                     {v.type()}, {{v}}, {.batch = batch})[0];
  };
  return custom_jvp(call, [=](const Array& v, const Array& dv) {
    return std::pair(sine_on_host(v, quarters, batch), dv * sine_on_host(v, quarters + 1, batch));
  })(x);
}

Array rearranged(Choices& c, const Array& x) {
  const std::int64_t axis = c.between(0, static_cast<std::int64_t>(x.rank()) - 1);
  const auto sums = [](const Array& a, const Array& b) { return a + b; };
  const auto products = [](const Array& a, const Array& b) { return a * b; };
  switch (c.below(4)) {
    case 0:
      return sort(x, axis, {.descending = c.below(2) == 1});
    case 1:
      return associative_scan(sums, x, {.reverse = c.below(2) == 1, .axis = axis});
    case 2:
      return associative_scan(products, sin(x), {.axis = axis});
    default:
      return take_along_axis(x, argsort(stop_gradient(x), axis), axis);
  }
}

}  // namespace

Array some_wrapped(Choices& c, const Body& body, const Array& x, bool true_rules) {
  switch (c.below(9)) {
    case 0:
      return checkpoint(body)(x);
    case 1:
      return by_tangents(body, x, true_rules ? 1 : 1.5);
    case 2:
      return by_cotangents(c, body, x, true_rules ? 1 : 0.5);
    case 3:
      return slope(body, x);
    case 4: {
      const auto [y, dy] = jvp(body, std::tuple(x), std::tuple(sin(x)));
      return c.below(2) == 0 ? dy : y + dy;
    }
    case 5:
      return x.rank() == 0 ? slope(body, x) : vmap(body)(x);
    case 6:
      return x.rank() == 0 ? checkpoint(body)(x)
                           : by_reference(
                                 c,
                                 [&](const Array& v) {
                                   const Array y = body(v);
                                   return y.shape() == v.shape() ? y : broadcast_to(sin(sum(y)), v.shape());
                                 },
                                 x);
    case 7: {
      static constexpr HostBatch batches[] = {HostBatch::sequential, HostBatch::expand_dims, HostBatch::broadcast_all,
                                              HostBatch::as_it_is};
      const Array y = sine_on_host(x, 0, batches[c.below(std::size(batches))]);
      return c.below(2) == 0 ? y : body(y);
    }
    default:
      return x.rank() == 0 ? slope(body, x) : rearranged(c, x);
  }
}

}  // namespace tenon::sample
