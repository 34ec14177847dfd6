"""Fourier transforms of the last axes, by the names of jax.lax."""

import enum

from tenon import _core
from tenon import numpy as tnp
from tenon.errors import DTypeError, ShapeError

__all__ = ["FftType", "fft"]


class FftType(enum.IntEnum):
    """Of which numbers: complex ones forward and back, or real ones forward and back.

    >>> FftType.RFFT.name
    'RFFT'
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_TRANSFORMS = {FftType.FFT: "fftn", FftType.IFFT: "ifftn", FftType.RFFT: "rfftn", FftType.IRFFT: "irfftn"}


def fft(x, fft_type, fft_lengths):
    """The transform along as many axes at the end as there are lengths, which are those of the axes: of the real numbers,
    where there are such. The inverse ones are divided by the number of elements.

    >>> fft(tnp.array([1.0, 2.0, 3.0, 4.0]), "RFFT", [4]).tolist()
    [(10+0j), (-2+2j), (-2+0j)]
    """
    x = tnp.asarray(x)
    kind = FftType.__members__.get(fft_type.upper()) if isinstance(fft_type, str) else FftType(int(fft_type))
    if kind is None:
        raise _core.OptionError(f"Unknown FFT type '{fft_type}'")
    if kind == FftType.RFFT and x.dtype.kind == "c":
        raise DTypeError(f"lax.fft: RFFT: {x.dtype} is not real.")
    lengths = tuple(fft_lengths)
    if len(lengths) > x.ndim:
        raise ShapeError(f"lax.fft: FFT input shape {x.shape} has not at least as many input dimensions as fft_lengths {lengths}.")
    if not lengths:
        return x
    last = lengths[-1] // 2 + 1 if kind == FftType.IRFFT else lengths[-1]
    if x.shape[x.ndim - len(lengths):] != (*lengths[:-1], last):
        raise ShapeError(f"lax.fft: {kind.name} input shape {x.shape} does not end in fft_lengths {lengths}.")
    return getattr(_core.tn.fft, _TRANSFORMS[kind])(x, s=lengths, axes=list(range(-len(lengths), 0)))
