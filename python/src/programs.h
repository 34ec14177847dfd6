// The class Program of Python's.
#pragma once

#include "tenon/ir/program.h"

namespace tenon::python {

struct PyProgram {
  ProgramRef program;
};

}  // namespace tenon::python
