// Mutable references: tn.new_ref(x), r[i], r[i] = y, in loops and compiled functions too.
#include "refs.h"

#include <nanobind/stl/string.h>

#include "array.h"
#include "call.h"
#include "dtypes.h"
#include "indexing.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "text.h"

namespace tenon::python {
namespace {

bool whole(nb::handle key) {
  return key.ptr() == Py_Ellipsis || (PyTuple_Check(key.ptr()) && PyTuple_GET_SIZE(key.ptr()) == 0);
}

Array read(const Ref& r, nb::handle key) {
  Array x = call_op("ref", [&] { return r.get(Source()); });
  if (whole(key)) return x;
  return array_of(nb::steal(subscript(x, key.ptr())).ptr());
}

void write(const Ref& r, nb::handle key, ArrayLike value) {
  const Array y = value.array("ref");
  if (whole(key)) return call_op("ref", [&] { r.set(op(y)); });
  const std::vector<IndexPart> parts = parts_of(call_op("ref", [&] { return r.get(Source()); }), key.ptr());
  call_op("ref", [&] { RefPart(r.cell(), parts).set(op(y)); });
}

// As the array that is in it now; where there is none, as its type.
std::string represented_reference(const Ref& r) {
  std::string type;
  try {
    type = "Ref<" + r.type(Source()).text() + ">";
    if (Scope::top() != nullptr) return type;
    const std::string text = repr_of(array_object(r.get(Source())));
    return text.starts_with("Array") ? "Ref" + text.substr(5) : type;
  } catch (const Error&) {
    return type.empty() ? "Ref<ended>" : type;
  }
}

// Of the arguments of a function with a rule: which are references that were made in the function that is
// differentiated. Their values are what the rule is for.
nb::list references_by_value(nb::handle leaves) {
  Arrays values;
  for (nb::handle leaf : nb::iter(leaves)) {
    Array a;
    if (nb::isinstance<Ref>(leaf))
      values.push_back(reference_of(leaf).get(Source()));
    else if (operand_from(leaf.ptr(), a))
      values.push_back(std::move(a));
  }
  const std::size_t derivative =
      TakesPart::innermost(Scope::any_takes_part(values).derivatives, Scope::ahead_here().derivatives);
  nb::list made_inside;
  for (nb::handle leaf : nb::iter(leaves))
    made_inside.append(nb::bool_(derivative > 0 && nb::isinstance<Ref>(leaf) &&
                                 api_detail::derivatives_where_made(reference_of(leaf).cell()) >= derivative));
  return made_inside;
}

}  // namespace

nb::handle reference_type() {
  static const nb::handle type = nb::type<Ref>();
  return type;
}
const Ref& reference_of(nb::handle object) { return *nb::inst_ptr<Ref>(object); }
nb::object reference_object(Ref reference) { return nb::cast(std::move(reference)); }

void add_refs(nb::module_& module) {
  nb::class_<Ref>(module, "Ref", "An array that is written in place: r[i], r[i] = y, r[...] for the whole.")
      .def("__getitem__", read)
      .def("__setitem__", write)
      .def_prop_ro("shape", [](const Ref& r) { return shape_object(r.type(Source()).shape); })
      .def_prop_ro("dtype", [](const Ref& r) { return numpy_dtype(r.type(Source()).dtype); })
      .def_prop_ro("ndim", [](const Ref& r) { return r.type(Source()).rank(); })
      .def("__len__",
           [](const Ref& r) {
             const Shape shape = r.type(Source()).shape;
             if (shape.rank() == 0) throw nb::type_error("len() of unsized object");
             return shape[0].value();
           })
      .def("__repr__", represented_reference);
  module.def(
      "new_ref",
      [](ArrayLike x, bool stops_derivatives) {
        const Array a = x.array("new_ref");
        Ref r = call_op("new_ref", [&] { return make_ref(op(a)); });
        r.cell()->stops_derivatives = stops_derivatives;
        return r;
      },
      nb::arg("x"), nb::arg("stops_derivatives") = false);
  module.def("references_by_value", references_by_value);
  module.def("made_here", [](const Ref& r) {
    return Scope::top() != nullptr && !r.cell()->given && r.cell()->home == Scope::top()->serial();
  });
  module.def("same_value", [](ArrayLike a, ArrayLike b) {
    const Array x = a.array("ref"), y = b.array("ref");
    if (x.traced() != nullptr && y.traced() != nullptr)
      return x.traced()->scope == y.traced()->scope && x.traced()->var == y.traced()->var;
    return x.buffer() != nullptr && y.buffer() != nullptr && x.buffer()->data() == y.buffer()->data();
  });
  module.def(
      "freeze", [](const Ref& r) { return call_op("freeze", [&] { return r.freeze(Source()); }); },
      "The array; what uses the reference afterwards is an error.");
}

}  // namespace tenon::python
