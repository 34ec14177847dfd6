// Reductions over windows of an array, and the pooling of neural networks.
#pragma once

#include <utility>
#include <variant>

#include "tenon/api/convolution.h"
#include "tenon/api/flatten.h"
#include "tenon/api/vmap.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

// What is not given is 1, and no padding, for each axis of the array. Padding by name counts x's places as they are
// without base_dilation.
struct WindowOptions {
  std::vector<std::int64_t> strides = {};
  std::variant<Padding, std::vector<std::pair<std::int64_t, std::int64_t>>> padding = Padding::valid;  // before, behind
  std::vector<std::int64_t> base_dilation = {}, window_dilation = {};  // places of x apart, places of a window apart
};

enum class WindowReduction { sum, prod, max, min, bit_and, bit_or, bit_xor };

// y[p] = x[p·stride + k·dilation] combined over the places k of a window, which has a size for each axis of x. Places
// without an element, in the padding and between the elements that base_dilation moves apart, are left out; of a window
// without elements: 0, 1, the lowest or the highest number, all bits, none. f8, f16 and bf16 are summed and multiplied
// in f32; the order is unspecified. NaN where any element is one. bool: max is or, min is and. The gradient of max and
// min goes to the first element that is it. Slices that fuse with what surrounds them: windows of up to 32 places read
// each; larger ones go axis by axis, and along an axis of more than 16 places in log2(places) passes. The gradient
// takes the elements of y times the places. Throws ShapeError where the options do not fit, DTypeError where x has no
// such reduction.
//   reduce_window(WindowReduction::max, images, {1, 3, 3, 1}, {.strides = {1, 2, 2, 1}, .padding = Padding::same})
Array reduce_window(WindowReduction reduction, const Operand& x, const std::vector<std::int64_t>& window,
                    const WindowOptions& options = {});

namespace api_detail {

// f of the elements of many arrays at once: those of two sets of them, side by side -> as many.
Arrays reduce_windows(FlatFunction f, const Arrays& xs, const Arrays& inits, const std::vector<std::int64_t>& window,
                      const WindowOptions& options);
// f: two arrays of elements -> where the first one stays selected. combine: those of the result, those that are given.
Array select_and_scatter_by(FlatFunction f, FlatFunction combine, const Array& x, const Array& source,
                            const Array& init, const std::vector<std::int64_t>& window, const WindowOptions& options);

// A function of single elements as one of arrays of one shape.
template <class F>
auto of_all_elements(const F& f) {
  return [&f](std::span<const Array> in) {
    const Shape shape = in[0].shape();
    const auto flat = [](const Array& a) { return reshape(a, Shape({Dim(-1)})); };
    const Array made = vmap([&f](Array a, Array b) { return f(a, b); })(flat(in[0]), flat(in[1]));
    return Arrays{reshape(made, shape)};
  };
}

}  // namespace api_detail

// The same of any associative function of two numbers, beginning with `init`. Derivatives are those of f.
//   reduce_window([](Array a, Array b) { return tn::logaddexp(a, b); }, x, -INFINITY, {3})
template <class F>
  requires std::is_invocable_r_v<Array, const F&, const Array&, const Array&>
Array reduce_window(const F& f, const Operand& x, const Operand& init, const std::vector<std::int64_t>& window,
                    const WindowOptions& options = {}) {
  const SourceScope place(x.where(), "reduce_window");
  const auto all = api_detail::of_all_elements(f);
  return api_detail::reduce_windows(all, {x.array()}, {init.array()}, window, options)[0];
}

// Of x's shape, `init` to begin with: source[p] is combined with the number at the element of window p of x that is
// selected, the first one unless select(it, the next one) is false, and so on. `source` has x's windows as elements.
// Takes the elements of x times the places of a window.
//   const auto not_less = [](Array a, Array b) { return a >= b; };
//   const auto plus = [](Array a, Array b) { return a + b; };
//   select_and_scatter(not_less, plus, Array{1.f, 5.f, 2.f}, Array{10.f, 20.f}, 0.f, {2})   // 0 30 0
template <class Select, class F>
Array select_and_scatter(const Select& select, const F& combine, const Operand& x, const Operand& source,
                         const Operand& init, const std::vector<std::int64_t>& window,
                         const WindowOptions& options = {}) {
  const SourceScope place(x.where(), "select_and_scatter");
  const auto first = api_detail::of_all_elements(select), second = api_detail::of_all_elements(combine);
  return api_detail::select_and_scatter_by(first, second, x.array(), source.array(), init.array(), window, options);
}
// The sum of those, where the largest (or least) elements are selected: linear in the source.
//   select_and_scatter_add(WindowReduction::max, Array{1.f, 5.f, 2.f}, Array{10.f, 20.f}, {2})   // 0 30 0
Array select_and_scatter_add(WindowReduction reduction, const Operand& x, const Operand& source,
                             const std::vector<std::int64_t>& window, const WindowOptions& options = {});
// Its transpose: of each window the element of t where that of x is selected.
//   select_and_gather_add(WindowReduction::max, Array{1.f, 5.f, 2.f}, Array{7.f, 8.f, 9.f}, {2})   // 8 8
Array select_and_gather_add(WindowReduction reduction, const Operand& x, const Operand& t,
                            const std::vector<std::int64_t>& window, const WindowOptions& options = {});

// Pooling of images [batch…, places…, channels] with a window over their places: strides and padding have one entry for
// each of them, strides are 1 unless they are given. The average divides by the places of the window, or without
// `count_padding` by those that have an element.
//   max_pool(images, {2, 2}, {.strides = {2, 2}})
Array max_pool(const Operand& x, const std::vector<std::int64_t>& window, const WindowOptions& options = {});
Array min_pool(const Operand& x, const std::vector<std::int64_t>& window, const WindowOptions& options = {});
Array avg_pool(const Operand& x, const std::vector<std::int64_t>& window, const WindowOptions& options = {},
               bool count_padding = true);

}  // namespace tenon
