"""Neighbours along axes: differences, slopes, values between; and vectors with parts more or less."""

import builtins
import math
import operator

import numpy as np

from tenon import _core
from tenon._core import Array
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray, full
from tenon.numpy._shapes import _axis, ravel

__all__ = [
    "delete", "diff", "ediff1d", "gradient", "insert", "interp", "trim_zeros", "unwrap",
]


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    a = asarray(a)
    axis, n = _axis(axis, a.ndim), operator.index(n)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    prepend, append = (None if edge is None else asarray(edge) for edge in (prepend, append))
    return a if n == 0 else _core.diff(a, n, axis, prepend, append)


def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours of all elements in a row."""
    return _core.ediff1d(asarray(ary), *(None if edge is None else asarray(edge) for edge in (to_begin, to_end)))


def gradient(f, *varargs, axis=None, edge_order=None):
    """The slopes along axes, by central differences inside and one-sided ones at the ends."""
    f = asarray(f)
    axes = list(range(f.ndim)) if axis is None else [_axis(a, f.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    spacing = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if len(spacing) != len(axes):
        raise TypeError("gradient: a distance for all axes, or one for each.")
    made = [_core.gradient(f, a, h if np.ndim(h) == 0 else asarray(h)) for a, h in zip(axes, spacing)]
    return made[0] if len(made) == 1 else made


def interp(x, xp, fp, left=None, right=None, period=None):
    """Values between those at the points xp, by straight lines."""
    for side, given in (("left", left), ("right", right)):
        if isinstance(given, str) and given != "extrapolate":
            raise ValueError(f"the only valid string value of `{side}` is 'extrapolate', but got: {given!r}")
    return _core.interp(asarray(x), asarray(xp), asarray(fp), left, right, period)


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """The array without parts along an axis: known when the function is traced."""
    arr = asarray(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = _axis(axis, arr.ndim)
    if isinstance(obj, Array) and _core.is_traced(obj) and assume_unique_indices:
        return _without(arr, ravel(obj), axis)
    if not isinstance(obj, slice):
        obj = np.asarray(obj) if np.size(obj) else np.zeros(0, int)
    try:
        keep = np.delete(np.arange(arr.shape[axis]), obj)
    except IndexError as error:
        raise ShapeError(f"delete: {error}") from None
    return _core.take(arr, array(keep, _dtypes.default("i")), axis, "clip", None, True, True)


def _without(arr, at, axis):
    """The array without parts at traced indices that differ."""
    n = arr.shape[axis]
    gone = _core.sort(_core.where(_core.less(at, 0), at + n, at), 0, False) - _core.iota(at.dtype, at.shape, 0)
    left = _core.iota(at.dtype, (n - at.shape[0],), 0)
    before = _core.sum(_core.convert(_core.less_equal(gone[None, :], left[:, None]), at.dtype), [1], False)
    return _core.take(arr, left + before, axis, "clip", None, True, True)


def insert(arr, obj, values, axis=None):
    """The array with values before elements along an axis: known when the function is traced."""
    arr = asarray(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = _axis(axis, arr.ndim)
    values = _core.convert(asarray(values), arr.dtype)
    n = arr.shape[axis]
    if isinstance(obj, Array) and _core.is_traced(obj):
        return _inserted(arr, obj, values, axis)
    at = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    at = np.flatnonzero(at) if at.dtype == bool else at
    if at.ndim == 0:
        if values.ndim == arr.ndim:
            values = _core.move_axis(values, 0, axis) if axis else values
        else:
            values = _core.expand_dims(values, axis) if values.ndim == arr.ndim - 1 else values
    at = at.reshape(-1)
    at = np.clip(np.where(at < 0, at + n, at), 0, n)
    count = values.shape[axis] if at.size == 1 and values.ndim == arr.ndim else at.size
    at = np.repeat(at, count) if at.size == 1 else at
    order = np.argsort(at, kind="stable")
    new = np.empty(count, int)
    new[order] = at[order] + np.arange(count)
    old = np.delete(np.arange(n + count), new)
    wide = [count if i == axis else s for i, s in enumerate(arr.shape)]
    values = _core.broadcast_to(values, wide)
    made = full([n + count if i == axis else s for i, s in enumerate(arr.shape)], 0, arr.dtype)
    before = (slice(None),) * axis
    return made.at[(*before, array(old))].set(arr).at[(*before, array(new))].set(values)


def _inserted(arr, at, values, axis):
    """The array with values before the elements at traced indices, of which there are as many as their shape says."""
    n = arr.shape[axis]
    if at.ndim == 0 and values.ndim == arr.ndim:
        values = _core.move_axis(values, 0, axis)
    elif values.ndim == arr.ndim - 1:
        values = _core.expand_dims(values, axis)
    count = values.shape[axis] if at.size == 1 and values.ndim == arr.ndim else at.size
    at = _core.convert(_core.broadcast_to(ravel(at), (count,)), "int32")
    at = _core.clamp(0, _core.where(_core.less(at, 0), at + n, at), n)
    order = _core.argsort(at, 0, False)
    new = full((count,), 0, "int32").at[order].set(at[order] + _core.iota("int32", (count,), 0))
    # What is not new is old, in its order.
    kept = full((n + count,), True, "bool").at[new].set(False)
    old = _core.convert(_core.cumsum(_core.convert(kept, "int32"), 0, False) - 1, "int32")
    made = _core.take(arr, _core.clamp(0, old, builtins.max(n - 1, 0)), axis, "clip", None, False, False)
    values = _core.broadcast_to(values, [count if i == axis else s for i, s in enumerate(arr.shape)])
    return made.at[(slice(None),) * axis + (new,)].set(values)


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
    return _core.unwrap(p, discont, _axis(axis, p.ndim), period)
