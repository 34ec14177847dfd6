// Binding of size variables by matching a Type that has them against one that is given.
#pragma once

#include <map>

#include "tenon/ir/type.h"

namespace tenon {

using SizeBinding = std::map<SizeVar, Dim>;

// Matches `pattern` against `given`: a bare variable numbered from `from` on that is not bound yet is bound; everything
// else, once substituted, must be equal to what is given or not decidable. False: the types can never agree.
bool unify(const Type& pattern, const Type& given, SizeBinding& binding, SizeVar from = 0);

Dim substitute(const Dim& dim, const SizeBinding& binding);  // unbound variables stay
Type substitute(const Type& type, const SizeBinding& binding);

// The variable of a Dim that is just a variable.
std::optional<SizeVar> bare_variable(const Dim& dim);

}  // namespace tenon
