// gather and scatter in their general form: slices of an array at places that are known only when the program runs.
// The meaning of the axes is that of XLA and JAX (https://openxla.org/xla/operation_semantics#gather).
#pragma once

#include <optional>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

// indices[lanes…, k] holds a vector of starts for each lane: one slice of x each. The result of gather (and the updates
// of scatter) has the axes of the lanes, with those of a slice among them.
struct IndexAxes {
  std::vector<std::int64_t> window;     // axes of the result that are axes of the slice, ascending
  std::vector<std::int64_t> collapsed;  // axes of x, along which slices have size 1, that the result lacks
  std::vector<std::int64_t> map;        // the axis of x that each number of an index vector is a start of
  std::vector<std::int64_t> batch;      // axes of x that go in step with …
  std::vector<std::int64_t>
      indices_batch;  // … these of indices; slices have size 1 along them and the result lacks them
};

// Slices that reach out of x: moved inside; read as the fill value and not written; or promised not to be (then clip
// for reading, fill for writing). Negative starts lie outside.
enum class IndexMode : std::uint8_t { clip, fill, promise_in_bounds };

// What the caller knows of the index vectors.
struct IndexHints {
  bool sorted = false;
  bool unique = false;  // no element of x is in two slices
};

// fill: without one, NaN; of signed integers the least and of unsigned the greatest number; true.
struct GatherOptions {
  IndexMode mode = IndexMode::clip;
  std::optional<Scalar> fill = std::nullopt;
  IndexHints hints = {};
};
// indices: i32, i64, u32 or u64.
Array gather(const Operand& x, const Operand& indices, const IndexAxes& axes, std::vector<Dim> slice_sizes,
             const GatherOptions& options = {});

// How an update meets the element it finds. Several on one element: in row-major order of the updates, so that the last
// one set stays. The gradient of max and min is shared equally among those that attain the result; that of mul by the
// updates needs unique indices.
enum class ScatterKind : std::uint8_t { set, add, mul, min, max };
struct ScatterOptions {
  IndexMode mode = IndexMode::fill;
  IndexHints hints = {};
};
Array scatter(ScatterKind kind, const Operand& x, const Operand& indices, const Operand& updates, const IndexAxes& axes,
              const ScatterOptions& options = {});

}  // namespace tenon
