"""Sets: the elements of vectors that differ."""

from typing import Any, NamedTuple

from tenon import _core
from tenon._checks import whole
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray  # noqa: F401
from tenon.numpy._shapes import _axis

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]


def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """Whether each element is one of the others."""
    found = _core.tn.isin(asarray(element), asarray(test_elements))
    return ~found if invert else found


@whole
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, size=None,
           fill_value=None, sorted=True):
    """The elements that differ (with `axis` the parts along it), in order. Their number depends on the values: `size`
    fixes it; where there are fewer, `fill_value` follows, or the first of them.

    >>> unique(array([[1, 2], [0, 5], [1, 2]]), axis=0, return_counts=True)[0].tolist()
    [[0, 5], [1, 2]]
    """
    ar = asarray(ar)
    axis = None if axis is None else _axis(axis, ar.ndim)
    values, *more = _core.tn.unique_all(ar, axis=axis, equal_nan=bool(equal_nan), size=size, fill=fill_value, indices=bool(return_index),
                                        inverse=bool(return_inverse), counts=bool(return_counts))
    wanted = [_core.convert(x, _dtypes.default("i")) for x in more if x is not None]
    return (values, *wanted) if wanted else values


class UniqueAllResult(NamedTuple):
    """What unique_all() returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What unique_counts() returns."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What unique_inverse() returns."""

    values: Any
    inverse_indices: Any


def unique_all(x, /, *, size=None, fill_value=None):
    """The elements that differ, where each is first, which of them each element is, and how often each is there.

    >>> unique_all(array([4, 1, 4])).inverse_indices.tolist()
    [1, 0, 1]
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x, /, *, size=None, fill_value=None):
    """The elements that differ, and how often each is there.

    >>> unique_counts(array([4, 1, 4])).counts.tolist()
    [1, 2]
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x, /, *, size=None, fill_value=None):
    """The elements that differ, and which of them each element is.

    >>> unique_inverse(array([4, 1, 4])).values.tolist()
    [1, 4]
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x, /, *, size=None, fill_value=None):
    """The elements that differ."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def union1d(ar1, ar2, *, size=None, fill_value=None):
    """The elements of either."""
    return whole(_core.tn.union1d)(asarray(ar1), asarray(ar2), size=size, fill=fill_value)


def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The elements of the first that are none of the second."""
    return _core.tn.setdiff1d(asarray(ar1), asarray(ar2), unique=bool(assume_unique), size=size, fill=fill_value)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None, fill_value=None):
    """The elements of both, in order; with `return_indices` also where each is first in the one and in the other. `size`
    and `fill_value` as those of unique(): indices that are not there are the numbers of elements.

    >>> [x.tolist() for x in intersect1d(array([5, 2, 1, 2]), array([2, 3, 5]), return_indices=True)]
    [[2, 5], [1, 0], [0, 2]]
    """
    ar1, ar2 = asarray(ar1), asarray(ar2)
    if return_indices:
        met, first, second = _core.tn.intersection_and_places(ar1, ar2, size=size, fill=fill_value)
        kind = _dtypes.default("i")
        return met, _core.convert(first, kind), _core.convert(second, kind)
    return _core.tn.intersect1d(ar1, ar2, unique=bool(assume_unique), size=size, fill=fill_value)


def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The elements of one of both, in order; `size` and `fill_value` as those of unique()."""
    return _core.tn.setxor1d(asarray(ar1), asarray(ar2), unique=bool(assume_unique), size=size, fill=fill_value)
