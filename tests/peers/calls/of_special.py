"""Calls of scipy.special, with numbers where functions are defined, at the ends of that, and special ones."""

from draws import FLOATS, INTS, Raw

import numpy as np

DTS = FLOATS + FLOATS + ["float32", "float64", "int32", "bool"] + INTS
# What numbers the arguments of elementwise functions are; those of more kinds than one stand in several rows.
KINDS = {
    ("any",): """digamma psi gammaln loggamma gamma gammasgn erf erfc erfcx expit dawsn i0 i0e i1 i1e sici fresnel ndtr log_ndtr entr
    spence expi exp1 wofz factorial""",
    ("positive",): "digamma gammaln loggamma gamma spence exp1 expi entr i0 i1 zeta factorial erfc erfcx",
    ("unit",): "ndtri logit spence entr",
    ("sides",): "erfinv erf",
    ("any", "any"): "xlogy xlog1py rel_entr kl_div beta betaln poch boxcox boxcox1p owens_t",
    ("positive", "positive"): "beta betaln gammainc gammaincc zeta xlogy rel_entr kl_div poch comb",
    ("positive", "any"): "boxcox zeta",
    ("positive", "near"): "boxcox boxcox1p",
    ("near", "near"): "poch beta betaln owens_t",
    ("count", "count"): "comb poch beta betaln",
    ("count", "positive"): "polygamma expn",
    ("count", "any"): "polygamma",
    ("positive", "positive", "unit"): "betainc",
    ("near", "near", "near"): "hyp1f1",
    ("near", "positive", "any"): "hyp1f1",
    ("near", "near", "near", "sides"): "hyp2f1",
    ("positive", "positive", "positive", "unit"): "hyp2f1",
}


def add(g, t):
    """Says of each name how its arguments are drawn."""
    for kinds, names in KINDS.items():
        @t(" ".join(f"special.{n}" for n in names.split()))
        def _(kinds=kinds):
            return g.operands(kinds, DTS), {}

    @t("special.comb")
    def _():
        return g.operands(("count", "count"), DTS), {"repetition": True}

    @t("special.wofz special.expi special.loggamma special.expit special.spence special.exp1")
    def _():
        return [g.arr(["complex64", "complex128"], (17,))], {}

    @t("special.multigammaln")
    def _():
        return [g.numbers("positive", g.dt(FLOATS), (17,)) + (3 if g.mode == "small" else 0), g.int(0, 5)], {}

    @t("special.bernoulli")
    def _():
        return [g.of(0, 1, 2, 3, 7, 20, 60, -1)], {}

    @t("special.bessel_jn")
    def _():
        return [g.numbers("near", g.dt(FLOATS), g.of((), (17,), (0,))) * g.of(1, 3)], {"v": g.int(0, 4), **g.opts(n_iter=lambda: g.of(30, 80))}

    @t("special.sph_harm_y")
    def _():
        n = g.g.integers(0, 6, 17)
        m = g.g.integers(-n - (0 if g.flag(0.8) else 1), n + 1)
        dt = g.of("float32", "float64")
        return [n, m, g.numbers("unit", dt, (17,)) * g.of(1, 3), g.numbers("any", dt, (17,))], g.opts(n_max=lambda: 6)

    @t("special.logsumexp")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axes(x.ndim), b=lambda: g.arr(shape=x.shape), keepdims=lambda: True, return_sign=lambda: True,
                           where=lambda: g.arr("bool", x.shape))

    @t("special.softmax special.log_softmax")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.axes(x.ndim))

    @t("special.gammaln special.erf special.i0 special.ndtri special.logit special.factorial")
    def _():
        return [g.of(g.scalar(), Raw((g.arr(),)))], {}
