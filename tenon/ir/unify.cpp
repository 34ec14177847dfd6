#include "tenon/ir/unify.h"

namespace tenon {

std::optional<SizeVar> bare_variable(const Dim& dim) {
  if (dim.known()) return std::nullopt;
  std::optional<SizeVar> only;
  dim.visit_variables([&](SizeVar v) { only = v; });
  if (only && dim == Dim::variable(*only)) return only;
  return std::nullopt;
}

Dim substitute(const Dim& dim, const SizeBinding& binding) {
  if (dim.known() || binding.empty()) return dim;
  return dim.substitute([&](SizeVar v) {
    const auto found = binding.find(v);
    return found == binding.end() ? Dim::variable(v) : found->second;
  });
}

Type substitute(const Type& type, const SizeBinding& binding) {
  if (binding.empty()) return type;
  return type.map_dims([&](const Dim& d) { return substitute(d, binding); });
}

bool unify(const Type& pattern, const Type& given, SizeBinding& binding, SizeVar from) {
  if (pattern.kind != given.kind) return false;
  if (!pattern.is_array()) return unify(*pattern.element, *given.element, binding, from);
  if (pattern.dtype != given.dtype || pattern.rank() != given.rank()) return false;
  for (std::size_t i = 0; i < pattern.rank(); ++i) {
    if (pattern.shape[i].known()) {
      if (given.shape[i].known() && pattern.shape[i].value() != given.shape[i].value()) return false;
      continue;
    }
    const Dim wanted = substitute(pattern.shape[i], binding);
    if (wanted == given.shape[i]) continue;
    if (const auto v = bare_variable(wanted); v && *v >= from) {
      binding.emplace(*v, given.shape[i]);
      continue;
    }
    if (wanted.known() && given.shape[i].known()) return false;
  }
  return true;
}

}  // namespace tenon
