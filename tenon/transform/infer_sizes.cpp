// The size parameters of a Program, from the types of its operands.
#include <fmt/format.h>

#include "tenon/ir/unify.h"
#include "tenon/transform/transforms.h"

namespace tenon {

std::vector<Dim> infer_sizes(const Program& program, std::span<const Type> operands) {
  return infer_sizes(program, operands, {});
}

std::vector<Dim> infer_sizes(const Program& program, std::span<const Type> operands, std::vector<Dim> given) {
  SizeBinding binding;
  for (std::size_t i = 0; i < given.size(); ++i) binding.emplace(program.size_params()[i], given[i]);
  for (std::size_t i = 0; i < operands.size() && i < program.inputs().size(); ++i)
    if (!unify(program.type(program.inputs()[i]), operands[i], binding))
      throw VerifyError(fmt::format("Program {}: input {} is {}, {} is given.", program.name(), i,
                                    program.type(program.inputs()[i]).text(), operands[i].text()));
  std::vector<Dim> sizes;
  for (SizeVar s : program.size_params()) {
    const auto found = binding.find(s);
    if (found == binding.end())
      throw VerifyError(
          fmt::format("Program {}: a size parameter is not decided by the operands' types.", program.name()));
    sizes.push_back(found->second);
  }
  return sizes;
}

}  // namespace tenon
