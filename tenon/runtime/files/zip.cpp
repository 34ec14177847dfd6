#include "tenon/runtime/files/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tenon/base/error.h"

namespace tenon {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, directory_signature = 0x02014b50, end_signature = 0x06054b50,
                        end64_signature = 0x06064b50, locator_signature = 0x07064b50;
constexpr std::uint32_t elsewhere = 0xffffffff;  // the value is in the 64-bit extension
constexpr std::uint16_t extension64 = 1;

// Little-endian fields of a record, bounds checked.
class Record {
 public:
  Record(const ByteSource& source, std::uint64_t offset, std::uint64_t size) : bytes_(checked(source, offset, size)) {
    source.read(offset, bytes_);
  }
  template <class T>
  T at(std::size_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
      throw ParseError("zip: a record ends before its fields do.");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      throw ParseError("zip: a record ends before its name does.");
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  static std::size_t checked(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
    if (offset > source.size() || size > source.size() - offset)
      throw ParseError("zip: a record lies outside the file.");
    return static_cast<std::size_t>(size);
  }
  std::vector<std::byte> bytes_;
};

struct Directory {
  std::uint64_t offset, size, count;
};

Directory find_directory(const ByteSource& archive) {
  constexpr std::uint64_t end_size = 22, longest_comment = 0xffff;
  if (archive.size() < end_size) throw ParseError("zip: the file is too short for an archive.");
  const std::uint64_t tail_size = std::min(archive.size(), end_size + longest_comment);
  const std::uint64_t tail_at = archive.size() - tail_size;
  const Record tail(archive, tail_at, tail_size);
  for (std::size_t at = tail.size() - end_size + 1; at-- > 0;) {
    if (tail.at<std::uint32_t>(at) != end_signature || at + end_size + tail.at<std::uint16_t>(at + 20) != tail.size())
      continue;
    Directory found{tail.at<std::uint32_t>(at + 16), tail.at<std::uint32_t>(at + 12), tail.at<std::uint16_t>(at + 10)};
    const std::uint64_t end = tail_at + at;
    if (found.offset != elsewhere && found.size != elsewhere && found.count != 0xffff) return found;
    if (end < 20) throw ParseError("zip: the 64-bit directory is missing.");
    const Record locator(archive, end - 20, 20);
    if (locator.at<std::uint32_t>(0) != locator_signature) return found;
    const Record end64(archive, locator.at<std::uint64_t>(8), 56);
    if (end64.at<std::uint32_t>(0) != end64_signature) throw ParseError("zip: the 64-bit directory is missing.");
    return {end64.at<std::uint64_t>(48), end64.at<std::uint64_t>(40), end64.at<std::uint64_t>(32)};
  }
  throw ParseError("zip: not an archive (no end record).");
}

// Fields that did not fit into 32 bits, in this order.
void read_extension(const Record& directory, std::size_t from, std::size_t to, ZipMember& member) {
  while (from + 4 <= to) {
    const auto kind = directory.at<std::uint16_t>(from), size = directory.at<std::uint16_t>(from + 2);
    std::size_t at = from + 4;
    from = at + size;
    if (from > to) throw ParseError("zip: an extra field is longer than its record.");
    if (kind != extension64) continue;
    for (auto* field : {&member.size, &member.compressed_size, &member.offset})
      if (*field == elsewhere) {
        if (at + 8 > from) throw ParseError("zip: a 64-bit field is missing.");
        *field = directory.at<std::uint64_t>(at);
        at += 8;
      }
  }
}

// Counts down the bytes of a member and compares the checksum at the end.
class CheckedStream : public ByteStream {
 public:
  explicit CheckedStream(const ZipMember& member) : member_(member), left_(member.size) {}
  std::uint64_t left() const override { return left_; }
  void read(std::span<std::byte> to) override {
    if (to.size() > left_)
      throw ParseError(fmt::format("zip: {} bytes are missing at the end of {}.", to.size() - left_, member_.name));
    fill(to);
    left_ -= to.size();
    sum_ = ::crc32_z(sum_, reinterpret_cast<const Bytef*>(to.data()), to.size());
    if (left_ == 0 && sum_ != member_.checksum)
      throw ParseError(fmt::format("zip: the checksum of {} is wrong; the file is damaged.", member_.name));
  }

