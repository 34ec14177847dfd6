// Errors that teach: what was asked, of which op, with which operands, at which line of the user's code, what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "tenon/base/source.h"

namespace tenon {

// `what` says what was asked and why it cannot be, "op: …"; `advice` what to write instead. The place defaults to the
// one in force. Where the user called another function than the op that complains, both are named: "where (select): …".
class Error : public std::runtime_error {
 public:
  Error(std::string_view kind, std::string_view what, std::string_view advice = {},
        const Source& where = SourceScope::current());
  const std::string& asked() const { return asked_; }  // `what` as given
  const std::string& advice() const { return advice_; }
  const Source& where() const { return where_; }

 private:
  std::string asked_, advice_;
  Source where_;
};

#define TENON_ERROR_KIND(Kind)                                                                                       \
  class Kind : public Error {                                                                                        \
   public:                                                                                                           \
    explicit Kind(std::string_view what, std::string_view advice = {}, const Source& where = SourceScope::current()) \
        : Error(#Kind, what, advice, where) {}                                                                       \
  }
TENON_ERROR_KIND(ShapeError);            // sizes, axes, ranks
TENON_ERROR_KIND(DTypeError);            // element types
TENON_ERROR_KIND(TreeError);             // structure of arguments and results
TENON_ERROR_KIND(ConcretizationError);   // the value of a traced array was asked for
TENON_ERROR_KIND(LeakError);             // a traced array outlived its trace
TENON_ERROR_KIND(DifferentiationError);  // no derivative, or not of this kind
TENON_ERROR_KIND(ParseError);            // text form, files
TENON_ERROR_KIND(VerifyError);           // a Program or Kernel breaks a rule of its form
TENON_ERROR_KIND(CompileError);
TENON_ERROR_KIND(RewriteError);  // a rule that is none, or rules that do not end
TENON_ERROR_KIND(RuntimeError);
TENON_ERROR_KIND(MemoryError);  // more bytes than there are
TENON_ERROR_KIND(CancelledError);
TENON_ERROR_KIND(NestingError);      // deeper than the stack
TENON_ERROR_KIND(UnsupportedError);  // right, and not there: the advice says what to write instead
#undef TENON_ERROR_KIND

}  // namespace tenon
