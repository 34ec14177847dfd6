#include <gtest/gtest.h>

#include <random>

#include "tenon/compile/native/native_executable.h"
#include "tenon/ir/scope.h"

namespace tenon {
namespace {

NativeParts some_parts() {
  NativeParts parts;
  parts.code.bytes.assign(2 * CodeImage::page, '\x90');
  parts.code.code_bytes = CodeImage::page;
  parts.code.entry = 16;
  parts.code.relative = {4096, 4104};
  parts.code.symbols = {{"tenon_gemm", {4112}}, {"memcpy", {4120, 4128}}};
  parts.arena_bytes = 640;
  parts.largest = "10 elements of f32";
  parts.shared = {std::nullopt, 1};
  parts.inputs = {Type::array(DType::f32, {3, 4}), Type::array(DType::bool_, {})};
  parts.found = 1;  // the size of a result, of which there may be 9
  parts.outputs = {Type::array(DType::f64, {Dim::variable(0), 3}), Type::array(DType::bool_, {})};
  parts.rooms = {9, 1};
  parts.given = {0, 1};
  parts.units = {Hasher()(7).finish()};
  return parts;
}

TEST(NativeParts, AsBytesAndBack) {
  const std::string bytes = to_bytes(some_parts());
  const auto read = from_bytes(bytes, nullptr);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_bytes(*read), bytes);
  EXPECT_EQ(read->inputs, some_parts().inputs);
  EXPECT_EQ(read->outputs, some_parts().outputs);
  EXPECT_EQ(read->rooms, some_parts().rooms);
  EXPECT_EQ(read->given, some_parts().given);
  EXPECT_EQ(read->shared, some_parts().shared);
}

TEST(NativeParts, OtherBytesAreNone) {
  const std::string bytes = to_bytes(some_parts());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(from_bytes(std::string_view(bytes).substr(0, size), nullptr)) << size;
  EXPECT_FALSE(from_bytes(bytes + "x", nullptr));
  std::mt19937 random(2);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string other = bytes;
    for (int k = 0; k < 1 + i % 3; ++k) {
      const std::size_t behind_code = 8 + some_parts().code.bytes.size();
      const std::size_t at =
          k == 0 && i % 4 == 0 ? random() % 8 : behind_code + random() % (bytes.size() - behind_code);
      other[at] = static_cast<char>(random());
    }
    const auto parts = from_bytes(other, nullptr);
    if (!parts) continue;
    ++read;
    EXPECT_LE(parts->code.entry, parts->code.bytes.size());
    for (const std::uint64_t at : parts->code.relative) EXPECT_LE(at + 8, parts->code.bytes.size());
  }
  EXPECT_GT(read, 0);
}

TEST(NativeParts, TypesAgreeWithThoseOfTheProgram) {
  Scope scope;
  const Array x = scope.input(Type::array(DType::f32, {3}));
  const ProgramRef program = scope.finish(Arrays{x}, "f").program;
  NativeParts parts = some_parts();
  parts.inputs = parts.outputs = {Type::array(DType::f32, {3})};
  parts.found = 0, parts.rooms.clear();
  parts.shared.clear();
  EXPECT_TRUE(from_bytes(to_bytes(parts), program.get()));
  parts.inputs = {Type::array(DType::f32, {4})};
  EXPECT_FALSE(from_bytes(to_bytes(parts), program.get()));
}

}  // namespace
}  // namespace tenon
