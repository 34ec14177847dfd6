#include "jit_entries.h"

#include <fmt/format.h>

#include "dtypes.h"
#include "executor.h"
#include "tenon/api/open_traces.h"
#include "text.h"
#include "traced_forms.h"

namespace tenon::python::jitted {
namespace {

[[noreturn]] void throw_unhashable(const State& s, const CallForm::Slot& slot, std::size_t number) {
  PyErr_Clear();
  const std::string which = slot.keyword ? str_of(slot.keyword) : std::to_string(number);
  throw TreeError(fmt::format("jit: the static argument {} of {} is {}, of type {}, which is not hashable.", which,
                              s.name, repr_of(slot.value).substr(0, 60), class_of(slot.value)),
                  "A static argument is a key of what was compiled: give a tuple instead of a list, or leave it out of "
                  "static_argnums where it holds arrays.");
}

}  // namespace

Flattened flatten_call(const State& s, const Given& given) {
  Flattened flat;
  flat.form.positional = given.positional;
  flat.form.x64 = x64_enabled;
  std::vector<TreeRef> trees;
  Hasher hasher;
  const auto add = [&](CallForm::Slot slot, PyObject* object, bool donated, std::size_t number,
                       const std::vector<std::string>* sizes) {
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
      if (sizes != nullptr) flat.named_sizes.push_back({flat.counts.size(), *sizes});
      flat.counts.push_back(tree.leaves.size());
      for (std::size_t i = 0; i < tree.leaves.size(); ++i) flat.donated.push_back(donated);
      flat.leaves.insert(flat.leaves.end(), tree.leaves.begin(), tree.leaves.end());
      trees.push_back(std::move(tree.tree));
    }
    flat.form.slots.push_back(std::move(slot));
  };
  for (std::size_t i = 0; i < given.positional; ++i)
    add({.is_static = s.options.is_static(i)}, given.args[i], s.options.is_donated(i), i, s.options.named_sizes(i));
  std::vector<std::pair<nb::object, PyObject*>> keywords;
  for (std::size_t i = 0; i < given.keywords(); ++i)
    keywords.emplace_back(nb::borrow(given.keyword(i)), given.args[given.positional + i]);
  std::ranges::sort(keywords,
                    [](const auto& a, const auto& b) { return PyUnicode_Compare(a.first.ptr(), b.first.ptr()) < 0; });
  for (const auto& [keyword, object] : keywords) {
    hasher(static_cast<std::int64_t>(PyObject_Hash(keyword.ptr())));
    add({.keyword = keyword, .is_static = s.options.is_static(keyword.ptr())}, object,
        s.options.is_donated(keyword.ptr()), 0, s.options.named_sizes(keyword.ptr()));
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
  const Hash128 around = hasher.finish();
  Hasher whole, form;
  whole(around);
  form("any sizes")(around);
  for (const Array& a : flat.leaves) {
    whole(a.weak());
    a.type().hash(whole);
    api_detail::hash_form(a, form);
  }
  flat.plain_hash = whole.finish().low;
  flat.plain_form_hash = form.finish().low;
  if (const auto found = s.integers.find(flat.plain_form_hash); found != s.integers.end())
    for (const std::size_t leaf : found->second)
      if (const auto value = leaf < flat.leaves.size() ? integer_of(flat.leaves[leaf]) : std::nullopt)
        flat.form.integers.emplace_back(leaf, *value);
  flat.hash_integers();
  return flat;
}

void Flattened::hash_integers() {
  const auto with = [&](std::uint64_t plain) {
    if (form.integers.empty()) return plain;
    Hasher h;
    h(plain);
    for (const auto& [leaf, value] : form.integers) h(leaf)(value);
    return h.finish().low;
  };
  hash = with(plain_hash);
  form_hash = with(plain_form_hash);
}

namespace {

// What Python raised. Where functions call themselves deeper than its stack, that is told with their names.
[[noreturn]] void throw_raised() {
  nb::python_error raised;
  const nb::object told = nb::module_::import_("tenon.errors").attr("Error");
  if (raised.matches(PyExc_RecursionError) && !raised.matches(told))
    api_detail::OpenTrace::refuse_recursion("jit: functions call each other deeper than Python's stack.");
  throw raised;  // NOLINT(cert-err60-cpp)
}

// Calls the function with leaves and references in place of those of the form.
nb::object call_with(const State& s, const CallForm& form, std::span<const Array> leaves,
                     std::span<const CellRef> cells) {
  nb::object args = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(form.positional)));
  nb::dict kwargs;
  struct {
    const Array* leaf;
    const CellRef* cell;
    const std::vector<std::pair<std::size_t, std::int64_t>>& integers;
    std::size_t number = 0, next_integer = 0;
    PyObject* operator()() {
      const Array& given = *leaf++;
      if (next_integer == integers.size() || integers[next_integer].first != number++) return new_array(given);
      return PyLong_FromLongLong(integers[next_integer++].second);
    }
    PyObject* reference() {
      Ref ref;
      ref.rebind(*cell++);
      return reference_object(std::move(ref)).release().ptr();
    }
  } next{leaves.data(), cells.data(), form.integers};
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
  if (result == nullptr) throw_raised();
  return nb::steal(result);
}

