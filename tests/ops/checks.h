// What holds of every Program: vmap is a loop over lanes, jvp is the finite difference, vjp is the transpose of jvp,
// native code is the reference.
#pragma once

#include <bit>
#include <functional>

#include "tenon/compile/plan/plan.h"
#include "tenon/ir/print.h"
#include "tenon/ir/unify.h"
#include "tests/ops/cases.h"

namespace tenon::sample {

using Inputs = std::function<std::vector<Value>()>;  // new ones at each call

inline Mask active_in(const Program& p) {
  Mask m;
  for (Var v : p.inputs()) m.push_back(has_tangent(p.type(v)));
  return m;
}
inline Mask active_out(const Program& p) {
  Mask m;
  for (Var v : p.outputs()) m.push_back(has_tangent(p.type(v)));
  return m;
}

inline bool differentiable(const ProgramRef& p) {
  const Mask in = active_in(*p), out = active_out(*p);
  return std::ranges::find(in, true) != in.end() && std::ranges::find(out, true) != out.end();
}

// What cases() may ask for.
inline bool has_batch(const Case& c) { return bool(c.op->batch); }
inline bool has_derivative(const Case& c) {
  return c.op->jvp && c.sample.by_values && differentiable(program_of(*c.op, c.sample.params, c.sample.types));
}
inline bool has_native_form(const Case& c) {
  const ProgramRef p = program_of(*c.op, c.sample.params, c.sample.types);
  return p->size_params().empty() && why_not_native(*p).empty();
}

// Every subset of up to 3 inputs batched; of more, all, each alone, and all but each.
inline std::vector<std::uint32_t> batched_subsets(std::size_t inputs) {
  std::vector<std::uint32_t> subsets;
  const std::uint32_t all = (1u << inputs) - 1;
  for (std::uint32_t subset = 1; subset <= all; ++subset)
    if (inputs <= 3 || subset == all || std::has_single_bit(subset) || std::has_single_bit(all & ~subset))
      subsets.push_back(subset);
  return subsets;
}

// Inputs that must be common to all lanes are refused as batched, with advice.
inline void expect_vmap_is_a_loop(const ProgramRef& p, const Inputs& inputs, const Mask& common = {}) {
  const std::size_t n = p->inputs().size();
  for (const std::uint32_t subset : batched_subsets(n)) {
    Mask in;
    for (std::size_t i = 0; i < n; ++i) in.push_back((subset >> i) & 1u);
    constexpr std::int64_t lanes = 3;
    bool refused = false;
    for (std::size_t i = 0; i < common.size(); ++i) refused = refused || (in[i] && common[i]);
    if (refused) {
      try {
        vmap(p, in, Mask(p->outputs().size(), true), Dim(lanes));
        ADD_FAILURE() << p->name() << " subset " << subset << " is batched";
      } catch (const ShapeError& e) {
        EXPECT_NE(e.advice(), "");
      }
      continue;
    }
    std::vector<std::vector<Value>> lane_inputs;
    for (std::int64_t l = 0; l < lanes; ++l) lane_inputs.push_back(inputs());
    std::vector<Value> stacked;
    for (std::size_t i = 0; i < n; ++i) {
      if (!in[i]) {
        for (auto& lane : lane_inputs) lane[i] = lane_inputs[0][i];
        stacked.push_back(lane_inputs[0][i]);
        continue;
      }
      const auto& first = std::get<Buffer>(lane_inputs[0][i]);
      std::vector<std::int64_t> dims{lanes};
      dims.insert(dims.end(), first.dims().begin(), first.dims().end());
      Buffer all = Buffer::allocate(first.dtype(), dims);
      for (std::size_t l = 0; l < lanes; ++l)
        std::memcpy(all.data() + l * first.bytes(), std::get<Buffer>(lane_inputs[l][i]).data(), first.bytes());
      stacked.push_back(all);
    }
    const Mask out(p->outputs().size(), true);
    const auto batched = run(vmap(p, in, out, Dim(lanes)), stacked);
    for (std::size_t l = 0; l < lanes; ++l) {
      const auto single = run(p, lane_inputs[l]);
      for (std::size_t k = 0; k < single.size(); ++k) {
        const std::int64_t each = std::get<Buffer>(single[k]).elements();
        for (std::int64_t i = 0; i < each; ++i) {
          const auto want = element(single[k], i), got = element(batched[k], static_cast<std::int64_t>(l) * each + i);
          EXPECT_TRUE(got == want || (std::isnan(got.real()) && std::isnan(want.real())) ||
                      std::abs(got - want) <= 1e-6 * std::abs(want))
              << p->name() << " subset " << subset << " lane " << l << " element " << i << ": " << got << " for "
              << want;
        }
      }
    }
  }
}

// Of the narrowest format in which an operand or a result was rounded.
inline double rounding_in(const Program& p) {
  double widest = 0;
  for (const Type& t : p.input_types()) widest = std::max(widest, rounding(t.dtype));
  for (const Type& t : p.output_types()) widest = std::max(widest, rounding(t.dtype));
  return widest;
}

// Central differences in f64: an error of h², so 1e-5 steps leave about 1e-9 of truncation and 1e-10 of rounding.
inline void expect_jvp_is_the_difference(const ProgramRef& p, const Inputs& inputs) {
  const Mask in = active_in(*p), out = active_out(*p);
  if (std::ranges::find(in, true) == in.end() || std::ranges::find(out, true) == out.end()) return;
  const ProgramRef forward = jvp(p, in, out);
  const std::vector<Value> x = inputs();
  std::vector<Value> all = x, plus = x, minus = x;
  constexpr double h = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!in[i]) continue;
    const Buffer dx = random_buffer(type_of(x[i]), {-1, 1});
    all.push_back(dx);
    plus[i] = shifted(x[i], dx, h);
    minus[i] = shifted(x[i], dx, -h);
  }
  const auto result = run(forward, all), at_plus = run(p, plus), at_minus = run(p, minus);
  std::size_t tangent = p->outputs().size();
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k]) continue;
    for (std::int64_t i = 0; i < std::get<Buffer>(result[k]).elements(); ++i) {
      const auto want = (element(at_plus[k], i) - element(at_minus[k], i)) / (2 * h), got = element(result[tangent], i);
      EXPECT_LE(std::abs(got - want), (1e-6 + 10 * rounding_in(*p) / h) * (1 + std::abs(want)))
          << p->name() << " element " << i << ": " << got << " for " << want << "\n"
          << forward;
    }
    ++tangent;
  }
}

