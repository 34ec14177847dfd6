#include "tenon/runtime/context.h"

#include "tenon/base/error.h"

namespace tenon {
namespace {

thread_local const Context* in_force = nullptr;

}  // namespace

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
