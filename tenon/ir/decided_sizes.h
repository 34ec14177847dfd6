// Sizes that a Program's own data decide: whoever applies it learns them only from its results.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ir/unify.h"

namespace tenon {

// Whether a size, or a type, has other sizes than those given and numbers.
bool has_other_sizes(const Dim& dim, std::span<const SizeVar> given);
bool has_other_sizes(const Type& type, std::span<const SizeVar> given);

// Whether a type of the Program has a size that its data decide.
bool has_decided_size(const Program& program, const Type& type);

// The sizes numbered from `from` on that types mention, each once, in the order in which they do.
std::vector<SizeVar> sizes_from(SizeVar from, std::span<const Type> types);
// The types with these sizes numbered `from`, `from` + 1, …
std::vector<Type> renumbered(std::span<const Type> types, std::span<const SizeVar> sizes, SizeVar from);

// Types of a Program as whoever sees only some of its values may write them. A variable that nothing binds is named
// anew where one of these values shows it by itself; else the sizes that have it are named as a whole, since no value
// could tell it.
class OutsideSizes {
 public:
  // `name` gives the new name of a size of the Program.
  OutsideSizes(SizeBinding bound, std::function<Dim(const Dim&)> name)
      : bound_(std::move(bound)), name_(std::move(name)) {}
  // First of all types that are seen; then each of them.
  void see(const Type& type);
  Type type(const Type& type);
  const SizeBinding& bound() const { return bound_; }  // those that are shown, too

 private:
  SizeBinding bound_;
  std::function<Dim(const Dim&)> name_;
  std::vector<std::pair<Dim, Dim>> wholes_;
};

}  // namespace tenon
