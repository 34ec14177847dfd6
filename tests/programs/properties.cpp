#include "tests/programs/properties.h"

#include <fmt/format.h>

#include <set>

#include "tenon/base/caches.h"
#include "tenon/base/function_ref.h"
#include "tenon/compile/executable.h"
#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/compile/target.h"
#include "tenon/ir/parse.h"
#include "tenon/ir/print.h"
#include "tenon/kernel/parse.h"
#include "tenon/ops/control/host.h"
#include "tests/ops/transformed.h"

namespace tenon::sample {
namespace {

using Values = std::vector<Value>;

Values inputs_of(const ProgramRef& p) {
  Values in;
  for (const Type& t : p->input_types())
    in.emplace_back(random_buffer(t, is_integer(t.dtype)
                                         ? std::pair(kind_of(t.dtype) == DTypeKind::signed_integer ? -5. : 0., 9.)
                                     : t.dtype == DType::bool_ ? std::pair(0., 1.)
                                     : is_powers(t.dtype)      ? std::pair(.1, 2.)
                                                               : std::pair(-2., 2.)));
  return in;
}
bool makes_sizes(const Program& p) {
  return find_eqn(p, [](const Eqn& eqn) { return !eqn.new_sizes.empty(); }) != nullptr;
}
// Lanes of different sizes are no array: of ops that make sizes some have no batch, others one mask for all lanes.
bool batchable(const Program& p) {
  return find_eqn(p, [](const Eqn& eqn) { return !eqn.op->batch; }) == nullptr;
}
bool calls_host(const Program& p) {
  return find_eqn(p, [](const Eqn& eqn) { return is_host_call(*eqn.op); }) != nullptr;
}
// Inputs that decide sizes: with lanes of theirs there is no batch.
Mask common_to_lanes(const ProgramRef& p) {
  Mask common(p->inputs().size(), false);
  if (!makes_sizes(*p) || !batchable(*p)) return common;
  for (std::size_t i = 0; i < common.size(); ++i) {
    Mask alone(common.size(), false);
    alone[i] = true;
    try {
      vmap(p, alone, Mask(p->outputs().size(), true), Dim(2));
    } catch (const ShapeError& e) {
      common[i] = std::string_view(e.what()).find("by a mask that differs from lane to lane") != std::string_view::npos;
    }
  }
  return common;
}
Subject subject(const ProgramRef& p) {
  return {p, [p] { return inputs_of(p); }, common_to_lanes(p)};
}
Subject start(const Trial& t) {
  generator.seed(t.seed);
  return subject(t.program);
}

// --- comparing ---
// The last place of numbers about 1 of the coarsest floats of 8 bits that some statement makes, in bodies too.
double last_place_of_float8(const Program& p, FunctionRef<bool(const Eqn&)> counts) {
  double coarsest = 0;
  for (const Eqn& eqn : p.eqns()) {
    for (const Var v : eqn.out)
      if (const DType d = p.type(v).dtype; is_float8(d) && counts(eqn))
        coarsest = std::max(coarsest, std::ldexp(1, format_of(d).epsilon()));
    eqn.params.visit_programs(
        [&](const ProgramRef& inner) { coarsest = std::max(coarsest, last_place_of_float8(*inner, counts)); });
  }
  return coarsest;
}
// Of all formats on the way, the coarsest; rounding differs where sums are taken in another order. Of 8 bits only what
// is added up: other numbers are the same in each order.
double tolerance_of(const ProgramRef& p) {
  static const std::set<std::string_view> sums{"add", "sub", "mul", "sum", "scatter"};
  double coarsest =
      std::max(1e-9, 4 * last_place_of_float8(*p, [](const Eqn& e) { return sums.contains(e.op->name); }));
  for (Var v = 0; v < p->vars(); ++v) {
    const DType d = real_part_of(p->type(v).dtype);
    coarsest = std::max(coarsest, d == DType::f32 ? 2e-4 : d == DType::f16 ? 2e-2 : d == DType::bf16 ? 1e-1 : 0);
  }
  for (const Eqn& eqn : p->eqns())
    eqn.params.visit_programs([&](const ProgramRef& inner) { coarsest = std::max(coarsest, tolerance_of(inner)); });
  return coarsest;
}

// Of complex infinities and NaN either part may be any: products and sums in another order give others.
bool same(std::complex<double> got, std::complex<double> want, double slack) {
  const auto is_finite = [](std::complex<double> x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); };
  if (want.imag() != 0 && !is_finite(want)) return !is_finite(got);
  const auto part = [&](double g, double w) {
    return g == w || (std::isnan(g) && std::isnan(w)) || (std::abs(g - w) <= slack && std::isfinite(w));
  };
  return part(got.real(), want.real()) && part(got.imag(), want.imag());
}

// Where values first differ; tolerances are relative to the largest element, and for each element as much more as it is
// known to move.
using Movement = std::vector<std::vector<double>>;
std::string difference(const Values& got, const Values& want, double tolerance, const Movement& moved = {}) {
  if (got.size() != want.size()) return fmt::format("{} results for {}", got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (type_of(got[k]) != type_of(want[k]))
      return fmt::format("output {} is {}, not {}", k, type_of(got[k]).text(), type_of(want[k]).text());
    const Value g = std::get<Buffer>(got[k]).contiguous_copy(), w = std::get<Buffer>(want[k]).contiguous_copy();
    const std::int64_t n = std::get<Buffer>(w).elements();
    double scale = 1;
    for (std::int64_t i = 0; i < n; ++i)
      if (std::isfinite(std::abs(element(w, i)))) scale = std::max(scale, std::abs(element(w, i)));
    for (std::int64_t i = 0; i < n; ++i) {
      const double slack = (is_inexact(type_of(w).dtype) ? tolerance * scale : 0) +
                           (moved.empty() ? 0 : 10 * moved[k][static_cast<std::size_t>(i)]);
      if (!same(element(g, i), element(w, i), slack))
        return fmt::format("output {} element {}: {:.17g}+{:.17g}i, not {:.17g}+{:.17g}i", k, i, element(g, i).real(),
                           element(g, i).imag(), element(w, i).real(), element(w, i).imag());
    }
  }
  return {};
}

// Floating elements, each by a random part of itself and of 1, up to these.
Value nudged(const Value& v, double by_itself, double by_one) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Buffer b = std::get<Buffer>(v).contiguous_copy();
  dispatch(b.dtype(), [&]<class T>(std::type_identity<T>) {
    if (!is_inexact(b.dtype())) return;
    for (std::int64_t i = 0; i < b.elements(); ++i)
      b.as<T>()[i] =
          Scalar(Scalar(b.as<T>()[i]).as_complex() * (1 + by_itself * uniform(generator)) + by_one * uniform(generator))
              .convert(b.dtype())
              .template as<T>();
  });
  return b;
}
Values nudged(const Values& in, double by) {
  Values out;
  for (const Value& v : in) out.push_back(nudged(v, by, by));
  return out;
}

