// Kernels of few_rows.h: of bytes by VNNI, or as integers of 16 bits by AVX2; of halves as f32, by AVX-512 or AVX2,
// or of bf16 in pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

// Rows of a are laid out by factors of `factor_bytes`, of which 32 bits are a group, with numbers up to a whole number
// of 64 factors behind them: of b zeros meet these. Sums are f32 or integers of 32 bits.
struct FewRowsKernels {
  static constexpr int rows_at_once = 4, columns_at_once = 4;
  static constexpr std::int64_t whole_terms = 64, block_terms = 16, block_columns = 64;

  std::int64_t most_rows = 0;                // of more, panels of both operands are faster
  std::int64_t factor_bytes = 0, group = 0;  // factors of a group

  void (*lay_out)(const std::byte* a, std::int64_t stride, std::int64_t terms, std::byte* to) = nullptr;

  // A block of b, whose rows are contiguous, of so many terms and columns or fewer. Rows of a times it are added to
  // their sums, as it lies; or `make` writes its factors by groups, and several times rows are multiplied by these.
  struct Block {
    const std::byte* from;
    std::int64_t distance, terms, columns;  // the distance of rows is in elements
  };
  void (*make)(const Block& block, std::byte* factors) = nullptr;
  static constexpr std::int64_t factors_of_block = 4 * block_terms * block_columns;  // bytes, at most
  using AddBlock = void (*)(const Block& block, const std::byte* factors, const std::byte* x, std::int64_t bytes_of_row,
                            void* sums, std::int64_t sums_of_row);
  std::array<AddBlock, rows_at_once> as_it_lies = {}, of_factors = {};  // by the number of rows of a, from 1 on

  // Rows of a times columns of b, which are contiguous, are added to their sums.
  struct Columns {
    const std::byte* from;
    std::int64_t distance, terms;
  };
  using AddColumns = void (*)(const Columns& columns, const std::byte* x, std::int64_t bytes_of_row, void* sums,
                              std::int64_t sums_of_row);
  std::array<AddColumns, rows_at_once> several_columns = {}, one_column = {};  // columns_at_once, or one

  bool flips = false;     // a's leading bits, which makes its bytes unsigned beside signed ones, and the other way
  bool by_fours = false;  // of 16 columns of a block, sums of the first four lie in the first 16, and so on
};

// For so many rows of factors of these dtypes, on a processor with AVX2 at least.
const FewRowsKernels& few_rows_kernels(DType a, DType b, std::int64_t rows) noexcept;

}  // namespace tenon
