"""The dtypes that NumPy has no name for: those of ml_dtypes, bfloat16 and floats of 8 bits, and that of tangents of integers."""

import numpy as np

from tenon import _core

names = _core.extended_dtypes()

# The dtype of tangents of integers and bools, which have none: as JAX has it.
float0 = np.dtype([("float0", np.void, 0)])


def is_extended(dtype):
    """Whether a np.dtype is one of ml_dtypes'."""
    return dtype.name in names
