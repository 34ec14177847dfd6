// stop_gradient: a value through which no derivative flows.
#include "tenon/ops/families.h"
#include "tenon/ops/indexing.h"

namespace tenon {
namespace {

extern const OpInfo stop_info;

const OpInfo stop_info{
    .name = "stop_gradient",
    .summary = "x without its derivative",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1) throw VerifyError("stop_gradient: takes one operand.");
      return std::vector{in[0]};
    }),
    .eval = EvalRule(
        [](const Params&, std::span<const Value> in, const EvalContext&) { return std::vector<Value>{in[0]}; }),
    // Bound again, so that derivatives of the next order stop here too.
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{{bind1(stop_info, {}, {args.primals[0]})}, {std::nullopt}};
    }),
    .transpose = Absent{"it has no tangent"},
    .batch = BatchRule(
        [](const BatchArgs& args) { return BatchResult{{bind1(stop_info, {}, {args.operands[0]})}, {true}}; }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{.rule = [](const LowerArgs& args) { return args.load(0, args.index); },
                                    .elementwise = true,
                                    .identity = true}),
    .alias = AliasRule{0, 0},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{.params = {}, .types = {Type::array(d, {Dim(3)})}, .domains = {{-3, 3}}, .by_values = false}};
    })};
const bool stop_gradient_installed = (install_op(stop_info), true);

}  // namespace

Array stop_gradient(const Operand& x) {
  const SourceScope place(x.where(), "stop_gradient");
  return bind1(stop_info, {}, {x});
}

}  // namespace tenon
