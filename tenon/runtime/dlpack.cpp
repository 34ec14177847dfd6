#include "tenon/runtime/dlpack.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::dlpack {
namespace {

constexpr int most_axes = 64;

std::uint8_t code_of(DType dtype) {
  if (dtype == DType::bf16) return bfloat;
  if (dtype == DType::f8e8m0fnu) return float8_e8m0fnu;
  if (is_float8(dtype)) {
    const int place = static_cast<int>(dtype) - static_cast<int>(DType::f8e3m4);
    return static_cast<std::uint8_t>(float8_e3m4 + place);
  }
  switch (kind_of(dtype)) {
    case DTypeKind::boolean:
      return boolean;
    case DTypeKind::signed_integer:
      return integer;
    case DTypeKind::unsigned_integer:
      return unsigned_integer;
    case DTypeKind::real:
      return real;
    case DTypeKind::complex:
      return complex;
  }
  __builtin_unreachable();
}

DataType data_type_of(DType dtype) { return {code_of(dtype), static_cast<std::uint8_t>(size_of(dtype) * 8), 1}; }

DType dtype_of_data(DataType type) {
  for (int i = 0; i < dtype_count && type.lanes == 1; ++i) {
    const DataType candidate = data_type_of(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits) return static_cast<DType>(i);
  }
  throw DTypeError(fmt::format("dlpack: elements of code {}, {} bits, {} lanes have no counterpart here.", type.code,
                               type.bits, type.lanes),
                   "Convert the array before it is passed.");
}

// What an exported tensor points into.
template <class Managed>
struct Exported {
  Managed managed{};
  Buffer buffer;
  std::vector<std::int64_t> shape, strides;
};

template <class Managed>
Managed* export_as(const Buffer& source, bool& copied) {
  if (!source) throw RuntimeError("dlpack: an empty handle was to be passed.", "Give an array.");
  const auto size = static_cast<std::int64_t>(size_of(source.dtype()));
  copied = false;
  for (const std::int64_t stride : source.strides()) copied = copied || stride % size != 0;
  auto exported = std::make_unique<Exported<Managed>>();
  exported->buffer = copied ? source.contiguous_copy() : source;
  Buffer& buffer = exported->buffer;
  exported->shape.assign(buffer.dims().begin(), buffer.dims().end());
  for (const std::int64_t stride : buffer.strides()) exported->strides.push_back(stride / size);
  exported->managed.tensor = Tensor{buffer.data(),
                                    {cpu_device, 0},
                                    static_cast<std::int32_t>(buffer.rank()),
                                    data_type_of(buffer.dtype()),
                                    exported->shape.data(),
                                    exported->strides.data(),
                                    0};
  exported->managed.context = exported.get();
  exported->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->context); };
  return &exported.release()->managed;
}

template <class Managed>
Buffer import_as(Managed* managed, bool writable) {
  const Tensor& t = managed->tensor;
  if (t.device.type != cpu_device)
    throw RuntimeError(fmt::format("dlpack: memory of device type {} was passed.", t.device.type),
                       "Copy the array to the CPU first.");
  if (t.rank < 0 || t.rank > most_axes || (t.rank > 0 && t.shape == nullptr))
    throw RuntimeError(fmt::format("dlpack: a tensor with {} axes is malformed.", t.rank));
  const DType dtype = dtype_of_data(t.dtype);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const auto rank = static_cast<std::size_t>(t.rank);
  const std::vector<std::int64_t> dims(t.shape, t.shape + rank);
  std::vector<std::int64_t> strides;
  if (t.strides == nullptr) strides = contiguous_strides(dtype, dims);
  for (std::size_t axis = 0; axis < rank && t.strides != nullptr; ++axis)
    if (__builtin_mul_overflow(t.strides[axis], size, &strides.emplace_back()))
      throw RuntimeError("dlpack: a stride overflows.");
  // Checked as a borrowed view first, so that nothing is owned when that throws.
  auto* data = static_cast<std::byte*>(t.data);
  if (data != nullptr) data += t.byte_offset;
  const Buffer seen = Buffer::borrow(data, dtype, dims, strides, nullptr, false);
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % size_of(real_part_of(dtype)) == 0;
  const auto release = [](Managed* m) {
    if (m->deleter != nullptr) m->deleter(m);
  };
  if (!aligned && seen.elements() > 0) {
    Buffer copy = seen.contiguous_copy();
    release(managed);
    return copy;
  }
  // The control block is made before ownership is taken: were there no memory for it, shared_ptr would call the
  // deleter.
  const auto slot = std::make_shared<std::unique_ptr<Managed, void (*)(Managed*)>>(nullptr, release);
  Buffer buffer = Buffer::borrow(data, dtype, dims, strides, slot, writable);
  slot->reset(managed);
  return buffer;
}

}  // namespace

ManagedTensorVersioned* export_versioned(const Buffer& buffer) {
  bool copied;
  auto* managed = export_as<ManagedTensorVersioned>(buffer, copied);
  managed->version = version;
  managed->flags = copied ? is_copied : buffer.writable() ? 0 : read_only;
  return managed;
}

ManagedTensor* export_unversioned(const Buffer& buffer) {
  if (!buffer.writable())
    throw RuntimeError("dlpack: read-only memory cannot be passed in the form before version 1.",
                       "Ask for version 1, or pass a copy.");
  bool copied;
  return export_as<ManagedTensor>(buffer, copied);
}

Buffer import(ManagedTensorVersioned* tensor) {
  if (tensor == nullptr) throw RuntimeError("dlpack: no tensor was passed.");
  if (tensor->version.major != version.major)
    throw RuntimeError(fmt::format("dlpack: version {}.{} was passed; this is version {}.", tensor->version.major,
                                   tensor->version.minor, version.major));
  return import_as(tensor, (tensor->flags & read_only) == 0);
}

Buffer import(ManagedTensor* tensor) {
  if (tensor == nullptr) throw RuntimeError("dlpack: no tensor was passed.");
  return import_as(tensor, true);
}

}  // namespace tenon::dlpack
