// What an example in a comment of a public header is compared with.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tenon/tenon.h"

namespace headers {

using Number = std::complex<double>;

// The elements of all leaves of a result, one after another.
template <class T>
std::vector<Number> numbers(const T& result) {
  std::vector<Number> all;
  for (const tenon::Array& leaf : tenon::tree::leaves(result)) {
    const tenon::Array wide = tenon::convert(tenon::in_a_row(leaf), tenon::DType::c128);
    const auto elements = wide.span<Number>();
    all.insert(all.end(), elements.begin(), elements.end());
  }
  return all;
}

// Comments say numbers with up to 7 digits. NaN is NaN, and infinities are themselves.
inline bool is_near(double x, double said, double size) {
  return std::isfinite(said) ? std::abs(x - said) <= (size > 0 ? 1e-5 * size : 1e-6)
                             : x == said || (x != x && said != said);
}

template <class T>
testing::AssertionResult gives(const T& result, std::initializer_list<Number> said) {
  std::vector<Number> found;
  if constexpr (std::convertible_to<T, double>) {
    found = {static_cast<double>(result)};
  } else if constexpr (std::same_as<T, std::vector<std::vector<std::int64_t>>>) {
    for (const auto& row : result)
      for (const std::int64_t number : row) found.push_back(static_cast<double>(number));
  } else {
    found = numbers(result);
  }
  bool same = found.size() == said.size();
  for (std::size_t i = 0; same && i < found.size(); ++i) {
    const Number expected = said.begin()[i];
    same = is_near(found[i].real(), expected.real(), std::abs(expected)) &&
           is_near(found[i].imag(), expected.imag(), std::abs(expected));
  }
  return (same ? testing::AssertionSuccess() : testing::AssertionFailure())
         << "it gives " << testing::PrintToString(found);
}

// An example without numbers.
template <class F>
void run(F example) {
  if constexpr (std::is_void_v<std::invoke_result_t<F>>)
    example();
  else
    static_cast<void>(example());
}

}  // namespace headers
