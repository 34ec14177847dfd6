"""Calls of linear algebra and of segment sums."""

from draws import COMPLEX, FLOATS, SQ, a_dtype

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""
    dts = lambda: a_dtype(g)
    # --- linalg
    fl = FLOATS + COMPLEX + ["int32", "bool"]

    def spd():
        n = g.of("float32", "float64", "complex64", "complex128", "float32", "float16", "int32")
        s = g.pick(SQ)
        a = g.arr("complex128" if n in COMPLEX else "float64", s, "small")
        return (a @ np.conj(np.swapaxes(a, -1, -2)) + 3 * np.eye(s[-1])).astype(n)

    def wellc():
        n = g.of("float32", "float64", "complex64", "complex128", "float32", "float16", "int32")
        s = g.pick(SQ)
        a = g.arr("complex128" if n in COMPLEX else "float64", s, "small")
        return (a + 4 * np.eye(s[-1])).astype(n)

    @t("linalg.cholesky")
    def _():
        return [spd()], g.opts(upper=lambda: True)

    @t(
        "linalg.det linalg.inv linalg.slogdet sl.det sl.inv linalg.diagonal linalg.trace sl.lu sl.lu_factor linalg.matrix_transpose"
    )
    def _():
        return [wellc() if g.flag(0.85) else g.arr(fl)], {}

    @t("linalg.solve sl.solve")
    def _():
        a = wellc()
        return [a, g.arr(g.of(str(a.dtype), g.dt(fl)), g.of(a.shape[:-1], a.shape, a.shape[-1:]), "small")], {}

    @t("sl.solve_triangular")
    def _():
        a = wellc()
        return [a, g.arr(str(a.dtype), g.of(a.shape[:-1], a.shape), "small")], g.opts(
            lower=lambda: True, trans=lambda: g.of(0, 1, 2, "T"), unit_diagonal=lambda: True
        )

    @t("ll.triangular_solve")
    def _():
        a = wellc()
        return [a, g.arr(str(a.dtype), a.shape, "small")], g.opts(
            left_side=lambda: True,
            lower=lambda: True,
            transpose_a=lambda: True,
            conjugate_a=lambda: True,
            unit_diagonal=lambda: True,
        )

    @t("linalg.qr")
    def _():
        return [g.arr(fl, g.of((2, 3), (3, 2), (3, 3), (2, 3, 2), (0, 2), (3,)), "small")], g.opts(
            mode=lambda: g.of("reduced", "complete", "r", "raw")
        )

    @t("ll.lu ll.cholesky")
    def _():
        return [spd()], {}

    @t("sl.cho_factor")
    def _():
        return [spd()], g.opts(lower=lambda: True)

    @t("linalg.matrix_power")
    def _():
        return [wellc(), g.int(-2, 4)], {}

    @t("linalg.multi_dot")
    def _():
        return [[g.arr(fl, s) for s in g.of([(2, 3), (3, 4), (4, 2)], [(3,), (3, 2), (2,)], [(2, 3), (3, 2)], [(2, 3)])]], {}

    @t("linalg.norm")
    def _():
        x = g.arr()
        return [x], g.opts(
            ord=lambda: g.of(1, 2, np.inf, -np.inf, "fro", 0, 3, -1, 0.5),
            axis=lambda: g.of(g.axis(x.ndim), (0, 1), (-2, -1)),
            keepdims=lambda: True,
        )

    @t("linalg.vector_norm")
    def _():
        x = g.arr()
        return [x], g.opts(ord=lambda: g.of(1, 2, np.inf, -np.inf, 0, 3), axis=lambda: g.axes(x.ndim), keepdims=lambda: True)

    @t("linalg.matrix_norm")
    def _():
        return [g.arr(shape=g.of((2, 3), (3, 3), (2, 3, 4), (3,)))], g.opts(
            ord=lambda: g.of(1, np.inf, -np.inf, "fro", -1), keepdims=lambda: True
        )

    @t("linalg.cond")
    def _():
        return [wellc()], {"p": g.of(1, np.inf, "fro", -1)}

    @t("linalg.tensorinv")
    def _():
        return [g.arr(fl, g.of((4, 2, 2), (2, 2, 4)), "small")], g.opts(ind=lambda: g.of(1, 2))

    @t("linalg.tensorsolve")
    def _():
        return [g.arr(["float32", "float64"], (2, 3, 6), "small"), g.arr(["float32"], (2, 3), "small")], {}

    @t("sl.block_diag")
    def _():
        return [g.arr(shape=g.of((2, 3), (3,), (), (0, 2))) for _ in range(g.int(0, 3))], {}

    @t("sl.circulant sl.toeplitz sl.fiedler sl.hankel")
    def _():
        return [g.arr()], {}

    @t("sl.companion")
    def _():
        return [g.arr(shape=(4,), mode="small", pos=True)], {}

    @t("sl.leslie")
    def _():
        return [g.arr(shape=(3,)), g.arr(shape=(2,))], {}

    @t("sl.convolution_matrix")
    def _():
        return [g.arr(shape=(3,)), g.int(1, 4)], g.opts(mode=lambda: g.of("full", "same", "valid"))

    @t("sl.dft")
    def _():
        return [g.int(1, 5)], g.opts(scale=lambda: g.of("sqrtn", "n"))

    @t("sl.expm")
    def _():
        return [wellc()], {}

    @t("sl.hadamard")
    def _():
        return [g.of(1, 2, 4, 3)], g.opts(dtype=dts)

    @t("sl.helmert sl.hilbert sl.invhilbert sl.invpascal sl.pascal")
    def _():
        return [g.int(1, 5)], {}

    @t("ops.segment_sum ops.segment_prod ops.segment_max ops.segment_min")
    def _():
        x = g.arr(shape=g.of((5,), (5, 2), (17,)))
        return [x, g.arr(["int32", "uint8", "int64"], x.shape[:1], "small")], g.opts(
            num_segments=lambda: g.int(0, 6), mode=lambda: g.of("clip", "drop")
        )
