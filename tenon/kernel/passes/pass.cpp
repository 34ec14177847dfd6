#include "tenon/kernel/passes/pass.h"

#include "tenon/kernel/expressions.h"
#include "tenon/kernel/verify.h"

namespace tenon {
namespace {

std::size_t statements_of(const kernel::Block& block) {
  std::size_t count = block.size();
  for (const kernel::Statement& s : block)
    kernel::for_each_block(s, [&](const kernel::Block& inside) { count += statements_of(inside); });
  return count;
}

}  // namespace

using OfFunctions = PassSubject<kernel::Function>;

std::size_t OfFunctions::size(const kernel::Function& function) { return statements_of(function.body); }
std::string OfFunctions::text(const kernel::Function& function) { return print(function); }
std::string OfFunctions::before(const kernel::Function& function) {
  return passes_are_watched() ? print(function) : std::string();
}
bool OfFunctions::changed(const std::string& before, const kernel::Function& after) { return before != print(after); }
void OfFunctions::verify(const std::string& pass, const std::string&, const kernel::Function& after) {
  kernel::verify(after, pass);
}

namespace kernel {

Function run_passes(std::span<const Pass> passes, Function function) {
  for (const Pass& pass : passes) function = run_pass(pass, std::move(function));
  return function;
}

}  // namespace kernel
}  // namespace tenon
