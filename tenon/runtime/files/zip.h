// ZIP archives, as far as .npz needs them: reading stored and deflated members, writing stored ones. With the 64-bit
// extensions. The format: APPNOTE.TXT 6.3, by PKWARE.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/runtime/files/byte_stream.h"

namespace tenon {

struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;  // CRC-32 of the bytes
  std::uint64_t compressed_size = 0, size = 0;
  std::uint64_t offset = 0;  // of its local header
};

// The directory of an archive. Throws ParseError.
std::vector<ZipMember> zip_members(const ByteSource& archive);

// The bytes of one member. When the last one is read, the checksum is compared; ParseError where it differs.
std::unique_ptr<ByteStream> open_member(const ByteSource& archive, const ZipMember& member);

// Members are given as pieces of memory, which are read when it is their turn.
struct ZipInput {
  std::string name;
  std::function<std::vector<std::span<const std::byte>>()> pieces;
};
void write_zip(Append append, const std::vector<ZipInput>& members);

}  // namespace tenon
