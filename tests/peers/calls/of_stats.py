"""Calls of scipy.stats: each function of each distribution, with numbers in and beside its support and parameters in and beside
their domain; statistics of samples."""

from draws import FLOATS, INTS, REAL, K

import numpy as np

DTS = FLOATS + ["float32", "float64", "float32", "float64", "int32"] + INTS
CONTINUOUS = "logpdf pdf cdf logcdf sf logsf"
# distribution: the kinds of its numbers and of its parameters, whether it has loc and scale, and its functions.
DISTRIBUTIONS = {
    "bernoulli": ("count unit", "loc", "logpmf pmf cdf ppf"),
    "beta": ("unit positive positive", "loc scale", CONTINUOUS),
    "betabinom": ("count count positive positive", "loc", "logpmf pmf"),
    "binom": ("count count unit", "loc", "logpmf pmf"),
    "cauchy": ("any", "loc scale", CONTINUOUS + " ppf isf"),
    "chi2": ("positive positive", "loc scale", CONTINUOUS),
    "expon": ("positive", "loc scale", CONTINUOUS + " ppf"),
    "gamma": ("positive positive", "loc scale", CONTINUOUS),
    "gennorm": ("any positive", "", "logpdf pdf cdf"),
    "geom": ("count unit", "loc", "logpmf pmf"),
    "gumbel_l": ("near", "loc scale", CONTINUOUS + " ppf"),
    "gumbel_r": ("near", "loc scale", CONTINUOUS + " ppf"),
    "laplace": ("any", "loc scale", "logpdf pdf cdf"),
    "logistic": ("any", "loc scale", "logpdf pdf cdf sf ppf isf"),
    "nbinom": ("count count unit", "loc", "logpmf pmf"),
    "norm": ("any", "loc scale", CONTINUOUS + " ppf isf"),
    "pareto": ("positive positive", "loc scale", CONTINUOUS + " ppf"),
    "poisson": ("count positive", "loc", "logpmf pmf cdf"),
    "t": ("any positive", "loc scale", "logpdf pdf"),
    "truncnorm": ("near near near", "loc scale", CONTINUOUS),
    "uniform": ("unit", "loc scale", "logpdf pdf cdf ppf"),
    "vonmises": ("near positive", "", "logpdf pdf"),
    "wrapcauchy": ("any unit", "", "logpdf pdf"),
}


def add(g, t):
    """Says of each name how its arguments are drawn."""
    for distribution, (kinds, where, functions) in DISTRIBUTIONS.items():
        for function in functions.split():
            @t(f"stats.{distribution}.{function}")
            def _(kinds=tuple(kinds.split()), where=where.split(), function=function, distribution=distribution):
                if function in ("ppf", "isf"):
                    kinds = ("unit", *kinds[1:])
                x = g.operands(kinds, DTS)
                if distribution == "truncnorm" and g.flag(0.8):   # its ends in order
                    if np.result_type(x[1], x[2]).kind in "fi":
                        x[1], x[2] = np.minimum(x[1], x[2]), np.maximum(x[1], x[2])
                dt = str(np.asarray(x[0]).dtype)
                k = {}
                if where and g.flag(0.4):
                    k["loc"] = g.of(g.int(-2, 2), g.numbers("near", dt if dt in FLOATS else "float32", np.shape(x[0])))
                if "scale" in where and g.flag(0.4):
                    k["scale"] = g.of(2, 0.5, g.numbers("positive", dt if dt in FLOATS else "float32", np.shape(x[0])))
                return x, k

    @t("stats.poisson.entropy")
    def _():
        return g.operands(("positive",), DTS), g.opts(loc=lambda: g.int(-2, 2))

    @t("stats.dirichlet.logpdf stats.dirichlet.pdf")
    def _():
        dt, n, many = g.dt(FLOATS), g.int(2, 4), g.of((), (5,))
        x = g.numbers("unit", "float64", (n, *many)) + 1e-3
        if g.flag(0.85):
            x = x / x.sum(0)
        return [x.astype("float32" if dt in ("float16", "bfloat16") else dt), g.numbers("positive", dt, (n,))], {}

    @t("stats.multinomial.logpmf stats.multinomial.pmf")
    def _():
        x = g.g.integers(0, 5, g.of((3,), (4, 3)))
        p = g.g.random(3) + 0.01
        return [x, x.sum(-1) + (0 if g.flag(0.8) else 1), (p / p.sum() if g.flag(0.8) else p).astype(g.of("float32", "float64"))], {}

    @t("stats.multivariate_normal.logpdf stats.multivariate_normal.pdf")
    def _():
        dt, n = g.of("float32", "float64", "float16", "int32"), g.int(1, 3)
        a = g.g.normal(size=(n, n))
        cov = g.of(0.5, 2, np.eye(n), a @ a.T + np.eye(n), a @ a.T + np.eye(n), np.zeros((n, n)))
        mean = g.of(0, 1.5, g.numbers("near", "float32", (n,)))
        return [g.numbers("near", dt, g.of((n,), (5, n), (2, 3, n))), mean, cov], {}

    @t("stats.rankdata")
    def _():
        x = g.arr(REAL)
        return [x], g.opts(method=lambda: g.of("average", "min", "max", "dense", "ordinal", "none"), axis=lambda: g.axis(x.ndim))

    @t("stats.mode")
    def _():
        x = g.arr(REAL)
        return [x], g.opts(axis=lambda: g.of(None, g.axis(x.ndim)), keepdims=lambda: True)

    @t("stats.sem")
    def _():
        x = g.arr()
        return [x], g.opts(axis=lambda: g.of(None, g.axis(x.ndim)), ddof=lambda: g.int(0, 2), keepdims=lambda: True)

    def sample():
        """The data of a density in some dimensions, and how its bandwidth is chosen."""
        d, dt = g.int(1, 3), g.of("float32", "float64", "float32", "int32")
        k = g.opts(bw_method=lambda: g.of("scott", "silverman", 0.5, "none"), weights=lambda: g.numbers("unit", "float32", (7,)))
        return d, dt, [g.arr(dt, g.of((d, 7), (7,)) if d == 1 else (d, 7), "small") * 1, k]

    @t("composed.kde")
    def _():
        d, dt, made = sample()
        what = g.of("evaluate", "pdf", "logpdf", "integrate_gaussian", "integrate_box_1d", "integrate_kde", "resample", "covariance")
        points = g.arr("float32" if dt == "int32" else dt, g.of((d, 5), (d,), (d + 1, 5)), "small")
        return [what, *made, points, K(3)], {}
