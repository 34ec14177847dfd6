"""Windows: weights that fall off towards both ends of a vector."""

import numpy as np

from tenon import _core, _sizes
from tenon.numpy import _dtypes
from tenon.numpy._creation import array

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def bartlett(M):
    """A triangle."""
    return _core.tn.bartlett(_sizes.size(M), _dtypes.default("f"))


def blackman(M):
    """The window of Blackman."""
    return _core.tn.blackman(_sizes.size(M), _dtypes.default("f"))


def hamming(M):
    """The window of Hamming."""
    return _core.tn.hamming(_sizes.size(M), _dtypes.default("f"))


def hanning(M):
    """The window of von Hann."""
    return _core.tn.hanning(_sizes.size(M), _dtypes.default("f"))


def kaiser(M, beta):
    """The window of Kaiser."""
    M = _sizes.size(M)
    if _sizes.known(M) and isinstance(beta, (int, float)):  # NumPy's own digits
        return array(np.kaiser(M, beta))
    return _core.tn.kaiser(M, beta, _dtypes.default("f"))
