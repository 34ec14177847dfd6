// Products of few rows of narrow numbers with a large matrix, which is multiplied as it is read: laying it out for the
// kernels of grouped_kernels.h, or widening it, takes longer than so few rows take.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/base/dtype.h"
#include "tenon/base/function_ref.h"

namespace tenon {

// a of rows by terms, b of terms by columns; strides in elements. Bytes of any kinds, or halves of one.
struct FewRows {
  std::int64_t rows, columns, terms;
  std::int64_t a_row, a_term, b_term, b_column;
  DType a, b;
};

// Of so few rows nothing else is as fast; but of bytes with fewer columns a nest or panels are.
inline constexpr std::int64_t very_few_rows = 3, enough_byte_columns = 128;

// Whether there are few rows, rows or columns of b are contiguous, and this processor has vectors for it.
bool are_few_rows(const FewRows& product) noexcept;

// Takes the sums of `count` columns of a row: f32 of halves, of bytes integers of 32 bits, which wrap.
using TakeSums = FunctionRef<void(std::int64_t row, std::int64_t first_column, std::int64_t count, const void* sums)>;
// False where memory is lacking. Once `stop` is Context::stopped it returns soon.
bool multiply_few_rows(const FewRows& product, const std::byte* a, const std::byte* b,
                       const std::atomic<std::uint32_t>& stop, TakeSums take);

}  // namespace tenon
