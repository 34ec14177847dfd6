// The ops that wrap a user's Programs: derivatives of their own, and what is computed again instead of kept.
#pragma once

#include "tenon/ops/control/region.h"

namespace tenon {

struct JvpArgs;

// custom_jvp {…} arguments…, captures…  ->  outputs of the function at them
//   rule: (arguments…, captures…, tangents of the arguments that have any) -> (outputs…, tangents of the outputs that
//   have any)
struct CustomJvpParams {
  ProgramRef function;
  std::vector<Dim> sizes;
  ProgramRef rule;
  std::vector<Dim> rule_sizes;
  std::int64_t arguments = 0;
};
Arrays bind_custom_jvp(CustomJvpParams params, std::span<const Array> operands);

// custom_vjp {…} arguments…, captures…  ->  outputs of the function at them
//   forward: (arguments…, captures…) -> (outputs…, residuals…)
//   backward: (captures…, residuals…, cotangents of the outputs that have any) -> cotangents of the arguments that have
//   any
// The last arguments and outputs are states: the function and forward return them as they are, and their cotangents
// are not summed but handed on from call to call, each changed by backward.
struct CustomVjpParams {
  ProgramRef function;
  std::vector<Dim> sizes;
  ProgramRef forward;
  std::vector<Dim> forward_sizes;
  ProgramRef backward;
  std::vector<Dim> backward_sizes;
  std::int64_t arguments = 0;
  std::int64_t states = 0;
};
Arrays bind_custom_vjp(CustomVjpParams params, std::span<const Array> operands);

// custom_vmap {…} operands…  ->  outputs of the function at them
//   rule: the same over `lanes` lanes, which are axis 0 of the operands of `in` and of the outputs of `out`
struct CustomVmapParams {
  ProgramRef function;
  std::vector<Dim> sizes;
  ProgramRef rule;
  std::vector<Dim> rule_sizes;
  Dim lanes;
  std::vector<bool> in, out;
};
Arrays bind_custom_vmap(CustomVmapParams params, std::span<const Array> operands);

// A function with a rule captures what is differentiated.
class CaptureError : public DifferentiationError {
 public:
  using DifferentiationError::DifferentiationError;
};

// Throws CaptureError where an operand behind the arguments, a capture, has a tangent.
void require_arguments_alone(std::string_view op, std::size_t arguments, const JvpArgs& args);

// checkpoint_name {…} x  ->  x, by a name that policies of checkpoints see. Where it is `kept`, reverse mode of a
// checkpoint around it keeps it, if it reads it.
struct CheckpointNameParams {
  std::string name;
  bool kept = false;
};
const OpInfo& checkpoint_name_op();
Array checkpoint_name(const Operand& x, std::string name, bool kept = false);

// checkpoint {…} operands…  ->  outputs of the Program; CallParams.
Arrays bind_checkpoint(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands);

}  // namespace tenon
