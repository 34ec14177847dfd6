#include "tenon/ir/origins.h"

#include <fmt/format.h>

#include "tenon/ir/scope.h"

namespace tenon {
namespace {

// What the line in force made of an array on the way, such as a broadcast, is none of the user's.
const Eqn* asked_for(const Scope& scope, Var v, const Source& here) {
  const Eqn* eqn = scope.maker(v);
  while (eqn != nullptr && eqn->where == here && !eqn->in.empty()) v = eqn->in[0], eqn = scope.maker(v);
  return eqn;
}

}  // namespace

std::string lines_of(std::span<const Array> arrays) {
  const Source& here = SourceScope::current();
  std::string text;
  bool any = false, verb = true;
  for (const Array& array : arrays) {
    const Traced* traced = array.traced();
    if (traced == nullptr || !Scope::open(*traced)) continue;
    const Scope& scope = Scope::of(*traced);
    const Eqn* eqn = asked_for(scope, traced->var, here);
    const bool made = eqn != nullptr && eqn->where.known() && eqn->where != here;
    if (eqn != nullptr && !made) continue;
    any = any || made;
    text += text.empty() ? " " : ", ";
    text += made ? fmt::format("{}{} {}", array.type().text(), std::exchange(verb, false) ? " was made at" : " at",
                               eqn->where.text())
                 : fmt::format("{} is an argument", array.type().text());
  }
  return any ? text + "." : "";
}

}  // namespace tenon