// Functions that no two libraries round alike.
bool is_function(const OpInfo& op) {
  static const std::set<std::string_view> names{"exp",  "expm1", "log",  "log1p", "sin",  "cos",      "tan",
                                                "tanh", "sinh",  "cosh", "asin",  "acos", "atan",     "atan2",
                                                "pow",  "rsqrt", "erf",  "erfc",  "sqrt", "logistic", "div"};
  return names.contains(op.name);
}

// The reference evaluator, of which functions come out as if another library had rounded them, and sums and products as
// if their terms were added in another order.
class OtherRounding final : public Executor {
 public:
  Values run(const ProgramRef& program, std::span<const std::int64_t> sizes, std::span<const Value> in) override {
    return evaluate(*program, sizes, in, *this, [](const Eqn&, std::span<const Value>, std::span<const Value>) {});
  }
  Values run_op(const OpInfo& op, const Params& params, std::span<const Value> operands) override {
    Values results = sample::run(program_of(op, params, types_of(operands)), {operands.begin(), operands.end()});
    const LowerStructure* structure = rule_of<LowerStructure>(op);
    const bool rounds = rule_of<LowerReduction>(op) != nullptr || is_function(op) ||
                        (structure != nullptr && structure->kind == LowerStructure::Kind::product);
    for (Value& v : results)
      if (rounds) v = nudged(v, 4 * rounding(type_of(v).dtype), 0);
    return results;
  }
};
Values run_otherwise_rounded(const ProgramRef& p, const Values& in) {
  return OtherRounding().run(p, sizes_for(p, in), in);
}

