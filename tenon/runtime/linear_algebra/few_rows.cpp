#include "tenon/runtime/linear_algebra/few_rows.h"

#include <algorithm>
#include <cstring>

#include "tenon/base/factors.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/few_rows_kernels.h"
#include "tenon/runtime/linear_algebra/grouped_panels.h"
#include "tenon/runtime/linear_algebra/product_blocks.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;
using Byte = std::byte;
using Kernels = FewRowsKernels;
constexpr Size most_terms = 1 << 13;  // that are laid out of a at a time
constexpr Size bytes_of_sums = 128 << 10;

Size up_to_multiple(Size n, Size of) { return (n + of - 1) / of * of; }

// The sums of a block, of which groups of four lie as FewRowsKernels::by_fours says.
void put_in_order(Byte* sums) {
  alignas(64) Byte block[4 * Kernels::block_columns];
  std::memcpy(block, sums, sizeof block);
  for (Size vector = 0; vector < 4; ++vector)
    for (Size lane = 0; lane < 4; ++lane)
      std::memcpy(sums + 64 * lane + 16 * vector, block + 64 * vector + 16 * lane, 16);
}

class FewRowsProduct {
 public:
  explicit FewRowsProduct(const FewRows& p)
      : p_(p), k_(few_rows_kernels(p.a, p.b, p.rows)), rows_(p.rows + (k_.flips ? 1 : 0)) {
    bytes_of_row_ = up_to_multiple(std::min(p_.terms, most_terms), Kernels::whole_terms) * k_.factor_bytes;
    const Size fit = bytes_of_sums / 4 / rows_ / Kernels::block_columns * Kernels::block_columns;
    columns_ = std::min(up_to_multiple(p_.columns, Kernels::block_columns), fit);
    of_row_ = columns_ + 16;  // rows of a power of two lie in the same places of a cache
  }

  bool run(const Byte* a, const Byte* b, const std::atomic<std::uint32_t>& stop, TakeSums take) const {
    const Size of_factors = rows_ * bytes_of_row_, of_sums = rows_ * of_row_ * 4;
    auto* const memory = static_cast<Byte*>(product_scratch(static_cast<std::size_t>(of_factors + of_sums)));
    if (memory == nullptr) return false;
    Byte* const sums = memory + of_factors;
    for (Size j = 0; j < p_.columns; j += columns_) {
      const Size columns = std::min(columns_, p_.columns - j);
      std::memset(sums, 0, static_cast<std::size_t>(of_sums));
      for (Size l = 0; l < p_.terms; l += most_terms) {
        if (stop.load(std::memory_order_relaxed) == Context::stopped) return true;
        const Size terms = std::min(most_terms, p_.terms - l);
        if (j == 0 || p_.terms > most_terms) lay_out(a + l * p_.a_term * size_of_a(), terms, memory);
        const Byte* const part = b + (l * p_.b_term + j * p_.b_column) * size_of_b();
        if (p_.b_column == 1)
          add_rows(part, terms, columns, memory, sums);
        else
          add_columns(part, terms, columns, memory, sums);
      }
      give(sums, j, columns, take);
    }
    return true;
  }

 private:
  Size size_of_a() const { return static_cast<Size>(size_of(p_.a)); }
  Size size_of_b() const { return static_cast<Size>(size_of(p_.b)); }

  // Rows of a, and zeros, since a product with what is no number is none; where a's leading bits are flipped, behind
  // them a row of what that adds to each factor.
  void lay_out(const Byte* a, Size terms, Byte* to) const {
    const Size bytes = terms * k_.factor_bytes;
    for (Size i = 0; i < p_.rows; ++i, a += p_.a_row * size_of_a(), to += bytes_of_row_) {
      k_.lay_out(a, p_.a_term, terms, to);
      std::memset(to + bytes, 0, static_cast<std::size_t>(bytes_of_row_ - bytes));
      if (k_.flips) flip_leading_bits(to, bytes_of_row_);
    }
    if (k_.flips) std::memset(to, 0x80, static_cast<std::size_t>(bytes_of_row_));
  }

