#include "tenon/ops/linear_algebra/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tenon/base/factors.h"
#include "tenon/ir/bind.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ir/estimate.h"
#include "tenon/ir/origins.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

struct DotParams {
  std::vector<std::int64_t> contract_a, contract_b, batch_a, batch_b;
};
BOOST_DESCRIBE_STRUCT(DotParams, (), (contract_a, contract_b, batch_a, batch_b))

namespace {

extern const OpInfo dot_info;
using Axes64 = std::vector<std::int64_t>;

bool contains(const Axes64& axes, std::size_t axis) {
  return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
}

}  // namespace

std::vector<std::int64_t> free_axes(std::size_t rank, const Axes64& contract, const Axes64& batch) {
  Axes64 free;
  for (std::size_t i = 0; i < rank; ++i)
    if (!contains(contract, i) && !contains(batch, i)) free.push_back(static_cast<std::int64_t>(i));
  return free;
}

namespace {

Type dot_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  if (in.size() != 2 || !in[0].is_array() || !in[1].is_array()) throw VerifyError("dot_general: takes two arrays.");
  const auto& p = params.as<DotParams>();
  const Type &a = in[0], &b = in[1];
  if (a.dtype != b.dtype)
    throw DTypeError(fmt::format("dot_general: operands {} and {} differ in dtype.", a.text(), b.text()));
  if (is_float8(a.dtype))
    throw DTypeError(fmt::format("dot_general: the op does not multiply {}.", a.text()),
                     "Convert to bf16, which holds all floats of 8 bits, or call the function, which does.");
  const auto check = [&](const Axes64& x, const Axes64& y) {
    if (x.size() != y.size())
      throw ShapeError(fmt::format("dot_general: {} and {}: axes do not come in pairs.", a.text(), b.text()),
                       "Name as many axes of one as of the other.");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] < 0 || x[i] >= static_cast<std::int64_t>(a.rank()) || y[i] < 0 ||
          y[i] >= static_cast<std::int64_t>(b.rank()))
        throw ShapeError(fmt::format("dot_general: an axis is outside of {} or {}.", a.text(), b.text()),
                         "Axes count from 0.");
      context.require_equal(a.shape[static_cast<std::size_t>(x[i])], b.shape[static_cast<std::size_t>(y[i])], [&] {
        return fmt::format("dot_general: axis {} of {} and axis {} of {} differ in size.", x[i], a.text(), y[i],
                           b.text());
      });
    }
  };
  check(p.contract_a, p.contract_b);
  check(p.batch_a, p.batch_b);
  for (const auto* axes : {&p.contract_a, &p.contract_b})
    for (std::int64_t axis : *axes)
      if (std::ranges::count(*axes, axis) != 1 ||
          contains(axes == &p.contract_a ? p.batch_a : p.batch_b, static_cast<std::size_t>(axis)))
        throw ShapeError(fmt::format("dot_general: {} and {}: an axis is used twice.", a.text(), b.text()),
                         "An axis is contracted or a batch axis, once.");
  std::vector<Dim> dims;
  for (std::int64_t i : p.batch_a) dims.push_back(a.shape[static_cast<std::size_t>(i)]);
  for (std::int64_t i : free_axes(a.rank(), p.contract_a, p.batch_a))
    dims.push_back(a.shape[static_cast<std::size_t>(i)]);
  for (std::int64_t i : free_axes(b.rank(), p.contract_b, p.batch_b))
    dims.push_back(b.shape[static_cast<std::size_t>(i)]);
  return Type::array(a.dtype, Shape(std::move(dims)));
}

// Offsets in elements of every index of the given axes, in row-major order of those axes.
std::vector<std::int64_t> offsets(const Buffer& x, const Axes64& axes) {
  std::vector<std::int64_t> sizes, result;
  for (std::int64_t axis : axes) sizes.push_back(x.dims()[static_cast<std::size_t>(axis)]);
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  for_each_index(sizes, [&](std::span<const std::int64_t> index) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < axes.size(); ++i)
      offset += index[i] * x.strides()[static_cast<std::size_t>(axes[i])] / element;
    result.push_back(offset);
  });
  return result;
}

