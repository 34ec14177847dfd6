// jit: the path of a call. Its arguments are compared with the structure and types of specialisations that were there
// before; only what is new is flattened, hashed and traced.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "call.h"
#include "callable.h"
#include "dtypes.h"
#include "errors.h"
#include "executor.h"
#include "finite.h"
#include "functions.h"
#include "jit_entries.h"
#include "programs.h"
#include "refs.h"
#include "rewrites.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/explain.h"
#include "tenon/base/caches.h"
#include "tenon/compile/executable.h"
#include "tenon/ops/structure/collectives.h"
#include "text.h"

namespace tenon::python {

using namespace jitted;

namespace {

using JitFunctions = Callable<State>;

// The same run where results are looked through. What it was given is held beside, so that nothing donated is taken:
// the Program may have to run again.
void run_watched(const Entry& entry, const CallFrame& frame) {
  std::vector<Value> inputs, results;
  for (std::size_t i = 0; i < entry.leaves(); ++i) {
    const Array& leaf = *frame.leaves()[i];
    const Buffer* b = leaf.buffer();
    inputs.push_back(b != nullptr && entry.strict().in_place ? Value(b->contiguous_copy()) : leaf.value());
  }
  for (const Array& a : entry.traced().captures) inputs.push_back(a.value());
  {
    const NativeRun beside;
    entry.run(frame.words(), ~std::uint64_t(0));
  }
  for (std::size_t i = 0; i < entry.results(); ++i) results.push_back(frame.results(entry.leaves())[i]->value());
  std::vector<std::int64_t> sizes(entry.signature().sizes().axes.size());
  entry.signature().measure(frame.leaves(), sizes.data());
  note_program(entry.traced().program, sizes, inputs, results);
  for (const Value& result : results) require_finite(result);
}

// Runs native code on leaves that are in the frame, and makes the result's tree.
PyObject* run(const Entry& entry, const CallFrame& frame, std::span<const CellRef> cells) {
  const bool refs = entry.uses_refs();
  const std::size_t count = refs ? entry.traced().results() : entry.results();
  const auto native = [&] {
    if (watching()) [[unlikely]]
      return run_watched(entry, frame);
    const NativeRun beside;
    entry.run(frame.words(), ~std::uint64_t(0));
  };
  return tree_of_results(*entry.result, count, frame.results(entry.leaves()), [&] {
    if (refs) [[unlikely]]
      entry.run_with_refs(frame.words(), cells, native);
    else
      native();
  });
}

// Says once, when it has been compiled, which donated arrays are of no use.
void warn_of_donations(const State& s, const Entry& entry) {
  std::vector<std::size_t> in_vain;
  {
    const NativeRun beside;
    in_vain = entry.donated_in_vain();
  }
  if (in_vain.empty()) return;
  std::string types;
  for (const std::size_t i : in_vain)
    types += (types.empty() ? "" : ", ") + entry.signature().leaves()[i].type().text();
  const std::string text = fmt::format(
      "Some donated buffers were not usable: {}. No result of {} is made in their memory; they stay as they are.",
      types, s.name);
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
}

PyObject* call_new(State& s, const Given& given) {
  const SourceScope place(user_line(), "jit");
  Flattened flat = flatten_call(s, given);
  EntryRef alone;
  const Entry& entry = find(s, flat, alone, true);
  if (Scope::of_operands(flat.leaves) != nullptr)
    return unflatten_arrays(*entry.result, entry.bind(flat.leaves, flat.cells)).release().ptr();
  if (alone == nullptr || !entry.borrowed()) s.note(std::static_pointer_cast<const Entry>(entry.shared_from_this()));
  if (alone != nullptr) warn_of_donations(s, entry);
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
    State& s = JitFunctions::state(self);
    const Using here(s);
    const Given given{args, static_cast<std::size_t>(PyVectorcall_NARGS(count)), names};
    if (Scope::top() == nullptr) {
      for (std::size_t i = 0; i < s.recent.size(); ++i) {
        const Entry* const entry = s.recent[i].get();
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

std::vector<nb::object> interned(nb::handle names) {
  std::vector<nb::object> all;
  for (nb::handle name : nb::iter(names)) all.push_back(nb::borrow(name));
  return all;
}

nb::object make(nb::object f, std::string name, std::vector<std::size_t> static_numbers, nb::handle static_names,
                std::vector<std::size_t> donated_numbers, nb::handle donated_names, bool strict_in_place,
                bool strict_native, bool inlined, const std::string& sizes, nb::handle named_numbers,
                nb::handle named_names) {
  auto made = std::make_unique<State>();
  made->f = std::move(f);
  made->name = std::move(name);
  made->options = {std::move(static_numbers),
                   std::move(donated_numbers),
                   interned(static_names),
                   interned(donated_names),
                   Strict{strict_in_place, strict_native},
                   inlined,
                   sizes == "fixed"      ? Sizes::fixed
                   : sizes == "symbolic" ? Sizes::symbolic
                                         : Sizes::automatic};
  const auto axes_of = [](nb::handle names) {
    std::vector<std::string> all;
    for (nb::handle name : nb::iter(names)) all.push_back(name.is_none() ? "" : nb::cast<std::string>(name));
    return all;
  };
  for (auto [number, names] : nb::borrow<nb::dict>(named_numbers))
    made->options.numbers_sizes.emplace_back(nb::cast<std::size_t>(number), axes_of(names));
  for (auto [name, names] : nb::borrow<nb::dict>(named_names))
    made->options.names_sizes.emplace_back(nb::borrow(name), axes_of(names));
  return JitFunctions::make(made.release());
}

// The rules in force, and numerics, of a function that has just been made.
void set_rewrites(nb::handle f, nb::handle rules, bool strict) {
  Options& options = JitFunctions::state(f).options;
  options.rules = api_detail::with_rules_here(rules_of(rules));
  options.numerics = strict ? Numerics::strict : numerics_here();
}

void clear_cache(nb::handle f) { JitFunctions::state(f).clear(); }

// Their specialisations.
class Traces final : public Cache {
 public:
  Traces() { enlist(); }
  CacheInfo info() override {
    const nb::gil_scoped_acquire gil;
    CacheInfo sum{.name = "traces", .bound = JitFunctions::all().size() * api_detail::EntryTable::bound};
    std::size_t calls = State::calls_of_ended;
    sum.misses = State::traces_of_ended;
    for (PyObject* f : JitFunctions::all()) {
      const State& s = JitFunctions::state(f);
      sum.entries += s.table.size();
      sum.misses += s.notes.traces();
      calls += s.calls;
    }
    sum.hits = calls - std::min(calls, sum.misses);
    return sum;
  }
  void clear() override {
    const nb::gil_scoped_acquire gil;
    std::vector<nb::object> all;  // what ends with an entry may end functions
    for (PyObject* f : JitFunctions::all()) all.push_back(nb::borrow(f));
    for (const nb::object& f : all) clear_cache(f);
  }
};

// (name, entries, bound, hits, misses, bytes) of each kind of cache.
nb::list cache_infos() {
  nb::list all;
  for (const CacheInfo& i : cache_info())
    all.append(nb::make_tuple(i.name, i.entries, i.bound, i.hits, i.misses, i.bytes));
  return all;
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
  std::shared_ptr<const Entry> entry;

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
  State& s = JitFunctions::state(f);
  const Using here(s);
  Flattened flat = flatten_call(s, args, kwargs);
  EntryRef alone;
  const bool vary = s.options.sizes == Sizes::symbolic || s.options.has_named_sizes();
  return {std::static_pointer_cast<const Entry>(find(s, flat, alone, vary).shared_from_this())};
}

// Of a jitted function, its state; of any other, one that is made for one call.
std::string explained(nb::object f, nb::args args, const nb::kwargs& kwargs) {
  std::unique_ptr<State> own;
  State* s = nullptr;
  if (JitFunctions::is(f)) {
    s = &JitFunctions::state(f);
  } else {
    own = std::make_unique<State>();
    own->f = std::move(f);
    own->name = nb::hasattr(own->f, "__name__") ? str_of(nb::object(own->f.attr("__name__"))) : "";
    own->options.rules = api_detail::rules_here(), own->options.numerics = numerics_here();
    s = own.get();
  }
  const SourceScope place(user_line(), "explain");
  Flattened flat = flatten_call(*s, args, kwargs);
  TreeRef out;
  api_detail::TracingReport tracing;
  std::optional<TracedFor> what_for;
  TracedFunction traced;
  with_integers(*s, flat, [&] { traced = trace(*s, flat, flat.cells, out, what_for, nullptr); });
  return api_detail::explain_traced(traced, flat.donated, std::move(tracing.report));
}

}  // namespace

void add_jit(nb::module_& module) {
  module.attr("JitFunction") = JitFunctions::make_type(
      "tenon.JitFunction", "A function that is compiled for each kind of arguments: what tn.jit returns.", call);
  module.def("jit", make);
  module.def("set_rewrites", set_rewrites);
  nb::class_<Specialisation>(module, "Specialisation")
      .def_prop_ro("program", [](const Specialisation& s) { return PyProgram{s.entry->traced().program}; })
      .def("result", &Specialisation::result)
      .def("prepare", [](const Specialisation& s) {
        const NativeRun beside;
        s.entry->prepare();
      });
  module.def("specialise", specialise);
  module.def("clear_cache", clear_cache);
  static auto* const traces = new Traces();
  static_cast<void>(traces);
  module.def("clear_caches", clear_caches);
  module.def("cache_infos", cache_infos);
  module.def("explain", explained);
}

}  // namespace tenon::python
