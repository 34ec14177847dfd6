"""Reads and updates by indices."""

from draws import F, Ix, Raw

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""

    # --- indexing, .at
    def one(n):
        return g.of(
            g.int(-n - 1, n),
            slice(g.of(None, 0, 1, -2), g.of(None, 2, -1, 9), g.of(None, None, 2, -1)),
            g.arr(["int32", "int64", "uint8", "int8"], g.of((2,), (3,), (0,), (), (2, 2))),
            [0, 1],
            g.arr("bool", (n,)),
            None,
            Ellipsis,
            Raw((np.int32(0),)),
            Raw((g.arr("int64", (2,)),)),
            True,
            1.0,
            g.arr("float32", (2,)),
            "x",
        )

    def index(s):
        k = g.int(0, len(s))
        ix = [one(s[i]) for i in range(k)]
        if k == 1 and g.flag(0.6):
            return ix[0]
        if g.flag(0.15) and len(s):
            return g.arr("bool", s)
        if g.flag(0.1):
            ix.append(g.int(0, 2))
        return tuple(ix)

    @t("getitem")
    def _():
        x = g.arr(mode="small")
        return [x, Ix((index(x.shape),))], {}

    @t("at.set at.add at.multiply at.min at.max at.mul at.divide at.power at.subtract")
    def _():
        x = g.arr(mode="small")
        return [x, Ix((index(x.shape),)), g.of(1, 2.5, g.arr(shape=()), g.arr(shape=()), 1j, True, 300)], g.opts(
            mode=lambda: g.of("drop", "clip", "promise_in_bounds", "fill")
        )

    @t("at.get")
    def _():
        x = g.arr(mode="small")
        return [x, Ix((index(x.shape),))], g.opts(
            mode=lambda: g.of("fill", "clip", "promise_in_bounds", "drop"), fill_value=lambda: 7
        )

    @t("at.apply")
    def _():
        x = g.arr(mode="small")
        return [x, Ix((index(x.shape),)), F("np.negative")], {}