std::vector<Value> dot_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<DotParams>();
  const Buffer a = family::contiguous(in[0]), b = family::contiguous(in[1]);
  Buffer out = Buffer::allocate(a.dtype(), context.out[0].shape.sizes());
  const auto batch_a = offsets(a, p.batch_a), batch_b = offsets(b, p.batch_b);
  const auto rows = offsets(a, free_axes(a.rank(), p.contract_a, p.batch_a)),
             columns = offsets(b, free_axes(b.rank(), p.contract_b, p.batch_b));
  const auto sum_a = offsets(a, p.contract_a), sum_b = offsets(b, p.contract_b);
  dispatch(a.dtype(), [&]<class T>(std::type_identity<T>) {
    const T *x = a.as<T>(), *y = b.as<T>();
    T* const to = out.as<T>();
    std::size_t at = 0;
    for (std::size_t n = 0; n < batch_a.size(); ++n)
      for (std::int64_t row : rows)
        for (std::int64_t column : columns) {
          if constexpr (std::is_same_v<T, bool>) {
            bool any = false;
            for (std::size_t k = 0; k < sum_a.size(); ++k)
              any = any || (x[batch_a[n] + row + sum_a[k]] && y[batch_b[n] + column + sum_b[k]]);
            to[at++] = any;
          } else if constexpr (!is_float8(*dtype_of<T>)) {
            decltype(widen(T())) total{};
            for (std::size_t k = 0; k < sum_a.size(); ++k)
              total =
                  wrap(std::plus<>(), total,
                       wrap(Times(), widen(x[batch_a[n] + row + sum_a[k]]), widen(y[batch_b[n] + column + sum_b[k]])));
            to[at++] = narrow<T>(total);
          }
        }
  });
  return {out};
}

Array dot_of(const Array& a, const Array& b, DotParams p) { return bind1(dot_info, make_params(std::move(p)), {a, b}); }

// The cotangent of one operand is a product of the result's cotangent with the other operand, over the other's free
// axes; its axes come out as batch, free, contracted, and are put back in order.
Array dot_transpose(const Array& ct, const Array& other, const Type& mine, const DotParams& p, bool first) {
  const Axes64 &contract = first ? p.contract_a : p.contract_b, &batch = first ? p.batch_a : p.batch_b;
  const Axes64 &other_contract = first ? p.contract_b : p.contract_a, &other_batch = first ? p.batch_b : p.batch_a;
  const Axes64 free = free_axes(mine.rank(), contract, batch),
               other_free = free_axes(other.rank(), other_contract, other_batch);
  const std::size_t n_batch = batch.size(), n_free = free.size(), n_other = other_free.size();
  Axes64 ct_batch(n_batch), ct_contract(n_other);
  std::iota(ct_batch.begin(), ct_batch.end(), 0);
  std::iota(ct_contract.begin(), ct_contract.end(), static_cast<std::int64_t>(n_batch + (first ? n_free : 0)));
  // In the order in which the operand has its axes, so that its layout needs no transposition.
  const bool other_first = !contract.empty() && std::ranges::all_of(free, [&](std::int64_t axis) {
    return axis > *std::ranges::max_element(contract);
  });
  const Array product = other_first ? dot_of(other, ct, {other_free, ct_contract, other_batch, ct_batch})
                                    : dot_of(ct, other, {ct_contract, other_free, ct_batch, other_batch});
  const std::size_t free_at = n_batch + (other_first ? contract.size() : 0),
                    contract_at = n_batch + (other_first ? 0 : n_free);
  // The other's contracted axes stand in ascending order; find the partner of each.
  Axes64 sorted = other_contract;
  std::ranges::sort(sorted);
  Axes64 place(mine.rank());  // axis of the product that becomes axis i of mine
  for (std::size_t i = 0; i < n_batch; ++i) place[static_cast<std::size_t>(batch[i])] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < n_free; ++i)
    place[static_cast<std::size_t>(free[i])] = static_cast<std::int64_t>(free_at + i);
  for (std::size_t i = 0; i < contract.size(); ++i)
    place[static_cast<std::size_t>(contract[i])] =
        static_cast<std::int64_t>(contract_at) + (std::ranges::find(sorted, other_contract[i]) - sorted.begin());
  return transpose(product, place);
}

