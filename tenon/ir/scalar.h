// Scalar: one element of any dtype, by its bits. What literals hold.
#pragma once

#include <array>
#include <complex>
#include <cstring>
#include <string>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon {

class Scalar {
 public:
  Scalar() = default;
  template <Element T>
  explicit Scalar(T value) : dtype_(*dtype_of<T>) {
    std::memcpy(bits_.data(), &value, sizeof value);
  }
  static Scalar zero(DType dtype) { return Scalar(false).convert(dtype); }
  static Scalar one(DType dtype) { return Scalar(true).convert(dtype); }

  DType dtype() const { return dtype_; }
  const std::byte* data() const { return bits_.data(); }
  template <Element T>
  T as() const {  // the stored value; the dtype must be T's
    if (dtype_of<T> != dtype_) throw DTypeError("Scalar: the value has another dtype.");
    T value;
    std::memcpy(&value, bits_.data(), sizeof value);
    return value;
  }
  // Value in another dtype: real to integer truncates toward zero and saturates, complex to real drops the imaginary
  // part.
  Scalar convert(DType dtype) const;
  std::complex<double> as_complex() const;  // the nearest double value
  double as_double() const { return as_complex().real(); }

  bool operator==(const Scalar& other) const { return dtype_ == other.dtype_ && bits_ == other.bits_; }
  void hash(Hasher& hasher) const { hasher(dtype_).bytes(bits_.data(), bits_.size()); }
  std::string text() const;  // shortest digits that read back to the same bits: "0.5", "-inf", "nan", "true", "(1,-2)"
  static Scalar parse(std::string_view text, DType dtype);  // throws ParseError

 private:
  DType dtype_ = DType::bool_;
  alignas(8) std::array<std::byte, 16> bits_{};  // generated code reads them in place
};

}  // namespace tenon
