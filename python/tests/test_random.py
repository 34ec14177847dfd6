"""tenon.random's distributions beside their distribution functions, in all real dtypes and shapes."""

import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import random

erf = np.vectorize(math.erf, [float])


def normal(x):
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def maxwell(x):
    return erf(x / math.sqrt(2)) - math.sqrt(2 / math.pi) * x * np.exp(-x * x / 2)


def wald(x, mean=1.5):
    r = np.sqrt(1 / x)
    return normal(r * (x / mean - 1)) + math.exp(2 / mean) * normal(-r * (x / mean + 1))


def triangular(x, a=-1.0, m=0.5, b=2.0):
    return np.where(x < m, (x - a) ** 2 / ((b - a) * (m - a)), 1 - (b - x) ** 2 / ((b - a) * (b - m)))


# name: (a draw of a key, a shape and a dtype; the distribution function)
CONTINUOUS = {
    "uniform": (lambda *a: random.uniform(*a, minval=-2.0, maxval=3.0), lambda x: (x + 2) / 5),
    "normal": (random.normal, normal),
    "exponential": (random.exponential, lambda x: -np.expm1(-x)),
    "gumbel": (random.gumbel, lambda x: np.exp(-np.exp(-x))),
    "laplace": (random.laplace, lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)),
    "cauchy": (random.cauchy, lambda x: 0.5 + np.arctan(x) / math.pi),
    "logistic": (random.logistic, lambda x: 1 / (1 + np.exp(-x))),
    "pareto": (lambda k, *a: random.pareto(k, 2.5, *a), lambda x: 1 - x ** -2.5),
    "rayleigh": (lambda k, *a: random.rayleigh(k, 1.5, *a), lambda x: -np.expm1(-x * x / (2 * 1.5 ** 2))),
    "weibull_min": (lambda k, *a: random.weibull_min(k, 2.0, 1.5, *a), lambda x: -np.expm1(-(x / 2) ** 1.5)),
    "lognormal": (lambda k, *a: random.lognormal(k, 0.7, *a), lambda x: normal(np.log(x) / 0.7)),
    "maxwell": (random.maxwell, maxwell),
    "double_sided_maxwell": (lambda k, *a: random.double_sided_maxwell(k, 0.5, 2.0, *a),
                             lambda x: 0.5 + np.sign(x - 0.5) * maxwell(np.abs(x - 0.5) / 2) / 2),
    "wald": (lambda k, *a: random.wald(k, 1.5, *a), wald),
    "triangular": (lambda k, *a: random.triangular(k, -1.0, 0.5, 2.0, *a), triangular),
    "truncated_normal": (lambda k, *a: random.truncated_normal(k, -1.0, 2.0, *a),
                         lambda x: (normal(x) - normal(-1.0)) / (normal(2.0) - normal(-1.0))),
}
N = 20_000


