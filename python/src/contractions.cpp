// Products of matrices and tensors, and linear algebra.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "dtypes.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/api/scaled_dot.h"
#include "tenon/ops/dot.h"
#include "tenon/ops/linear_algebra.h"

namespace tenon::python {
namespace {

using Integers = std::vector<std::int64_t>;

}  // namespace

void add_contractions(nb::module_& module) {
  using Preferred = std::optional<DTypeArgument>;
  const auto dtype = [](const Preferred& preferred) {
    return preferred ? std::optional(preferred->dtype) : std::nullopt;
  };
  module.def(
      "matmul",
      [dtype](ArrayLike x, ArrayLike y, Preferred preferred) {
        const Array a = x.array("matmul"), b = y.array("matmul");
        return call_op("matmul", [&] { return matmul(op(a), op(b), dtype(preferred)); });
      },
      nb::arg(), nb::arg(), nb::arg() = nb::none());
  module.def(
      "dot_general",
      [dtype](ArrayLike x, ArrayLike y, Integers contract_x, Integers contract_y, Integers batch_x, Integers batch_y,
              Preferred preferred) {
        const Array a = x.array("dot_general"), b = y.array("dot_general");
        return call_op("dot_general", [&] {
          return dot_general(
              op(a), op(b),
              {.contract_a = contract_x, .contract_b = contract_y, .batch_a = batch_x, .batch_b = batch_y},
              dtype(preferred));
        });
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg() = nb::none());
  module.def("summed_in", [](const std::string& function, DTypeArgument factors, DTypeArgument preferred) {
    return summed_in(function, factors.dtype, preferred.dtype);
  });
  module.def("scaled_dot", [](ArrayLike x, ArrayLike y, nb::handle scale_x, nb::handle scale_y, Integers contract_x,
                              Integers contract_y, Integers batch_x, Integers batch_y, DTypeArgument dtype) {
    const char* name = "scaled_dot";
    const Array a = x.array(name), b = y.array(name);
    ScaledDotOptions options{{}, {}, DotAxes{contract_x, contract_y, batch_x, batch_y}, dtype};
    if (!scale_x.is_none()) options.a_scale = operand(name, scale_x);
    if (!scale_y.is_none()) options.b_scale = operand(name, scale_y);
    return call_op(name, [&] { return scaled_dot(op(a), op(b), options); });
  });
  module.def("einsum", [](const std::string& equation, const std::vector<ArrayLike>& operands) {
    Arrays all;
    for (const ArrayLike& x : operands) all.push_back(x.array("einsum"));
    return call_op("einsum", [&] {
      return all.size() == 1 ? einsum(equation, op(all[0])) : einsum(equation, op(all[0]), op(all[1]));
    });
  });
  module.def("cholesky", [](ArrayLike x, bool symmetrize) {
    const Array a = x.array("cholesky");
    return call_op("cholesky", [&] { return cholesky(op(a), {.symmetrize = symmetrize}); });
  });
  module.def("triangular_solve", [](ArrayLike x, ArrayLike y, bool left_side, bool lower, bool transpose_a,
                                    bool conjugate_a, bool unit_diagonal) {
    const Array a = x.array("triangular_solve"), b = y.array("triangular_solve");
    return call_op("triangular_solve", [&] {
      return triangular_solve(op(a), op(b), {left_side, lower, transpose_a, conjugate_a, unit_diagonal});
    });
  });
  module.def("solve", [](ArrayLike x, ArrayLike y) {
    const Array a = x.array("solve"), b = y.array("solve");
    return call_op("solve", [&] { return solve(op(a), op(b)); });
  });
  module.def("inv", [](ArrayLike x) {
    const Array a = x.array("inv");
    return call_op("inv", [&] { return inv(op(a)); });
  });
}

}  // namespace tenon::python
