// Compiled objects as one code image: their sections are laid out behind each other, and what they know of each other
// is written down.
#pragma once

#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBufferRef.h>

#include <span>

#include "tenon/compile/native/code_image.h"

namespace tenon::cpu {

// What a CodeImage says where it is; the last two are defined where there are such.
struct Symbols {
  const char *entry, *sizes, *numbers;
};

// Of ELF objects of position-independent code for x86-64. What one of them defines under a name the others may refer
// to. Linear in their sizes.
llvm::Expected<CodeImage> image_of(std::span<const llvm::MemoryBufferRef> objects, const Symbols& symbols);

}  // namespace tenon::cpu
