// Wrong calls: what the error says. Each names its kind, what was asked and of which function, the types it was asked
// of, the line of the call, and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using tn::Array;
using tn::DType;

namespace {

struct WrongCall {
  const char* name;
  int line;  // of the case; the call stands at it or below, before the next case
  std::function<void()> call;
  const char* start;                 // "ShapeError: matmul:"
  std::vector<const char*> mention;  // types, sizes, advice
};
void PrintTo(const WrongCall& c, std::ostream* out) { *out << c.name; }

Array f(std::initializer_list<std::int64_t> shape) {
  return tn::zeros(tn::Shape(std::span<const std::int64_t>(shape.begin(), shape.size())));
}
const std::vector<Array> pair_of(const Array& a, const Array& b) { return {a, b}; }

struct Weights {
  Array weights;
  std::vector<Array> biases;
  TENON_TREE(Weights, weights, biases)
};

// --- shapes and dtypes of elementwise functions ---
const std::vector<WrongCall> elementwise{
    {"add",
     __LINE__,
     [] { f({3}) + f({2}); },
     "ShapeError: add:",
     {"f32[3] and f32[2]", "sizes 3 and 2 differ", "equal or 1"}},
    {"add_in_place", __LINE__, [](Array x = f({3})) { x += f({2}); }, "ShapeError: add:", {"f32[3] and f32[2]"}},
    {"sub_in_place", __LINE__, [](Array x = f({3})) { x -= f({2}); }, "ShapeError: sub:", {"f32[3] and f32[2]"}},
    {"mul_in_place", __LINE__, [](Array x = f({3})) { x *= f({2}); }, "ShapeError: mul:", {"f32[3] and f32[2]"}},
    {"div_in_place", __LINE__, [](Array x = f({3})) { x /= f({2}); }, "ShapeError: div:", {"f32[3] and f32[2]"}},
    {"compare", __LINE__, [] { f({2, 3}) < f({3, 2}); }, "ShapeError: lt:", {"f32[2,3] and f32[3,2]"}},
    {"where_shape",
     __LINE__,
     [] { tn::where(f({3}) > 0.f, f({2}), f({2})); },
     "ShapeError: where:",
     {"bool[3] and f32[2]"}},
    {"where_condition",
     __LINE__,
     [] { tn::where(f({3}), f({3}), f({3})); },
     "DTypeError: where",
     {"f32[3]", "bool", "x != 0"}},
    {"not", __LINE__, [] { !f({3}); }, "DTypeError: not:", {"f32[3]", "x != 0"}},
    {"and", __LINE__, [] { f({3}) & f({3}); }, "DTypeError: and:", {"f32[3]", "x != 0"}},
    {"add_bool", __LINE__, [] { (f({2}) > 0.f) + (f({2}) > 0.f); }, "DTypeError: add:", {"bool[2]", "|, &"}},
    {"floor_complex",
     __LINE__,
     [] { tn::floor(tn::complex(f({2}), f({2}))); },
     "DTypeError: floor:",
     {"c64[2]", "abs()"}},
    {"compare_complex", __LINE__, [] { tn::complex(f({2}), f({2})) < 1.f; }, "DTypeError: lt:", {"c64[2]", "abs"}},
    {"erf_complex", __LINE__, [] { tn::erf(tn::complex(f({2}), f({2}))); }, "DTypeError: erf:", {"c64[2]"}},
    {"clamp", __LINE__, [] { tn::clamp(f({3}), f({2}), 1.f); }, "ShapeError: clamp (max):", {"f32[3] and f32[2]"}},
    {"complex", __LINE__, [] { tn::complex(f({3}), f({2})); }, "ShapeError: complex:", {"f32[3] and f32[2]"}},
};

// --- axes, reductions and what is made of them ---
const std::vector<WrongCall> reductions{
    {"sum_axis", __LINE__, [] { tn::sum(f({3}), 3); }, "ShapeError: sum: axis 3 of f32[3]", {"rank 1", "-1 to -1"}},
    {"sum_axis_rank_0",
     __LINE__,
     [] { tn::sum(Array(1.f), -1); },
     "ShapeError: sum: axis -1 of f32[]",
     {"rank 0 has no axes"}},
    {"sum_twice",
     __LINE__,
     [] { tn::sum(f({3, 4}), {0, -2}); },
     "ShapeError: sum: an axis of f32[3,4]",
     {"twice", "0, -2"}},
    {"max_of_nothing", __LINE__, [] { tn::max(f({3, 0})); }, "ShapeError: max", {"f32[3,0]", "no elements"}},
    {"any_of_floats", __LINE__, [] { tn::any(f({3})); }, "DTypeError: any:", {"f32[3]", "x != 0"}},
    {"all_of_ints", __LINE__, [] { tn::all(Array{1, 2}); }, "DTypeError: all:", {"i32[2]", "x != 0"}},
    {"argmax_axes",
     __LINE__,
     [] { tn::argmax(f({2, 3, 4}), {0, 1}); },
     "ShapeError: argmax:",
     {"2 of the 3 axes of f32[2,3,4]", "name one axis"}},
    {"argmax_of_nothing", __LINE__, [] { tn::argmax(f({0})); }, "ShapeError: argmax", {"f32[0]", "no elements"}},
    {"mean_axis", __LINE__, [] { tn::mean(f({3}), 1); }, "ShapeError: mean: axis 1 of f32[3]", {}},
    {"var_axis", __LINE__, [] { tn::var(f({3}), -2); }, "ShapeError: var: axis -2 of f32[3]", {}},
    {"softmax_axis", __LINE__, [] { tn::softmax(f({3}), 2); }, "ShapeError: softmax: axis 2 of f32[3]", {}},
    {"norm_axis", __LINE__, [] { tn::norm(f({3}), 1); }, "ShapeError: norm (sum): axis 1 of f32[3]", {}},
};

// --- shapes ---
const std::vector<WrongCall> shapes{
    {"reshape",
     __LINE__,
     [] { tn::reshape(f({2, 3}), {4}); },
     "ShapeError: reshape:",
     {"f32[2,3]", "6 elements", "[4]", "-1"}},
    {"reshape_open",
     __LINE__,
     [] { tn::reshape(f({2, 3}), {-1, -1}); },
     "ShapeError: reshape:",
     {"f32[2,3]", "two sizes are -1"}},
    {"reshape_open_uneven",
     __LINE__,
     [] { tn::reshape(f({2, 3}), {-1, 4}); },
     "ShapeError: reshape:",
     {"f32[2,3]", "[-1,4]"}},
    {"reshape_negative",
     __LINE__,
     [] { tn::reshape(f({2, 3}), {-2, -3}); },
     "ShapeError: reshape:",
     {"f32[2,3]", "[-2,-3]", "negative"}},
    {"broadcast_to",
     __LINE__,
     [] { tn::broadcast_to(f({3}), {2, 4}); },
     "ShapeError: broadcast_to",
     {"f32[3]", "[2,4]", "equal or 1"}},
    {"broadcast_to_fewer",
     __LINE__,
     [] { tn::broadcast_to(f({2, 3}), {3}); },
     "ShapeError: broadcast_to:",
     {"f32[2,3]", "more axes than [3]", "sum"}},
    {"transpose",
     __LINE__,
     [] { tn::transpose(f({2, 3}), {0, 0}); },
     "ShapeError: transpose:",
     {"[0, 0]", "f32[2,3]", "each axis once"}},
    {"move_axis", __LINE__, [] { tn::move_axis(f({2, 3}), 2, 0); }, "ShapeError: move_axis: axis 2 of f32[2,3]", {}},
    {"squeeze",
     __LINE__,
     [] { tn::squeeze(f({2, 3}), 0); },
     "ShapeError: squeeze:",
     {"axis 0 of f32[2,3]", "size 2", "x(…)"}},
    {"expand_dims", __LINE__, [] { tn::expand_dims(f({2}), 5); }, "ShapeError: expand_dims:", {"f32[2]", "axis 5"}},
    {"slice", __LINE__, [] { tn::slice(f({5}), {2}, {7}); }, "ShapeError: slice:", {"2 to 7", "f32[5]"}},
    {"concatenate_sizes",
     __LINE__,
     [] { tn::concatenate(pair_of(f({2, 3}), f({2, 4})), 0); },
     "ShapeError: concatenate:",
     {"f32[2,3] and f32[2,4]", "axis 0"}},
    {"concatenate_ranks",
     __LINE__,
     [] { tn::concatenate(pair_of(f({2}), f({2, 4})), 0); },
     "ShapeError: concatenate:",
     {"f32[2] and f32[2,4]"}},
    {"concatenate_ranks_and_dtypes",
     __LINE__,
     [] { tn::concatenate(pair_of(Array{1}, f({1, 1})), 0); },
     "ShapeError: concatenate: i32[1] and f32[1,1] differ in rank",
     {"Reshape"}},
    {"concatenate_sizes_and_dtypes",
     __LINE__,
     [] { tn::concatenate(pair_of(Array{{1, 2}}, f({1, 3})), 0); },
     "ShapeError: concatenate: i32[1,2] and f32[1,3] along axis 0 differ on axis 1",
     {"Only the axis"}},
    {"concatenate_nothing", __LINE__, [] { tn::concatenate({}, 0); }, "ShapeError: concatenate:", {"at least one"}},
    {"stack", __LINE__, [] { tn::stack(pair_of(f({2}), f({3}))); }, "ShapeError: stack", {"f32[2]", "f32[3]"}},
    {"split", __LINE__, [] { tn::split(f({5}), 2); }, "ShapeError: split:", {"axis 0 of f32[5]", "2 equal parts"}},
    {"pad_widths", __LINE__, [] { tn::pad(f({2, 3}), 0.f, {1}, {1}); }, "ShapeError: pad:", {"f32[2,3]", "2 widths"}},
    {"pad_cut",
     __LINE__,
     [] { tn::pad(f({2}), 0.f, {-2}, {-1}); },
     "ShapeError: pad:",
     {"axis 0 of f32[2]", "more is cut"}},
    {"pad_with_a_fraction",
     __LINE__,
     [] { tn::pad(Array{1, 2}, 0.5f, {1}, {1}); },
     "DTypeError: pad: 0.5 (f32[]) does not go into i32[2]",
     {"Convert", "f32"}},
    {"pad_with_a_number_too_large",
     __LINE__,
     [] { tn::pad(tn::convert(Array{1, 2}, DType::i8), 300, {1}, {1}); },
     "DTypeError: pad: 300 (i32[]) does not go into i8[2]",
     {"Convert"}},
    {"reverse_twice",
     __LINE__,
     [] { tn::reverse(f({3, 2}), {0, -2}); },
     "ShapeError: reverse: an axis of f32[3,2] is named twice in [0, -2]",
     {"each axis once"}},
    {"iota_without_axes", __LINE__, [] { tn::iota(DType::i32, {}, 0); }, "ShapeError: iota:", {"at least one axis"}},
    {"iota_axis", __LINE__, [] { tn::iota(DType::i32, {2}, 1); }, "ShapeError: iota:", {"[2]", "numbered from 0"}},
    {"iota_bool", __LINE__, [] { tn::iota(DType::bool_, {2}, 0); }, "DTypeError: iota:", {"i32", "convert"}},
    {"rows_of_an_initialiser",
     __LINE__,
     [] { Array{{1.f, 2.f}, {3.f}}; },
     "ShapeError: Array:",
     {"2 and 1", "same number"}},
    {"size_beyond_memory",
     __LINE__,
     [] { tn::zeros({std::int64_t(1) << 40, 1 << 10}); },
     "MemoryError: zeros",
     {"bytes", "available"}},
    {"negative_size", __LINE__, [] { tn::zeros({-3}); }, "ShapeError: zeros", {"[-3]", "negative"}},
};

// --- indices ---
const std::vector<WrongCall> indices{
    {"number",
     __LINE__,
     [] { return f({3})(7); },
     "ShapeError: x(…): 7 lies outside of axis 0 of f32[3]",
     {"-3 to -1"}},
    {"too_many_parts", __LINE__, [] { return f({3})(0, 0); }, "ShapeError: x(…):", {"names 2 axes", "f32[3] has 1"}},
    {"two_ellipses",
     __LINE__,
     [] { return f({3, 3})(tn::ellipsis, tn::ellipsis); },
     "ShapeError: x(…):",
     {"2 ellipses"}},
    {"step_0", __LINE__, [] { return f({3})(tn::slice(0, 3, 0)); }, "ShapeError: x(…):", {"step 0"}},
    {"index_dtype", __LINE__, [] { return f({3})(Array{1.f, 2.f}); }, "DTypeError: x(…):", {"f32[2]", "Convert"}},
    {"mask_size",
     __LINE__,
     [] { return f({3, 2})(Array{true, false}); },
     "ShapeError: x(…):",
     {"mask bool[2]", "f32[3,2]"}},
    {"index_arrays",
     __LINE__,
     [] { return f({3, 3})(Array{0, 1}, Array{0, 1, 2}); },
     "ShapeError: x(…):",
     {"i32[2] and i32[3]"}},
    {"set_shape",
     __LINE__,
     [] { return f({3, 4}).at(0).set(f({3})); },
     "ShapeError: x.at(…).set:",
     {"f32[3] does not broadcast to [4]", "f32[3,4]"}},
    {"add_number", __LINE__, [] { return f({3}).at(-4).add(1.f); }, "ShapeError: x.at(…).add:", {"-4", "f32[3]"}},
    {"set_fraction",
     __LINE__,
     [] { return tn::zeros({3}, DType::i32).at(1).set(2.7f); },
     "DTypeError: x.at(…).set: 2.7 (f32[]) does not go into i32[3]",
     {"Convert", "f32"}},
    {"add_reals_to_integers",
     __LINE__,
     [] { return tn::zeros({3}, DType::i32).at(Array{0, 1}).add(f({2})); },
     "DTypeError: x.at(…).add: f32[2] does not go into i32[3]",
     {"Convert", "f32"}},
    {"set_wider_numbers",
     __LINE__,
     [] { return f({3}).at(1).set(tn::zeros({}, DType::f64)); },
     "DTypeError: x.at(…).set: 0.0 (f64[]) does not go into f32[3]",
     {"f64"}},
    {"scatter_dtype",
     __LINE__,
     [] {
       tn::scatter(tn::ScatterKind::set, Array{1, 2, 3}, Array{{0}}, f({1}),
                   {.window = {}, .collapsed = {0}, .map = {0}});
     },
     "DTypeError: scatter: f32[1] does not go into i32[3]",
     {"Convert"}},
    {"take_dtype", __LINE__, [] { tn::take(f({3}), f({2})); }, "DTypeError: take", {"f32[2]"}},
    {"take_axis", __LINE__, [] { tn::take(f({3}), Array{0}, 1); }, "ShapeError: take", {"axis 1 of f32[3]"}},
    {"take_along_axis",
     __LINE__,
     [] { tn::take_along_axis(f({3, 2}), Array{0}, 0); },
     "ShapeError: take_along_axis:",
     {"f32[3,2]", "i32[1]", "ranks differ"}},
    {"gather",
     __LINE__,
     [] { tn::gather(f({5}), Array{{0, 1}}, {.window = {}, .collapsed = {0}, .map = {0}}, {1}); },
     "ShapeError: gather:",
     {"i32[1,2]", "holds 2 starts"}},
    {"gather_slice",
     __LINE__,
     [] { tn::gather(f({5}), Array{{0}}, {.window = {1}, .map = {0}}, {6}); },
     "ShapeError: gather:",
     {"size 6", "f32[5]"}},
    {"scatter_add",
     __LINE__,
     [] { tn::scatter_add(f({5, 2}), Array{0, 1}, f({3, 2})); },
     "ShapeError: scatter_add",
     {"f32[3,2]", "[2,2]"}},
    {"dynamic_slice",
     __LINE__,
     [] { tn::dynamic_slice(f({5}), std::vector<Array>{Array(0)}, {6}); },
     "ShapeError: dynamic_slice:",
     {"size 6", "f32[5]"}},
    {"item", __LINE__, [] { f({2}).item<float>(); }, "ShapeError: item:", {"f32[2]", "x(i, j)"}},
    {"span_dtype", __LINE__, [] { f({2}).span<double>(); }, "DTypeError: span", {"f32", "f64"}},
    {"size_axis", __LINE__, [] { static_cast<void>(f({2}).size(1)); }, "ShapeError: size: axis 1 of f32[2]", {}},
};

// --- products ---
const std::vector<WrongCall> products{
    {"matmul",
     __LINE__,
     [] { tn::matmul(f({3}), f({2, 2})); },
     "ShapeError: matmul: f32[3] and f32[2,2]",
     {"size 3", "2", "Transpose"}},
    {"matmul_rank_0", __LINE__, [] { tn::matmul(f({3}), 2.f); }, "ShapeError: matmul: f32[3] and f32[]", {"Use *"}},
    {"matmul_batch",
     __LINE__,
     [] { tn::matmul(f({2, 3, 3}), f({4, 3, 3})); },
     "ShapeError: matmul:",
     {"f32[2,3,3] and f32[4,3,3]"}},
    {"einsum_letters",
     __LINE__,
     [] { tn::einsum("ijk,jk->i", f({2, 3}), f({3, 2})); },
     "ShapeError: einsum:",
     {"'ijk,jk->i'", "3 axes of f32[2,3]"}},
    {"einsum_sizes",
     __LINE__,
     [] { tn::einsum("ij,jk->ik", f({2, 3}), f({4, 2})); },
     "ShapeError: einsum",
     {"f32[2,3]", "f32[4,2]", "3", "4"}},
    {"einsum_output", __LINE__, [] { tn::einsum("ij->ik", f({2, 3})); }, "ShapeError: einsum:", {"'ij->ik'"}},
    {"einsum_operands", __LINE__, [] { tn::einsum("ij,jk->ik", f({2, 3})); }, "ShapeError: einsum:", {"operands"}},
    {"cross", __LINE__, [] { tn::cross(f({2}), f({3})); }, "ShapeError: cross:", {"f32[2] and f32[3]", "size 3"}},
    {"dot_general",
     __LINE__,
     [] { tn::dot_general(f({2, 3}), f({3}), {.contract_a = {2}, .contract_b = {0}}); },
     "ShapeError: dot_general: axis 2 of f32[2,3]",
     {}},
};

// --- transformations ---
const std::vector<WrongCall> transformations{
    {"grad_of_an_array",
     __LINE__,
     [] { tn::grad([](Array x) { return x * x; })(f({3})); },
     "DifferentiationError: grad: the function returns f32[3], not one real number",
     {"sum()", "jacrev()"}},
    {"grad_of_an_integer",
     __LINE__,
     [] { tn::grad([](Array x) { return tn::sum(x); })(Array{1, 2}); },
     "DifferentiationError: grad:",
     {"i32[2]", "Convert"}},
    {"grad_of_a_leaf",
     __LINE__,
     [] { tn::grad([](Weights p) { return tn::sum(p.weights); })(Weights{f({2}), {Array{1, 2}}}); },
     "DifferentiationError: grad: argument 0, leaf .biases[0] is i32[2]",
     {}},
    {"grad_to_a_bool",
     __LINE__,
     [] { tn::grad([](Array x) { return tn::all(x > 0.f); })(f({3})); },
     "DifferentiationError: grad: the function returns bool[]",
     {}},
    {"tangent_of_jvp",
     __LINE__,
     [] { tn::jvp([](Array x) { return tn::sin(x); }, std::tuple(f({2})), std::tuple(f({3}))); },
     "ShapeError: jvp: the tangent of argument 0 is f32[3], not f32[2]",
     {}},
    {"cotangent_of_vjp",
     __LINE__,
     [] { tn::vjp([](Array x) { return tn::sin(x); }, f({2})).second(f({3})); },
     "ShapeError: vjp: the cotangent of leaf 0 of the result is f32[3], not f32[2]",
     {}},
    {"tangent_of_linearize",
     __LINE__,
     [] { tn::linearize([](Array x) { return tn::sin(x); }, f({2})).second(f({3})); },
     "ShapeError: linearize: the tangent of leaf 0 of the arguments is f32[3], not f32[2]",
     {}},
    {"direction_of_hvp",
     __LINE__,
     [] { tn::hvp([](Array x) { return tn::sum(tn::sin(x)); }, f({2}), f({3})); },
     "ShapeError: hvp (jvp): the tangent of argument 0 is f32[3], not f32[2]",
     {}},
    {"sizes_of_two_masks",
     __LINE__,
     [] { tn::jit([](Array x) { return x(x > 2.f) + x(x > 0.f); })(Array{-1.f, 2.f, 3.f}); },
     "ShapeError: add: operands f32[",
     {"They are 1 and 2", "one mask"}},
    {"value_while_tracing",
     __LINE__,
     [] { tn::jit([](Array x) { return x.item<float>() > 0 ? x : -x; })(Array(1.f)); },
     "ConcretizationError: item: the value of f32[] was asked for while tracing",
     {"an argument of the traced function", "where(), cond() or while_loop()"}},
    {"value_of_a_result_while_tracing",
     __LINE__,
     [] { tn::vmap([](Array x) { return tn::sin(x).item<float>() > 0 ? x : -x; })(f({3})); },
     "ConcretizationError: item: the value of f32[]",
     {"the result of sin at", "wrong_calls.cpp"}},
    {"leak",
     __LINE__,
     [] {
       Array leaked;
       tn::jit([&](Array x) { return leaked = x * 2.f; })(f({3}));
       leaked + 1.f;
     },
     "LeakError: add:",
     {"trace", "Return it"}},
    {"vmap_sizes",
     __LINE__,
     [] { tn::vmap([](Array x, Array y) { return x + y; })(f({3}), f({4})); },
     "ShapeError: vmap:",
     {"4 lanes along axis 0", "says 3", "one size"}},
    {"vmap_axes",
     __LINE__,
     [] { tn::vmap([](Array x) { return x; }, {.in_axes = {0, 0}})(f({3})); },
     "ShapeError: vmap: in_axes has 2 entries",
     {"an entry for each"}},
    {"vmap_axis",
     __LINE__,
     [] { tn::vmap([](Array x) { return x; }, {.in_axes = {1}})(f({3})); },
     "ShapeError: vmap:",
     {"f32[3], which has no axis 1", "in_axes"}},
    {"vmap_nothing",
     __LINE__,
     [] { tn::vmap([](Array x) { return x; }, {.in_axes = {tn::none}})(f({3})); },
     "ShapeError: vmap: no argument is mapped",
     {"in_axes"}},
    {"jacfwd_of_integers",
     __LINE__,
     [] { tn::jacfwd([](Array x) { return x; })(Array{1, 2}); },
     "DifferentiationError: jacfwd:",
     {"i32[2]"}},
    {"vmap_of_a_mask",
     __LINE__,
     [] { tn::vmap([](Array x) { return tn::sum(x(x > 0.f)); })(f({2, 3})); },
     "ShapeError: vmap",
     {"compress", "where()"}},
};

// --- loops and branches ---
const std::vector<WrongCall> loops{
    {"scan_carry",
     __LINE__,
     [] {
       tn::scan([](Weights c, Array x) { return std::pair(Weights{tn::stack(pair_of(x, x)), c.biases}, x); },
                Weights{f({2}), {}}, f({3, 2}));
     },
     "ShapeError: scan: carry leaf .weights enters a step as f32[2] and leaves it as f32[2,2]",
     {"convert or broadcast"}},
    {"scan_carry_dtype",
     __LINE__,
     [] { tn::scan([](Array c, Array x) { return std::pair(c + x, x); }, Array{1, 2}, f({3, 2})); },
     "DTypeError: scan: the carry enters a step as i32[2] and leaves it as f32[2]",
     {"convert the initial value"}},
    {"scan_carry_leaf_dtype",
     __LINE__,
     [] {
       tn::scan([](Weights c, Array x) { return std::pair(Weights{c.weights + x, c.biases}, x); },
                Weights{Array{1, 2}, {}}, f({3, 2}));
     },
     "DTypeError: scan: carry leaf .weights enters a step as i32[2] and leaves it as f32[2]",
     {"keeps its dtype"}},
    {"scan_number_of_carries",
     __LINE__,
     [] {
       tn::scan([](Weights c, Array x) { return std::pair(Weights{c.weights, {x}}, x); }, Weights{f({2}), {}}, f({3}));
     },
     "TreeError: scan: the initial carry and the one that the function returns differ in structure",
     {"at .biases: 0 elements and 1 element"}},
    {"scan_lengths",
     __LINE__,
     [] {
       tn::scan([](Array c, std::pair<Array, Array> x) { return std::pair(c, x.first); }, Array(0.f),
                std::pair(f({3}), f({4})));
     },
     "ShapeError: scan: leaf <1> of xs is f32[4]: 4 steps where there are 3",
     {}},
    {"scan_rank_0",
     __LINE__,
     [] { tn::scan([](Array c, Array x) { return std::pair(c + x, x); }, Array(0.f), Array(1.f)); },
     "ShapeError: scan: xs is f32[]",
     {"axis 0"}},
    {"scan_no_length",
     __LINE__,
     [] { tn::scan([](Array c, std::tuple<>) { return std::pair(c, c); }, Array(0.f), std::tuple<>()); },
     "ShapeError: scan: neither xs nor the option `length`",
     {".length"}},
    {"scan_body",
     __LINE__,
     [] { tn::scan([](Array c, Array x) { return std::pair(c + tn::matmul(x, f({3})), x); }, Array(0.f), f({5, 2})); },
     "ShapeError: matmul: f32[2] and f32[3]",
     {}},
    {"while_condition",
     __LINE__,
     [] { tn::while_loop([](Array x) { return x < 3.f; }, [](Array x) { return x; }, f({2})); },
     "ShapeError: while_loop: the condition returns bool[2], not one bool",
     {"any() or all()"}},
    {"while_condition_dtype",
     __LINE__,
     [] { tn::while_loop([](Array x) { return x; }, [](Array x) { return x; }, f({})); },
     "DTypeError: while_loop: the condition returns f32[], not one bool",
     {"Compare it"}},
    {"while_condition_of_numbers",
     __LINE__,
     [] { tn::while_loop([](Array x) { return x; }, [](Array x) { return x; }, f({2})); },
     "ShapeError: while_loop: the condition returns f32[2], not one bool",
     {"Compare it", "any() or all()"}},
    {"fori_carry",
     __LINE__,
     [] { tn::fori_loop(0, 3, [](Array i, Array c) { return c + i(tn::newaxis); }, f({})); },
     "ShapeError: fori_loop: the carry enters a step as f32[] and leaves it as f32[1]",
     {}},
    {"fori_bounds",
     __LINE__,
     [] { tn::fori_loop(0, 3.5f, [](Array, Array c) { return c; }, f({})); },
     "DTypeError: fori_loop: the bounds are i32[] and f32[]",
     {"Convert"}},
    {"fori_bounds_shape",
     __LINE__,
     [] { tn::fori_loop(0, Array{3, 4}, [](Array, Array c) { return c; }, f({})); },
     "ShapeError: fori_loop: the bounds are i32[] and i32[2]",
     {"vmap"}},
    {"cond_branches",
     __LINE__,
     [] { tn::cond(Array(true), [](Array x) { return x; }, [](Array x) { return x(tn::newaxis); }, f({2})); },
     "ShapeError: cond:",
     {"f32[2]", "f32[1,2]"}},
    {"cond_trees",
     __LINE__,
     [] {
       tn::cond(
           Array(true), [](Array x) { return std::vector<Array>{x}; }, [](Array x) { return std::vector<Array>{x, x}; },
           f({2}));
     },
     "TreeError: cond: the results of the branches differ in structure",
     {"1 element", "2 elements"}},
    {"cond_predicate",
     __LINE__,
     [] { tn::cond(f({2}) > 0.f, [](Array x) { return x; }, [](Array x) { return x; }, f({2})); },
     "ShapeError: cond: the predicate is bool[2]",
     {"where()"}},
    {"map_rank_0",
     __LINE__,
     [] { tn::map([](Array x) { return x; }, Array(1.f)); },
     "ShapeError: map (scan): xs is f32[]",
     {}},
};

// --- trees and data ---
const std::vector<WrongCall> data{
    {"no_array", __LINE__, [] { Array() + 1.f; }, "TreeError: ", {"default-constructed", "Give it a value"}},
    {"array_of_values",
     __LINE__,
     [] { tn::array<float>(std::vector<float>{1, 2, 3}, {2, 2}); },
     "ShapeError: array: 3 values do not fill f32[2,2]",
     {}},
    {"borrow_strides",
     __LINE__,
     [] { tn::borrow(static_cast<float*>(nullptr), {2, 2}, {.strides = {4}}); },
     "ShapeError: borrow: 1 strides for f32[2,2]",
     {"bytes"}},
    {"load_absent", __LINE__, [] { tn::load<Weights>("/nowhere/x.npz"); }, "RuntimeError: load", {"/nowhere/x.npz"}},
    {"load_no_archive",
     __LINE__,
     [] {
       const auto file = std::filesystem::temp_directory_path() / "tenon_wrong_call.npz";
       std::ofstream(file) << "not an archive, but long enough to be one";
       tn::load<Weights>(file.string());
     },
     "ParseError: load",
     {"archive"}},
    {"one_hot", __LINE__, [] { tn::one_hot(f({2}), 3); }, "DTypeError: one_hot:", {"f32[2]", "Convert"}},
    {"random_key", __LINE__, [] { tn::random::uniform(f({2}), {3}); }, "ShapeError: random::", {"f32[2]", "key(seed)"}},
};

class WrongCalls : public testing::TestWithParam<WrongCall> {};

TEST_P(WrongCalls, SayWhatIsWrong) {
  const WrongCall& c = GetParam();
  const std::string message = tn::message_of(c.call);
  if (std::getenv("TENON_SHOW_ERRORS") != nullptr) std::cout << message << "\n\n";
  EXPECT_THAT(message, testing::StartsWith(c.start));
  for (const char* part : c.mention) EXPECT_THAT(message, testing::HasSubstr(part));
  // The line of the call: in this file, at the case or a few lines below.
  const std::size_t place = message.find("\n  at ");
  ASSERT_NE(place, std::string::npos) << message;
  const std::string at = message.substr(place + 6, message.find('\n', place + 1) - place - 6);
  const std::size_t colon = at.rfind(':');
  EXPECT_THAT(at.substr(0, colon), testing::EndsWith("wrong_calls.cpp")) << message;
  const int line = std::atoi(at.substr(colon + 1).c_str());
  EXPECT_GE(line, c.line) << message;
  EXPECT_LE(line, c.line + 6) << message;
  // Behind it, what to do.
  EXPECT_NE(message.find('\n', place + 1), std::string::npos) << "no advice: " << message;
}

std::string name_of(const testing::TestParamInfo<WrongCall>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Elementwise, WrongCalls, testing::ValuesIn(elementwise), name_of);
INSTANTIATE_TEST_SUITE_P(Reductions, WrongCalls, testing::ValuesIn(reductions), name_of);
INSTANTIATE_TEST_SUITE_P(Shapes, WrongCalls, testing::ValuesIn(shapes), name_of);
INSTANTIATE_TEST_SUITE_P(Indices, WrongCalls, testing::ValuesIn(indices), name_of);
INSTANTIATE_TEST_SUITE_P(Products, WrongCalls, testing::ValuesIn(products), name_of);
INSTANTIATE_TEST_SUITE_P(Transformations, WrongCalls, testing::ValuesIn(transformations), name_of);
INSTANTIATE_TEST_SUITE_P(Loops, WrongCalls, testing::ValuesIn(loops), name_of);
INSTANTIATE_TEST_SUITE_P(Data, WrongCalls, testing::ValuesIn(data), name_of);

}  // namespace
