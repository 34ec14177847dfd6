"""Programs of threads.py: a compiled function that others call is traced once; one program is spelt in many ways."""

import numpy as np

import tenon as tn
import tenon.numpy as tnp

SHIFT, TIMES = 7, 7
DIAGONALS = np.array([[0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]])
TRACED = []


@tn.jit
def inner(state):
    TRACED.append(1)
    return 2 * state


def columns_then_diagonals(spelling, column, m):
    flat = np.arange(16)[:, None] == DIAGONALS.ravel()
    diagonals = {"gather": lambda m: m[DIAGONALS // 4, DIAGONALS % 4], "take": lambda m: tnp.take(m, DIAGONALS),
                 "lookup": lambda m: m.ravel()[DIAGONALS.ravel()].reshape(4, 4), "none": lambda m: m,
                 "mask and sum": lambda m: (m.ravel()[:, None] * flat).sum(0).reshape(4, 4)}[spelling]
    each, old = tn.vmap(column, in_axes=1, out_axes=1), m
    for _ in range(TIMES):
        m = each(diagonals(each(m)))
    return m + old


def mixed(col, stack=tnp.stack):
    a, b, c, d = col
    for _ in range(3):
        a = a << SHIFT
        b = b + a
        c = c * b
    return stack([a, b, c, d])


def programs():
    """Ten calls of a compiled function in another, traced once; columns, then diagonals of a matrix, in many ways."""
    x, m = np.arange(5, dtype=np.uint32), np.arange(16, dtype=np.int64).reshape(4, 4)

    def outer(x):
        y = x
        for _ in range(10):
            y = inner(y)
        return y + x

    yield "ten calls", tn.jit(outer)(x), x * 1025
    yield "another caller", tn.jit(lambda x: inner(x) + inner(x + 1))(x), 4 * x + 2
    yield "both, traces", len(TRACED), 1
    lanes = np.arange(15, dtype=np.uint32).reshape(3, 5)
    yield "ten calls for each lane", tn.vmap(outer)(lanes), lanes * 1025
    yield "all, traces", len(TRACED), 1
    shift = lambda col: col << SHIFT
    for spelling in ("gather", "take", "lookup", "none", "mask and sum"):
        for name, column, plain in (("shift", shift, shift), ("stack", mixed, lambda m: mixed(m, np.stack))):
            expected = m
            for _ in range(TIMES):
                expected = plain(expected)
                expected = plain(expected if spelling == "none" else expected.ravel()[DIAGONALS])
            made = tn.jit(lambda m: columns_then_diagonals(spelling, column, m))
            yield f"columns, diagonals: {spelling}, {name}", made(m), expected + m
