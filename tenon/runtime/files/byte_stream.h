// Reading bytes of untrusted files in order, and writing files as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "tenon/base/function_ref.h"

namespace tenon {

// Random access. `read` throws ParseError past the end.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  void read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  virtual void fetch(std::uint64_t offset, std::span<std::byte> to) const = 0;  // within the size
};
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);
std::unique_ptr<ByteSource> open_bytes(std::span<const std::byte> bytes);

// One pass. `left` is what may still come: exact for what is stored, an upper bound for what is compressed.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual std::uint64_t left() const = 0;
  virtual void read(std::span<std::byte> to) = 0;  // throws ParseError where less is left
};
std::unique_ptr<ByteStream> stream(const ByteSource& source, std::uint64_t offset, std::uint64_t size);

// Calls `write_all` with a function that appends bytes; the file appears under its name when all have been written.
using Append = FunctionRef<void(std::span<const std::byte>)>;
void write_file(const std::filesystem::path& path, FunctionRef<void(Append)> write_all);

}  // namespace tenon