BatchResult dot_batch(const BatchArgs& args) {
  auto p = args.params.as<DotParams>();
  const auto shift = [](Axes64& axes) {
    for (auto& axis : axes) ++axis;
  };
  if (args.batched[0]) shift(p.contract_a), shift(p.batch_a);
  if (args.batched[1]) shift(p.contract_b), shift(p.batch_b);
  if (args.batched[0] && args.batched[1]) {
    p.batch_a.insert(p.batch_a.begin(), 0);
    p.batch_b.insert(p.batch_b.begin(), 0);
    return {{dot_of(args.operands[0], args.operands[1], p)}, {true}};
  }
  // The lane is one more free axis of one operand; it comes out behind the batch axes, or behind a's free axes too.
  const Array product = dot_of(args.operands[0], args.operands[1], p);
  std::size_t lane = p.batch_a.size();
  if (args.batched[1]) lane += free_axes(args.operands[0].rank(), p.contract_a, p.batch_a).size();
  return {{move_axis(product, static_cast<std::int64_t>(lane), 0)}, {true}};
}

const OpInfo dot_info{
    .name = "dot",
    .summary = "products summed over pairs of axes",
    .params = &describe::params_ops<DotParams>,
    .type = TypeRule(
        [](const Params& p, std::span<const Type> in, TypeContext& c) { return std::vector{dot_type(p, in, c)}; }),
    .eval = EvalRule(dot_eval),
    .jvp = JvpRule([](const JvpArgs& args) {
      MaybeArray tangent;
      if (args.tangents[0]) tangent = bind1(dot_info, args.params, {*args.tangents[0], args.primals[1]});
      if (args.tangents[1]) {
        const Array other = bind1(dot_info, args.params, {args.primals[0], *args.tangents[1]});
        tangent = tangent ? *tangent + other : other;
      }
      return JvpResult{bind_op(dot_info, args.params, args.primals), {tangent}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const bool first = args.operands[0].linear();
      if (first && args.operands[1].linear())
        throw DifferentiationError("dot: a product of two linear values is not linear.");
      args.sink.add(first ? 0 : 1,
                    dot_transpose(*args.cotangents[0], *args.operands[first ? 1 : 0].value,
                                  args.operands[first ? 0 : 1].type, args.params.as<DotParams>(), first));
    }),
    .batch = BatchRule(dot_batch),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::product}),
    .alias = Absent{"each result reads many elements"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (is_float8(d)) return {};
      const std::vector<Domain> domains{{-2, 2}, {-2, 2}};
      return {{make_params(DotParams{{1}, {0}, {}, {}}),
               {Type::array(d, {Dim(2), Dim(3)}), Type::array(d, {Dim(3), Dim(4)})},
               domains},
              {make_params(DotParams{{0}, {1}, {}, {}}),
               {Type::array(d, {Dim(3), Dim(2)}), Type::array(d, {Dim(4), Dim(3)})},
               domains},
              {make_params(DotParams{{2}, {1}, {0}, {0}}),
               {Type::array(d, {Dim(2), Dim(3), Dim(2)}), Type::array(d, {Dim(2), Dim(2), Dim(3)})},
               domains},
              {make_params(DotParams{{2, 0}, {0, 2}, {1}, {1}}),
               {Type::array(d, {Dim(3), Dim(2), Dim(4)}), Type::array(d, {Dim(4), Dim(2), Dim(3)})},
               domains},
              {make_params(DotParams{{0}, {0}, {}, {}}), {Type::array(d, {Dim(3)}), Type::array(d, {Dim(3)})}, domains},
              {make_params(DotParams{{0}, {0}, {}, {}}),
               {Type::array(d, {Dim(0), Dim(2)}), Type::array(d, {Dim(0)})},
               domains}};
    })};
const bool dot_installed = (install_op(dot_info), true);

}  // namespace

ProductForm product_form(const Params& params, const Type& a, const Type& b) {
  const auto& p = params.as<DotParams>();
  ProductForm form{p.contract_a,
                   p.contract_b,
                   p.batch_a,
                   p.batch_b,
                   free_axes(a.rank(), p.contract_a, p.batch_a),
                   free_axes(b.rank(), p.contract_b, p.batch_b),
                   {}};
  for (std::int64_t axis : p.contract_a) form.sum_sizes.push_back(a.shape[static_cast<std::size_t>(axis)]);
  return form;
}

double ProductForm::multiplications(const Type& result) const {
  return estimated_elements(result) * kernel::estimate(sum_sizes);
}

namespace {

// Size and stride of axes that lie behind each other in a row-major array.
struct Group {
  Dim size = 1, stride = 1;
};
std::optional<Group> collapse(std::span<const Dim> sizes, const Axes64& axes) {
  Group group;
  bool first = true;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    Dim stride = 1;
    for (std::size_t k = axis + 1; k < sizes.size(); ++k) stride = stride * sizes[k];
    if (sizes[axis] == Dim(1)) continue;
    if (first)
      group.stride = stride;
    else if (stride != group.stride * group.size)
      return std::nullopt;
    first = false;
    group.size = group.size * sizes[axis];
  }
  return group;
}

}  // namespace

