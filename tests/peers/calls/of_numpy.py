"""Calls of NumPy's functions: reductions, sorts, creation."""

from draws import ALL, D, REAL, Raw, a_dtype, mm, red, wh

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""
    dts = lambda: a_dtype(g)
    idt = lambda: D(g.of("float16", "float32", "float64", "bfloat16", "complex64", "int32"))

    @t("np.sum np.prod np.nansum np.nanprod m.sum m.prod")
    def _():
        x, kw = red(g)
        kw |= g.opts(dtype=dts, initial=lambda: g.of(0, 1, 2.5, 3, True), where=lambda: wh(g, x))
        return [x], kw

    @t("np.max np.min np.amax np.amin np.nanmax np.nanmin m.max m.min")
    def _():
        x, kw = red(g)
        if g.flag(0.3):
            kw["initial"] = g.of(0, -100, 2.5, 3)
        if g.flag(0.3):
            kw["where"] = wh(g, x)
        return [x], kw

    @t("np.mean np.nanmean m.mean")
    def _():
        x, kw = red(g)
        kw |= g.opts(dtype=idt, where=lambda: wh(g, x))
        return [x], kw

    @t("np.std np.var np.nanstd np.nanvar m.std m.var")
    def _():
        x, kw = red(g)
        kw |= g.opts(dtype=idt, where=lambda: wh(g, x), ddof=lambda: g.of(0, 1, 2, 0.5))
        return [x], kw

    @t("np.any np.all m.any m.all")
    def _():
        x, kw = red(g)
        if g.flag(0.3):
            kw["where"] = wh(g, x)
        return [x], kw

    @t("np.ptp np.count_nonzero np.median np.nanmedian")
    def _():
        x, kw = red(g)
        return [x], kw

    @t("np.argmax np.argmin np.nanargmax np.nanargmin m.argmax m.argmin")
    def _():
        x = g.arr()
        kw = g.opts(axis=lambda: g.axis(x.ndim), keepdims=lambda: True)
        return [x], kw

    @t("np.cumsum np.cumprod np.nancumsum np.nancumprod m.cumsum m.cumprod")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axis(x.ndim), dtype=dts)

    @t("np.cumulative_sum np.cumulative_prod")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axis(x.ndim), dtype=dts, include_initial=lambda: True)

    @t("np.average")
    def _():
        x = g.arr()
        kw = g.opts(axis=lambda: g.axes(x.ndim), keepdims=lambda: True, returned=lambda: True)
        if g.flag():
            a = kw.get("axis")
            kw["weights"] = g.arr(
                shape=x.shape if not isinstance(a, int) or g.flag() or not -x.ndim <= a < x.ndim else (x.shape[a],)
            )
        return [x], kw

    @t("np.quantile np.nanquantile np.percentile np.nanpercentile")
    def _():
        x = g.arr()
        q = g.of(
            0.5,
            0.25,
            0,
            1,
            np.array([0.1, 0.9], "float32"),
            np.array([0.0, 1.0]),
            [0.3, 0.7],
            np.array([[0.5]], "float32"),
            0.333,
        )
        return [x, q], g.opts(
            axis=lambda: g.axes(x.ndim),
            keepdims=lambda: True,
            method=lambda: g.of("linear", "lower", "higher", "midpoint", "nearest"),
        )

    @t("np.argsort np.sort m.sort m.argsort")
    def _():
        x = g.arr()
        return [x], g.opts(
            axis=lambda: g.of(g.axis(x.ndim), g.axis(x.ndim), None), descending=lambda: True, stable=lambda: g.flag()
        )

    @t("np.lexsort")
    def _():
        s = g.shape(lo=1)
        return [[g.arr(REAL, s) for _ in range(g.int(1, 3))]], g.opts(axis=lambda: g.axis(len(s)))

    @t("np.sort_complex")
    def _():
        return [g.arr()], {}

    @t("np.argpartition np.partition")
    def _():
        x = g.arr(shape=g.of((5,), (2, 3), (17,)))
        return [x, g.int(-2, 2)], g.opts(axis=lambda: g.axis(x.ndim))

    @t("np.argwhere np.flatnonzero np.nonzero m.nonzero")
    def _():
        x = g.arr()
        return [x], g.opts(size=lambda: g.int(0, 6), fill_value=lambda: g.of(-1, 0, 9))

    @t("np.where")
    def _():
        s = g.bshapes(3)
        if g.flag(0.15):
            return [g.arr(shape=s[0])], g.opts(size=lambda: 3)
        return [g.operand(["bool", "bool", "int32", "float32"], s[0]), g.operand(ALL, s[1]), g.operand(ALL, s[2])], {}

    @t("np.clip m.clip")
    def _():
        s = g.bshapes(3)
        a = g.dt()
        kw = {}
        if g.flag(0.8):
            kw["min"] = g.operand(g.of(a, g.dt()), s[1])
        if g.flag(0.8):
            kw["max"] = g.operand(g.of(a, g.dt()), s[2])
        return [g.arr(a, s[0])], kw

    @t("np.around np.round m.round")
    def _():
        return [g.arr()], g.opts(decimals=lambda: g.int(-3, 4))

    @t("np.nan_to_num")
    def _():
        g.mode = "special"
        return [g.arr()], g.opts(nan=lambda: g.of(1.5, -1, 0), posinf=lambda: g.of(9.0, 1e5), neginf=lambda: g.of(-9.0, 2))

    @t("np.angle")
    def _():
        return [g.arr()], {"deg": True}

    @t("np.append")
    def _():
        x = g.arr()
        return [x, g.of(g.arr(shape=x.shape), g.arr(), 3, 2.5)], g.opts(axis=lambda: g.axis(x.ndim))

    @t("np.arange")
    def _():
        a = [g.of(0, 1, 5, 2.5, -3, 10, 0.1, 7.0) for _ in range(g.int(1, 3))]
        if len(a) == 3:
            a[2] = g.of(1, 2, -1, 0.5, 0.1, 3, -0.3, 0)
        return a, g.opts(dtype=dts)

    @t("np.linspace")
    def _():
        return [
            g.of(0, 1.0, -3, 2, np.array([1.0, 2], "float32"), g.arr(REAL, ())),
            g.of(1, 5, 10.5, np.array([3, 4], "int32"), 1j),
        ], g.opts(
            num=lambda: g.of(0, 1, 2, 5, 11), endpoint=lambda: False, dtype=dts, axis=lambda: g.of(0, -1), retstep=lambda: True
        )

    @t("np.logspace")
    def _():
        return [g.of(0, 1.0, -1), g.of(2, 3.5, 1)], g.opts(
            num=lambda: g.of(0, 1, 2, 5), endpoint=lambda: False, dtype=idt, base=lambda: g.of(2.0, 3, 10)
        )

    @t("np.geomspace")
    def _():
        return [g.of(1, 1.0, 2, -1, 1j), g.of(2, 300.5, 1000, -8)], g.opts(
            num=lambda: g.of(0, 1, 2, 5), endpoint=lambda: False, dtype=idt
        )

    @t("np.array np.asarray")
    def _():
        x = g.of(
            g.arr(),
            Raw((g.arr(),)),
            g.scalar(),
            [1, 2.5],
            [[1, 2], [3, 4]],
            [True, 2],
            [],
            [[]],
            (1, 2),
            [g.arr("int32", (2,)), g.arr("float32", (2,))],
            [1, 2j],
            [[1], [2, 3]],
            range(4),
            np.float16(2),
            "abc",
            None,
            [np.float32(1), 2],
            2**40,
            [2**40],
            2**70,
            [1, None],
        )
        kw = g.opts(dtype=dts)
        return [x], kw

    @t("np.array#")
    def _():
        return [g.arr()], g.opts(dtype=dts, ndmin=lambda: g.int(0, 4), copy=lambda: g.flag())

    @t("np.astype m.astype")
    def _():
        g.mode = g.of("small", "special", "special")
        return [g.arr(shape=g.of((17,), (67,), (), (2, 3)))] + [dts()], {}

    @t("np.atleast_1d np.atleast_2d np.atleast_3d")
    def _():
        return [g.of(g.arr(), g.scalar()) for _ in range(g.int(0, 3))], {}

    @t("np.bartlett np.blackman np.hamming np.hanning")
    def _():
        return [g.of(0, 1, 2, 5, 12, -1)], {}

    @t("np.kaiser")
    def _():
        return [g.of(0, 1, 2, 5, 12), g.of(0.0, 3, 14.0)], {}

    @t("np.bincount")
    def _():
        x = g.arr(g.of("int32", "uint8", "int64", "bool", "float32"), g.of((5,), (0,), (17,), (2, 3)))
        return [x], g.opts(
            weights=lambda: g.arr(REAL + ["complex64"], x.shape), minlength=lambda: g.of(0, 4, 9), length=lambda: g.of(3, 8)
        )

    @t("np.block")
    def _():
        return [
            g.of(
                [g.arr(shape=(2,)), g.arr(shape=(3,))],
                [[g.arr(shape=(2, 2)), g.arr(shape=(2, 1))], [g.arr(shape=(1, 3))]],
                g.arr(),
                [1, 2.0],
                [],
            )
        ], {}

    @t("np.broadcast_arrays")
    def _():
        return [g.operand(ALL, s) for s in g.bshapes(g.int(0, 3))], {}

    @t("np.broadcast_shapes lax.broadcast_shapes")
    def _():
        return list(g.bshapes(g.int(0, 3), bad=0.2)), {}

    @t("np.broadcast_to")
    def _():
        s = g.bshapes()
        return [g.arr(shape=s[1]), s[0] if g.flag() else (2,) + s[0]], {}

    @t("np.can_cast np.promote_types")
    def _():
        return [dts(), dts()], {}

    @t("np.result_type")
    def _():
        return [g.of(dts(), g.operand(ALL, ())) for _ in range(g.int(1, 3))], g.opts(return_weak_type_flag=lambda: True)

    @t("np.isdtype")
    def _():
        return [
            dts(),
            g.of(
                "bool",
                "signed integer",
                "unsigned integer",
                "integral",
                "real floating",
                "complex floating",
                "numeric",
                dts(),
                ("bool", "integral"),
                "foo",
            ),
        ], {}

    @t("np.issubdtype")
    def _():
        return [
            dts(),
            g.of(
                dts(),
                D("floating"),
                D("integer"),
                D("inexact"),
                D("number"),
                D("generic"),
                D("complexfloating"),
                D("signedinteger"),
                D("unsignedinteger"),
            ),
        ], {}

    @t("np.finfo np.iinfo")
    def _():
        return [g.of(dts(), 1.0, 3, g.arr(shape=()))], {}

    @t("np.choose m.choose")
    def _():
        s = g.shape()
        return [g.arr(["int32", "uint8", "bool"], s, "small"), [g.arr(shape=s) for _ in range(3)]], {
            "mode": g.of("clip", "wrap", "clip", "raise")
        }

    @t("np.compress m.compress np.extract")
    def _():
        x = g.arr()
        return [g.arr("bool", g.of((2,), (3,), (5,))), x], g.opts(
            axis=lambda: g.axis(x.ndim), size=lambda: g.int(0, 4), fill_value=lambda: 7
        )

    @t("np.column_stack np.hstack np.vstack np.dstack")
    def _():
        s = g.shape()
        xs = [g.arr(shape=s if g.flag(0.9) else g.shape()) for _ in range(g.int(1, 3))]
        return [xs if g.flag(0.9) else g.arr()], {}

    @t("np.concatenate np.concat")
    def _():
        s = g.shape(lo=g.of(0, 1, 1, 1))
        a = g.axis(len(s))
        xs = [g.arr(shape=s if g.flag(0.95) else g.shape()) for _ in range(g.int(0 if g.flag(0.1) else 1, 3))]
        return [xs if g.flag(0.9) else g.arr()], {"axis": a if g.flag(0.9) else None}

    @t("np.stack")
    def _():
        s = g.shape()
        xs = [g.arr(shape=s if g.flag(0.95) else g.shape()) for _ in range(g.int(1, 3))]
        return [xs], g.opts(axis=lambda: g.axis(len(s) + 1), dtype=dts)

    @t("np.unstack")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axis(x.ndim))

    @t("np.convolve np.correlate")
    def _():
        return [g.arr(shape=g.of((3,), (5,), (1,), (0,), (17,))), g.arr(shape=g.of((3,), (2,), (1,), (67,), (2, 3)))], g.opts(
            mode=lambda: g.of("full", "same", "valid"), preferred_element_type=idt
        )

    @t(
        "np.copy np.fliplr np.flipud np.isscalar np.iterable np.ndim np.shape np.empty_like np.diag_indices_from np.tril_indices_from np.triu_indices_from np.array_repr np.array_str np.matrix_transpose m.flatten m.copy m.conj m.tolist m.item m.tobytes m.T m.mT m.real m.imag m.size m.ndim m.nbytes m.itemsize m.shape m.dtype m.__len__ m.__bool__ m.__int__ m.__float__ m.__complex__ m.__index__ m.__abs__ m.__neg__ m.__invert__ m.__pos__ m.__hash__ m.__iter__ m.__array__ m.weak_type m.__round__ m.__format__"
    )
    def _():
        return [g.arr()], {}

    @t("np.corrcoef np.cov")
    def _():
        x = g.arr(shape=g.of((3,), (2, 3), (3, 2), (), (4, 4), (1, 3)))
        return [x], g.opts(rowvar=lambda: False, y=lambda: g.arr(shape=x.shape))

    @t("np.cov#")
    def _():
        return [g.arr(shape=(2, 3))], g.opts(
            bias=lambda: True,
            ddof=lambda: g.of(0, 1, 2),
            fweights=lambda: np.array([1, 2, 3]),
            aweights=lambda: np.array([0.5, 2, 1], "float32"),
        )

    @t("np.cross linalg.cross")
    def _():
        return [g.arr(shape=g.of((3,), (2, 3), (2,), (1, 3))), g.arr(shape=g.of((3,), (2, 3), (2,)))], g.opts(
            axis=lambda: g.of(0, -1, 1)
        )

    @t("np.delete")
    def _():
        x = g.arr()
        return [x, g.of(0, -1, [0, 1], slice(0, 2), np.array([0]), 5, np.array([True, False, True]))], g.opts(
            axis=lambda: g.axis(x.ndim)
        )

    @t("np.insert")
    def _():
        x = g.arr()
        return [x, g.of(0, -1, [0, 1], slice(0, 2), 1, 5), g.of(1, 2.5, g.arr(shape=()))], g.opts(axis=lambda: g.axis(x.ndim))

    @t("np.diag np.diagflat np.tril np.triu")
    def _():
        return [g.arr()], g.opts(k=lambda: g.int(-3, 3))

    @t("np.diag_indices")
    def _():
        return [g.int(0, 4)], g.opts(ndim=lambda: g.int(1, 3))

    @t("np.diagonal np.trace m.diagonal m.trace")
    def _():
        x = g.arr()
        return [x], g.opts(offset=lambda: g.int(-3, 3), axis1=lambda: g.axis(x.ndim), axis2=lambda: g.axis(x.ndim))

    @t("np.diff")
    def _():
        x = g.arr()
        return [x], g.opts(
            n=lambda: g.int(0, 4), axis=lambda: g.axis(x.ndim), prepend=lambda: g.of(0, 1.5), append=lambda: g.of(2, g.arr())
        )

    @t("np.digitize")
    def _():
        return [
            g.arr(REAL),
            g.of(np.array([-1.0, 0, 2], "float32"), np.array([3, 1, 0]), np.zeros(0, "float32"), np.array([0.0, 0, 1])),
        ], g.opts(right=lambda: True, method=lambda: g.of("scan", "sort", "compare_all", "scan_unrolled"))

    @t("np.searchsorted m.searchsorted")
    def _():
        return [np.sort(g.arr(REAL, g.of((5,), (0,), (17,)))), g.arr(REAL)], g.opts(
            side=lambda: g.of("left", "right"), method=lambda: g.of("scan", "sort", "compare_all", "scan_unrolled")
        )

    @t("np.matmul linalg.matmul op.matmul")
    def _():
        return mm(g), {}

    @t("np.dot np.matmul#")
    def _():
        return mm(g), g.opts(preferred_element_type=lambda: D(g.of("float32", "float64", "int32", "complex64", "bfloat16")))