// How far each element of the results moves with roundings of the inputs, of functions and of sums: as far, and not
// farther, native code and transformations may move it.
constexpr int nudges = 4;
Movement movement(const ProgramRef& p, const Values& in, const Values& want, double tolerance) {
  Movement moved;
  for (const Value& w : want) moved.emplace_back(static_cast<std::size_t>(std::get<Buffer>(w).elements()), 0.);
  for (int i = 0; i < nudges; ++i) {
    const Values there = run_otherwise_rounded(p, nudged(in, tolerance * 0.02));
    for (std::size_t k = 0; k < want.size(); ++k) {
      const bool comparable = type_of(there[k]) == type_of(want[k]);  // data may decide sizes
      for (std::size_t e = 0; e < moved[k].size(); ++e) {
        const auto at = static_cast<std::int64_t>(e);
        const double by = comparable ? std::abs(element(there[k], at) - element(want[k], at)) : INFINITY;
        moved[k][e] = std::isnan(by) ? INFINITY : std::max(moved[k][e], by);
      }
    }
  }
  return moved;
}

// `got` for the Program's results, up to what roundings of the inputs do to them.
std::string compare(const Values& got, const ProgramRef& p, const Values& in, const std::string& what) {
  const double tolerance = tolerance_of(p);
  const Values want = run(p, in);
  if (difference(got, want, tolerance).empty()) return {};
  const std::string wrong = difference(got, want, tolerance, movement(p, in, want, tolerance));
  return wrong.empty() ? wrong : what + ": " + wrong;
}

std::string native(const Subject& s, const std::string& what) {
  if (!s.program->size_params().empty()) return {};
  const Values in = s.inputs();
  const std::string wrong = compare(compile(s.program)->run(in), s.program, in, what);
  return wrong.empty() ? wrong : wrong + "\n" + print(*s.program) + native_form(s.program);
}

// --- properties ---
std::string round_trip(const ProgramRef& p) {
  if (calls_host(*p)) return {};  // text cannot hold a function
  const std::string text = print(*p);
  const ProgramRef back = parse(text);
  if (back->hash() != p->hash()) return "the hash changes";
  return print(*back) == text ? "" : "the text changes to " + print(*back);
}
std::string text_and_back(const Trial& t) {
  const Subject s = start(t);
  std::vector<ProgramRef> all{s.program, jvp_of(s).program, vjp_of(s).program};
  if (batchable(*s.program)) all.push_back(vmap_of(s).program);
  for (const ProgramRef& p : all)
    if (const std::string wrong = round_trip(p); !wrong.empty()) return wrong + "\n" + print(*p);
  return {};
}

std::string native_code(const Trial& t) { return native(start(t), "native code"); }
std::string native_jvp(const Trial& t) { return native(jvp_of(start(t)), "native code of the jvp"); }
std::string native_vjp(const Trial& t) { return native(vjp_of(start(t)), "native code of the vjp"); }
std::string native_vmap(const Trial& t) {
  return native(vmap_of(start(t), 3, t.seed % 2 == 0), "native code of the vmap");
}
std::string native_vmap_vjp(const Trial& t) {
  return native(vmap_of(vjp_of(start(t)), 2, t.seed % 2 == 0), "native code of the vmap of the vjp");
}

