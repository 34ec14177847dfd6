// A Program that reads whole rows of some inputs and nothing else of them, as one that is given these rows.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/transform/transforms.h"

namespace tenon {

// Instead of the inputs of the mask, `tables`, the Program gets one input for each place that reads rows of one: all
// rows that are read there, in every step of the loops around. It gives one output more for each: the rows' numbers,
// i64[n]. So the cotangents of the new inputs are the rows of the tables' cotangents.
struct SparseReads {
  ProgramRef program;  // the other inputs, then rows; the outputs, then numbers
  struct Read {
    std::size_t table;  // the input of the Program as it was
    Type rows;          // [n, a row's axes…]
  };
  std::vector<Read> reads;
};

// Throws DifferentiationError where a table is read otherwise; `what` names it, by its input.
SparseReads sparse_reads(const ProgramRef& program, const Mask& tables, FunctionRef<std::string(std::size_t)> what);

}  // namespace tenon
