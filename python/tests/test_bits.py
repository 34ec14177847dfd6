"""Bits of numbers and floats next to one another, beside NumPy and values of JAX."""

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import lax

dtypes = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("to", dtypes)
@pytest.mark.parametrize("of", dtypes)
def test_bitcast_and_view(of, to, compiled):
    bits = np.random.default_rng(0).integers(0, 256, (3, 8 * np.dtype(of).itemsize), np.uint8).view(of)
    view = (lambda x: x.view(to))
    got = (tn.jit(view) if compiled else view)(tnp.asarray(bits))
    assert np.asarray(got).tobytes() == bits.tobytes() and got.shape == bits.view(to).shape and got.dtype == to
    size = np.dtype(to).itemsize // np.dtype(of).itemsize
    x = bits.reshape(3, -1, size) if size > 1 else bits
    made = lax.bitcast_convert_type(x, to)
    assert np.asarray(made).tobytes() == bits.tobytes()
    assert made.shape == ((3, x.shape[1]) if size >= 1 else (*x.shape, np.dtype(of).itemsize // np.dtype(to).itemsize))


def test_view_of_bools_complex_numbers_and_scalars():
    z = np.array([1 + 2j, 3 - 4j], np.complex64)
    assert np.array_equal(tnp.asarray(z).view(np.float32), z.view(np.float32))
    assert np.array_equal(tnp.asarray(z).view("float32").view(np.complex64), z)
    assert np.array_equal(tnp.asarray([True, False]).view(np.uint8), [1, 0])
    assert tnp.asarray(np.float32(1)).view(np.uint32).tolist() == 0x3F800000
    assert tnp.asarray(np.complex64(1j)).view(np.float64).shape == ()
    with pytest.raises(ValueError, match="0d array"):
        tnp.asarray(1.0).view(np.float32)
    with pytest.raises(ValueError, match="divisor"):
        tnp.zeros(3, np.int8).view(np.int16)


def test_bitcast_errors():
    with pytest.raises(ValueError, match="last axis of 4"):
        lax.bitcast_convert_type(tnp.zeros((2, 3), np.uint8), np.float32)
    for x, to in ((tnp.zeros(3, bool), np.uint8), (tnp.zeros(3, np.complex64), np.uint64)):
        with pytest.raises(TypeError, match="bools and complex numbers"):
            lax.bitcast_convert_type(x, to)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nextafter_and_spacing(dtype):
    values = np.array([0, -0.0, 1, -1, 1.5, np.finfo(dtype).max, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal,
                       np.inf, -np.inf, np.nan], dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.array_equal(tnp.nextafter(x, y), np.nextafter(x, y), equal_nan=True)
        if dtype != "float16":  # whose spacing NumPy takes upwards
            assert np.array_equal(tnp.spacing(values), np.spacing(values), equal_nan=True)
    with pytest.raises(TypeError, match="takes floats"):
        lax.nextafter(1, 2)


def test_derivatives():
    assert tn.grad(lambda x: lax.nextafter(x, 3.0) * 2)(1.0) == 2
    assert tn.grad(lambda y: lax.nextafter(1.0, y))(3.0) == 0
    assert tn.grad(lambda x: lax.reduce_precision(x, 5, 3) * 1.03)(2.0) == 1  # the cotangent is rounded too, as in JAX
    assert tn.grad(lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, np.int64), np.float64) * x)(3.0) == 3


def test_reduce_precision():
    x = np.array([-1, 1.5, 0.75, 65519, -3e38, np.inf, 1e-40, 0.9], np.float32)
    inf = np.inf
    for bits, want in {(4, 3): [-1, 1.5, 0.75, inf, -inf, inf, 0, 0.875], (2, 0): [-1, 2, 0, inf, -inf, inf, 0, 1],
                       (1, 3): [0, 0, 0, inf, -inf, inf, 0, 0]}.items():  # by JAX
        assert lax.reduce_precision(x, *bits).tolist() == want
        assert tn.jit(lambda x, bits=bits: lax.reduce_precision(x, *bits))(x).tolist() == want
    assert np.isnan(lax.reduce_precision(np.nan, 2, 0))
    with pytest.raises(ValueError, match="0 bits for the exponent"):
        lax.reduce_precision(x, 0, 3)
    with pytest.raises(TypeError, match="takes floats"):
        lax.reduce_precision(1, 5, 3)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_mulhi(dtype):
    info = np.iinfo(dtype)
    values = [info.min, info.max, 0, 1, 7, info.max // 3, info.min // 5, info.max // 2 + 1, *([-1] if info.min else [])]
    x, y = [np.array(a, dtype) for a in zip(*[(a, b) for a in values for b in values])]
    want = [int(a) * int(b) >> info.bits for a, b in zip(x, y)]
    for f in (lax.mulhi, tn.jit(lax.mulhi), tn.vmap(lax.mulhi), tn.jit(tn.vmap(lax.mulhi))):
        assert f(x, y).tolist() == want and f(x, y).dtype == dtype
    assert lax.mulhi(x[3], y[3]).shape == () and lax.mulhi(x[:0], y[:0]).shape == (0,)


def test_mulhi_errors():
    for x, y in ((1.0, 2.0), (tnp.int32(1), tnp.int64(1)), (True, False)):
        with pytest.raises(TypeError, match="mulhi"):
            lax.mulhi(x, y)