std::optional<kernel::Product> ProductForm::strides(std::span<const Dim> a, std::span<const Dim> b) const {
  const auto a_batch = collapse(a, batch_a), a_free = collapse(a, free_a), a_sum = collapse(a, contract_a);
  const auto b_batch = collapse(b, batch_b), b_free = collapse(b, free_b), b_sum = collapse(b, contract_b);
  if (!a_batch || !a_free || !a_sum || !b_batch || !b_free || !b_sum) return std::nullopt;
  return kernel::Product{.batch = a_batch->size,
                         .m = a_free->size,
                         .n = b_free->size,
                         .k = a_sum->size,
                         .a_batch = a_batch->stride,
                         .a_m = a_free->stride,
                         .a_k = a_sum->stride,
                         .b_batch = b_batch->stride,
                         .b_k = b_sum->stride,
                         .b_n = b_free->stride,
                         .c_batch = a_free->size * b_free->size,
                         .c_m = b_free->size,
                         .c_n = 1};
}

DType summed_in(std::string_view function, DType factors, DType preferred) {
  const bool lost = (is_inexact(factors) && !is_inexact(preferred)) ||
                    (is_complex(factors) && !is_complex(preferred)) ||
                    (is_integer(factors) && preferred == DType::bool_);
  if (lost)
    throw DTypeError(
        fmt::format("{}: {} is preferred, which sums of {} do not fit in.", function, name(preferred), name(factors)),
        "Prefer a dtype of the same kind, or convert the result.");
  const auto wide = [](DType d) { return is_float8(d) ? DType::f32 : d; };
  return promote(wide(factors), false, wide(preferred), false).dtype;
}

namespace {

// Floats of 8 bits meet others in that with the larger numbers, or else with more digits, of both: as XLA has it.
DType factors_meet_in(const Array& a, const Array& b) {
  if (is_real(a.dtype()) && is_real(b.dtype()) && (is_float8(a.dtype()) || is_float8(b.dtype()))) {
    const auto rank = [](DType d) { return std::pair(std::ilogb(largest_finite_of(d)), format_of(d).mantissa_bits); };
    if (rank(a.dtype()) != rank(b.dtype())) return rank(a.dtype()) > rank(b.dtype()) ? a.dtype() : b.dtype();
  }
  return promoted("dot_general", {a, b}).dtype;
}
// Floats of 8 bits are multiplied as bf16, which holds all of them.
Array as_factor(const Array& x) { return is_float8(x.dtype()) ? convert(x, DType::bf16) : x; }

// Narrow factors converted for a product and multiplied: eagerly as one Program too, whose code does not convert them.
template <class Product>
Array with_factors(const Array& a, const Array& b, DType sum, const Product& product) {
  const auto whole = [&](const Array& x, const Array& y) { return product(convert(x, sum), convert(y, sum)); };
  const Arrays operands{a, b};
  if (!are_factors(a.dtype(), b.dtype(), sum) || Scope::of_operands(operands) != nullptr) return whole(a, b);
  Scope scope;
  const Array x = scope.input(a.type()), y = scope.input(b.type());
  const Arrays made{whole(x, y)};
  const std::vector<Value> values{a.value(), b.value()};
  auto results = executor().run(scope.finish(made, "dot_general").program, {}, values);
  return std::visit([](auto held) { return Array(std::move(held)); }, std::move(results[0]));
}

}  // namespace

Array dot_general(const Operand& a, const Operand& b, DotAxes axes, std::optional<DType> preferred) {
  const SourceScope place(a.where(), "dot_general");
  const DType met = factors_meet_in(a, b);
  const auto normal = [](Axes64 list, const Type& x) {
    for (auto& axis : list) axis = static_cast<std::int64_t>(normalize_axis(axis, x, "dot_general"));
    return list;
  };
  const DotParams params{normal(axes.contract_a, a->type()), normal(axes.contract_b, b->type()),
                         normal(axes.batch_a, a->type()), normal(axes.batch_b, b->type())};
  if (!preferred && !is_float8(met)) return dot_of(convert(as_factor(a), met), convert(as_factor(b), met), params);
  const DType result = preferred.value_or(met);
  if (is_powers(result))
    throw DTypeError(fmt::format("dot_general: {} holds no sums, those of {} and {}.", name(result), a->type().text(),
                                 b->type().text()),
                     "Prefer f32.");
  const DType sum = summed_in("dot_general", met, result);
  return convert(with_factors(as_factor(a), as_factor(b), sum,
                              [&](const Array& x, const Array& y) { return dot_of(x, y, params); }),
                 result);
}

