"""Sets: the elements of vectors that differ."""

import numpy as np

from tenon import _core
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray, full
from tenon.numpy._indexing import compress, nonzero
from tenon.numpy._shapes import concatenate, ravel

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_values",
]


def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """Whether each element is one of the others."""
    element, others = asarray(element), ravel(test_elements)
    found = _core.any(_core.equal(element[..., None], others), -1, False)
    return ~found if invert else found


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, size=None,
           fill_value=None, sorted=True):
    """The elements that differ, in order. Their number depends on the values: in a compiled function say `size`."""
    ar = asarray(ar)
    if axis is not None:
        return _unique_along(ar, axis, return_index, return_inverse, return_counts, size, fill_value)
    flat = ravel(ar)
    kind = _dtypes.default("i")
    if flat.size == 0:
        made = [flat] + [full((0,), 0, kind)] * (return_index + return_inverse + return_counts)
        return made[0] if len(made) == 1 else tuple(made)
    order = _core.convert(_core.argsort(flat, 0, False), kind)
    ordered = flat[order]
    differs = _core.not_equal(ordered[1:], ordered[:-1])
    if equal_nan and ar.dtype.kind in "fc":
        differs = differs & ~(_core.isnan(ordered[1:]) & _core.isnan(ordered[:-1]))
    first = concatenate([full((1,), True, "bool"), differs])
    at = nonzero(first, size=size, fill_value=None)[0]
    number = _core.cumsum(_core.convert(first, kind), 0, False) - 1
    values = ordered[at]
    if size is not None and fill_value is not None:
        values = _core.where(_core.less_equal(_core.iota(kind, (size,), 0), number[-1]), values, _core.convert(fill_value, values.dtype))
    elif size is not None:
        values = _core.where(_core.less_equal(_core.iota(kind, (size,), 0), number[-1]), values, ordered[0])
    made = [values]
    if return_index:
        made.append(order[at])
    if return_inverse:
        made.append(_core.reshape(full(flat.shape, 0, kind).at[order].set(number), ar.shape))
    if return_counts:
        count = size if size is not None else values.shape[0]
        made.append(full((count,), 0, kind).at[number].add(1))
    return made[0] if len(made) == 1 else tuple(made)


def _unique_along(ar, axis, return_index, return_inverse, return_counts, size, fill_value):
    if size is not None:
        raise NotImplementedError("unique: `size` with `axis`.")
    made = np.unique(np.asarray(ar), return_index, return_inverse, return_counts, axis)
    return tuple(map(array, made)) if isinstance(made, tuple) else array(made)


def unique_values(x, /, *, size=None, fill_value=None):
    """The elements that differ."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def union1d(ar1, ar2, *, size=None, fill_value=None):
    """The elements of either."""
    return unique(concatenate([ravel(ar1), ravel(ar2)]), size=size, fill_value=fill_value)


def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The elements of the first that are none of the second."""
    ar1 = ravel(ar1) if assume_unique else unique(ar1)
    return compress(isin(ar1, ar2, invert=True), ar1, size=size, fill_value=0 if fill_value is None else fill_value)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None, fill_value=None):
    """The elements of both."""
    if return_indices:
        made = np.intersect1d(np.asarray(ar1), np.asarray(ar2), assume_unique, True)
        return tuple(map(array, made))
    ar1 = ravel(ar1) if assume_unique else unique(ar1)
    return compress(isin(ar1, ar2), ar1, size=size, fill_value=0 if fill_value is None else fill_value)


def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The elements of one of both."""
    a, b = setdiff1d(ar1, ar2, assume_unique), setdiff1d(ar2, ar1, assume_unique)
    return _core.sort(concatenate([a, b]), 0, False)
