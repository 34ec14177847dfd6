"""The dtypes that are ml_dtypes', not NumPy's: bfloat16 and floats of 8 bits."""

from tenon import _core

names = _core.extended_dtypes()


def is_extended(dtype):
    """Whether a np.dtype is one of them."""
    return dtype.name in names
