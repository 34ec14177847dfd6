// A traced function behind other inputs: as an op wants its Programs, whose operands are those of several functions.
#pragma once

#include "tenon/api/trace.h"

namespace tenon::api_detail {

// Lists the inputs in order: arguments and captures of the function, and what it does not read.
class Inputs {
 public:
  explicit Inputs(TracedFunction& traced) : traced_(traced) {}
  // Its own from `from` to `to`; captures are behind its arguments.
  Inputs& own(std::size_t from, std::size_t to);
  Inputs& unread(std::span<const Type> types);
  // All captures of the op; this function's begin at `start`.
  Inputs& captures(std::span<const Array> all, std::size_t start);
  // With the function's results. Sizes in types of what is not read are added to the function's sizes.
  ProgramRef program() const;

 private:
  TracedFunction& traced_;
  std::vector<std::optional<std::size_t>> order_;
  std::vector<Type> types_;
};

}  // namespace tenon::api_detail
