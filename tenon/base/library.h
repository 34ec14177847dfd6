// Libraries that stand beside libtenon and are opened when they are first needed.
#pragma once

namespace tenon {

// The address of a symbol of such a library, `file`, which holds `what`. Throws CompileError where the library cannot
// be opened or has no such symbol. Opens it each time that it is called: what callers keep stands in a Lasting.
void* symbol_beside(const char* file, const char* symbol, const char* what);

}  // namespace tenon
