// Padding as Python gives it: a word, or pairs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "tenon/api/convolution.h"

namespace tenon::python {

using Pads = std::vector<std::pair<std::int64_t, std::int64_t>>;
using PaddingLike = std::variant<std::string, Pads>;

inline std::variant<Padding, Pads> padding_from(const char* name, const PaddingLike& padding) {
  if (const auto* pads = std::get_if<Pads>(&padding)) return *pads;
  const auto& kind = std::get<std::string>(padding);
  if (kind == "SAME") return Padding::same;
  if (kind == "SAME_LOWER") return Padding::same_lower;
  if (kind == "VALID") return Padding::valid;
  throw nanobind::value_error(
      (std::string(name) + ": padding is SAME, SAME_LOWER, VALID or pairs, not " + kind + ".").c_str());
}

}  // namespace tenon::python
