// jit: the path of a call. Its arguments are compared with the structure and types of specialisations that were there
// before; only what is new is flattened, hashed and traced.
#include "tenon/api/jit.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <algorithm>

#include "call.h"
#include "dtypes.h"
#include "errors.h"
#include "executor.h"
#include "functions.h"
#include "programs.h"
#include "refs.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/explain.h"
#include "tenon/ops/collectives.h"
#include "text.h"

namespace tenon::python {
namespace {

using api_detail::CallFrame;
using api_detail::CellRef;
using api_detail::EntryRef;
using api_detail::JitEntry;
using api_detail::LeafType;
using api_detail::Signature;

// A call as Python makes it: positional arguments, then those by keyword in the order of `names`.
struct Given {
  PyObject* const* args;
  std::size_t positional;
  PyObject* names;  // a tuple, or null
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

// Which arguments are static, which are donated: by number or by name.
struct Options {
  std::vector<std::size_t> static_numbers, donated_numbers;
  std::vector<nb::object> static_names, donated_names;
  bool strict_in_place = false;
  bool is_static(std::size_t number) const { return std::ranges::find(static_numbers, number) != static_numbers.end(); }
  bool is_static(PyObject* name) const { return holds(static_names, name); }
  bool is_donated(std::size_t number) const {
    return std::ranges::find(donated_numbers, number) != donated_numbers.end();
  }
  bool is_donated(PyObject* name) const { return holds(donated_names, name); }

 private:
  static bool holds(const std::vector<nb::object>& names, PyObject* name) {
    return std::ranges::any_of(names, [&](const nb::object& n) { return same_objects(n.ptr(), name); });
  }
};

// What was static of a call, and the structure of the rest.
struct CallForm {
  struct Slot {
    nb::object keyword;  // absent: positional
    nb::object value;    // of a static argument; absent: a tree of leaves
    bool is_static = false;
  };
  std::vector<Slot> slots;  // positional ones, then by keyword in alphabetical order
  std::size_t positional = 0;
  TreeRef trees;                 // a tuple of those that are not static, without the references that are in it
  std::vector<Type> references;  // their types
  bool x64 = true;
  // Names of axes, by which the function may ask how many lanes there are; the innermost first.
  std::vector<std::pair<std::string, Dim>> axes;
};

// Arrays that stand for numbers and foreign memory during one call.
class StandIns {
 public:
  Array& next(std::size_t most) {
    if (arrays_.capacity() == 0) arrays_.reserve(most);
    return arrays_.emplace_back();
  }

 private:
  Arrays arrays_;
};

struct Entry : JitEntry {
  Entry(std::uint64_t hash, CallForm call, const Arrays& leaves, TracedFunction traced, Donation donation,
        const std::vector<CellRef>& passed, TreeRef out, bool strict_in_place, std::optional<TracedFor> what_for)
      : JitEntry(&tag, hash, Signature::of_leaves(leaves), std::move(traced), std::move(donation), passed,
                 strict_in_place, std::move(what_for)),
        form(std::move(call)),
        result(std::move(out)) {}
  static inline const char tag = 0;
  CallForm form;
  TreeRef result;

  // The leaves and references of a call, as far as they are of this form.
  struct Leaves {
    const Entry& entry;
    const Array** to;
    std::vector<CellRef>& cells;
    StandIns& stand_ins;
    std::size_t count = 0;

    bool operator()(PyObject* object) {
      const std::span<const LeafType> types = entry.signature().leaves();
      if (count == types.size()) return false;
      const Array* array = nullptr;
      if (python::is_array(object)) {
        array = &array_of(object);
      } else {
        Array& stand_in = stand_ins.next(types.size());
        if (is_container(object) || !borrowed_operand_from(object, stand_in)) return false;
        array = &stand_in;
      }
      to[count] = array;
      return types[count++].matches(*array);
    }
    bool reference(PyObject* object) {
      if (!is_reference(object)) return false;
      const Ref& ref = reference_of(object);
      if (ref.type(Source()) != entry.form.references[cells.size()]) return false;
      cells.push_back(ref.cell());
      return true;
    }
  };

