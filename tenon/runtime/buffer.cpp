#include "tenon/runtime/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/runtime/allocator.h"

namespace tenon {
namespace {

// A finite address for arrays without elements.
alignas(64) std::byte empty_block[128];

std::int64_t checked_elements(std::span<const std::int64_t> dims) {
  std::int64_t elements = 1;
  bool zero = false, overflow = false;
  for (std::int64_t d : dims) {
    if (d < 0)
      throw ShapeError(fmt::format("an array with a negative size ({}) was asked for.", d), "Sizes are at least 0.");
    zero = zero || d == 0;
    overflow = __builtin_mul_overflow(elements, d, &elements) || overflow;
  }
  if (zero) return 0;
  if (overflow) throw MemoryError("an array of more than 2^63 elements was asked for.", "Check the sizes.");
  return elements;
}

// Calls f(offset of `to`, offset of `from`) for each element, in row-major order.
template <class F>
void for_each_element(const Buffer& to, const Buffer& from, F&& f) {
  const std::size_t rank = to.rank();
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t a = 0, b = 0;
  for (std::int64_t left = to.elements(); left > 0; --left) {
    f(a, b);
    for (std::size_t axis = rank; axis-- > 0;) {
      a += to.strides()[axis];
      b += from.strides()[axis];
      if (++index[axis] < to.dims()[axis]) break;
      a -= to.strides()[axis] * to.dims()[axis];
      b -= from.strides()[axis] * to.dims()[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Extents::Extents(std::span<const std::int64_t> values) : rank_(static_cast<std::uint32_t>(values.size())) {
  if (values.size() > inline_.size()) heap_ = std::make_unique<std::int64_t[]>(values.size());
  std::copy(values.begin(), values.end(), data());
}

std::vector<std::int64_t> contiguous_strides(DType dtype, std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size());
  auto stride = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(dims[axis], 1);
  }
  return strides;
}

Buffer Buffer::allocate(DType dtype, std::span<const std::int64_t> dims) {
  Buffer buffer;
  buffer.dtype_ = dtype;
  const std::int64_t elements = checked_elements(dims);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(dtype)), &bytes))
    throw MemoryError("an array of more than 2^63 bytes was asked for.", "Check the sizes.");
  buffer.dims_ = Extents(dims);
  buffer.strides_ = Extents(dims);
  auto stride = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    buffer.strides_.data()[axis] = stride;
    stride *= std::max<std::int64_t>(dims[axis], 1);
  }
  if (bytes == 0) {
    buffer.data_ = empty_block;
    return buffer;
  }
  const auto size = static_cast<std::size_t>(bytes);
  void* block = allocate_block(size);
  buffer.storage_ = std::shared_ptr<void>(block, [size](void* p) { free_block(p, size); });
  buffer.data_ = static_cast<std::byte*>(block);
  return buffer;
}

Buffer Buffer::zeros(DType dtype, std::span<const std::int64_t> dims) {
  Buffer buffer = allocate(dtype, dims);
  std::memset(buffer.data(), 0, buffer.bytes());
  return buffer;
}

Buffer Buffer::borrow(void* data, DType dtype, std::span<const std::int64_t> dims,
                      std::span<const std::int64_t> strides, std::shared_ptr<void> keep, bool writable) {
  if (strides.size() != dims.size())
    throw ShapeError(fmt::format("borrow: {} sizes but {} strides.", dims.size(), strides.size()),
                     "Give one stride an axis, in bytes.");
  const std::int64_t elements = checked_elements(dims);
  if (data == nullptr && elements > 0) throw RuntimeError("borrow: a null pointer to elements.");
  Buffer buffer;
  buffer.storage_ = std::move(keep);
  buffer.data_ = elements == 0 ? empty_block : static_cast<std::byte*>(data);
  buffer.dtype_ = dtype;
  buffer.writable_ = writable;
  buffer.dims_ = Extents(dims);
  buffer.strides_ = Extents(strides);
  return buffer;
}

std::int64_t Buffer::elements() const {
  std::int64_t elements = 1;
  for (std::int64_t d : dims()) elements *= d;
  return elements;
}

bool Buffer::contiguous() const {
  auto stride = static_cast<std::int64_t>(size_of(dtype_));
  if (elements() == 0) return true;
  for (std::size_t axis = rank(); axis-- > 0;) {
    if (dims()[axis] != 1 && strides()[axis] != stride) return false;
    stride *= dims()[axis];
  }
  return true;
}

Buffer Buffer::contiguous_copy() const {
  Buffer copy = allocate(dtype_, dims());
  copy_into(copy, *this);
  return copy;
}

Buffer Buffer::view(DType dtype, std::span<const std::int64_t> dims, std::span<const std::int64_t> strides,
                    std::int64_t offset) const {
  Buffer other = *this;
  other.dtype_ = dtype;
  other.dims_ = Extents(dims);
  other.strides_ = Extents(strides);
  other.data_ += offset;
  return other;
}

void Buffer::throw_dtype(DType wanted) const {
  throw DTypeError(fmt::format("elements of {} were asked for as {}.", name(dtype_), name(wanted)),
                   "Convert the array first.");
}

void copy_into(Buffer& to, const Buffer& from) {
  if (to.dtype() != from.dtype() || !std::ranges::equal(to.dims(), from.dims()))
    throw ShapeError("copy: source and target differ in shape or dtype.");
  if (to.contiguous() && from.contiguous()) {
    if (to.bytes() > 0) std::memcpy(to.data(), from.data(), to.bytes());
    return;
  }
  const std::size_t size = size_of(to.dtype());
  for_each_element(to, from,
                   [&](std::int64_t a, std::int64_t b) { std::memcpy(to.data() + a, from.data() + b, size); });
}

bool same_bits(const Buffer& a, const Buffer& b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.dims(), b.dims())) return false;
  bool same = true;
  const std::size_t size = size_of(a.dtype());
  for_each_element(
      a, b, [&](std::int64_t i, std::int64_t j) { same = same && std::memcmp(a.data() + i, b.data() + j, size) == 0; });
  return same;
}

}  // namespace tenon
