// A compiled object as a code image: its parts are laid out behind each other, and what they know of each other is
// written down.
#pragma once

#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBufferRef.h>

#include "tenon/compile/code_image.h"

namespace tenon::cpu {

// Of an ELF object of position-independent code for x86-64, whose function `entry` is called. Linear in its size.
llvm::Expected<CodeImage> image_of(llvm::MemoryBufferRef object, llvm::StringRef entry);

}  // namespace tenon::cpu
