// The longest common subsequence of two sequences: a table by a scan in a scan, and the way back through it by a
// while_loop that fills a buffer.
#pragma once

#include "tenon/tenon.h"

namespace examples {

struct Subsequence {
  tenon::Array length, places;  // i32[]; i32[shorter, 2]: where its elements stand in a and in b, the first `length`
};

// table(i, j): the length for the first i elements of a and the first j of b.
inline tenon::Array common_lengths(const tenon::Array& a, const tenon::Array& b) {
  using tenon::Array;
  struct Column {
    Array symbol, above, diagonal;
  };
  const Array above = tenon::zeros({b.dim(0) + 1}, tenon::DType::i32);
  const auto row = [&](const Array& before, const Array& symbol) {
    const auto column = [&](const Array& left, const Column& c) {
      const Array length = tenon::where(c.symbol == symbol, c.diagonal + 1, tenon::max(left, c.above));
      return std::pair(length, length);
    };
    const Column columns{b, before(tenon::slice(1, tenon::none)), before(tenon::slice(-1))};
    const Array lengths = tenon::scan(column, Array(0), columns).second;
    const Array next = tenon::concatenate({tenon::zeros({1}, tenon::DType::i32), lengths}, 0);
    return std::pair(next, next);
  };
  const Array rows = tenon::scan(row, above, a).second;
  return tenon::concatenate({above(tenon::newaxis), rows}, 0);
}

inline Subsequence longest_common_subsequence(const tenon::Array& a, const tenon::Array& b) {
  using tenon::Array;
  struct Walk {
    Array i, j, left, places;  // `left` elements of it are still to be found, before i and j
  };
  const Array table = common_lengths(a, b), length = table(-1, -1);
  const auto step = [&](const Walk& w) {
    const Array i = w.i - 1, j = w.j - 1, same = a(i) == b(j);
    const Array up = table(i, w.j) >= table(w.i, j);  // else to the left
    const Array left = w.left - tenon::where(same, 1, 0);
    const Array place = tenon::where(same, tenon::stack({i, j}), w.places(left));
    return Walk{tenon::where(same | up, i, w.i), tenon::where(same | !up, j, w.j), left, w.places.at(left).set(place)};
  };
  const int n = static_cast<int>(a.dim(0).value()), m = static_cast<int>(b.dim(0).value());
  const Walk start{n, m, length, tenon::zeros({std::min(n, m), 2}, tenon::DType::i32)};
  return {length, tenon::while_loop([](const Walk& w) { return w.left > 0; }, step, start).places};
}

}  // namespace examples
