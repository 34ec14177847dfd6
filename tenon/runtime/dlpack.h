// Arrays to and from other libraries without copying: the structures of DLPack 1.x and conversions to Buffer.
// Source: the DLPack specification, https://dmlc.github.io/dlpack/latest/.
#pragma once

#include <cstdint>

#include "tenon/runtime/memory/buffer.h"

namespace tenon::dlpack {

struct Version {
  std::uint32_t major, minor;
};
inline constexpr Version version{1, 1};

enum DeviceType : std::int32_t { cpu_device = 1 };
struct Device {
  std::int32_t type, id;
};

enum TypeCode : std::uint8_t {
  integer = 0,
  unsigned_integer = 1,
  real = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e3m4 = 7,  // and those with a sign behind it, in the order that DType has them in
  float8_e8m0fnu = 14
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null where row-major
  std::uint64_t byte_offset;
};

// As passed before version 1: cannot say that memory is read-only. Whoever has it calls `deleter` once.
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

inline constexpr std::uint64_t read_only = 1, is_copied = 2;
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

// Shares the memory, which lives until the deleter is called and no Buffer holds it. The caller owns the result. A
// buffer whose strides are no multiple of its element is copied (flag is_copied). The older form refuses read-only
// memory with a RuntimeError.
ManagedTensorVersioned* export_versioned(const Buffer& buffer);
ManagedTensor* export_unversioned(const Buffer& buffer);

// Shares the memory and takes ownership: the deleter is called when the last Buffer goes. Elements that are not aligned
// to their size are copied. Throws RuntimeError (a device or version that is not ours, a malformed tensor), DTypeError
// or ShapeError; ownership then stays with the caller. The older form is taken to be writable.
Buffer import(ManagedTensorVersioned* tensor);
Buffer import(ManagedTensor* tensor);

}  // namespace tenon::dlpack
