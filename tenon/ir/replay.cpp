#include "tenon/ir/replay.h"

#include <fmt/format.h>

#include <utility>

namespace tenon {

Replay::Replay(const Program& program, std::span<const Dim> sizes) : program_(program), env_(program.vars()) {
  if (sizes.size() != program.size_params().size())
    throw VerifyError(fmt::format("Program {} takes {} sizes, {} are given.", program.name(),
                                  program.size_params().size(), sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes_.emplace(program.size_params()[i], sizes[i]);
}

void Replay::set(Var var, Array array) {
  env_[var] = std::move(array);
  Scope* scope = Scope::top();
  if (scope == nullptr) return;
  // Where a size is known that this variable's data decide, ops that ask for it again get the same one.
  for (const SizeFact& fact : program_.size_facts()) {
    if (fact.of != var) continue;
    const Dim size = substitute(fact.size, sizes_);
    if (const auto unbound = bare_variable(fact.size); unbound && sizes_.find(*unbound) == sizes_.end()) continue;
    scope->note_data_size(fact.key, env_[var], size);
  }
}

Arrays Replay::operands(const Eqn& eqn) const {
  Arrays operands;
  operands.reserve(eqn.in.size());
  for (Var v : eqn.in) operands.push_back(env_[v]);
  return operands;
}

Params Replay::params(const Eqn& eqn) const {
  if (sizes_.empty()) return eqn.params;
  return eqn.params.map_dims([&](const Dim& d) { return substitute(d, sizes_); });
}

Type Replay::type(Var var) const { return substitute(program_.type(var), sizes_); }

void Replay::bind_sizes(const Eqn& eqn, std::span<const Array> results) {
  if (eqn.new_sizes.empty()) return;
  for (std::size_t i = 0; i < eqn.out.size() && i < results.size(); ++i) bind_sizes(eqn.out[i], results[i]);
}

void Replay::bind_sizes(const Type& of, const Type& result) {
  if (!unify(of, result, sizes_))
    throw VerifyError(fmt::format("Program {}: replayed with results of another type.", program_.name()));
}

void Replay::bind_eqn(const Eqn& eqn) {
  const EqnScope scope(eqn);
  set_results(eqn, bind_op(*eqn.op, params(eqn), operands(eqn)));
}

void Replay::bind_eqn(const Eqn& eqn, FunctionRef<ProgramRef(const ProgramRef&)> region) {
  const EqnScope scope(eqn);
  const Params mapped = params(eqn).map_programs([&](const ProgramRef& p) { return p ? region(p) : p; });
  set_results(eqn, bind_op(*eqn.op, mapped, operands(eqn)));
}

void Replay::set_results(const Eqn& eqn, std::span<const Array> results) {
  bind_sizes(eqn, results);
  for (std::size_t i = 0; i < eqn.out.size(); ++i) set(eqn.out[i], results[i]);
}

EqnScope::EqnScope(const Eqn& eqn) : place_(eqn.where), scope_(Scope::top()) {
  if (scope_ == nullptr) return;
  numerics_ = std::exchange(scope_->numerics, std::max(scope_->numerics, eqn.numerics));
  recompute_ = scope_->recompute;
  if (eqn.recompute != 0) scope_->recompute = eqn.recompute;
}

EqnScope::~EqnScope() {
  if (scope_ == nullptr) return;
  scope_->numerics = numerics_;
  scope_->recompute = recompute_;
}

ProgramRef rewritten(const Program& program, FunctionRef<void(Replay&)> bind_eqns) {
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(program);
  Replay replay(program, sizes);
  for (Var v : program.inputs()) replay.set(v, scope.input(replay.type(v)));
  bind_eqns(replay);
  Arrays outputs;
  for (Var v : program.outputs()) outputs.push_back(replay.get(v));
  return scope.finish(outputs, program.name()).program;
}

Arrays inline_program(const Program& program, std::span<const Dim> sizes, std::span<const Array> inputs) {
  if (inputs.size() != program.inputs().size())
    throw VerifyError(fmt::format("Program {} takes {} inputs, {} are given.", program.name(), program.inputs().size(),
                                  inputs.size()));
  Replay replay(program, sizes);
  for (std::size_t i = 0; i < inputs.size(); ++i) replay.set(program.inputs()[i], inputs[i]);
  for (const Eqn& eqn : program.eqns()) replay.bind_eqn(eqn);
  Arrays outputs;
  for (Var v : program.outputs()) outputs.push_back(replay.get(v));
  return outputs;
}

}  // namespace tenon
