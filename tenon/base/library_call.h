// A call of a function of the library's that calls none of the user's.
#pragma once

#include <string_view>

#include "tenon/base/source.h"

namespace tenon {

// A SourceScope for which UserCode gives no way: what such a function traces, loops' steps and rules, is its own. The
// place may be unknown, and is in force all the same: no line of the library's takes its place, and who catches an
// error finds the user's.
class LibraryCall {
 public:
  LibraryCall(const Source& where, std::string_view function);  // a name that lives forever
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

 private:
  bool outermost_;
  bool above_user_code_ = false;
  Source previous_;
  std::string_view previous_function_;
};

}  // namespace tenon
