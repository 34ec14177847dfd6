// Long rows are sorted in parts, one a thread, and merged by all threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/runtime/threads/threads.h"

namespace tenon {

// How many of a and b are among the first `count` of both in order: those of a; equal ones of a come first.
template <class Integer>
std::int64_t taken_of_first(const Integer* a, std::int64_t of_a, const Integer* b, std::int64_t of_b,
                            std::int64_t count) {
  std::int64_t low = std::max<std::int64_t>(0, count - of_b), high = std::min(count, of_a);
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (b[count - middle - 1] < a[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// a and b in order to `to`, without a branch that depends on which is less.
template <class Integer>
void merge(const Integer* a, const Integer* end_a, const Integer* b, const Integer* end_b, Integer* to) {
  while (a != end_a && b != end_b) {
    const Integer x = *a, y = *b;
    const std::ptrdiff_t second = y < x ? 1 : 0;
    *to++ = std::min(x, y);
    a += 1 - second;
    b += second;
  }
  to = std::copy(a, end_a, to);
  std::copy(b, end_b, to);
}

constexpr std::int64_t worth_a_part = 1 << 16;

// Parts in which n integers are worth being sorted: a power of two.
inline std::int64_t parts_of_row(std::int64_t n) {
  const std::int64_t most = std::min<std::int64_t>(threads(), n / worth_a_part);
  return most < 2 || tenon_inside_parallel()
             ? 1
             : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
}

// x or `other`, whichever has the integers in order at the end; sort(integers, n) sorts where they stand. `other` has
// room for them, or is null: in one part then.
template <class Integer, class Sort>
Integer* sorted_in_parts(Integer* x, Integer* other, std::int64_t n, const Sort& sort) {
  const std::int64_t parts = other == nullptr ? 1 : parts_of_row(n);
  const auto begin_of = [&](std::int64_t part, std::int64_t of) { return part * n / of; };
  each_range(parts, 1, [&](std::int64_t part, std::int64_t end) {
    for (; part < end; ++part) sort(x + begin_of(part, parts), begin_of(part + 1, parts) - begin_of(part, parts));
  });
  for (std::int64_t runs = parts; runs > 1; runs /= 2) {
    const std::int64_t pieces = 2 * parts / runs;  // of each pair of runs
    each_range(parts, 1, [&](std::int64_t piece, std::int64_t end) {
      for (; piece < end; ++piece) {
        const std::int64_t pair = piece / pieces, from = begin_of(2 * pair, runs),
                           middle = begin_of(2 * pair + 1, runs), to = begin_of(2 * pair + 2, runs);
        const Integer *a = x + from, *b = x + middle;
        const std::int64_t of_a = middle - from, of_b = to - middle, first = (piece % pieces) * (to - from) / pieces,
                           last = (piece % pieces + 1) * (to - from) / pieces;
        const std::int64_t i = taken_of_first(a, of_a, b, of_b, first), j = taken_of_first(a, of_a, b, of_b, last);
        merge(a + i, a + j, b + (first - i), b + (last - j), other + from + first);
      }
    });
    std::swap(x, other);
  }
  return x;
}

}  // namespace tenon
