// Numbers of any dtype, and what operations of the loop language make of them, one at a time.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include "tenon/kernel/expr.h"

namespace tenon::kernel {

// A number of any dtype.
struct Value {
  DType dtype;
  std::array<std::byte, 16> bits{};

  template <class T>
  static Value of(DType dtype, T value) {
    Value v{dtype};
    std::memcpy(v.bits.data(), &value, sizeof value);
    return v;
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(&value, bits.data(), sizeof value);
    return value;
  }
};

Value unary_of(Unary op, DType result, const Value& x);
Value binary_of(Binary op, const Value& x, const Value& y);
Value converted(DType to, const Value& x);

// Throws RuntimeError: of what there is no result.
[[noreturn]] void fail(const std::string& what);

}  // namespace tenon::kernel
