#include "tenon/api/inputs.h"

#include <numeric>

#include "tenon/ir/adapt.h"
#include "tenon/ir/bind.h"

namespace tenon::api_detail {

Inputs& Inputs::own(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    order_.emplace_back(i);
    types_.emplace_back();
  }
  return *this;
}

Inputs& Inputs::unread(std::span<const Type> types) {
  order_.insert(order_.end(), types.size(), std::nullopt);
  types_.insert(types_.end(), types.begin(), types.end());
  return *this;
}

Inputs& Inputs::captures(std::span<const Array> all, std::size_t start) {
  const std::vector<Type> types = types_of(all);
  const std::size_t count = traced_.captures.size(), end = start + count;
  return unread(std::span(types).first(start))
      .own(traced_.arguments, traced_.arguments + count)
      .unread(std::span(types).subspan(end));
}

ProgramRef Inputs::program() const {
  std::vector<std::size_t> outputs(traced_.program->outputs().size());
  std::iota(outputs.begin(), outputs.end(), std::size_t(0));
  return adapt(*traced_.program, order_, types_, outputs, traced_.sizes);
}

}  // namespace tenon::api_detail
