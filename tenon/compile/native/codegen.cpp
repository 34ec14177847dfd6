#include "tenon/compile/native/codegen.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/base/log.h"

namespace tenon {
namespace {

// libtenon_codegen stands beside libtenon.
CodegenEntry open_codegen() {
  Dl_info self{};
  ::dladdr(reinterpret_cast<void*>(&open_codegen), &self);
  const auto path =
      std::filesystem::path(self.dli_fname == nullptr ? "" : self.dli_fname).parent_path() / "libtenon_codegen.so";
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = ::dlopen("libtenon_codegen.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw CompileError(fmt::format("the code generator cannot be opened: {}.", ::dlerror()),
                       "Keep libtenon_codegen.so beside libtenon.so.");
  void* symbol = ::dlsym(library, codegen_symbol);
  if (symbol == nullptr) throw CompileError("the code generator beside libtenon is of another version.");
  return reinterpret_cast<CodegenEntry>(symbol);
}

}  // namespace

CodeImage generate_code(const kernel::Function& function, const CallSizes& sizes) {
  const ForkSection at_once;  // LLVM's locks are held there only
  static constinit Lasting<const CodegenEntry> codegen;
  const auto start = std::chrono::steady_clock::now();
  CodeImage image;
  std::string error;
  if (!codegen.get(open_codegen)(function, sizes, &image, &error)) throw CompileError(error);
  if (log_enabled(LogTopic::compile))
    log_line(LogTopic::compile,
             fmt::format("{}: {} slots, {} bytes of arena, {:.2f} ms", function.name, function.slots.size(),
                         function.arena_bytes.text(),
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()));
  return image;
}

std::shared_ptr<const NativeCode> compile_native(const kernel::Function& function) {
  return std::make_shared<NativeCode>(generate_code(function), function.objects);
}

}  // namespace tenon
