#include "tenon/api/numerics.h"

#include <utility>

namespace tenon {
namespace {

thread_local Numerics in_force = Numerics::relaxed;

}  // namespace

StrictNumerics::StrictNumerics() : before_(std::exchange(in_force, Numerics::strict)), scope_(Scope::top()) {
  if (scope_ != nullptr) of_scope_ = std::exchange(scope_->numerics, Numerics::strict);
}
StrictNumerics::~StrictNumerics() {
  in_force = before_;
  if (scope_ != nullptr) scope_->numerics = of_scope_;
}

Numerics numerics_here() { return in_force; }

}  // namespace tenon
