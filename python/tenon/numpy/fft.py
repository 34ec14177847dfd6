"""Discrete Fourier transforms, with the names of numpy.fft: of any length, along any axes, with derivatives.

Real numbers become c64 (c128 of f64). `norm` says what multiplies: "backward", the default, 1/n in the inverse transforms;
"forward", 1/n in the others; "ortho", 1/√n in both. Elements that `n` or `s` ask for beyond those of the axis are zeros.
"""

from tenon import _core, _repeated
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import _axes

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
           "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _along_one(name, x, n, axis, norm):
    if isinstance(axis, (tuple, list)):
        raise _core.OptionError(f"{name} does not support multiple axes. Please use {name}n. Got axis = {axis!r}.")
    return getattr(_core.tn.fft, name)(asarray(x), n=n, axis=axis.__index__(), norm=norm)


def _along_many(name, x, s, axes, norm):
    x = asarray(x)
    if axes is not None:
        axes = _given_once(name, axes, x.ndim)
    if s is not None and axes is not None and len(s) != len(axes):
        raise ShapeError(f"fft.{name}: Shape and axes have different lengths. s={tuple(s)} and axes={tuple(axes)}.")
    return getattr(_core.tn.fft, name)(x, s=s, axes=axes, norm=norm)


def _along_two(name, x, s, axes, norm):
    if len(axes) != 2:
        raise _core.OptionError(f"{name}2 only supports 2 axes. Got axes = {axes!r}.")
    return _along_many(f"{name}n", x, s, axes, norm)


def _given_once(name, axes, rank):
    axes = [axis.__index__() for axis in axes]
    if len({axis % rank if rank else axis for axis in axes}) != len(axes):
        raise _core.OptionError(f"{name} does not support repeated axes. Got axes {axes}.")
    return axes


def fft(a, n=None, axis=-1, norm=None):
    """y[k] = Σ a[j] exp(-2πi jk/n) along an axis.

    >>> fft([1.0, 0.0, 0.0, 0.0]).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return _along_one("fft", a, n, axis, norm)


def ifft(a, n=None, axis=-1, norm=None):
    """Σ a[k] exp(2πi jk/n) / n along an axis: undoes fft.

    >>> ifft([4.0, 0.0, 0.0, 0.0]).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    return _along_one("ifft", a, n, axis, norm)


def rfft(a, n=None, axis=-1, norm=None):
    """The first n/2 + 1 numbers of fft of real numbers, which tell the others.

    >>> rfft([1.0, 2.0, 3.0, 4.0]).tolist()
    [(10+0j), (-2+2j), (-2+0j)]
    """
    return _along_one("rfft", a, n, axis, norm)


def irfft(a, n=None, axis=-1, norm=None):
    """The n real numbers (2(m - 1) of m where n is not given) whose rfft is a.

    >>> irfft([10, -2 + 2j, -2]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return _along_one("irfft", a, n, axis, norm)


def hfft(a, n=None, axis=-1, norm=None):
    """The n real numbers that fft gives of numbers with y[n - j] = conj(y[j]), of which a has the first n/2 + 1.

    >>> hfft([1.0, 2.0, 3.0]).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """
    return _along_one("hfft", a, n, axis, norm)


def ihfft(a, n=None, axis=-1, norm=None):
    """The first n/2 + 1 numbers that ifft gives of real numbers: undoes hfft.

    >>> ihfft([8.0, -2.0, 0.0, -2.0]).real.tolist()
    [1.0, 2.0, 3.0]
    """
    return _along_one("ihfft", a, n, axis, norm)


def fftn(a, s=None, axes=None, norm=None):
    """fft along axes: all, where they are not given, or as many at the end as `s` has lengths.

    >>> fftn([[1.0, 0.0], [0.0, 0.0]]).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return _along_many("fftn", a, s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    """ifft along axes: undoes fftn.

    >>> ifftn(fftn([[1.0, 2.0], [3.0, 4.0]])).real.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_many("ifftn", a, s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """rfft along the last of axes, then fft along the others.

    >>> rfftn([[1.0, 2.0], [3.0, 4.0]]).real.tolist()
    [[10.0, -2.0], [-4.0, 0.0]]
    """
    return _along_many("rfftn", a, s, axes, norm)


def irfftn(a, s=None, axes=None, norm=None):
    """ifft along axes but the last, then irfft along it: undoes rfftn.

    >>> irfftn(rfftn([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_many("irfftn", a, s, axes, norm)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """fftn along two axes.

    >>> fft2([[1.0, 0.0], [0.0, 0.0]]).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """
    return _along_two("fft", a, s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """ifftn along two axes.

    >>> ifft2([[4.0, 0.0], [0.0, 0.0]]).real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    return _along_two("ifft", a, s, axes, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """rfftn along two axes.

    >>> rfft2([[1.0, 2.0], [3.0, 4.0]]).real.tolist()
    [[10.0, -2.0], [-4.0, 0.0]]
    """
    return _along_two("rfft", a, s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """irfftn along two axes.

    >>> irfft2(rfft2([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _along_two("irfft", a, s, axes, norm)


def _frequencies(name, n, d, dtype):
    if isinstance(n, (tuple, list)):
        raise _core.OptionError(f"The n argument of jnp.fft.{name} only takes an int. Got n = {n}.")
    return getattr(_core.tn.fft, name)(n, d, _dtypes.default("f") if dtype is None else _core.canonical_dtype(dtype))


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies of n samples at distance d: 0, the positive ones, the negative ones; in cycles a unit of d.

    >>> fftfreq(5, 0.5).tolist()
    [0.0, 0.4, 0.8, -0.8, -0.4]
    """
    return _frequencies("fftfreq", n, d, dtype)


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies of n real samples at distance d: 0 and the positive ones.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return _frequencies("rfftfreq", n, d, dtype)


def _shifted(name, x, axes):
    x = asarray(x)
    return getattr(_core.tn.fft, name)(x, None if axes is None else _axes(axes, x.ndim))


def fftshift(x, axes=None):
    """Frequency 0 moved to the middle of axes (None: of all).

    >>> fftshift(fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted("fftshift", x, axes)


def ifftshift(x, axes=None):
    """The middle of axes moved to the front: fftshift() undone.

    >>> ifftshift(fftshift([0, 1, 2])).tolist()
    [0, 1, 2]
    """
    return _shifted("ifftshift", x, axes)

_repeated.public(globals())
