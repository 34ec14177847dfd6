#include "tenon/ops/linear_algebra/factors/factors.h"

#include "tenon/kernel/function.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"

namespace tenon::matrices {

LibraryForm lapack_form(TenonLapack::Kind kind, const Type& a, const LapackChoice& choice) {
  static_assert(sizeof(TenonLapack) == 8 * sizeof(std::int64_t));
  require_lapack_library();
  const Dim rows = rows_of(a), columns = columns_of(a);
  LibraryForm form{"tenon_lapack",
                   {static_cast<std::int64_t>(kind), static_cast<std::int64_t>(a.dtype), count_of(a), rows, columns,
                    choice.vectors, choice.full, choice.others}};
  form.any_number = true;
  const double least = std::min(kernel::estimate(rows), kernel::estimate(columns));
  form.nanoseconds = 500 + kernel::estimate(count_of(a)) * 1500 + 2 * kernel::estimate(a.shape.elements()) * least;
  return form;
}

std::vector<textbook::Number> numbers(const std::vector<double>& values) { return {values.begin(), values.end()}; }

textbook::Matrix matrix_at(const Buffer& from, std::int64_t i) {
  const std::size_t rank = from.dims().size();
  textbook::Matrix made{from.dims()[rank - 2], from.dims()[rank - 1]};
  of_dtype(from.dtype(), [&]<class T>(T) {
    const std::int64_t count = made.rows * made.columns;
    std::copy_n(from.as<T>() + i * count, count, made.elements.begin());
  });
  return made;
}

std::vector<Value> evaluate_each(std::span<const Value> in, std::span<const Type> out,
                                 FunctionRef<Parts(std::span<const textbook::Matrix>)> one) {
  std::vector<Buffer> from;
  for (const Value& x : in) from.push_back(family::contiguous(x));
  std::vector<Buffer> made;
  for (const Type& type : out) made.push_back(Buffer::allocate(type.dtype, type.shape.sizes()));
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < from[0].dims().size(); ++i) count *= from[0].dims()[i];
  std::vector<std::int64_t> written(made.size());
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<textbook::Matrix> operands;
    for (const Buffer& x : from) operands.push_back(matrix_at(x, i));
    const Parts parts = one(operands);
    for (std::size_t k = 0; k < made.size(); ++k)
      dispatch(made[k].dtype(), [&]<class T>(std::type_identity<T>) {
        for (const textbook::Number value : parts[k]) {
          T& to = made[k].as<T>()[written[k]++];
          if constexpr (std::is_arithmetic_v<T>)
            to = static_cast<T>(value.real());
          else if constexpr (std::is_constructible_v<T, textbook::Number>)
            to = T(value);
        }
      });
  }
  return {made.begin(), made.end()};
}

}  // namespace tenon::matrices