Array matmul(const Operand& a, const Operand& b) { return matmul(a, b, std::nullopt); }

Array matmul(const Operand& a, const Operand& b, std::optional<DType> preferred) {
  const SourceScope place(a.where(), "matmul");
  promoted("matmul", {a, b});
  const std::size_t ra = a->rank(), rb = b->rank();
  if (ra == 0 || rb == 0)
    throw ShapeError(fmt::format("matmul: {} and {}: an operand has rank 0.", a->type().text(), b->type().text()),
                     "Use * for numbers.");
  const Dim ka = a->shape()[ra - 1], kb = b->shape()[rb == 1 ? 0 : rb - 2];
  if (ka != kb && ka.known() && kb.known())
    throw ShapeError(
        fmt::format("matmul: {} and {}: the last axis of the first has size {}, the {} of the second {}.{}",
                    a->type().text(), b->type().text(), ka.text(), rb == 1 ? "axis" : "second last axis", kb.text(),
                    lines_of(std::vector<Array>{a, b})),
        "Transpose one of them, or check the order of the operands.");
  const auto last_a = static_cast<std::int64_t>(ra) - 1, contract_b = static_cast<std::int64_t>(rb == 1 ? 0 : rb - 2);
  if (ra <= 2 || rb <= 2) {
    // At most one side has batch axes: they are free axes of the product.
    Array product = dot_general(a, b, {{last_a}, {contract_b}, {}, {}}, preferred);
    if (rb > 2 && ra == 2) return move_axis(product, 0, -2);
    return product;
  }
  const Shape shape_a = a->shape(), shape_b = b->shape();
  const Shape batch_a(std::vector<Dim>(shape_a.begin(), shape_a.end() - 2));
  const Shape batch_b(std::vector<Dim>(shape_b.begin(), shape_b.end() - 2));
  const Shape batch = [&] {
    const Arrays heads{zeros_like(Type::array(DType::bool_, batch_a)), zeros_like(Type::array(DType::bool_, batch_b))};
    try {
      return broadcast_shapes("matmul", heads);
    } catch (const ShapeError&) {
      throw ShapeError(fmt::format("matmul: {} and {}: the axes before the last two do not broadcast.",
                                   a->type().text(), b->type().text()),
                       "Sizes must be equal or 1; reshape or index one of them.");
    }
  }();
  const auto spread = [&](const Array& x) {
    Shape shape = batch;
    shape.push_back(x.shape()[x.rank() - 2]);
    shape.push_back(x.shape()[x.rank() - 1]);
    return broadcast_to(x, shape);
  };
  Axes64 lanes(batch.rank());
  std::iota(lanes.begin(), lanes.end(), 0);
  const auto n = static_cast<std::int64_t>(batch.rank());
  return dot_general(spread(a), spread(b), {{n + 1}, {n}, lanes, lanes}, preferred);
}

Array dot(const Operand& a, const Operand& b) {
  return a->rank() == 0 || b->rank() == 0 ? a.array() * b.array() : matmul(a, b);
}

Array outer(const Operand& a, const Operand& b) {
  const SourceScope place(a.where(), "outer");
  promoted("outer", {a, b});
  return dot_general(a, b, {});
}

Array cross(const Operand& a, const Operand& b) {
  const SourceScope place(a.where(), "cross");
  const auto part = [](const Array& x, std::int64_t i) { return squeeze(slice_in_dim(x, i, i + 1, -1), -1); };
  if (a->dim(-1) != Dim(3) || b->dim(-1) != Dim(3))
    throw ShapeError(
        fmt::format("cross: {} and {}: the last axes do not have size 3.", a->type().text(), b->type().text()),
        "Vectors lie along the last axis; move it there with move_axis().");
  Arrays parts;
  for (std::int64_t i = 0; i < 3; ++i)
    parts.push_back(part(a, (i + 1) % 3) * part(b, (i + 2) % 3) - part(a, (i + 2) % 3) * part(b, (i + 1) % 3));
  return stack(parts, -1);
}

}  // namespace tenon
