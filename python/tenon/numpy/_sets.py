"""Sets: the elements of vectors that differ."""

import math
from typing import Any, NamedTuple

import numpy as np

from tenon import _core
from tenon._checks import whole
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray, full
from tenon.numpy._indexing import compress, nonzero
from tenon.numpy._shapes import _axis, _of_one_dtype, concatenate, moveaxis, ravel

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]


def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """Whether each element is one of the others."""
    element, others = asarray(element), ravel(test_elements)
    found = _core.any(_core.equal(element[..., None], others), -1, False)
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
    along = None if axis is None else _axis(axis, ar.ndim)
    parts = ravel(ar) if along is None else moveaxis(ar, along, 0)
    if parts.shape[0] == 0:
        made = _unique_of_none(parts, return_index + return_inverse + return_counts, size, fill_value)
    else:
        made = _unique_parts(parts, return_index, return_inverse, return_counts, equal_nan, size, fill_value)
    if return_inverse and along is None:
        made[1 + return_index] = _core.reshape(made[1 + return_index], ar.shape)
    made[0] = made[0] if along is None else moveaxis(made[0], 0, along)
    return made[0] if len(made) == 1 else tuple(made)


def _unique_of_none(parts, more, size, fill_value):
    if size and fill_value is None:
        raise ValueError("unique: for zero-sized input with nonzero size argument, fill_value must be specified")
    values = full((size or 0, *parts.shape[1:]), 0 if fill_value is None else fill_value, parts.dtype)
    return [values] + [full((0,), 0, _dtypes.default("i"))] * more


def _unique_parts(parts, return_index, return_inverse, return_counts, equal_nan, size, fill_value):
    """The same of parts along the first axis; inverse indices in a row."""
    kind, n = _dtypes.default("i"), parts.shape[0]
    rows = _core.reshape(parts, (n, math.prod(parts.shape[1:])))
    order = _core.convert(_order(rows), kind)
    ordered = rows[order]
    differs = _core.not_equal(ordered[1:], ordered[:-1])
    if equal_nan and parts.dtype.kind not in "biu":
        differs = differs & ~(_core.isnan(ordered[1:]) & _core.isnan(ordered[:-1]))
    first = concatenate([full((1,), True, "bool"), _core.any(differs, [1], False)])
    at = nonzero(first, size=size, fill_value=None)[0]
    number = _core.cumsum(_core.convert(first, kind), 0, False) - 1
    values = parts[order[at]]
    if size is not None:
        there = _core.less_equal(_core.iota(kind, (size,), 0), number[-1])
        other = parts[order[0]] if fill_value is None else _core.convert(fill_value, parts.dtype)
        values = _core.where(_core.reshape(there, (size,) + (1,) * (parts.ndim - 1)), values, other)
    made = [values]
    if return_index:
        made.append(order[at])
    if return_inverse:
        made.append(full((n,), 0, kind).at[order].set(number))
    if return_counts:
        made.append(full((size if size is not None else values.shape[0],), 0, kind).at[number].add(1))
    return made


def _order(rows):
    """Where the rows in order are: by the first column, where that is equal by the second, and so on."""
    n, columns = rows.shape
    if columns == 1:
        return _core.argsort(rows[:, 0], 0, False)
    at = _core.iota("int32", (n,), 0)
    return _core.sort_together([*(rows[:, i] for i in range(columns)), at], columns, 0)[-1] if columns else at


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
    return unique(concatenate([ravel(ar1), ravel(ar2)]), size=size, fill_value=fill_value)


def _firsts(x, assume_unique):
    """(the elements in a row, which of them count): in order and the first of equal ones, where they may be equal."""
    x = ravel(x)
    if assume_unique or x.shape[0] == 0:
        return x, full(x.shape, True, "bool")
    x = _core.sort(x, 0, False)
    return x, concatenate([full((1,), True, "bool"), _core.not_equal(x[1:], x[:-1])])


def _found(where, x, size, fill_value):
    """The elements there; with a `size` behind them `fill_value`, or the first of them."""
    made = compress(where, x, size=size, fill_value=0 if fill_value is None else fill_value)
    if not size or fill_value is not None:
        return made
    count = _core.sum(_core.convert(where, "int32"), None, False)
    return _core.where(_core.less(_core.iota("int32", (size,), 0), count), made, made[:1])


def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The elements of the first that are none of the second."""
    ar1, first = _firsts(ar1, assume_unique)
    return compress(first & isin(ar1, ar2, invert=True), ar1, size=size, fill_value=0 if fill_value is None else fill_value)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None, fill_value=None):
    """The elements of both, in order; with `return_indices` also where each is first in the one and in the other. `size`
    and `fill_value` as those of unique(): indices that are not there are the numbers of elements.

    >>> [x.tolist() for x in intersect1d(array([5, 2, 1, 2]), array([2, 3, 5]), return_indices=True)]
    [[2, 5], [1, 0], [0, 2]]
    """
    ar1, ar2 = (ravel(x) for x in _of_one_dtype([ar1, ar2]))
    if return_indices:
        (one, first), (other, second) = unique(ar1, return_index=True), unique(ar2, return_index=True)
        met, found = isin(one, other), isin(other, one)
        return (_found(met, one, size, fill_value), compress(met, first, size=size, fill_value=ar1.shape[0]),
                compress(found, second, size=size, fill_value=ar2.shape[0]))
    ar1, first = _firsts(ar1, assume_unique)
    return _found(first & isin(ar1, ar2), ar1, size, fill_value)


def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The elements of one of both, in order; `size` and `fill_value` as those of unique()."""
    ar1, ar2 = (ravel(x) for x in _of_one_dtype([ar1, ar2]))
    both, edge = concatenate([ar1, ar2]), full((1,), False, "bool")
    alone = concatenate([isin(ar1, ar2, invert=True), isin(ar2, ar1, invert=True)])
    if both.shape[0]:
        both, alone = _core.sort_together([both, alone], 1, 0)
        as_before = concatenate([edge, _core.equal(both[1:], both[:-1])])
        alone = ~(as_before | concatenate([as_before[1:], edge])) if assume_unique else alone & ~as_before
    return _found(alone, both, size, fill_value)
