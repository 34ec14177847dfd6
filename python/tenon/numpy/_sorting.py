"""Elements in order, and where others belong among them."""

import numpy as np

from tenon import _core
from tenon._checks import whole
from tenon.errors import ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import _axis, ravel

__all__ = ["argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort", "sort_complex"]


def _check_kind(name, kind):
    """Of NumPy's kinds each is a stable order here."""
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise _core.OptionError(f"{name}: {kind!r} is no kind of sorting.")


def sort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """The elements in order along an axis (None: all in a row); NaN last."""
    _check_kind("sort", kind)
    a = asarray(a)
    if axis is None:
        a, axis = ravel(a), 0
    return _core.tn.sort(a, _axis(axis, a.ndim), descending=descending)


def argsort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False, dtype=None):
    """Where the elements in order are, integers of `dtype`."""
    _check_kind("argsort", kind)
    a = asarray(a)
    if axis is None:
        a, axis = ravel(a), 0
    kind = _dtypes.default("i") if dtype is None else _core.canonical_dtype(dtype)
    if kind.kind not in "iu":
        raise _core.OptionError(f"argsort: the dtype is one of integers, not {kind}.")
    return _core.convert(_core.tn.argsort(a, _axis(axis, a.ndim), descending=descending), kind)


def sort_complex(a):
    """The elements in order, complex."""
    made = sort(a)
    if made.dtype.kind == "c":
        return made
    kind = _dtypes.default("c") if made.dtype.itemsize == 8 else "complex64"
    return _core.convert(made, kind)


def lexsort(keys, axis=-1):
    """Where the elements are in the order of the last key, then of the one before, and so on."""
    keys = [asarray(k) for k in keys]
    if not keys:
        raise ShapeError("need sequence of keys with len > 0 in lexsort")
    axis = _axis(axis, keys[0].ndim)
    at = _core.tn.iota(_dtypes.default("i"), keys[0].shape, axis)
    return _core.tn.sort_together([*keys[::-1], at], len(keys), axis)[-1]


def partition(a, kth, axis=-1):
    """The elements with the k-th smallest in its place, all smaller ones before it: here all are in order."""
    return _core.tn.partition(asarray(a), [int(k) for k in np.ravel(kth)], axis)


def argpartition(a, kth, axis=-1):
    """Where the elements of partition() are, i32."""
    return _core.tn.argpartition(asarray(a), [int(k) for k in np.ravel(kth)], axis)


@whole
def searchsorted(a, v, side="left", sorter=None, *, method="scan"):
    """Where elements of v belong in the ordered vector a: before (left) or behind (right) equal ones. i32, as numbers of
    fewer than 2^31 elements are.

    >>> searchsorted(asarray([1.0, 2.0, 3.0]), 2.0)
    Array(1, dtype=int32)
    """
    a, v = asarray(a), asarray(v)
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: a should be 1-dimensional; got {a.ndim} axes.")
    if side not in ("left", "right"):
        raise _core.OptionError(f"{side!r} is an invalid value for keyword 'side'")
    if sorter is not None:
        a = _core.take(a, sorter, 0, "clip", None, False, False)
    return _core.tn.searchsorted(a, v, side)


@whole
def digitize(x, bins, right=False, *, method=None):
    """The number of the bin that each element lies in."""
    return _core.tn.digitize(asarray(x), asarray(bins), bool(right))
