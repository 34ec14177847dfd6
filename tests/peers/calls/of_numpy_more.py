"""Calls of NumPy's functions: joining, shapes, products, sets, texts."""

from draws import FLOATS, INTS, REAL, D, F, a_dtype

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""
    dts = lambda: a_dtype(g)

    @t("np.inner np.vdot np.outer linalg.outer np.kron m.dot")
    def _():
        s = g.shape()
        return [g.arr(shape=s), g.arr(shape=s if g.flag(0.8) else g.shape())], {}

    @t("np.vecdot linalg.vecdot")
    def _():
        s = g.bshapes()
        return [g.arr(shape=s[0]), g.arr(shape=s[1])], g.opts(axis=lambda: g.of(-1, 0, -2))

    @t("np.matvec")
    def _():
        j = g.int(0, 3)
        return [g.arr(shape=(2, j)), g.arr(shape=(j,))], {}

    @t("np.vecmat")
    def _():
        j = g.int(0, 3)
        return [g.arr(shape=(j,)), g.arr(shape=(j, 2))], {}

    @t("np.tensordot linalg.tensordot")
    def _():
        return [g.arr(shape=(2, 3, 4)), g.arr(shape=g.of((3, 4, 2), (4, 3), (2, 3, 4), (4,)))], g.opts(
            axes=lambda: g.of(0, 1, 2, ([1], [0]), ([1, 2], [0, 1]), (2, 0), ((-1,), (0,)))
        )

    @t("np.einsum")
    def _():
        s, sh = g.of(
            ("ij,jk->ik", ["ij", "jk"]),
            ("ii->i", ["ii"]),
            ("ii", ["ii"]),
            ("ij->ji", ["ij"]),
            ("i,j", ["i", "j"]),
            ("ijk->", ["ijk"]),
            ("...i,...i->...", ["ki", "ki"]),
            ("ij,ij->i", ["ij", "ij"]),
            ("i,ij,j", ["i", "ij", "j"]),
            ("bij,bjk", ["bij", "bjk"]),
            ("ij->", ["ij"]),
            ("iij->ij", ["iij"]),
            (",i->i", ["", "i"]),
            ("i...->...", ["ij"]),
            ("ij,jk,kl->il", ["ij", "jk", "kl"]),
            ("ij, kj", ["ij", "kj"]),
            ("i->ii", ["i"]),
        )
        z = {c: g.int(0, 3) for c in "ijkbl"}
        return [s] + [g.arr(shape=tuple(z[c] for c in x)) for x in sh], g.opts(preferred_element_type=lambda: D("float32"))

    @t("np.divmod#")
    def _():
        s = g.bshapes()
        return [g.arr(REAL, s[0]), g.arr(REAL, s[1])], {}

    @t("np.array_split np.split np.hsplit np.vsplit np.dsplit")
    def _():
        x = g.arr()
        return [x, g.of(1, 2, 3, [1], [1, 2], [0, 5], [-1])], {}

    @t("np.split#")
    def _():
        x = g.arr()
        return [x, g.of(1, 2, 3, [1], (1, 2), np.array([1, 2]))], {"axis": g.axis(x.ndim)}

    @t("np.ediff1d")
    def _():
        return [g.arr()], g.opts(to_end=lambda: g.of(9, [1, 2], 2.5), to_begin=lambda: g.of(-9, 3))

    @t("np.empty np.zeros np.ones")
    def _():
        return [g.of(3, (2, 3), (), 0, (0, 2), [2], np.int32(2), -1, (2, -1), 2.0)], g.opts(dtype=dts)

    @t("np.full")
    def _():
        return [g.of(3, (2, 3), (), 0), g.of(g.scalar(), g.arr(shape=()), g.arr(shape=(3,)))], g.opts(dtype=dts)

    @t("np.zeros_like np.ones_like")
    def _():
        return [g.of(g.arr(), g.scalar(), [1, 2])], g.opts(dtype=dts, shape=lambda: g.shape())

    @t("np.full_like")
    def _():
        return [g.of(g.arr(), g.scalar()), g.of(g.scalar(), g.arr(shape=()))], g.opts(dtype=dts, shape=lambda: g.shape())

    @t("np.expand_dims")
    def _():
        x = g.arr()
        return [x, g.of(g.axis(x.ndim + 1), (0, 1), (0, -1), (0, 0), ())], {}

    @t("np.eye np.tri")
    def _():
        return [g.int(0, 4)], g.opts(M=lambda: g.int(0, 4), k=lambda: g.int(-3, 3), dtype=dts)

    @t("np.identity")
    def _():
        return [g.int(0, 4)], g.opts(dtype=dts)

    @t("np.tril_indices np.triu_indices")
    def _():
        return [g.int(0, 4)], g.opts(k=lambda: g.int(-2, 2), m=lambda: g.int(0, 4))

    @t("np.mask_indices")
    def _():
        return [g.int(1, 4), F(g.of("np.triu", "np.tril"))], g.opts(k=lambda: g.int(-2, 2))

    @t("np.fill_diagonal")
    def _():
        return [g.arr(shape=g.of((3, 3), (2, 3), (3, 2), (4, 4))), g.of(1, 2.5, g.arr(shape=(3,)))], {
            "inplace": False
        } | g.opts(wrap=lambda: True)

    @t("np.flip")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axes(x.ndim))

    @t("np.frombuffer")
    def _():
        return [g.arr(INTS + ["float32"], (4,)).tobytes()], {"dtype": D(g.of("uint8", "int8", "float32", "int32"))} | g.opts(
            count=lambda: 1, offset=lambda: 0
        )

    @t("np.fromfunction")
    def _():
        return [F("add2"), g.of((2, 3), (0, 2), (3, 1))], g.opts(dtype=dts)

    @t("np.fromiter")
    def _():
        return [[1, 2, 3], dts()], {}

    @t("np.fromstring")
    def _():
        return [g.of("1 2 3", "1.5 2")], {"sep": " "} | g.opts(dtype=lambda: D(g.of("float32", "int32")))

    @t("np.gradient")
    def _():
        x = g.arr()
        return [x] + ([g.of(2.0, 0.5)] if g.flag(0.4) else []), g.opts(axis=lambda: g.axes(x.ndim))

    @t("np.histogram np.histogram_bin_edges")
    def _():
        x = g.arr(REAL)
        return [x], g.opts(
            bins=lambda: g.of(3, 10, np.array([-2.0, 0, 1, 4], "float32"), [0, 1, 2]),
            range=lambda: (-1.0, 3.0),
            weights=lambda: g.arr(FLOATS, x.shape),
            density=lambda: True,
        )

    @t("np.histogram2d")
    def _():
        n = g.int(1, 9)
        return [g.arr(FLOATS, (n,)), g.arr(FLOATS, (n,))], g.opts(bins=lambda: g.of(3, [2, 3]), density=lambda: True)

    @t("np.histogramdd")
    def _():
        return [g.arr(FLOATS, (7, 2))], g.opts(bins=lambda: g.of(3, [2, 3]), density=lambda: True)

    @t("np.indices")
    def _():
        return [g.of((2, 3), (), (0, 2), (3,))], g.opts(dtype=dts, sparse=lambda: True)

    @t("np.interp")
    def _():
        return [g.arr(REAL), np.sort(g.arr(FLOATS + ["int32"], (5,), "small")), g.arr(REAL + ["complex64"], (5,))], g.opts(
            left=lambda: g.of(-9.0, "extrapolate"), right=lambda: 9.0, period=lambda: g.of(2.0, 3.5)
        )

    @t("np.intersect1d np.setdiff1d np.setxor1d np.union1d")
    def _():
        return [g.arr(), g.arr()], g.opts(size=lambda: g.int(0, 6), fill_value=lambda: g.of(0, 9))

    @t("np.intersect1d#")
    def _():
        return [g.arr(REAL), g.arr(REAL)], g.opts(return_indices=lambda: True)

    @t("np.isin")
    def _():
        return [g.arr(), g.arr()], g.opts(
            invert=lambda: True, method=lambda: g.of("auto", "sort", "compare_all", "binary_search")
        )

    @t("np.isclose np.allclose")
    def _():
        g.mode = "special"
        n = g.dt()
        s = (17,)
        return [g.arr(n, s), g.arr(n, s)], g.opts(equal_nan=lambda: True, rtol=lambda: g.of(0.5, 1), atol=lambda: g.of(0, 1.0))

    @t("np.array_equal np.array_equiv")
    def _():
        x = g.arr()
        return [x, g.of(x, x[:1] if x.ndim else x, g.arr())], {}

    @t("np.ix_")
    def _():
        return [g.arr(shape=g.of((2,), (3,), (0,), ())) for _ in range(g.int(1, 3))], {}

    @t("np.meshgrid")
    def _():
        return [g.arr(shape=g.of((2,), (3,), (0,), ())) for _ in range(g.int(0, 3))], g.opts(
            sparse=lambda: True, indexing=lambda: g.of("ij", "xy")
        )

    @t("np.moveaxis")
    def _():
        x = g.arr()
        n = x.ndim
        return [x, g.of(g.axis(n), (0, 1), (0, -1)), g.of(g.axis(n), (1, 0), (-1, 0))], {}

    @t("np.rollaxis")
    def _():
        x = g.arr()
        return [x, g.axis(x.ndim)], g.opts(start=lambda: g.axis(x.ndim + 1))

    @t("np.swapaxes m.swapaxes")
    def _():
        x = g.arr()
        return [x, g.axis(x.ndim), g.axis(x.ndim)], {}

    @t("np.packbits")
    def _():
        x = g.arr(["bool", "uint8", "int32", "float32"])
        return [x], g.opts(axis=lambda: g.axis(x.ndim), bitorder=lambda: g.of("little", "big"))

    @t("np.unpackbits")
    def _():
        x = g.arr(["uint8"], mode=g.of("small", "special"))
        return [x], g.opts(axis=lambda: g.axis(x.ndim), bitorder=lambda: g.of("little", "big"), count=lambda: g.of(3, 10, -1))

    @t("np.pad")
    def _():
        x = g.arr(shape=g.of((3,), (2, 3), (5,), (), (0,), (1,), (4, 4)))
        m = g.of(
            "constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "minimum", "mean", "median", "empty"
        )
        kw = {}
        if m == "constant" and g.flag():
            kw["constant_values"] = g.of(3, 2.5, (1, 2), ((1, 2),))
        if m == "linear_ramp" and g.flag():
            kw["end_values"] = g.of(3, (1, 2))
        if m in ("reflect", "symmetric") and g.flag():
            kw["reflect_type"] = g.of("even", "odd")
        if m in ("mean", "maximum", "minimum", "median") and g.flag(0.4):
            kw["stat_length"] = g.of(1, 2, (1, 2))
        return [x, g.of(1, 2, (1, 2), ((1, 0),), ((1, 2), (0, 3)), 0, 7), m], kw

    @t("np.permute_dims np.transpose m.transpose")
    def _():
        x = g.arr()
        p = g.r.sample(range(x.ndim), x.ndim)
        return [x] + ([g.of(tuple(p), tuple(q - x.ndim for q in p), (0,), (0, 0))] if g.flag(0.7) else []), {}

    @t("np.piecewise")
    def _():
        x = g.arr(FLOATS, (5,))
        return [x, [g.arr("bool", (5,)), g.arr("bool", (5,))], [F("np.sin"), 2.0] + ([F("np.cos")] if g.flag() else [])], {}

    @t("np.place")
    def _():
        x = g.arr()
        return [x, g.arr("bool", x.shape), g.of([1, 2], g.arr(shape=(3,)))], {"inplace": False}

    @t("np.put")
    def _():
        x = g.arr()
        return [x, g.of(0, [0, 2], [-1, 5], np.array([100])), g.of(1, [9, 8], 2.5)], {"inplace": False} | g.opts(
            mode=lambda: g.of("clip", "wrap", "promise_in_bounds")
        )

    @t("np.put_along_axis")
    def _():
        x = g.arr(shape=(2, 3))
        return [x, g.arr(["int32", "int64"], (2, 2)), g.of(1, 2.5), g.of(1, -1, 0)], {"inplace": False}

    @t("np.poly")
    def _():
        return [g.arr(shape=g.of((3,), (2,), (0,), (2, 2)))], {}

    @t("np.polyadd np.polysub np.polymul")
    def _():
        return [g.arr(shape=g.of((3,), (2,), (5,), ())), g.arr(shape=g.of((3,), (2,), (1,)))], {}

    @t("np.polydiv")
    def _():
        return [g.arr(shape=g.of((3,), (2,), (5,))), g.arr(shape=g.of((3,), (2,), (1,)), pos=True)], {}

    @t("np.polyder np.polyint")
    def _():
        return [g.arr(shape=g.of((3,), (2,), (5,), (1,)))], g.opts(m=lambda: g.int(0, 3))

    @t("np.polyval")
    def _():
        return [g.arr(shape=g.of((3,), (2,), (0,))), g.arr()], {}

    @t("np.vander")
    def _():
        return [g.arr(shape=g.of((3,), (0,), (5,)))], g.opts(N=lambda: g.int(0, 4), increasing=lambda: True)

    @t("np.ravel m.ravel")
    def _():
        return [g.arr()], g.opts(order=lambda: g.of("C", "F", "A", "K"))

    @t("np.ravel_multi_index")
    def _():
        return [(np.array([0, 1, 5]), np.array([2, 0, -1])), (3, 4)], {"mode": g.of("clip", "wrap", "raise")} | g.opts(
            order=lambda: "F"
        )

    @t("np.unravel_index")
    def _():
        return [
            g.of(5, np.array([0, 7, 11, 20, -1], "int32"), g.arr(["int32", "uint8"])),
            g.of((3, 4), 12, (2, 3, 2), (0, 3)),
        ], {}

    @t("np.repeat m.repeat")
    def _():
        x = g.arr()
        return [x, g.of(0, 1, 2, 3, np.array([1, 2, 0]), [2, 1], np.array([2]), -1)], g.opts(
            axis=lambda: g.axis(x.ndim), total_repeat_length=lambda: g.int(0, 8)
        )

    @t("np.reshape m.reshape")
    def _():
        x = g.arr()
        return [x, g.of(-1, (-1, 1), (3, -1), (x.size,), (2, 3), (6,), (3, 2), (1, -1, 2), (-1, -1), (0, -1), ())], g.opts(
            order=lambda: g.of("C", "F", "A")
        )

    @t("np.resize")
    def _():
        return [g.arr(), g.of((2, 3), 5, (), (0,), (7,))], {}

    @t("np.roll")
    def _():
        x = g.arr()
        return [x, g.of(0, 1, -2, 7, (1, 2))], g.opts(axis=lambda: g.of(g.axis(x.ndim), (0, 1), (0, 0)))

    @t("np.rot90")
    def _():
        return [g.arr()], g.opts(k=lambda: g.int(-3, 5), axes=lambda: g.of((0, 1), (1, 0), (0, -1), (0, 0)))

    @t("np.select")
    def _():
        s = g.bshapes(4)
        return [[g.arr("bool", s[0]), g.arr("bool", s[1])], [g.arr(shape=s[2]), g.arr(shape=s[3])]], g.opts(
            default=lambda: g.of(1, 2.5, -1)
        )

    @t("np.size")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axes(x.ndim))

    @t("np.squeeze m.squeeze")
    def _():
        x = g.arr(shape=g.of((1, 3), (2, 1, 3), (1,), (), (1, 1), (0, 1)))
        return [x], g.opts(axis=lambda: g.axes(x.ndim))

    @t("np.take m.take")
    def _():
        x = g.arr()
        return [
            x,
            g.of(0, -1, [0, 1], g.arr(["int32", "uint8", "int64"]), 100, np.array([[-1, 50]]), g.arr("float32")),
        ], g.opts(axis=lambda: g.axis(x.ndim), mode=lambda: g.of("clip", "wrap", "fill"), fill_value=lambda: 7)

    @t("np.take_along_axis")
    def _():
        x = g.arr(shape=g.of((2, 3), (3,), (2, 3, 4), (0, 3)))
        a = g.of(g.axis(x.ndim), g.axis(x.ndim), None)
        s = list(x.shape)
        if a is None:
            s = [x.size or 2]
        elif -x.ndim <= a < x.ndim:
            s[a] = g.int(0, 4)
        return [x, g.arr(["int32", "int64", "uint8"], tuple(s)), a], g.opts(
            mode=lambda: g.of("clip", "fill", "wrap"), fill_value=lambda: 7
        )

    @t("np.tile")
    def _():
        return [g.arr(), g.of(0, 1, 2, (2, 1), (1, 2, 3), (), (0, 2))], {}

    @t("np.trapezoid")
    def _():
        x = g.arr()
        return [x], g.opts(dx=lambda: g.of(2.0, 3), axis=lambda: g.axis(x.ndim))

    @t("np.trim_zeros")
    def _():
        return [
            np.concatenate([np.zeros(g.int(0, 2), int), g.arr(["int32"], (5,)), np.zeros(g.int(0, 2), int)]).astype(
                g.of("int32", "float32")
            )
        ], g.opts(trim=lambda: g.of("f", "b", "fb"))

    @t("np.unique np.unique_all np.unique_counts np.unique_inverse np.unique_values")
    def _():
        x = g.arr()
        return [x], g.opts(size=lambda: g.int(0, 6), fill_value=lambda: g.of(0, 9))

    @t("np.unique#")
    def _():
        x = g.arr()
        return [x], g.opts(
            return_index=lambda: True,
            return_inverse=lambda: True,
            return_counts=lambda: True,
            axis=lambda: g.axis(x.ndim),
            equal_nan=lambda: False,
        )

    @t("np.unwrap")
    def _():
        x = g.arr()
        return [x], g.opts(discont=lambda: g.of(1.0, 4), axis=lambda: g.axis(x.ndim), period=lambda: g.of(4, 2.5))

    @t("np.apply_along_axis")
    def _():
        x = g.arr()
        return [F(g.of("np.sum", "np.cumsum", "np.max")), g.axis(x.ndim), x], {}

    @t("np.apply_over_axes")
    def _():
        x = g.arr()
        return [F("sumk"), x, g.of(0, (0,), (0, 1), -1)], {}

    @t("np.vectorize")
    def _():
        s = g.bshapes()
        return [F("np.add")], {"call": (g.arr(shape=s[0]), g.arr(shape=s[1]))}

    @t("np.logaddexp")
    def _():
        s = g.bshapes()
        return [g.arr(shape=s[0]), g.arr(shape=s[1])], {}
