// Choices that Python names by strings.
#pragma once

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "errors.h"

namespace tenon::python {

template <class Choice>
struct Named {
  const char* name;
  Choice choice;
};

// The choice of this name. Throws OptionError, which says what the function's argument may be: one of the choices, or
// `otherwise`.
template <class Choice, std::size_t n>
Choice by_name(std::string_view function, std::string_view argument, const Named<Choice> (&choices)[n],
               std::string_view name, std::string_view otherwise = {}) {
  std::string all;
  for (const Named<Choice>& each : choices) {
    if (name == each.name) return each.choice;
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", each.name);
  }
  throw_option_error(fmt::format("{}: {} is '{}'; it is one of {}{}.", function, argument, name, all, otherwise));
}

}  // namespace tenon::python
