"""The incomplete gamma and beta functions against values to 40 digits, identities and differences."""

import math

import numpy as np
import pytest

import tenon as tn
from tenon import lax

# a, x, P(a, x), Q(a, x), the derivative of P in a
GAMMA = np.array([
    (0.5, 0.1, 0.345279153981423, 0.654720846018577, -0.8229360969795988),
    (0.001, 0.2, 0.9987774521605268, 0.0012225478394732089, -1.2224444134060657),
    (3.25, 2.0, 0.2685244033294908, 0.7314755966705092, -0.20631307056679074),
    (3.25, 9.5, 0.9940973107637943, 0.005902689236205741, -0.007974811306548124),
    (40.0, 38.0, 0.39408063211889344, 0.6059193678811066, -0.06157565466210136),
    (40.0, 80.0, 0.9999997191278374, 2.8087216260420957e-07, -2.046465721871983e-07),
    (1500.0, 1600.0, 0.9943825139720729, 0.005617486027927148, -0.0004096717682223324),
    (10000.0, 9900.0, 0.15865119219356466, 0.8413488078064354, -0.0024237533683262443),
    (0.02, 6.0, 0.9999924317103034, 7.5682896966266976e-06, -0.00039708438085394546),
    (25.0, 0.5, 1.1881853393548447e-33, 1.0, -4.672707812510647e-33)]).T
A, X, P, Q, P_IN_A = GAMMA
LOWER = (X <= A) | (X <= 1)
# a, b, x, I(a, b, x), its derivatives in a and in b
BETA = np.array([
    (0.5, 0.5, 0.3, 0.36901011956554536, -0.6428114811572838, 0.46874458391550544),
    (2.5, 1.25, 0.9, 0.8483816701089008, -0.06414571408676187, 0.2614022647163808),
    (0.001, 4.0, 0.2, 0.9996810227866346, -0.319183045901326, 0.00012904882743208692),
    (30.0, 12.0, 0.7, 0.40104779034960975, -0.038747237127933265, 0.09437236544419113),
    (30.0, 12.0, 0.95, 0.9999995072139385, -1.4510480947574828e-07, 8.899052935551047e-07),
    (500.0, 800.0, 0.4, 0.8726412764646694, -0.0072108012494740345, 0.004654125159171116),
    (3.0, 0.01, 0.5, 0.0006882628102896611, -0.0006740062615962185, 0.06950457224676874)]).T


def density(a, x):
    return np.exp(-x + (a - 1) * np.log(x) - np.array([math.lgamma(v) for v in a]))


def everywhere(f, *operands):
    return f(*operands), tn.jit(tn.vmap(f))(*operands)


def test_gamma():
    for p, q, slope in zip(everywhere(lax.igamma, A, X), everywhere(lax.igammac, A, X), everywhere(lax.igamma_grad_a, A, X)):
        bound = 1e-14 * np.sqrt(np.maximum(A, 1))
        assert (np.abs(p - P) < bound * np.where(LOWER, P, 1)).all() and (np.abs(q - Q) < bound * np.where(LOWER, 1, Q)).all()
        assert np.allclose(slope, P_IN_A, 2e-13, 0)
    x = np.geomspace(1e-8, 300, 200)
    assert np.allclose(lax.igamma(1.0, x), -np.expm1(-x), 1e-14, 0)
    assert np.allclose(lax.igamma(0.5, x[x < 25]), [math.erf(math.sqrt(v)) for v in x[x < 25]], 1e-14, 0)
    for n in (2, 7, 30):
        terms = np.array([math.fsum(math.exp(k * math.log(v) - v - math.lgamma(k + 1)) for k in range(n)) for v in x])
        assert np.allclose(lax.igammac(float(n), x), terms, 1e-12, 1e-300)


# Where a is large and x next to it: a, x, P(a, x), Q(a, x), the derivative of P in a, that of a variate x in a
UNIFORM = np.array([
    (200, 140, 1.0841290316992032e-6, 0.9999989158709683, -4.00869261922102e-7, 0.83293242186992),
    (200, 200, 0.50940341800723633, 0.49059658199276367, -0.0282212375077476, 1.0008337488073),
    (200, 260, 0.99995249987555699, 4.7500124443008756e-5, -1.32849591100621e-5, 1.13785760118694),
    (1000, 1000, 0.50420524418021551, 0.49579475581978449, -0.0126167139940696, 1.00016668332381),
    (1000, 1080, 0.99335339535888407, 0.0066466046411159278, -0.000581198020092356, 1.03914720146001),
    (50000, 49700, 0.08966156378913404, 0.91033843621086596, -0.000724930507242202, 0.996997305250827),
    (1000000, 1001000, 0.84134478636834029, 0.15865521363165971, -0.000241930409524133, 1.0005000001666)]).T


