// compress and its kin: elements that a mask chooses, in arrays of a size that the data decide.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

extern const OpInfo compress_info, uncompress_info;

std::int64_t count_true(const Buffer& mask) {
  return std::count(mask.as<bool>(), mask.as<bool>() + mask.elements(), true);
}

// For each true element of the mask, f(the offset of its row among all rows, among those chosen), in bytes.
template <class F>
void for_each_chosen(const Buffer& mask, const Buffer& all, F f) {
  const std::size_t row = mask.elements() == 0 ? 0 : all.bytes() / static_cast<std::size_t>(mask.elements());
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(mask.elements()); ++i)
    if (mask.as<bool>()[i]) f(row * i, row * chosen++, row);
}

// Lanes have one mask, so that their results have one size: the data's lanes go behind the axis of rows and back.
void refuse_lanes_of_masks(const BatchArgs& args, std::string_view op) {
  if (args.batched[1])
    throw MaskError(fmt::format("vmap: {} cannot be batched by a mask that differs from lane to lane, {}: lanes would "
                                "have arrays of different sizes.",
                                op, args.operands[1].type().text()),
                    "Use where() with the mask instead, which keeps the full size; or one mask for all lanes.");
}

const OpInfo compress_info{
    .name = "compress",
    .summary = "elements where a mask holds",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 2 || !in[1].is_array() || in[1].dtype != DType::bool_ || !in[0].is_array() ||
          in[0].rank() < in[1].rank() || in[1].rank() == 0)
        throw ShapeError(fmt::format("compress: {} by {}: not an array and a bool mask of its first axes.",
                                     in.empty() ? "nothing" : in[0].text(), in.size() < 2 ? "nothing" : in[1].text()),
                         "Compare to make a mask, x > 0; it has the sizes of the first axes.");
      for (std::size_t i = 0; i < in[1].rank(); ++i)
        context.require_equal(in[0].shape[i], in[1].shape[i],
                              [&] { return fmt::format("compress: {} by a mask {}.", in[0].text(), in[1].text()); });
      std::vector<Dim> dims{context.new_size("count", 1)};
      for (std::size_t i = in[1].rank(); i < in[0].rank(); ++i) dims.push_back(in[0].shape[i]);
      return std::vector{Type::array(in[0].dtype, Shape(std::move(dims)))};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext&) {
      const Buffer x = family::contiguous(in[0]), mask = family::contiguous(in[1]);
      std::vector<std::int64_t> dims{count_true(mask)};
      dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(mask.rank()), x.dims().end());
      Buffer out = Buffer::allocate(x.dtype(), dims);
      for_each_chosen(mask, x, [&](std::size_t from, std::size_t to, std::size_t bytes) {
        std::memcpy(out.data() + to, x.data() + from, bytes);
      });
      return std::vector<Value>{out};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{bind_op(compress_info, {}, args.primals),
                       {bind1(compress_info, {}, {*args.tangents[0], args.primals[1]})}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0])
        args.sink.add(0, bind1(uncompress_info, {}, {*args.cotangents[0], *args.operands[1].value}));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      refuse_lanes_of_masks(args, "compress");
      const Array& mask = args.operands[1];
      const Array rows = move_axis(args.operands[0], 0, static_cast<std::int64_t>(mask.rank()));
      return BatchResult{{move_axis(bind1(compress_info, {}, {rows, mask}), 1, 0)}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::compress}),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{Params(), {Type::array(d, {Dim(5)}), Type::array(DType::bool_, {Dim(5)})}, {{-3, 3}, {0, 1}}},
              {Params(), {Type::array(d, {Dim(0), Dim(2)}), Type::array(DType::bool_, {Dim(0)})}, {{-3, 3}, {0, 1}}},
              {Params(),
               {Type::array(d, {Dim(2), Dim(2), Dim(3)}), Type::array(DType::bool_, {Dim(2), Dim(2)})},
               {{-3, 3}, {0, 1}}}};
    })};

