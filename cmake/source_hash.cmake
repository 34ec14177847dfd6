# Writes OUTPUT: the hash of all files of the library under ROOT and of VERSIONS, the compilers that build it. Code that
# another build of the library compiled is not this one's.
file(GLOB_RECURSE FILES ${ROOT}/tenon/*.h ${ROOT}/tenon/*.inc ${ROOT}/tenon/*.cpp)
list(SORT FILES)
set(ALL "${VERSIONS}")
foreach(FILE ${FILES})
  file(SHA256 ${FILE} HASH)
  string(APPEND ALL " ${HASH}")
endforeach()
string(SHA256 HASH "${ALL}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[#include "tenon/compile/cache/fingerprint.h"
const char* tenon::source_hash() { return "@HASH@"; }
]] @ONLY)