def test_gamma_of_large_numbers():
    a, x, lower, upper, in_a, variate = UNIFORM
    for p, q in zip(everywhere(lax.igamma, a, x), everywhere(lax.igammac, a, x)):
        assert np.allclose(p, lower, 3e-14, 0) and np.allclose(q, upper, 3e-14, 0)
    for slope, moved in zip(everywhere(lax.igamma_grad_a, a, x), everywhere(lax.random_gamma_grad, a, x)):
        assert np.allclose(slope, in_a, 1e-13, 0) and np.allclose(moved, variate, 1e-12, 0)
    a32, x32 = a.astype("float32"), x.astype("float32")
    assert np.allclose(lax.igamma(a32, x32), lower, 1e-4, 0) and np.allclose(lax.igammac(a32, x32), upper, 1e-4, 0)
    far = np.array([1e8, 1e12, 1e15])
    for p in everywhere(lax.igamma, np.tile(far, 3), np.concatenate([far, far + np.sqrt(far), far - np.sqrt(far)])):
        assert np.allclose(p, np.repeat([0.5, 0.8413447460685429, 0.15865525393145707], 3), 2e-4, 0)
    # Both sides of where one formula takes over from the other.
    a = np.array([200 - 1e-9, 200, 300, 300])
    x = np.array([210, 210, 300 * (0.7 - 1e-12), 300 * (0.7 + 1e-12)])
    p = np.asarray(lax.igamma(a, x))
    assert np.allclose(p[0], p[1], 1e-10, 0) and np.allclose(p[2], p[3], 1e-8, 0)


@pytest.mark.parametrize("dtype, eps", [("float32", 1.2e-7), ("float16", 1e-3)])
def test_gamma_of_less_precision(dtype, eps):
    some = slice(0, 6)
    got = lax.igamma(A[some].astype(dtype), X[some].astype(dtype))
    assert got.dtype == dtype and np.allclose(np.asarray(got, float), P[some], 20 * eps)
    assert np.allclose(np.asarray(lax.betainc(*(v[:4].astype(dtype) for v in BETA[:3])), float), BETA[3][:4], 20 * eps)


def test_gamma_at_the_edges():
    inf, nan = np.inf, np.nan
    a, x = np.array([(1, 0), (2, inf), (0, 1), (0, 0), (inf, 3), (-1, 1), (1, -1), (nan, 1), (1, nan)]).T
    assert np.array_equal(lax.igamma(a, x), [0, 1, 1, nan, 0, nan, nan, nan, nan], equal_nan=True)
    assert np.array_equal(lax.igammac(a, x), [1, 0, 0, nan, 1, nan, nan, nan, nan], equal_nan=True)
    assert lax.igamma(np.zeros((0, 2)), 1.0).shape == (0, 2) and lax.igamma(np.ones((2, 1)), np.ones(3)).shape == (2, 3)
    for f in (lax.igamma, lax.igammac, lax.igamma_grad_a, lax.random_gamma_grad):
        with pytest.raises(TypeError, match="complex"):
            f(1j, 1.0)


def test_derivatives_of_gamma():
    slopes = tn.jit(tn.vmap(tn.grad(lax.igamma, (0, 1))))(A, X)
    assert np.allclose(slopes[0], P_IN_A, 2e-13, 0) and np.allclose(slopes[1], density(A, X), 1e-11, 0)
    upper = tn.jit(tn.vmap(tn.grad(lax.igammac, (0, 1))))(A, X)
    assert np.allclose(upper[0], -np.asarray(slopes[0]), 1e-13, 0) and np.allclose(upper[1], -np.asarray(slopes[1]), 1e-13, 0)
    # Where the probability stays, x moves by what P moves in a, beside the density.
    assert np.allclose(lax.random_gamma_grad(A, X), -P_IN_A / density(A, X), 1e-11, 0)
    assert lax.random_gamma_grad(90.0, 0.006) > 0 and lax.random_gamma_grad(2.0, 0.0) == 0
    a, x = np.array([2.5, 2.5, 60.0]), np.array([1.7, 4.0, 55.0])
    first, second, h = tn.jit(lax.igamma_grad_a), tn.jit(tn.vmap(tn.grad(lax.igamma_grad_a, (0, 1))))(a, x), 1e-5
    assert np.allclose(second[0], (first(a + h, x) - first(a - h, x)) / (2 * h), 1e-6)
    assert np.allclose(second[1], (first(a, x + h) - first(a, x - h)) / (2 * h), 1e-6)


