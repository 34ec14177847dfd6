// Elements of lists by number. Numbers are i64: one, or one a lane, where lanes run along the first axes of every
// element. A list is zero behind its end.
#pragma once

#include "tenon/ir/bind.h"

namespace tenon {

// Other elements there; a list that is too short grows. Negative numbers change nothing.
Array list_put(const Array& list, const Array& at, const Array& element);
Array list_add(const Array& list, const Array& at, const Array& element);
Array list_get(const Array& list, const Array& at);
// The first `size` elements along a new first axis, and back.
Array list_stack(const Array& list, const Dim& size);
Array list_unstack(const Array& rows);
// A number as a size, which data decide.
Dim extent(const Array& number);

// A list that is zero behind its end, and whether a list is one: its lengths are there and tell no lanes apart.
ListValue open_list(const Type& element, std::vector<Value> items);
bool is_open(const ListValue& list);
bool is_open(const Value& value);

// Two values of one type added, lists element by element: what the ops compute outside of programs.
Value sum_values(const Value& a, const Value& b, const EvalContext& context);

// list_put and list_add: (list, numbers, element) -> list.
bool is_list_update(const OpInfo& op);

}  // namespace tenon
