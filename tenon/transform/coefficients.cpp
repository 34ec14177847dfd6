#include "tenon/transform/coefficients.h"

#include <algorithm>
#include <utility>

#include "tenon/ir/replay.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

class Collect {
 public:
  Collect(const ProgramRef& program, const Mask& known_in) : program_(*program), known_(program->vars(), false) {
    for (std::size_t i = 0; i < known_in.size(); ++i) known_[program_.inputs()[i]] = known_in[i];
    multiples_.resize(program_.vars());
  }

  // Empty: nothing was gained.
  ProgramRef run() {
    Scope scope;
    const std::vector<Dim> sizes = scope.size_params_of(program_);
    Replay replay(program_, sizes);
    for (Var v : program_.inputs()) replay.set(v, scope.input(replay.type(v)));
    for (const Eqn& eqn : program_.eqns()) step(eqn, replay);
    Arrays outputs;
    for (Var v : program_.outputs()) outputs.push_back(value(v, replay));
    return gained_ ? scope.finish(outputs, program_.name()).program : nullptr;
  }

 private:
  // ±coefficient·base; no coefficient: 1. `links`: eqns of the chain, of which more than `many` are not told apart: a
  // sum doubles them.
  static constexpr int many = 2;
  struct Multiple {
    Var base;
    MaybeArray coefficient;
    bool negated = false;
    int links = 0;
    const Eqn* eqn = nullptr;  // the last link
  };

  void step(const Eqn& eqn, Replay& replay) {
    Mask unknown;
    for (Var v : eqn.in) unknown.push_back(!known_[v]);
    if (std::ranges::find(unknown, true) == unknown.end()) {
      for (Var v : eqn.out) known_[v] = true;
      return replay.bind_eqn(eqn);
    }
    if (eqn.op->split) {
      const Mask out = eqn.op->split->reach(eqn.params, unknown, recurse());
      for (std::size_t i = 0; i < out.size(); ++i) known_[eqn.out[i]] = !out[i];
    }
    if (has_tangent(program_.type(eqn.out[0]))) {
      const EqnScope place(eqn);
      if (auto multiple = link(eqn, unknown, replay)) {
        multiple->eqn = &eqn;
        multiples_[eqn.out[0]] = std::move(multiple);
        return;
      }
    }
    bind(eqn, replay);
  }

  std::optional<Multiple> link(const Eqn& eqn, const Mask& unknown, const Replay& replay) const {
    if (!is_elementwise(eqn)) return std::nullopt;
    const ElementForm form = element_form(program_, eqn);
    if (form.of_one == kernel::Unary::neg) {
      Multiple m = multiple(eqn.in[0]);
      m.negated = !m.negated;
      m.links = std::min(m.links + 1, many);
      return m;
    }
    if (form.of_two == kernel::Binary::mul && unknown[0] != unknown[1]) {
      Multiple m = multiple(eqn.in[unknown[0] ? 0 : 1]);
      const Array& factor = replay.get(eqn.in[unknown[0] ? 1 : 0]);
      m.coefficient = m.coefficient ? *m.coefficient * factor : factor;
      m.links = std::min(m.links + 1, many);
      return m;
    }
    const bool adds = form.of_two == kernel::Binary::add, subtracts = form.of_two == kernel::Binary::sub;
    if ((adds || subtracts) && unknown[0] && unknown[1]) {
      const Multiple x = multiple(eqn.in[0]), y = multiple(eqn.in[1]);
      if (x.base != y.base) return std::nullopt;
      const Array one = ones_like(replay.type(eqn.out[0]));
      const Array a = x.coefficient.value_or(one), b = y.coefficient.value_or(one);
      const bool minus = subtracts != (x.negated != y.negated);
      return Multiple{x.base, minus ? a - b : a + b, x.negated, std::min(x.links + y.links + 1, many), nullptr};
    }
    return std::nullopt;
  }

  Multiple multiple(Var v) const { return multiples_[v] ? *multiples_[v] : Multiple{v, {}, false, 0, nullptr}; }

  // A chain of one link stays as it is.
  const Array& value(Var v, Replay& replay) {
    if (!multiples_[v]) return replay.get(v);
    const Multiple m = *std::exchange(multiples_[v], std::nullopt);
    const EqnScope place(*m.eqn);
    if (m.links < many) {
      replay.bind_eqn(*m.eqn);
      return replay.get(v);
    }
    gained_ = true;
    const Array& base = value(m.base, replay);
    const Array product = m.coefficient ? base * *m.coefficient : base;
    replay.set(v, m.negated ? -product : product);
    return replay.get(v);
  }

  void bind(const Eqn& eqn, Replay& replay) {
    for (Var v : eqn.in) value(v, replay);
    replay.bind_eqn(eqn);
  }

  const Program& program_;
  std::vector<bool> known_;
  std::vector<std::optional<Multiple>> multiples_;  // of unknown variables that nothing has needed as they are yet
  bool gained_ = false;
};

}  // namespace

ProgramRef collect_coefficients(const ProgramRef& program, const Mask& known_in) {
  static constinit Memo<ProgramRef> memo;
  Hasher h;
  h("coefficients")(program->hash());
  hash_mask(h, known_in);
  return memo.get(h.finish(), [&] {
    const ProgramRef collected = Collect(program, known_in).run();
    return collected ? collected : program;
  });
}

}  // namespace tenon
