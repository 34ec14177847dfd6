#include "tenon/ops/random/threefry.h"

#include <array>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/families.h"

namespace tenon {

BOOST_DESCRIBE_ENUM(ThreefryOutput, first, second, mixed, wide)
struct ThreefryParams {
  ThreefryOutput output;
};
BOOST_DESCRIBE_STRUCT(ThreefryParams, (), (output))

namespace {

using kernel::Binary;
using kernel::Expr;

// The rounds, written once for numbers and for expressions. Word needs +, ^, and rotated().
template <class Word, class Rotate>
std::array<Word, 2> rounds(const std::array<Word, 3>& key, Word x0, Word x1, const std::array<Word, 5>& counter,
                           auto add, auto exclusive_or, Rotate rotate) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 = add(x0, key[0]);
  x1 = add(x1, key[1]);
  for (std::size_t block = 0; block < 5; ++block) {
    for (int by : rotations[block % 2]) {
      x0 = add(x0, x1);
      x1 = exclusive_or(rotate(x1, by), x0);
    }
    x0 = add(x0, key[(block + 1) % 3]);
    x1 = add(add(x1, key[(block + 2) % 3]), counter[block]);
  }
  return {x0, x1};
}

constexpr std::uint32_t parity = 0x1BD11BDAu;

std::array<std::uint32_t, 2> block(std::uint32_t k0, std::uint32_t k1, std::uint32_t x0, std::uint32_t x1) {
  return rounds<std::uint32_t>(
      {k0, k1, k0 ^ k1 ^ parity}, x0, x1, {1, 2, 3, 4, 5}, [](std::uint32_t a, std::uint32_t b) { return a + b; },
      [](std::uint32_t a, std::uint32_t b) { return a ^ b; },
      [](std::uint32_t x, int by) { return (x << by) | (x >> (32 - by)); });
}

Expr word(std::uint32_t value) { return kernel::constant(DType::u32, &value); }

std::array<Expr, 2> block(const Expr& k0, const Expr& k1, const Expr& x0, const Expr& x1) {
  const auto exclusive_or = [](const Expr& a, const Expr& b) { return kernel::binary(Binary::xor_, a, b); };
  return rounds<Expr>(
      {k0, k1, exclusive_or(exclusive_or(k0, k1), word(parity))}, x0, x1, {word(1), word(2), word(3), word(4), word(5)},
      [](const Expr& a, const Expr& b) { return a + b; }, exclusive_or,
      [](const Expr& x, int by) {
        const auto bits = static_cast<std::uint32_t>(by);
        return kernel::binary(Binary::or_, kernel::binary(Binary::shift_left, x, word(bits)),
                              kernel::binary(Binary::shift_right, x, word(32 - bits)));
      });
}

std::vector<Value> threefry_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto output = params.as<ThreefryParams>().output;
  std::array<Buffer, 4> operands;
  for (std::size_t i = 0; i < 4; ++i) operands[i] = family::contiguous(in[i]);
  Buffer out = Buffer::allocate(context.out[0].dtype, operands[0].dims());
  const auto at = [&](std::size_t operand, std::int64_t i) { return operands[operand].as<std::uint32_t>()[i]; };
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const auto [a, b] = block(at(0, i), at(1, i), at(2, i), at(3, i));
    if (output == ThreefryOutput::wide)
      out.as<std::uint64_t>()[i] = (static_cast<std::uint64_t>(a) << 32) | b;
    else
      out.as<std::uint32_t>()[i] = output == ThreefryOutput::first ? a : output == ThreefryOutput::second ? b : a ^ b;
  }
  return {out};
}

Expr threefry_lower(const LowerArgs& args) {
  std::array<Expr, 4> x;
  for (std::size_t i = 0; i < 4; ++i) x[i] = args.load(i, args.index);
  const auto [a, b] = block(x[0], x[1], x[2], x[3]);
  switch (args.params.as<ThreefryParams>().output) {
    case ThreefryOutput::first:
      return a;
    case ThreefryOutput::second:
      return b;
    case ThreefryOutput::mixed:
      return kernel::binary(Binary::xor_, a, b);
    case ThreefryOutput::wide:
      break;
  }
  const std::uint64_t half = 32;
  const Expr upper =
      kernel::binary(Binary::shift_left, kernel::convert(DType::u64, a), kernel::constant(DType::u64, &half));
  return kernel::binary(Binary::or_, upper, kernel::convert(DType::u64, b));
}

extern const OpInfo threefry_info;
const OpInfo threefry_info{
    .name = "threefry2x32",
    .summary = "a block of two words encrypted by a key: counter-based random bits",
    .params = &describe::params_ops<ThreefryParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 4) throw VerifyError("threefry2x32: takes two words of key and two of data.");
      for (const Type& type : in) {
        if (!type.is_array() || type.dtype != DType::u32 || type.rank() != in[0].rank())
          throw DTypeError("threefry2x32: the operands are not u32 of one shape: " + type.text() + " and " +
                           in[0].text() + ".");
        for (std::size_t i = 0; i < type.rank(); ++i)
          context.require_equal(in[0].shape[i], type.shape[i],
                                [&] { return std::string("threefry2x32: the operands differ in shape."); });
      }
      const bool wide = params.as<ThreefryParams>().output == ThreefryOutput::wide;
      return std::vector{Type::array(wide ? DType::u64 : DType::u32, in[0].shape)};
    }),
    .eval = EvalRule(threefry_eval),
    .jvp = Absent{"defined for integers"},
    .transpose = Absent{"defined for integers"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(threefry_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{threefry_lower, true}),
    .alias = Absent{"the words of a key are read again for other outputs"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      std::vector<SampleCase> cases;
      if (d != DType::u32) return cases;
      for (ThreefryOutput output :
           {ThreefryOutput::first, ThreefryOutput::second, ThreefryOutput::mixed, ThreefryOutput::wide})
        for (const Shape& shape : {Shape{}, Shape{Dim(3)}, Shape{Dim(0)}})
          cases.push_back({make_params(ThreefryParams{output}), std::vector<Type>(4, Type::array(d, shape)),
                           std::vector<Domain>(4, {0, 1e9})});
      return cases;
    })};
const bool threefry_installed = (install_op(threefry_info), true);

}  // namespace

Array threefry2x32(ThreefryOutput output, const Array& k0, const Array& k1, const Array& x0, const Array& x1) {
  return bind1(threefry_info, make_params(ThreefryParams{output}), {k0, k1, x0, x1});
}

}  // namespace tenon
