// Products of few rows of bytes with a large matrix of bytes, which is multiplied as it is read: laying it out for the
// kernels of grouped_kernels.h takes longer than so few rows take.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/base/function_ref.h"

namespace tenon {

// a of rows by terms, b of terms by columns; strides in elements.
struct ByteRows {
  std::int64_t rows, columns, terms;
  std::int64_t a_row, a_term, b_term, b_column;
  bool a_signed, b_signed;
};

// Whether there are few rows, rows or columns of b are contiguous, and this processor has vectors for it (AVX2, VNNI).
bool are_few_byte_rows(const ByteRows& product) noexcept;

// Takes sums modulo 2^32 of `count` columns of a row. Those of more than 16,384 terms come in several pieces, of which
// all but the first are to be added.
using TakeByteSums = FunctionRef<void(std::int64_t row, std::int64_t first_column, std::int64_t count,
                                      const std::uint32_t* sums, bool add)>;
// False where memory is lacking. Once `stop` is Context::stopped it returns soon.
bool multiply_byte_rows(const ByteRows& product, const std::byte* a, const std::byte* b,
                        const std::atomic<std::uint32_t>& stop, TakeByteSums take);

}  // namespace tenon
