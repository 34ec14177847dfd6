// Types of callable objects that hold a function of Python's, as tn.jit and the package's functions are.
#pragma once

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <initializer_list>
#include <unordered_set>
#include <vector>

#include "none.h"
#include "trees.h"

namespace tenon::python {

namespace nb = nanobind;

// A call as Python makes it: positional arguments, then those by keyword in the order of `names`.
struct Given {
  PyObject* const* args;
  std::size_t positional;
  PyObject* names;  // a tuple, or null
  std::size_t count() const { return positional + keywords(); }
  std::size_t keywords() const { return names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names)); }
  PyObject* keyword(std::size_t i) const { return PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)); }
  PyObject* find(PyObject* name, std::size_t guess) const {
    const std::size_t count = keywords();
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = (guess + k) % count;
      if (keyword(i) == name || same_objects(keyword(i), name)) return args[positional + i];
    }
    return nullptr;
  }
};

// State has the function, `f`. Its objects are called by `call`, have attributes, weak references and methods' binding,
// and take part in the collection of cycles.
template <class State>
class Callable {
 public:
  struct Object {
    PyObject ob_base;
    vectorcallfunc call;
    PyObject* attributes;
    PyObject* weak_references;
    State* state;
  };

  // Made once, before any object; `more` are further slots of it.
  static nb::object make_type(const char* name, const char* text, vectorcallfunc call,
                              std::initializer_list<PyType_Slot> more = {}) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(Object, call), READONLY, nullptr},
        {"__dictoffset__", T_PYSSIZET, offsetof(Object, attributes), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(Object, weak_references), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr},
    };
    static PyGetSetDef attributes[] = {
        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
        {nullptr, nullptr, nullptr, nullptr, nullptr},
    };
    std::vector<PyType_Slot> slots = {
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(clear)},
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_descr_get, reinterpret_cast<void*>(bound_to)},
        {Py_tp_members, members},
        {Py_tp_getset, attributes},
        {Py_tp_doc, const_cast<char*>(text)},
    };
    slots.insert(slots.end(), more);
    slots.push_back({0, nullptr});
    PyType_Spec spec{name, sizeof(Object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                     slots.data()};
    nb::object made = nb::steal(PyType_FromSpec(&spec));
    if (!made) throw nb::python_error();
    type_ = reinterpret_cast<PyTypeObject*>(made.inc_ref().ptr());
    call_ = call;
    return made;
  }
  static nb::object make(State* state) {
    auto* made = reinterpret_cast<Object*>(type_->tp_alloc(type_, 0));
    if (made == nullptr) throw nb::python_error();
    made->call = call_;
    made->state = state;
    all().insert(reinterpret_cast<PyObject*>(made));
    return nb::steal(reinterpret_cast<PyObject*>(made));
  }

  static bool is(nb::handle object) { return Py_TYPE(object.ptr()) == type_; }
  static State& state(nb::handle object) { return *reinterpret_cast<Object*>(object.ptr())->state; }
  // Those that there are.
  static std::unordered_set<PyObject*>& all() {
    static auto* all = new std::unordered_set<PyObject*>();
    return *all;
  }

 private:
  static void destroy(PyObject* self) {
    auto* object = reinterpret_cast<Object*>(self);
    PyTypeObject* const type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    all().erase(self);
    if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
    Py_CLEAR(object->attributes);
    delete object->state;
    type->tp_free(self);
    Py_DECREF(type);
  }
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    const auto* object = reinterpret_cast<Object*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(object->attributes);
    if (object->state != nullptr) Py_VISIT(object->state->f.ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    auto* object = reinterpret_cast<Object*>(self);
    Py_CLEAR(object->attributes);
    if (object->state != nullptr) object->state->f.reset();
    return 0;
  }
  static PyObject* bound_to(PyObject* self, PyObject* object, PyObject*) {
    if (object == nullptr || object == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, object);
  }

  static inline PyTypeObject* type_ = nullptr;
  static inline vectorcallfunc call_ = nullptr;
};

}  // namespace tenon::python
