"""tenon.scipy.stats and special beside SciPy: values over dtypes and shapes, edges of supports, bad parameters, derivatives."""

import functools
import importlib

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon.scipy import special, stats

theirs = pytest.importorskip("scipy.stats")
their_special = pytest.importorskip("scipy.special")

INF, NAN = np.inf, np.nan
# Of each continuous distribution: parameters, one set a row.
CONTINUOUS = {
    "norm": [()], "expon": [()], "cauchy": [()], "laplace": [()], "logistic": [()], "uniform": [()], "gumbel_l": [()], "gumbel_r": [()],
    "pareto": [(0.7,), (3.5,)], "gamma": [(0.4,), (1.0,), (6.5,)], "chi2": [(1.0,), (2.0,), (7.5,)], "t": [(1.0,), (4.5,)],
    "gennorm": [(0.8,), (2.5,)], "beta": [(0.5, 0.7), (1.0, 1.0), (3.0, 2.5)], "truncnorm": [(-1.0, 2.0), (2.0, 5.0), (-INF, 0.5), (-7.0, -6.0)],
    "vonmises": [(0.5,), (9.0,)], "wrapcauchy": [(0.3,), (0.9,)]}
DISCRETE = {
    "bernoulli": [(0.3,), (0.0,), (1.0,)], "binom": [(5, 0.3), (40, 0.9), (3, 0.0)], "nbinom": [(2.5, 0.4), (10, 1.0)], "geom": [(0.2,), (1.0,)],
    "poisson": [(0.0,), (2.5,), (90.0,)], "betabinom": [(6, 0.5, 2.5), (20, 3.0, 2.0)]}
X = np.array([-INF, -30.0, -2.5, -1.0, -0.25, 0.0, 0.125, 0.5, 1.0, 1.75, 2.5, 3.0, 6.2, 7.0, 40.0, INF, NAN])
K = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 20.0, 41.0, 100.0, NAN])
Q = np.array([-0.1, 0.0, 1e-9, 0.2, 0.5, 0.75, 1.0, 1.1, NAN])


def functions(name):
    module = importlib.import_module(f"tenon.scipy.stats.{name}")
    return {f: getattr(module, f) for f in module.__all__}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    with np.errstate(all="ignore"):
        for parameters in CONTINUOUS[name]:
            for f, ours in functions(name).items():
                given = Q if f in ("ppf", "isf") else X
                if name == "vonmises":
                    given = given[np.abs(given) <= np.pi]  # SciPy's is of no support; so is ours
                for place in ((), (0.5, 1.5)):
                    exact = getattr(getattr(theirs, name), f)(given, *parameters, *place)
                    made = np.asarray(ours(given, *parameters, *place))
                    close = np.isclose(made, exact, 2e-12, 1e-300, equal_nan=True) | (np.abs(exact) < 1e-250) & (np.abs(made) < 1e-250)
                    close |= np.isclose(made, exact, 0, 3e-16)  # SciPy's are exact to so much of 1
                    close |= np.isinf(exact) & (np.abs(made) > 700)  # SciPy's logarithm of a number that underflows
                    close |= np.isnan(exact) & np.isinf(given)
                    assert close.all(), (f, parameters, place, given[~close], made[~close], exact[~close])
                    single = np.asarray(ours(given.astype("float32"), *parameters, *place))
                    assert single.dtype == np.float32
                    usual = np.isfinite(exact) & (np.abs(exact) > 1e-30)
                    assert np.allclose(single[usual], exact[usual], 3e-4, 1e-6), (f, parameters, place)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    with np.errstate(all="ignore"):
        for parameters in DISCRETE[name]:
            for f, ours in functions(name).items():
                if f == "entropy":
                    continue
                given = Q if f == "ppf" else K
                for place in ((), (1.0,)):
                    exact = getattr(getattr(theirs, name), f)(given, *parameters, *place)
                    made = np.asarray(ours(given, *parameters, *place))
                    fits = np.isclose(made, exact, 2e-11, 1e-15, equal_nan=True)
                    if f == "ppf":
                        fits |= (given == 0) | (given == 1)  # SciPy's are one below the least number, and the largest
                    assert fits.all(), (f, parameters, place, given[~fits], made[~fits], exact[~fits])


def test_parameters_that_there_are_not():
    for made in (stats.norm.logpdf(0.0, 0.0, -1.0), stats.gamma.cdf(1.0, -1.0), stats.beta.pdf(0.5, 0.0, 1.0), stats.truncnorm.cdf(0.0, 1.0, -1.0),
                 stats.binom.pmf(1, 2.5, 0.5), stats.poisson.logpmf(1, -1.0), stats.geom.pmf(1, 0.0), stats.wrapcauchy.pdf(1.0, 1.0),
                 stats.norm.ppf(0.5, 0.0, 0.0)):
        assert np.isnan(made)
    with pytest.raises(TypeError, match="complex"):
        stats.norm.logpdf(1j)
    with pytest.raises(ValueError, match="norm.cdf"):
        stats.norm.cdf(np.ones(2), np.ones(3))


