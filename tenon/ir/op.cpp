#include "tenon/ir/op.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "tenon/base/fork.h"

namespace tenon {
namespace {

struct Registry {
  ForkMutex mutex;
  std::map<std::string_view, const OpInfo*> ops;
};
Registry& registry() {
  static constinit Lasting<Registry> all;
  return all.get();
}

}  // namespace

bool is_elementwise(const Eqn& eqn) {
  const auto* element = rule_of<LowerElement>(*eqn.op);
  return element != nullptr && element->elementwise && !eqn.in.empty() && eqn.out.size() == 1;
}

Effect effect_of(const Eqn& eqn) { return eqn.op->effect ? (*eqn.op->effect)(eqn.params) : Effect::none; }

void install_op(const OpInfo& op) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto [at, fresh] = all.ops.emplace(op.name, &op);
  if (!fresh && at->second != &op)
    throw Error("Error", fmt::format("install_op: there is an op '{}' already.", op.name));
}

const OpInfo* find_op(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.ops.find(name);
  return found == all.ops.end() ? nullptr : found->second;
}

std::vector<const OpInfo*> all_ops() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<const OpInfo*> ops;
  for (const auto& [name, op] : all.ops) ops.push_back(op);
  return ops;
}

}  // namespace tenon
