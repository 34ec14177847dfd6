#include "repeated.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "array.h"
#include "callable.h"
#include "dtypes.h"
#include "errors.h"
#include "executor.h"
#include "finite.h"
#include "functions.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/api/jit.h"
#include "tenon/api/numerics.h"
#include "tenon/api/rewrites.h"
#include "tenon/api/trace.h"
#include "tenon/base/caches.h"
#include "tenon/rewrite/strictly.h"
#include "trees.h"

namespace tenon::python {
namespace {

using namespace api_detail;

// So many calls of a kind run op by op: compiling takes as long as some hundred of them.
constexpr int before_compiling = 64;
constexpr std::size_t most_kinds = 1024;  // of a function
// A function of which so many kinds look at values, or compute nothing, and none is otherwise, runs as it is.
constexpr int enough_failed = 4;

// Of which kind a call is: the types of its arrays, and what else it is given, by value.
class CallKind {
 public:
  static constexpr std::size_t most_bytes = 504, most_arrays = 16, most_objects = 8;
  // Of more elements than these the work of an op is more than what it costs to find it.
  static constexpr std::int64_t most_elements = 4096;
  static constexpr int deepest = 4;

  // False where it cannot be told, or is of too much.
  bool tell(PyObject* object, int depth = 0);
  // What is the same only where it is the same object.
  bool tell_object(PyObject* object) {
    if (object_count_ == most_objects) return false;
    objects_[object_count_++] = object;
    return add('P', object);
  }

  std::string_view key() const { return {bytes_.data(), count_}; }
  std::span<const Array* const> arrays() const { return {arrays_.data(), array_count_}; }
  std::span<PyObject* const> objects() const { return {objects_.data(), object_count_}; }

 private:
  bool add_bytes(const void* data, std::size_t size) {
    if (count_ + size > most_bytes) return false;
    std::memcpy(bytes_.data() + count_, data, size);
    count_ += size;
    return true;
  }
  template <class... T>
  bool add(char form, const T&... parts) {
    return add_bytes(&form, 1) && (add_bytes(&parts, sizeof parts) && ...);
  }
  bool tell_array(const Array& x);
  bool tell_numpy_number(PyObject* object);
  bool tell_text(PyObject* text);
  bool tell_sequence(char form, PyObject* sequence, int depth);

  std::array<char, most_bytes> bytes_;
  std::array<const Array*, most_arrays> arrays_;
  std::array<PyObject*, most_objects> objects_;
  std::size_t count_ = 0, array_count_ = 0, object_count_ = 0;
  std::int64_t elements_ = 0;
};

PyTypeObject* numpy_type(const char* name) {
  return reinterpret_cast<PyTypeObject*>(nb::module_::import_("numpy").attr(name).inc_ref().ptr());
}

bool CallKind::tell_numpy_number(PyObject* object) {
  Array x;
  if (!borrowed_operand_from(object, x)) return false;
  const std::size_t size = size_of(x.dtype());
  if (const Scalar* number = x.number()) return add('g', number->dtype()) && add_bytes(number->data(), size);
  const Buffer* buffer = x.buffer();
  return buffer != nullptr && buffer->rank() == 0 && add('g', buffer->dtype()) && add_bytes(buffer->data(), size);
}

bool CallKind::tell_array(const Array& x) {
  if (array_count_ == most_arrays) return false;
  arrays_[array_count_++] = &x;
  if (const Scalar* number = x.number()) return add('n', number->dtype(), x.weak());
  const Buffer* buffer = x.buffer();
  if (buffer == nullptr) return false;
  elements_ += buffer->elements();
  return elements_ <= most_elements && add('a', buffer->dtype(), x.weak(), buffer->rank()) &&
         add_bytes(buffer->dims().data(), buffer->rank() * sizeof(std::int64_t));
}

bool CallKind::tell_text(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return false;
  }
  return add('s', size) && add_bytes(data, static_cast<std::size_t>(size));
}

bool CallKind::tell_sequence(char form, PyObject* sequence, int depth) {
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
  if (depth == deepest || !add(form, size)) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!tell(PySequence_Fast_GET_ITEM(sequence, i), depth + 1)) return false;
  return true;
}