// The size parameters of the second part: the Program's own, or those that the residuals' types show.
inline std::vector<Dim> second_sizes(const Program& p, const Partitioned& parts, std::span<const Value> inputs,
                                     std::span<const Value> residuals) {
  std::vector<Type> types;
  for (const Value& v : inputs) types.push_back(type_of(v));
  const std::vector<Dim> sizes = infer_sizes(p, types);
  SizeBinding own, shown;
  for (std::size_t i = 0; i < sizes.size(); ++i) own.emplace(p.size_params()[i], sizes[i]);
  const auto params = parts.second->inputs().last(residuals.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) unify(parts.second->type(params[i]), type_of(residuals[i]), shown);
  std::vector<Dim> result;
  for (std::size_t i = 0; i < parts.second_sizes.size(); ++i)
    result.push_back(parts.second_sizes[i] ? substitute(*parts.second_sizes[i], own)
                                           : shown.at(parts.second->size_params()[i]));
  return result;
}

inline bool takes_parts(const Program& p) {
  return find_eqn(p, [](const Eqn& e) { return e.op->name == "real" || e.op->name == "imag"; }) != nullptr;
}

// <ct, J dx> = <Jᵀ ct, dx>, without conjugation.
inline void expect_vjp_transposes_jvp(const ProgramRef& p, const Inputs& inputs) {
  const Mask in = active_in(*p), out = active_out(*p);
  if (std::ranges::find(in, true) == in.end() || std::ranges::find(out, true) == out.end()) return;
  const Partitioned lin = linearize(p, in, out);
  const std::vector<Value> x = inputs();
  const auto first = run(lin.first, x);
  std::vector<Value> residuals;
  for (const auto& r : lin.residuals) {
    using From = Partitioned::Residual::From;
    residuals.push_back(r.from == From::input    ? x[r.index]
                        : r.from == From::output ? first[r.index]
                                                 : first[p->outputs().size() + r.index]);
  }
  std::vector<Value> tangents, dx;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i]) dx.push_back(random_buffer(type_of(x[i]), {-1, 1}));
  tangents = dx;
  tangents.insert(tangents.end(), residuals.begin(), residuals.end());
  const std::vector<Dim> sizes = second_sizes(*p, lin, x, residuals);
  const auto pushed = run(lin.second, tangents, sizes);
  TransposeRequest request{.linear_in = Mask(lin.second->inputs().size(), false),
                           .cotangents = Mask(pushed.size(), true)};
  std::fill_n(request.linear_in.begin(), dx.size(), true);
  std::vector<Value> pulled_in = residuals, cts;
  for (const Value& v : pushed) cts.push_back(random_buffer(type_of(v), {-1, 1}));
  pulled_in.insert(pulled_in.end(), cts.begin(), cts.end());
  const auto pulled = run(transpose(lin.second, request), pulled_in, sizes);
  std::complex<double> left = 0, right = 0;
  for (std::size_t k = 0; k < pushed.size(); ++k)
    for (std::int64_t i = 0; i < std::get<Buffer>(pushed[k]).elements(); ++i)
      left += element(pushed[k], i) * element(cts[k], i);
  for (std::size_t k = 0; k < dx.size(); ++k)
    for (std::int64_t i = 0; i < std::get<Buffer>(dx[k]).elements(); ++i)
      right += element(pulled[k], i) * element(dx[k], i);
  // The parts of complex numbers, and so conjugates, are linear over the reals only: there real parts agree.
  const bool over_reals = is_complex(p->type(p->inputs()[0]).dtype) != is_complex(p->type(p->outputs()[0]).dtype) ||
                          takes_parts(*lin.second);
  EXPECT_LE(over_reals ? std::abs(left.real() - right.real()) : std::abs(left - right),
            (1e-9 + 10 * rounding_in(*p)) * (1 + std::abs(left)))
      << p->name() << left << right;
}

