// What a wrong call says, for tests of errors.
#pragma once

#include <string>
#include <utility>

#include "tenon/base/error.h"

namespace tenon {

// The message of the error that f throws; other kinds than Expected pass through.
template <class Expected = Error, class F>
std::string message_of(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const Expected& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace tenon
