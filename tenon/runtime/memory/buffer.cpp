#include "tenon/runtime/memory/buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "tenon/base/fork.h"
#include "tenon/runtime/memory/allocator.h"

namespace tenon {
namespace {

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

std::size_t dense_bytes(DType dtype, std::span<const std::int64_t> dims) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(checked_elements(dims), static_cast<std::int64_t>(size_of(dtype)), &bytes))
    throw MemoryError("an array of more than 2^63 bytes was asked for.", "Check the sizes.");
  return static_cast<std::size_t>(bytes);
}

void write_contiguous_strides(DType dtype, std::span<const std::int64_t> dims, std::int64_t* strides) {
  auto stride = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(dims[axis], 1);
  }
}

bool row_major(BufferBody& body) {
  const std::int64_t *dims = body.extents(), *strides = dims + body.rank;
  auto stride = static_cast<std::int64_t>(size_of(body.dtype));
  bool same = true;
  for (std::size_t axis = body.rank; axis-- > 0;) {
    if (dims[axis] == 0) return true;
    same = same && (dims[axis] == 1 || strides[axis] == stride);
    stride *= dims[axis];
  }
  return same;
}

// Calls f(offset of `to`, offset of `from`) for the first element of each row along the last axis, in row-major order.
template <class F>
void for_each_row(const Buffer& to, const Buffer& from, F&& f) {
  if (to.elements() == 0) return;
  const std::size_t rank = to.rank(), outer = rank == 0 ? 0 : rank - 1;
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t a = 0, b = 0;
  for (std::int64_t left = to.elements() / (rank == 0 ? 1 : to.dims()[outer]); left > 0; --left) {
    f(a, b);
    for (std::size_t axis = outer; axis-- > 0;) {
      a += to.strides()[axis];
      b += from.strides()[axis];
      if (++index[axis] < to.dims()[axis]) break;
      a -= to.strides()[axis] * to.dims()[axis];
      b -= from.strides()[axis] * to.dims()[axis];
      index[axis] = 0;
    }
  }
}

// Along the last axis; of rank 0 one element.
struct Row {
  explicit Row(const Buffer& x)
      : elements(x.rank() == 0 ? 1 : x.dims().back()), stride(x.rank() == 0 ? 0 : x.strides().back()) {}
  std::int64_t elements, stride;
};

template <std::size_t size>
void copy_rows(Buffer& to, const Buffer& from) {
  const Row written(to), read(from);
  for_each_row(to, from, [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t i = 0; i < written.elements; ++i)
      std::memcpy(to.data() + a + i * written.stride, from.data() + b + i * read.stride, size);
  });
}

}  // namespace

std::vector<std::int64_t> contiguous_strides(DType dtype, std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> strides(dims.size());
  write_contiguous_strides(dtype, dims, strides.data());
  return strides;
}

// The body's extents, and the elements from a multiple of 64 bytes on.
BufferBody* Buffer::make_body(DType dtype, std::span<const std::int64_t> dims, std::size_t element_bytes) {
  if (dims.size() > std::numeric_limits<std::uint16_t>::max())
    throw ShapeError(fmt::format("an array with {} axes was asked for.", dims.size()), "Reshape it to fewer axes.");
  const std::size_t head = (sizeof(BufferBody) + 2 * dims.size() * sizeof(std::int64_t) + 63) / 64 * 64;
  const std::size_t bytes = head + element_bytes;
  void* block = nullptr;
  try {
    block = allocate_block(bytes);
  } catch (const MemoryError& e) {
    throw MemoryError(fmt::format("{}[{}]: {}", name(dtype), fmt::join(dims, ","), e.asked()), e.advice(), e.where());
  }
  auto* body = new (block) BufferBody;
  body->rank = static_cast<std::uint16_t>(dims.size());
  body->dtype = dtype;
  body->data = static_cast<std::byte*>(block) + head;
  body->block_bytes = bytes;
  std::ranges::copy(dims, body->extents());
  return body;
}

void Buffer::destroy(BufferBody* body) noexcept {
  const auto end = [](void* ended) {
    auto* const all = static_cast<BufferBody*>(ended);
    const std::size_t bytes = all->block_bytes;
    all->~BufferBody();
    free_block(all, bytes);
  };
  if (body->keep) return outside_fork_sections(end, body);  // its owner's code runs
  end(body);
}

