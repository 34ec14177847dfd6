// What the ops that stand for a Program applied to their operands share: call, checkpoint and the custom derivatives.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ir/recurse.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/control/region.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(CallParams, (), (program, sizes))
BOOST_DESCRIBE_STRUCT(CondParams, (), (branches, sizes))

Mask complement(Mask mask);
// Of the types' arrays (inside lists too): those of real or complex dtype, which have tangents.
Mask with_tangents(std::span<const Type> types);
SizeBinding callee_sizes(const Program& program, std::span<const Dim> sizes);
Params call_params(ProgramRef program, std::vector<Dim> sizes);
bool is_call(const OpInfo& op);  // call, checkpoint and all that have CallParams

// Types of the Program's outputs at operands; errors begin with the op's name.
std::vector<Type> callee_types(std::string_view op, const ProgramRef& program, std::span<const Dim> sizes,
                               std::span<const Type> in, TypeContext& context);
// That a Program of the params takes and gives certain types. Sizes that data decide agree with any other.
void check_callee(std::string_view op, std::string_view role, const ProgramRef& program, std::span<const Dim> sizes,
                  std::span<const Type> in, std::span<const Type> out);

// The rules of a Program applied; results are bound as `op`, whose params are CallParams.
JvpResult callee_jvp(const OpInfo& op, const CallParams& p, const JvpArgs& args);
void callee_transpose(const OpInfo& op, const CallParams& p, const TransposeArgs& args);
BatchResult callee_batch(const OpInfo& op, const CallParams& p, const BatchArgs& args);
// Two calls, placed so; the first gives the outputs of `known_out` and stores residuals.
SplitResult callee_split(const CallParams& p, const SplitArgs& args, const Mask& known_out,
                         Placement placement = Placement::priced);

GuardResult callee_guard(const GuardArgs& args);
LowerCall::Callee callee_of_call(const Params& params);

std::vector<Value> callee_eval(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Value> in,
                               const EvalContext& context);

// A Program with the inputs of another, made from the other's outputs at them.
ProgramRef after(const ProgramRef& program, FunctionRef<Arrays(const Arrays&)> make);

}  // namespace tenon