bool same_form(const CallForm& a, const CallForm& b) {
  if (a.positional != b.positional || a.x64 != b.x64 || a.slots.size() != b.slots.size() || !(*a.trees == *b.trees) ||
      a.references != b.references || a.axes != b.axes || a.integers != b.integers)
    return false;
  for (std::size_t i = 0; i < a.slots.size(); ++i) {
    const CallForm::Slot &x = a.slots[i], &y = b.slots[i];
    if (x.is_static != y.is_static || x.keyword.is_valid() != y.keyword.is_valid()) return false;
    if (x.keyword.is_valid() && !same_objects(x.keyword.ptr(), y.keyword.ptr())) return false;
    if (x.is_static && !same_statics(x.value.ptr(), y.value.ptr())) return false;
  }
  return true;
}

bool same_call(const Flattened& a, const Flattened& b) {
  const auto same = [](const Array& x, const Array& y) { return x.weak() == y.weak() && x.type() == y.type(); };
  return same_form(a.form, b.form) && std::ranges::equal(a.leaves, b.leaves, same);
}

// Of what is no error, such as KeyboardInterrupt, nothing.
std::optional<std::string> why_not_traced(const std::exception& error) {
  if (asked_integer()) return std::nullopt;  // it is traced again for this value
  const auto* raised = dynamic_cast<const nb::python_error*>(&error);
  if (raised == nullptr) return error.what();
  if (!raised->matches(PyExc_Exception)) return std::nullopt;
  return class_of(raised->value()) + ": " + str_of(raised->value());
}

}  // namespace

const Label& State::label() {
  if (!known_label) known_label = label_of(f, name);
  return *known_label;
}

TracedFunction trace(State& s, Flattened& flat, std::span<const CellRef> cells, TreeRef& out,
                     std::optional<TracedFor>& what_for, api_detail::SizeVariables* sizes) {
  const api_detail::OpenTrace open(&s, s.label().name, flat.hash, &flat, flat.leaves, [&](const void* other) {
    return same_call(flat, *static_cast<const Flattened*>(other));
  });
  const auto function = [&](std::span<const Array> in) {
    flat.scope = Scope::top()->serial();
    FlatTree result = flat_arrays("jit", "what the function returns", call_with(s, flat.form, in, cells));
    refuse_references("jit", "what the function returns", *result.tree);
    out = result.tree;
    return std::move(result.leaves);
  };
  const auto leaves = [&] { return leaf_names(flat.form, s.label()); };
  const api_detail::SizeNames names = api_detail::SizeNames::of(flat.named_sizes, flat.counts, flat.leaves);
  names.require_agreement(flat.leaves, leaves);
  TracedFunction traced = api_detail::traced_by_rules(s.options.rules, s.options.numerics, [&] {
    return sizes == nullptr ? api_detail::trace_for_calls(function, flat.leaves, what_for, s.name)
                            : api_detail::trace_for_sizes(
                                  function, flat.leaves,
                                  {s.options.sizes, &s.sizes, flat.form_hash, &names, s.name, leaves, why_not_traced},
                                  *sizes, what_for, s.name);
  });
  if (s.options.inlined) traced.placement = Placement::inlined;
  return traced;
}

