// Program: a closed, typed, immutable list of equations. What every transformation reads and builds.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"
#include "tenon/base/source.h"
#include "tenon/ir/params.h"
#include "tenon/ir/type.h"

namespace tenon {

struct OpInfo;

// Index into a Program's table of types.
using Var = std::uint32_t;

// How freely the arithmetic of one eqn may be reassociated; survives inlining.
enum class Numerics : std::uint8_t { relaxed, strict };

// Eqns that recompute a residual carry a scope of their own; no pass merges eqns of different scopes.
using RecomputeScope = std::uint32_t;

enum class Effect : std::uint8_t { none, accumulate, host };

struct Eqn {
  const OpInfo* op = nullptr;
  Params params;
  std::vector<Var> in;
  std::vector<Var> out;
  std::vector<SizeVar> new_sizes;  // sizes that this eqn's data decide
  Numerics numerics = Numerics::relaxed;
  RecomputeScope recompute = 0;
  Source where;  // the user's line; outside hashes and keys
};

struct ProgramParts {
  std::string name;
  std::vector<SizeVar> size_params;  // given by the caller before the inputs
  std::vector<Type> types;
  std::vector<Var> inputs;
  std::vector<Eqn> eqns;  // in the order of effects
  std::vector<Var> outputs;
};

// A size that the data of one variable decide: it is what the op named `key` finds in `of`.
struct SizeFact {
  std::string key;
  Var of;
  Dim size;
};

// No free variables: all it reads are its inputs and size parameters. Built by finish(), complete from then on.
class Program {
 public:
  // Renumbers variables and sizes into canonical order (inputs, then eqns), drops types that nothing uses, computes the
  // hash and the effects, and verifies. Throws VerifyError.
  static ProgramRef finish(ProgramParts parts);

  // The same with other sizes in its types and params, for who plans it: not in canonical form, and not verified.
  static ProgramRef with_sizes(const Program& program, MapDim by);

  const std::string& name() const { return parts_.name; }
  std::span<const SizeVar> size_params() const { return parts_.size_params; }
  std::span<const Var> inputs() const { return parts_.inputs; }
  std::span<const Eqn> eqns() const { return parts_.eqns; }
  std::span<const Var> outputs() const { return parts_.outputs; }
  std::size_t vars() const { return parts_.types.size(); }
  const Type& type(Var v) const { return parts_.types[v]; }
  std::vector<Type> input_types() const;
  std::vector<Type> output_types() const;
  Effect effect() const { return effect_; }
  // Which sizes the data of which variables decide; found again from the ops' rules, so no part of the form.
  std::span<const SizeFact> size_facts() const { return size_facts_; }
  const ProgramParts& parts() const { return parts_; }

  // Structural: names and places are outside. Equal hashes are taken for equal Programs.
  const Hash128& hash() const { return hash_; }

 private:
  explicit Program(ProgramParts parts);
  ProgramParts parts_;
  Hash128 hash_;
  Effect effect_ = Effect::none;
  std::vector<SizeFact> size_facts_;
};

// Of each variable: the eqn that makes it, null of inputs; and how often eqns and outputs read it.
std::vector<const Eqn*> makers_of(const Program& program);
std::vector<int> reads_of(const Program& program);
// The first eqn that is as asked, in regions and calls too; null where there is none.
const Eqn* find_eqn(const Program& program, FunctionRef<bool(const Eqn&)> is_it);

// Checks every rule of the form: each variable defined once before its use, types as the ops' rules give them, sizes
// bound, nested Programs closed. Throws VerifyError naming the eqn. Returns what the rules say about sizes that data
// decide.
std::vector<SizeFact> verify(const Program& program);

}  // namespace tenon