 protected:
  virtual void fill(std::span<std::byte> to) = 0;
  const ZipMember member_;

 private:
  std::uint64_t left_;
  uLong sum_ = ::crc32_z(0, nullptr, 0);
};

class StoredStream final : public CheckedStream {
 public:
  StoredStream(const ZipMember& member, std::unique_ptr<ByteStream> raw)
      : CheckedStream(member), raw_(std::move(raw)) {}

 private:
  void fill(std::span<std::byte> to) override { raw_->read(to); }
  std::unique_ptr<ByteStream> raw_;
};

class InflatedStream final : public CheckedStream {
 public:
  InflatedStream(const ZipMember& member, std::unique_ptr<ByteStream> raw)
      : CheckedStream(member), raw_(std::move(raw)) {
    if (::inflateInit2(&state_, -MAX_WBITS) != Z_OK) throw MemoryError("zip: no memory to decompress with.");
  }
  ~InflatedStream() override { ::inflateEnd(&state_); }
  InflatedStream(const InflatedStream&) = delete;
  InflatedStream& operator=(const InflatedStream&) = delete;

 private:
  void fill(std::span<std::byte> to) override {
    while (!to.empty()) {
      if (state_.avail_in == 0 && raw_->left() > 0) {
        const auto piece =
            std::span(input_).first(static_cast<std::size_t>(std::min<std::uint64_t>(raw_->left(), input_.size())));
        raw_->read(piece);
        state_.next_in = reinterpret_cast<Bytef*>(piece.data());
        state_.avail_in = static_cast<uInt>(piece.size());
      }
      const auto wanted = static_cast<uInt>(std::min<std::size_t>(to.size(), 1u << 30));
      state_.next_out = reinterpret_cast<Bytef*>(to.data());
      state_.avail_out = wanted;
      const int status = ::inflate(&state_, Z_NO_FLUSH);
      const std::size_t got = wanted - state_.avail_out;
      if ((status != Z_OK && status != Z_STREAM_END) || (got == 0 && (status == Z_STREAM_END || raw_->left() == 0)))
        throw ParseError(fmt::format("zip: {} does not decompress; the file is damaged.", member_.name));
      to = to.subspan(got);
    }
  }
  std::unique_ptr<ByteStream> raw_;
  std::array<std::byte, 1 << 16> input_;
  z_stream state_{};
};

template <class T>
void put(std::vector<std::byte>& to, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}
void put_text(std::vector<std::byte>& to, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

constexpr std::uint16_t version64 = 45, utf8_names = 1 << 11, date_1980 = 0x21;

}  // namespace

std::vector<ZipMember> zip_members(const ByteSource& archive) {
  const Directory where = find_directory(archive);
  const Record directory(archive, where.offset, where.size);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < where.count; ++i) {
    if (directory.at<std::uint32_t>(at) != directory_signature) throw ParseError("zip: the directory is damaged.");
    ZipMember member;
    const auto flags = directory.at<std::uint16_t>(at + 8), method = directory.at<std::uint16_t>(at + 10);
    member.checksum = directory.at<std::uint32_t>(at + 16);
    member.compressed_size = directory.at<std::uint32_t>(at + 20);
    member.size = directory.at<std::uint32_t>(at + 24);
    member.offset = directory.at<std::uint32_t>(at + 42);
    const std::size_t name = directory.at<std::uint16_t>(at + 28), extra = directory.at<std::uint16_t>(at + 30),
                      comment = directory.at<std::uint16_t>(at + 32);
    member.name = directory.text(at + 46, name);
    directory.text(at + 46 + name, extra);  // checks the bounds
    read_extension(directory, at + 46 + name, at + 46 + name + extra, member);
    if (flags & 1) throw ParseError(fmt::format("zip: {} is encrypted.", member.name));
    if (method != 0 && method != 8)
      throw ParseError(fmt::format("zip: {} is compressed by method {}.", member.name, method),
                       "Write the archive with numpy.savez or numpy.savez_compressed.");
    member.deflated = method == 8;
    members.push_back(std::move(member));
    at += 46 + name + extra + comment;
  }
  return members;
}

std::unique_ptr<ByteStream> open_member(const ByteSource& archive, const ZipMember& member) {
  const Record local(archive, member.offset, 30);
  if (local.at<std::uint32_t>(0) != local_signature)
    throw ParseError(fmt::format("zip: {} is not where the directory says.", member.name));
  const std::uint64_t data = member.offset + 30 + local.at<std::uint16_t>(26) + local.at<std::uint16_t>(28);
  if (data > archive.size() || member.compressed_size > archive.size() - data)
    throw ParseError(fmt::format("zip: {} extends past the end of the file.", member.name));
  // Deflate reaches 1032 to 1: what claims more is made to exhaust memory.
  if (member.deflated ? member.size / 1032 > member.compressed_size : member.size != member.compressed_size)
    throw ParseError(fmt::format("zip: the sizes of {} contradict each other.", member.name));
  auto raw = stream(archive, data, member.compressed_size);
  if (member.deflated) return std::make_unique<InflatedStream>(member, std::move(raw));
  return std::make_unique<StoredStream>(member, std::move(raw));
}

// Sizes are always given in the 64-bit extension, so that there is one form whatever the size.
void write_zip(Append append, const std::vector<ZipInput>& members) {
  std::vector<std::byte> directory;
  std::uint64_t offset = 0;
  const auto emit = [&](std::span<const std::byte> bytes) {
    append(bytes);
    offset += bytes.size();
  };
  for (const ZipInput& member : members) {
    if (member.name.size() > 0xffff)
      throw RuntimeError(fmt::format("zip: a name of {} bytes; at most 65535 fit.", member.name.size()));
    const auto pieces = member.pieces();
    std::uint64_t size = 0;
    uLong sum = ::crc32_z(0, nullptr, 0);
    for (const auto piece : pieces) {
      size += piece.size();
      if (!piece.empty()) sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    }
    const auto common = [&](std::vector<std::byte>& to, std::uint16_t extra) {
      put(to, version64);
      put(to, utf8_names);
      put<std::uint16_t>(to, 0);  // stored
      put<std::uint16_t>(to, 0);  // midnight
      put(to, date_1980);
      put(to, static_cast<std::uint32_t>(sum));
      put(to, elsewhere);
      put(to, elsewhere);
      put(to, static_cast<std::uint16_t>(member.name.size()));
      put(to, extra);
    };
    put(directory, directory_signature);
    put(directory, version64);
    common(directory, 28);
    put<std::uint16_t>(directory, 0);            // comment
    put<std::uint16_t>(directory, 0);            // disk
    put<std::uint16_t>(directory, 0);            // kind of content
    put<std::uint32_t>(directory, 0x81a40000u);  // an ordinary file, rw-r--r--
    put(directory, elsewhere);
    put_text(directory, member.name);
    put(directory, extension64);
    put<std::uint16_t>(directory, 24);
    put(directory, size);
    put(directory, size);
    put(directory, offset);
    std::vector<std::byte> local;
    put(local, local_signature);
    common(local, 20);
    put_text(local, member.name);
    put(local, extension64);
    put<std::uint16_t>(local, 16);
    put(local, size);
    put(local, size);
    emit(local);
    for (const auto piece : pieces) emit(piece);
  }
  const std::uint64_t at = offset, size = directory.size(), count = members.size();
  put(directory, end64_signature);
  put<std::uint64_t>(directory, 44);  // what follows
  put(directory, version64);
  put(directory, version64);
  put<std::uint64_t>(directory, 0);  // disks
  put(directory, count);
  put(directory, count);
  put(directory, size);
  put(directory, at);
  put(directory, locator_signature);
  put<std::uint32_t>(directory, 0);
  put(directory, at + size);
  put<std::uint32_t>(directory, 1);
  put(directory, end_signature);
  put<std::uint32_t>(directory, 0);  // disks
  put<std::uint16_t>(directory, 0xffff);
  put<std::uint16_t>(directory, 0xffff);
  put(directory, elsewhere);
  put(directory, elsewhere);
  put<std::uint16_t>(directory, 0);
  emit(directory);
}

}  // namespace tenon
