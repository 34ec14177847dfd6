// Compiled Programs on disk, by the keys of executables.
#pragma once

#include "tenon/compile/native/native_executable.h"

namespace tenon {

// What this or another process has kept for the same fingerprint(); nothing where there is none, where nothing is kept,
// or where stages are dumped. `program`: what the key is of, where it is at hand.
std::optional<NativeParts> kept_parts(const Hash128& key, const Program* program);

// Keeps them, but where the Program has ops of the user's own: those may mean something else in the next process.
void keep(const Hash128& key, const Program& program, const NativeParts& parts);

}  // namespace tenon
