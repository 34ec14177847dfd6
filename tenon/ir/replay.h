// Replay: rebinding the eqns of a Program into the top scope, which is how every transformation reads one.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/ir/bind.h"
#include "tenon/ir/unify.h"

namespace tenon {

// Maps the variables and sizes of one Program to handles and Dims of the scope it is replayed into.
class Replay {
 public:
  // Sizes: one Dim a size parameter.
  Replay(const Program& program, std::span<const Dim> sizes);
  // With all sizes of another replay of the same Program, those that data decided included.
  explicit Replay(const Replay& sizes_of, const Program& program)
      : program_(program), sizes_(sizes_of.sizes_), env_(program.vars()) {}

  const Program& program() const { return program_; }
  void set(Var var, Array array);
  const Array& get(Var var) const { return env_[var]; }
  Arrays operands(const Eqn& eqn) const;
  Params params(const Eqn& eqn) const;  // with sizes mapped
  Type type(Var var) const;             // with sizes mapped
  Type type(const Type& of) const { return substitute(of, sizes_); }
  const SizeBinding& sizes() const { return sizes_; }
  bool knows(SizeVar size) const { return sizes_.contains(size); }
  Dim size(SizeVar size) const { return substitute(Dim::variable(size), sizes_); }
  // Notes what the new sizes of an eqn became, from its results here.
  void bind_sizes(const Eqn& eqn, std::span<const Array> results);
  void bind_sizes(Var var, const Array& result) { bind_sizes(program_.type(var), result); }
  void bind_sizes(const Type& of, const Array& result) { bind_sizes(of, result.type()); }
  void bind_sizes(const Type& of, const Type& result);
  void bind_size(SizeVar size, const Dim& dim) { sizes_.emplace(size, dim); }
  // Of an eqn, with its new sizes; what stands behind its own results is left.
  void set_results(const Eqn& eqn, std::span<const Array> results);
  // Binds one eqn as it is, or with `region` of each Program in its params, and sets its results.
  void bind_eqn(const Eqn& eqn);
  void bind_eqn(const Eqn& eqn, FunctionRef<ProgramRef(const ProgramRef&)> region);

 private:
  const Program& program_;
  SizeBinding sizes_;
  std::vector<Array> env_;
};

// Applies an eqn's place, numerics and recompute scope to what is bound while it lives.
class EqnScope {
 public:
  explicit EqnScope(const Eqn& eqn);
  ~EqnScope();
  EqnScope(const EqnScope&) = delete;
  EqnScope& operator=(const EqnScope&) = delete;

 private:
  SourceOverride place_;
  Scope* scope_;
  Numerics numerics_ = Numerics::relaxed;
  RecomputeScope recompute_ = 0;
};

// The Program with other eqns: bind_eqns makes its outputs of its inputs, which are set.
ProgramRef rewritten(const Program& program, FunctionRef<void(Replay&)> bind_eqns);

// The outputs of a Program applied to handles, eqn by eqn, in the top scope (or eagerly without one).
Arrays inline_program(const Program& program, std::span<const Dim> sizes, std::span<const Array> inputs);

}  // namespace tenon
