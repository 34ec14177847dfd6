#include "tenon/base/dump.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"

namespace tenon {
namespace fs = std::filesystem;

struct DumpFolder::State {
  fs::path path;
  int stages = 0;
  State* enclosing = nullptr;
  static thread_local State* current;
};
thread_local DumpFolder::State* DumpFolder::State::current = nullptr;

namespace {

// A dump that fails must not fill the screen, nor fail the program.
void warn(const std::string& what) { warn_of_setting("TENON_DUMP", what + "; nothing is dumped there."); }

// Empty: not asked for, or not possible.
const fs::path& directory() {
  static constinit Lasting<const fs::path> found;
  return found.get([] {
    const auto wanted = setting("TENON_DUMP");
    if (!wanted) return fs::path();
    fs::path folder(*wanted);
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (!failure && ::access(folder.c_str(), W_OK | X_OK) != 0)
      failure = std::error_code(errno, std::generic_category());
    if (!failure && !fs::is_directory(folder, failure)) failure = std::make_error_code(std::errc::not_a_directory);
    if (!failure) return folder;
    warn(fmt::format("{} cannot be written ({})", *wanted, failure.message()));
    return fs::path();
  });
}

}  // namespace

bool dumping() { return !directory().empty(); }

DumpFolder::DumpFolder(std::string_view name) {
  if (!dumping()) return;
  static std::atomic<int> next{1};
  // Processes may share the folder: the first free number is taken.
  std::error_code failure;
  for (int tries = 0; tries < 100000; ++tries) {
    fs::path path = directory() / fmt::format("{:04}-{}", next.fetch_add(1), name);
    if (fs::create_directory(path, failure)) {
      state_ = std::make_unique<State>(State{std::move(path), 0, State::current});
      State::current = state_.get();
      return;
    }
    if (failure) break;
  }
  warn(fmt::format("a folder in {} cannot be made ({})", directory().string(), failure.message()));
}

DumpFolder::~DumpFolder() {
  if (state_ == nullptr) return;
  State::current = state_->enclosing;
}

void dump(std::string_view stage, std::string_view text) {
  DumpFolder::State* state = DumpFolder::State::current;
  if (state == nullptr) return;
  const fs::path path = state->path / fmt::format("{:02}-{}", state->stages++, stage);
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) warn(fmt::format("{} cannot be written", path.string()));
}

}  // namespace tenon
