// Code images in memory: mapped, their words filled in, then code is executable and nothing is writable.
#include <fmt/format.h>
#include <sys/mman.h>

#include <charconv>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

const void* address_of(const std::string& name, std::span<const void* const> objects) {
  const std::string_view prefix = object_symbol;
  if (!name.starts_with(prefix)) return address_of_symbol(name);
  std::size_t number = objects.size();
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  return number < objects.size() ? objects[number] : nullptr;
}

}  // namespace

NativeCode::NativeCode(const CodeImage& image, std::span<const void* const> objects)
    : bytes_((image.bytes.size() + CodeImage::page - 1) / CodeImage::page * CodeImage::page) {
  void* mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw MemoryError(fmt::format("there is no memory for {} bytes of compiled code.", bytes_));
  at_ = static_cast<std::byte*>(mapped);
  try {
    std::memcpy(at_, image.bytes.data(), image.bytes.size());
    const auto base = reinterpret_cast<std::uint64_t>(at_);
    for (const std::uint64_t at : image.relative) {
      std::uint64_t offset;
      std::memcpy(&offset, at_ + at, sizeof offset);
      offset += base;
      std::memcpy(at_ + at, &offset, sizeof offset);
    }
    for (const CodeImage::Symbol& symbol : image.symbols) {
      const void* address = address_of(symbol.name, objects);
      if (address == nullptr)
        throw CompileError(fmt::format("compiled code calls {}, which this process lacks.", symbol.name));
      for (const std::uint64_t at : symbol.at) std::memcpy(at_ + at, &address, sizeof address);
    }
    if (::mprotect(at_, image.code_bytes, PROT_READ | PROT_EXEC) != 0 ||
        (image.code_bytes < bytes_ && ::mprotect(at_ + image.code_bytes, bytes_ - image.code_bytes, PROT_READ) != 0))
      throw CompileError(fmt::format("the system does not let compiled code run: {}.", std::strerror(errno)));
  } catch (...) {
    ::munmap(at_, bytes_);
    throw;
  }
  entry = reinterpret_cast<Entry>(at_ + image.entry);
  if (image.sizes) sizes = reinterpret_cast<Sizes>(at_ + *image.sizes);
}

NativeCode::~NativeCode() { ::munmap(at_, bytes_); }

}  // namespace tenon
