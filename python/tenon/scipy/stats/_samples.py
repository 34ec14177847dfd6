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
        raise _core.OptionError(f"{name}: nan_policy is {nan_policy!r}; it is 'propagate', 'omit' or 'raise'.")
    if nan_policy != "propagate":
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not here; look for NaN before the call.")


def _lines(a, axis):
    """a and the axis; all of a in a row where it is None."""
    a = tnp.asarray(a)
    return (tnp.ravel(a), 0) if axis is None else (a, operator.index(axis))


def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """The most frequent number along `axis`, of all where it is None: the smallest of those that are as frequent; and its count.

    >>> [int(x) for x in mode(tnp.array([3, 1, 2, 1]))]
    [1, 2]
    """
    _require_propagate("mode", nan_policy)
    x, at = _lines(a, axis)
    if x.ndim and x.shape[at] == 0:
        value = tnp.full(x.shape[:at] + x.shape[at:][1:], tnp.nan, dtype=tnp.float_)
        count = tnp.zeros_like(value)
    else:
        value, count = _core.tn.stats.mode(x, at)
        count = _core.convert(count, tnp.int_)
    if keepdims:
        if axis is None:
            shape = (1,) * tnp.ndim(a)
            value, count = tnp.reshape(value, shape), tnp.reshape(count, shape)
        else:
            value, count = tnp.expand_dims(value, at), tnp.expand_dims(count, at)
    return ModeResult(value, count)


def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """The ranks of a's numbers along `axis`, of all in a row where it is None, from 1; float. Of equal numbers `method` gives the
    average of their ranks, the least ("min"), the largest ("max"), those by their places ("ordinal"), or the rank among
    numbers that differ ("dense"). NaN where there is one.

    >>> rankdata(tnp.array([20.0, 10.0, 20.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _require_propagate("rankdata", nan_policy)
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise _core.OptionError(f"rankdata: method is {method!r}; it is 'average', 'min', 'max', 'dense' or 'ordinal'.")
    x, at = _lines(a, axis)
    ranks = _core.tn.stats.rankdata(x, at, method, tnp.float_)
    return tnp.reshape(ranks, (1,)) if x.ndim == 0 else ranks


def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean along `axis`, of all where it is None: the standard deviation over the root of the count.

    >>> round(float(sem(tnp.array([1.0, 2.0, 4.0]))), 6)
    0.881917
    """
    if nan_policy not in ("propagate", "omit"):
        raise _core.OptionError(f"sem: nan_policy is {nan_policy!r}; it is 'propagate' or 'omit'.")
    return _core.tn.stats.sem(tnp.asarray(a), axis, keepdims=keepdims, ddof=ddof, without_nan=nan_policy == "omit")
