#include "tenon/rewrite/share_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"
#include "tenon/base/stack.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

const LowerCall* call_of(const Eqn& eqn) { return rule_of<LowerCall>(*eqn.op); }

bool updates_in_place(const Eqn& eqn) {
  using Kind = LowerStructure::Kind;
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  return structure != nullptr && (structure->kind == Kind::update_slice || structure->kind == Kind::scatter);
}

bool has_lists(const Program& program) {
  return std::ranges::any_of(program.parts().types, [](const Type& type) { return !type.is_array(); });
}

// Why a function cannot be compiled by itself; empty: it can.
std::string_view why_not_alone(const Program& program) {
  if (has_lists(program)) return "it has lists";
  if (find_eqn(program, [](const Eqn& eqn) { return !eqn.new_sizes.empty(); }) != nullptr)
    return "its data decide sizes";
  const Eqn* other = find_eqn(program, [](const Eqn& eqn) {
    bool not_alone = false;
    eqn.params.visit_programs(
        [&](const ProgramRef& inside) { not_alone = not_alone || (inside && has_lists(*inside)); });
    return not_alone;
  });
  return other == nullptr ? "" : "its loops, branches or calls have lists";
}

bool updates(const Program& program) { return find_eqn(program, updates_in_place) != nullptr; }

// What it computes element by element, in simple operations; of others nothing.
double fused_work_of(const Program& program, const Eqn& eqn) {
  if (rule_of<LowerElement>(*eqn.op) == nullptr) return 0;
  return element_form(program, eqn).arithmetic * estimated_elements(program, eqn.out);
}

// Operations of an eqn that calls nothing, to an order of magnitude.
double work_of(const Program& program, const Eqn& eqn) {
  const double in = estimated_elements(program, eqn.in), out = estimated_elements(program, eqn.out);
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  if (structure != nullptr && structure->kind == LowerStructure::Kind::product && eqn.in.size() == 2)
    return std::sqrt(estimated_elements(program, {&eqn.in[0], 1}) * estimated_elements(program, {&eqn.in[1], 1}) *
                     out);  // m·n·k
  return std::max(in, out);
}

}  // namespace

// The functions that a Program calls, and the bodies of its loops and branches: what they are once all is inlined.
class Functions {
 public:
  explicit Functions(const ProgramRef& program) : whole_(*program) {
    add(program);
    of_.at(program->hash()).times = 1;
    for (auto each = order_.rbegin(); each != order_.rend(); ++each) count_calls(**each);
  }
  bool any_stays() const {
    return std::ranges::any_of(of_, [](const auto& each) { return each.second.stays || each.second.asked_stays; });
  }
  // Of one that was not there before others were inlined: no.
  bool stays(const LowerCall& call, const Program& program) const {
    const auto found = of_.find(program.hash());
    if (found == of_.end()) return false;
    switch (call.placement) {
      case Placement::unit:
        return found->second.asked_stays;
      case Placement::inlined:
        return false;
      case Placement::priced:
        break;
    }
    return found->second.stays || found->second.asked_stays;  // its code is there anyway
  }
  // Of what is called, in the order of the calls.
  std::vector<CalledFunction> called() const {
    std::vector<CalledFunction> all;
    for (auto each = order_.rbegin(); each != order_.rend(); ++each)
      if (const Function& f = of_.at((*each)->hash()); f.called) all.push_back(told(**each, f));
    return all;
  }

