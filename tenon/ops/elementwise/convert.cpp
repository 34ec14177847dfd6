#include "tenon/ops/elementwise/convert.h"

#include <fmt/format.h>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

struct ConvertParams {
  DType dtype;
};
BOOST_DESCRIBE_STRUCT(ConvertParams, (), (dtype))

namespace {

extern const OpInfo convert_info, real_info, imag_info, complex_info;

std::vector<Value> convert_eval(const Params& params, std::span<const Value> in, const EvalContext&) {
  const Buffer x = family::contiguous(in[0]);
  const DType to = params.as<ConvertParams>().dtype;
  Buffer out = Buffer::allocate(to, x.dims());
  dispatch(x.dtype(), [&]<class From>(std::type_identity<From>) {
    dispatch(to, [&]<class To>(std::type_identity<To>) {
      for (std::int64_t i = 0, n = x.elements(); i < n; ++i)
        out.as<To>()[i] = Scalar(x.as<From>()[i]).convert(to).template as<To>();
    });
  });
  return {out};
}

std::vector<SampleCase> sample_shapes(Params params, DType dtype, std::size_t operands) {
  std::vector<SampleCase> cases;
  for (const Shape& shape : {Shape{}, Shape{Dim(3)}, Shape{Dim(2), Dim(3)}, Shape{Dim(0)}})
    cases.push_back(
        {params, std::vector<Type>(operands, Type::array(dtype, shape)), std::vector<Domain>(operands, {-3, 3})});
  return cases;
}

// Linear between inexact dtypes; the cotangent converts back.
const OpInfo convert_info{
    .name = "convert",
    .summary = "value in another dtype",
    .params = &describe::params_ops<ConvertParams>,
    .type = TypeRule([](const Params& p, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_array()) throw VerifyError("convert: takes one array.");
      return std::vector{Type::array(p.as<ConvertParams>().dtype, in[0].shape)};
    }),
    .eval = EvalRule(convert_eval),
    .jvp = JvpRule([](const JvpArgs& args) {
      const DType to = args.params.as<ConvertParams>().dtype;
      const Array y = convert(args.primals[0], to);
      return JvpResult{{y}, {is_differentiable(to) ? MaybeArray(convert(*args.tangents[0], to)) : std::nullopt}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0]) args.sink.add(0, convert(*args.cotangents[0], args.operands[0].type.dtype));
    }),
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(convert_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
                                      return kernel::convert(args.params.as<ConvertParams>().dtype,
                                                             args.load(0, args.index));
                                    },
                                    true}),
    .alias = Absent{"its result has another size of elements"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType dtype) {
      std::vector<SampleCase> cases;
      for (DType to : {DType::f64, DType::f32, DType::i32, DType::bool_, DType::u8})
        if (!is_complex(dtype) || is_inexact(to))
          for (SampleCase& c : sample_shapes(make_params(ConvertParams{to}), dtype, 1)) cases.push_back(c);
      return cases;
    }),
    .traits = {.determined = true}};

// One part of a complex number. imag(z) = real(-i·z), so its transpose, without conjugation, multiplies by -i.
OpInfo part(const OpInfo& self, std::string_view name, std::string_view summary, bool imaginary) {
  return OpInfo{
      .name = name,
      .summary = summary,
      .params = nullptr,
      .type = TypeRule([name](const Params&, std::span<const Type> in, TypeContext&) {
        if (in.size() != 1 || !in[0].is_array() || !is_complex(in[0].dtype))
          throw DTypeError(fmt::format("{}: {} is not complex.", name, in.empty() ? "nothing" : in[0].text()));
        return std::vector{Type::array(real_part_of(in[0].dtype), in[0].shape)};
      }),
      .eval = EvalRule([imaginary](const Params&, std::span<const Value> in, const EvalContext& context) {
        const Buffer x = family::contiguous(in[0]);
        Buffer out = Buffer::allocate(context.out[0].dtype, x.dims());
        const std::size_t size = size_of(out.dtype());
        for (std::int64_t i = 0, n = x.elements(); i < n; ++i)
          std::memcpy(out.data() + static_cast<std::size_t>(i) * size,
                      x.data() + static_cast<std::size_t>(2 * i + imaginary) * size, size);
        return std::vector<Value>{out};
      }),
      .jvp = JvpRule([&self](const JvpArgs& args) {
        return JvpResult{{bind1(self, {}, {args.primals[0]})}, {bind1(self, {}, {*args.tangents[0]})}};
      }),
      .transpose = TransposeRule([imaginary](const TransposeArgs& args) {
        if (!args.cotangents[0]) return;
        const Array& ct = *args.cotangents[0];
        const Array zero = zeros_like(ct.type());
        args.sink.add(0, imaginary ? complex(zero, -ct) : complex(ct, zero));
      }),
      .batch = BatchRule([&self](const BatchArgs& args) { return family::batch_in_front(self, args); }),
      .split = Absent{"wholly known or not"},
      .guard = Absent{"no Programs inside"},
      .lower = LowerRule(LowerElement{[imaginary](const LowerArgs& args) {
                                        return kernel::unary(imaginary ? kernel::Unary::imag : kernel::Unary::real,
                                                             args.load(0, args.index));
                                      },
                                      true}),
      .alias = Absent{"its result has another size of elements"},
      .effect = Absent{"pure"},
      .sample = SampleRule(
          [](DType dtype) { return is_complex(dtype) ? sample_shapes({}, dtype, 1) : std::vector<SampleCase>(); }),
      .traits = {.determined = true}};
}
const OpInfo real_info = part(real_info, "real", "real part", false);
const OpInfo imag_info = part(imag_info, "imag", "imaginary part", true);

