"""Windows: weights that fall off towards both ends of a vector."""

import math

import numpy as np

from tenon import _core, _sizes
from tenon.numpy import _dtypes
from tenon.numpy._creation import array
from tenon.numpy._special import i0

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _window(name, formula, text):
    """NumPy's function of that name; of a size that a trace takes for any, formula(x) of x from -1 to 1."""

    def window(M, *args):
        M = _sizes.size(M)
        if _sizes.known(M):
            return array(getattr(np, name)(M, *args))
        odd = 2 * _core.iota(_dtypes.default("f"), (M,), 0) - (M - 1)
        return formula(odd / _core.max_size(M - 1, 1), *args)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = text
    return window


def _cosines(*factors):
    return lambda x: sum(f * _core.cos(x * (k * math.pi)) for k, f in enumerate(factors))


bartlett = _window("bartlett", lambda x: 1 - _core.abs(x), "A triangle.")
blackman = _window("blackman", _cosines(0.42, 0.5, 0.08), "The window of Blackman.")
hamming = _window("hamming", _cosines(0.54, 0.46), "The window of Hamming.")
hanning = _window("hanning", _cosines(0.5, 0.5), "The window of von Hann.")
kaiser = _window("kaiser", lambda x, beta: i0(beta * _core.sqrt(1 - x * x)) / i0(_core.convert(beta, x.dtype)), "The window of Kaiser.")
