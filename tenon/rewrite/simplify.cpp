#include "tenon/rewrite/simplify.h"

#include "tenon/base/log.h"
#include "tenon/base/pass.h"
#include "tenon/rewrite/rules/rules.h"
#include "tenon/transform/memo.h"

namespace tenon {

ProgramRef simplify(const ProgramRef& program) {
  const RuleSet& rules = default_rules();
  const auto apply = [&] { return rewrite(program, rules, Phase::after_differentiation); };
  if (NotesApplied::wanted() || log_enabled(LogTopic::rewrite)) return apply();
  Hasher h;
  h("simplify")(program->hash());
  for (const RuleRef& rule : rules.rules()) h(is_left_out(rule->name));
  static constinit Memo<ProgramRef> memo;
  return memo.get(h.finish(), apply);
}

}  // namespace tenon
