// Reductions over windows, and pooling.
#include "tenon/api/windows.h"

#include "call.h"
#include "functions.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "padding.h"
#include "rooms.h"

namespace tenon::python {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr Named<WindowReduction> reductions[] = {{"add", WindowReduction::sum},     {"mul", WindowReduction::prod},
                                                 {"max", WindowReduction::max},     {"min", WindowReduction::min},
                                                 {"and", WindowReduction::bit_and}, {"or", WindowReduction::bit_or},
                                                 {"xor", WindowReduction::bit_xor}};
WindowReduction reduction_from(std::string_view name) {
  return by_name("reduce_window", "reduction", reductions, name);
}

WindowOptions window_options(const char* name, Integers strides, const PaddingLike& padding,
                             Integers base_dilation = {}, Integers window_dilation = {}) {
  return {std::move(strides), padding_from(name, padding), std::move(base_dilation), std::move(window_dilation)};
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
                            const PaddingLike& padding, Integers base_dilation, Integers window_dilation) {
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

using Pool = Array(const Operand& x, const Integers& window, const WindowOptions& options);
template <Pool pool>
void add_pool(nb::module_& module, const char* name) {
  module.def(name, [name](ArrayLike x, Integers window, Integers strides, PaddingLike padding) {
    const Array a = x.array(name);
    const WindowOptions options = window_options(name, std::move(strides), padding);
    return call_op(name, [&] { return pool(op(a), window, options); });
  });
}

}  // namespace

void add_windows(nb::module_& module) {
  module.def("reduce_window", [](const std::string& reduction, ArrayLike x, Integers window, Integers strides,
                                 PaddingLike padding, Integers base_dilation, Integers window_dilation) {
    constexpr const char* name = "reduce_window";
    const Array a = x.array(name);
    const WindowOptions options =
        window_options(name, std::move(strides), padding, std::move(base_dilation), std::move(window_dilation));
    return call_op(name, [&] { return reduce_window(reduction_from(reduction), op(a), window, options); });
  });
  module.def("reduce_window_by", reduce_window_by);
  const auto add_selection = [&]<class Select>(const char* name, Select select) {
    module.def(
        name, [name, select](const std::string& reduction, ArrayLike x, ArrayLike y, Integers window, Integers strides,
                             PaddingLike padding, Integers base_dilation, Integers window_dilation) {
          const Array a = x.array(name), b = y.array(name);
          const WindowOptions options =
              window_options(name, std::move(strides), padding, std::move(base_dilation), std::move(window_dilation));
          return call_op(name, [&] { return select(reduction_from(reduction), op(a), op(b), window, options); });
        });
  };
  add_selection("select_and_scatter_add", [](auto&&... all) { return select_and_scatter_add(all...); });
  add_selection("select_and_gather_add", [](auto&&... all) { return select_and_gather_add(all...); });
  module.def("select_and_scatter", [](nb::handle select, nb::handle combine, ArrayLike x, ArrayLike source,
                                      ArrayLike init, Integers window, Integers strides, PaddingLike padding) {
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
  add_pool<max_pool>(module, "max_pool");
  add_pool<min_pool>(module, "min_pool");
  module.def("avg_pool", [](ArrayLike x, Integers window, Integers strides, PaddingLike padding, bool count_padding) {
    constexpr const char* name = "avg_pool";
    const Array a = x.array(name);
    const WindowOptions options = window_options(name, std::move(strides), padding);
    return call_op(name, [&] { return avg_pool(op(a), window, options, count_padding); });
  });
}

}  // namespace tenon::python
