// Tables of numbers as text, CSV and its kin: load_table("x.csv"), save_table("x.csv", table).
#pragma once

#include <string_view>

#include "tenon/ir/array.h"

namespace tenon {

struct TableOptions {
  char separator = ',';  // ' ' stands for any white space
  int header_lines = 0;  // lines before the numbers: left out when reading, not written
};

// f64[rows, columns]; an empty field is NaN. Lines without a character are left out. Throws RuntimeError where the file
// cannot be read, ParseError with line and column where a field is no number or a row is longer or shorter than the
// first.
//   tn::save_table(file, Array{{1, 2}, {3, 4}});   // file: "table.csv"
//   tn::load_table(file)   // 1 2, 3 4
Array load_table(std::string_view file, const TableOptions& options = {},
                 const Source& where = std::source_location::current());

// A row a line, of an array of real numbers, integers or bools, rank 1 (one column) or 2. Numbers are written as short
// as they read back to the same value; NaN as nan. Throws RuntimeError where the file cannot be written.
//   tn::save_table(file, Array{1.5f, NAN}, {.separator = ' '});
void save_table(std::string_view file, const Operand& table, const TableOptions& options = {});

}  // namespace tenon
