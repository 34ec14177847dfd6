// Results that are looked through for NaN and infinities, where tn.debug_nans() or tn.debug_infs() ask for it.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "none.h"
#include "tenon/base/error.h"
#include "tenon/ir/program.h"
#include "tenon/ir/value.h"

namespace nanobind {
class module_;
}

namespace tenon::python {

// A result holds what it must not: Python's class is a FloatingPointError.
class NonFiniteError : public Error {
 public:
  explicit NonFiniteError(std::string_view what, std::string_view advice, const Source& where)
      : Error("NonFiniteError", what, advice, where) {}
};

// What is looked for.
struct Watched {
  bool nans = false, infs = false;
};
extern Watched watched;
inline bool watching() { return watched.nans || watched.infs; }

// What ran, op by op or as one Program, and what came of it: remembered where a result holds what is looked for.
void note_op(const OpInfo& op, const Params& params, std::span<const Value> operands, std::span<const Value> results);
void note_program(const ProgramRef& program, std::span<const std::int64_t> sizes, std::span<const Value> inputs,
                  std::span<const Value> results);
// Throws NonFiniteError where an array that Python is given is such a result: of the op that began it.
void require_finite(const Value& value);

void add_finite(nanobind::module_& module);

}  // namespace tenon::python
