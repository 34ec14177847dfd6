// Calls of functions of the library that compile themselves.
#pragma once

#include "call.h"
#include "finite.h"
#include "tenon/api/jit.h"

namespace tenon::python {

// The function at these arguments. Beside tn.debug_nans it is noted as one Program, in which the eqn is found that made
// a NaN first: it runs compiled.
template <class F>
auto called(const char* name, const F& f, const Arrays& arguments) {
  return call_transformation(name, [&] {
    const auto made = f(arguments);
    if (watching() && !tracing()) {
      const auto of = [&f, name, line = SourceScope::current()](const Arrays& x) {
        const SourceScope place(line, name);
        return f(x);
      };
      std::vector<Value> inputs, outputs;
      for (const Array& x : arguments) inputs.push_back(x.value());
      for (const Array& x : tree::leaves(made)) outputs.push_back(x.value());
      note_program(trace(of)(arguments), {}, inputs, outputs);
    }
    return made;
  });
}

}  // namespace tenon::python
