// Buffer: a value-semantic handle of strided memory. Knows no IR.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
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

// What copies of a buffer share. Of memory of our own, the elements stand behind it in the same block: one block an
// array.
struct BufferBody {
  std::atomic<std::uint32_t> owners{1};
  std::uint16_t rank = 0;
  DType dtype = DType::f32;
  bool writable = true;
  bool contiguous = true;  // row-major without gaps
  std::byte* data = nullptr;
  std::size_t block_bytes = 0;  // of the block that holds this
  std::shared_ptr<void> keep;   // what owns the elements, where they are not in this block
  std::int64_t* extents() { return reinterpret_cast<std::int64_t*>(this + 1); }  // sizes, then strides
};

// What an array is that lies in row-major order, worked out once for many allocations. Throws as Buffer::allocate does.
class DenseLayout {
 public:
  DenseLayout(DType dtype, std::span<const std::int64_t> dims);

 private:
  friend class Buffer;
  DType dtype_;
  std::vector<std::int64_t> extents_;  // sizes, then strides
  std::size_t bytes_;
};

class Buffer {
 public:
  Buffer() = default;  // no storage
  Buffer(const Buffer& other) noexcept : body_(other.body_) {
    if (body_ != nullptr) body_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Buffer() {
    if (body_ != nullptr) release(body_);
  }
  // Contiguous in row-major order, uninitialised. Throws ShapeError on a negative size, MemoryError where it does not
  // fit.
  static Buffer allocate(DType dtype, std::span<const std::int64_t> dims);
  static Buffer allocate(const DenseLayout& layout);
  static Buffer allocate(DType dtype, std::initializer_list<std::int64_t> dims) {
    return allocate(dtype, std::span(dims.begin(), dims.size()));
  }
  static Buffer zeros(DType dtype, std::span<const std::int64_t> dims);
  // A view of memory that somebody else owns; `keep` is held as long as any copy of the buffer. Strides in bytes.
  static Buffer borrow(void* data, DType dtype, std::span<const std::int64_t> dims,
                       std::span<const std::int64_t> strides, std::shared_ptr<void> keep, bool writable);

  explicit operator bool() const { return body_ != nullptr; }
  DType dtype() const { return body_ == nullptr ? DType::f32 : body_->dtype; }
  Device device() const { return {}; }
  std::size_t rank() const { return body_ == nullptr ? 0 : body_->rank; }
  // These live as long as any copy of the buffer. Strides in bytes.
  std::span<const std::int64_t> dims() const { return {body_ == nullptr ? nullptr : body_->extents(), rank()}; }
  std::span<const std::int64_t> strides() const {
    return {body_ == nullptr ? nullptr : body_->extents() + body_->rank, rank()};
  }
  std::int64_t elements() const;
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype()); }

  std::byte* data() { return body_ == nullptr ? nullptr : body_->data; }
  const std::byte* data() const { return body_ == nullptr ? nullptr : body_->data; }
  template <Element T>
  T* as() {
    return reinterpret_cast<T*>(checked(*dtype_of<T>));
  }
  template <Element T>
  const T* as() const {
    return reinterpret_cast<const T*>(checked(*dtype_of<T>));
  }

  bool writable() const { return body_ == nullptr || body_->writable; }
  bool contiguous() const { return body_ == nullptr || body_->contiguous; }  // row-major without gaps
  Buffer contiguous_copy() const;
  // The only handle of memory of our own: nobody would notice a change of it.
  bool unique() const {
    return body_ != nullptr && body_->owners.load(std::memory_order_acquire) == 1 && !body_->keep && body_->writable;
  }
  bool ours() const { return body_ != nullptr && !body_->keep; }  // neither borrowed nor a view
  // A row-major buffer that is the only handle of memory of our own holds the first bytes of what it held as such an
  // array, of no more axes than before; the rest of its memory stays with it.
  void keep_first(DType dtype, std::span<const std::int64_t> dims);
  // Shares the storage; the bytes from `offset` on must hold what dims and strides reach.
  Buffer view(DType dtype, std::span<const std::int64_t> dims, std::span<const std::int64_t> strides,
              std::int64_t offset) const;

 private:
  explicit Buffer(BufferBody* body) : body_(body) {}
  static void release(BufferBody* body) noexcept {
    // The last owner needs no atomic write: nobody else can take part any more.
    if (body->owners.load(std::memory_order_acquire) == 1 || body->owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy(body);
  }
  static void destroy(BufferBody* body) noexcept;
  static BufferBody* make_body(DType dtype, std::span<const std::int64_t> dims, std::size_t element_bytes);
  std::byte* checked(DType wanted) const {
    if (wanted != dtype()) throw_dtype(wanted);
    return body_ == nullptr ? nullptr : body_->data;
  }
  [[noreturn]] void throw_dtype(DType wanted) const;

  BufferBody* body_ = nullptr;
};

// Copies between buffers of equal dims and dtype, whatever their strides.
void copy_into(Buffer& to, const Buffer& from);

// Equal dtype, dims and bytes of every element.
bool same_bits(const Buffer& a, const Buffer& b);

// Row-major strides in bytes.
std::vector<std::int64_t> contiguous_strides(DType dtype, std::span<const std::int64_t> dims);

}  // namespace tenon
