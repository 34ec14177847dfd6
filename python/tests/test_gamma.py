"""lgamma, digamma, polygamma and zeta against math.lgamma, known values, recurrences and sums."""

import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

GAMMA = 0.57721566490153286


def harmonic(n):
    return math.fsum(1 / k for k in range(1, n))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lgamma(dtype):
    eps = float(np.finfo(dtype).eps)
    x = np.concatenate([np.linspace(0.01, 25, 800), np.geomspace(1e-6, 1e7, 60)]).astype(dtype)
    wanted = np.array([math.lgamma(float(v)) for v in x])
    for got in (lax.lgamma(x), tn.jit(lax.lgamma)(x), tn.vmap(lax.lgamma)(x)):
        assert got.dtype == np.dtype(dtype)
        # Beside its zeros, where math.lgamma has lost digits itself.
        assert np.allclose(got, wanted, 8 * eps, 1e-15)
    d = np.geomspace(1e-6, 1e-3, 20).astype(dtype)
    for at, slope, second in ((1, -GAMMA, math.pi ** 2 / 6), (2, 1 - GAMMA, math.pi ** 2 / 6 - 1)):
        for away in (d, -d):
            near = (at + away).astype(dtype)
            away = (near - at).astype(float)
            assert np.allclose(lax.lgamma(near), slope * away + second * away ** 2 / 2, 3 * np.abs(away).max() ** 2 + 8 * eps, 0)
    negative = np.random.default_rng(0).uniform(-20, 0, 300).astype(dtype)
    wanted = np.array([math.lgamma(float(v)) for v in negative])
    assert np.allclose(lax.lgamma(negative), wanted, 16 * eps, 16 * eps)


def test_lgamma_elsewhere():
    assert np.isinf(lax.lgamma(np.array([0.0, -1, -7, np.inf, -np.inf]))).all() and np.isnan(lax.lgamma(np.nan))
    assert lax.lgamma(1.0) == 0 and lax.lgamma(2.0) == 0 and np.isclose(lax.lgamma(1e-300), 300 * math.log(10))
    assert lax.lgamma(tnp.float16(3)).dtype == np.float16 and lax.lgamma(5).dtype == np.float64
    assert lax.lgamma(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(TypeError, match="complex"):
        lax.lgamma(1j)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_digamma(dtype):
    eps = float(np.finfo(dtype).eps)
    n = np.arange(1, 40)
    wanted = np.array([harmonic(k) - GAMMA for k in n])
    for f in (lax.digamma, tn.jit(lax.digamma)):
        assert np.allclose(f(n.astype(dtype)), wanted, 6 * eps, 0)
    assert np.isclose(lax.digamma(tnp.asarray(0.5, dtype)), -GAMMA - 2 * math.log(2), 4 * eps)
    zero = 1.46163214496836234
    away = np.geomspace(1e-6, 1e-4, 9)
    x = (zero + away).astype(dtype)
    exact = x.astype(float) - zero
    assert np.allclose(lax.digamma(x), 0.9676720454471236 * exact, 1e-4, 0)  # its slope at the zero: relative accuracy
    y = np.random.default_rng(1).uniform(-20, 0, 300).astype(dtype)
    reflected = np.asarray(lax.digamma(1 - y), float) - math.pi / np.tan(math.pi * (y - np.rint(y)).astype(float))
    assert np.allclose(lax.digamma(y), reflected, 64 * eps, 64 * eps)
    assert np.isnan(lax.digamma(np.array([0.0, -3, np.nan, -np.inf]))).all() and lax.digamma(np.inf) == np.inf


def test_zeta_and_polygamma():
    q = np.array([0.1, 0.5, 1.0, 3.25, 12.0])
    k = np.arange(200000)[:, None]
    for s in (3.5, 6.0, 11.0):
        tail = (200000.0 + q) ** (1 - s) / (s - 1) + 0.5 * (200000.0 + q) ** -s
        assert np.allclose(lax.zeta(s, q), ((q + k) ** -s)[::-1].sum(0) + tail, 1e-13)
    for s, exact in ((2, math.pi ** 2 / 6), (4, math.pi ** 4 / 90), (6, math.pi ** 6 / 945)):
        assert np.isclose(lax.zeta(float(s), 1.0), exact, 4e-16)
        assert np.isclose(lax.polygamma(s - 1, 1.0), math.factorial(s - 1) * exact, 2e-15)
    assert lax.zeta(1.0, 2.0) == np.inf and np.isnan(lax.zeta(0.5, 2.0)) and np.isnan(lax.zeta(2.5, -0.5))
    assert np.isclose(lax.polygamma(2, 1.0), -2 * 1.2020569031595942, 1e-14) and lax.polygamma(0, 3.0) == lax.digamma(3.0)
    assert tn.vmap(lambda m: lax.polygamma(m, q))(np.arange(3.0)).shape == (3, 5)
    assert lax.polygamma(np.float32(1), np.float32(2)).dtype == np.float32


def test_derivatives_of_lgamma():
    x = np.array([0.2, 0.9, 1.0, 1.4616, 2.0, 2.999, 3.0, 9.999, 10.0, 50.0])
    first, second, third = lax.lgamma, tn.grad(lax.lgamma), tn.grad(tn.grad(lax.lgamma))
    assert np.allclose(tn.vmap(tn.grad(first))(x), lax.digamma(x), 1e-13)
    assert np.allclose(tn.jit(tn.vmap(tn.grad(second)))(x), lax.polygamma(1, x), 1e-12)
    assert np.allclose(tn.vmap(tn.grad(third))(x), lax.polygamma(2, x), 1e-11)
    assert np.isclose(tn.grad(first)(-0.5), lax.digamma(-0.5))
    assert np.allclose(tn.vmap(tn.grad(lambda q: lax.zeta(3.0, q)))(x), -3 * np.asarray(lax.zeta(4.0, x)), 1e-12)
    assert np.allclose(tn.jvp(lax.digamma, (x,), (2 * np.ones(10),))[1], 2 * np.asarray(lax.polygamma(1, x)), 1e-13)


def test_below_zero():
    q = np.array([-0.5, -1.5, -2.25, -0.01, -0.999, -7.3])

    def zeta(s, q):
        k = np.arange(20000)[:, None]
        n = 20000 + q
        return ((q + k) ** -s)[::-1].sum(0) + n ** (1.0 - s) / (s - 1) + 0.5 * n ** -float(s) + s / 12 * n ** (-1.0 - s)

    for s in (2, 3, 5):
        for got in (lax.zeta(float(s), q), tn.jit(lax.zeta)(float(s), q), tn.vmap(lax.zeta, (None, 0))(float(s), q)):
            assert np.allclose(got, zeta(s, q), 1e-11, 0)
    slope, second = tn.vmap(tn.grad(lax.digamma)), tn.vmap(tn.grad(tn.grad(lax.digamma)))
    assert np.allclose(slope(q), zeta(2, q), 1e-13) and np.allclose(second(q), -2 * zeta(3, q), 1e-12)
    assert np.allclose(tn.jit(tn.vmap(tn.grad(tn.grad(lax.lgamma))))(q), zeta(2, q), 1e-13)
    assert np.allclose(lax.polygamma(3, q), 6 * zeta(4, q), 1e-12)
    assert np.allclose(tn.vmap(tn.grad(lambda q: lax.zeta(3.0, q)))(q), -3 * zeta(4, q), 1e-11)
    assert np.isinf(lax.zeta(2.0, np.array([0.0, -1, -3]))).all() and np.isinf(slope(np.array([0.0, -2]))).all()
