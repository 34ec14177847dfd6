// Types that are described with Boost.Describe as trees, with their bases and the names of their fields:
// BOOST_DESCRIBE_STRUCT(Model, (Base), (weights, bias)). Include it beside tenon.h where you use them.
#pragma once

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include "tenon/api/tree.h"
#include "tenon/base/fork.h"

namespace tenon::tree {

template <class T>
  requires boost::describe::has_describe_members<T>::value
struct Fields<T> {
  using Members =
      boost::describe::describe_members<T, boost::describe::mod_any_access | boost::describe::mod_inherited>;

  template <class U>
  static auto tie_all(U& value) {
    return boost::mp11::mp_apply<Of, Members>::tie(value);
  }
  static auto tie(T& value) { return tie_all(value); }
  static auto tie(const T& value) { return tie_all(value); }
  static const char* names() {
    static constinit Lasting<const std::string> all;
    const auto made = [] {
      std::string text;
      boost::mp11::mp_for_each<Members>(
          [&](auto member) { text += (text.empty() ? "" : ", ") + std::string(member.name); });
      return text;
    };
    return all.get(made).c_str();
  }

 private:
  template <class... Member>
  struct Of {
    template <class U>
    static auto tie(U& value) {
      return std::tie(value.*Member::pointer...);
    }
  };
};

}  // namespace tenon::tree
