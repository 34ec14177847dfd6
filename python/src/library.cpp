#include "library.h"

namespace tenon::python {

nb::module_ space_of(nb::module_& module, std::string_view space) {
  nb::module_ at = module;
  while (!space.empty()) {
    const std::size_t end = space.find("::");
    const std::string name(space.substr(0, end));
    at = at.def_submodule(name.c_str());
    space.remove_prefix(end == std::string_view::npos ? space.size() : end + 2);
  }
  return at;
}

}  // namespace tenon::python
