"""Functions where arguments or results are near the ends of their dtypes: values to 18 digits by mpmath, NumPy, and products."""
import math

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax, nn

ERFC = {-3.0: 1.99997790950300141, 0.25: 0.723673609831763067, 0.5: 0.479500122186953462, 1.5: 0.0338948535246892729,
        4.0: 1.54172579002800189e-8, 5.5: 7.35784791797439806e-15, 7.0: 4.18382560777941438e-23,
        15.0: 7.21299417245120667e-100, 26.0: 5.66319240885614285e-296}


def each_way(f, *operands):
    return f(*operands), tn.jit(f)(*operands), tn.vmap(f)(*operands)


@pytest.mark.parametrize("dtype, last", [("float64", 30), ("float32", 8), ("float16", 3.5)])
def test_erfc_in_the_tail(dtype, last):
    x = np.array([v for v in ERFC if v < last], dtype)
    wanted = np.array([v for k, v in ERFC.items() if k < last])
    for got in each_way(lax.erfc, x):
        assert got.dtype == dtype
        assert (np.abs(np.asarray(got, "float64") - wanted) <= 4 * np.spacing(wanted.astype(dtype)).astype("float64")).all()
    ends = lax.erfc(np.array([np.inf, -np.inf, 200, -200, np.nan], dtype))
    assert np.array_equal(ends, [0, 2, 0, 2, np.nan], equal_nan=True)


def test_derivatives_of_erfc():
    slope = -2 / math.sqrt(math.pi) * math.exp(-4)
    assert np.isclose(tn.grad(lax.erfc)(2.0), slope, 1e-15) and np.isclose(tn.grad(tn.grad(lax.erfc))(2.0), -4 * slope, 1e-15)


