// tenon._core: the library in Python, a room at a time.
#include <nanobind/nanobind.h>

#include "array.h"
#include "dtypes.h"
#include "errors.h"
#include "indexing.h"
#include "interchange.h"
#include "library.h"
#include "rooms.h"
#include "shapes.h"
#include "source_lines.h"
#include "tenon/version.h"
#include "trees.h"

NB_MODULE(_core, module) {
  using namespace tenon::python;
  // What is compiled is kept until the process ends, and with it the functions of Python's that it calls.
  nanobind::set_leak_warnings(false);
  module.attr("version") = TENON_VERSION_STRING;
  add_errors(module);
  add_source_lines(module);
  add_array_type(module);
  add_dtypes(module);
  add_shapes(module);
  add_indexing(module);
  add_interchange(module);
  add_trees(module);
  add_executor(module);
  add_finite(module);
  add_elementwise(module);
  add_reductions(module);
  add_movement(module);
  add_gathers(module);
  add_cumulative(module);
  add_windows(module);
  add_fields(module);
  add_rotations(module);
  add_stats(module);
  add_nn(module);
  add_custom_rules(module);
  add_transforms(module);
  add_jit(module);
  add_repeated(module);
  add_loops(module);
  add_lists(module);
  add_refs(module);
  add_implicit(module);
  add_solvers(module);
  add_optim(module);
  add_host(module);
  add_collectives(module);
  add_programs(module);
  add_rewrites(module);
  add_library(module);
}
