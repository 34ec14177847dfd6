// TENON_DUMP=dir: every stage of each compilation as a file: a folder a compilation, its stages numbered.
#pragma once

#include <memory>
#include <string_view>

namespace tenon {

// Whether TENON_DUMP names a folder that can be written. Where it cannot, a warning says so once, and nothing is
// dumped.
bool dumping();

// While it lives, what this thread dumps goes to a new folder, dir/<number>-<name>.
class DumpFolder {
 public:
  explicit DumpFolder(std::string_view name);
  ~DumpFolder();
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;

 private:
  struct State;
  friend void dump(std::string_view, std::string_view);
  std::unique_ptr<State> state_;
};

// One stage, as the file <number>-<stage>, for example 00-traced.tn. Nothing outside of a DumpFolder.
void dump(std::string_view stage, std::string_view text);

}  // namespace tenon
