"""Dtypes and how they meet, by the names of jax.dtypes."""

from tenon import _core
from tenon._extended import float0
from tenon.numpy import (
    bfloat16,
    finfo,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    iinfo,
    issubdtype,
    result_type,
)

__all__ = [
    "bfloat16", "canonicalize_dtype", "finfo", "float0", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "iinfo", "issubdtype", "result_type",
]


def canonicalize_dtype(dtype):
    """The dtype that arrays of it have: with tn.config.x64 off that of 32 bits.

    >>> canonicalize_dtype(float)
    dtype('float64')
    """
    return _core.canonical_dtype(dtype)
