// Buffer: a value-semantic handle of strided memory. Knows no IR.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"

namespace tenon {

// Where memory is. There is one device today; the field is in every buffer so that others can join.
struct Device {
  enum class Kind : std::uint8_t { cpu } kind = Kind::cpu;
  std::int32_t index = 0;
  bool operator==(const Device&) const = default;
};

// Sizes or strides of a buffer: up to six axes in place, more on the heap.
class Extents {
 public:
  Extents() = default;
  explicit Extents(std::span<const std::int64_t> values);
  Extents(const Extents& other) : Extents(other.span()) {}
  Extents(Extents&&) noexcept = default;
  Extents& operator=(const Extents& other) { return *this = Extents(other.span()); }
  Extents& operator=(Extents&&) noexcept = default;
  std::span<const std::int64_t> span() const { return {heap_ ? heap_.get() : inline_.data(), rank_}; }
  std::int64_t* data() { return heap_ ? heap_.get() : inline_.data(); }
  std::size_t rank() const { return rank_; }

 private:
  std::uint32_t rank_ = 0;
  std::array<std::int64_t, 6> inline_;
  std::unique_ptr<std::int64_t[]> heap_;
};

class Buffer {
 public:
  Buffer() = default;  // no storage
  // Contiguous in row-major order, uninitialised. Throws ShapeError on a negative size, MemoryError where it does not
  // fit.
  static Buffer allocate(DType dtype, std::span<const std::int64_t> dims);
  static Buffer allocate(DType dtype, std::initializer_list<std::int64_t> dims) {
    return allocate(dtype, std::span(dims.begin(), dims.size()));
  }
  static Buffer zeros(DType dtype, std::span<const std::int64_t> dims);
  // A view of memory that somebody else owns; `keep` is held as long as any copy of the buffer. Strides in bytes.
  static Buffer borrow(void* data, DType dtype, std::span<const std::int64_t> dims,
                       std::span<const std::int64_t> strides, std::shared_ptr<void> keep, bool writable);

  explicit operator bool() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  Device device() const { return {}; }
  std::size_t rank() const { return dims_.rank(); }
  std::span<const std::int64_t> dims() const { return dims_.span(); }
  std::span<const std::int64_t> strides() const { return strides_.span(); }  // in bytes
  std::int64_t elements() const;
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype_); }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  template <Element T>
  T* as() {
    return reinterpret_cast<T*>(checked(*dtype_of<T>));
  }
  template <Element T>
  const T* as() const {
    return reinterpret_cast<const T*>(checked(*dtype_of<T>));
  }

  bool writable() const { return writable_; }
  bool contiguous() const;  // row-major without gaps
  Buffer contiguous_copy() const;
  bool unique() const { return writable_ && storage_.use_count() == 1; }  // the only owner: may be donated
  // Shares the storage; the bytes from `offset` on must hold what dims and strides reach.
  Buffer view(DType dtype, std::span<const std::int64_t> dims, std::span<const std::int64_t> strides,
              std::int64_t offset) const;

 private:
  std::byte* checked(DType wanted) const {
    if (wanted != dtype_) throw_dtype(wanted);
    return data_;
  }
  [[noreturn]] void throw_dtype(DType wanted) const;

  std::shared_ptr<void> storage_;
  std::byte* data_ = nullptr;
  DType dtype_ = DType::f32;
  bool writable_ = true;
  Extents dims_, strides_;
};

// Copies between buffers of equal dims and dtype, whatever their strides.
void copy_into(Buffer& to, const Buffer& from);

// Equal dtype, dims and bytes of every element.
bool same_bits(const Buffer& a, const Buffer& b);

// Row-major strides in bytes.
std::vector<std::int64_t> contiguous_strides(DType dtype, std::span<const std::int64_t> dims);

}  // namespace tenon