const OpInfo complex_info{
    .name = "complex",
    .summary = "re + im·i",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 2 || in[0].dtype != in[1].dtype || (in[0].dtype != DType::f32 && in[0].dtype != DType::f64) ||
          in[0].rank() != in[1].rank())
        throw DTypeError("complex: takes two arrays of f32 or f64 and of one shape.");
      for (std::size_t i = 0; i < in[0].rank(); ++i)
        context.require_equal(in[0].shape[i], in[1].shape[i],
                              [&] { return std::string("complex: the parts differ in shape."); });
      return std::vector{Type::array(complex_of(in[0].dtype), in[0].shape)};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const Buffer re = family::contiguous(in[0]), im = family::contiguous(in[1]);
      Buffer out = Buffer::allocate(context.out[0].dtype, re.dims());
      const std::size_t size = size_of(re.dtype());
      for (std::size_t i = 0, n = static_cast<std::size_t>(re.elements()); i < n; ++i) {
        std::memcpy(out.data() + 2 * i * size, re.data() + i * size, size);
        std::memcpy(out.data() + (2 * i + 1) * size, im.data() + i * size, size);
      }
      return std::vector<Value>{out};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{{complex(args.primals[0], args.primals[1])},
                       {complex(tangent_or_zero(args, 0), tangent_or_zero(args, 1))}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      if (args.operands[0].linear()) args.sink.add(0, real(*args.cotangents[0]));
      if (args.operands[1].linear()) args.sink.add(1, -imag(*args.cotangents[0]));
    }),
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(complex_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
                                      return kernel::binary(kernel::Binary::complex, args.load(0, args.index),
                                                            args.load(1, args.index));
                                    },
                                    true}),
    .alias = Absent{"its result has another size of elements"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType dtype) {
      return dtype == DType::f32 || dtype == DType::f64 ? sample_shapes({}, dtype, 2) : std::vector<SampleCase>();
    }),
    .traits = {.determined = true}};

const bool convert_installed = [] {
  for (const OpInfo* op : {&convert_info, &real_info, &imag_info, &complex_info}) install_op(*op);
  return true;
}();

}  // namespace

const OpInfo& convert_op() { return convert_info; }

Array convert(const Operand& x, DType dtype) {
  if (x->dtype() == dtype) return x.array().with_weak(false);
  if (const Scalar* n = x->number()) return Array(n->convert(dtype));
  const SourceScope place(x.where(), "convert");
  return bind1(convert_info, make_params(ConvertParams{dtype}), {x});
}

Array widened(const Array& x) { return convert(x, computed_in(x.dtype())); }

Array real(const Operand& x) {
  if (!is_complex(x->dtype())) return x;
  const SourceScope place(x.where(), "real");
  return bind1(real_info, {}, {x}).with_weak(x->weak());
}
Array imag(const Operand& x) {
  const SourceScope place(x.where(), "imag");
  return (is_complex(x->dtype()) ? bind1(imag_info, {}, {x}) : zeros_like(x->type())).with_weak(x->weak());
}
Array conj(const Operand& x) {
  if (!is_complex(x->dtype())) return x;
  const SourceScope place(x.where(), "conj");
  return complex(real(x), -imag(x));
}
Array times_i(const Array& z) { return complex(-imag(z), real(z)); }

Array complex(const Operand& re, const Operand& im) {
  const SourceScope place(re.where(), "complex");
  const Met met = meet_inexact("complex", {re, im});
  return bind1(complex_info, {}, {met.operands[0], met.operands[1]});
}

}  // namespace tenon
