"""scipy.signal and scipy.fft: beside SciPy's, of every dtype and way of calling; derivatives, sizes that vary, errors."""

import sys
import warnings

import numpy as np
import pytest

import tenon as tn
import tenon.numpy as tnp
from tenon.scipy import fft, signal
from test_linalg import difference, forms, matrices, near

theirs = pytest.importorskip("scipy.signal")
their_fft = pytest.importorskip("scipy.fft")
SHAPES = [((5,), (3,)), ((3,), (5,)), ((4,), (4,)), ((1,), (6,)), ((6,), (2,)), ((4, 5), (2, 3)), ((2, 2), (5, 4)), ((3, 4, 5), (2, 2, 2))]


def single(x, like):
    return x.astype({"f": "float32", "c": "complex64"}[x.dtype.kind]) if np.dtype(like) in (np.float32, np.complex64) else x


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions(name, dtype):
    for i, (n, m) in enumerate(SHAPES):
        a, b = matrices(*n, dtype=dtype), matrices(*m, dtype=dtype, seed=1)
        for mode in ("full", "same", "valid"):
            wanted = single(getattr(theirs, name)(a, b, mode, "direct"), dtype)
            for method in ("direct", "fft", "auto"):
                near(getattr(signal, name)(a, b, mode, method), wanted)
            if i in (0, 5) and mode == "same":
                for got in forms(lambda x: getattr(signal, name)(x, b, mode), a):
                    near(got, wanted)
            if len(n) == 2:
                of_matrices = {"convolve": "convolve2d", "correlate": "correlate2d"}[name]
                near(getattr(signal, of_matrices)(a, b, mode), single(getattr(theirs, of_matrices)(a, b, mode), dtype))


def test_convolutions_along_axes():
    a, b = matrices(5, 3, 4), matrices(2, 3, 6, seed=1)
    for mode in ("full", "same"):
        near(tn.jit(lambda a, b: signal.fftconvolve(a, b, mode, axes=[0, -1]))(a, b), theirs.fftconvolve(a, b, mode, axes=[0, -1]))
    near(signal.fftconvolve(a, b[:, :, :4], "valid", axes=0), theirs.fftconvolve(a, b[:, :, :4], "valid", axes=0))
    near(signal.fftconvolve(np.zeros((2, 3)), np.ones((2, 3)), axes=1), np.zeros((2, 5)))


def test_dtypes_of_convolutions():
    for dtype in ("int8", "uint16", "bool", "int32", "float16", "bfloat16"):
        a = tnp.asarray([1, 0, 1, 1]).astype(dtype)
        wanted = "float16" if dtype == "float16" else "bfloat16" if dtype == "bfloat16" else "float32"
        for made in (signal.convolve(a, a), signal.convolve(a, a, method="fft")):
            assert made.dtype == wanted and made.astype("float32").round().tolist() == [1, 0, 2, 2, 1, 2, 1]
    assert signal.convolve(np.float64(2), np.float64(3)) == 6
    inf, nan = np.inf, np.nan
    for a, v in (([1.0, 2], [inf, 1]), ([1.0, -2, 0], [1, -inf, 2.0]), ([1.0, 2, 3, 4], [nan, 1, 0]), ([1.0, 2, -1], [inf, -inf]), ([inf, 1], [1.0])):
        for made in forms(lambda x: signal.convolve(x, np.array(v)), np.array(a)):
            near(made, np.convolve(a, v))


def test_derivatives_of_convolutions():
    a, b = matrices(5), matrices(3, seed=1)
    for method in ("direct", "fft"):
        def loss(a, b):
            return tnp.sum(tnp.sin(signal.convolve(a, b, "same", method)))

        near(tn.grad(loss)(a, b), difference(lambda a: loss(a, b), a), 1e3)
        near(tn.jit(tn.grad(loss, 1))(a, b), difference(lambda b: loss(a, b), b), 1e3)
        second = tn.jit(tn.hessian(loss, 1))(a, b)
        near(second, tn.jacfwd(tn.grad(loss, 1), 1)(a, b))
        near(tnp.matmul(second, b), difference(lambda t: loss_slope(loss, a, b, t), np.zeros(3)), 1e5)


