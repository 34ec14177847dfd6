// Passes over Functions of the loop language.
#pragma once

#include <span>
#include <string>

#include "tenon/base/pass.h"
#include "tenon/kernel/function.h"

namespace tenon {

// Each leaves a Function of which everything holds that verify asks for.
template <>
struct PassSubject<kernel::Function> {
  static constexpr std::string_view unit = "statements", ending = ".txt";
  static std::size_t size(const kernel::Function& function);
  static std::string text(const kernel::Function& function);
  // The text, where somebody watches; else nothing.
  static std::string before(const kernel::Function& function);
  static bool changed(const std::string& before, const kernel::Function& after);
  static void verify(const std::string& pass, const std::string& before, const kernel::Function& after);
};

namespace kernel {

using Pass = tenon::Pass<Function>;

// A pass from what rewrites a Function in place.
template <class F>
Pass pass(std::string name, std::string summary, F rewrite) {
  return {std::move(name), std::move(summary), [rewrite](Function function) {
            rewrite(function);
            return function;
          }};
}

Function run_passes(std::span<const Pass> passes, Function function);

}  // namespace kernel
}  // namespace tenon
