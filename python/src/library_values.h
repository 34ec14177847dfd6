// How the arguments and results of the library's functions pass between Python and C++, type by type. The bindings that
// tools/functions/bindings.py writes are made of it.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "axes.h"
#include "call.h"
#include "compiled_call.h"
#include "dtypes.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "shapes.h"
#include "tenon/api/histograms.h"

namespace tenon::python {

// The names of a choice in Python.
template <class Choice>
struct Choices;

// Who asks for an argument.
struct Asked {
  const char* function;
  const char* parameter;
};

[[noreturn]] void throw_not_taken(const Asked& asked, const char* what, nb::handle given);  // TypeError

// An argument of type T: what Python gives, kept while the function runs, and passed on.
template <class T>
struct Argument;

template <>
struct Argument<Operand> {
  using Kept = Array;
  static Array taken(const Asked& asked, nb::handle given) { return operand(asked.function, given); }
  static Operand passed(const Array& x) { return op(x); }
};
template <>
struct Argument<Array> {
  using Kept = Array;
  static Array taken(const Asked& asked, nb::handle given) { return operand(asked.function, given); }
  static const Array& passed(const Array& x) { return x; }
};

// What is passed as it is kept.
template <class T>
struct Same {
  using Kept = T;
  static const T& passed(const T& kept) { return kept; }
};
template <>
struct Argument<std::int64_t> : Same<std::int64_t> {
  static std::int64_t taken(const Asked& asked, nb::handle given);
};
template <>
struct Argument<bool> : Same<bool> {
  static bool taken(const Asked& asked, nb::handle given);
};
template <>
struct Argument<double> : Same<double> {
  static double taken(const Asked& asked, nb::handle given);
};
template <>
struct Argument<std::string> : Same<std::string> {
  static std::string taken(const Asked& asked, nb::handle given);
};
template <>
struct Argument<std::string_view> : Argument<std::string> {};
template <>
struct Argument<DType> : Same<DType> {
  static DType taken(const Asked&, nb::handle given) { return canonical(dtype_from(given)); }
};
template <>
struct Argument<Dim> : Same<Dim> {
  static Dim taken(const Asked&, nb::handle given) { return dim_from(given); }
};
template <>
struct Argument<Shape> : Same<Shape> {
  static Shape taken(const Asked&, nb::handle given) { return shape_from(given); }
};
template <>
struct Argument<std::vector<Dim>> : Same<std::vector<Dim>> {
  static std::vector<Dim> taken(const Asked&, nb::handle given) { return shape_from(given).dims(); }
};
template <>
struct Argument<std::vector<std::int64_t>> : Same<std::vector<std::int64_t>> {
  static std::vector<std::int64_t> taken(const Asked&, nb::handle given) { return integers_from(given); }
};
template <class Choice>
  requires std::is_enum_v<Choice>
struct Argument<Choice> : Same<Choice> {
  static Choice taken(const Asked& asked, nb::handle given) {
    const std::string name = Argument<std::string>::taken(asked, given);
    return by_name(asked.function, asked.parameter, Choices<Choice>::all, name);
  }
};
// Nothing, where Python says None.
template <class T>
struct Argument<std::optional<T>> {
  using Kept = std::optional<typename Argument<T>::Kept>;
  static Kept taken(const Asked& asked, nb::handle given) {
    return given.is_none() ? Kept() : Kept(Argument<T>::taken(asked, given));
  }
  static const Kept& passed(const Kept& kept) { return kept; }
};

template <class T>
struct Argument<std::vector<T>> : Same<std::vector<T>> {
  static std::vector<T> taken(const Asked& asked, nb::handle given) {
    std::vector<T> all;
    for (const nb::handle each : nb::iter(given)) all.push_back(Argument<T>::taken(asked, each));
    return all;
  }
};
template <class T>
struct Argument<std::span<const T>> : Argument<std::vector<T>> {};
void require_members(const Asked& asked, nb::handle given, std::size_t count);
template <class A, class B>
struct Argument<std::pair<A, B>> : Same<std::pair<A, B>> {
  static std::pair<A, B> taken(const Asked& asked, nb::handle given) {
    require_members(asked, given, 2);
    return {Argument<A>::taken(asked, given[0]), Argument<B>::taken(asked, given[1])};
  }
};
// A name, or pairs.
template <class Choice, class A, class B>
  requires std::is_enum_v<Choice>
struct Argument<std::variant<Choice, std::vector<std::pair<A, B>>>>
    : Same<std::variant<Choice, std::vector<std::pair<A, B>>>> {
  static std::variant<Choice, std::vector<std::pair<A, B>>> taken(const Asked& asked, nb::handle given) {
    if (!nb::isinstance<nb::str>(given)) return Argument<std::vector<std::pair<A, B>>>::taken(asked, given);
    const std::string name = Argument<std::string>::taken(asked, given);
    return by_name(asked.function, asked.parameter, Choices<Choice>::all, name, ", or pairs");
  }
};
// A function of Python's.
template <>
struct Argument<std::function<Array(const Array&)>> : Same<std::function<Array(const Array&)>> {
  static std::function<Array(const Array&)> taken(const Asked& asked, nb::handle given);
};
// A name, or a function.
template <class Choice>
  requires std::is_enum_v<Choice>
struct Argument<std::variant<Choice, std::function<Array(const Array&)>>>
    : Same<std::variant<Choice, std::function<Array(const Array&)>>> {
  static std::variant<Choice, std::function<Array(const Array&)>> taken(const Asked& asked, nb::handle given) {
    if (PyCallable_Check(given.ptr())) return Argument<std::function<Array(const Array&)>>::taken(asked, given);
    return Argument<Choice>::taken(asked, given);
  }
};
template <>
struct Argument<Bins> : Same<Bins> {
  static Bins taken(const Asked& asked, nb::handle given);
};

template <class T>
using Kept = typename Argument<T>::Kept;
template <class T>
Kept<T> taken(const Asked& asked, nb::handle given) {
  return Argument<T>::taken(asked, given);
}
template <class T>
decltype(auto) passed(const Kept<T>& kept) {
  return Argument<T>::passed(kept);
}
// A member of a function's options stays what it is where Python says None.
template <class T>
void set(T& member, const Asked& asked, nb::handle given) {
  if (!given.is_none()) member = Argument<T>::taken(asked, given);
}

// Whether an object may be meant for a parameter, where functions of one name differ in its type.
template <class T>
bool fits(nb::handle given) {
  if constexpr (std::same_as<T, Operand> || std::same_as<T, Array>)
    return true;
  else if constexpr (std::same_as<T, Dim> || std::same_as<T, std::int64_t>)
    return PyLong_Check(given.ptr()) || is_dim(given);  // NumPy's numbers are arrays
  else
    return !is_array(given.ptr());
}
template <class T>
void require_fits(nb::handle given) {
  if (!fits<T>(given)) throw nb::next_overload();
}

// None of an array that is not there: it was not asked for.
inline nb::object object_of(const Array& made) { return made.empty() ? nb::none() : array_object(made); }
inline nb::object object_of(const std::pair<Array, Array>& made) { return nb::make_tuple(made.first, made.second); }
inline nb::object object_of(bool made) { return nb::bool_(made); }
inline nb::object object_of(std::int64_t made) { return nb::int_(made); }
inline nb::object object_of(const Dim& made) { return dim_object(made); }
inline nb::object object_of(DType made) { return numpy_dtype(made); }
template <class T>
nb::object object_of(const std::optional<T>& made) {
  return made ? object_of(*made) : nb::none();
}
template <class T>
nb::object object_of(const std::vector<T>& made) {
  nb::list all;
  for (const T& each : made) all.append(object_of(each));
  return all;
}
// A record's members, in their order.
template <class... Member>
nb::object tuple_of(const Member&... members) {
  return nb::make_tuple(object_of(members)...);
}

}  // namespace tenon::python
