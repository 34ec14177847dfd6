// Derives everything that is done with an op's params from one Boost.Describe description of their fields:
//   struct ReduceParams { std::vector<std::int64_t> axes; };
//   BOOST_DESCRIBE_STRUCT(ReduceParams, (), (axes))
// Include it where ops are defined, never in a public header.
#pragma once

#include <bit>
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <optional>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/shape.h"
#include "tenon/ir/params.h"
#include "tenon/ir/program.h"
#include "tenon/ir/scalar.h"
#include "tenon/ir/type.h"

namespace tenon {
namespace describe {

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {
  using item = T;
};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {
  using item = T;
};

template <class T, class F>
void each_field(const T& value, F&& f) {
  boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>(
      [&](auto d) { f(d.name, value.*d.pointer); });
}

// --- equality by bits, hash ---
template <class T>
bool equal(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  else if constexpr (std::is_same_v<T, ProgramRef>)
    return a == b || (a && b && a->hash() == b->hash());
  else if constexpr (is_vector<T>::value) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!equal<typename is_vector<T>::item>(a[i], b[i])) return false;
    return true;
  } else if constexpr (is_optional<T>::value)
    return a.has_value() == b.has_value() && (!a || equal(*a, *b));
  else if constexpr (boost::describe::has_describe_members<T>::value) {
    bool same = true;
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>(
        [&](auto d) { same = same && equal(a.*d.pointer, b.*d.pointer); });
    return same;
  } else
    return a == b;
}

template <class T>
void hash(const T& value, Hasher& h) {
  if constexpr (std::is_same_v<T, ProgramRef>) {
    if (value)
      h(value->hash());
    else
      h(0);
  } else if constexpr (std::is_same_v<T, Dim> || std::is_same_v<T, Scalar> || std::is_same_v<T, Type>)
    value.hash(h);
  else if constexpr (std::is_same_v<T, Shape>) {
    h(value.rank());
    for (const Dim& d : value) d.hash(h);
  } else if constexpr (std::is_same_v<T, std::string>)
    h(std::string_view(value));
  else if constexpr (is_vector<T>::value) {
    h(value.size());
    for (const typename is_vector<T>::item& item : value) hash(item, h);
  } else if constexpr (is_optional<T>::value) {
    h(value.has_value());
    if (value) hash(*value, h);
  } else if constexpr (boost::describe::has_describe_members<T>::value)
    each_field(value, [&](const char*, const auto& field) { hash(field, h); });
  else
    h(value);
}

// --- maps over Dims and Programs ---
template <class T>
void map(T& value, MapDim dims, MapProgram programs) {
  if constexpr (std::is_same_v<T, Dim>) {
    if (dims) value = dims(value);
  } else if constexpr (std::is_same_v<T, Shape>) {
    if (dims)
      for (std::size_t i = 0; i < value.rank(); ++i) value[i] = dims(value[i]);
  } else if constexpr (std::is_same_v<T, Type>) {
    if (dims) value = value.map_dims(dims);
  } else if constexpr (std::is_same_v<T, ProgramRef>) {
    if (programs && value) value = programs(value);
  } else if constexpr (is_vector<T>::value) {
    if constexpr (!std::is_same_v<typename is_vector<T>::item, bool>)
      for (auto& item : value) map(item, dims, programs);
  } else if constexpr (is_optional<T>::value) {
    if (value) map(*value, dims, programs);
  } else if constexpr (boost::describe::has_describe_members<T>::value)
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>(
        [&](auto d) { map(value.*d.pointer, dims, programs); });
}

// --- text ---
template <class T>
void write(const T& value, ParamsWriter& out) {
  if constexpr (std::is_same_v<T, bool>)
    out.boolean(value);
  else if constexpr (std::is_same_v<T, double>)
    out.real(value);
  else if constexpr (std::is_same_v<T, std::string>)
    out.text(value);
  else if constexpr (std::is_same_v<T, DType>)
    out.word(name(value));
  else if constexpr (std::is_same_v<T, Dim>)
    out.dim(value);
  else if constexpr (std::is_same_v<T, Scalar>)
    out.scalar(value);
  else if constexpr (std::is_same_v<T, Type>)
    out.type(value);
  else if constexpr (std::is_same_v<T, Shape>)
    write(value.dims(), out);
  else if constexpr (std::is_same_v<T, ProgramRef>)
    out.program(value);
  else if constexpr (std::is_integral_v<T>)
    out.integer(static_cast<std::int64_t>(value));
  else if constexpr (std::is_enum_v<T>)
    out.word(boost::describe::enum_to_string(value, "?"));
  else if constexpr (is_vector<T>::value) {
    out.begin_list();
    for (const typename is_vector<T>::item& item : value) {
      out.item();
      write(item, out);
    }
    out.end_list();
  } else if constexpr (is_optional<T>::value) {
    if (value)
      write(*value, out);
    else
      out.nothing();
  } else {
    static_assert(boost::describe::has_describe_members<T>::value, "describe this field type for params");
    out.begin_list();
    each_field(value, [&](const char*, const auto& field) {
      out.item();
      write(field, out);
    });
    out.end_list();
  }
}