namespace {

const Entry& find_traced(State& s, Flattened& flat, EntryRef& alone, bool vary) {
  vary = vary && Scope::top() == nullptr;
  std::vector<const Array*> places;
  for (const Array& a : flat.leaves) places.push_back(&a);
  const auto matches = [&](const JitEntry& e) {
    const auto& entry = static_cast<const Entry&>(e);
    const std::span<const LeafType> types = entry.signature().leaves();
    if (types.size() != flat.leaves.size() || (e.is_sized() && !vary) || !same_form(entry.form, flat.form))
      return false;
    for (std::size_t i = 0; i < types.size(); ++i)
      if (!types[i].matches(flat.leaves[i])) return false;
    return e.signature().sizes_agree(places.data()) && e.traced_for(places);
  };
  if (const JitEntry* found = s.table.find(flat.hash, matches)) return static_cast<const Entry&>(*found);
  if (vary)
    if (const JitEntry* found = s.table.find(flat.form_hash, matches)) return static_cast<const Entry&>(*found);
  note_trace(s, flat);
  TreeRef out;
  api_detail::EntryParts parts;
  for (const CellRef& cell : flat.cells) parts.passed.push_back(api_detail::stand_in(cell));
  api_detail::SizeVariables sizes;
  parts.traced = trace(s, flat, parts.passed, out, parts.what_for, vary ? &sizes : nullptr);
  // Every argument is given as a variable: to the library they are one.
  parts.donation = {flat.donated, std::vector<std::size_t>(flat.leaves.size(), 0)};
  parts.strict = s.options.strict;
  parts.hash = sizes.empty() ? flat.hash : flat.form_hash;
  parts.signature = Signature::of_leaves(flat.leaves).with_sizes(flat.leaves, std::move(sizes));
  CallForm form = flat.form;
  form.trees = form.trees->with_own_statics();
  auto made = std::make_shared<Entry>(std::move(parts), std::move(form), out);
  if (made->is_sized() && s.options.sizes != Sizes::symbolic && !s.options.has_named_sizes()) {
    const bool kept = [&] {
      const NativeRun beside;
      return made->keeps_promises();
    }();
    if (!kept) {
      s.sizes.fix(flat.form_hash, made->signature().sizes());
      return find_traced(s, flat, alone, false);
    }
  }
  alone = made;
  if (made->borrowed()) return *made;
  const JitEntry* const kept = s.table.keep(made, matches);
  if (auto gone = s.table.take_gone(); !gone.empty()) s.gone.push_back(std::move(gone));
  return static_cast<const Entry&>(*kept);
}

}  // namespace

void with_integers(State& s, Flattened& flat, FunctionRef<void()> trace) {
  const auto argument = [&](const AskedInteger& asked) -> const Array* {
    if (asked.scope != flat.scope || asked.input >= flat.leaves.size()) return nullptr;
    const Array& leaf = flat.leaves[asked.input];
    return leaf.traced() != nullptr || integer_of(leaf) ? &leaf : nullptr;
  };
  const KnownIntegers known(argument);
  for (;;) {
    try {
      asked_integer().reset();
      return trace();
    } catch (const std::exception&) {
      const auto asked = std::exchange(asked_integer(), std::nullopt);
      const bool ours = asked && asked->scope == flat.scope && asked->input < flat.leaves.size();
      const Array* const leaf = ours ? &flat.leaves[asked->input] : nullptr;
      const auto value = ours ? integer_of(*leaf) : std::nullopt;
      if (!value || !s.integers[flat.plain_form_hash].insert(asked->input).second) {
        // A function around this one may know it.
        if (!ours)
          asked_integer() = asked;
        else if (const Traced* outer = leaf->traced(); outer != nullptr && Scope::open(*outer))
          note_asked_integer(*outer);
        throw;
      }
      flat.form.integers.emplace_back(asked->input, *value);
      std::ranges::sort(flat.form.integers);
      flat.hash_integers();
    }
  }
}

const Entry& find(State& s, Flattened& flat, EntryRef& alone, bool vary) {
  const Entry* found = nullptr;
  with_integers(s, flat, [&] { found = &find_traced(s, flat, alone, vary); });
  return *found;
}

}  // namespace tenon::python::jitted