def distance(x, distribution):
    """The largest distance between the distribution of a sample and a function (Kolmogorov and Smirnov)."""
    x = np.sort(x)
    wanted = distribution(x)
    return max((np.arange(1, len(x) + 1) / len(x) - wanted).max(), (wanted - np.arange(len(x)) / len(x)).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name, dtype):
    draw, distribution = CONTINUOUS[name]
    x = draw(random.key(7), (N // 4, 4), dtype)
    assert x.shape == (N // 4, 4) and x.dtype == dtype
    x = np.asarray(x, "float64").ravel()
    assert np.isfinite(x).all() and len(np.unique(x)) > 0.98 * N
    assert distance(x, distribution) < 1.95 / math.sqrt(N)  # exceeded by one sample in a thousand
    assert abs(np.corrcoef(x.argsort().argsort()[1:], x.argsort().argsort()[:-1])[0, 1]) < 4 / math.sqrt(N)
    for shape in ((), (0,), (2, 0, 3)):
        assert draw(random.key(1), shape, dtype).shape == shape
    batch = tn.vmap(lambda key: draw(key, (3,), dtype))(random.split(random.key(3), 2))
    alone = [np.asarray(draw(key, (3,), dtype)) for key in random.split(random.key(3), 2)]
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    compiled = tn.jit(lambda key: draw(key, (3,), dtype))(random.split(random.key(3))[0])
    assert np.allclose(np.asarray(batch), alone, tolerance) and np.allclose(compiled, alone[0], tolerance)


def test_parameters_broadcast():
    key, a = random.key(0), tnp.array([[1.0], [2.0]])
    for draw in (lambda: random.rayleigh(key, a * tnp.ones(3)), lambda: random.pareto(key, a * tnp.ones(3)), lambda: random.wald(key, a * tnp.ones(3)),
                 lambda: random.triangular(key, -a, 0.0, tnp.ones(3)), lambda: random.truncated_normal(key, -a, tnp.ones(3)),
                 lambda: random.bernoulli(key, a * tnp.ones(3) / 4), lambda: random.randint(key, (2, 3), -tnp.ones((2, 1), int), 5),
                 lambda: random.uniform(key, (2, 3), minval=-a, maxval=tnp.ones(3)), lambda: random.lognormal(key, a * tnp.ones(3))):
        assert draw().shape == (2, 3)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers(dtype):
    x = np.asarray(random.randint(random.key(2), (N,), 3, 11, dtype))
    assert x.dtype == dtype and np.abs(np.bincount(x)[3:] - N / 8).max() < 5 * math.sqrt(N / 8) and len(np.bincount(x)) == 11
    info = np.iinfo(dtype)
    wide = np.asarray(random.randint(random.key(3), (N,), np.asarray(info.min, dtype), np.asarray(info.max, dtype), dtype)).astype(float) / 2.0 ** info.bits
    assert distance(wide - wide.min() + np.linspace(0, 1e-9, N), lambda x: x / x.max()) < 0.02
    if dtype.startswith("u"):
        bits = np.asarray(random.bits(random.key(4), (N,), dtype))
        assert bits.dtype == dtype and all(abs(((bits >> b) & 1).mean() - 0.5) < 5 * 0.5 / math.sqrt(N) for b in range(info.bits))


def test_discrete():
    key = random.key(5)
    assert abs(np.asarray(random.bernoulli(key, 0.3, (N,))).mean() - 0.3) < 5 * math.sqrt(0.21 / N)
    signs = np.asarray(random.rademacher(key, (N,), "float32"))
    assert signs.dtype == "float32" and {*signs} == {-1, 1} and abs(signs.mean()) < 5 / math.sqrt(N)
    p = np.array([0.1, 0.0, 0.6, 0.3])
    for x in (random.choice(key, 4, (N,), p=p), random.categorical(key, tnp.log(p), shape=(N,)),
              random.choice(key, np.arange(4), (N,), True, p)):
        assert np.abs(np.bincount(x, minlength=4) / N - p).max() < 5 * 0.5 / math.sqrt(N)
    firsts = [random.permutation(k, 5).tolist() for k in random.split(key, 600)]
    assert all(sorted(f) == [0, 1, 2, 3, 4] for f in firsts)
    assert np.abs(np.bincount([f[0] for f in firsts]) - 120).max() < 5 * math.sqrt(120)
    rows = np.arange(12).reshape(4, 3)
    assert sorted(random.permutation(key, rows).tolist()) == rows.tolist()
    apart = np.asarray(random.permutation(key, rows, independent=True))
    assert np.array_equal(np.sort(apart, 0), rows) and apart.tolist() != rows.tolist()
    assert sorted(random.choice(key, rows, (3,), False, axis=1).tolist()[0]) in ([[0, 1, 2]], [0, 1, 2])


def test_vectors():
    mean, cov = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 0.7]])
    x = np.asarray(random.multivariate_normal(random.key(6), mean, cov, (N,)))
    white = np.linalg.solve(np.linalg.cholesky(cov), (x - mean).T)
    assert all(distance(w, normal) < 1.95 / math.sqrt(N) for w in white) and np.abs(np.corrcoef(white) - np.eye(3)).max() < 4 / math.sqrt(N)
    z = np.asarray(random.normal(random.key(6), (N,), "complex64"))
    assert z.dtype == "complex64" and distance(z.real * math.sqrt(2), normal) < 1.95 / math.sqrt(N) and abs((z * z).mean()) < 5 / math.sqrt(N)


def test_errors():
    key = random.key(0)
    for wrong in (lambda: random.uniform(key, (2,), "int32"), lambda: random.normal(key, (-1,)), lambda: random.randint(key, (2,), 0, 5, "float32"),
                  lambda: random.choice(key, 3, (5,), replace=False), lambda: random.bits(key, (2,), "int32"), lambda: random.split(key, -1),
                  lambda: random.normal(tnp.ones(3)), lambda: random.uniform("key"), lambda: random.randint(key, (2, 3), tnp.zeros(4, int), 5)):
        with pytest.raises((TypeError, ValueError)):
            wrong()
