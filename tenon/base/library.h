// Libraries that stand beside libtenon and are opened when they are first needed.
#pragma once

#include "tenon/base/fork.h"

namespace tenon {

// The address of a symbol of such a library, `file`, which holds `what`. Throws CompileError where the library cannot
// be opened or has no such symbol. Opens it each time that it is called.
void* symbol_beside(const char* file, const char* symbol, const char* what);

// A function of such a library, looked for once. For static storage.
template <class Function>
class LibraryFunction {
 public:
  constexpr LibraryFunction(const char* file, const char* symbol, const char* what)
      : file_(file), symbol_(symbol), what_(what) {}
  Function get() {              // throws CompileError
    const ForkSection at_once;  // the loader's lock is held there only
    return found_.get([this] { return reinterpret_cast<Function>(symbol_beside(file_, symbol_, what_)); });
  }

 private:
  const char *file_, *symbol_, *what_;
  Lasting<const Function> found_;
};

}  // namespace tenon
