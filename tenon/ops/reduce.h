// Reductions: over all axes, or over those that are named; negative axes count from the end.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

using Axes = std::vector<std::int64_t>;

// The order of summation is unspecified; f16 and bf16 accumulate in f32. Of bool: counts are i32.
Array sum(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
Array prod(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
// NaN where any element is; at ties the gradient is shared equally. Of bool: any and all. Of no elements: a ShapeError.
Array amax(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
Array amin(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
Array any(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
Array all(const Operand& x, std::optional<Axes> axes = std::nullopt, bool keep_dims = false);
// Index of the first largest (smallest) element along one axis, i32; a NaN counts as the largest (smallest).
Array argmax(const Operand& x, std::int64_t axis);
Array argmin(const Operand& x, std::int64_t axis);

// The axes that are meant, ascending; all without a list. For functions that are made of reductions.
std::vector<std::int64_t> resolve_axes(std::string_view op, std::size_t rank, const std::optional<Axes>& axes);

}  // namespace tenon