  // Whether a call is of this form; the addresses of its leaves go to `leaves`, its references to `cells`.
  bool matches(const Given& given, const Array** leaves, std::vector<CellRef>& cells, StandIns& stand_ins,
               Objects& held) const {
    if (given.positional != form.positional || given.positional + given.keywords() != form.slots.size() ||
        form.x64 != x64_enabled || !form.axes.empty() || NamedAxis::innermost() != nullptr)
      return false;
    Leaves leaf{*this, leaves, cells, stand_ins};
    const Node* at = form.trees->nodes().data() + 1;
    for (std::size_t slot = 0; slot < form.slots.size(); ++slot) {
      const CallForm::Slot& s = form.slots[slot];
      PyObject* const object =
          slot < form.positional ? given.args[slot] : given.find(s.keyword.ptr(), slot - form.positional);
      if (object == nullptr) return false;
      if (s.is_static ? !same_statics(s.value.ptr(), object) : !TreeDef::match(object, at, leaf, held)) return false;
    }
    return true;
  }
};

// A jitted function: its options and specialisations.
struct State {
  nb::object f;
  std::string name;
  Options options;
  api_detail::EntryTable table;
  std::array<const Entry*, 4> recent{};  // the last ones used, the latest first

  void note(const Entry* entry) {
    const Entry* moved = entry;
    for (const Entry*& place : recent) {
      std::swap(place, moved);
      if (moved == entry) break;
    }
  }
};

struct JitObject {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject* attributes;
  PyObject* weak_references;
  State* state;
};

// A call taken apart, where no specialisation was found at once.
struct Flattened {
  CallForm form;
  Arrays leaves;
  std::vector<CellRef> cells;  // of references
  std::vector<bool> donated;   // of the leaves
  std::uint64_t hash = 0;
};

[[noreturn]] void throw_unhashable(const State& s, const CallForm::Slot& slot, std::size_t number) {
  PyErr_Clear();
  const std::string which = slot.keyword ? str_of(slot.keyword) : std::to_string(number);
  throw TreeError(fmt::format("jit: the static argument {} of {} is {}, of type {}, which is not hashable.", which,
                              s.name, repr_of(slot.value).substr(0, 60), class_of(slot.value)),
                  "A static argument is a key of what was compiled: give a tuple instead of a list, or leave it out of "
                  "static_argnums where it holds arrays.");
}

Flattened flatten_call(const State& s, const Given& given) {
  Flattened flat;
  flat.form.positional = given.positional;
  flat.form.x64 = x64_enabled;
  std::vector<TreeRef> trees;
  Hasher hasher;
  const auto add = [&](CallForm::Slot slot, PyObject* object, bool donated, std::size_t number) {
    hasher(slot.is_static);
    if (slot.is_static) {
      slot.value = nb::borrow(object);
      const Py_hash_t hash = PyObject_Hash(object);
      if (hash == -1) throw_unhashable(s, slot, number);
      hasher(static_cast<std::int64_t>(hash));
    } else {
      const std::string what = slot.keyword ? str_of(slot.keyword) : fmt::format("argument {}", number);
      FlatTree tree = flat_arrays("jit", what.c_str(), nb::handle(object));
      hasher(tree.tree->hash());
      for (const nb::object& object : tree.tree->references()) {
        flat.form.references.push_back(reference_of(object).type(Source()));
        flat.form.references.back().hash(hasher);
        flat.cells.push_back(reference_of(object).cell());
      }
      for (const Array& a : tree.leaves) {
        a.type().hash(hasher);
        hasher(a.weak());
      }
      for (std::size_t i = 0; i < tree.leaves.size(); ++i) flat.donated.push_back(donated);
      flat.leaves.insert(flat.leaves.end(), tree.leaves.begin(), tree.leaves.end());
      trees.push_back(std::move(tree.tree));
    }
    flat.form.slots.push_back(std::move(slot));
  };
  for (std::size_t i = 0; i < given.positional; ++i)
    add({.is_static = s.options.is_static(i)}, given.args[i], s.options.is_donated(i), i);
  std::vector<std::pair<nb::object, PyObject*>> keywords;
  for (std::size_t i = 0; i < given.keywords(); ++i)
    keywords.emplace_back(nb::borrow(given.keyword(i)), given.args[given.positional + i]);
  std::ranges::sort(keywords,
                    [](const auto& a, const auto& b) { return PyUnicode_Compare(a.first.ptr(), b.first.ptr()) < 0; });
  for (const auto& [keyword, object] : keywords) {
    hasher(static_cast<std::int64_t>(PyObject_Hash(keyword.ptr())));
    add({.keyword = keyword, .is_static = s.options.is_static(keyword.ptr())}, object,
        s.options.is_donated(keyword.ptr()), 0);
  }
  flat.form.trees = tuple_of(trees);
  if (!flat.cells.empty()) {
    flat.form.trees = flat.form.trees->without_references();
    api_detail::require_distinct("jit", flat.cells);
  }
  for (const NamedAxis* axis = NamedAxis::innermost(); axis != nullptr; axis = axis->outer()) {
    flat.form.axes.emplace_back(axis->name(), axis->size());
    hasher(axis->name());
    axis->size().hash(hasher);
  }
  hasher(flat.form.x64)(flat.form.positional);
  flat.hash = hasher.finish().low;
  return flat;
}

// Calls the function with leaves and references in place of those of the form.
nb::object call_with(const State& s, const CallForm& form, std::span<const Array> leaves,
                     std::span<const CellRef> cells) {
  nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(form.positional)));
  nb::dict kwargs;
  struct {
    const Array* leaf;
    const CellRef* cell;
    PyObject* operator()() { return new_array(*leaf++); }
    PyObject* reference() {
      Ref ref;
      ref.rebind(*cell++);
      return reference_object(std::move(ref)).release().ptr();
    }
  } next{leaves.data(), cells.data()};
  const Node* at = form.trees->nodes().data() + 1;
  for (std::size_t i = 0; i < form.slots.size(); ++i) {
    const CallForm::Slot& slot = form.slots[i];
    nb::object value = slot.is_static ? slot.value : nb::steal(TreeDef::build(at, next));
    if (slot.keyword)
      kwargs[slot.keyword] = value;
    else
      PyTuple_SET_ITEM(args.ptr(), static_cast<Py_ssize_t>(i), value.release().ptr());
  }
  PyObject* result = PyObject_Call(s.f.ptr(), args.ptr(), nb::len(kwargs) == 0 ? nullptr : kwargs.ptr());
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

// `cells`: what stands for the references of the call.
TracedFunction trace(const State& s, const Flattened& flat, std::span<const CellRef> cells, TreeRef& out,
                     std::optional<TracedFor>& what_for) {
  const auto function = [&](std::span<const Array> in) {
    FlatTree result = flat_arrays("jit", "what the function returns", call_with(s, flat.form, in, cells));
    refuse_references("jit", "what the function returns", *result.tree);
    out = result.tree;
    return std::move(result.leaves);
  };
  return api_detail::trace_for_calls(function, flat.leaves, what_for);
}

bool same_form(const CallForm& a, const CallForm& b) {
  if (a.positional != b.positional || a.x64 != b.x64 || a.slots.size() != b.slots.size() || !(*a.trees == *b.trees) ||
      a.references != b.references || a.axes != b.axes)
    return false;
  for (std::size_t i = 0; i < a.slots.size(); ++i) {
    const CallForm::Slot &x = a.slots[i], &y = b.slots[i];
    if (x.is_static != y.is_static || x.keyword.is_valid() != y.keyword.is_valid()) return false;
    if (x.keyword.is_valid() && !same_objects(x.keyword.ptr(), y.keyword.ptr())) return false;
    if (x.is_static && !same_statics(x.value.ptr(), y.value.ptr())) return false;
  }
  return true;
}

// The specialisation for a call; what is good for this call alone is kept by `alone`.
const Entry& find(State& s, const Flattened& flat, EntryRef& alone) {
  std::vector<const Array*> places;
  for (const Array& a : flat.leaves) places.push_back(&a);
  const auto matches = [&](const JitEntry& e) {
    const auto& entry = static_cast<const Entry&>(e);
    const std::span<const LeafType> types = entry.signature().leaves();
    if (types.size() != flat.leaves.size() || !same_form(entry.form, flat.form)) return false;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (!types[i].matches(flat.leaves[i])) return false;
    return e.traced_for(places);
  };
  if (const JitEntry* found = s.table.find(flat.hash, matches)) return static_cast<const Entry&>(*found);
  TreeRef out;
  std::vector<CellRef> cells;
  for (const CellRef& cell : flat.cells) cells.push_back(api_detail::stand_in(cell));
  std::optional<TracedFor> what_for;
  TracedFunction traced = trace(s, flat, cells, out, what_for);
  // Every argument is given as a variable: to the library they are one.
  JitEntry::Donation donation{flat.donated, std::vector<std::size_t>(flat.leaves.size(), 0)};
  CallForm form = flat.form;
  form.trees = form.trees->with_own_statics();
  auto made = std::make_shared<Entry>(flat.hash, std::move(form), flat.leaves, std::move(traced), std::move(donation),
                                      cells, out, s.options.strict_in_place, std::move(what_for));
  alone = made;
  if (made->borrowed()) return *made;
  return static_cast<const Entry&>(*s.table.keep(made, matches));
}

// Runs native code on leaves that are in the frame, and makes the result's tree.
PyObject* run(const Entry& entry, const CallFrame& frame, std::span<const CellRef> cells) {
  const bool refs = entry.uses_refs();
  const std::size_t count = refs ? entry.traced().results() : entry.results();
  Array** const places = frame.results(entry.leaves());
  // The objects of the results are made first: native code's arrays go into them as they are.
  nb::object one;
  Objects many;
  if (count == 1) {
    one = array_object(Array());
    places[0] = &array_of(one.ptr());
  } else {
    many.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      many.push_back(array_object(Array()));
      places[i] = &array_of(many[i].ptr());
    }
  }
  const auto native = [&] {
    const NativeRun beside;
    entry.run(frame.words(), ~std::uint64_t(0));
  };
  if (refs) [[unlikely]]
    entry.run_with_refs(frame.words(), cells, native);
  else
    native();
  if (count == 1 && entry.result->nodes().size() == 1 && !entry.result->nodes()[0].data) return one.release().ptr();
  std::size_t i = 0;
  return entry.result->unflatten([&] { return (count == 1 ? one : many[i++]).inc_ref().ptr(); });
}

PyObject* call_new(State& s, const Given& given) {
  require_stack();
  const SourceScope place(user_line(), "jit");
  Flattened flat = flatten_call(s, given);
  EntryRef alone;
  const Entry& entry = find(s, flat, alone);
  if (Scope::of_operands(flat.leaves) != nullptr)
    return unflatten_arrays(*entry.result, entry.bind(flat.leaves, flat.cells)).release().ptr();
  if (alone == nullptr || !entry.borrowed()) s.note(&entry);
  const CallFrame frame(entry.frame_words());
  // Leaves that are arrays of the caller's may be donated: those themselves are in the frame, not copies.
  StandIns stand_ins;
  std::vector<CellRef> cells;
  Objects held;
  if (entry.matches(given, frame.leaves(), cells, stand_ins, held))
    flat.leaves.clear();
  else
    for (std::size_t i = 0; i < flat.leaves.size(); ++i) frame.leaves()[i] = &flat.leaves[i];
  return run(entry, frame, flat.cells);
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    State& s = *reinterpret_cast<JitObject*>(self)->state;
    const Given given{args, static_cast<std::size_t>(PyVectorcall_NARGS(count)), names};
    if (Scope::top() == nullptr) {
      for (const Entry* entry : s.recent) {
        if (entry == nullptr) break;
        const CallFrame frame(entry->frame_words());
        StandIns stand_ins;
        std::vector<CellRef> cells;
        Objects held;
        if (entry->matches(given, frame.leaves(), cells, stand_ins, held)) return run(*entry, frame, cells);
      }
    }
    return call_new(s, given);
  });
}

