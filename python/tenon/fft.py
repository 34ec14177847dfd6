"""The names of jax.numpy.fft: discrete Fourier transforms, their frequencies, and the order these stand in.

>>> from tenon import fft
>>> fft.rfft([1.0, 2.0, 3.0, 4.0]).tolist()
[(10+0j), (-2+2j), (-2+0j)]
"""

from tenon.numpy.fft import (  # noqa: F401
    __all__, fft, fft2, fftfreq, fftn, fftshift, hfft, ifft, ifft2, ifftn, ifftshift, ihfft, irfft, irfft2, irfftn, rfft, rfft2,
    rfftfreq, rfftn)
