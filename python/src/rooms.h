// What each room of the module adds to it.
#pragma once

#include <nanobind/nanobind.h>

#include "none.h"

namespace tenon::python {

namespace nb = nanobind;

void add_executor(nb::module_& module);     // executor.cpp
void add_finite(nb::module_& module);       // finite.cpp
void add_elementwise(nb::module_& module);  // elementwise.cpp
void add_reductions(nb::module_& module);   // reductions.cpp
void add_movement(nb::module_& module);     // movement.cpp
void add_gathers(nb::module_& module);      // gathers.cpp
void add_cumulative(nb::module_& module);   // cumulative.cpp
void add_fields(nb::module_& module);       // fields.cpp
void add_rotations(nb::module_& module);    // rotations.cpp
void add_windows(nb::module_& module);      // windows.cpp
void add_stats(nb::module_& module);        // stats.cpp
void add_nn(nb::module_& module);           // nn.cpp
void add_custom_rules(nb::module_& module);
void add_transforms(nb::module_& module);   // transforms.cpp
void add_jit(nb::module_& module);          // jit.cpp
void add_repeated(nb::module_& module);     // repeated.cpp
void add_loops(nb::module_& module);        // loops.cpp
void add_lists(nb::module_& module);        // lists.cpp
void add_refs(nb::module_& module);         // refs.cpp
void add_implicit(nb::module_& module);     // implicit.cpp
void add_solvers(nb::module_& module);      // solvers.cpp
void add_optim(nb::module_& module);        // optim.cpp
void add_host(nb::module_& module);         // host.cpp
void add_collectives(nb::module_& module);  // collectives.cpp
void add_programs(nb::module_& module);     // programs.cpp
void add_rewrites(nb::module_& module);     // rewrites.cpp

}  // namespace tenon::python
