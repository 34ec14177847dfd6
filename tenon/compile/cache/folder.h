// Compiled code on disk: files by key in a folder of the user's own, shared by all processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/hash.h"

namespace tenon {

// Whatever a disk does, nothing here throws: what cannot be read is not there, what cannot be written is not kept. The
// folder has to be the user's own, closed to everyone else (mode 0700), and so must be what is in it: the code in it is
// run. A file appears under its name when it is whole, so that processes may write the same one at once; one whose
// checksum is wrong counts as absent, and is removed.
class CodeFolder {
 public:
  // Made where it is missing. `bytes`: where all files together are larger, those go that were not used for longest.
  CodeFolder(std::filesystem::path path, std::uint64_t bytes);

  // The one that TENON_CACHE and TENON_CACHE_MB name: by default 1 GB in $XDG_CACHE_HOME/tenon or ~/.cache/tenon; none
  // where TENON_CACHE is `off`, there is no such folder, or the process has rights that its user lacks.
  static const CodeFolder* of_user();

  std::optional<std::string> find(const Hash128& key) const;
  // `title` is for readers of the list.
  void store(const Hash128& key, std::string_view title, std::string_view content) const;

  struct Entry {
    std::string name;  // of the file
    std::string title;
    std::uint64_t bytes;
    std::chrono::system_clock::time_point used;
    bool sound;
  };
  std::vector<Entry> list() const;  // the one that was used last comes first; reads all files
  std::size_t clear() const;        // how many files are gone
  std::size_t remove_broken() const;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t limit() const { return limit_; }
  std::string why_unused() const;  // empty where it is used

 private:
  void make_room() const;

  std::filesystem::path path_;
  std::uint64_t limit_;
};

}  // namespace tenon