template <class T>
T read(ParamsReader& in) {
  if constexpr (std::is_same_v<T, bool>)
    return in.boolean();
  else if constexpr (std::is_same_v<T, double>)
    return in.real();
  else if constexpr (std::is_same_v<T, std::string>)
    return in.text();
  else if constexpr (std::is_same_v<T, DType>) {
    const std::string word = in.word();
    const auto dtype = dtype_from_name(word);
    if (!dtype) in.fail("'" + word + "' is not a dtype.");
    return *dtype;
  } else if constexpr (std::is_same_v<T, Dim>)
    return in.dim();
  else if constexpr (std::is_same_v<T, Scalar>)
    return in.scalar();
  else if constexpr (std::is_same_v<T, Type>)
    return in.type();
  else if constexpr (std::is_same_v<T, Shape>)
    return Shape(read<std::vector<Dim>>(in));
  else if constexpr (std::is_same_v<T, ProgramRef>)
    return in.program();
  else if constexpr (std::is_integral_v<T>) {
    const std::int64_t value = in.integer();
    if (static_cast<std::int64_t>(static_cast<T>(value)) != value)
      in.fail(std::to_string(value) + " does not fit in this parameter.");
    return static_cast<T>(value);
  } else if constexpr (std::is_enum_v<T>) {
    const std::string word = in.word();
    T value{};
    if (!boost::describe::enum_from_string(word.c_str(), value))
      in.fail("'" + word + "' is not one of the choices here.");
    return value;
  } else if constexpr (is_vector<T>::value) {
    T value;
    in.begin_list();
    while (in.item()) value.push_back(read<typename is_vector<T>::item>(in));
    return value;
  } else if constexpr (is_optional<T>::value) {
    if (in.nothing()) return std::nullopt;
    return read<typename is_optional<T>::item>(in);
  } else {
    T value{};
    in.begin_list();
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>([&](auto d) {
      if (!in.item()) in.fail("a field is missing.");
      value.*d.pointer = read<std::remove_cvref_t<decltype(value.*d.pointer)>>(in);
    });
    if (in.item()) in.fail("one field too many.");
    return value;
  }
}

template <class T>
inline const ParamsOps params_ops{
    .type = &typeid(T),
    .equal = [](const void* a, const void* b) { return equal(*static_cast<const T*>(a), *static_cast<const T*>(b)); },
    .hash = [](const void* v, Hasher& h) { hash(*static_cast<const T*>(v), h); },
    .map_dims = [](const void* v, MapDim by) -> std::shared_ptr<const void> {
      auto copy = std::make_shared<T>(*static_cast<const T*>(v));
      describe::map(*copy, by, {});
      return copy;
    },
    .map_programs = [](const void* v, MapProgram by) -> std::shared_ptr<const void> {
      auto copy = std::make_shared<T>(*static_cast<const T*>(v));
      describe::map(*copy, {}, by);
      return copy;
    },
    .visit_dims =
        [](const void* v, FunctionRef<void(const Dim&)> seen) {
          T copy = *static_cast<const T*>(v);
          const auto see = [&](const Dim& d) { return seen(d), d; };
          describe::map(copy, see, {});
        },
    .visit_programs =
        [](const void* v, FunctionRef<void(const ProgramRef&)> seen) {
          T copy = *static_cast<const T*>(v);
          const auto see = [&](const ProgramRef& p) { return seen(p), p; };
          describe::map(copy, {}, see);
        },
    .write =
        [](const void* v, ParamsWriter& out) {
          each_field(*static_cast<const T*>(v), [&](const char* name, const auto& field) {
            out.field(name);
            write(field, out);
          });
        },
    .read = [](ParamsReader& in) -> std::shared_ptr<const void> {
      auto value = std::make_shared<T>();
      boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>([&](auto d) {
        in.field(d.name);
        (*value).*d.pointer = read<std::remove_cvref_t<decltype((*value).*d.pointer)>>(in);
      });
      return value;
    },
    .names =
        [] {
          std::string names;
          boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_any_access>>(
              [&](auto d) { names += (names.empty() ? "" : ", ") + std::string(d.name); });
          return names;
        },
};

}  // namespace describe

template <class T>
Params make_params(T value) {
  return Params(describe::params_ops<T>, std::make_shared<const T>(std::move(value)));
}

}  // namespace tenon