def loss_slope(loss, a, b, t):
    """The derivative of the loss along b, at b + t: its gradient in t is the Hessian times b."""
    return tn.jvp(lambda b: loss(a, b), (tnp.asarray(b + t),), (tnp.asarray(b),))[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32"])
def test_trends(dtype):
    for shape, axis in [((20,), -1), ((3, 17), 1), ((12, 2), 0)]:
        x = (5 * matrices(*shape, dtype="float64" if dtype == "int32" else dtype)).astype(dtype)
        wide = x.astype("float64") if dtype in ("int32", "float32") else x
        for kind, breaks in [("linear", 0), ("constant", 0), ("linear", [5, 9]), ("linear", np.array([0, 3]))]:
            wanted = theirs.detrend(wide, axis, kind, breaks)
            near(tn.jit(lambda x: signal.detrend(x, axis, kind, breaks))(x), wanted.astype("float32") if dtype in ("int32", "float32") else wanted, 10)
    near(signal.detrend(np.array([3.0])), np.zeros(1))
    assert signal.detrend(np.zeros((2, 0))).shape == (2, 0)
    near(tn.jacobian(signal.detrend)(np.arange(4.0)), np.eye(4) - np.array([[7, 4, 1, -2], [4, 3, 2, 1], [1, 2, 3, 4], [-2, 1, 4, 7]]) / 10)


CASES = [dict(nperseg=32), dict(nperseg=33, noverlap=5), dict(nperseg=16, noverlap=15, nfft=40), dict(nperseg=40, noverlap=39),
         dict(nperseg=20, noverlap=0, window="hamming"), dict(nperseg=7, fs=3.5, return_onesided=False), dict(nperseg=8, detrend="linear"),
         dict(window=np.hanning(12), nperseg=None), dict(nperseg=20, detrend=lambda x: x - x[..., :1])]


@pytest.mark.parametrize("options", CASES)
def test_spectra(options):
    # SciPy gives functions their segments along another axis, where the samples lie along it.
    for i, (shape, axis) in enumerate([((300,), -1), ((2, 130), -1), ((2, 90, 3), 1)][:2 if callable(options.get("detrend")) else 3]):
        x, y = matrices(*shape), matrices(*shape, seed=1)
        boundary, padded = [("zeros", True), ("even", True), ("odd", False)][i]
        for got in forms(lambda x: signal.stft(x, boundary=boundary, padded=padded, axis=axis, **options), x) if i == 0 else [
                signal.stft(x, boundary=boundary, padded=padded, axis=axis, **options)]:
            for a, b in zip(got, theirs.stft(x, boundary=boundary, padded=padded, axis=axis, **options)):
                near(a, b)
        for scaling, average in [("density", "mean"), ("spectrum", "median")]:
            more = dict(options, scaling=scaling, average=average, axis=axis)
            for a, b in zip(tn.jit(lambda x: signal.welch(x, **more))(x) if i == 1 else signal.welch(x, **more), theirs.welch(x, **more)):
                near(a, b)
            for a, b in zip(signal.csd(x, y, **more), theirs.csd(x, y, **more)):
                near(a, b)


def test_spectra_of_other_numbers():
    x = matrices(90, dtype="complex128")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for a, b in zip(signal.stft(x, nperseg=16), theirs.stft(x, nperseg=16, return_onesided=False)):
            near(a, b)
        assert [a.dtype for a in signal.stft(np.ones(20, "int32"), nperseg=4)] == ["float32", "float32", "complex64"]
        assert [a.dtype for a in signal.welch(np.ones(20, "float16"), nperseg=4)] == ["float32", "float32"]
        assert [a.shape for a in signal.welch(np.ones((0, 2)))] == [(0, 2), (0, 2)]
    with pytest.warns(UserWarning, match="more than there are samples"):
        signal.welch(np.ones(5), nperseg=10)
    with pytest.warns(UserWarning, match="frequencies of both signs"):
        signal.welch(x, nperseg=16)
    for shapes in [((2, 60), (2, 50)), ((2, 60), (1, 60)), ((40,), (60,))]:
        a, b = matrices(*shapes[0]), matrices(*shapes[1], seed=1)
        near(signal.csd(a, b, nperseg=16)[1], theirs.csd(a, b, nperseg=16)[1])


@pytest.mark.parametrize("window", ["boxcar", "hamming", "blackman", "bartlett", ("kaiser", 3.5), "nuttall"])
@pytest.mark.parametrize("length", [1, 2, 7, 8])
def test_windows_by_their_names(window, length):
    x = np.random.default_rng(5).normal(size=20)
    got, wanted = (module.welch(x, window=window, nperseg=length, noverlap=0, detrend=False)[1] for module in (signal, theirs))
    np.testing.assert_allclose(got, wanted, atol=1e-13)


def test_windows_where_scipy_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.signal", None)
    assert signal.welch(np.ones(8), window="boxcar", detrend=False)[1].tolist() == [8.0, 0, 0, 0, 0]
    with pytest.raises(ImportError, match="always there are boxcar, hann, .*Install SciPy, or give an array"):
        signal.welch(np.ones(8), window="nuttall")


@pytest.mark.parametrize("options", [dict(), dict(nperseg=33), dict(noverlap=5), dict(noverlap=0), dict(boundary=False, window="hamming"),
                                     dict(input_onesided=False), dict(noverlap=31), dict(window=np.ones(32)), dict(nfft=40)])
def test_inverse_of_stft(options):
    z = matrices(32 if options.get("input_onesided") is False else 21 if "nfft" in options else 17, 9, dtype="complex128")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # windows that add up to nothing
        wanted = theirs.istft(z, **options)
    if "nfft" in options:
        options = dict(options, nperseg=40)
        wanted = theirs.istft(z, **options)
    for got in forms(lambda z: signal.istft(z, **options), z):
        near(got[0], wanted[0])
        near(got[1], wanted[1])
    lanes = signal.istft(z.T[None].repeat(3, 0), time_axis=1, freq_axis=2, **options)
    near(lanes[1], np.stack([wanted[1]] * 3))
    assert lanes[0].shape == wanted[0].shape


def test_derivatives_of_spectra():
    x, y = matrices(20), matrices(20, seed=1)

    def loss(x, y):
        values = signal.stft(x, nperseg=8)[2]
        back = signal.istft(values * (1 + 0.1j), nperseg=8)[1]
        return tnp.sum(signal.welch(x, nperseg=8, average="median")[1] ** 2) + tnp.sum(tnp.abs(signal.csd(x, y, nperseg=6, noverlap=5)[1])) + tnp.sum(back ** 3)

    near(tn.jit(tn.grad(loss))(x, y), difference(lambda x: loss(x, y), x), 1e4)
    near(tn.hessian(loss)(x, y), tn.jacrev(tn.jacfwd(loss))(x, y), 1e2)


def test_sizes_that_vary():
    x = matrices(40)
    near(tn.jit(lambda x: signal.convolve(x, x[:3], "same"), sizes="symbolic")(x), theirs.convolve(x, x[:3], "same"))
    near(tn.jit(lambda x: signal.fftconvolve(x, x), sizes="symbolic")(x), theirs.fftconvolve(x, x))
    near(tn.jit(signal.detrend, sizes="symbolic")(x), theirs.detrend(x))
    near(tn.jit(lambda x: signal.stft(x, nperseg=8)[2], sizes="symbolic")(x), theirs.stft(x, nperseg=8)[2])
    near(tn.jit(lambda x: signal.welch(x, nperseg=8, average="median")[1], sizes="symbolic")(x), theirs.welch(x, nperseg=8, average="median")[1])
    near(tn.jit(fft.dct, sizes="symbolic")(x), their_fft.dct(x))
    near(tn.jit(fft.idct, sizes="symbolic")(x[:39]), their_fft.idct(x[:39]))


@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_cosine_transforms(name, dtype):
    for shape in [(1,), (2,), (5,), (8,), (3, 4), (2, 5, 6)]:
        x = (3 * matrices(*shape, dtype="float64" if dtype == "int64" else dtype)).astype(dtype)
        for norm in (None, "ortho", "forward"):
            for axis in {-len(shape), -1}:
                for n in (None, 3) if axis == -1 else (8,):
                    near(getattr(fft, name)(x, n=n, axis=axis, norm=norm), getattr(their_fft, name)(x, n=n, axis=axis, norm=norm))
            ours, wanted = (getattr(of, {"dct": "dctn", "idct": "idctn"}[name]) for of in (fft, their_fft))
            near(ours(x, norm=norm), wanted(x, norm=norm))
            near(ours(x, s=(4,), norm=norm), wanted(x, s=(4,), axes=(-1,), norm=norm))
    for got in forms(getattr(fft, name), x):
        near(got, getattr(their_fft, name)(x))
    near(tn.jacobian(getattr(fft, name))(np.ones(5)), getattr(their_fft, name)(np.eye(5), axis=0))
    assert getattr(fft, name)(np.ones(3, "float16")).dtype == np.float32 and getattr(fft, name)(np.zeros((0, 3))).shape == (0, 3)


def test_errors():
    x = np.ones(8)
    for call, message in [
        (lambda: signal.convolve(x, np.ones((2, 2))), "convolve: .* differ in rank"),
        (lambda: signal.convolve(x, x, "all"), "convolve: mode is 'all'; it is one of 'full', 'same', 'largest', 'valid'"),
        (lambda: signal.convolve(x, x, method="fast"), "convolve: method is 'fast'"),
        (lambda: signal.convolve(x, np.ones(0)), "convolve: f64.0. has no elements"),
        (lambda: signal.convolve(np.ones((2, 5)), np.ones((3, 2)), "valid"), "neither lies inside of the other"),
        (lambda: signal.convolve2d(x, x), "convolve2d: .* are not both matrices"),
        (lambda: signal.fftconvolve(np.ones((2, 3)), np.ones((2, 4)), axes=[0]), "differ in axis 1, which is not convolved"),
        (lambda: signal.fftconvolve(x, x, axes=[2]), "fftconvolve"),
        (lambda: signal.detrend(x, type="square"), "detrend: type is 'square'"),
        (lambda: signal.detrend(x, bp=[9]), "detrend: breaks from 0 to 9 of 8 samples"),
        (lambda: signal.stft(x, nperseg=0), "nperseg must be a positive integer"),
        (lambda: signal.stft(x, nperseg=4, noverlap=4), "segments of 4 samples overlap in 4"),
        (lambda: signal.stft(x, nperseg=4, nfft=3), "3 elements are transformed of segments of 4"),
        (lambda: signal.stft(x, boundary="torus", nperseg=4), "stft: boundary is 'torus'"),
        (lambda: signal.stft(np.ones(3), boundary="odd", nperseg=3, window=np.ones(9)), "stft"),
        (lambda: signal.welch(x, window=np.ones(9)), "a segment of 9 samples of a signal of 8"),
        (lambda: signal.welch(x, window=np.ones(3), nperseg=4), "the window is f64.3., segments have 4 samples"),
        (lambda: signal.welch(x, scaling="none"), "welch: scaling is 'none'"),
        (lambda: signal.csd(x, np.ones((2, 8))), "csd: .* differ in rank"),
        (lambda: signal.istft(x), "istft: f64.8. has not both frequencies and times"),
        (lambda: signal.istft(np.ones((3, 3)), freq_axis=1), "axis 1 of .* holds both"),
        (lambda: fft.dct(x, n=0), "dct: 0 elements of axis 0"),
        (lambda: fft.dctn(np.ones((2, 2)), axes=(0, 0)), "dctn: axis 0 of .* is given twice"),
        (lambda: fft.dctn(np.ones((2, 2)), s=(2,), axes=(0, 1)), "dctn: 1 lengths of 2 axes"),
        (lambda: fft.dct(x, norm="both"), "norm is 'both'; it is one of 'backward'"),
    ]:
        with pytest.raises((ValueError, IndexError), match=message):
            call()
    for call in (lambda: signal.convolve2d(x[None], x[None], boundary="wrap"), lambda: signal.detrend(x, overwrite_data=True),
                 lambda: fft.dct(x, type=1)):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(TypeError, match="the window c128.3. is complex"):
        signal.welch(x, window=np.ones(3) + 1j)
