// What tests have to know of the sanitizer that they run under.
#pragma once

#include <dlfcn.h>

namespace tenon {

// Asked of the process: the library may have it where the program does not.
inline bool under_address_sanitizer() { return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr; }

}  // namespace tenon