def test_beta():
    a, b, x, value, in_a, in_b = BETA
    bound = 2e-14 * np.sqrt(np.maximum(a + b, 1))
    for got in everywhere(lax.betainc, a, b, x):
        assert (np.abs(got - value) < bound).all()
    slopes = tn.jit(tn.vmap(tn.grad(lax.betainc, (0, 1, 2))))(a, b, x)
    assert np.allclose(slopes[0], in_a, 1e-11, 1e-16) and np.allclose(slopes[1], in_b, 1e-11, 1e-16)
    log_beta = np.array([math.lgamma(p) + math.lgamma(q) - math.lgamma(p + q) for p, q in zip(a, b)])
    assert np.allclose(slopes[2], np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_beta), 1e-11)
    u = np.linspace(0, 1, 21)
    assert np.allclose(lax.betainc(3.5, 1.0, u), u ** 3.5, 1e-14) and np.allclose(lax.betainc(1.0, 3.5, u), 1 - (1 - u) ** 3.5, 1e-13, 1e-16)
    assert np.allclose(lax.betainc(7.5, 2.25, u), 1 - lax.betainc(2.25, 7.5, 1 - u), 1e-13, 1e-15)
    slope = tn.jit(tn.grad(lax.betainc, 0))
    second = tn.jit(tn.grad(tn.grad(lax.betainc, 0), 0))(2.5, 1.2, 0.3)
    assert np.isclose(second, (slope(2.5 + 1e-5, 1.2, 0.3) - slope(2.5 - 1e-5, 1.2, 0.3)) / 2e-5, 1e-6)


def test_beta_at_the_edges():
    inf, nan = np.inf, np.nan
    a, b, x, wanted = np.array([
        (2, 3, 0, 0), (2, 3, 1, 1), (0, 1, 0.5, 1), (0, 1, 0, 0), (1, 0, 0.5, 0), (1, 0, 1, 1), (inf, 1, 0.5, 0), (1, inf, 0.5, 1),
        (0, 0, 0.5, nan), (-1, 1, 0.5, nan), (1, 1, 1.5, nan), (1, 1, nan, nan), (nan, 1, 0.5, nan)]).T
    assert np.array_equal(lax.betainc(a, b, x), wanted, equal_nan=True)
    edges = tn.vmap(tn.grad(lax.betainc, 2))(np.array([1.0, 2.0, 0.5, 3.0]), np.array([3.0, 3.0, 3.0, 1.0]), np.array([0.0, 0, 0, 1]))
    assert edges.tolist() == [3, 0, inf, 3]


def test_slopes_at_natural_numbers():
    """There the fraction for the value ends before that for the derivative. Central differences of values between 1 and 2."""
    h = 1e-4

    def difference(f, *at, argument):
        def moved(by):
            return float(f(*(v + by * (i == argument) for i, v in enumerate(at))))
        return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)

    slope, upper = tn.jit(tn.grad(lax.igamma)), tn.jit(tn.grad(lax.igammac))
    second, of_beta = tn.jit(tn.grad(slope)), tn.jit(tn.grad(lax.betainc, (0, 1)))
    for a, x in ((1.0, 1.5), (1.0, 2.0), (1.0, 10.0), (2.0, 3.0), (3.0, 3.5), (5.0, 9.0)):
        assert np.isclose(slope(a, x), difference(lax.igamma, a, x, argument=0), 1e-9, 1e-12)
        assert np.isclose(upper(a, x), difference(lax.igammac, a, x, argument=0), 1e-9, 1e-12)
        assert np.isclose(second(a, x), difference(slope, a, x, argument=0), 1e-8, 1e-11)
    for at in ((2.0, 1.0, 0.5), (1.0, 1.0, 0.3), (1.0, 2.0, 0.5), (3.0, 2.0, 0.9), (2.0, 3.0, 0.1)):
        for i, got in enumerate(of_beta(*at)):
            assert np.isclose(got, difference(lax.betainc, *at, argument=i), 1e-9)
    assert tn.grad(lax.igamma, 1)(0.0, 0.5) == 0  # P(0, x) is 1