// --- the type ---

void destroy(PyObject* self) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (jit->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(jit->attributes);
  delete jit->state;
  type->tp_free(self);
  Py_DECREF(type);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(jit->attributes);
  if (jit->state != nullptr) Py_VISIT(jit->state->f.ptr());
  return 0;
}
int clear(PyObject* self) {
  auto* jit = reinterpret_cast<JitObject*>(self);
  Py_CLEAR(jit->attributes);
  if (jit->state != nullptr) jit->state->f.reset();
  return 0;
}

PyObject* bound_to(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitObject, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitObject, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bound_to)},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {Py_tp_doc, const_cast<char*>("A function that is compiled for each kind of arguments: what tn.jit returns.")},
    {0, nullptr},
};
PyType_Spec spec{"tenon.JitFunction", sizeof(JitObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
PyTypeObject* jit_type = nullptr;

std::vector<nb::object> interned(nb::handle names) {
  std::vector<nb::object> all;
  for (nb::handle name : nb::iter(names)) all.push_back(nb::borrow(name));
  return all;
}

nb::object make(nb::object f, std::string name, std::vector<std::size_t> static_numbers, nb::handle static_names,
                std::vector<std::size_t> donated_numbers, nb::handle donated_names, bool strict_in_place) {
  auto* jit = reinterpret_cast<JitObject*>(jit_type->tp_alloc(jit_type, 0));
  if (jit == nullptr) throw nb::python_error();
  jit->call = call;
  jit->state = new State{.f = std::move(f),
                         .name = std::move(name),
                         .options = {std::move(static_numbers), std::move(donated_numbers), interned(static_names),
                                     interned(donated_names), strict_in_place}};
  return nb::steal(reinterpret_cast<PyObject*>(jit));
}

// The parts of a call whose arguments come as a tuple and a dict.
Flattened flatten_call(const State& s, nb::handle args, const nb::dict& kwargs) {
  std::vector<PyObject*> values;
  nb::list names;
  for (nb::handle a : args) values.push_back(a.ptr());
  const std::size_t positional = values.size();
  for (auto [name, value] : kwargs) {
    names.append(name);
    values.push_back(value.ptr());
  }
  const nb::tuple keywords(names);
  return flatten_call(s, {values.data(), positional, keywords.ptr()});
}

// One specialisation of a jitted function, for those who trace and compile ahead of calls.
struct Specialisation {
  nb::object function;  // whose table keeps the entry,
  EntryRef alone;       // where this does not
  const Entry* entry;

  // The result's tree, of what `leaf(shape, dtype, weak)` makes.
  nb::object result(nb::handle leaf) const {
    const std::vector<Type> types = entry->traced().program->output_types();
    const std::vector<bool>& weak = entry->traced().weak;
    std::size_t i = 0;
    return nb::steal(entry->result->unflatten([&] {
      const Type& t = types[i];
      nb::object made = leaf(shape_object(t.shape), numpy_dtype(t.dtype), nb::bool_(weak[i]));
      ++i;
      return made.release().ptr();
    }));
  }
};

Specialisation specialise(nb::object f, nb::tuple args, nb::dict kwargs) {
  const SourceScope place(user_line(), "jit");
  State& s = *reinterpret_cast<JitObject*>(f.ptr())->state;
  const Flattened flat = flatten_call(s, args, kwargs);
  EntryRef alone;
  const Entry& entry = find(s, flat, alone);
  return {std::move(f), std::move(alone), &entry};
}

// Of a jitted function, its state; of any other, one that is made for one call.
std::string explained(nb::object f, nb::args args, const nb::kwargs& kwargs) {
  std::unique_ptr<State> own;
  State* s = nullptr;
  if (Py_TYPE(f.ptr()) == jit_type) {
    s = reinterpret_cast<JitObject*>(f.ptr())->state;
  } else {
    own = std::make_unique<State>();
    own->f = std::move(f);
    s = own.get();
  }
  const SourceScope place(user_line(), "explain");
  const Flattened flat = flatten_call(*s, args, kwargs);
  TreeRef out;
  api_detail::KeptValues kept;
  std::optional<TracedFor> what_for;
  const TracedFunction traced = trace(*s, flat, flat.cells, out, what_for);
  return api_detail::explain_traced(traced, flat.donated, std::move(kept.values));
}

}  // namespace

void add_jit(nb::module_& module) {
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type) throw nb::python_error();
  jit_type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
  module.attr("JitFunction") = type;
  module.def("jit", make);
  nb::class_<Specialisation>(module, "Specialisation")
      .def_prop_ro("program", [](const Specialisation& s) { return PyProgram{s.entry->traced().program}; })
      .def("result", &Specialisation::result)
      .def("prepare", [](const Specialisation& s) {
        const NativeRun beside;
        s.entry->prepare();
      });
  module.def("specialise", specialise);
  module.def("explain", explained);
}

}  // namespace tenon::python