@pytest.mark.filterwarnings("ignore::tenon.errors.RetraceWarning")
@pytest.mark.parametrize("name", CONTINUOUS)
def test_derivatives_are_finite_and_those_of_differences(name):
    for f, ours in functions(name).items():
        @functools.cache
        def slope_along(i, ours=ours):  # for all parameters the same code
            return tn.jit(lambda *x: tn.jvp(lambda t: ours(*x[:i], t, *x[i + 1:]), (x[i],), (tnp.ones_like(x[i]),))[1])
        for parameters in CONTINUOUS[name]:
            if INF in np.abs(parameters):
                continue
            arguments = (np.array([0.3, 0.8] if f in ("ppf", "isf") else [-2.3, 0.3, 0.9, 2.2]), *parameters, 0.25, 1.5)
            for i in range(len(arguments)):
                def along(t, i=i, ours=ours, arguments=arguments):
                    return ours(*arguments[:i], t, *arguments[i + 1:])
                slope, step = np.asarray(slope_along(i)(*arguments)), 1e-6
                with np.errstate(all="ignore"):
                    exact = (np.asarray(along(arguments[i] + step)) - np.asarray(along(arguments[i] - step))) / (2 * step)
                assert np.isfinite(slope).all(), (f, parameters, i, slope)
                where = np.isfinite(exact)
                assert np.allclose(slope[where], exact[where], 1e-4, 1e-6), (f, parameters, i, slope, exact)
    for at in (0.0, 5.0, -5.0):
        assert not np.isnan(tn.grad(lambda x: functions(name)["logpdf"](x, *parameters))(at))


def test_entropy_of_poisson():
    mu = np.array([0.0, 0.3, 5.0, 60.0, 150.0, 1000.0])
    assert np.allclose(stats.poisson.entropy(mu), [float(theirs.poisson.entropy(m)) for m in mu], 1e-9)
    assert np.isnan(stats.poisson.entropy(-1.0))
    assert np.isclose(tn.grad(stats.poisson.entropy)(5.0), (theirs.poisson.entropy(5.001) - theirs.poisson.entropy(4.999)) / 0.002, 1e-5)


def test_vectors():
    draw = np.random.default_rng(0)
    alpha, x = np.array([0.5, 2.0, 3.0]), draw.dirichlet([1, 2, 3], size=4).T
    assert np.allclose(stats.dirichlet.logpdf(x, alpha), theirs.dirichlet.logpdf(x, alpha))
    assert np.allclose(stats.dirichlet.pdf(x[:2], alpha), theirs.dirichlet.pdf(x, alpha))
    assert stats.dirichlet.pdf(np.array([0.5, 0.4, 0.3]), alpha) == 0
    assert stats.dirichlet.logpdf(np.array([0.25, 0.5, 0.25], "float32"), alpha.astype("float16")).dtype == np.float32
    p, k = np.array([0.2, 0.3, 0.5]), np.array([[1, 2, 3], [0, 0, 6], [1, 1, 1]])
    assert np.allclose(stats.multinomial.logpmf(k, 6, p), theirs.multinomial.logpmf(k, 6, p))
    assert np.allclose(stats.multinomial.pmf(k, np.array([6, 6, 3]), p), theirs.multinomial.pmf(k, [6, 6, 3], p))
    a = draw.normal(size=(2, 3, 3))
    cov, mean, x = a @ np.swapaxes(a, -1, -2) + np.eye(3), draw.normal(size=3), draw.normal(size=(5, 3))
    normal = stats.multivariate_normal
    assert np.allclose(normal.logpdf(x, mean, cov[0]), theirs.multivariate_normal.logpdf(x, mean, cov[0]))
    assert np.allclose(normal.logpdf(x[:, None], mean, cov), np.stack([theirs.multivariate_normal.logpdf(x, mean, c) for c in cov], 1))
    assert np.allclose(normal.pdf(x, mean, 2.0), theirs.multivariate_normal.pdf(x, mean, 2.0))
    assert np.allclose(normal.logpdf(1.5, 0.5, 2.0), theirs.multivariate_normal.logpdf(1.5, 0.5, 2.0))
    assert np.allclose(tn.vmap(normal.logpdf, (0, None, None))(x, mean, cov[0]), normal.logpdf(x, mean, cov[0]))
    slope = tn.grad(lambda m: tnp.sum(normal.logpdf(x, m, cov[0])))(mean)
    assert np.allclose(slope, np.linalg.solve(cov[0], (x - mean).sum(0)))
    for call in (lambda: normal.logpdf(x, mean, cov[0, :2]), lambda: stats.dirichlet.logpdf(np.ones(5), alpha), lambda: stats.multinomial.pmf(1, 1, p)):
        with pytest.raises(ValueError, match="logp"):
            call()


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_samples(axis):
    x = np.random.default_rng(1).integers(0, 4, size=(5, 6)).astype("float64")
    for method in ("average", "min", "max", "dense", "ordinal"):
        assert np.array_equal(stats.rankdata(x, method, axis=axis), theirs.rankdata(x, method, axis=axis))
    for keepdims in (False, True):
        made, exact = stats.mode(x, axis, keepdims=keepdims), theirs.mode(x, axis, keepdims=keepdims)
        assert np.array_equal(made.mode, exact.mode) and np.array_equal(made.count, exact.count)
        assert np.allclose(stats.sem(x, axis, keepdims=keepdims), theirs.sem(x, axis, keepdims=keepdims))
    x[1, 2] = NAN
    assert np.allclose(stats.sem(x, axis, nan_policy="omit"), theirs.sem(x, axis, nan_policy="omit"))
    assert np.array_equal(stats.rankdata(x, axis=axis), theirs.rankdata(x, axis=axis), equal_nan=True)
    with pytest.raises(NotImplementedError, match="nan_policy"):
        stats.mode(x, nan_policy="omit")
    with pytest.raises(ValueError, match="method"):
        stats.rankdata(x, "first")


