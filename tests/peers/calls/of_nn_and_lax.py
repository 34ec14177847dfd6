"""Calls of functions of nn and lax."""

from draws import ALL, FLOATS, NT, REAL, D, F, a_dtype, mm, npd

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""
    dts = lambda: a_dtype(g)

    # --- nn
    @t("nn.glu")
    def _():
        x = g.arr(shape=g.of((4,), (2, 4), (4, 4), (3,), (0,)))
        return [x], g.opts(axis=lambda: g.axis(x.ndim))

    @t("nn.softmax nn.log_softmax nn.standardize")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axes(x.ndim), where=lambda: g.arr("bool", x.shape))

    @t("nn.logsumexp nn.logmeanexp")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axes(x.ndim), keepdims=lambda: True, where=lambda: g.arr("bool", x.shape))

    @t("nn.logsumexp#")
    def _():
        x = g.arr()
        return [x], g.opts(b=lambda: g.arr(shape=x.shape), return_sign=lambda: True)

    @t("nn.one_hot")
    def _():
        x = g.arr()
        return [x, g.int(0, 4)], g.opts(dtype=dts, axis=lambda: g.of(-1, 0, 1))

    @t("nn.gelu")
    def _():
        return [g.arr()], {"approximate": False}

    @t("nn.celu nn.elu nn.leaky_relu")
    def _():
        return [g.arr(), g.of(0.5, 2, np.float32(0.3))], {}

    @t("nn.squareplus")
    def _():
        return [g.arr(), g.of(0.5, 2)], {}

    @t("nn.dot_product_attention")
    def _():
        b, s, n, h = g.int(1, 2), g.int(1, 4), g.of(1, 2), 4
        dt = g.of("float32", "float16", "bfloat16", "float64")
        return [g.arr(dt, (b, s, n, h)) for _ in range(3)], g.opts(
            is_causal=lambda: True,
            scale=lambda: 0.3,
            bias=lambda: g.arr(dt, (1, n, s, s)),
            mask=lambda: g.arr("bool", (b, 1, s, s)),
        )

    # --- lax
    @t("lax.argmax lax.argmin")
    def _():
        x = g.arr()
        return [x, g.axis(x.ndim), D(g.of("int32", "int8", "uint32", "float32"))], {}

    @t("lax.approx_max_k lax.approx_min_k lax.top_k")
    def _():
        x = g.arr(shape=g.of((5,), (2, 3), (17,), ()))
        return [x, g.int(0, 4)], {}

    @t("lax.batch_matmul")
    def _():
        a = g.dt()
        return [g.arr(a, (2, 3, 4)), g.arr(a, (2, 4, 2))], {}

    @t("lax.betainc")
    def _():
        s = g.shape()
        a = g.of(*FLOATS)
        return [g.arr(a, s, pos=True), g.arr(a, s, pos=True), g.arr(a, s, pos=True)], {}

    @t("lax.igamma lax.igammac lax.igamma_grad_a lax.random_gamma_grad lax.zeta")
    def _():
        s = g.shape()
        a = g.of(*FLOATS)
        return [g.arr(a, s, pos=True), g.arr(a, s, pos=True)], {}

    @t("lax.polygamma")
    def _():
        s = g.shape()
        a = g.of(*FLOATS)
        return [np.abs(np.round(g.arr("float64", s, "small"))).astype(npd(a)), g.arr(a, s, pos=True)], {}

    @t("lax.broadcast")
    def _():
        return [g.operand(ALL, g.shape()), g.of((2,), (0,), (), (2, 3), (-1,))], {}

    @t("lax.broadcast_in_dim")
    def _():
        return [g.arr(shape=(2, 3)), g.of((2, 3), (4, 2, 3), (2, 4, 3), (3, 2)), g.of((0, 1), (1, 2), (0, 2), (1, 0))], {}

    @t("lax.broadcast_like")
    def _():
        s = g.bshapes()
        return [g.arr(shape=s[0]), g.arr(shape=s[1])], {}

    @t("lax.broadcast_to_rank")
    def _():
        return [g.arr(), g.int(0, 4)], {}

    @t("lax.broadcasted_iota")
    def _():
        return [dts(), g.of((2, 3), (3,), (0, 2)), g.of(0, 1, -1)], {}

    @t("lax.iota")
    def _():
        return [dts(), g.of(0, 3, 5, -1)], {}

    @t("lax.clamp")
    def _():
        a, s = g.dt(), g.shape()
        o = lambda: g.of(g.arr(a, s), g.arr(a, ()), g.arr(g.dt(), s), g.scalar())
        return [o(), g.arr(a, s), o()], {}

    @t("lax.collapse")
    def _():
        x = g.arr()
        return [x, g.axis(x.ndim)] + ([g.axis(x.ndim + 1)] if g.flag() else []), {}

    @t("lax.concatenate")
    def _():
        a, s = g.dt(), g.shape(lo=1)
        return [[g.arr(a if g.flag(0.95) else g.dt(), s) for _ in range(g.int(1, 3))], g.axis(len(s))], {}

    @t("lax.convert_element_type")
    def _():
        g.mode = g.of("small", "special")
        return [g.of(g.arr(shape=(17,)), g.arr(), g.scalar()), dts()], {}

    @t("lax.cumlogsumexp lax.cummax lax.cummin lax.cumprod lax.cumsum")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axis(x.ndim), reverse=lambda: True)

    @t("lax.dot")
    def _():
        a, b = mm(g)
        return [a, b if g.flag(0.3) else g.arr(str(a.dtype), b.shape)], g.opts(preferred_element_type=lambda: D("float32"))

    @t("lax.dot_general")
    def _():
        a = g.dt()
        return [
            g.arr(a, (2, 3, 4)),
            g.arr(a, g.of((2, 4, 3), (2, 3, 4))),
            g.of(
                (((2,), (1,)), ((0,), (0,))),
                (((1, 2), (1, 2)), ((), ())),
                (((2,), (2,)), ((0,), (0,))),
                (((), ()), ((0,), (0,))),
            ),
        ], g.opts(preferred_element_type=lambda: D(g.of("float32", "int32")))

    @t("lax.dynamic_slice")
    def _():
        x = g.arr(shape=g.of((5,), (2, 3), (4, 4)))
        return [x, [g.of(0, 1, -1, 10, -20, np.array(2, "uint8")) for _ in x.shape], tuple(g.int(0, 3) for _ in x.shape)], {}

    @t("lax.dynamic_slice_in_dim")
    def _():
        x = g.arr()
        return [x, g.of(0, 1, -1, 10), g.int(0, 3)], g.opts(axis=lambda: g.axis(x.ndim))

    @t("lax.dynamic_index_in_dim lax.index_in_dim")
    def _():
        x = g.arr()
        return [x, g.of(0, 1, -1, 10)], g.opts(axis=lambda: g.axis(x.ndim), keepdims=lambda: False)

    @t("lax.dynamic_update_slice")
    def _():
        a = g.dt()
        return [
            g.arr(a, (4, 4)),
            g.arr(a if g.flag(0.9) else g.dt(), g.of((2, 2), (1, 4), (0, 2), (5, 1), (2,))),
            [g.of(0, 1, -1, 10), g.of(0, 2, -3)],
        ], {}

    @t("lax.dynamic_update_slice_in_dim lax.dynamic_update_index_in_dim")
    def _():
        a = g.dt()
        return [g.arr(a, (4, 4)), g.arr(a, g.of((2, 4), (1, 4), (4,), (4, 2))), g.of(0, 1, -1, 10), g.axis(2)], {}

    @t("lax.empty")
    def _():
        return [(2,), dts()], {}

    @t("lax.expand_dims")
    def _():
        x = g.arr()
        return [x, g.of((0,), (-1,), (0, 2), (5,), ())], {}

    @t("lax.full")
    def _():
        return [g.of((2,), (), (0, 3)), g.of(g.scalar(), g.arr(shape=()))], g.opts(dtype=dts)

    @t("lax.full_like")
    def _():
        return [g.of(g.arr(), g.scalar()), g.of(g.scalar(), g.arr(shape=()))], g.opts(dtype=dts, shape=lambda: g.shape())

    @t("lax.index_take")
    def _():
        return [g.arr(shape=(4, 4)), (g.arr("int32", (3,)), g.arr("int32", (3,))), (0, 1)], {}

    @t("lax.integer_pow")
    def _():
        return [g.arr(), g.int(-4, 9)], {}

    @t("lax.pad")
    def _():
        x = g.arr(shape=g.of((3,), (2, 3), (0,)))
        return [
            x,
            g.arr(str(x.dtype) if g.flag(0.9) else g.dt(), ()),
            [g.of((0, 0, 0), (1, 2, 0), (0, 1, 1), (-1, 0, 0), (-1, 2, 1), (-5, 1, 0), (0, 0, -1)) for _ in x.shape],
        ], {}

    @t("lax.reduce_and lax.reduce_or lax.reduce_xor lax.reduce_max lax.reduce_min lax.reduce_prod lax.reduce_sum")
    def _():
        x = g.arr()
        return [x, g.of(tuple(range(x.ndim)), (0,), (-1,), (), (0, 0))], {}

    @t("lax.reduce")
    def _():
        x = g.arr(shape=g.of((5,), (2, 3)))
        n = str(x.dtype)
        return [x, np.array(g.of(0, 1)).astype(npd(n)), F(g.of("lax.add", "lax.max", "lax.mul", "lax.min")), (0,)], {}

    @t("lax.reshape")
    def _():
        x = g.arr()
        return [x, g.of((x.size,), (2, 3), (3, 2), (-1,), (6,), ())], g.opts(dimensions=lambda: g.of((1, 0), (0,)))

    @t("lax.rev")
    def _():
        x = g.arr()
        return [x, g.of((0,), (), (-1,), tuple(range(x.ndim)))], {}

    @t("lax.round")
    def _():
        g.mode = "special"
        return [g.arr(FLOATS + ["int32"], (17,)), g.of(0, 1)], {}

    @t("lax.select")
    def _():
        a, s = g.dt(), g.shape()
        return [
            g.arr("bool" if g.flag(0.9) else "int32", g.of(s, s, ())),
            g.arr(a, s),
            g.arr(a if g.flag(0.9) else g.dt(), s),
        ], {}

    @t("lax.select_n")
    def _():
        a, s = g.dt(), g.shape()
        n = g.int(1, 3)
        return [g.arr(g.of("bool", "int32", "int32"), g.of(s, s, ()), "small", pos=True)] + [g.arr(a, s) for _ in range(n)], {}

    @t("lax.slice")
    def _():
        x = g.arr(shape=g.of((5,), (4, 4)))
        n = x.ndim
        return [x, [g.int(0, 3) for _ in range(n)], [g.int(2, 6) for _ in range(n)]] + (
            [[g.int(0, 3) for _ in range(n)]] if g.flag() else []
        ), {}

    @t("lax.slice_in_dim")
    def _():
        x = g.arr()
        return [x, g.of(0, 1, None, -2), g.of(2, None, 3, -1)], g.opts(stride=lambda: g.int(1, 3), axis=lambda: g.axis(x.ndim))

    @t("lax.sort")
    def _():
        if g.flag(0.3):
            s = g.shape(lo=1)
            return [tuple(g.arr(REAL, s) for _ in range(2))], g.opts(
                num_keys=lambda: g.of(1, 2), dimension=lambda: g.axis(len(s))
            )
        x = g.arr()
        return [x], g.opts(dimension=lambda: g.axis(x.ndim))

    @t("lax.sort_key_val")
    def _():
        s = g.shape(lo=1)
        return [g.arr(shape=s), g.arr(shape=s)], g.opts(dimension=lambda: g.axis(len(s)))

    @t("lax.split")
    def _():
        return [g.arr(shape=g.of((5,), (5, 2))), g.of((2, 3), (5,), (0, 5), (2, 2), (-1, 6))], {}

    @t("lax.squeeze")
    def _():
        x = g.arr(shape=g.of((1, 3), (2, 1, 3), (1,), ()))
        return [x, g.of((0,), (1,), (), (-2,))], {}

    @t("lax.stack")
    def _():
        a, s = g.dt(), g.shape()
        return [[g.arr(a, s), g.arr(a, s)]], g.opts(axis=lambda: g.axis(len(s) + 1))

    @t("lax.tile")
    def _():
        x = g.arr()
        return [x, tuple(g.int(0, 2) for _ in x.shape)], {}

    @t("lax.transpose")
    def _():
        x = g.arr()
        return [x, tuple(g.r.sample(range(x.ndim), x.ndim))], {}

    @t("lax.unstack")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axis(x.ndim))

    @t("lax.associative_scan")
    def _():
        x = g.arr()
        return [F(g.of("lax.add", "lax.mul", "lax.max")), x], g.opts(reverse=lambda: True, axis=lambda: g.axis(x.ndim))

    @t("lax.map")
    def _():
        x = g.arr()
        return [F(g.of("np.sin", "np.sum", "np.negative")), x], g.opts(batch_size=lambda: g.of(1, 2, 5))

    @t("lax.scan")
    def _():
        x = g.arr()
        return [F("scanbody"), g.of(0, 0.0, np.zeros(x.shape[1:], x.dtype), 1j), x], g.opts(
            reverse=lambda: True, unroll=lambda: g.of(1, 2, True)
        )

    @t("lax.fori_loop")
    def _():
        return [g.of(0, 1, -2), g.of(0, 3, 5), F("foribody"), g.of(0, 0.0, g.arr())], {}

    @t("lax.while_loop")
    def _():
        return [F("lt100"), F("dbl"), g.of(1, 1.5, g.arr(shape=(), pos=True))], {}

    @t("lax.cond")
    def _():
        return [g.of(True, False, 1, 0, 2.5, g.arr("bool", ()), g.arr("bool", (2,))), F("np.sin"), F("np.cos"), g.arr()], {}

    @t("lax.switch")
    def _():
        return [
            g.of(0, 1, 2, -1, 7, g.arr("int32", ()), g.arr("uint8", ()), 1.5),
            [F("np.sin"), F("np.cos"), F("np.tan")],
            g.arr(),
        ], {}

    @t("lax.gather")
    def _():
        return [
            g.arr(shape=(4, 3)),
            g.arr(["int32", "uint8", "int64"], (2, 1), g.of("small", "special")),
            NT(("GatherDimensionNumbers", dict(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)))),
            (1, 3),
        ], g.opts(mode=lambda: g.of("clip", "fill", "promise_in_bounds", None), fill_value=lambda: 5)

    @t("lax.scatter lax.scatter_add lax.scatter_max lax.scatter_min lax.scatter_mul lax.scatter_sub")
    def _():
        a = g.dt()
        return [
            g.arr(a, (4, 3)),
            g.arr(["int32", "uint8", "int64"], (2, 1), g.of("small", "special")),
            g.arr(a, (2, 3)),
            NT(
                (
                    "ScatterDimensionNumbers",
                    dict(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)),
                )
            ),
        ], g.opts(mode=lambda: g.of("clip", "drop", None))
