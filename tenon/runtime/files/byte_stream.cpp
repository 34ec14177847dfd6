#include "tenon/runtime/files/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tenon/base/error.h"

namespace tenon {
namespace {

class OpenFile {
 public:
  OpenFile(const std::filesystem::path& path, int flags, const char* what)
      : number_(::open(path.c_str(), flags, 0666)) {
    if (number_ < 0)
      throw RuntimeError(fmt::format("{} {}: {}.", what, path.string(), std::strerror(errno)),
                         "Check the path and its permissions.");
  }
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int number() const { return number_; }
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

// Read by offset rather than mapped: a file that shrinks meanwhile is an error, not a signal.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : file_(path, O_RDONLY | O_CLOEXEC, "reading") {
    struct stat about;
    if (::fstat(file_.number(), &about) != 0 || !S_ISREG(about.st_mode))
      throw RuntimeError(fmt::format("reading {}: not a regular file.", path.string()));
    size_ = static_cast<std::uint64_t>(about.st_size);
  }
  std::uint64_t size() const override { return size_; }

 private:
  void fetch(std::uint64_t offset, std::span<std::byte> to) const override {
    while (!to.empty()) {
      const ssize_t got = ::pread(file_.number(), to.data(), to.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw RuntimeError(fmt::format("reading a file: {}.", std::strerror(errno)));
      if (got == 0) throw ParseError("the file became shorter while it was read.");
      offset += static_cast<std::uint64_t>(got);
      to = to.subspan(static_cast<std::size_t>(got));
    }
  }
  OpenFile file_;
  std::uint64_t size_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }

 private:
  void fetch(std::uint64_t offset, std::span<std::byte> to) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
  }
  std::span<const std::byte> bytes_;
};

class PlainStream final : public ByteStream {
 public:
  PlainStream(const ByteSource& source, std::uint64_t offset, std::uint64_t size)
      : source_(source), offset_(offset), left_(size) {}
  std::uint64_t left() const override { return left_; }
  void read(std::span<std::byte> to) override {
    if (to.size() > left_)
      throw ParseError(fmt::format("{} bytes are missing at the end of the data.", to.size() - left_));
    source_.read(offset_, to);
    offset_ += to.size();
    left_ -= to.size();
  }

 private:
  const ByteSource& source_;
  std::uint64_t offset_, left_;
};

}  // namespace

void ByteSource::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (offset > size() || to.size() > size() - offset)
    throw ParseError(
        fmt::format("the file ends at {} bytes; {} bytes were expected from {} on.", size(), to.size(), offset));
  fetch(offset, to);
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) { return std::make_unique<FileSource>(path); }
std::unique_ptr<ByteSource> open_bytes(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}
std::unique_ptr<ByteStream> stream(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
  return std::make_unique<PlainStream>(source, offset, size);
}

void write_file(const std::filesystem::path& path, FunctionRef<void(Append)> write_all) {
  const std::filesystem::path partial = path.string() + fmt::format(".{}.partial", ::getpid());
  const auto fail = [&] { throw RuntimeError(fmt::format("writing {}: {}.", path.string(), std::strerror(errno))); };
  try {
    OpenFile file(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, "writing");
    write_all([&](std::span<const std::byte> bytes) {
      while (!bytes.empty()) {
        const ssize_t put = ::write(file.number(), bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail();
        bytes = bytes.subspan(static_cast<std::size_t>(put));
      }
    });
    if (!file.close() || std::rename(partial.c_str(), path.c_str()) != 0) fail();
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
}

}  // namespace tenon