Buffer Buffer::allocate(DType dtype, std::span<const std::int64_t> dims) {
  BufferBody* body = make_body(dtype, dims, dense_bytes(dtype, dims));
  write_contiguous_strides(dtype, dims, body->extents() + dims.size());
  return Buffer(body);
}

DenseLayout::DenseLayout(DType dtype, std::span<const std::int64_t> dims)
    : dtype_(dtype), extents_(dims.begin(), dims.end()), bytes_(dense_bytes(dtype, dims)) {
  extents_.resize(2 * dims.size());
  write_contiguous_strides(dtype, dims, extents_.data() + dims.size());
}

Buffer Buffer::allocate(const DenseLayout& layout) {
  const std::size_t rank = layout.extents_.size() / 2;
  BufferBody* body = make_body(layout.dtype_, std::span(layout.extents_).first(rank), layout.bytes_);
  std::copy_n(layout.extents_.begin() + static_cast<std::ptrdiff_t>(rank), rank, body->extents() + rank);
  return Buffer(body);
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
  static constinit Lasting<const std::shared_ptr<void>> somebody;
  BufferBody* body = make_body(dtype, dims, 0);
  if (elements > 0) body->data = static_cast<std::byte*>(data);
  body->keep = std::move(keep);
  if (!body->keep) body->keep = somebody.get([] { return std::make_shared<int>(); });  // not ours in any case
  body->writable = writable;
  std::ranges::copy(strides, body->extents() + dims.size());
  body->contiguous = row_major(*body);
  return Buffer(body);
}

std::int64_t Buffer::elements() const {
  std::int64_t elements = 1;
  for (std::int64_t d : dims()) elements *= d;
  return elements;
}

void Buffer::keep_first(DType dtype, std::span<const std::int64_t> dims) {
  if (dims.size() > rank() || !unique() || !contiguous()) throw RuntimeError("keep_first: of another's memory.");
  const std::vector<std::int64_t> strides = contiguous_strides(dtype, dims);
  body_->dtype = dtype;
  body_->rank = static_cast<std::uint16_t>(dims.size());
  std::ranges::copy(dims, body_->extents());
  std::ranges::copy(strides, body_->extents() + dims.size());
}

Buffer Buffer::contiguous_copy() const {
  Buffer copy = allocate(dtype(), dims());
  copy_into(copy, *this);
  return copy;
}

Buffer Buffer::view(DType dtype, std::span<const std::int64_t> dims, std::span<const std::int64_t> strides,
                    std::int64_t offset) const {
  BufferBody* body = make_body(dtype, dims, 0);
  Buffer other(body);
  body->data = body_->data + offset;
  body->writable = body_->writable;
  body->keep = body_->keep ? body_->keep : std::make_shared<Buffer>(*this);
  std::ranges::copy(strides, body->extents() + dims.size());
  body->contiguous = row_major(*body);
  return other;
}

void Buffer::throw_dtype(DType wanted) const {
  throw DTypeError(fmt::format("elements of {} were asked for as {}.", name(dtype()), name(wanted)),
                   "Convert the array first.");
}

void copy_into(Buffer& to, const Buffer& from) {
  if (to.dtype() != from.dtype() || !std::ranges::equal(to.dims(), from.dims()))
    throw ShapeError("copy: source and target differ in shape or dtype.");
  if (to.contiguous() && from.contiguous()) {
    if (to.bytes() > 0) std::memcpy(to.data(), from.data(), to.bytes());
    return;
  }
  switch (size_of(to.dtype())) {
    case 1:
      return copy_rows<1>(to, from);
    case 2:
      return copy_rows<2>(to, from);
    case 4:
      return copy_rows<4>(to, from);
    case 8:
      return copy_rows<8>(to, from);
    default:
      return copy_rows<16>(to, from);
  }
}

bool same_bits(const Buffer& a, const Buffer& b) {
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.dims(), b.dims())) return false;
  bool same = true;
  const std::size_t size = size_of(a.dtype());
  const Row first(a), second(b);
  for_each_row(a, b, [&](std::int64_t from, std::int64_t other) {
    for (std::int64_t i = 0; same && i < first.elements; ++i)
      same = std::memcmp(a.data() + from + i * first.stride, b.data() + other + i * second.stride, size) == 0;
  });
  return same;
}

}  // namespace tenon
