#include "tenon/compile/native/codegen.h"

#include <fmt/format.h>

#include <chrono>

#include "tenon/base/dump.h"
#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/base/library.h"
#include "tenon/base/log.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constinit LibraryFunction<CodegenEntry> codegen("libtenon_codegen.so", codegen_symbol, "the code generator");

Hash128 key_of(const kernel::Function& function, const kernel::OpenNumbers& numbers, const CallSizes& sizes) {
  Hasher hash;
  hash(hash_but_for(function, numbers))(sizes.limits.size())(sizes.values.size());
  for (const CallSizes::AtLeast& limit : sizes.limits) limit.size.hash(hash), hash(limit.least);
  for (const Dim& value : sizes.values) value.hash(hash);
  return hash.finish();
}

}  // namespace

static std::size_t held_bytes(const std::shared_ptr<const CodeImage>& image) { return image->bytes.size(); }

CodeImage generate_code(const kernel::Function& function, const CallSizes& sizes) {
  const ForkSection at_once;  // LLVM's locks are held there only
  // By all that code depends on but open numbers.
  static constinit Memo<std::shared_ptr<const CodeImage>> generated("code", 512, std::size_t(32) << 20);
  const auto start = std::chrono::steady_clock::now();
  const kernel::OpenNumbers numbers(function);
  bool known = true;
  const auto generate = [&] {
    known = false;
    CodeImage image;
    std::string error;
    if (!codegen.get()(function, numbers, sizes, &image, &error)) throw CompileError(error);
    return std::make_shared<const CodeImage>(std::move(image));
  };
  // What is dumped is of this Function.
  CodeImage image = *(dumping() ? generate() : generated.get(key_of(function, numbers, sizes), generate));
  if (image.numbers) image.bytes.replace(*image.numbers, numbers.bytes().size(), numbers.bytes());
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
