// The arrays that `tenon run` takes and gives.
#pragma once

#include <string>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ir/value.h"

namespace tenon::cli {

// One value an input of the Program, from what the command line says: the name of a .npy file, or numbers in row-major
// order with blanks between them ("0.5 1 2"), which need an input of known sizes. Throws what reading throws,
// ShapeError and DTypeError where a file holds something else than the Program takes.
std::vector<Value> read_inputs(const Program& program, const std::vector<std::string>& given);

// Each output into its file, or printed where there are no files.
void write_outputs(const std::vector<Value>& outputs, const std::vector<std::string>& files);

}  // namespace tenon::cli