// Central differences with two steps and differences to each side: where they disagree there is no derivative to see.
std::string differences(const Subject& s) {
  const ProgramRef& p = s.program;
  // Differences of what is rounded to a coarser format on the way are its steps.
  if (!differentiable(p) || tolerance_of(p) > 1e-9) return {};
  const Mask in = active_in(*p), out = active_out(*p);
  const Values x = s.inputs();
  Values all = x;
  std::vector<Buffer> dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (in[i]) all.emplace_back(dx[i] = random_buffer(type_of(x[i]), {-1, 1}));
  const auto at = [&](double h) {
    Values moved = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (in[i]) moved[i] = shifted(x[i], dx[i], h);
    return run(p, moved);
  };
  constexpr double h = 1e-5;
  const Values result = run(jvp(p, in, out), all), here = at(0), plus = at(h), minus = at(-h), plus2 = at(h / 3),
               minus2 = at(-h / 3);
  std::size_t tangent = p->outputs().size();
  const Values values(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(out.size()));
  if (std::string wrong = compare(values, p, x, "the jvp's value"); !wrong.empty()) return wrong;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!out[k]) continue;
    for (std::int64_t i = 0; i < std::get<Buffer>(result[k]).elements(); ++i) {
      const auto want = (element(plus[k], i) - element(minus[k], i)) / (2 * h),
                 again = (element(plus2[k], i) - element(minus2[k], i)) / (2 * h / 3),
                 right = (element(plus[k], i) - element(here[k], i)) / h,
                 left = (element(here[k], i) - element(minus[k], i)) / h, got = element(result[tangent], i);
      const double slack = 1e-5 * (1 + std::abs(want) + std::abs(element(here[k], i)));
      ++decided().compared;
      if (!std::isfinite(std::abs(want)) || std::abs(want - again) > slack || std::abs(right - left) > 100 * slack)
        continue;
      ++decided().decided;
      if (!same(got, want, 4 * slack))
        return fmt::format("tangent of output {} element {}: {:.12g}+{:.12g}i, by differences {:.12g}+{:.12g}i", k, i,
                           got.real(), got.imag(), want.real(), want.imag());
    }
    ++tangent;
  }
  return {};
}
std::string jvp_differences(const Trial& t) { return t.smooth ? differences(start(t)) : ""; }
std::string second_differences(const Trial& t) {
  if (!t.smooth) return {};
  const Subject s = start(t);
  if (!differentiable(s.program)) return {};
  const std::string wrong = differences(t.seed % 2 == 0 ? vjp_of(s) : jvp_of(s));
  return wrong.empty() ? wrong : (t.seed % 2 == 0 ? "of the vjp: " : "of the jvp: ") + wrong;
}
std::string vmap_differences(const Trial& t) {
  return t.smooth ? differences(vmap_of(start(t), 2, t.seed % 2 == 0)) : "";
}

