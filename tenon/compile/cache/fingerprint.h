// What code depends on beside its Program: two processes of one fingerprint compile a Program to the same code.
#pragma once

#include "tenon/base/hash.h"

namespace tenon {

// Of the library itself, the processor, the settings that are read while programs are compiled, and the number of
// threads.
Hash128 fingerprint();

// Of the files that the library was built of, and of its compilers.
const char* source_hash();

}  // namespace tenon