bool CallKind::tell(PyObject* object, int depth) {
  if (is_array(object)) return tell_array(array_of(object));
  if (object == Py_None) return add('N');
  if (PyBool_Check(object) != 0) return add(object == Py_True ? 'T' : 'F');
  if (PyLong_CheckExact(object) != 0) {
    int beyond = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &beyond);
    return beyond == 0 && add('i', value);
  }
  if (PyFloat_CheckExact(object) != 0) return add('f', PyFloat_AS_DOUBLE(object));
  if (PyComplex_CheckExact(object) != 0) return add('c', PyComplex_AsCComplex(object));
  if (PyUnicode_CheckExact(object) != 0) return tell_text(object);
  if (PyTuple_CheckExact(object) != 0) return tell_sequence('(', object, depth);
  if (PyList_CheckExact(object) != 0) return tell_sequence('[', object, depth);
  if (PySlice_Check(object) != 0) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    PyObject* const parts[] = {slice->start, slice->stop, slice->step};
    return add(':') && std::ranges::all_of(parts, [&](PyObject* part) { return !is_array(part) && tell(part, depth); });
  }
  static PyTypeObject *const dtypes = numpy_type("dtype"), *const numbers = numpy_type("generic");
  if (PyType_Check(object) != 0 || object == Py_Ellipsis || PyObject_TypeCheck(object, dtypes))
    return tell_object(object);
  return PyObject_TypeCheck(object, numbers) && tell_numpy_number(object);
}

// The same arguments with other arrays.
class Rebuilt {
 public:
  explicit Rebuilt(std::span<const Array> others) : next_(others.data()) {}

  nb::object operator()(PyObject* object) {
    if (is_array(object)) return array_object(*next_++);
    if (PyTuple_CheckExact(object) == 0 && PyList_CheckExact(object) == 0) return nb::borrow(object);
    nb::list all;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      all.append((*this)(PySequence_Fast_GET_ITEM(object, i)));
    return PyList_CheckExact(object) != 0 ? nb::object(std::move(all)) : nb::object(nb::tuple(all));
  }

 private:
  const Array* next_;
};

struct Compiled : JitEntry {
  Compiled(EntryParts parts, TreeRef tree) : JitEntry(&tag, std::move(parts)), result(std::move(tree)) {}
  static inline const char tag = 0;
  TreeRef result;

  PyObject* call(std::span<const Array* const> arrays) const;
};

struct Kind {
  int calls = 0;
  std::shared_ptr<const Compiled> compiled;
  Objects objects;  // whose addresses are in the key
};

struct HashOfKey {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};

// A function, and what has become of its calls, kind by kind.
struct State {
  nb::object f;
  std::string name;
  std::unordered_map<std::string, Kind, HashOfKey, std::equal_to<>> kinds;
  int failed = 0;  // how many kinds could not be compiled, or need not be; -1 where any could
};

using Functions = Callable<State>;

std::size_t compiled_calls = 0, compilations = 0;

bool compiles = true;  // a setting of the user's

// In no trace, and by no rules of the user's.
bool runs_op_by_op() {
  return compiles && Scope::top() == nullptr && !watching() && rules_here() == nullptr &&
         numerics_here() == Numerics::relaxed;
}

PyObject* Compiled::call(std::span<const Array* const> arrays) const {
  ++compiled_calls;
  const CallFrame frame(frame_words());
  std::ranges::copy(arrays, frame.leaves());
  return tree_of_results(*result, results(), frame.results(leaves()), [&] {
    const NativeRun beside;
    run(frame.words(), 0);
  });
}

// What is large may be a view where it runs op by op.
bool is_small(const Program& program) {
  std::int64_t elements = 0;
  for (const Type& type : program.output_types()) {
    const Dim all = type.shape.elements();
    if (!all.known()) continue;  // found among the elements of the arguments
    if (all.value() > 4 * CallKind::most_elements) return false;
    elements += all.value();
  }
  return elements <= 4 * CallKind::most_elements;
}

