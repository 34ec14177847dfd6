"""Writes indexing.h: gathers and scatters in random forms, and what JAX 0.10 makes of them. Run in an environment that
has jax; prints the header."""
import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

random.seed(5)
rng = np.random.default_rng(5)


def form():
    """Axes as in JAX's dimension numbers, and shapes."""
    lanes = [random.randint(1, 3) for _ in range(random.randint(0, 2))]
    free = list(range(len(lanes)))
    random.shuffle(free)
    x, slices, batch, indices_batch, collapsed, moved, kept = [], [], [], [], [], [], 0
    for i in range(random.randint(1, 3)):
        if free and random.random() < 0.3:
            lane = free.pop()
            batch.append(i)
            indices_batch.append(lane)
            x.append(lanes[lane])
            slices.append(1)
            continue
        x.append(random.randint(1, 4))
        if random.random() < 0.7:
            moved.append(i)
        if random.random() < 0.5:
            collapsed.append(i)
            slices.append(1)
        else:
            slices.append(random.randint(1, x[-1]))
            kept += 1
    random.shuffle(moved)
    places = [False] * len(lanes) + [True] * kept
    random.shuffle(places)
    window = [i for i, is_window in enumerate(places) if is_window]
    return x, lanes + [len(moved)], slices, window, collapsed, moved, batch, indices_batch


def words(values):
    return "{" + ", ".join(str(int(v)) for v in np.asarray(values).reshape(-1)) + "}"


MODES = {"clip": lax.GatherScatterMode.CLIP, "fill": lax.GatherScatterMode.FILL_OR_DROP}
SCATTERS = {"set": lax.scatter, "add": lax.scatter_add, "mul": lax.scatter_mul, "min": lax.scatter_min,
            "max": lax.scatter_max}

print("// Made by make_indexing.py with JAX", jax.__version__)
print("""#pragma once

#include <cstdint>
#include <vector>

#include "tenon/ops/indexing/gather.h"

namespace golden {

using Numbers = std::vector<std::int64_t>;
struct Indexed {
  tenon::IndexAxes axes;
  Numbers x_shape, indices_shape, slice_sizes, windowed_shape;
  tenon::IndexMode mode;
  tenon::ScatterKind kind;
  Numbers x, indices, gathered, updates, scattered;
};
inline const std::vector<Indexed> indexed{""")
for n in range(40):
    moved = []
    while not moved:  # XLA takes a scatter at indices without elements for one without updates
        x_shape, indices_shape, slices, window, collapsed, moved, batch, indices_batch = form()
    x = rng.integers(-9, 10, x_shape).astype(np.int32)
    indices = rng.integers(-1, 4, indices_shape).astype(np.int32)
    mode = random.choice(list(MODES))
    kind = random.choice(list(SCATTERS))
    gathered = lax.gather(
        x, indices,
        lax.GatherDimensionNumbers(tuple(window), tuple(collapsed), tuple(moved), tuple(batch), tuple(indices_batch)),
        tuple(slices), mode=MODES[mode], fill_value=77)
    updates = rng.integers(-9, 10, gathered.shape).astype(np.int32)
    if kind == "set":  # of several updates on one element, JAX leaves open which one stays
        updates[...] = 5
    scattered = SCATTERS[kind](
        jnp.asarray(x), indices, updates,
        lax.ScatterDimensionNumbers(tuple(window), tuple(collapsed), tuple(moved), tuple(batch), tuple(indices_batch)),
        mode=MODES[mode])
    axes = ", ".join(words(a) for a in (window, collapsed, moved, batch, indices_batch))
    shapes = ", ".join(words(a) for a in (x_shape, indices_shape, slices, gathered.shape))
    print(f"    {{{{{axes}}}, {shapes}, tenon::IndexMode::{mode}, tenon::ScatterKind::{kind},")
    print("     " + ", ".join(words(a) for a in (x, indices, gathered, updates, scattered)) + "},")
print("};\n\n}  // namespace golden")
