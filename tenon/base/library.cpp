#include "tenon/base/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "tenon/base/error.h"

namespace tenon {

void* symbol_beside(const char* file, const char* symbol, const char* what) {
  Dl_info self{};
  ::dladdr(reinterpret_cast<void*>(&symbol_beside), &self);
  const auto path = std::filesystem::path(self.dli_fname == nullptr ? "" : self.dli_fname).parent_path() / file;
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw CompileError(fmt::format("{} cannot be opened: {}.", what, ::dlerror()),
                       fmt::format("Keep {} beside libtenon.so.", file));
  void* address = ::dlsym(library, symbol);
  if (address == nullptr)
    throw CompileError(fmt::format("{} beside libtenon, in {}, is of another version.", what, file));
  return address;
}

}  // namespace tenon
