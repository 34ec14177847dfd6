#include <fmt/format.h>

#include "tenon/api/cluster.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

cluster::Codes cluster::vq(const Operand& observations, const Operand& code_book) {
  constexpr std::string_view name = "vq";
  const SourceScope place(observations.where(), name);
  const Met met = in_one_dtype(Arrays{to_inexact(observations), to_inexact(code_book)});
  Array rows = widened(met.operands[0]), book = widened(met.operands[1]);
  if (rows.rank() == 1 && book.rank() == 1) rows = expand_dims(rows, 1), book = expand_dims(book, 1);
  const bool fit = rows.rank() == 2 && book.rank() == 2;
  if (!fit || decided_equal(rows.shape()[1], book.shape()[1]) == false || book.shape()[0].try_value() == 0)
    throw ShapeError(fmt::format("{}: observations {} and a code book {}.", name, observations->type().text(),
                                 code_book->type().text()),
                     "Both are vectors, or matrices with rows of one length; the book has a row or more.");
  const Array apart = expand_dims(rows, 1) - expand_dims(book, 0);
  const Array squares = sum(squared_modulus(apart), 2);
  const Array least = amin(squares, 1), none = least == 0;
  const Array distances = where(none, zeros_like(least), sqrt(where(none, ones_like(least), least)));
  const DType stored = met.operands[0].dtype();
  return {argmin(squares, 1), is_complex(stored) ? distances : convert(distances, stored)};
}

}  // namespace tenon