// <ct, J dx> = <Jt ct, dx> over the reals.
std::string transposes(const Subject& s) {
  const ProgramRef& p = s.program;
  if (!differentiable(p)) return {};
  const Mask in = active_in(*p), out = active_out(*p);
  const Subject reverse = vjp_of(s);
  const Values pulled_in = reverse.inputs();
  const std::size_t n = in.size(), m = out.size();
  Values pushed_in(pulled_in.begin(), pulled_in.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t i = 0; i < n; ++i)
    if (in[i]) pushed_in.emplace_back(random_buffer(type_of(pushed_in[i]), {-1, 1}));
  const Values pulled = run(reverse.program, pulled_in), pushed = run(jvp(p, in, out), pushed_in);
  const Values values(pulled.begin(), pulled.begin() + static_cast<std::ptrdiff_t>(m)),
      x(pulled_in.begin(), pulled_in.begin() + static_cast<std::ptrdiff_t>(n));
  if (std::string wrong = compare(values, p, x, "the value in reverse mode"); !wrong.empty()) return wrong;
  double scale = 1;
  const auto pair = [&](const Value& a, const Value& b, double& sum) {
    for (std::int64_t i = 0; i < std::get<Buffer>(a).elements(); ++i) {
      const double part = (element(a, i) * element(b, i)).real();
      sum += part;
      scale += std::abs(part);
    }
  };
  const auto paired = [&](const Values& tangents) {
    double sum = 0;
    for (std::size_t k = 0, j = 0; k < m; ++k)
      if (out[k]) {
        pair(tangents[m + j], pulled_in[n + j], sum);
        ++j;
      }
    return sum;
  };
  const double left = paired(pushed);
  double right = 0;
  for (std::size_t i = 0, j = 0; i < n; ++i)
    if (in[i]) {
      pair(pushed_in[n + j], pulled[m + j], right);
      ++j;
    }
  if (!std::isfinite(left) || !std::isfinite(right)) return {};  // 0·∞ on one way and not on the other
  const double rounded = last_place_of_float8(*reverse.program, [](const Eqn&) { return true; });
  double slack = std::max(tolerance_of(p), rounded) * scale;
  for (int i = 0; i < nudges && std::abs(left - right) > slack; ++i) {
    Values moved = nudged(x, tolerance_of(p) * 0.02);
    moved.insert(moved.end(), pushed_in.begin() + static_cast<std::ptrdiff_t>(n), pushed_in.end());
    const double by = std::abs(paired(run(jvp(p, in, out), moved)) - left);
    slack = std::isnan(by) ? INFINITY : std::max(slack, 10 * by);
  }
  if (std::abs(left - right) <= slack) return {};
  return fmt::format("forward {:.12g}, reverse {:.12g}", left, right);
}
std::string vjp_of_jvp(const Trial& t) { return transposes(start(t)); }
std::string vjp_of_vmap(const Trial& t) { return transposes(vmap_of(start(t), 2, t.seed % 2 == 0)); }
std::string vjp_of_vjp(const Trial& t) {
  const Subject s = start(t);
  return differentiable(s.program) ? transposes(vjp_of(s)) : "";
}

// A batch is a loop over lanes; a random subset of the inputs is batched.
std::string lanes(const Subject& s) {
  const ProgramRef& p = s.program;
  constexpr std::size_t count = 3;
  Mask batched;
  for (std::size_t i = 0; i < p->inputs().size(); ++i) batched.push_back(generator() % 3 != 0);
  for (std::size_t i = 0; i < s.common.size(); ++i) batched[i] = batched[i] && !s.common[i];
  decided().lanes_of_chosen_rows += makes_sizes(*p) && std::ranges::find(batched, true) != batched.end();
  std::vector<Values> each;
  for (std::size_t l = 0; l < count; ++l) each.push_back(s.inputs());
  Values all;
  for (std::size_t i = 0; i < batched.size(); ++i) {
    std::vector<Buffer> one;
    for (Values& lane : each) {
      if (!batched[i]) lane[i] = each[0][i];
      one.push_back(std::get<Buffer>(lane[i]));
    }
    all.emplace_back(batched[i] ? stacked(one) : one[0]);
  }
  const Values got = run(vmap(p, batched, Mask(p->outputs().size(), true), Dim(std::int64_t(count))), all);
  for (std::size_t l = 0; l < count; ++l) {
    Values lane;
    for (const Value& v : got) {
      const Buffer& b = std::get<Buffer>(v);
      lane.emplace_back(b.view(b.dtype(), b.dims().subspan(1), b.strides().subspan(1),
                               static_cast<std::int64_t>(l) * b.strides()[0]));
    }
    if (const std::string wrong = compare(lane, p, each[l], fmt::format("lane {}", l)); !wrong.empty()) return wrong;
  }
  return {};
}
std::string vmap_lanes(const Trial& t) { return lanes(start(t)); }
std::string vmap_vmap_lanes(const Trial& t) { return lanes(vmap_of(start(t), 2, t.seed % 2 == 0)); }
std::string vmap_of_vjp_lanes(const Trial& t) { return lanes(vjp_of(start(t))); }

