#include "tenon/compile/native/codegen.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <mutex>

#include "tenon/base/caches.h"
#include "tenon/base/dump.h"
#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/base/generations.h"
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

// Code that was generated lately, by all that it depends on but open numbers.
class CodeCache final : public Cache {
 public:
  CodeCache() { enlist(); }
  std::shared_ptr<const CodeImage> find(const Hash128& key) {
    const std::lock_guard lock(mutex_);
    const auto* found = entries_.find(key);
    ++(found != nullptr ? hits_ : misses_);
    return found != nullptr ? *found : nullptr;
  }
  void add(const Hash128& key, CodeImage image) {
    if (image.bytes.size() > most_bytes) return;
    auto entry = std::make_shared<const CodeImage>(std::move(image));
    Entries::Map gone;  // ends outside of the lock
    const std::lock_guard lock(mutex_);
    if (entries_.find(key) != nullptr) return;
    bytes_ += entry->bytes.size();
    gone = entries_.insert(key, std::move(entry));
    for (const auto& [of, image] : gone) bytes_ -= image->bytes.size();
  }
  CacheInfo info() override {
    const std::lock_guard lock(mutex_);
    return {.name = "code",
            .entries = entries_.size(),
            .bound = entries_.bound(),
            .hits = hits_,
            .misses = misses_,
            .bytes = bytes_};
  }
  void clear() override {
    std::pair<Entries::Map, Entries::Map> gone;
    const std::lock_guard lock(mutex_);
    gone = entries_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t capacity = 512, most_bytes = 1 << 17;
  using Entries = Generations<Hash128, std::shared_ptr<const CodeImage>>;
  ForkMutex mutex_;
  Entries entries_{capacity};
  std::size_t hits_ = 0, misses_ = 0, bytes_ = 0;
};

CodeCache& code_cache() {
  static constinit Lasting<CodeCache> all;
  return all.get();
}

Hash128 key_of(const kernel::Function& function, const kernel::OpenNumbers& numbers, const CallSizes& sizes) {
  Hasher hash;
  hash(hash_but_for(function, numbers))(sizes.limits.size())(sizes.values.size());
  for (const CallSizes::AtLeast& limit : sizes.limits) limit.size.hash(hash), hash(limit.least);
  for (const Dim& value : sizes.values) value.hash(hash);
  return hash.finish();
}

}  // namespace

CodeImage generate_code(const kernel::Function& function, const CallSizes& sizes) {
  const ForkSection at_once;  // LLVM's locks are held there only
  static constinit Lasting<const CodegenEntry> codegen;
  const auto start = std::chrono::steady_clock::now();
  const kernel::OpenNumbers numbers(function);
  const Hash128 key = key_of(function, numbers, sizes);
  CodeImage image;
  // What is dumped is of this Function.
  const auto known = dumping() ? nullptr : code_cache().find(key);
  if (known) {
    image = *known;
    if (image.numbers) image.bytes.replace(*image.numbers, numbers.bytes().size(), numbers.bytes());
  } else {
    std::string error;
    if (!codegen.get(open_codegen)(function, numbers, sizes, &image, &error)) throw CompileError(error);
    if (!dumping()) code_cache().add(key, image);
  }
  if (log_enabled(LogTopic::compile))
    log_line(LogTopic::compile,
             fmt::format("{}: {} slots, {} bytes of arena, {:.2f} ms{}", function.name, function.slots.size(),
                         function.arena_bytes.text(),
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count(),
                         known ? ", with the code of a function that is equal but for numbers" : ""));
  return image;
}

std::shared_ptr<const NativeCode> compile_native(const kernel::Function& function) {
  return std::make_shared<NativeCode>(generate_code(function), function.objects);
}

}  // namespace tenon
