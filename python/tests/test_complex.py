"""Functions of complex numbers beside branch cuts, far out and near 0, their derivatives, and complex numbers in order."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

INVERSES = "arcsin arccos arctan arcsinh arccosh arctanh".split()
RNG = np.random.default_rng(0)
POINTS = (RNG.normal(size=200) + 1j * RNG.normal(size=200)) * 10.0 ** RNG.uniform(-3, 3, 200)
EPS = {"complex64": 1.2e-7, "complex128": 2.3e-16}


def everywhere(f, z):
    return f(z), tn.jit(f)(z), tn.vmap(f)(z)


def parts(z):
    return np.stack([np.asarray(z).real, np.asarray(z).imag])


@pytest.mark.parametrize("dtype", list(EPS))
@pytest.mark.parametrize("name", [*INVERSES, "expm1", "log1p"])
def test_values(name, dtype):
    z = POINTS.astype(dtype)
    z = z[np.abs(z) < 20] if name == "expm1" else z
    wanted = getattr(np, name)(z.astype("complex128"))
    for got in everywhere(getattr(tnp, name), z):
        assert got.dtype == np.dtype(dtype)
        # NumPy's own log1p and expm1 lose what is small beside 1.
        lost = 4 * EPS["complex128"] if name in ("expm1", "log1p") else 0
        assert (np.abs(got - wanted) <= 4 * EPS[dtype] * np.abs(wanted) + lost).all()


@pytest.mark.parametrize("name", INVERSES)
def test_branch_cuts(name):
    sides = [complex(a, b) for a in (2.0, -2.0, 0.5, -0.5, 0.0, -0.0) for b in (0.0, -0.0, 2.0, -2.0, 0.5, -0.5)]
    z = np.array(sides)
    got, wanted = parts(getattr(tnp, name)(z)), parts(getattr(np, name)(z))
    assert np.allclose(got, wanted, 1e-14, 1e-300)
    assert np.array_equal(np.signbit(got[wanted != 0]), np.signbit(wanted[wanted != 0]))
    beside = z + 1e-9 * np.where(np.signbit(z.imag), -1j, 1j) + 1e-9 * np.where(np.signbit(z.real), -1, 1)
    assert np.allclose(getattr(tnp, name)(z), getattr(tnp, name)(beside), 1e-7, 1e-7)


@pytest.mark.parametrize("name", INVERSES)
def test_far_out(name):
    z = np.array([complex(a, b) for a in (np.inf, -np.inf, 1e300, -1e300, 3.0) for b in (np.inf, -np.inf, 1e300, -1e300, 3.0)])
    got, wanted = parts(getattr(tnp, name)(z)), parts(getattr(np, name)(z))
    assert np.allclose(got, wanted, 1e-14, 1e-300)
    tiny = np.array([complex(a, b) for a in (1e-300, -1e-20) for b in (1e-300, -1e-200)])
    assert np.allclose(parts(getattr(tnp, name)(tiny)), parts(getattr(np, name)(tiny)), 1e-14, 0)
    assert np.isnan(getattr(tnp, name)(complex(np.nan, 1.0)))


def test_near_zero():
    for z in (1e-12 + 2e-12j, -1e-200 + 1e-180j, 1e-9j):
        series = z + z * z / 2
        assert np.allclose(parts(tnp.expm1(z)), parts(series), 1e-13, 1e-30)
        assert np.allclose(parts(tnp.log1p(z)), parts(z - z * z / 2), 1e-13, 1e-30)
    assert tnp.log1p(-1 + 0j) == -np.inf and tnp.expm1(complex(-np.inf, 0.0)) == -1


@pytest.mark.parametrize("name", [*INVERSES, "expm1", "log1p"])
def test_derivatives(name):
    f = getattr(tnp, name)
    z = POINTS[np.abs(POINTS) < 10][:40]
    z = z[(np.abs(z - 1) > 0.1) & (np.abs(z + 1) > 0.1) & (np.abs(z - 1j) > 0.1) & (np.abs(z + 1j) > 0.1)]
    slope = tn.vmap(tn.grad(f, holomorphic=True))
    second = tn.jit(tn.vmap(tn.grad(tn.grad(f, holomorphic=True), holomorphic=True)))
    h = 1e-5 * np.exp(1j * np.angle(z))  # away from 0, so along branch cuts
    for derived, of in ((slope, f), (second, slope)):
        assert np.allclose(derived(z), (np.asarray(of(z + h)) - np.asarray(of(z - h))) / (2 * h), 1e-6, 1e-6)
    assert np.allclose(tn.jvp(f, (z,), (1j * np.ones_like(z),))[1], 1j * np.asarray(slope(z)), 1e-14)


def test_derivatives_where_formulas_have_none():
    at_zero = {"arcsin": 1, "arccos": -1, "arctan": 1, "arcsinh": 1, "arctanh": 1, "expm1": 1, "log1p": 1, "arccosh": -1j}
    for name, slope in at_zero.items():
        assert np.isclose(tn.grad(getattr(tnp, name), holomorphic=True)(complex(0.0, 0.0)), slope), name
    for z, slope in ((complex(2, 0.0), 1j), (complex(2, -0.0), -1j), (complex(-2, 0.0), -1j), (complex(-2, -0.0), 1j)):
        assert np.isclose(tn.grad(tnp.arcsin, holomorphic=True)(z), slope / np.sqrt(3))
    assert np.isclose(tn.grad(tnp.arcsin, holomorphic=True)(1e200 + 1e200j), 1j / (1e200 + 1e200j))


def test_arctan2():
    y, x = POINTS[:60], POINTS[60:120]
    wanted = -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))
    for got in (tnp.arctan2(y, x), tn.jit(lax.atan2)(y, x)):
        assert np.allclose(got, wanted, 1e-12, 1e-12)
    slopes = tn.vmap(tn.grad(tnp.arctan2, (0, 1), holomorphic=True))(y, x)
    assert np.allclose(slopes[0], x / (x * x + y * y), 1e-11) and np.allclose(slopes[1], -y / (x * x + y * y), 1e-11)
    assert np.allclose(tnp.arctan2(y.real, x), tnp.arctan2(y.real + 0j, x))


def test_logaddexp():
    a, b = POINTS[:60] / 100, POINTS[60:120] / 100
    for name, wanted in (("logaddexp", np.log(np.exp(a) + np.exp(b))), ("logaddexp2", np.log(2 ** a + 2 ** b) / np.log(2))):
        assert np.allclose(getattr(tnp, name)(a, b), wanted, 1e-12)
    assert np.isclose(tnp.logaddexp(1000 + 1j, 1000 - 1j), 1000 + np.log(2 * np.cos(1)))
    assert abs(tn.grad(tnp.logaddexp, holomorphic=True)(1 + 1j, 1 + 1j) - 0.5) < 1e-15


ORDERED = np.array([1 + 1j, 1 + 2j, 5j, 1 + 2j])


def test_order():
    assert (tnp.max(ORDERED), tnp.min(ORDERED), tnp.ptp(ORDERED)) == (1 + 2j, 5j, 1 - 3j)
    assert np.array_equal(lax.cummax(ORDERED), np.maximum.accumulate(ORDERED))
    assert np.array_equal(lax.cummin(ORDERED, reverse=True), np.minimum.accumulate(ORDERED[::-1])[::-1])
    x = tnp.asarray(ORDERED)
    assert (x < 1 + 2j).tolist() == [True, False, True, False] and (x >= x[::-1]).tolist() == [False, True, False, True]
    wide = np.array([complex(np.inf, 1), complex(np.inf, 2), complex(np.inf, 2), complex(-np.inf, np.inf)])
    assert tnp.max(wide) == wide[1] and tnp.min(wide) == wide[3] and np.array_equal(tnp.maximum(wide, wide), wide)
    for f in (tnp.max, tnp.min):
        assert np.isnan(f(np.array([1, complex(0, np.nan)])))
    assert tnp.max(ORDERED, initial=9) == 9 and tnp.max(ORDERED, initial=0, where=ORDERED.real > 5) == 0


def test_derivatives_of_the_extreme():
    assert tn.grad(lambda x: tnp.max(x).real)(ORDERED).tolist() == [0, 0.5, 0, 0.5]
    assert tn.grad(lambda x: tnp.min(x).real)(ORDERED).tolist() == [0, 0, 1, 0]
    tangent = tn.jvp(tnp.maximum, (ORDERED[:2], ORDERED[[0, 0]]), (np.ones(2) + 0j, 2j * np.ones(2)))[1]
    assert tangent.tolist() == [0.5 + 1j, 1]
    assert np.array_equal(tn.jit(tn.vmap(tnp.max))(np.stack([ORDERED, -ORDERED])), [1 + 2j, -5j])


@pytest.mark.parametrize("f, kind", [
    (lambda x: tnp.clip(x, 0, 1), ValueError), (lambda x: tnp.hypot(x, x), ValueError), (lambda x: tnp.heaviside(x, x), TypeError),
    (tnp.argmax, TypeError), (tnp.nanargmin, TypeError), (tnp.median, ValueError), (lambda x: tnp.percentile(x, 3), ValueError),
    (lambda x: tnp.nanquantile(x, 0.5), ValueError), (tnp.cbrt, TypeError), (tnp.floor, TypeError), (tnp.fabs, TypeError),
    (lambda x: tnp.copysign(x, x), TypeError), (tnp.signbit, TypeError), (lambda x: tnp.fmod(x, x), TypeError)])
def test_refused(f, kind):
    with pytest.raises(kind):
        f(ORDERED)
