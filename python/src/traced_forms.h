// What messages say of a jitted function and of a call of it: its name and line, its parameters, and what a trace is
// made for.
#pragma once

#include "jit_entries.h"
#include "tenon/api/trace_notes.h"

namespace tenon::python::jitted {

// Read of the function's code.
Label label_of(nb::handle f, const std::string& name);

// "argument x['w']" of each leaf.
std::vector<std::string> leaf_names(const CallForm& form, const Label& label);

// A trace begins: says in the log what is new about it, and warns once where there are too many. Throws where that
// warning is an error.
void note_trace(State& s, const Flattened& flat);

}  // namespace tenon::python::jitted
