// checkpoint_name: a value with a name for policies of checkpoints; and the mark of what a checkpoint keeps.
#include "tenon/ir/describe_params.h"
#include "tenon/ops/control/custom.h"
#include "tenon/ops/families.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CheckpointNameParams, (), (name, kept))

namespace {

const OpInfo name_info{.name = "checkpoint_name",
                       .summary = "x, by a name for policies of checkpoints",
                       .params = &describe::params_ops<CheckpointNameParams>,
                       .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
                         if (in.size() != 1) throw VerifyError("checkpoint_name: takes one operand.");
                         return std::vector{in[0]};
                       }),
                       .eval = family::first_operand(),
                       // A tangent is not what the user named.
                       .jvp = JvpRule([](const JvpArgs& args) {
                         return JvpResult{bind_op(checkpoint_name_op(), args.params, args.primals), {args.tangents[0]}};
                       }),
                       .transpose = TransposeRule([](const TransposeArgs& args) {
                         if (args.cotangents[0]) args.sink.add(0, *args.cotangents[0]);
                       }),
                       .batch = BatchRule([](const BatchArgs& args) {
                         return BatchResult{bind_op(checkpoint_name_op(), args.params, args.operands), {true}};
                       }),
                       .split = Absent{"wholly known or not"},
                       .guard = Absent{"no Programs inside"},
                       .lower = LowerRule(family::first_operand_lowered(true)),
                       .alias = AliasRule{0, 0},
                       .effect = Absent{"pure"},
                       .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
                         return {{.params = make_params(CheckpointNameParams{"x", false}),
                                  .types = {Type::array(d, {Dim(3)})},
                                  .domains = {{-3, 3}}}};
                       })};
const bool checkpoint_name_installed = (install_op(name_info), true);

}  // namespace

const OpInfo& checkpoint_name_op() { return name_info; }

Array checkpoint_name(const Operand& x, std::string name, bool kept) {
  const SourceScope place(x.where(), "checkpoint_name");
  return bind1(name_info, make_params(CheckpointNameParams{std::move(name), kept}), {x});
}

}  // namespace tenon
