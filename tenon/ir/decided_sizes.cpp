#include "tenon/ir/decided_sizes.h"

#include <algorithm>

namespace tenon {

bool has_other_sizes(const Dim& dim, std::span<const SizeVar> given) {
  bool other = false;
  dim.visit_variables([&](SizeVar s) { other = other || std::ranges::find(given, s) == given.end(); });
  return other;
}
bool has_other_sizes(const Type& type, std::span<const SizeVar> given) {
  bool other = false;
  type.visit_dims([&](const Dim& d) { other = other || has_other_sizes(d, given); });
  return other;
}

bool has_decided_size(const Program& program, const Type& type) { return has_other_sizes(type, program.size_params()); }

std::vector<SizeVar> sizes_from(SizeVar from, std::span<const Type> types) {
  std::vector<SizeVar> sizes;
  for (const Type& type : types)
    type.visit_dims([&](const Dim& d) {
      d.visit_variables([&](SizeVar s) {
        if (s >= from && std::ranges::find(sizes, s) == sizes.end()) sizes.push_back(s);
      });
    });
  return sizes;
}

std::vector<Type> renumbered(std::span<const Type> types, std::span<const SizeVar> sizes, SizeVar from) {
  SizeBinding numbers;
  for (const SizeVar s : sizes) numbers.emplace(s, Dim::variable(from++));
  std::vector<Type> result;
  for (const Type& type : types) result.push_back(substitute(type, numbers));
  return result;
}

void OutsideSizes::see(const Type& type) {
  type.visit_dims([&](const Dim& d) {
    if (const auto s = bare_variable(d); s && !bound_.contains(*s)) bound_.emplace(*s, name_(d));
  });
}

Type OutsideSizes::type(const Type& type) {
  return type.map_dims([&](const Dim& d) {
    bool all_bound = true;
    d.visit_variables([&](SizeVar s) { all_bound = all_bound && bound_.contains(s); });
    if (all_bound) return substitute(d, bound_);
    for (const auto& [inside, outside] : wholes_)
      if (inside == d) return outside;
    return wholes_.emplace_back(d, name_(d)).second;
  });
}

}  // namespace tenon
