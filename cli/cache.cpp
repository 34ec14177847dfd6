#include "cli/cache.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "tenon/compile/cache/folder.h"

namespace tenon::cli {
namespace {

std::string size_text(std::uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void list(const CodeFolder& folder) {
  std::uint64_t bytes = 0;
  const auto entries = folder.list();
  for (const CodeFolder::Entry& entry : entries) {
    bytes += entry.bytes;
    fmt::print("{}  {:%Y-%m-%d %H:%M}  {:>10}  {}\n", entry.name, entry.used, size_text(entry.bytes),
               entry.sound ? entry.title : "(broken)");
  }
  fmt::print("{}: {} programs, {} of {}\n", folder.path().string(), entries.size(), size_text(bytes),
             size_text(folder.limit()));
}

int verify(const CodeFolder& folder) {
  const std::size_t all = folder.list().size(), broken = folder.remove_broken();
  fmt::print("{}: {} programs are whole\n", folder.path().string(), all - broken);
  if (broken > 0) fmt::print("{} files were broken, or not this user's: they are removed\n", broken);
  return broken == 0 ? 0 : 1;
}

}  // namespace

CLI::App* add_cache(CLI::App& app) {
  CLI::App* cache = app.add_subcommand("cache", "the compiled code that is kept on disk (TENON_CACHE)");
  cache->require_subcommand(1);
  cache->add_subcommand("ls", "list it: file, when it was used last, size, program");
  cache->add_subcommand("clear", "remove all of it");
  cache->add_subcommand("verify", "read all of it, and remove what is broken; the exit status is 1 then");
  return cache;
}

int run_cache(const CLI::App& cache) {
  const CodeFolder* folder = CodeFolder::of_user();
  if (folder == nullptr) {
    fmt::print("no compiled code is kept on disk\n");
    return 0;
  }
  if (cache.got_subcommand("verify")) return verify(*folder);
  if (cache.got_subcommand("clear"))
    fmt::print("{}: {} files are removed\n", folder->path().string(), folder->clear());
  else
    list(*folder);
  return 0;
}

}  // namespace tenon::cli
