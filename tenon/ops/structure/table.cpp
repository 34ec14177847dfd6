#include "tenon/ops/structure/table.h"

#include <cstring>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/families.h"

namespace tenon {

struct TableParams {
  DType dtype = DType::i64;
  std::vector<std::int64_t> shape, values;  // u64, real and complex numbers by their bits
};
BOOST_DESCRIBE_STRUCT(TableParams, (), (dtype, shape, values))

namespace {

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || size > longest_table || (n *= size) > longest_table) throw VerifyError("table: holds few numbers.");
  }
  return n;
}

std::vector<Type> table_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const auto& p = params.as<TableParams>();
  if (!in.empty()) throw VerifyError("table: takes no operands.");
  if (size_of(p.dtype) > sizeof(std::int64_t)) throw VerifyError("table: holds numbers of at most eight bytes.");
  if (static_cast<std::int64_t>(p.values.size()) != elements_of(p.shape))
    throw VerifyError("table: has as many numbers as its shape.");
  return {Type::array(p.dtype, Shape(std::vector<Dim>(p.shape.begin(), p.shape.end())))};
}

std::vector<SampleCase> table_samples(DType d) {
  if (size_of(d) > sizeof(std::int64_t)) return {};
  Buffer array = Buffer::allocate(d, {2, 3});
  for (int i = 0; i < 6; ++i) {
    const Scalar number = Scalar(std::int64_t(i * 5 % 7)).convert(d);
    std::memcpy(array.data() + static_cast<std::size_t>(i) * size_of(d), number.data(), size_of(d));
  }
  return {{table_params(array), {}, {}}};
}

const OpInfo table_info{
    .name = "table",
    .summary = "a small array whose numbers are known",
    .params = &describe::params_ops<TableParams>,
    .type = TypeRule(table_type),
    .eval = EvalRule(
        [](const Params& p, std::span<const Value>, const EvalContext&) { return std::vector<Value>{table_array(p)}; }),
    .jvp = Absent{"it has no operand"},
    .transpose = Absent{"it has no operand"},
    .batch = Absent{"it has no operand"},
    .split = Absent{"wholly known"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::constant}),
    .alias = Absent{"it has no operand"},
    .effect = Absent{"pure"},
    .sample = SampleRule(table_samples),
};
const bool table_installed = (install_op(table_info), true);

}  // namespace

const OpInfo& table_op() { return table_info; }

bool fits_table(const Type& type) {
  if (!type.is_array() || !type.shape.known() || !(type.dtype == DType::bool_ || is_integer(type.dtype))) return false;
  const std::int64_t elements = type.shape.elements().value();
  return elements >= 1 && elements <= largest_table;
}

Params table_params(const Buffer& array) {
  const Buffer whole = array.contiguous_copy();
  TableParams p{whole.dtype(), {whole.dims().begin(), whole.dims().end()}, {}};
  const std::size_t size = size_of(p.dtype);
  dispatch(p.dtype, [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < whole.elements(); ++i) {
      const std::byte* at = whole.data() + static_cast<std::size_t>(i) * size;
      std::int64_t bits = 0;
      if constexpr (std::is_integral_v<T>) {
        T value;
        std::memcpy(&value, at, size);
        bits = static_cast<std::int64_t>(value);
      } else {
        std::memcpy(&bits, at, size);
      }
      p.values.push_back(bits);
    }
  });
  return make_params(std::move(p));
}

Buffer table_array(const Params& params) {
  const auto& p = params.as<TableParams>();
  Buffer array = Buffer::allocate(p.dtype, p.shape);
  const std::size_t size = size_of(p.dtype);  // on little-endian processors a number's bytes come first
  for (std::size_t i = 0; i < p.values.size(); ++i) std::memcpy(array.data() + i * size, &p.values[i], size);
  return array;
}

}  // namespace tenon
