#include "tenon/rewrite/share_calls.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"
#include "tenon/base/stack.h"
#include "tenon/ops/structure.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

std::optional<LowerCall::Callee> callee_of(const Eqn& eqn) {
  const auto* call = rule_of<LowerCall>(*eqn.op);
  return call == nullptr ? std::nullopt : std::optional(call->rule(eqn.params));
}

bool updates_in_place(const Eqn& eqn) {
  using Kind = LowerStructure::Kind;
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  return structure != nullptr && (structure->kind == Kind::update_slice || structure->kind == Kind::scatter);
}

bool has_lists(const Program& program) {
  return std::ranges::any_of(program.parts().types, [](const Type& type) { return !type.is_array(); });
}

// A function that can be compiled by itself.
bool stands_alone(const Program& program) {
  return program.size_params().empty() && !has_lists(program) &&
         find_eqn(program, [](const Eqn& eqn) {
           bool not_alone = !eqn.new_sizes.empty() || updates_in_place(eqn);
           eqn.params.visit_programs([&](const ProgramRef& inside) {
             not_alone = not_alone || (inside && (has_lists(*inside) || !inside->size_params().empty()));
           });
           return not_alone;
         }) == nullptr;
}

double elements(const Program& program, std::span<const Var> vars) {
  double sum = 0;
  for (const Var v : vars) {
    const Dim n = program.type(v).is_array() ? program.type(v).shape.elements() : Dim(0);
    sum += n.known() ? static_cast<double>(n.value()) : 0;
  }
  return sum;
}

// Operations of an eqn that calls nothing, to an order of magnitude.
double work_of(const Program& program, const Eqn& eqn) {
  const double in = elements(program, eqn.in), out = elements(program, eqn.out);
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  if (structure != nullptr && structure->kind == LowerStructure::Kind::product && eqn.in.size() == 2)
    return std::sqrt(elements(program, {&eqn.in[0], 1}) * elements(program, {&eqn.in[1], 1}) * out);  // m·n·k
  return std::max(in, out);
}

// The functions that a Program calls, and the bodies of its loops and branches: what they are once all is inlined.
class Functions {
 public:
  explicit Functions(const ProgramRef& program) {
    add(program);
    of_.at(program->hash()).times = 1;
    for (auto each = order_.rbegin(); each != order_.rend(); ++each) count_calls(**each);
  }
  bool any_stays() const {
    return std::ranges::any_of(of_, [](const auto& each) { return each.second.stays; });
  }
  // Of one that was not there before others were inlined: no.
  bool stays(const Program& program) const {
    const auto found = of_.find(program.hash());
    return found != of_.end() && found->second.stays;
  }

 private:
  struct Function {
    double eqns = 0, work = 0, times = 0;  // times: that eqns mention it
    bool called = false, stays = false;
  };

  // What is within comes first.
  const Function& add(const ProgramRef& program) {
    if (const auto found = of_.find(program->hash()); found != of_.end()) return found->second;
    require_stack();
    Function f;
    const auto within = [&](const ProgramRef& inside) {
      const Function& g = add(inside);
      f.eqns += g.eqns;
      f.work += g.work;
    };
    for (const Eqn& eqn : program->eqns()) {
      if (const auto callee = callee_of(eqn)) {
        within(callee->program);
        of_.at(callee->program->hash()).called = true;
        continue;
      }
      f.eqns += 1;
      f.work += work_of(*program, eqn);
      eqn.params.visit_programs([&](const ProgramRef& inside) {
        if (inside) within(inside);
      });
    }
    order_.push_back(program.get());
    return of_.emplace(program->hash(), f).first->second;
  }

  void count_calls(const Program& program) {
    Function& f = of_.at(program.hash());
    f.stays = f.called && is_worth_it(f) && stands_alone(program);
    const double times = f.stays ? 1 : f.times;
    for (const Eqn& eqn : program.eqns()) {
      if (const auto callee = callee_of(eqn)) {
        of_.at(callee->program->hash()).times += times;
        continue;
      }
      eqn.params.visit_programs([&](const ProgramRef& inside) {
        if (inside) of_.at(inside->hash()).times += times;
      });
    }
  }

  static bool is_worth_it(const Function& f) {
    constexpr double short_function = 8, felt = 10'000, most_eqns = 150, most_of_little = 500;
    if (units_are_small()) return f.eqns > 0;
    return f.times > 1 && f.eqns >= short_function && f.eqns * f.times > (f.work < felt ? most_of_little : most_eqns);
  }

  std::unordered_map<Hash128, Function> of_;
  std::vector<const Program*> order_;
};

}  // namespace

ProgramRef share_calls(const ProgramRef& program) {
  const Functions functions(program);
  if (!functions.any_stays()) return inline_calls(program);
  return inline_calls(program, [&](const Program& callee) { return functions.stays(callee); });
}

}  // namespace tenon