const OpInfo uncompress_info{
    .name = "uncompress",
    .summary = "elements put where a mask holds, zeros elsewhere",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 2 || !in[1].is_array() || in[1].dtype != DType::bool_ || !in[0].is_array() || in[0].rank() == 0)
        throw ShapeError("uncompress: takes rows and a bool mask.");
      std::vector<Dim> dims(in[1].shape.begin(), in[1].shape.end());
      for (std::size_t i = 1; i < in[0].rank(); ++i) dims.push_back(in[0].shape[i]);
      return std::vector{Type::array(in[0].dtype, Shape(std::move(dims)))};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const Buffer x = family::contiguous(in[0]), mask = family::contiguous(in[1]);
      Buffer out = Buffer::zeros(x.dtype(), context.out[0].shape.sizes());
      const std::int64_t count = count_true(mask);
      if (count != x.dims()[0])
        throw ShapeError(fmt::format("uncompress: {} rows for a mask with {} true elements.", x.dims()[0], count));
      for_each_chosen(mask, out, [&](std::size_t to, std::size_t from, std::size_t bytes) {
        std::memcpy(out.data() + to, x.data() + from, bytes);
      });
      return std::vector<Value>{out};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{bind_op(uncompress_info, {}, args.primals),
                       {bind1(uncompress_info, {}, {*args.tangents[0], args.primals[1]})}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      // The rows tell how many elements the mask has.
      const Array& mask = *args.operands[1].value;
      if (Scope* scope = Scope::top()) scope->note_data_size("count", mask, args.operands[0].type.shape[0]);
      args.sink.add(0, bind1(compress_info, {}, {*args.cotangents[0], mask}));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      refuse_lanes_of_masks(args, "uncompress");
      const Array& mask = args.operands[1];
      const Array placed = bind1(uncompress_info, {}, {move_axis(args.operands[0], 0, 1), mask});
      return BatchResult{{move_axis(placed, static_cast<std::int64_t>(mask.rank()), 0)}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::uncompress}),
    .alias = Absent{"the result is larger"},
    .effect = Absent{"pure"},
    .sample = Absent{"its operand's size depends on the mask's data; tested with compress"}};

// The op that shows the size alone: a Program that needs it and has no other use for the elements finds it so.
const OpInfo count_info{
    .name = "count",
    .summary = "as many true elements as the mask has",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 1 || !in[0].is_array() || in[0].dtype != DType::bool_)
        throw ShapeError("count: takes a bool mask.");
      return std::vector{Type::array(DType::bool_, {context.new_size("count", 0)})};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext&) {
      const Buffer mask = family::contiguous(in[0]);
      Buffer out = Buffer::allocate(DType::bool_, {count_true(mask)});
      std::fill_n(out.as<bool>(), out.elements(), true);
      return std::vector<Value>{out};
    }),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = Absent{"lanes would have results of different sizes; use where() with the mask instead"},
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::count}),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (d != DType::bool_) return {};
      return {{Params(), {Type::array(d, {Dim(5)})}, {{0, 1}}},
              {Params(), {Type::array(d, {Dim(2), Dim(3)})}, {{0, 1}}}};
    })};

const bool compress_installed = (install_op(compress_info), install_op(uncompress_info), install_op(count_info), true);

}  // namespace

Array compress(const Operand& x, const Operand& mask) {
  const SourceScope place(x.where(), "compress");
  return bind1(compress_info, {}, {x, mask});
}

std::vector<Array> nonzero(const Operand& x) {
  const SourceScope place(x.where(), "nonzero");
  if (x->rank() == 0)
    throw ShapeError(fmt::format("nonzero: {} has no axes.", x->type().text()), "Give it one with reshape().");
  const Array mask = convert(x, DType::bool_);
  std::vector<Array> indices;
  const bool none = x->shape().elements() == Dim(0);
  for (std::size_t axis = 0; axis < x->rank(); ++axis)
    indices.push_back(none ? iota(DType::i32, {0}, 0)
                           : compress(iota(DType::i32, x->shape(), static_cast<std::int64_t>(axis)), mask));
  return indices;
}
std::vector<Array> where(const Operand& condition) { return nonzero(condition); }
Array argwhere(const Operand& x) {
  const SourceScope place(x.where(), "argwhere");
  return stack(nonzero(x), 1);
}
Dim size_of_chosen(const Array& mask) { return bind1(count_info, {}, {mask}).dim(0); }
Array count_nonzero(const Operand& x) {
  const SourceScope place(x.where(), "count_nonzero");
  return sum(convert(x, DType::bool_));
}

}  // namespace tenon
