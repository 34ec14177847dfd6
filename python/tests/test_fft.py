"""fft: every function beside NumPy's, of every dtype and way of calling; derivatives, errors, jax.lax's names."""

import functools

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon import fft, lax
from test_linalg import difference, forms, matrices, near

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]
REAL = {"rfft", "ihfft", "rfftn", "rfft2"}
NORMS = [None, "backward", "ortho", "forward"]


def drawn(name, shape, dtype="float64"):
    if name in REAL:
        return matrices(*shape, dtype=dtype)
    return matrices(*shape, dtype="complex64" if dtype == "float32" else "complex128")


def wanted(name, x, *args, **kwargs):
    """NumPy's, in the precision of x: NumPy 1 knows double precision alone."""
    made = getattr(np.fft, name)(x, *args, **kwargs)
    single = x.dtype in (np.float32, np.complex64)
    return made.astype("complex64" if made.dtype.kind == "c" else "float32") if single else made


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_along_one_axis(name, dtype):
    for shape in [(1,), (2,), (7,), (8,), (3, 12), (4, 1, 5)]:
        x = drawn(name, shape, dtype)
        for axis in range(-x.ndim, x.ndim):
            for n in [None, 1, 5, 6, 16]:
                if name in ("irfft", "hfft") and n is None and shape[axis] == 1:
                    continue  # no number is left
                norm = NORMS[(axis + (n or 0)) % 4]
                whole = functools.partial(getattr(fft, name), n=n, axis=axis, norm=norm)
                for got in forms(whole, x) if axis < 0 else [whole(x)]:
                    near(got, wanted(name, x, n, axis, norm))


@pytest.mark.parametrize("name", MANY + TWO)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_along_axes(name, dtype):
    for shape in [(3, 4), (2, 5, 6), (2, 3, 4, 5)]:
        x = drawn(name, shape, dtype)
        for norm in NORMS:
            near(getattr(fft, name)(x, norm=norm), wanted(name, x, norm=norm))
        for axes in [(0, 1), (-1, 0), (1, 0)]:
            for s in [None, (3, 6), (4, 4)]:
                near(tn.jit(lambda x: getattr(fft, name)(x, s, axes))(x), wanted(name, x, s, axes))
    if name in MANY:
        x = drawn(name, (2, 3, 4), dtype)
        near(getattr(fft, name)(x, axes=(1,)), wanted(name, x, axes=(1,)))
        near(getattr(fft, name)(x, axes=(2, 0, 1)), wanted(name, x, axes=(2, 0, 1)))


@pytest.mark.parametrize("name", ONE)
def test_derivatives(name):
    for n in (1, 4, 5):
        x = drawn(name, (5,))
        weights = matrices(9)

        def loss(re, im=None):
            y = getattr(fft, name)(re if im is None else re + 1j * im, n)
            return tnp.sum(tnp.abs(y) ** 2 * weights[: y.shape[0]]) + tnp.sum(tnp.sin(tnp.real(y)))

        if name in REAL:
            near(tn.grad(loss)(x), difference(loss, x), 1e3)
            near(tn.jit(tn.hessian(loss))(x), tn.hessian(loss)(x))
        else:
            re, im = x.real.copy(), x.imag.copy()
            near(tn.grad(loss)(re, im), difference(lambda re: loss(re, im), re), 1e3)
            near(tn.grad(loss, 1)(re, im), difference(lambda im: loss(re, im), im), 1e3)


def test_dtypes_and_shapes():
    for dtype in ("bool", "int8", "uint16", "float16", "float32"):
        near(fft.fft(np.ones(4, dtype)), np.fft.fft(np.ones(4)).astype("complex64"))
    for dtype in ("int64", "float64"):
        near(fft.rfft(np.arange(4, dtype=dtype)), np.fft.rfft(np.arange(4)))
    near(fft.fft([1.0, 2.0]), np.fft.fft([1.0, 2.0]))
    assert fft.fft(np.zeros((0, 4))).shape == (0, 4) and fft.irfft(np.zeros((0, 3))).shape == (0, 4)
    x = matrices(6, 8)
    near(fft.fft(x[::-2, ::3].T, axis=0), np.fft.fft(x[::-2, ::3].T, axis=0))
    near(tn.jit(fft.fft, sizes="symbolic")(x), np.fft.fft(x))
    near(tn.jit(lambda x: fft.irfft(fft.rfft(x), x.shape[-1]), sizes="symbolic")(x), x)


def test_errors():
    x = np.ones((2, 4))
    for call, message in [
        (lambda: fft.fft(x, axis=(0, 1)), "fft does not support multiple axes"),
        (lambda: fft.fft2(x, axes=(0,)), "fft2 only supports 2 axes"),
        (lambda: fft.fftn(x, axes=(0, 0)), "fftn does not support repeated axes"),
        (lambda: fft.fftn(x, s=(2,), axes=(0, 1)), "Shape and axes have different lengths"),
        (lambda: fft.fft(x, norm="both"), "norm is 'both'; it is one of 'backward', 'ortho', 'forward'"),
        (lambda: fft.fft(x, n=0), "fft: 0 elements of axis 1"),
        (lambda: fft.fft(x, axis=2), "fft"),
        (lambda: lax.fft(x, "DCT", (4,)), "Unknown FFT type"),
        (lambda: lax.fft(x, "FFT", (3,)), "FFT input shape"),
        (lambda: lax.fft(x[0], "FFT", (2, 4)), "at least as many input dimensions"),
    ]:
        with pytest.raises((ValueError, IndexError), match=message):
            call()
    with pytest.raises(TypeError, match="rfft: c128.* is complex"):
        fft.rfft(x + 1j)


def test_by_the_names_of_lax():
    x = matrices(2, 3, 4)
    near(lax.fft(x + 0j, "FFT", (3, 4)), np.fft.fft2(x))
    near(lax.fft(x + 0j, lax.FftType.IFFT, (4,)), np.fft.ifft(x))
    near(lax.fft(x, lax.FftType.RFFT, (2, 3, 4)), np.fft.rfftn(x))
    near(lax.fft(x + 0j, "IRFFT", (3, 6)), np.fft.irfft2(x, (3, 6)))
    near(lax.fft(x, "FFT", ()), x)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n):
    for d in (1.0, 0.25):
        near(fft.fftfreq(n, d), np.fft.fftfreq(n, d))
        near(fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    assert fft.fftfreq(n, dtype=tnp.float32).dtype == np.float32
    x = np.arange(3.0 * n).reshape(3, n)
    for axes in (None, 0, 1, (0, 1)):
        near(fft.fftshift(x, axes), np.fft.fftshift(x, axes))
        for got in (fft.ifftshift(x, axes), tn.jit(lambda x: fft.ifftshift(x, axes))(x)):
            near(got, np.fft.ifftshift(x, axes))
    near(tn.grad(lambda x: tnp.sum(fft.fftshift(x, 1)[:, 0]))(x), np.fft.ifftshift(np.eye(1, n)[None, 0].repeat(3, 0), 1))
    assert fft.fftshift(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(ValueError, match="only takes an int"):
        fft.fftfreq([n])
