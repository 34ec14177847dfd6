// Where in the user's code an op was asked for.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace tenon {

// A place in the user's program. File and function names are those of std::source_location and live forever.
struct Source {
  const char* file = nullptr;
  const char* function = nullptr;
  unsigned line = 0;
  unsigned column = 0;

  Source() = default;
  Source(const std::source_location& where)  // implicit: a defaulted argument converts
      : file(where.file_name()), function(where.function_name()), line(where.line()), column(where.column()) {}
  bool known() const { return file != nullptr; }
  std::string text() const;     // "path/file.cpp:12", or "" when unknown
  std::string at_text() const;  // " at path/file.cpp:12", or ""
  bool operator==(const Source&) const = default;
};

// The place that is in force on this thread, and the name of the function that was called there: of the outermost
// SourceScope, so that what a composite or a rule calls is attributed to the line where the user called the composite.
// Places in the library itself are none of the user's: where one of its functions is made of loops, what their steps
// call is attributed to that line, too.
class SourceScope {
 public:
  explicit SourceScope(const Source& where, std::string_view function = {});  // a name that lives forever
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

  static const Source& current();
  static std::string_view function();  // "" where none is in force, or has no name

 private:
  bool outermost_;
  bool above_user_code_ = false;
  Source previous_;
  std::string_view previous_function_;
};

// While it lives, the place and name in force give way to the first SourceScope of the user's: what a user's function
// calls, which a transformation traces, is attributed to the lines of that function.
class UserCode {
 public:
  UserCode();
  ~UserCode();
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

 private:
  bool before_;
};

// Replaces the place in force, for transformations that replay a Program eqn by eqn.
class SourceOverride {
 public:
  explicit SourceOverride(const Source& where);
  ~SourceOverride();
  SourceOverride(const SourceOverride&) = delete;
  SourceOverride& operator=(const SourceOverride&) = delete;

 private:
  Source previous_;
  bool above_user_code_;
};

}  // namespace tenon
