"""Statistics of samples: the most frequent number, ranks, the mean's standard error."""

import operator
from typing import NamedTuple

from tenon import _core
from tenon import numpy as tnp

__all__ = ["mode", "rankdata", "sem"]


class ModeResult(NamedTuple):
    mode: object
    count: object


def _require_propagate(name, nan_policy):
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy is {nan_policy!r}; it is 'propagate', 'omit' or 'raise'.")
    if nan_policy != "propagate":
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not here; look for NaN before the call.")


def _lines(a, axis):
    """a with `axis` last (all of a where it is None), and the axis."""
    a = tnp.asarray(a)
    if axis is None:
        return tnp.ravel(a), -1
    axis = operator.index(axis)
    return tnp.moveaxis(tnp.atleast_1d(a), axis, -1), axis


def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """The most frequent number along `axis`, of all where it is None: the smallest of those that are as frequent; and its count.

    >>> [int(x) for x in mode(tnp.array([3, 1, 2, 1]))]
    [1, 2]
    """
    _require_propagate("mode", nan_policy)
    x, along = _lines(a, axis)
    if x.shape[-1] == 0:
        value = count = tnp.full(x.shape[:-1], tnp.nan)
    else:
        x = tnp.sort(x, axis=-1)
        # A run's count at each of its members is that of all up to it, less that before the run.
        places = tnp.arange(x.shape[-1])
        starts = tnp.concatenate([tnp.ones_like(x[..., :1], dtype=bool), x[..., 1:] != x[..., :-1]], axis=-1)
        counts = places - _running_max(tnp.where(starts, places, 0)) + 1
        best = tnp.argmax(counts, axis=-1)
        value = tnp.take_along_axis(x, best[..., None], axis=-1)[..., 0]
        count = tnp.take_along_axis(counts, best[..., None], axis=-1)[..., 0]
    if keepdims:
        if axis is None:
            shape = (1,) * tnp.ndim(a)
            value, count = tnp.reshape(value, shape), tnp.reshape(count, shape)
        else:
            value, count = tnp.expand_dims(value, along), tnp.expand_dims(count, along)
    return ModeResult(value, count)


def _running_max(x):
    from tenon import lax

    return lax.cummax(x, axis=x.ndim - 1)


def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """The ranks of a's numbers along `axis`, of all in a row where it is None, from 1; float. Of equal numbers `method` gives the
    average of their ranks, the least ("min"), the largest ("max"), those by their places ("ordinal"), or the rank among
    numbers that differ ("dense"). NaN where there is one.

    >>> rankdata(tnp.array([20.0, 10.0, 20.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _require_propagate("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"rankdata: method is {method!r}; it is 'average', 'min', 'max', 'dense' or 'ordinal'.")
    x, along = _lines(a, axis)
    order = tnp.argsort(x, axis=-1, stable=True)
    inverse = tnp.argsort(order, axis=-1)
    dtype = tnp.zeros(()).dtype
    if method == "ordinal":
        ranks = tnp.astype(inverse + 1, dtype)
    else:
        ordered = tnp.take_along_axis(x, order, axis=-1)
        first = tnp.ones_like(ordered[..., :1], dtype=bool)
        differ = ordered[..., 1:] != ordered[..., :-1]
        starts = tnp.concatenate([first, differ], axis=-1)
        places = tnp.arange(x.shape[-1])
        least = _running_max(tnp.where(starts, places, 0)) + 1
        ends = tnp.concatenate([differ, first], axis=-1)
        backward = tnp.flip(tnp.where(ends, x.shape[-1] - 1 - places, 0), axis=-1)
        most = x.shape[-1] - tnp.flip(_running_max(backward), axis=-1)
        made = {"min": least, "max": most, "dense": tnp.cumsum(starts, axis=-1), "average": (least + most) / 2}[method]
        ranks = tnp.take_along_axis(tnp.astype(made, dtype), inverse, axis=-1)
    if x.dtype.kind == "f":
        ranks = tnp.where(tnp.any(tnp.isnan(x), axis=-1, keepdims=True), tnp.nan, ranks)
    return ranks if axis is None else tnp.moveaxis(ranks, -1, along)


def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean along `axis`, of all where it is None: the standard deviation over the root of the count.

    >>> round(float(sem(tnp.array([1.0, 2.0, 4.0]))), 6)
    0.881917
    """
    a = _core.to_inexact(tnp.asarray(a))
    if nan_policy == "propagate":
        size = a.size if axis is None else a.shape[axis]
        return tnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / size**0.5
    if nan_policy == "omit":
        count = tnp.sum(~tnp.isnan(a), axis=axis, keepdims=keepdims)
        return tnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims) / tnp.sqrt(tnp.astype(count, a.dtype))
    raise ValueError(f"sem: nan_policy is {nan_policy!r}; it is 'propagate' or 'omit'.")
