"""Neighbours along axes: differences, slopes, values between; and vectors with parts more or less."""

import math
import operator

import numpy as np

from tenon import _core
from tenon._core import Array
from tenon.errors import ShapeError
from tenon.numpy._creation import array, asarray
from tenon.numpy._indexing import compress
from tenon.numpy._shapes import _axis, ravel

__all__ = [
    "delete", "diff", "ediff1d", "gradient", "insert", "interp", "trim_zeros", "unwrap",
]


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    a = asarray(a)
    axis, n = _axis(axis, a.ndim), operator.index(n)
    if n < 0:
        raise _core.OptionError(f"order must be non-negative but got {n}")
    prepend, append = (None if edge is None else asarray(edge) for edge in (prepend, append))
    return a if n == 0 else _core.tn.diff(a, n, axis, prepend=prepend, append=append)


def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours of all elements in a row."""
    begin, end = (None if edge is None else asarray(edge) for edge in (to_begin, to_end))
    return _core.tn.ediff1d(asarray(ary), to_begin=begin, to_end=end)


def gradient(f, *varargs, axis=None, edge_order=None):
    """The slopes along axes, by central differences inside and one-sided ones at the ends."""
    f = asarray(f)
    axes = list(range(f.ndim)) if axis is None else [_axis(a, f.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    spacing = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if len(spacing) != len(axes):
        raise ShapeError(f"gradient: a distance for all axes, or one for each. There are {len(spacing)} of {len(axes)} axes.")
    made = [_core.tn.gradient(f, a, h if np.ndim(h) == 0 else asarray(h)) for a, h in zip(axes, spacing)]
    return made[0] if len(made) == 1 else made


def interp(x, xp, fp, left=None, right=None, period=None):
    """Values between those at the points xp, by straight lines."""
    for side, given in (("left", left), ("right", right)):
        if isinstance(given, str) and given != "extrapolate":
            raise _core.OptionError(f"the only valid string value of `{side}` is 'extrapolate', but got: {given!r}")
    outside = {f"extrapolate_{side}" if isinstance(given, str) else side: True if isinstance(given, str) else given
               for side, given in (("left", left), ("right", right))}
    return _core.tn.interpolate.interp(asarray(x), asarray(xp), asarray(fp), **outside, period=period)


def _places(obj, n):
    """The places that integers, a slice or a mask name, in an axis of n elements; what a trace does not know as it is."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    if isinstance(obj, Array) and _core.is_traced(obj):
        return obj
    obj = np.asarray(obj) if np.size(obj) else np.zeros(0, int)
    if obj.dtype == bool and obj.ndim == 1 and obj.size != n:
        raise ShapeError(f"a mask of {obj.size} truths of an axis of {n} elements.")
    return np.flatnonzero(obj) if obj.dtype == bool and obj.ndim else obj


def _along(arr, axis):
    """(the array, how long it is along an axis): of all elements in a row where there is none."""
    arr = asarray(arr)
    return arr, arr.size if axis is None else arr.shape[_axis(axis, arr.ndim)]


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """The array without parts along an axis: those that a slice, a mask or integers name, known when the function is traced;
    integers that differ (`assume_unique_indices`), and masks, need not be known.

    >>> delete(asarray([1, 2, 3]), [0, -1]).tolist()
    [2]
    """
    arr, n = _along(arr, axis)
    obj = _places(obj, n)
    if isinstance(obj, Array) and obj.dtype == bool and obj.ndim == 1:
        return compress(_core.invert(obj), arr, axis)
    if isinstance(obj, Array) and assume_unique_indices:
        return _core.tn.without(arr, ravel(obj), axis)
    return _core.tn.without(arr, [operator.index(i) for i in np.ravel(np.asarray(obj))], axis)


def insert(arr, obj, values, axis=None):
    """The array with values before elements along an axis: before those that a slice, a mask or integers name; integers need
    not be known when the function is traced.

    >>> insert(asarray([1, 2, 3]), [0, 3], [5, 6]).tolist()
    [5, 1, 2, 3, 6]
    """
    arr, n = _along(arr, axis)
    obj = _places(obj, n)
    return _core.tn.insert(arr, obj if isinstance(obj, Array) else array(obj), asarray(values), axis)


def trim_zeros(filt, trim="fb", axis=None):
    """An array without the zeros at the ends of its axes (or of those that are named): values must be known."""
    filt, kept = asarray(filt), []
    axes = range(filt.ndim) if axis is None else [_axis(a, filt.ndim) for a in np.ravel(axis)]
    for i, at in enumerate(np.nonzero(np.asarray(filt))):
        n = filt.shape[i]
        first, last = (int(at.min()), int(at.max()) + 1) if at.size else (n if "f" in trim.lower() else 0, n)
        if at.size == 0 and "f" not in trim.lower():
            last = 0
        within = i in axes
        kept.append(slice(first if within and "f" in trim.lower() else 0, last if within and "b" in trim.lower() else n))
    return filt[tuple(kept)]


def unwrap(p, discont=None, axis=-1, period=2 * math.pi):
    """Angles without jumps: multiples of the period are added. Integers stay so with a period that is an integer."""
    p = asarray(p)
    return _core.tn.unwrap(p, discont=discont, axis=_axis(axis, p.ndim), period=period)
