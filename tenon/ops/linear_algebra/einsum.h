// Sums of products, with a letter for each axis.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

struct EinsumOptions {
  // The result's dtype, in which products are summed as dot_general has it.
  std::optional<DType> preferred = {};
  // Which operands meet in each step, by their places among those that are left; what they make goes to the end. What
  // is left after the last step meets in the order given. Empty: for up to twelve operands the order of the fewest
  // operations, for more one found in n log n steps.
  std::vector<std::vector<std::int64_t>> path = {};
};

// "ij,jk->ik" and the like, of any number of operands: products of all, summed over letters that the result lacks.
// Without "->" the result has the letters that occur once, in alphabetical order. A letter that occurs twice in an
// operand takes the diagonal. "..." stands for any axes, which broadcast from the last on, and come first in a result
// that is not told; one without "..." sums them. Axes of one letter have one size, or 1, which broadcasts. More than
// two operands are multiplied two at a time. dtypes as of dot_general; of bools whether any product is true. Throws
// ShapeError where letters, axes or a path do not fit.
//   einsum("ii->i", Array{{1, 2}, {3, 4}})   // 1 4
//   einsum("ij,j->i", Array{{1, 2}, {3, 4}}, Array{1, 10})   // 21 43
//   einsum("i,ij,j->", Array{1, 2}, Array{{1, 2}, {3, 4}}, Array{1, 1})   // 17
Array einsum(std::string_view equation, const Arrays& operands, const EinsumOptions& options = {},
             const Source& where = std::source_location::current());
template <class... More>
  requires(std::convertible_to<const More&, Operand> && ...)
Array einsum(std::string_view equation, const Operand& a, const More&... more) {
  return einsum(equation, Arrays{a.array(), Operand(more).array()...}, {}, a.where());
}

// The path that einsum takes by itself, in pairs; of up to two operands all at once. Sizes that vary count as their
// estimates.
//   einsum_path("ij,jk,k->i", {ones({2, 3}), ones({3, 4}), ones({4})})   // {{1, 2}, {0, 1}}
std::vector<std::vector<std::int64_t>> einsum_path(std::string_view equation, const Arrays& operands,
                                                   const Source& where = std::source_location::current());

}  // namespace tenon
