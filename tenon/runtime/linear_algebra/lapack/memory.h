// Memory of one worker, and matrices on their way between rows and columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/runtime/linear_algebra/lapack/routines.h"
#include "tenon/runtime/memory/workspace.h"

namespace tenon::lapack {

using Count = std::int64_t;

template <class T>
class Block {
 public:
  explicit Block(Count count) : memory_(nullptr, static_cast<std::size_t>(std::max<Count>(count, 1)) * sizeof(T)) {}
  T* get() const { return static_cast<T*>(memory_.memory()); }

 private:
  Workspace memory_;
};

// Of so many elements as a routine asks for by a number of its own dtype, which may be rounded.
template <class T>
Size asked(T number) {
  const double count =
      std::ceil(static_cast<double>(std::real(number)) * (1 + std::numeric_limits<Part<T>>::epsilon()));
  if (count > std::numeric_limits<Size>::max()) throw MemoryError("linear algebra: a matrix is too large for LAPACK.");
  return std::max(static_cast<Size>(count), 1);
}

// What call(memory) works in: as much as it says itself; the routines that do not say are given sizes.
template <class T>
class Working {
 public:
  template <class Call>
  Working(Call call, Count rwork, Count iwork) : Working(ask(call, rwork, iwork)) {}
  Work<T> operator()() const {
    return {work_.get(), sizes_.work, rwork_.get(), sizes_.rwork, iwork_.get(), sizes_.iwork};
  }

 private:
  struct Sizes {
    Size work, rwork, iwork;
  };
  template <class Call>
  static Sizes ask(Call call, Count rwork, Count iwork) {
    T work{};
    Part<T> of_rwork{};
    Size of_iwork = 0;
    call(Work<T>{&work, -1, &of_rwork, -1, &of_iwork, -1});
    const auto at_least = [](Size said, Count given) {
      if (given > std::numeric_limits<Size>::max())
        throw MemoryError("linear algebra: a matrix is too large for LAPACK.");
      return std::max(said, static_cast<Size>(given));
    };
    return {asked(work), at_least(asked(of_rwork), rwork), at_least(std::max(of_iwork, 1), iwork)};
  }
  explicit Working(Sizes sizes) : sizes_(sizes), work_(sizes.work), rwork_(sizes.rwork), iwork_(sizes.iwork) {}

  Sizes sizes_;
  Block<T> work_;
  Block<Part<T>> rwork_;
  Block<Size> iwork_;
};

// rows × columns, row-major, to column-major; the other way with the two exchanged. A square at a time, so that lines
// of the cache are used whole.
template <class T>
void transpose(const T* from, Count rows, Count columns, T* to) {
  constexpr Count side = 16;
  for (Count i = 0; i < rows; i += side)
    for (Count j = 0; j < columns; j += side)
      for (Count r = i; r < std::min(i + side, rows); ++r)
        for (Count c = j; c < std::min(j + side, columns); ++c) to[c * rows + r] = from[r * columns + c];
}
template <class T>
void transpose_in_place(T* a, Count n) {
  constexpr Count side = 16;
  for (Count i = 0; i < n; i += side)
    for (Count j = i; j < n; j += side)
      for (Count r = i; r < std::min(i + side, n); ++r)
        for (Count c = std::max(j, r + 1); c < std::min(j + side, n); ++c) std::swap(a[r * n + c], a[c * n + r]);
}

template <class T>
bool all_finite(const T* x, Count count) {
  const auto* const parts = reinterpret_cast<const Part<T>*>(x);
  bool finite = true;
  for (Count i = 0; i < count * static_cast<Count>(sizeof(T) / sizeof(Part<T>)); ++i)
    finite &= std::abs(parts[i]) <= std::numeric_limits<Part<T>>::max();
  return finite;
}

template <class T>
void fill_nan(T* x, Count count) {
  constexpr auto nan = std::numeric_limits<Part<T>>::quiet_NaN();
  if constexpr (is_number<T>)
    std::fill_n(x, count, T(nan, nan));
  else
    std::fill_n(x, count, nan);
}

}  // namespace tenon::lapack
