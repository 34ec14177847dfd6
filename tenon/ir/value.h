// Value: what crosses the entry of a Program at run time.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "tenon/ir/type.h"
#include "tenon/runtime/buffer.h"

namespace tenon {

struct ListValue;
using Value = std::variant<Buffer, ListValue>;

// An immutable list; pushing shares nothing with the old one in the reference evaluator.
struct ListValue {
  Type element;
  std::shared_ptr<const std::vector<Value>> items;
  // Under vmap items carry a batch axis; lane l has lengths[l] of them. Null: every lane has all.
  std::shared_ptr<const std::vector<std::int64_t>> lengths;
};

Type type_of(const Value& value);

}  // namespace tenon
