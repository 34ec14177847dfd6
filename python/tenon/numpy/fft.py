"""Frequencies of Fourier transforms, and the order that they stand in. The transforms themselves are not there yet."""

from tenon import _core
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import _axes, roll

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

TRANSFORMS = frozenset("fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn".split())


def _absent(module, name):
    """The __getattr__ of a module that lacks transforms."""
    if name in TRANSFORMS:
        return AttributeError(f"{module}.{name}: there is no Fourier transform yet.")
    return AttributeError(f"module {module!r} has no attribute {name!r}")


def __getattr__(name):
    raise _absent(__name__, name)


def _frequencies(start, n, count, d, dtype):
    kind = _dtypes.default("f") if dtype is None else _core.canonical_dtype(dtype)
    at = _core.iota(_dtypes.default("i"), (count,), 0) + start
    return _core.convert(at, kind) / _core.convert(_core.multiply(d, n), kind)


def _count(n, name):
    if isinstance(n, (tuple, list)):
        raise ValueError(f"The n argument of jnp.fft.{name} only takes an int. Got n = {n}.")
    return n.__index__()


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies of n samples at distance d: 0, the positive ones, the negative ones; in cycles a unit of d.

    >>> fftfreq(5, 0.5).tolist()
    [0.0, 0.4, 0.8, -0.8, -0.4]
    """
    n = _count(n, "fftfreq")
    return ifftshift(_frequencies(-(n // 2), n, n, d, dtype))


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies of n real samples at distance d: 0 and the positive ones.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    n = _count(n, "rfftfreq")
    return _frequencies(0, n, n // 2 + 1, d, dtype)


def _shifted(x, axes, way):
    x = asarray(x)
    axes = list(range(x.ndim)) if axes is None else _axes(axes, x.ndim)
    return roll(x, tuple(way(x.shape[a]) for a in axes), tuple(axes)) if axes else x


def fftshift(x, axes=None):
    """Frequency 0 moved to the middle of axes (None: of all).

    >>> fftshift(fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted(x, axes, lambda n: n // 2)


def ifftshift(x, axes=None):
    """The middle of axes moved to the front: fftshift() undone.

    >>> ifftshift(fftshift([0, 1, 2])).tolist()
    [0, 1, 2]
    """
    return _shifted(x, axes, lambda n: -(n // 2))
