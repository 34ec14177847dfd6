"""The names of jax.numpy.fft: frequencies and their order. The transforms themselves are not there yet.

>>> from tenon import fft
>>> fft.rfft
Traceback (most recent call last):
AttributeError: tenon.fft.rfft: there is no Fourier transform yet.
"""

from tenon.numpy.fft import _absent, fftfreq, fftshift, ifftshift, rfftfreq

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def __getattr__(name):
    raise _absent(__name__, name)
