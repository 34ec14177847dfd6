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


@pytest.mark.parametrize("name", ["gamma", "loggamma", "erfcx", "xlogy", "xlog1py"])
def test_of_complex_numbers(name):
    scipy_special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(3)
    z, w = (rng.standard_normal(50) * 3 + 1j * rng.standard_normal(50) for _ in range(2))
    operands = (z, w) if name.startswith("x") else (z,)
    ours = getattr(tn.scipy.special, name)
    assert np.allclose(ours(*operands), getattr(scipy_special, name)(*operands), 1e-10, 1e-12)
    narrow = [x.astype(np.complex64) for x in operands]
    assert ours(*narrow).dtype == np.complex64
    assert np.allclose(ours(*narrow), getattr(scipy_special, name)(*(x.astype(complex) for x in narrow)), 2e-4, 1e-5)
    assert np.allclose(tn.jit(ours)(*operands), ours(*operands), 1e-12, 1e-14)
    # A holomorphic function has one derivative, along the real numbers and along the imaginary ones.
    for step in (1.0, 1.0j):
        tangent = tn.jvp(ours, operands, tuple(np.full(50, step) + 0j for _ in operands))[1]
        moved = [np.asarray(ours(*(x + sign * 1e-6 * step for x in operands))) for sign in (1, -1)]
        assert np.allclose(tangent, (moved[0] - moved[1]) / 2e-6, 1e-5, 1e-6)


def test_boxcox_and_logit_of_complex_numbers():
    z, power = np.complex128([0.3 + 0.4j, -1 - 2j, 2.0]), np.complex128([0.5, 1j, 0.0])
    safe = np.where(power == 0, 1, power)
    special = tn.scipy.special
    assert np.allclose(special.boxcox(z, power), np.where(power == 0, np.log(z), (z**power - 1) / safe))
    assert np.allclose(special.boxcox1p(z, power), np.where(power == 0, np.log1p(z), ((1 + z)**power - 1) / safe))
    assert np.allclose(special.logit(z), np.log(z / (1 - z)))


def test_far_ends_of_poch_and_betaln():
    special = tn.scipy.special
    assert special.poch(1.0, 1e5) == np.inf and special.poch(np.float32(1), np.float32(1e3)) == np.inf
    assert np.isclose(special.poch(2.0, -0.5), math.gamma(1.5))
    assert np.isclose(special.betaln(np.float32(1e10), np.float32(1e-30)), 69.07755, 1e-6)
    assert np.isclose(special.betaln(1e-300, 1e300), 690.7755278982137)
    assert np.isclose(special.loggamma(np.complex64(1e-30)).real, 69.07755, 1e-6)
    assert np.isclose(special.loggamma(1e-200 + 0j).real, 460.51701859880916)


def test_softmax_of_scipy_is_of_all_elements():
    x = np.arange(6.0).reshape(2, 3)
    special = tn.scipy.special
    assert np.allclose(special.softmax(x), np.exp(x) / np.exp(x).sum()) and special.softmax(1.0) == 1
    assert np.allclose(special.log_softmax(x, axis=1), np.log(special.softmax(x, axis=1)))


def test_bessel_functions_near_zero():
    z = np.array([0.0, 3e-308, 1e-200, 1e-5, 0.3, 12.0])
    scipy_special = pytest.importorskip("scipy.special")

    def orders(z):
        return tn.scipy.special.bessel_jn(z, v=3)

    exact = np.stack([scipy_special.jv(k, z) for k in range(4)])
    slopes = np.stack([scipy_special.jvp(k, z) for k in range(4)])
    for f in (orders, tn.jit(orders)):
        assert np.allclose(f(z), exact, 1e-13, 0.0 if f is orders else 1e-300)
        assert np.allclose(tn.jvp(f, (z,), (np.ones_like(z),))[1], slopes, 1e-12, 1e-300)
    curves = tn.jvp(lambda z: tn.jvp(orders, (z,), (np.ones_like(z),))[1], (z,), (np.ones_like(z),))[1]
    assert np.allclose(curves, np.stack([scipy_special.jvp(k, z, 2) for k in range(4)]), 1e-11, 1e-12)