# --- special functions ---

EDGES = np.array([0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.3, 2.5, -7.5, 1e-300, 1e10, 700.0, -30.0])


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "ndtr", "log_ndtr", "ndtri", "exp1", "expi", "loggamma"])
def test_functions_of_one(name):
    with np.errstate(all="ignore"):
        assert np.allclose(getattr(special, name)(EDGES), getattr(their_special, name)(EDGES), 1e-13, 1e-300, equal_nan=True)
        half = tnp.array([0.25, 0.5, 0.75], "bfloat16")
        assert getattr(special, name)(half).dtype == half.dtype


def test_pairs_and_orders():
    with np.errstate(all="ignore"):
        for name in ("sici", "fresnel"):
            for made, exact in zip(getattr(special, name)(EDGES), getattr(their_special, name)(EDGES), strict=True):
                assert np.allclose(made, exact, 1e-13, 1e-15, equal_nan=True), name
        for n in (0, 1, 2, 7, -1):
            assert np.allclose(special.expn(n, EDGES), their_special.expn(n, EDGES), 1e-13, equal_nan=True)
        n, k = np.array([[5], [30]]), np.arange(-1, 7)
        for repetition in (False, True):
            assert np.array_equal(special.comb(n, k, repetition=repetition), their_special.comb(n, k, repetition=repetition))
        for d in (1, 2, 5):
            a = np.array([2.5, 3.0, 17.0, 1e4])
            assert np.allclose(special.multigammaln(a, d), their_special.multigammaln(a, d), 1e-13), d
    for power in (0.0, 0.5, -2.0, 1e-12):
        x = np.array([1e-3, 0.5, 1.0, 7.0])
        assert np.allclose(special.boxcox(x, power), their_special.boxcox(x, power), 1e-14)
        assert np.allclose(special.boxcox1p(x, power), their_special.boxcox1p(x, power), 1e-14)


def test_complex_numbers():
    z = np.random.default_rng(2).normal(size=(40, 2)) @ np.array([3, 2j])
    assert np.allclose(special.wofz(z), their_special.wofz(z), 1e-12) and special.wofz(z.astype("complex64")).dtype == np.complex64
    assert np.allclose(special.loggamma(z), their_special.loggamma(z), 1e-12)


def test_harmonics():
    n, m = np.array([0, 1, 2, 5, 9, 3]), np.array([0, -1, 2, -4, 0, 5])
    theta, phi = np.linspace(0, 3, 6), np.linspace(0, 6, 6)
    exact = their_special.sph_harm_y(n, m, theta, phi)
    assert np.allclose(special.sph_harm_y(n, m, theta, phi), exact, 0, 1e-14)
    assert np.allclose(tn.jit(lambda n: special.sph_harm_y(n, m, theta, phi, n_max=9))(n), exact, 0, 1e-14)
    with pytest.raises(TypeError, match="n_max"):
        tn.jit(lambda n: special.sph_harm_y(n, m, theta, phi))(n)
    assert np.allclose(special.bessel_jn(theta, v=3), [their_special.jv(v, theta) for v in range(4)], 0, 1e-15)
    assert np.allclose(special.bernoulli(30), their_special.bernoulli(30), 1e-14)


def test_hypergeometric_functions():
    draw = np.random.default_rng(3)
    a, b, c, x = draw.uniform(0.2, 3, (4, 30))
    assert np.allclose(special.hyp1f1(a, b, 6 * x - 9), their_special.hyp1f1(a, b, 6 * x - 9), 1e-10)
    assert np.allclose(special.hyp2f1(a, b, c, x - 2.05), their_special.hyp2f1(a, b, c, x - 2.05), 1e-10)
    assert special.hyp2f1(1.0, 2.0, -3.0, 0.5) == INF and np.isclose(special.hyp2f1(-2.0, 1.0, 3.0, 7.0), their_special.hyp2f1(-2, 1, 3, 7))
