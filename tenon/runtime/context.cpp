#include "tenon/runtime/context.h"

#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/runtime/subnormals.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

thread_local const Context* in_force = nullptr;
constinit std::atomic<void (*)()> attends{nullptr};

}  // namespace

void Context::attend_by(void (*act)()) noexcept { attends.store(act, std::memory_order_release); }

const Context& Context::current() noexcept {
  static const Context calm;
  return in_force == nullptr ? calm : *in_force;
}

void Context::throw_cancelled() {
  throw CancelledError("the program was cancelled by Context::cancel() before it was done; it has no results.",
                       "To run under this context again, call its reset() first.");
}

ContextScope::ContextScope(const Context& context) noexcept : before_(in_force) { in_force = &context; }
ContextScope::~ContextScope() { in_force = before_; }

}  // namespace tenon

std::int32_t tenon_stops(const std::atomic<std::uint32_t>* flag) {
  using tenon::Context;
  if (flag->load(std::memory_order_relaxed) == Context::attention && !tenon::in_fork_section()) {
    const tenon::SubnormalScope kept(false);
    if (void (*act)() = tenon::attends.load(std::memory_order_acquire); act != nullptr) act();
  }
  return flag->load(std::memory_order_relaxed) == Context::stopped ? 1 : 0;
}

namespace tenon {
namespace {

const RuntimeSymbol symbol_of_stops("tenon_stops", &tenon_stops);

}  // namespace
}  // namespace tenon
