#include "tenon/ir/literal.h"

#include <fmt/format.h>

#include <cstring>

#include "tenon/ir/describe_params.h"

namespace tenon {

struct LiteralParams {
  Scalar value;
};
BOOST_DESCRIBE_STRUCT(LiteralParams, (), (value))

struct RequireEqualParams {
  Dim a, b;
  std::string asked = {};  // who asks for it, for the error; outside of text and hashes
};
BOOST_DESCRIBE_STRUCT(RequireEqualParams, (), (a, b))

namespace {

kernel::Expr literal_element(const LowerArgs& args) {
  const Scalar& value = literal_value(args.params);
  return kernel::constant(value.dtype(), value.data());
}

const OpInfo literal_info{
    .name = "literal",
    .summary = "a number",
    .params = &describe::params_ops<LiteralParams>,
    .type = TypeRule([](const Params& p, std::span<const Type> in, TypeContext&) {
      if (!in.empty()) throw VerifyError("literal: takes no operands.");
      return std::vector{Type::array(literal_value(p).dtype(), {})};
    }),
    .eval = EvalRule([](const Params& p, std::span<const Value>, const EvalContext&) {
      const Scalar& value = literal_value(p);
      Buffer cell = Buffer::allocate(value.dtype(), {});
      std::memcpy(cell.data(), value.data(), size_of(value.dtype()));
      return std::vector<Value>{cell};
    }),
    .jvp = Absent{"it has no operand"},
    .transpose = Absent{"it has no operand"},
    .batch = Absent{"it has no operand"},
    .split = Absent{"wholly known"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{literal_element, true}),
    .alias = Absent{"it has no operand"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested through every other op"},
};

void require_equal_sizes(const RequireEqualParams& sizes) {
  if (sizes.a == sizes.b) return;
  throw ShapeError(fmt::format("{} They are {} and {}.", sizes.asked.empty() ? "two sizes must be equal." : sizes.asked,
                               sizes.a.text(), sizes.b.text()),
                   "Reshape or slice an operand. Sizes that data decide agree where one variable decides both: choose "
                   "with one mask.");
}

const OpInfo require_equal_info{
    .name = "require_equal",
    .summary = "stops the run when two sizes differ",
    .params = &describe::params_ops<RequireEqualParams>,
    .type = TypeRule([](const Params& p, std::span<const Type> in, TypeContext&) {
      if (!in.empty()) throw VerifyError("require_equal: takes no operands.");
      const auto& sizes = p.as<RequireEqualParams>();
      if (sizes.a.known() && sizes.b.known()) require_equal_sizes(sizes);  // of a Program for these sizes
      return std::vector<Type>{};
    }),
    .eval = EvalRule([](const Params& p, std::span<const Value>, const EvalContext&) {
      require_equal_sizes(p.as<RequireEqualParams>());
      return std::vector<Value>{};
    }),
    .jvp = Absent{"it has no operand"},
    .transpose = Absent{"it has no operand"},
    .batch = Absent{"it has no operand"},
    .split = Absent{"wholly known"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::host}),
    .alias = Absent{"it has no operand"},
    .effect = std::function<Effect(const Params&)>([](const Params&) { return Effect::host; }),
    .sample = Absent{"its effect is tested with symbolic sizes"},
};

const bool literal_installed = (install_op(literal_info), install_op(require_equal_info), true);

}  // namespace

const OpInfo& literal_op() { return literal_info; }
Params literal_params(const Scalar& value) { return make_params(LiteralParams{value}); }
const Scalar& literal_value(const Params& params) { return params.as<LiteralParams>().value; }

const OpInfo& require_equal_op() { return require_equal_info; }
std::pair<Dim, Dim> sizes_to_be_equal(const Params& params) {
  const auto& sizes = params.as<RequireEqualParams>();
  return {sizes.a, sizes.b};
}
Params require_equal_params(const Dim& a, const Dim& b, std::string asked) {
  return make_params(RequireEqualParams{a, b, std::move(asked)});
}

}  // namespace tenon
