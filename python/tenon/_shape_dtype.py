"""A shape and a dtype in place of an array."""

import math

import numpy as np

from tenon import _core, errors, numpy as tnp

__all__ = ["ShapeDtypeStruct", "typeof"]


class ShapeDtypeStruct:
    """A shape and a dtype, in place of an array where only those count. `sharding` is taken and kept, and has no effect.

    >>> ShapeDtypeStruct((2, 3), "float32").update(shape=(4,))
    ShapeDtypeStruct(shape=(4,), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "weak_type", "sharding")

    def __init__(self, shape, dtype=None, *, sharding=None, weak_type=False):
        if dtype is None:
            raise errors.DTypeError("ShapeDtypeStruct: a dtype is wanted.")
        if any(size is None for size in shape):
            raise errors.ShapeError(f"ShapeDtypeStruct: `shape` is {tuple(shape)}, and cannot have None. A size is a number.")
        # As in JAX, dtypes that arrays do not have can be named: what is given may be memory of another library.
        self.shape, self.sharding, self.weak_type = tuple(shape), sharding, bool(weak_type)
        self.dtype = _dtype(dtype)

    @classmethod
    def like(cls, x):
        """Of an array, a number, or what has a `shape` and a `dtype`.

        >>> ShapeDtypeStruct.like(2.0)
        ShapeDtypeStruct(shape=(), dtype=float64, weak_type=True)
        """
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return cls(x.shape, x.dtype, sharding=getattr(x, "sharding", None), weak_type=getattr(x, "weak_type", False))
        return typeof(x)

    def update(self, **kwargs):
        """The same with other values for `shape`, `dtype`, `weak_type` or `sharding`."""
        known = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type, "sharding": self.sharding}
        if unknown := set(kwargs) - set(known):
            raise errors.OptionError(f"ShapeDtypeStruct.update: there is no {sorted(unknown)[0]!r}.")
        return type(self)(**{**known, **kwargs})

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    def __len__(self):
        if not self.shape:
            raise errors.ShapeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self):
        more = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{more}{weak})"

    def __eq__(self, other):
        return isinstance(other, ShapeDtypeStruct) and self._parts() == other._parts()

    def __hash__(self):
        return hash(self._parts())

    def _parts(self):
        return self.shape, self.dtype, self.weak_type, self.sharding


def typeof(x):
    """The shape and the dtype of a value.

    >>> typeof(1.5)
    ShapeDtypeStruct(shape=(), dtype=float64, weak_type=True)
    """
    x = tnp.asarray(x) if isinstance(x, (bool, int, float, complex)) or not hasattr(x, "dtype") else x
    return ShapeDtypeStruct(x.shape, tnp.result_type(x), weak_type=bool(getattr(x, "weak_type", False)))


def _dtype(dtype):
    try:
        return _core.dtype(dtype)
    except errors.DTypeError:
        try:
            return np.dtype(dtype)
        except TypeError:
            pass
        raise
