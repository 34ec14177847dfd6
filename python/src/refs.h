// tn.Ref as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include "tenon/api/ref.h"

namespace tenon::python {

namespace nb = nanobind;

nb::handle reference_type();
inline bool is_reference(nb::handle object) { return object.type().is(reference_type()); }
const Ref& reference_of(nb::handle object);
nb::object reference_object(Ref reference);

}  // namespace tenon::python
