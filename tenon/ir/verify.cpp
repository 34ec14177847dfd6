// The rules of a Program's form.
#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/ir/op.h"
#include "tenon/ir/unify.h"

namespace tenon {
namespace {

// Recomputes an eqn's types; sizes that its data decide are taken from the recorded ones.
class VerifyContext : public TypeContext {
 public:
  explicit VerifyContext(const Eqn& eqn) : eqn_(eqn) {}
  Dim new_size(std::string_view key, std::size_t operand) override {
    // The recorded number is not known from the key; a placeholder that unification binds.
    asked_.push_back({std::string(key), eqn_.in[operand], Dim::variable(next_)});
    return Dim::variable(next_++);
  }
  Dim new_size(std::string_view) override { return Dim::variable(next_++); }
  void require_equal(const Dim& a, const Dim& b, FunctionRef<std::string()> what) override {
    if (a.known() && b.known() && a.value() != b.value()) throw VerifyError(what());
  }
  // The sizes asked for that the recorded results show.
  void add_facts(const SizeBinding& binding, std::vector<SizeFact>& facts) const {
    for (const SizeFact& fact : asked_)
      if (const auto found = binding.find(*bare_variable(fact.size)); found != binding.end())
        facts.push_back({fact.key, fact.of, found->second});
  }
  static constexpr SizeVar first_placeholder = 0x80000000u;

 private:
  const Eqn& eqn_;
  std::vector<SizeFact> asked_;
  SizeVar next_ = first_placeholder;
};

void verify_eqn(const Program& program, const Eqn& eqn, std::vector<SizeFact>& facts) {
  const SourceOverride place(eqn.where);
  std::vector<Type> in;
  for (Var v : eqn.in) in.push_back(program.type(v));
  VerifyContext context(eqn);
  const std::vector<Type> expected = (*eqn.op->type)(eqn.params, in, context);
  if (expected.size() != eqn.out.size())
    throw VerifyError(
        fmt::format("{}: {} results by its rule, {} in the Program.", eqn.op->name, expected.size(), eqn.out.size()));
  SizeBinding binding;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Type& recorded = program.type(eqn.out[i]);
    if (!unify(expected[i], recorded, binding, VerifyContext::first_placeholder))
      throw VerifyError(fmt::format("{}: result {} is {} by its rule, {} in the Program.", eqn.op->name, i,
                                    expected[i].text(), recorded.text()));
  }
  context.add_facts(binding, facts);
}

}  // namespace

std::vector<SizeFact> verify(const Program& program) {
  std::vector<SizeFact> facts;
  std::vector<bool> defined(program.vars(), false);
  for (Var v : program.inputs()) defined[v] = true;
  for (const Eqn& eqn : program.eqns()) {
    for (Var v : eqn.in)
      if (!defined[v]) throw VerifyError(fmt::format("{}: reads a variable before it is defined.", eqn.op->name));
    verify_eqn(program, eqn, facts);
    for (Var v : eqn.out) defined[v] = true;
  }
  for (Var v : program.outputs())
    if (!defined[v]) throw VerifyError("Program: an output is not defined.");
  return facts;
}

}  // namespace tenon
