#include "tenon/compile/cache/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tenon/base/fork.h"
#include "tenon/base/log.h"
#include "tenon/base/settings.h"

namespace tenon {
namespace {

constexpr std::string_view suffix = ".code", unfinished = ".new";
constexpr std::string_view magic = "tenon 1\n";

// A descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// Whether nobody but the user can have written it.
bool is_own(int descriptor, mode_t kind, mode_t closed) {
  struct stat s{};
  return ::fstat(descriptor, &s) == 0 && (s.st_mode & S_IFMT) == kind && s.st_uid == ::geteuid() &&
         (s.st_mode & closed) == 0;
}

File open_folder(const std::filesystem::path& path) {
  File folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return folder && is_own(folder.get(), S_IFDIR, 0077) ? std::move(folder) : File(-1);
}

bool read_all(int descriptor, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ::ssize_t got = ::read(descriptor, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, bytes -= static_cast<std::size_t>(got);
  }
  return true;
}
bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ::ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// What a file begins with; title and content follow.
struct Header {
  char magic[8];
  Hash128 key;
  std::uint64_t title_bytes, content_bytes;
  Hash128 checksum;  // of both
};
static_assert(sizeof(Header) == 56);

std::string name_of(const Hash128& key) { return key.hex() + std::string(suffix); }

struct Read {
  Header header;
  std::string title, content;
};
// Nothing where the file is not the user's own, or not whole.
std::optional<Read> read_file(int folder, const std::string& name) {
  const File file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat s{};
  if (!file || !is_own(file.get(), S_IFREG, 0022) || ::fstat(file.get(), &s) != 0) return {};
  Read read;
  Header& h = read.header;
  const auto size = static_cast<std::uint64_t>(s.st_size);
  if (size < sizeof h || !read_all(file.get(), &h, sizeof h)) return {};
  if (magic != std::string_view(h.magic, sizeof h.magic) || h.title_bytes > size || h.content_bytes > size ||
      sizeof h + h.title_bytes + h.content_bytes != size || name != name_of(h.key))
    return {};
  read.title.resize(h.title_bytes);
  read.content.resize(h.content_bytes);
  if (!read_all(file.get(), read.title.data(), read.title.size()) ||
      !read_all(file.get(), read.content.data(), read.content.size()) ||
      Hasher()(read.title)(read.content).finish() != h.checksum)
    return {};
  // When it was used last; a day more or less changes nothing.
  if (::time(nullptr) - s.st_mtime > 24 * 60 * 60) ::futimens(file.get(), nullptr);
  return read;
}

bool exists(int folder, const std::string& name) { return ::faccessat(folder, name.c_str(), F_OK, 0) == 0; }

// f(name, status) for each file of ours.
template <class F>
void visit_files(const File& folder, F f) {
  File again(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* all = again ? ::fdopendir(again.get()) : nullptr;
  if (all == nullptr) return;
  again.release();
  while (const dirent* found = ::readdir(all)) {
    const std::string name = found->d_name;
    struct stat s{};
    if ((name.ends_with(suffix) || name.ends_with(unfinished)) &&
        ::fstatat(folder.get(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0)
      f(name, s);
  }
  ::closedir(all);
}

void tell(const std::string& what) {
  if (log_enabled(LogTopic::cache)) log_line(LogTopic::cache, what);
}

std::optional<CodeFolder> choose() {
  const std::string_view wanted = setting("TENON_CACHE").value_or("");
  if (wanted == "off" || ::getauxval(AT_SECURE) != 0) return {};
  std::filesystem::path path = wanted;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (path.empty() && cache != nullptr && *cache == '/') path = std::filesystem::path(cache) / "tenon";
  if (path.empty() && home != nullptr && *home == '/') path = std::filesystem::path(home) / ".cache" / "tenon";
  if (path.empty()) return {};
  std::uint64_t megabytes = 1024;
  if (const auto limit = setting("TENON_CACHE_MB")) {
    const auto read = std::from_chars(limit->data(), limit->data() + limit->size(), megabytes);
    if (read.ec != std::errc() || read.ptr != limit->data() + limit->size() || megabytes > (1u << 30))
      megabytes = 1024, warn_of_setting("TENON_CACHE_MB", fmt::format("{} is no number of megabytes.", *limit));
  }
  CodeFolder folder(std::move(path), megabytes << 20);
  if (const std::string why = folder.why_unused(); !why.empty()) {
    if (!wanted.empty()) warn_of_setting("TENON_CACHE", why);
    tell(why);
    return {};
  }
  return folder;
}

}  // namespace

CodeFolder::CodeFolder(std::filesystem::path path, std::uint64_t bytes) : path_(std::move(path)), limit_(bytes) {
  std::error_code failure;
  if (std::filesystem::exists(path_, failure)) return;
  std::filesystem::create_directories(path_.parent_path(), failure);
  ::mkdir(path_.c_str(), 0700);
}

const CodeFolder* CodeFolder::of_user() {
  static constinit Lasting<const std::optional<CodeFolder>> folder;
  const std::optional<CodeFolder>& chosen = folder.get(choose);
  return chosen ? &*chosen : nullptr;
}

std::string CodeFolder::why_unused() const {
  if (open_folder(path_)) return {};
  std::error_code failure;
  if (!std::filesystem::exists(path_, failure))
    return fmt::format("{} cannot be made: compiled code is not kept.", path_.string());
  return fmt::format(
      "{} is not a folder of this user's own, closed to others (mode 0700): compiled code is not kept there.",
      path_.string());
}

std::optional<std::string> CodeFolder::find(const Hash128& key) const {
  const File folder = open_folder(path_);
  if (!folder) return {};
  const std::string name = name_of(key);
  if (auto read = read_file(folder.get(), name)) return std::move(read->content);
  if (exists(folder.get(), name)) {
    tell(fmt::format("{} is broken, or not this user's: it is removed", name));
    ::unlinkat(folder.get(), name.c_str(), 0);
  }
  return {};
}

void CodeFolder::store(const Hash128& key, std::string_view title, std::string_view content) const {
  static constinit std::atomic<std::uint64_t> number{0};
  const File folder = open_folder(path_);
  if (!folder || content.size() > limit_) return;
  const std::string name = name_of(key);
  const std::string temporary = fmt::format("{}.{}.{}{}", key.hex(), ::getpid(), number.fetch_add(1), unfinished);
  const File file(
      ::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return tell(fmt::format("{} cannot be written: {}", name, std::strerror(errno)));
  Header h{{}, key, title.size(), content.size(), Hasher()(title)(content).finish()};
  std::ranges::copy(magic, h.magic);
  const bool whole = write_all(file.get(), {reinterpret_cast<const char*>(&h), sizeof h}) &&
                     write_all(file.get(), title) && write_all(file.get(), content);
  if (!whole || ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    tell(fmt::format("{} cannot be written: {}", name, std::strerror(errno)));
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    return;
  }
  // Looking through the folder takes a while: at the first file of a process, then where many bytes have come.
  static constinit std::atomic<std::uint64_t> written{~std::uint64_t(0) >> 1};
  const std::uint64_t bytes = content.size() + 4096;
  if (written.fetch_add(bytes) + bytes < limit_ / 16) return;
  written = 0;
  make_room();
}

void CodeFolder::make_room() const {
  struct Found {
    timespec used;
    std::uint64_t bytes;
    std::string name;
  };
  const File folder = open_folder(path_);
  if (!folder) return;
  std::vector<Found> files;
  std::uint64_t bytes = 0;
  const std::time_t an_hour_ago = ::time(nullptr) - 60 * 60;
  visit_files(folder, [&](const std::string& name, const struct stat& s) {
    if (name.ends_with(unfinished)) {  // of a process that is gone
      if (s.st_mtime < an_hour_ago) ::unlinkat(folder.get(), name.c_str(), 0);
      return;
    }
    files.push_back({s.st_mtim, static_cast<std::uint64_t>(s.st_blocks) * 512, name});
    bytes += files.back().bytes;
  });
  if (bytes <= limit_) return;
  std::ranges::sort(files, [](const Found& x, const Found& y) {
    return std::pair(x.used.tv_sec, x.used.tv_nsec) < std::pair(y.used.tv_sec, y.used.tv_nsec);
  });
  for (const Found& file : files) {
    if (bytes <= limit_ / 8 * 7) break;
    if (::unlinkat(folder.get(), file.name.c_str(), 0) == 0) bytes -= file.bytes;
  }
}

std::vector<CodeFolder::Entry> CodeFolder::list() const {
  std::vector<Entry> entries;
  const File folder = open_folder(path_);
  if (!folder) return entries;
  visit_files(folder, [&](const std::string& name, const struct stat& s) {
    if (name.ends_with(unfinished)) return;
    const auto read = read_file(folder.get(), name);
    const auto used = std::chrono::system_clock::from_time_t(s.st_mtime);
    entries.push_back({name, read ? read->title : "", static_cast<std::uint64_t>(s.st_size), used, read.has_value()});
  });
  std::ranges::sort(
      entries, [](const Entry& x, const Entry& y) { return std::pair(x.used, x.name) > std::pair(y.used, y.name); });
  return entries;
}

std::size_t CodeFolder::clear() const {
  std::size_t gone = 0;
  if (const File folder = open_folder(path_))
    visit_files(folder, [&](const std::string& name, const struct stat&) {
      gone += ::unlinkat(folder.get(), name.c_str(), 0) == 0 ? 1 : 0;
    });
  return gone;
}

std::size_t CodeFolder::remove_broken() const {
  std::size_t gone = 0;
  if (const File folder = open_folder(path_))
    for (const Entry& entry : list())
      if (!entry.sound) gone += ::unlinkat(folder.get(), entry.name.c_str(), 0) == 0 ? 1 : 0;
  return gone;
}

}  // namespace tenon
