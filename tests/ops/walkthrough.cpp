// The ops that docs/adding-an-op.md adds, so that its code is compiled and run: installed here, they meet the tests
// that are generated for every op.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/api/data.h"
#include "tenon/api/jit.h"
#include "tenon/api/transforms.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon {

struct CycleParams {
  std::int64_t axis, shift;
};
BOOST_DESCRIBE_STRUCT(CycleParams, (), (axis, shift))

namespace {

// --- softsign: an elementwise op ---
extern const OpInfo softsign_info;
// d softsign(x) = dx / (1 + |x|)²
const OpInfo softsign_info = family::elementwise(
    "softsign", "x / (1 + |x|)", 1, &decltype(dtypes::real)::has,
    eval_unary(dtypes::real, [](auto x) { return x / (1 + std::abs(x)); }),
    family::unary_jvp(softsign_info,
                      [](const Array& x, const Array&, const Array& dx) {
                        const Array below = 1 + abs(x);
                        return dx / (below * below);
                      }),
    Absent{"not linear"},
    [](std::span<const kernel::Expr> given) {  // narrow floats are rounded once, behind it
      const kernel::Expr x = kernel::convert(computed_in(given[0].dtype()), given[0]);
      const kernel::Expr below = kernel::constant_like(x, 1) + kernel::unary(kernel::Unary::abs, x);
      return kernel::convert(given[0].dtype(), x / below);
    },
    {{-3, 3}}, family::same);
const bool softsign_installed = (install_op(softsign_info), true);

Array softsign(const Operand& x) {
  const SourceScope place(x.where());
  return bind1(softsign_info, {}, {to_inexact(x)}).with_weak(x->weak());
}

// --- cycle: an op with all its slots ---
extern const OpInfo cycle_info;
Array cycle(const Operand& x, std::int64_t shift, std::int64_t axis);

const IndexMap cycle_map =
    index_map([](const Params& params, std::span<const Dim> in, std::span<const Dim>, auto index) {
      using Index = std::remove_cvref_t<decltype(index[0])>;
      const auto& p = params.as<CycleParams>();
      std::vector<Index> from(index.begin(), index.end());
      const auto axis = static_cast<std::size_t>(p.axis);
      const Dim n = max(in[axis], 1), back = modulo(-p.shift, n);
      from[axis] = (from[axis] + index_of<Index>(back)) % index_of<Index>(n);
      return from;
    });

std::vector<Type> cycle_type(const Params& params, std::span<const Type> in, TypeContext&) {
  if (in.size() != 1) throw VerifyError("cycle: takes one operand.");
  if (!in[0].is_array()) throw DTypeError("cycle: " + in[0].text() + " is not an array.", "Stack the list first.");
  normalize_axis(params.as<CycleParams>().axis, in[0].rank(), "cycle");
  return {in[0]};
}

const OpInfo cycle_info{.name = "cycle",
                        .summary = "an axis moved around its end by `shift` places",
                        .params = &describe::params_ops<CycleParams>,
                        .type = TypeRule(cycle_type),
                        .eval = eval_index_map(cycle_map),
                        .jvp = jvp_by_itself(cycle_info),
                        .transpose = TransposeRule([](const TransposeArgs& args) {
                          const auto& p = args.params.as<CycleParams>();
                          if (args.cotangents[0]) args.sink.add(0, cycle(*args.cotangents[0], -p.shift, p.axis));
                        }),
                        .batch = BatchRule([](const BatchArgs& args) {
                          const auto& p = args.params.as<CycleParams>();
                          return BatchResult{{cycle(args.operands[0], p.shift, p.axis + 1)}, {true}};
                        }),
                        .split = Absent{"wholly known or not"},
                        .guard = Absent{"no Programs inside"},
                        .lower = lower_index_map(cycle_map),
                        .alias = Absent{"elements change places"},
                        .effect = Absent{"pure"},
                        .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
                          return {{make_params(CycleParams{0, 2}), {Type::array(d, {Dim(5)})}, {{-3, 3}}},
                                  {make_params(CycleParams{1, -4}), {Type::array(d, {Dim(2), Dim(3)})}, {{-3, 3}}},
                                  {make_params(CycleParams{0, 1}), {Type::array(d, {Dim(0)})}, {{-3, 3}}}};
                        })};
const bool cycle_installed = (install_op(cycle_info), true);

Array cycle(const Operand& x, std::int64_t shift, std::int64_t axis) {
  const SourceScope place(x.where());
  const auto normal = static_cast<std::int64_t>(normalize_axis(axis, x->rank(), "cycle"));
  return bind1(cycle_info, make_params(CycleParams{normal, shift}), {x}).with_weak(x->weak());
}

// --- what no generated test knows: values, and errors ---
TEST(Walkthrough, Values) {
  EXPECT_FLOAT_EQ(softsign(3.f).item<float>(), 0.75f);
  const Array x = {{0.0, 1.0, 2.0}, {3.0, 4.0, 5.0}};
  const Array cycled = cycle(x, 1, -1);
  EXPECT_EQ(std::vector<double>(cycled.span<double>().begin(), cycled.span<double>().end()),
            (std::vector<double>{2, 0, 1, 5, 3, 4}));
}

TEST(Walkthrough, Composes) {
  const auto slope = jit(vmap(grad([](const Array& x) { return sum(softsign(cycle(x, 1, 0)) * x); })));
  const Array x = {{0.5, -1.0, 2.0}, {3.0, 0.25, -2.0}};
  const Array got = slope(x);
  for (std::size_t row = 0; row < 2; ++row) {
    const double* v = x.span<double>().data() + 3 * row;
    for (std::size_t i = 0; i < 3; ++i) {
      const double before = v[(i + 2) % 3], after = v[(i + 1) % 3];
      const double want = before / (1 + std::abs(before)) + after / std::pow(1 + std::abs(v[i]), 2);
      EXPECT_NEAR(got.span<double>()[3 * row + i], want, 1e-15);
    }
  }
}

TEST(Walkthrough, WrongCall) { EXPECT_THROW(cycle(1.f, 1, 0), ShapeError); }

}  // namespace
}  // namespace tenon