// Of a call that has come often. Nothing where it looks at values, computes nothing, or gives something else than
// arrays, or large ones: what is wrong is told where it runs op by op.
std::shared_ptr<const Compiled> compile(const State& s, const CallKind& kind, const Given& given) {
  Arrays leaves;
  for (const Array* x : kind.arrays()) leaves.push_back(*x);
  TreeRef result;
  bool gives_arrays = true;
  const auto function = [&](std::span<const Array> in) {
    Rebuilt rebuilt(in);
    Objects args, parts;
    std::vector<PyObject*> places;
    for (std::size_t i = 0; i < given.count(); ++i) places.push_back(args.emplace_back(rebuilt(given.args[i])).ptr());
    const nb::object made = nb::steal(PyObject_Vectorcall(s.f.ptr(), places.data(), given.positional, given.names));
    if (!made) throw nb::python_error();
    result = flatten(made, parts);
    gives_arrays = std::ranges::all_of(parts, [](const nb::object& part) { return is_array(part.ptr()); });
    Arrays all;
    if (gives_arrays)
      for (const nb::object& part : parts) all.push_back(array_of(part.ptr()));
    return all;
  };
  try {
    const SourceScope place(Source(), s.name);
    EntryParts parts;
    parts.traced = trace_for_calls(function, leaves, parts.what_for, s.name);
    if (!gives_arrays || parts.traced.program->eqns().empty() || !is_small(*parts.traced.program)) return nullptr;
    parts.traced.program = as_op_by_op(parts.traced.program);
    parts.donation = {std::vector<bool>(leaves.size()), std::vector<std::size_t>(leaves.size())};
    parts.signature = Signature::of_leaves(leaves);
    auto made = std::make_shared<const Compiled>(std::move(parts), std::move(result));
    const NativeRun beside;
    made->prepare();
    return made;
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

struct Found {
  std::shared_ptr<const Compiled> compiled;
  bool may_be_compiled = false;  // later
};

// Calls of ever other numbers leave what is compiled.
void make_room(State& s) {
  std::erase_if(s.kinds, [](const auto& each) { return each.second.compiled == nullptr; });
  if (s.kinds.size() > most_kinds / 2) s.kinds.clear();
}

// What a call of this kind runs, compiled now if it has come often enough.
Found find(State& s, const CallKind& kind, const Given& given) {
  auto found = s.kinds.find(kind.key());
  if (found == s.kinds.end()) {
    if (s.kinds.size() == most_kinds) make_room(s);
    found = s.kinds.try_emplace(std::string(kind.key())).first;
    for (PyObject* object : kind.objects()) found->second.objects.push_back(nb::borrow(object));
  }
  if (found->second.compiled != nullptr) return {found->second.compiled, false};
  if (found->second.calls > before_compiling) return {};
  if (++found->second.calls <= before_compiling) return {nullptr, true};
  // Other threads, and the function itself, may call it meanwhile.
  std::shared_ptr<const Compiled> made = compile(s, kind, given);
  if (made != nullptr) {
    s.failed = -1;
    ++compilations;
    if (found = s.kinds.find(kind.key()); found != s.kinds.end()) found->second.compiled = made;
  } else if (s.failed >= 0) {
    ++s.failed;
  }
  return {std::move(made), false};
}

// While a function runs op by op that may be compiled as a whole, those that it calls are not compiled by themselves.
thread_local bool within_another = false;

bool tell(CallKind& kind, const Given& given) {
  if (!kind.tell(x64_enabled ? Py_True : Py_False)) return false;
  for (std::size_t i = 0; i < given.count(); ++i) {
    if (i >= given.positional && !kind.tell_object(given.keyword(i - given.positional))) return false;
    if (!kind.tell(given.args[i])) return false;
  }
  return true;
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t count, PyObject* names) {
  State& s = Functions::state(self);
  if (within_another || s.failed == enough_failed || !runs_op_by_op())
    return PyObject_Vectorcall(s.f.ptr(), args, count, names);
  const Given given{args, static_cast<std::size_t>(PyVectorcall_NARGS(count)), names};
  CallKind kind;
  if (!tell(kind, given)) return PyObject_Vectorcall(s.f.ptr(), args, count, names);
  Found found;
  PyObject* made = guarded([&]() -> PyObject* {
    found = find(s, kind, given);
    return found.compiled == nullptr ? nullptr : found.compiled->call(kind.arrays());
  });
  if (made != nullptr || PyErr_Occurred() != nullptr) return made;
  within_another = found.may_be_compiled;
  made = PyObject_Vectorcall(s.f.ptr(), args, count, names);
  within_another = false;
  return made;
}

PyObject* represent(PyObject* self) { return PyObject_Repr(Functions::state(self).f.ptr()); }
// By its name, as functions are.
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const nb::object f = Functions::state(self).f;
    const nb::tuple name = nb::make_tuple(f.attr("__module__"), f.attr("__qualname__"));
    return nb::make_tuple(nb::module_::import_("tenon._repeated").attr("of_name"), name).release().ptr();
  });
}

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// The kinds of all functions.
class RepeatedCalls final : public Cache {
 public:
  RepeatedCalls() { enlist(); }
  CacheInfo info() override {
    const nb::gil_scoped_acquire gil;
    CacheInfo sum{.name = "repeated calls", .bound = Functions::all().size() * most_kinds};
    for (PyObject* f : Functions::all()) sum.entries += Functions::state(f).kinds.size();
    sum.hits = compiled_calls;
    sum.misses = compilations;
    return sum;
  }
  void clear() override {
    const nb::gil_scoped_acquire gil;
    for (PyObject* f : Functions::all()) Functions::state(f).kinds.clear();
  }
};

}  // namespace

nb::object repeated(nb::object f) {
  auto made = std::make_unique<State>();
  made->name = nb::cast<std::string>(f.attr("__name__"));
  made->f = std::move(f);
  return Functions::make(made.release());
}

void add_repeated(nb::module_& module) {
  module.attr("Function") =
      Functions::make_type("tenon.Function", "A function of the package, of which calls that come often are compiled.",
                           call, {{Py_tp_methods, methods}, {Py_tp_repr, reinterpret_cast<void*>(represent)}});
  static auto* const cache = new RepeatedCalls();
  static_cast<void>(cache);
  module.def("repeated", repeated);
  module.def("compile_repeated_calls", [] { return compiles; });
  module.def("set_compile_repeated_calls", [](bool on) { compiles = on; });
}

}  // namespace tenon::python
