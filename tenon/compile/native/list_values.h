// Lists in and out of native code: from values of the reference evaluator and to them.
#pragma once

#include "tenon/ir/value.h"

namespace tenon {

// A handle of tenon/runtime/lists/lists.h, of the current ListPool. Throws MemoryError.
std::int64_t list_handle(const ListValue& value);
// The value of a handle whose list has elements of this type.
ListValue list_value(std::int64_t handle, const Type& element);

}  // namespace tenon
