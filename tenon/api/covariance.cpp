#include "tenon/api/covariance.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// Variables as rows.
Array variables_of(std::string_view name, const Array& x, bool columns) {
  if (x.rank() > 2)
    throw ShapeError(fmt::format("{}: of arrays of two axes at most, not of {}.", name, x.type().text()),
                     "Variables are rows, observations columns.");
  if (x.rank() < 2) return reshape(x, {1, x.shape().elements()});
  return columns && x.shape()[0].try_value() != 1 ? transpose(x) : x;
}

// What observations count as, all of them.
MaybeArray weights_of_observations(std::string_view name, const Array& x, const CovOptions& options) {
  const auto checked = [&](const Array& w) {
    if (w.rank() != 1 || decided_equal(w.shape()[0], x.shape()[1]) == false)
      throw ShapeError(fmt::format("{}: weights {} of observations {}.", name, w.type().text(), x.type().text()),
                       "Give a vector of one for each observation.");
    return convert(w, real_part_of(x.dtype()));
  };
  if (options.frequencies && !is_integer(options.frequencies->dtype()))
    throw DTypeError(fmt::format("{}: frequencies are {}.", name, options.frequencies->type().text()),
                     "They are integers; other weights are .weights.");
  if (!options.frequencies) return options.weights ? MaybeArray(checked(*options.weights)) : MaybeArray();
  const Array often = checked(*options.frequencies);
  return options.weights ? often * checked(*options.weights) : often;
}

Array covariances(std::string_view name, const Operand& given, const Operand* more, const CovOptions& options) {
  const SourceScope place(given.where(), name);
  Array x = given;
  if (more == nullptr) {
    x = to_inexact(x);
    x = x.rank() == 2 && options.columns ? transpose(x) : variables_of(name, x, false);
  } else {
    const Met met = in_one_dtype(Arrays{given, *more});
    x = to_inexact(met.operands[0]);
    x = x.rank() == 2 && options.columns ? transpose(x) : variables_of(name, x, false);
    x = concatenate({x, variables_of(name, to_inexact(met.operands[1]), options.columns)}, 0);
  }
  const Array ddof = options.ddof ? *options.ddof : Array(1);
  const DType real_dtype = real_part_of(x.dtype());
  Array made;
  if (const MaybeArray weights = weights_of_observations(name, x, options)) {
    const Array total = sum(*weights);
    x = x - sum(x * *weights, Axes(1).keepdims()) / total;
    const Array lost = options.weights ? ddof * sum(*weights * convert(*options.weights, real_dtype)) / total : ddof;
    made = matmul(x * *weights, matrices::adjoint(x)) / (total - convert(lost, real_dtype));
  } else {
    x = x - mean(x, Axes(1).keepdims());
    const Dim n = x.shape()[1];
    const Array left = n.known() && ddof.number() != nullptr
                           ? Array(std::max(static_cast<double>(n.value()) - ddof.number()->as_double(), 0.0))
                           : max(size_as_array(n, real_dtype) - convert(ddof, real_dtype), 0);
    made = matmul(x, matrices::adjoint(x)) / left;
  }
  return made.shape().elements().try_value() == 1 ? reshape(made, {}) : made;
}

Array correlations(const Operand& x, const Operand* y, const CovOptions& options) {
  const SourceScope place(x.where(), "corrcoef");
  const Array c = covariances("corrcoef", x, y, options);
  if (c.rank() == 0) return c / c;
  const Dim n = c.shape()[0];
  const Array deviations = sqrt(matrices::diagonal(real(c)));
  return c / reshape(deviations, {n, 1}) / deviations;
}

}  // namespace

Array cov(const Operand& x, const CovOptions& options) { return covariances("cov", x, nullptr, options); }
Array cov(const Operand& x, const Operand& y, const CovOptions& options) { return covariances("cov", x, &y, options); }
Array corrcoef(const Operand& x, const CovOptions& options) { return correlations(x, nullptr, options); }
Array corrcoef(const Operand& x, const Operand& y, const CovOptions& options) { return correlations(x, &y, options); }

}  // namespace tenon
