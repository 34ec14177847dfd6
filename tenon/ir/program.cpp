#include "tenon/ir/program.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "tenon/base/error.h"
#include "tenon/ir/op.h"

namespace tenon {
namespace {

constexpr Var unset = ~Var(0);

// Gives every variable and size its place in canonical order: inputs, then eqns, as they come.
class Renumbering {
 public:
  explicit Renumbering(ProgramParts& parts) : parts_(parts), vars_(parts.types.size(), unset) {}

  void run() {
    for (SizeVar& s : parts_.size_params) s = define_size(s);
    for (Var& v : parts_.inputs) v = define(v);
    for (Eqn& eqn : parts_.eqns) {
      for (Var& v : eqn.in) v = use(v, eqn);
      for (SizeVar& s : eqn.new_sizes) s = define_size(s);
      if (has_variables(eqn.params)) eqn.params = eqn.params.map_dims([&](const Dim& d) { return map(d); });
      for (Var& v : eqn.out) v = define(v);
    }
    for (Var& v : parts_.outputs) {
      if (v >= vars_.size() || vars_[v] == unset)
        throw VerifyError(fmt::format("Program {}: an output is not defined.", parts_.name));
      v = vars_[v];
    }
    parts_.types = std::move(types_);
  }

 private:
  Var define(Var v) {
    if (v >= vars_.size() || vars_[v] != unset)
      throw VerifyError(fmt::format("Program {}: variable {} is defined twice or has no type.", parts_.name, v));
    vars_[v] = static_cast<Var>(types_.size());
    const Type& type = parts_.types[v];
    types_.push_back(has_variables(type) ? type.map_dims([&](const Dim& d) { return map(d); }) : type);
    return vars_[v];
  }
  Var use(Var v, const Eqn& eqn) {
    if (v >= vars_.size() || vars_[v] == unset)
      throw VerifyError(
          fmt::format("Program {}: {} reads a variable that is not defined before it.", parts_.name, eqn.op->name));
    return vars_[v];
  }
  SizeVar define_size(SizeVar s) {
    const auto [at, fresh] = sizes_.emplace(s, static_cast<SizeVar>(sizes_.size()));
    if (!fresh) throw VerifyError(fmt::format("Program {}: a size is defined twice.", parts_.name));
    return at->second;
  }
  template <class Holder>
  static bool has_variables(const Holder& holder) {
    bool any = false;
    holder.visit_dims([&](const Dim& d) { any = any || !d.known(); });
    return any;
  }
  Dim map(const Dim& d) const {
    if (d.known()) return d;
    return d.substitute([&](SizeVar s) {
      const auto found = sizes_.find(s);
      if (found == sizes_.end())
        throw VerifyError(
            fmt::format("Program {}: a size is used that neither a parameter nor an eqn defines.", parts_.name));
      return Dim::variable(found->second);
    });
  }

  ProgramParts& parts_;
  std::vector<Var> vars_;
  std::vector<Type> types_;
  std::unordered_map<SizeVar, SizeVar> sizes_;
};

Hash128 structural_hash(const ProgramParts& parts) {
  Hasher h;
  h(parts.size_params.size())(parts.inputs.size())(parts.eqns.size())(parts.outputs.size());
  for (const Type& type : parts.types) type.hash(h);
  for (const Eqn& eqn : parts.eqns) {
    h(eqn.op->name);
    eqn.params.hash(h);
    h(eqn.in.size());
    for (Var v : eqn.in) h(v);
    h(eqn.out.size())(eqn.new_sizes.size())(eqn.numerics)(eqn.recompute);
  }
  for (Var v : parts.outputs) h(v);
  return h.finish();
}

const Eqn* find_eqn_but_in(const Program& program, FunctionRef<bool(const Eqn&)> is_it,
                           std::unordered_set<const Program*>& seen) {
  const Eqn* found = nullptr;
  for (const Eqn& eqn : program.eqns()) {
    if (is_it(eqn)) return &eqn;
    eqn.params.visit_programs([&](const ProgramRef& inside) {
      if (inside && found == nullptr && seen.insert(inside.get()).second) found = find_eqn_but_in(*inside, is_it, seen);
    });
    if (found != nullptr) break;
  }
  return found;
}

}  // namespace

Program::Program(ProgramParts parts) : parts_(std::move(parts)), hash_(structural_hash(parts_)) {}

ProgramRef Program::finish(ProgramParts parts) {
  Renumbering(parts).run();
  std::shared_ptr<Program> program(new Program(std::move(parts)));
  program->size_facts_ = verify(*program);
  for (const Eqn& eqn : program->eqns()) program->effect_ = std::max(program->effect_, effect_of(eqn));
  return program;
}

ProgramRef Program::with_sizes(const Program& program, MapDim by) {
  ProgramParts parts = program.parts_;
  for (Type& type : parts.types) type = type.map_dims(by);
  for (Eqn& eqn : parts.eqns) eqn.params = eqn.params.map_dims(by);
  std::shared_ptr<Program> result(new Program(std::move(parts)));
  result->effect_ = program.effect_;
  return result;
}

std::vector<Type> Program::input_types() const {
  std::vector<Type> types;
  for (Var v : inputs()) types.push_back(type(v));
  return types;
}

std::vector<Type> Program::output_types() const {
  std::vector<Type> types;
  for (Var v : outputs()) types.push_back(type(v));
  return types;
}

std::vector<const Eqn*> makers_of(const Program& program) {
  std::vector<const Eqn*> makers(program.vars(), nullptr);
  for (const Eqn& eqn : program.eqns())
    for (const Var v : eqn.out) makers[v] = &eqn;
  return makers;
}

std::vector<int> reads_of(const Program& program) {
  std::vector<int> reads(program.vars(), 0);
  for (const Eqn& eqn : program.eqns())
    for (const Var v : eqn.in) ++reads[v];
  for (const Var v : program.outputs()) ++reads[v];
  return reads;
}

const Eqn* find_eqn(const Program& program, FunctionRef<bool(const Eqn&)> is_it) {
  std::unordered_set<const Program*> seen;  // once each: calls share Programs
  return find_eqn_but_in(program, is_it, seen);
}

}  // namespace tenon