def test_exact_gelu_in_the_tail():
    x = np.array([-6.0, -5.0, -2.0, 1.0])
    wanted = np.array([-5.91952587022618884e-9, -1.43325785939596956e-6, -0.0455002638963584144, 0.841344746068542949])
    assert np.allclose(nn.gelu(x, approximate=False), wanted, 1e-14, 0)
    assert np.allclose(nn.gelu(x.astype("float32"), approximate=False), wanted, 4e-6, 0)


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_powers_of_integers_by_arrays(dtype):
    info = np.iinfo(dtype)
    bases = [0, 1, 2, 3, 7, info.max, info.max // 3] + ([-1, -2, -3, info.min] if info.min else [])
    exponents = [0, 1, 2, 3, 31, 63, 64, 65, 100, info.max] + ([-1, -2, info.min] if info.min else [])

    def power(x, y):
        if y < 0:
            return (1 if y % 2 == 0 else x) if abs(x) == 1 else 0
        wrapped = pow(x, y, 1 << info.bits)
        return wrapped - (1 << info.bits) if wrapped > info.max else wrapped

    pairs = [(x, y) for x in bases for y in exponents]
    x, y = (np.array(v, dtype) for v in zip(*pairs))
    wanted = np.array([power(*p) for p in pairs], dtype)
    for got in each_way(tnp.power, x, y):
        assert got.dtype == dtype and np.array_equal(got, wanted)


def test_inverse_hyperbolic_functions():
    assert np.isnan(tnp.arccosh(np.array([-1e20, -2, 0.5, -np.inf]))).all()
    assert np.isnan(tnp.arccosh(np.array([-1e4, -3e38], "float32"))).all() and np.isnan(tnp.arccosh(np.float16(-100)))
    assert np.isclose(tnp.arccosh(1e300), 691.468675078773648, 1e-15) and tnp.arccosh(np.inf) == np.inf
    assert np.isclose(tnp.arccosh(np.float16(65504)), 11.7830136690511, 1e-3)
    assert np.isclose(tnp.arcsinh(np.float16(-300)), -6.39693243, 1e-3)
    assert np.isclose(tn.grad(tnp.arccosh)(1e9), 1e-9) and np.isclose(tn.grad(tnp.arccosh)(2.0), 1 / math.sqrt(3))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_cbrt_of_the_largest(dtype):
    largest = np.finfo(dtype).max
    assert np.allclose(tnp.cbrt(np.array([largest, -largest])), [np.cbrt(float(largest)), -np.cbrt(float(largest))],
                       2 * np.finfo(dtype).eps, 0)


def test_ldexp_and_frexp():
    assert np.array_equal(tnp.ldexp(1.0, np.array([2 ** 32 - 1, -(2 ** 40), 3])), [np.inf, 0, 8])
    assert np.array_equal(tnp.ldexp(1.0, np.array([2 ** 63, 3], "uint64")), [np.inf, 8])
    assert np.array_equal(tnp.ldexp(np.float32(1), np.array([-100, 100], "int8")), np.ldexp(np.float32(1), [-100, 100]))
    for dtype in ("float16", "float32", "float64"):
        x = np.array([np.finfo(dtype).tiny, np.finfo(dtype).max, -1.5, 0, -0.0, np.inf], dtype)
        for got, wanted in zip(tnp.frexp(x), np.frexp(x)):
            assert np.array_equal(got, wanted)
        subnormal = np.finfo(dtype).smallest_subnormal
        m, n = tnp.frexp(subnormal)  # a zero where programs flush it
        assert (m, n) == (0, 0) or (m, n) == np.frexp(subnormal)


def test_gamma_functions():
    single = np.float32
    assert lax.igamma(single(100), single(3e38)) == 1 and lax.igammac(single(2), single(3e38)) == 0
    assert lax.igamma(1e-3, 1e300) == 1 and lax.igammac(2.0, 1e308) == 0
    assert np.isposinf(lax.lgamma(np.array([-3e38, 3e38, -1e10], single))).all() and np.isposinf(lax.lgamma(-1e308))
    assert np.isclose(lax.zeta(np.float16(20), np.float16(1.5)), 3.0074e-4, 2e-3)
    assert np.allclose(lax.zeta(np.array([1e6, 40, 2], single), np.array([1.5, 2, 1e30], single)), [0, 9.094949475e-13, 1e-30], 1e-5, 0)
    assert np.allclose(lax.zeta(np.array([1e30, 700.0]), np.array([1.5, 2])), [0, 1.901091566295e-211], 1e-12, 0)


def test_slopes_where_a_remainder_is_zero():
    a = np.array([0.0, -0.0, 0.5, 1, -1, 3, -2.5])
    for modulus in (1.0, -1.0):
        for way in (lambda f: f, tn.jit):
            f = way(lambda x: tnp.mod(x, modulus))
            assert np.array_equal(f(a), np.mod(a, modulus)) and np.array_equal(np.signbit(f(a)), np.signbit(np.mod(a, modulus)))
            assert np.array_equal(way(tn.vmap(tn.grad(lambda x: tnp.mod(x, modulus))))(a), np.ones(7))
    assert [float(tn.grad(lambda y: tnp.remainder(6.0, y))(v)) for v in (1.0, 1.5, -2.0, 4.0)] == [-6, -4, 3, -1]
    assert [float(g) for g in tn.grad(tnp.floor_divide, (0, 1))(1.0, 0.0)] == [0, 0]


def test_slopes_at_the_ends_of_domains():
    assert [float(tn.grad(tnp.cbrt)(v)) for v in (0.0, 8.0, -8.0)] == [np.inf, 1 / 12, 1 / 12]
    assert np.isclose(tn.grad(tn.grad(tnp.cbrt))(8.0), -1 / 144, 1e-14)
    x = np.array([0.5, 0.0, -0.5, -1.0, -2.0, -1e200, -np.inf, np.nan])
    assert np.isnan(tnp.arccosh(x)).all() and np.isnan(tn.vmap(tn.grad(tnp.arccosh))(x[:3])).all()
    assert float(tn.grad(tnp.arccosh)(2.0)) == pytest.approx(1 / math.sqrt(3), rel=1e-14)
    assert np.array_equal(tn.vmap(tn.grad(lax.round))(np.array([np.inf, 0.5, -np.inf])), [0, 0, 0])


def test_arguments_stay_what_they_are():
    turns = np.array(5)
    tnp.rot90(np.eye(2), turns)
    assert turns == 5


def test_second_derivatives_of_logaddexp2_at_ties():
    slope = tn.grad(tnp.logaddexp2)
    for x in (0.0, 1.5, -30.0):
        assert np.isclose(slope(x, x), 0.5, 1e-15) and np.isclose(tn.grad(slope, 1)(x, x), -math.log(2) / 4, 1e-14)
    a, b = np.array([1.0, np.inf, -np.inf, 700, 2]), np.array([3.0, np.inf, -np.inf, 1, np.nan])
    for got in each_way(tnp.logaddexp2, a, b):
        assert np.allclose(got, np.logaddexp2(a, b), 1e-15, equal_nan=True)
    assert tnp.logaddexp2(np.float16(1), np.float16(1)).dtype == np.float16
