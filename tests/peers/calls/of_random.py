"""Calls of random."""

from draws import D, FLOATS, INTS, K, a_dtype

import numpy as np


def add(g, t):
    """Says of each name how its arguments are drawn."""
    dts = lambda: a_dtype(g)
    # --- random
    fd = lambda: D(g.of("float32", "float64", "float16", "bfloat16"))
    sh = lambda: g.of((), (3,), (2, 3), (0,), (101,))
    key = lambda: K(g.int(0, 2**32 - 1))

    @t("random.uniform")
    def _():
        return [key(), sh()], g.opts(dtype=fd, minval=lambda: g.of(-1.0, 0.5), maxval=lambda: g.of(2.0, 3))

    @t("random.normal random.cauchy random.exponential random.gumbel random.laplace random.logistic")
    def _():
        return [key(), sh()], g.opts(dtype=fd)

    @t("random.rademacher")
    def _():
        return [key(), sh()], g.opts(dtype=dts)

    @t("random.bits")
    def _():
        return [key(), sh()], g.opts(dtype=lambda: D(g.of("uint8", "uint16", "uint32", "uint64", "int32")))

    @t("random.randint")
    def _():
        return [key(), sh(), g.of(0, -5, -100), g.of(10, 1, 127, 300, -200, 100000)], g.opts(dtype=lambda: D(g.dt(INTS)))

    @t("random.bernoulli")
    def _():
        return [key()], g.opts(
            p=lambda: g.of(0.1, 0.9, 0, 1, np.array([0.2, 0.7], "float32")),
            shape=lambda: g.of((3, 2), (101, 2)),
            mode=lambda: g.of("low", "high"),
        )

    @t("random.beta")
    def _():
        return [key(), 0.7, 2.5, sh()], g.opts(dtype=fd)

    @t("random.binomial")
    def _():
        return [key(), g.of(5, 10, 100.0), g.of(0.1, 0.5, 0.9), sh()], g.opts(dtype=fd)

    @t("random.categorical")
    def _():
        return [key(), g.arr(FLOATS, (4, 3), "small")], g.opts(
            axis=lambda: g.of(0, -1), shape=lambda: g.of((5, 4), (4,)), replace=lambda: True
        )

    @t("random.chisquare random.t")
    def _():
        return [key(), g.of(1.5, 7.0), sh()], g.opts(dtype=fd)

    @t("random.choice")
    def _():
        a = g.of(5, np.arange(7) * 2, g.arr(shape=(4, 3)))
        return [key(), a, g.of((), (3,), (2, 2))], g.opts(replace=lambda: False, axis=lambda: 0)

    @t("random.dirichlet")
    def _():
        return [key(), np.array([0.5, 1, 3], "float32")], g.opts(shape=lambda: (4,))

    @t("random.gamma random.loggamma")
    def _():
        return [key(), g.of(0.3, 1.0, 5.0, np.array([0.5, 2], "float32"))], g.opts(shape=lambda: (101, 2), dtype=fd)

    @t("random.geometric")
    def _():
        return [key(), g.of(0.1, 0.5, 0.9), sh()], g.opts(dtype=lambda: D(g.of("int32", "int64", "uint8")))

    @t("random.lognormal random.pareto random.rayleigh random.wald")
    def _():
        return [key(), g.of(0.5, 2.0), sh()], g.opts(dtype=fd)

    @t("random.maxwell")
    def _():
        return [key(), sh()], g.opts(dtype=fd)

    @t("random.double_sided_maxwell random.weibull_min")
    def _():
        return [key(), 1.0, 2.0, sh()], g.opts(dtype=fd)

    @t("random.f")
    def _():
        return [key(), 3.0, 5.0, sh()], {}

    @t("random.triangular")
    def _():
        return [key(), 0.0, 1.0, 3.0, sh()], {}

    @t("random.truncated_normal")
    def _():
        return [key(), g.of(-1.0, 0.0), g.of(1.0, 2.0), sh()], g.opts(dtype=fd)

    @t("random.generalized_normal")
    def _():
        return [key(), 1.5, sh()], {}

    @t("random.ball")
    def _():
        return [key(), 3], g.opts(shape=lambda: (4,))

    @t("random.multivariate_normal")
    def _():
        return [key(), np.zeros(2, "float32"), np.eye(2, dtype="float32")], g.opts(shape=lambda: (4,))

    @t("random.multinomial")
    def _():
        return [key(), 10, np.array([0.2, 0.3, 0.5], "float32")], {}

    @t("random.orthogonal")
    def _():
        return [key(), g.int(1, 4)], g.opts(shape=lambda: (2,))

    @t("random.permutation")
    def _():
        return [key(), g.of(0, 5, 17, g.arr(shape=g.of((5,), (2, 3))))], g.opts(independent=lambda: True)

    @t("random.poisson")
    def _():
        return [key(), g.of(0.5, 3.0, 30.0, 0.0), sh()], g.opts(dtype=lambda: D("int32"))

    @t("random.split")
    def _():
        return [key()], g.opts(num=lambda: g.of(0, 1, 3, (2, 2)))

    @t("random.fold_in")
    def _():
        return [key(), g.of(0, 1, 2**32 - 1, -1)], {}

    @t("random.PRNGKey random.key_data")
    def _():
        return [g.of(0, 1, -1, 2**31, 2**32 + 5, 2**40)], {}
