#include "tenon/runtime/linear_algebra/lapack.h"

#include "tenon/base/error.h"
#include "tenon/base/library.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

constinit LibraryFunction<LapackLibrary> lapack("libtenon_lapack.so", lapack_library_symbol,
                                                "the library of factors of matrices");

const RuntimeSymbol lapack_symbol("tenon_lapack", &tenon_lapack);

}  // namespace

void require_lapack_library() { lapack.get(); }

}  // namespace tenon

std::int64_t tenon_lapack(const TenonLapack* of, void* const* arrays) {
  try {
    return tenon::lapack.get()(*of, arrays);
  } catch (const tenon::Error&) {
    return -1;
  }
}
