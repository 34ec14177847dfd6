#include "tenon/ops/factors/spectra.h"

#include "tenon/kernel/function.h"
#include "tenon/ops/factors/matrices.h"

namespace tenon::matrices {

LibraryForm spectrum_form(TenonSpectrum::Kind kind, const Type& a, std::int64_t vectors, bool full) {
  static_assert(sizeof(TenonSpectrum) == 7 * sizeof(std::int64_t));
  require_lapack_library();
  const Dim &rows = rows_of(a), &columns = columns_of(a);
  LibraryForm form{
      "tenon_spectrum",
      {static_cast<std::int64_t>(kind), static_cast<std::int64_t>(a.dtype), count_of(a), rows, columns, vectors, full}};
  form.any_number = true;
  const double least = std::min(kernel::estimate(rows), kernel::estimate(columns));
  form.nanoseconds = 500 + kernel::estimate(count_of(a)) * 1500 + 2 * kernel::estimate(a.shape.elements()) * least;
  return form;
}

std::vector<textbook::Number> numbers(const std::vector<double>& values) { return {values.begin(), values.end()}; }

std::vector<Value> evaluate_each(const Value& a, std::span<const Type> out,
                                 FunctionRef<std::vector<std::vector<textbook::Number>>(const textbook::Matrix&)> one) {
  const Buffer from = family::contiguous(a);
  std::vector<Buffer> made;
  for (const Type& type : out) made.push_back(Buffer::allocate(type.dtype, type.shape.sizes()));
  const std::size_t rank = from.dims().size();
  const std::int64_t rows = from.dims()[rank - 2], columns = from.dims()[rank - 1];
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) count *= from.dims()[i];
  std::vector<std::int64_t> written(made.size());
  for (std::int64_t i = 0; i < count; ++i) {
    textbook::Matrix matrix{rows, columns};
    of_dtype(from.dtype(), [&]<class T>(T) {
      const T* const elements = from.as<T>() + i * rows * columns;
      std::copy(elements, elements + rows * columns, matrix.elements.begin());
    });
    const std::vector<std::vector<textbook::Number>> parts = one(matrix);
    for (std::size_t k = 0; k < made.size(); ++k)
      of_dtype(made[k].dtype(), [&]<class T>(T) {
        for (const textbook::Number value : parts[k]) {
          T& to = made[k].as<T>()[written[k]++];
          if constexpr (std::is_floating_point_v<T>)
            to = static_cast<T>(value.real());
          else
            to = T(value);
        }
      });
  }
  return {made.begin(), made.end()};
}

}  // namespace tenon::matrices