inline std::string native_form(const ProgramRef& program) {
  const ProgramRef flat = inline_calls(program);
  const std::string reason = why_not_native(*flat);
  return reason.empty() ? kernel::print(plan(*flat).function) : reason;
}

inline bool is_elementwise(const Program& program) {
  return std::ranges::all_of(program.eqns(), [](const Eqn& eqn) {
    return eqn.op->lower && std::holds_alternative<LowerElement>(*eqn.op->lower);
  });
}

// Factors of one matrix by two ways differ by rounding times how far they are from others that are as good.
inline bool has_factors(const ProgramRef& program) {
  return std::ranges::any_of(inline_calls(program)->eqns(), [](const Eqn& eqn) { return made_by_lapack(*eqn.op); });
}

// Native functions are within a few units in the last place of the C library's.
inline void expect_close(const Value& got_in_any_layout, const Value& want, const ProgramRef& program) {
  const Value got = std::get<Buffer>(got_in_any_layout).contiguous_copy();
  const DType dtype = std::get<Buffer>(want).dtype();
  ASSERT_EQ(type_of(got), type_of(want)) << program;
  const bool half = rounding(dtype) > 1e-5;  // computed as f32: what differs is where it is rounded
  const double units = half ? 4 : has_factors(program) ? 1000 : 24;
  const double tolerance = is_inexact(dtype) ? units * rounding(dtype) : 0;
  // Sums whose terms nearly cancel are rounded as those beside them.
  double largest = 0;
  for (std::int64_t i = 0; i < std::get<Buffer>(want).elements(); ++i)
    if (std::isfinite(std::abs(element(want, i)))) largest = std::max(largest, std::abs(element(want, i)));
  for (std::int64_t i = 0; i < std::get<Buffer>(want).elements(); ++i) {
    const auto g = element(got, i), w = element(want, i);
    const double slack = tolerance * (1 + (is_elementwise(*program) ? std::abs(w) : largest));
    const bool same = g == w || (std::isnan(g.real()) && std::isnan(w.real())) || std::abs(g - w) <= slack;
    EXPECT_TRUE(same) << "element " << i << ": " << g << " for " << w << "\n" << program << native_form(program);
    if (!same) return;
  }
}

}  // namespace tenon::sample