std::string passes(const Trial& t) {
  const Subject s = start(t), reverse = vjp_of(s);
  for (const Subject& each : {s, reverse}) {
    const Values in = each.inputs();
    ProgramRef p = inline_calls(each.program);
    for (const ProgramPass& pass : compile_passes()) {
      const ProgramRef before = p;
      p = run_pass(pass, p);
      if (const std::string wrong = compare(run(p, in), before, in, "after " + pass.name); !wrong.empty())
        return wrong + "\n" + print(*before) + print(*p);
    }
  }
  return {};
}

// The statements of native code, behind each kernel pass: their text is read back as what it is.
std::string kernels_as_text(const ProgramRef& p) {
  const ProgramRef flat = flattened(p);
  if (!why_not_native(*flat).empty()) return {};
  kernel::Function f = statements_of(*flat, target()).first;
  std::string before;
  const auto wrong_behind = [&](const std::string& stage) {
    const std::string text = print(f);
    if (std::exchange(before, text) == text) return std::string();
    const std::string again = print(kernel::parse(text));
    return again == text ? "" : fmt::format("behind {}, the kernel\n{}is read back as\n{}", stage, text, again);
  };
  std::string wrong = wrong_behind("the plan");
  for (const kernel::Pass& pass : kernel_passes(target())) {
    if (!wrong.empty()) break;
    f = run_pass(pass, std::move(f));
    wrong = wrong_behind(pass.name);
  }
  return wrong;
}
std::string kernels(const Trial& t) {
  const Subject s = start(t);
  const std::string wrong = kernels_as_text(s.program);
  return wrong.empty() ? kernels_as_text(vjp_of(s).program) : wrong;
}

std::string without_one(const Trial& t) {
  const std::vector<std::string> names = optional_passes();
  return without_pass(t, names[t.seed % names.size()]);
}

}  // namespace

std::vector<std::string> optional_passes() {
  std::vector<std::string> names;
  const auto add = [&](const auto& all) {
    for (const auto& pass : all)
      if (pass.needed.empty() && std::ranges::find(names, pass.name) == names.end()) names.push_back(pass.name);
  };
  add(compile_passes()), add(kernel_passes({}));
  return names;
}

std::string without_pass(const Trial& t, const std::string& pass) {
  const WithoutPasses without({pass});
  clear_caches();  // code that the pass has seen
  std::string wrong;
  for (const Subject& s : {start(t), vjp_of(start(t))})
    if (wrong.empty()) wrong = native(s, "without the pass " + pass);
  clear_caches();
  return wrong;
}

std::span<const Property> properties() {
  static constexpr Property all[] = {{"text and back", text_and_back},
                                     {"jvp by differences", jvp_differences},
                                     {"vjp transposes jvp", vjp_of_jvp},
                                     {"vmap is a loop", vmap_lanes, true},
                                     {"native code", native_code},
                                     {"native jvp", native_jvp},
                                     {"native vjp", native_vjp},
                                     {"native vmap", native_vmap, true},
                                     {"passes", passes},
                                     {"kernels as text", kernels},
                                     {"a pass left out", without_one},
                                     {"vjp of vmap", vjp_of_vmap, true},
                                     {"vmap of vjp", vmap_of_vjp_lanes, true},
                                     {"jvp of vmap by differences", vmap_differences, true},
                                     {"second derivatives by differences", second_differences},
                                     {"vjp of vjp", vjp_of_vjp},
                                     {"vmap of vmap", vmap_vmap_lanes, true},
                                     {"native vmap of vjp", native_vmap_vjp, true}};
  return all;
}

std::string check(const Property& property, const Trial& trial) {
  try {
    return property.batches && !batchable(*trial.program) ? "" : property.wrong(trial);
  } catch (const std::exception& e) {
    return std::string("throws ") + e.what();
  }
}

Decided& decided() {
  static Decided counts;
  return counts;
}

}  // namespace tenon::sample