 private:
  struct Function {
    double eqns = 0, work = 0, times = 0;  // times: that eqns mention it
    bool element_by_element = true;        // all of it
    double fused_work = 0;                 // then: simple operations
    bool called = false, stays = false;    // stays: where its price decides
    bool asked_unit = false, asked_inlined = false, asked_stays = false;
    std::string_view why;  // of a priced call
    Source where = {};     // of its first call
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
      f.fused_work += g.fused_work;
      f.element_by_element = f.element_by_element && g.element_by_element;
    };
    for (const Eqn& eqn : program->eqns()) {
      if (const LowerCall* call = call_of(eqn)) {
        const ProgramRef callee = call->rule(eqn.params).program;
        within(callee);
        Function& g = of_.at(callee->hash());
        if (!g.called) g.where = eqn.where;
        g.called = true;
        g.asked_unit = g.asked_unit || call->placement == Placement::unit;
        g.asked_inlined = g.asked_inlined || call->placement == Placement::inlined;
        continue;
      }
      if (program.get() != &whole_) price(*program, eqn, f);
      eqn.params.visit_programs([&](const ProgramRef& inside) {
        if (inside) within(inside);
      });
    }
    order_.push_back(program.get());
    return of_.emplace(program->hash(), f).first->second;
  }

  static void price(const Program& program, const Eqn& eqn, Function& f) {
    f.eqns += 1;
    f.work += work_of(program, eqn);
    f.fused_work += fused_work_of(program, eqn);
    f.element_by_element = f.element_by_element && (eqn.in.empty() || rule_of<LowerElement>(*eqn.op) != nullptr);
  }

  void count_calls(const Program& program) {
    Function& f = of_.at(program.hash());
    f.asked_stays = f.asked_unit && f.eqns > 0 && why_not_alone(program).empty();
    if (f.called) {
      f.why = why_inlined(program, f);
      f.stays = f.why.empty();
    }
    const double times = f.stays || f.asked_stays ? 1 : f.times;
    for (const Eqn& eqn : program.eqns()) {
      if (const LowerCall* call = call_of(eqn)) {
        of_.at(call->rule(eqn.params).program->hash()).times += times;
        continue;
      }
      eqn.params.visit_programs([&](const ProgramRef& inside) {
        if (inside) of_.at(inside->hash()).times += times;
      });
    }
  }

  // Why a priced call is inlined; empty: it is not.
  static std::string_view why_inlined(const Program& program, const Function& f) {
    constexpr double short_function = 8, felt = 10'000, most_eqns = 150, most_of_little = 500, most_of_fused = 1500,
                     round_trip = 12;
    if (f.eqns == 0) return "it computes nothing";
    if (!units_are_small()) {
      if (f.times <= 1) return "called once";
      if (f.eqns < short_function) return "too small";
      const bool little = f.work < felt;
      if (f.eqns * f.times <= (little ? most_of_little : most_eqns))
        return little ? "so small that a call would be felt" : "small: it fuses with what is around it";
      // Arguments and results go through memory.
      const double moved =
          estimated_elements(program, program.inputs()) + estimated_elements(program, program.outputs());
      if (f.element_by_element && f.eqns * f.times <= most_of_fused && f.fused_work <= round_trip * moved)
        return "it computes less than its arguments and results cost: it fuses with what is around it";
    }
    if (updates(program)) return "it updates arrays in place";
    return why_not_alone(program);
  }

  static CalledFunction told(const Program& program, const Function& f) {
    CalledFunction all{program.name(), f.eqns, f.times, f.stays, "large", f.where};
    if (!f.stays) all.reason = f.why;
    if (f.asked_inlined && !f.asked_unit) {
      all.unit = false;
      all.reason = "asked for";
    } else if (f.asked_unit && f.asked_stays) {
      all.unit = true;
      all.reason = "asked for";
    } else if (f.asked_unit) {
      all.unit = false;
      const std::string_view why = why_not_alone(program);
      all.reason = fmt::format("asked to be a unit, and {}", why.empty() ? "it computes nothing" : why);
    }
    return all;
  }

  const Program& whole_;  // which nobody calls: it has no price
  std::unordered_map<Hash128, Function> of_;
  std::vector<const Program*> order_;
};

ProgramRef share_calls(const ProgramRef& program) {
  const Functions functions(program);
  if (!functions.any_stays()) return inline_calls(program);
  return inline_calls(program,
                      [&](const LowerCall& call, const Program& callee) { return functions.stays(call, callee); });
}

SharedFunctions::SharedFunctions(const ProgramRef& program) : functions_(std::make_unique<const Functions>(program)) {}
SharedFunctions::~SharedFunctions() = default;
bool SharedFunctions::stays(const Eqn& call) const {
  const LowerCall* rule = call_of(call);
  return rule != nullptr && functions_->stays(*rule, *rule->rule(call.params).program);
}

std::vector<CalledFunction> called_functions(const ProgramRef& program) { return Functions(program).called(); }

}  // namespace tenon
