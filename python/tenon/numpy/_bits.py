"""Eight bits as a byte, and bytes as their bits; floats next to one another."""

import numpy as np

from tenon import _core
from tenon.errors import DTypeError
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import _axis

__all__ = ["nextafter", "packbits", "spacing", "unpackbits"]


def _order(bitorder):
    if bitorder not in ("big", "little"):
        raise _core.OptionError("'order' must be either 'little' or 'big'")
    return bitorder


def packbits(a, axis=None, bitorder="big"):
    """Eight elements along an axis (None: of all in a row) as one byte, a bit each: whether it is not 0. Bits behind the
    last element are 0.

    >>> packbits(asarray([1, 0, 1])).tolist()
    [160]
    """
    a = asarray(a)
    if a.dtype.kind not in "biu":
        raise DTypeError(f"packbits: Expected an input array of integer or boolean data type. It is {a.dtype}.")
    return _core.tn.packbits(a, axis=None if axis is None else _axis(axis, a.ndim), bitorder=_order(bitorder))


def unpackbits(a, axis=None, count=None, bitorder="big"):
    """The bits of bytes along an axis (None: of all in a row), u8: `count` of them, zeros behind the last; of a negative
    count so many fewer.

    >>> unpackbits(asarray([5], "uint8")).tolist()
    [0, 0, 0, 0, 0, 1, 0, 1]
    """
    a = asarray(a)
    if a.dtype != np.uint8:
        raise DTypeError(f"unpackbits: Expected an input array of unsigned byte data type. It is {a.dtype}.")
    return _core.tn.unpackbits(a, axis=None if axis is None else _axis(axis, a.ndim), count=count, bitorder=_order(bitorder))


def nextafter(x, y, /):
    """The float next to x in the direction of y; y where they are equal, NaN where either is. Integers become floats. It
    moves with x: the derivative is 1 in x and 0 in y.

    >>> (nextafter(1.0, 2.0) > 1).tolist()
    True
    """
    return _core.nextafter(x, y)


def spacing(x, /):
    """How far the next float is from x, away from 0, with the sign of x (of f16 the next one above, as in NumPy); NaN where
    x is infinite or NaN. Integers become floats.

    >>> spacing(asarray(1.0, "float32")).tolist() == 2.0 ** -23
    True
    """
    x = _core.to_inexact(x)
    if x.dtype.kind == "c":
        raise DTypeError(f"spacing is not defined for complex numbers, {x.dtype}{list(x.shape)}.")
    return _core.spacing(x)
