// What a function made by jit is made of: its options, and a specialisation for each kind of arguments.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>

#include "array.h"
#include "callable.h"
#include "dtypes.h"
#include "functions.h"
#include "operands.h"
#include "refs.h"
#include "shapes.h"
#include "tenon/api/jit.h"
#include "tenon/ops/structure/collectives.h"
#include "trees.h"

namespace tenon::python::jitted {

using api_detail::CallFrame;
using api_detail::CellRef;
using api_detail::EntryRef;
using api_detail::JitEntry;
using api_detail::LeafType;
using api_detail::Signature;
using api_detail::Strict;

// Which arguments are static, which are donated: by number or by name.
struct Options {
  std::vector<std::size_t> static_numbers, donated_numbers;
  std::vector<nb::object> static_names, donated_names;
  Strict strict = {};
  bool inlined = false;  // its calls in other traces
  Sizes sizes = Sizes::automatic;
  RuleSetRef rules = {};  // null where there are none
  Numerics numerics = Numerics::relaxed;
  // Names for sizes of the axes of arguments.
  std::vector<std::pair<std::size_t, std::vector<std::string>>> numbers_sizes = {};
  std::vector<std::pair<nb::object, std::vector<std::string>>> names_sizes = {};
  const std::vector<std::string>* named_sizes(std::size_t number) const {
    const auto found = std::ranges::find(numbers_sizes, number, [](const auto& each) { return each.first; });
    return found == numbers_sizes.end() ? nullptr : &found->second;
  }
  const std::vector<std::string>* named_sizes(PyObject* name) const {
    const auto found =
        std::ranges::find_if(names_sizes, [&](const auto& each) { return same_objects(each.first.ptr(), name); });
    return found == names_sizes.end() ? nullptr : &found->second;
  }
  bool has_named_sizes() const { return !numbers_sizes.empty() || !names_sizes.empty(); }
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
  // Of leaves that are ints of Python's: those whose values the function asks for, as sizes, and so gets as ints.
  std::vector<std::pair<std::size_t, std::int64_t>> integers;
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

// The value of an int of Python's.
inline std::optional<std::int64_t> integer_of(const Array& leaf) {
  const Scalar* number = leaf.number();
  if (number == nullptr || !leaf.weak() || !is_integer(number->dtype())) return std::nullopt;
  return number->convert(DType::i64).as<std::int64_t>();
}

struct Entry : JitEntry {
  Entry(api_detail::EntryParts parts, CallForm call, TreeRef out)
      : JitEntry(&tag, std::move(parts)), form(std::move(call)), result(std::move(out)) {}
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
    for (const auto& [leaf, value] : form.integers)
      if (integer_of(*leaves[leaf]) != value) return false;
    return signature().sizes_agree(leaves);
  }
};

// How messages name a function and its arguments.
struct Label {
  api_detail::FunctionName name;
  std::vector<std::string> parameters;  // the positional ones
  std::string rest;                     // "args" of *args
  bool of_package = false;              // nothing is told of its traces
  std::string parameter(std::size_t i) const;
};

// A jitted function: its options and specialisations.
struct State {
  nb::object f;
  std::string name;
  Options options;
  api_detail::EntryTable table;
  std::array<std::shared_ptr<const Entry>, 4> recent{};  // the last ones used, the latest first
  // Calls that run, and what left the table or the recent ones meanwhile: it may be in use.
  std::size_t running = 0, calls = 0;
  std::vector<api_detail::EntryTable::Gone> gone;
  std::vector<EntryRef> gone_recent;
  api_detail::TraceNotes notes;
  api_detail::SizeHistory sizes;
  std::unordered_map<std::uint64_t, std::set<std::size_t>> integers;  // of each form, the leaves that are CallForm's
  std::optional<Label> known_label;

  // Of those that have ended.
  static inline std::size_t calls_of_ended = 0, traces_of_ended = 0;
  ~State() { calls_of_ended += calls, traces_of_ended += notes.traces(); }

  const Label& label();
  void clear() {
    for (auto& entry : recent) gone_recent.push_back(std::exchange(entry, nullptr));
    table.clear();
    gone.push_back(table.take_gone());
    drop();
  }
  void drop() {
    if (running > 0 || (gone.empty() && gone_recent.empty())) return;
    const auto all = std::exchange(gone, {});  // what ends with them may call this function
    const auto recent = std::exchange(gone_recent, {});
  }

  void note(std::shared_ptr<const Entry> entry) {
    for (auto& place : recent) {
      std::swap(place, entry);
      if (entry == nullptr || entry == recent[0]) return;
    }
    gone_recent.push_back(std::move(entry));
  }
};

// While it lives, no entry of the function's is taken away.
struct Using {
  State& state;
  explicit Using(State& s) : state(s) { ++state.running, ++state.calls; }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;
  ~Using() {
    --state.running;
    state.drop();
  }
};

// A call taken apart, where no specialisation was found at once.
struct Flattened {
  CallForm form;
  Arrays leaves;
  std::vector<CellRef> cells;                         // of references
  std::vector<bool> donated;                          // of the leaves
  std::uint64_t hash = 0, form_hash = 0;              // the second whatever sizes are that may vary
  std::uint64_t plain_hash = 0, plain_form_hash = 0;  // the same without CallForm's integers
  std::uint64_t scope = 0;                            // of its trace
  // Takes their values with it.
  void hash_integers();
  // Of the arguments that are not static.
  std::vector<std::size_t> counts;
  std::vector<NamedSizes> named_sizes;
};

// Throws TreeError where a static argument is not hashable.
Flattened flatten_call(const State& s, const Given& given);
// Calls the function as it is traced. `cells`: what stands for the references of the call; `out`: the result's tree.
// With `sizes`, those that it finds to vary are variables.
TracedFunction trace(State& s, Flattened& flat, std::span<const CellRef> cells, TreeRef& out,
                     std::optional<TracedFor>& what_for, api_detail::SizeVariables* sizes);
// Calls trace(), and once more where it has asked for the value of an int of the arguments, as a size, which is one
// from then on.
void with_integers(State& s, Flattened& flat, FunctionRef<void()> trace);
// The specialisation for a call; what is good for this call alone is kept by `alone`. With `vary`, sizes may be
// variables.
const Entry& find(State& s, Flattened& flat, EntryRef& alone, bool vary);

}  // namespace tenon::python::jitted
