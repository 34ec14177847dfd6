"""Calls of optimization, iterative solvers, rotations, codes, trees as vectors, rules of vmap, attention and differential equations."""

from draws import FLOATS, REAL, npd

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""
    real = lambda: g.of("float32", "float64", "float64")

    @t("composed.minimize " * 2)
    def _():
        n = g.int(2, 4)
        method = g.of("BFGS", "BFGS", "bfgs", "l-bfgs-experimental-do-not-rely-on-this", "Newton")
        name = g.of("bowl", "rosenbrock", "matyas", "eggholder")
        options = g.of(None, {}, {"gtol": 1e-6}, {"maxiter": 500}, {"unknown": 1})
        return [name, g.g.normal(size=2 if name == "matyas" else n), method, options, g.of(None, 1e-7)], {}

    @t("composed.solve " * 3)
    def _():
        n, dt = g.int(1, 6), g.of("float64", "float64", "complex128")
        name = g.of("cg", "gmres", "bicgstab")
        a = g.arr(dt, (n, n), "small")
        a = a @ np.conj(a.T) + 4 * np.eye(n) if name == "cg" or g.flag() else a + 9 * np.eye(n)
        k = {"tol": 1e-10, **g.opts(x0=lambda: g.arr(dt, (n,), "small"), atol=lambda: 1e-8, maxiter=lambda: 200)}
        form = g.of("matrix", "function", "tree")
        if form == "tree":
            k.pop("x0", None)
        if g.flag(0.3):
            k["M"] = np.diag(1 / np.diag(a))
        if name == "gmres":
            k |= g.opts(restart=lambda: g.of(3, 20), solve_method=lambda: g.of("batched", "incremental", "none"))
        return [name, a.astype(dt), g.arr(dt, g.of((n,), (n,), (n,), (n + 1,)), "small"), form], k

    # --- rotations
    def rotations(many):
        """A method that makes rotations, and what it takes."""
        dt = real()
        axes = g.of("xyz", "XYZ", "zxz", "ZYX", "z", "yx", "xyy", "aBc")
        angles = g.g.uniform(-3, 3, (*many, len(axes))).astype(dt)
        vectors = (g.g.normal(size=(*many, 3)) * g.of(1, 1, 1e-5, 3, 0)).astype(dt)
        q = g.g.normal(size=(*many, 4)).astype(dt)
        a, b = np.linalg.qr(g.g.normal(size=(*many, 3, 3)))
        a = a * np.sign(np.linalg.det(a))[..., None, None]
        euler = axes, angles[..., 0] if len(axes) == 1 else angles, g.flag(0.3)
        return g.of(("from_euler", euler), ("from_rotvec", (vectors, g.flag(0.3))), ("from_quat", (q,)), ("from_quat", (q,)),
                    ("from_mrp", (vectors,)), ("from_matrix", (a.astype(dt),)))

    @t("composed.rotation " * 5)
    def _():
        many = g.of((), (), (3,), (1,))
        begin, given = rotations(many)
        how = g.of("as_euler", "as_matrix", "as_mrp", "as_rotvec", "as_quat", "magnitude", "inv", "apply", "mean", "__mul__", "__len__", "single")
        k, more = {}, ()
        if how == "as_euler":
            more, k = (g.of("xyz", "ZYX", "zxz", "yxy"),), g.opts(degrees=lambda: True)
        elif how == "as_rotvec":
            k = g.opts(degrees=lambda: True)
        elif how == "as_quat":
            k = g.opts(canonical=lambda: True, scalar_first=lambda: True)
        elif how == "apply":
            more, k = (g.arr(g.of("float32", "float64", "int32"), g.of((3,), (*many, 3), (2, 3)), "small"),), g.opts(inverse=lambda: True)
        elif how == "mean":
            k = g.opts(weights=lambda: g.g.random(many) + 0.1) if many else {}
        elif how == "__mul__":
            q = g.g.normal(size=(*g.of(many, many, ()), 4))
            more = ((q / np.linalg.norm(q, axis=-1, keepdims=True)).astype(real()),)
        return [begin, given, how, *more], k

    @t("composed.slerp")
    def _():
        n = g.int(2, 4)
        times = np.cumsum(g.g.random(n) + 0.1)
        return [times, g.g.normal(size=(n, 3)), g.of(g.g.uniform(times[0], times[-1], 5), times[0], float(times.mean()), times)], {}

    @t("vq.vq")
    def _():
        d = g.int(1, 3)
        dt = g.of("float32", "float64", "float16", "int32")
        book = g.arr(dt if g.flag(0.8) else g.of("float32", "int32"), (g.int(1, 4), d if g.flag(0.9) else d + 1), "small")
        return [g.arr(dt, g.of((5, d), (5, d), (0, d), (5,)), "small"), book], {}

    # --- trees and rules
    @t("composed.ravel_pytree")
    def _():
        leaf = lambda: g.of(g.arr(), g.arr(REAL), g.arr(FLOATS), g.scalar())
        tree = g.of(leaf(), [leaf(), leaf()], {"a": leaf(), "b": (leaf(), [leaf()])}, [], {"a": None}, [leaf(), leaf(), leaf()])
        return [tree, g.of(None, None, g.arr(shape=(3,)))], {}

    @t("composed.custom_vmap " * 2)
    def _():
        axes = g.of((0, 0), (0, None), (None, 0), (1, 0))
        x, y = (g.arr("float64", (4,) if a is not None else (), "small") for a in axes)
        if axes[0] == 1:
            x, y = g.arr("float64", (3, 4), "small"), g.arr("float64", (4, 3), "small")
        return [x, y, axes, g.of("function", "function", "ones", "size", "none"), g.of("none", "jit", "grad", "jvp")], {}

    @t("composed.sequential_vmap")
    def _():
        axes = g.of((0, 0), (0, None), (None, 0))
        return [*(g.arr(g.of("float32", "int32"), (4, 2) if a == 0 else (2,), "small") for a in axes), axes], {}

    # --- attention and scaled products
    @t("nn.dot_product_attention " * 2)
    def _():
        b, t_, s, n, h = g.int(1, 2), g.int(1, 5), g.int(1, 5), g.of(1, 2, 4), g.of(4, 4, 3)
        heads = n // g.of(1, 2) or 1
        dt = g.of("float32", "float16", "bfloat16", "float64")
        front = (b,) if g.flag(0.85) else ()
        lengths = lambda top: g.g.integers(1, top + 1, (b,)).astype("int32")
        value = g.arr(dt if g.flag(0.95) else "float32", (*front, s, heads, h if g.flag(0.95) else h + 1), "small")
        return [g.arr(dt, (*front, t_, n, h), "small"), g.arr(dt, (*front, s, heads, h), "small"), value], g.opts(
            is_causal=lambda: True, scale=lambda: g.of(0.3, 2),
            bias=lambda: g.arr(dt, g.of((b, n, t_, s), (1, n, t_, s), (b, 1, t_, s), (n, t_, s)), "small"),
            mask=lambda: g.arr("bool", g.of((b, n, t_, s), (1, 1, t_, s), (b, 1, 1, s))), query_seq_lengths=lambda: lengths(t_),
            key_value_seq_lengths=lambda: lengths(s), local_window_size=lambda: g.of(1, (1, 0), (0, 2)), return_residual=lambda: True)

    @t("nn.scaled_matmul")
    def _():
        b, m, k, n, blocks = g.int(1, 2), g.int(1, 4), 64, g.int(1, 4), g.of(2, 1, 4)
        dt = npd(g.of("float32", "bfloat16", "float16")) if g.flag(0.6) else np.dtype(g.of("float8_e4m3fn", "float8_e5m2"))
        scales = g.of(np.dtype("float32"), npd("bfloat16"))
        return [g.arr("float32", (b, m, k), "small").astype(dt), g.arr("float32", (b, n, k), "small").astype(dt),
                *((2.0 ** g.g.integers(-3, 4, (b, rows, blocks))).astype(scales) for rows in (m, n))], {}

    # --- differential equations
    @t("composed.odeint")
    def _():
        name = g.of("decay", "spring", "driven", "pair")
        dt = real()
        y = g.arr(dt, (2,) if name == "spring" else g.of((), (3,), (2, 2)), "small")
        times = np.cumsum(g.g.random(g.int(1, 5))).astype(dt)
        return [name, y, times if g.flag(0.95) else np.arange(3)], g.opts(rtol=lambda: 1e-7, atol=lambda: 1e-7, hmax=lambda: 0.1)

    @t("composed.slope_of_odeint")
    def _():
        return [g.g.random() + 0.5, g.g.normal(size=2), np.cumsum(g.g.random(g.int(2, 4)))], {}
