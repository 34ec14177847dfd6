#include "tenon/runtime/symbols.h"

#include <dlfcn.h>

#include <atomic>
#include <string>

namespace tenon {
namespace {

constinit std::atomic<const RuntimeSymbol*> newest{nullptr};

}  // namespace

RuntimeSymbol::RuntimeSymbol(const char* name, void* address, int)
    : name_(name), address_(address), next_(newest.load(std::memory_order_relaxed)) {
  while (!newest.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void* address_of_symbol(std::string_view name) {
  for (const RuntimeSymbol* s = newest.load(std::memory_order_acquire); s != nullptr; s = s->next_)
    if (name == s->name_) return s->address_;
  return ::dlsym(RTLD_DEFAULT, std::string(name).c_str());
}

}  // namespace tenon
