#include "stack.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>

namespace tenon::python {
namespace {

// Below this address nobody calls further: what compiles and runs a program then still has room.
std::uintptr_t lowest() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* begin = nullptr;
  std::size_t size = 0;
  const int known = pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  constexpr std::size_t room = 2 << 20;
  return known == 0 ? reinterpret_cast<std::uintptr_t>(begin) + std::min(room, size / 3) : 0;
}

}  // namespace

void require_stack() {
  static thread_local const std::uintptr_t limit = lowest();
  const char here = 0;
  if (reinterpret_cast<std::uintptr_t>(&here) > limit) return;
  PyErr_SetString(PyExc_RecursionError,
                  "functions that tenon calls call each other without end: the stack is used up.");
  throw nanobind::python_error();
}

}  // namespace tenon::python