  // f(first row, how many), of rows in shares that are about equal.
  template <class F>
  void each_rows(F f) const {
    const Size shares = (rows_ + Kernels::rows_at_once - 1) / Kernels::rows_at_once;
    for (Size i = 0; i < shares; ++i) f(rows_ * i / shares, rows_ * (i + 1) / shares - rows_ * i / shares);
  }
  void add_rows(const Byte* b, Size terms, Size columns, const Byte* x, Byte* sums) const {
    alignas(64) Byte factors[Kernels::factors_of_block];
    const bool several = rows_ > Kernels::rows_at_once;
    const auto& kernels = several ? k_.of_factors : k_.as_it_lies;
    for (Size l = 0; l < terms; l += Kernels::block_terms)
      for (Size j = 0; j < columns; j += Kernels::block_columns) {
        const Kernels::Block y{b + (l * p_.b_term + j) * size_of_b(), p_.b_term,
                               std::min(Kernels::block_terms, terms - l), columns - j};
        if (several) k_.make(y, factors);
        each_rows([&](Size i, Size count) {
          kernels[static_cast<std::size_t>(count - 1)](y, factors, x + i * bytes_of_row_ + l * k_.factor_bytes,
                                                       bytes_of_row_, sums + (i * of_row_ + j) * 4, of_row_);
        });
      }
  }
  void add_columns(const Byte* b, Size terms, Size columns, const Byte* x, Byte* sums) const {
    for (Size j = 0; j < columns;) {
      const bool several = columns - j >= Kernels::columns_at_once;
      const auto& kernels = several ? k_.several_columns : k_.one_column;
      const Kernels::Columns y{b + j * p_.b_column * size_of_b(), p_.b_column, terms};
      each_rows([&](Size i, Size count) {
        kernels[static_cast<std::size_t>(count - 1)](y, x + i * bytes_of_row_, bytes_of_row_,
                                                     sums + (i * of_row_ + j) * 4, of_row_);
      });
      j += several ? Kernels::columns_at_once : 1;
    }
  }

  void give(Byte* sums, Size first, Size columns, TakeSums take) const {
    for (Size i = 0; i < p_.rows; ++i) {
      Byte* const row = sums + i * of_row_ * 4;
      if (k_.flips) take_off(reinterpret_cast<const std::uint32_t*>(sums) + p_.rows * of_row_, row);
      if (k_.by_fours && p_.b_column == 1)
        for (Size j = 0; j < columns; j += Kernels::block_columns) put_in_order(row + 4 * j);
      take(i, first, columns, row);
    }
  }
  void take_off(const std::uint32_t* added, Byte* row) const {
    auto* const x = reinterpret_cast<std::uint32_t*>(row);
    for (Size j = 0; j < columns_; ++j) x[j] -= added[j];
  }

  const FewRows p_;
  const Kernels& k_;
  const Size rows_;  // with that of what flipping adds
  Size bytes_of_row_, columns_, of_row_;
};

}  // namespace

bool are_few_rows(const FewRows& p) noexcept {
  // Measured. Of more than very few rows b is larger than what caches keep beside its panels, and its columns are so
  // long that the sum of a vector's elements is little. Of fewer columns panels of bytes are nearly as good.
  constexpr Size large = 1 << 18, long_columns = 512;
  const bool along_rows = p.b_column == 1, along_columns = p.b_term == 1;
  if (vector_unit() < VectorUnit::avx2 || !(along_rows || along_columns)) return false;
  if (p.rows > few_rows_kernels(p.a, p.b, p.rows).most_rows) return false;
  if (is_byte(p.a) && p.columns < enough_byte_columns) return false;
  return p.rows <= very_few_rows || (p.columns * p.terms >= large && (along_rows || p.terms >= long_columns));
}

bool multiply_few_rows(const FewRows& product, const Byte* a, const Byte* b, const std::atomic<std::uint32_t>& stop,
                       TakeSums take) {
  return FewRowsProduct(product).run(a, b, stop, take);
}

}  // namespace tenon
