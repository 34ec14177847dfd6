// Exchange with other libraries: the same memory on both sides, and each deleter called exactly once.
#include "tenon/runtime/dlpack.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace tenon {
namespace {

// The layout that the specification gives, on a 64-bit machine.
static_assert(sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, device) == 8 &&
              offsetof(dlpack::Tensor, rank) == 16 && offsetof(dlpack::Tensor, dtype) == 20 &&
              offsetof(dlpack::Tensor, shape) == 24 && offsetof(dlpack::Tensor, strides) == 32 &&
              offsetof(dlpack::Tensor, byte_offset) == 40);
static_assert(sizeof(dlpack::ManagedTensor) == 64 && offsetof(dlpack::ManagedTensor, deleter) == 56);
static_assert(sizeof(dlpack::ManagedTensorVersioned) == 80 && offsetof(dlpack::ManagedTensorVersioned, deleter) == 16 &&
              offsetof(dlpack::ManagedTensorVersioned, flags) == 24 &&
              offsetof(dlpack::ManagedTensorVersioned, tensor) == 32);

TEST(DLPack, RoundTripsShareMemory) {
  for (int i = 0; i < dtype_count; ++i) {
    Buffer original = Buffer::zeros(static_cast<DType>(i), std::vector<std::int64_t>{2, 3});
    {
      const Buffer back = dlpack::import(dlpack::export_versioned(original));
      EXPECT_EQ(back.data(), original.data());
      EXPECT_TRUE(same_bits(back, original));
      EXPECT_TRUE(back.writable());
      EXPECT_FALSE(original.unique());
    }
    EXPECT_TRUE(original.unique());
    EXPECT_EQ(dlpack::import(dlpack::export_unversioned(original)).data(), original.data());
    EXPECT_TRUE(original.unique());
  }
}

TEST(DLPack, MemoryOutlivesTheBufferThatWasExported) {
  Buffer original = Buffer::allocate(DType::f32, {4});
  original.as<float>()[3] = 5;
  auto* tensor = dlpack::export_versioned(original);
  original = Buffer();
  EXPECT_EQ(static_cast<float*>(tensor->tensor.data)[3], 5);
  tensor->deleter(tensor);
}

TEST(DLPack, StridesAndReadOnlyMemory) {
  alignas(8) std::array<std::int16_t, 12> memory{};
  const std::array<std::int64_t, 2> dims{3, 2}, strides{2, 12};
  const Buffer view = Buffer::borrow(memory.data(), DType::i16, dims, strides, nullptr, false);
  auto* tensor = dlpack::export_versioned(view);
  EXPECT_EQ(tensor->flags, dlpack::read_only);
  EXPECT_EQ(tensor->tensor.strides[1], 6);
  const Buffer back = dlpack::import(tensor);
  EXPECT_FALSE(back.writable());
  EXPECT_EQ(back.strides()[1], 12);
  EXPECT_THROW(dlpack::export_unversioned(view), RuntimeError);
  const std::array<std::int64_t, 1> two{2}, odd{3};  // packed records
  auto* copied = dlpack::export_versioned(Buffer::borrow(memory.data(), DType::i16, two, odd, nullptr, false));
  EXPECT_EQ(copied->flags, dlpack::is_copied);
  EXPECT_EQ(copied->tensor.strides[0], 1);
  copied->deleter(copied);
  EXPECT_THROW(dlpack::export_versioned(Buffer()), RuntimeError);
}

class Foreign : public testing::Test {
 protected:
  alignas(8) std::array<float, 12> memory_{};
  std::array<std::int64_t, 2> shape_{3, 4};
  int deleted_ = 0;
  dlpack::ManagedTensorVersioned tensor_{
      {1, 3},
      this,
      [](dlpack::ManagedTensorVersioned* t) { ++static_cast<Foreign*>(t->context)->deleted_; },
      0,
      {memory_.data(), {dlpack::cpu_device, 0}, 2, {dlpack::real, 32, 1}, shape_.data(), nullptr, 0}};
};

TEST_F(Foreign, TheDeleterIsCalledOnceAfterTheLastCopy) {
  {
    const Buffer a = dlpack::import(&tensor_);
    const Buffer b = a;
    EXPECT_EQ(b.data(), reinterpret_cast<std::byte*>(memory_.data()));
    EXPECT_EQ(b.strides()[0], 16);
    EXPECT_EQ(deleted_, 0);
  }
  EXPECT_EQ(deleted_, 1);
}

TEST_F(Foreign, OffsetsAndMisalignedElements) {
  shape_ = {2, 4};
  tensor_.tensor.byte_offset = 16;
  EXPECT_EQ(dlpack::import(&tensor_).data(), reinterpret_cast<std::byte*>(memory_.data()) + 16);
  EXPECT_EQ(deleted_, 1);
  tensor_.tensor.byte_offset = 2;
  const Buffer copy = dlpack::import(&tensor_);
  EXPECT_EQ(deleted_, 2);
  EXPECT_EQ(copy.elements(), 8);
  EXPECT_NE(copy.data(), reinterpret_cast<std::byte*>(memory_.data()) + 2);
}

TEST_F(Foreign, WhatIsRefusedStaysWithTheCaller) {
  const auto refused = [&]<class E>(std::type_identity<E>, auto&& spoil) {
    auto spoilt = tensor_;
    spoil(spoilt);
    EXPECT_THROW(dlpack::import(&spoilt), E);
    EXPECT_EQ(deleted_, 0);
  };
  const std::type_identity<RuntimeError> runtime;
  refused(runtime, [](auto& t) { t.version.major = 2; });
  refused(runtime, [](auto& t) { t.tensor.device.type = 2; });
  refused(runtime, [](auto& t) { t.tensor.rank = -1; });
  refused(runtime, [](auto& t) { t.tensor.rank = 1000; });
  refused(runtime, [](auto& t) { t.tensor.shape = nullptr; });
  refused(runtime, [](auto& t) { t.tensor.data = nullptr; });
  std::array<std::int64_t, 2> far{std::int64_t(1) << 62, 1};
  refused(runtime, [&](auto& t) { t.tensor.strides = far.data(); });
  refused(std::type_identity<DTypeError>(), [](auto& t) { t.tensor.dtype.lanes = 4; });
  refused(std::type_identity<DTypeError>(), [](auto& t) { t.tensor.dtype.bits = 8; });
  std::array<std::int64_t, 2> negative{-1, 4};
  refused(std::type_identity<ShapeError>(), [&](auto& t) { t.tensor.shape = negative.data(); });
  EXPECT_THROW(dlpack::import(static_cast<dlpack::ManagedTensor*>(nullptr)), RuntimeError);
}

}  // namespace
}  // namespace tenon
