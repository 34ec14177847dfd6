// Value: what crosses the entry of a Program at run time.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "tenon/ir/type.h"
#include "tenon/runtime/memory/buffer.h"

namespace tenon {

struct ListValue;
using Value = std::variant<Buffer, ListValue>;

// A list is shared, so it does not change, unless by whoever has the only reference to its items.
struct ListValue {
  Type element;
  std::shared_ptr<const std::vector<Value>> items;
  // Under vmap items carry a batch axis; lane l has lengths[l]. Null: every lane has all; empty: and zeros behind them.
  std::shared_ptr<const std::vector<std::int64_t>> lengths;
};

Type type_of(const Value& value);

}  // namespace tenon
