// Reductions over windows by functions of Python's.
#include "tenon/api/windows.h"

#include <nanobind/stl/vector.h>

#include "choices_api_convolution.h"
#include "functions.h"
#include "rooms.h"

namespace tenon::python {
namespace {

using Integers = std::vector<std::int64_t>;
using Pads = std::vector<std::pair<std::int64_t, std::int64_t>>;
WindowOptions window_options(const char* name, Integers strides, nb::handle padding, Integers base_dilation = {},
                             Integers window_dilation = {}) {
  return {std::move(strides), taken<std::variant<Padding, Pads>>({name, "padding"}, padding), std::move(base_dilation),
          std::move(window_dilation)};
}

// f of two trees of arrays as one of their leaves.
auto of_leaves(const char* name, nb::handle f, const FlatTree& tree) {
  return [name, f, &tree](std::span<const Array> in) {
    const std::size_t n = tree.leaves.size();
    const nb::object x = unflatten_arrays(*tree.tree, in.first(n)), y = unflatten_arrays(*tree.tree, in.subspan(n));
    FlatTree made = flat_arrays(name, "what the function returns", f(x, y));
    require_same_tree(name, "the operands and what the function returns", *tree.tree, *made.tree);
    return std::move(made.leaves);
  };
}

nb::object reduce_window_by(nb::handle f, nb::handle xs, nb::handle inits, const Integers& window, Integers strides,
                            nb::handle padding, Integers base_dilation, Integers window_dilation) {
  constexpr const char* name = "reduce_window";
  return call_transformation(name, [&] {
    const FlatTree tree = flat_arrays(name, "the operands", xs), first = flat_arrays(name, "the initial values", inits);
    require_same_tree(name, "the operands and the initial values", *tree.tree, *first.tree);
    const WindowOptions options =
        window_options(name, std::move(strides), padding, std::move(base_dilation), std::move(window_dilation));
    const auto combine = of_leaves(name, f, tree);
    return unflatten_arrays(*tree.tree,
                            api_detail::reduce_windows(combine, tree.leaves, first.leaves, window, options));
  });
}

}  // namespace

void add_windows(nb::module_& module) {
  module.def("reduce_window_by", reduce_window_by);
  module.def("select_and_scatter", [](nb::handle select, nb::handle combine, ArrayLike x, ArrayLike source,
                                      ArrayLike init, Integers window, Integers strides, nb::handle padding) {
    constexpr const char* name = "select_and_scatter";
    const Array a = x.array(name), b = source.array(name), c = init.array(name);
    return call_transformation(name, [&] {
      const auto of = [name](nb::handle f) {
        return [name, f](std::span<const Array> in) {
          return flat_arrays(name, "what the function returns", f(nb::cast(in[0]), nb::cast(in[1]))).leaves;
        };
      };
      const auto first = of(select), second = of(combine);
      return api_detail::select_and_scatter_by(first, second, a, b, c, window,
                                               window_options(name, std::move(strides), padding));
    });
  });
}

}  // namespace tenon::python
