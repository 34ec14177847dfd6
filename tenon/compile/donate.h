// share_donated: outputs of a Function computed in the memory of donated inputs.
#pragma once

#include <optional>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/kernel/function.h"

namespace tenon {

// Arguments are the Program's inputs, then its outputs. An output takes the memory of a donated input of the same type
// where nothing reads the input once the output is being written, or only element by element as it is written. Returns
// for each output the input whose memory it shares; the two arguments must have the same address then. Run before
// statements are divided into blocks of rows. Cost: a walk over the statements for each pair that agrees in size.
std::vector<std::optional<std::size_t>> share_donated(kernel::Function& function, const Program& program,
                                                      const std::vector<bool>& donated);

}  // namespace tenon
