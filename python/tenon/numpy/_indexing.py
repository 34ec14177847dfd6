"""Elements by their places, masks, diagonals."""

import builtins
import math

import numpy as np

from tenon import _core, _sizes
from tenon._core import Array
from tenon.errors import ConcretizationError, DTypeError, ShapeError, UnsupportedError
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray, full, tri
from tenon.numpy._reductions import _bools
from tenon.numpy._shapes import _axis, concatenate, ravel, shape, stack

__all__ = [
    "argwhere", "c_", "choose", "compress", "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal",
    "extract", "fill_diagonal", "flatnonzero", "ix_", "mask_indices", "mgrid", "nonzero", "ogrid", "piecewise",
    "place", "put", "put_along_axis", "r_", "ravel_multi_index", "select", "take", "take_along_axis", "tril",
    "tril_indices", "tril_indices_from", "triu", "triu_indices", "triu_indices_from", "unravel_index", "where",
]


def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """x where the condition holds, else y; with the condition alone, the indices of what is true."""
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise DTypeError("where: either both or neither of x and y are arrays, and one is None.")
    return _core.where(condition, x, y)


def nonzero(a, *, size=None, fill_value=None):
    """The indices of the elements that are not zero, an array for each axis. With `size` as many, `fill_value` (0)
    behind the last."""
    a = asarray(a)
    if a.ndim == 0:
        raise ShapeError("Calling nonzero on 0d arrays is not allowed. Use atleast_1d(scalar).nonzero() instead.")
    kind = _dtypes.default("i")
    if size is None:
        return tuple(_core.convert(i, kind) for i in _core.tn.nonzero(_bools(a)))
    fills = fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * a.ndim
    return tuple(_core.tn.nonzero(_bools(a), size, list(fills), kind))


def flatnonzero(a, *, size=None, fill_value=None):
    """The indices of the elements that are not zero, in a row."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a, *, size=None, fill_value=None):
    """The indices of the elements that are not zero, a row each."""
    a = asarray(a)
    if a.ndim == 0:
        return argwhere(_core.tn.reshape(a, (1,)), size=size, fill_value=fill_value)[:, :0]
    return stack(nonzero(a, size=size, fill_value=fill_value), 1)


def _mode(mode, default):
    return {None: default, "raise": default}.get(mode, mode)


def take(a, indices, axis=None, out=None, mode=None, unique_indices=False, indices_are_sorted=False, fill_value=None):
    """The elements at indices along an axis. Outside: NaN, or what `fill_value` says; mode="clip": the nearest."""
    a, indices = asarray(a), asarray(indices)
    if axis is None:
        a, axis = ravel(a), 0
    axis = _axis(axis, a.ndim)
    if a.shape[axis] == 0 and indices.size != 0:
        raise ShapeError(f"take: indices {list(indices.shape)} of an axis of no elements, axis {axis} of {list(a.shape)}.")
    mode = _mode(mode, "fill")
    if mode == "wrap":
        indices, mode = _core.remainder(indices, a.shape[axis]), "clip"
    elif mode == "clip":  # here a negative index lies before the beginning
        indices = _core.maximum(indices, 0)
    return _core.take(a, indices, axis, mode, fill_value, indices_are_sorted, unique_indices)


def take_along_axis(arr, indices, axis=-1, mode=None, fill_value=None, *, wrap_negative_indices=None):
    """result[…, i, …] = arr[…, indices[…, i, …], …]. Outside: NaN, or what `fill_value` says; mode="clip": the nearest;
    mode="one_hot": 0. Negative indices count from the end, unless wrap_negative_indices=False: then they lie outside.

    >>> take_along_axis(asarray([10, 20, 30]), asarray([-1]), mode="clip", wrap_negative_indices=False).tolist()
    [10]
    """
    arr, indices = asarray(arr), asarray(indices)
    if axis is None:
        return take_along_axis(ravel(arr), ravel(indices), 0, mode, fill_value, wrap_negative_indices=wrap_negative_indices)
    if arr.ndim != indices.ndim:
        raise ShapeError("take_along_axis: indices and arr must have the same number of dimensions; "
                         f"{indices.ndim} vs. {arr.ndim}")
    if mode == "one_hot":
        mode, fill_value = "fill", 0
    if wrap_negative_indices is False and indices.dtype.kind == "i":
        outside = 0 if mode == "clip" else arr.shape[_axis(axis, arr.ndim)]
        indices = _core.where(_core.less(indices, 0), outside, _core.convert(indices, _dtypes.default("i")))
    return _core.take_along_axis(arr, indices, _axis(axis, arr.ndim), _mode(mode, "fill"), fill_value)


def put_along_axis(arr, indices, values, axis, inplace=True, *, mode=None):
    """The array with values at take_along_axis()'s places."""
    if inplace:
        raise _core.OptionError("put_along_axis: arrays are immutable: say inplace=False and use the result.")
    arr, indices = asarray(arr), asarray(indices)
    axis = _axis(axis, arr.ndim)
    at = [_core.tn.reshape(_core.tn.iota("int32", (n,), 0), [n if k == i else 1 for k in range(arr.ndim)])
          for i, n in enumerate(arr.shape)]
    at[axis] = indices
    return arr.at[tuple(at)].set(values, mode=mode)


def put(a, ind, v, mode=None, *, inplace=True):
    """The array with values at indices of its elements in a row."""
    if inplace:
        raise _core.OptionError("put: arrays are immutable: say inplace=False and use the result.")
    ind = asarray(ind)
    if mode == "clip":  # here a negative index lies before the beginning
        ind = _core.maximum(ind, 0)
    return _core.tn.put(asarray(a), ind, asarray(v), {"fill": "ignore", "drop": "ignore"}.get(mode, _mode(mode, "clip")))


def place(arr, mask, vals, *, inplace=True):
    """The array with values, one after another, where the mask holds."""
    if inplace:
        raise _core.OptionError("place: arrays are immutable: say inplace=False and use the result.")
    return _core.tn.place(asarray(arr), asarray(mask), asarray(vals))


def fill_diagonal(a, val, wrap=False, *, inplace=True):
    """The array with another diagonal."""
    if inplace:
        raise UnsupportedError("fill_diagonal: arrays are immutable: say inplace=False and use the result.")
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap.")
    return _core.tn.fill_diagonal(asarray(a), asarray(val))


def compress(condition, a, axis=None, *, size=None, fill_value=0, out=None):
    """The parts along an axis where the condition holds."""
    a, condition = asarray(a), _bools(condition)
    if condition.ndim != 1:
        raise ShapeError(f"compress: condition must be a 1D array. Its shape is {condition.shape}.")
    if axis is None:
        a, axis = ravel(a), 0
    axis = _axis(axis, a.ndim)
    if isinstance(condition.shape[0], int) and isinstance(a.shape[axis], int):
        outside = condition[a.shape[axis]:]
        if size is None and outside.shape[0] and not _core.is_traced(outside) and _core.tn.any(outside):
            raise ShapeError(f"compress: the condition is true of elements behind the last: its shape is {condition.shape}, and the "
                             f"axis has {a.shape[axis]} elements.")
        condition = condition[:a.shape[axis]]
    a = a[(slice(None),) * axis + (slice(0, condition.shape[0]),)]
    if size is None:
        return _core.tn.move_axis(_core.tn.compress(_core.tn.move_axis(a, axis, 0), condition), 0, axis)
    return _core.tn.move_axis(_core.tn.compress(_core.tn.move_axis(a, axis, 0), condition, size, fill_value), 0, axis)


def extract(condition, arr, *, size=None, fill_value=0):
    """The elements where the condition holds."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def _need_known(name, mode, *indices):
    if mode == "raise" and builtins.any(isinstance(i, Array) and _core.is_traced(i) for i in indices):
        raise ConcretizationError(f"{name}: with mode='raise' the values of the indices are asked for, and one is traced.\n"
                                  "  In a compiled function say mode='wrap' or mode='clip'.")


def choose(a, choices, out=None, mode="raise"):
    """Of several arrays the element of the one that a names."""
    return _core.tn.choose(a, [asarray(choice) for choice in choices], mode)


def select(condlist, choicelist, default=0):
    """The element of the first choice whose condition holds."""
    return _core.tn.select(list(condlist), list(choicelist), default)


def piecewise(x, condlist, funclist, *args, **kw):
    """Where the k-th condition holds (the last that does) the k-th function of x; one more function: elsewhere."""
    x = asarray(x)
    condlist = [condlist] if not isinstance(condlist, (list, tuple)) else list(condlist)
    made = full(x.shape, 0, x.dtype)
    if not len(condlist) <= len(funclist) <= len(condlist) + 1:
        raise _core.OptionError(f"piecewise: with {len(condlist)} condition(s), either {len(condlist)} or "
                                f"{len(condlist) + 1} functions are expected, not {len(funclist)}.")
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    if len(values) == len(condlist) + 1:
        made = _core.broadcast_to(_core.convert(values[-1], x.dtype), x.shape)
    for condition, value in zip(condlist, values):
        made = _core.where(condition, _core.convert(value, x.dtype), made)
    return made


# --- diagonals and triangles ---


def diagonal(a, offset=0, axis1=0, axis2=1):
    """A diagonal of the matrices in two axes, along the last axis."""
    a = asarray(a)
    return _core.tn.diagonal(a, offset, _axis(axis1, a.ndim), _axis(axis2, a.ndim))


def diag(v, k=0):
    """The diagonal of a matrix; of a vector, the matrix with that diagonal."""
    v = asarray(v)
    if v.ndim not in (1, 2):
        raise ShapeError(f"diag input must be 1d or 2d. Its shape is {v.shape}.")
    return _core.tn.diag(v, k)


def diagflat(v, k=0):
    """The matrix with the elements of v as its diagonal."""
    return diag(ravel(v), k)


def _matrices(m, name):
    m = asarray(m)
    if m.ndim < 2:
        raise ShapeError(f"Argument to {name} must be at least 2D. Its shape is {m.shape}.")
    return m


def tril(m, k=0):
    """The matrices with zeros above a diagonal."""
    m = _matrices(m, "tril")
    return _core.tn.tril(m, k)


def triu(m, k=0):
    """The matrices with zeros below a diagonal."""
    m = _matrices(m, "triu")
    return _core.tn.triu(m, k)


def _below(n, k):
    """How many elements of a matrix [n, n] lie on or below the diagonal k."""
    def triangle(rows):
        return rows * (rows + 1) // 2

    return triangle(_core.max_size(n + k, 0) if k < 0 else n) if k <= 0 else n * n - triangle(_core.max_size(n - k - 1, 0))


def _indices(f, mask, count, n, m):
    n, m = _sizes.size(n), None if m is None else _sizes.size(m)
    if _sizes.known(n, m):
        made = f(n, m)
    else:
        made = nonzero(mask(n, m), size=count(n) if m is None or _core.same_size(n, m) else None)
    return tuple(array(i, _dtypes.default("i")) for i in made)


def tril_indices(n, k=0, m=None):
    """The indices of the elements on and below a diagonal."""
    return _indices(lambda n, m: np.tril_indices(n, k, m), lambda n, m: tri(n, m, k, "bool"), lambda n: _below(n, k), n, m)


def triu_indices(n, k=0, m=None):
    """The indices of the elements on and above a diagonal."""
    return _indices(lambda n, m: np.triu_indices(n, k, m), lambda n, m: _core.equal(tri(n, m, k - 1, "bool"), False),
                    lambda n: n * n - _below(n, k - 1), n, m)


def _need_matrix(name, arr):
    if len(shape(arr)) != 2:
        raise ShapeError(f"{name}: input array must be 2-d. Its shape is {shape(arr)}.")


def tril_indices_from(arr, k=0):
    """tril_indices() of a matrix."""
    _need_matrix("tril_indices_from", arr)
    return tril_indices(shape(arr)[-2], k, shape(arr)[-1])


def triu_indices_from(arr, k=0):
    """triu_indices() of a matrix."""
    _need_matrix("triu_indices_from", arr)
    return triu_indices(shape(arr)[-2], k, shape(arr)[-1])


def mask_indices(n, mask_func, k=0, *, size=None):
    """The indices of what mask_func leaves of a matrix of ones."""
    return nonzero(mask_func(full((n, n), 1, "int32"), k), size=size)


def diag_indices(n, ndim=2):
    """The indices of a diagonal."""
    return (_core.tn.iota(_dtypes.default("i"), (n,), 0),) * ndim


def diag_indices_from(arr):
    """diag_indices() of an array of equal axes."""
    if len({*shape(arr)}) != 1 or np.ndim(arr) < 2:
        raise ShapeError("diag_indices_from: All dimensions of input must be of equal length, and two at least. "
                         f"Its shape is {shape(arr)}.")
    return diag_indices(shape(arr)[0], np.ndim(arr))


def unravel_index(indices, shape):
    """The index along each axis of numbers of elements in a row."""
    return tuple(_core.tn.unravel_index(asarray(indices), _sizes.shape(shape)))


def ravel_multi_index(multi_index, dims, mode="raise", order="C", *, dtype=None):
    """The numbers of elements in a row of indices along each axis, of the indices' dtype or another. Outside: ValueError,
    for which their values must be known, or mode="clip", "wrap", or "ignore".

    >>> ravel_multi_index((asarray([0, 1]), asarray([2, 2])), (2, 3)).tolist()
    [2, 5]
    """
    multi_index, dims = tuple(multi_index), tuple(dims)
    if len(multi_index) != len(dims):
        raise ShapeError(f"ravel_multi_index: {len(multi_index)} indices for {len(dims)} axes.")
    if mode not in ("raise", "clip", "wrap", "ignore"):
        raise _core.OptionError(f"ravel_multi_index: mode {mode!r} is none of 'raise', 'clip', 'wrap' and 'ignore'.")
    _need_known("ravel_multi_index", mode, *multi_index)
    if order == "F":
        multi_index, dims = multi_index[::-1], dims[::-1]
    if mode == "raise" and builtins.any(np.any(np.asarray(i) < 0) or np.any(np.asarray(i) >= n) for i, n in zip(multi_index, dims)):
        raise ShapeError(f"ravel_multi_index: invalid entry in coordinates array. The sizes are {tuple(dims)}.")
    if dtype is not None:
        multi_index = [_core.convert(i, dtype) for i in multi_index]
    return _core.tn.ravel_index([asarray(i) for i in multi_index], dims, "ignore" if mode == "raise" else mode)


def ix_(*args):
    """Vectors for all combinations of their elements: x[ix_(rows, columns)]."""
    made = []
    for i, a in enumerate(args):
        a = asarray(a)
        if a.ndim != 1:
            raise ShapeError(f"ix_: arguments are vectors, not of shape {a.shape}.")
        a = nonzero(a)[0] if a.dtype.kind == "b" else a if a.size else _core.convert(a, _dtypes.default("i"))
        made.append(_core.tn.reshape(a, [a.shape[0] if k == i else 1 for k in range(len(args))]))
    return tuple(made)


# --- objects that are indexed ---


class _Grid:
    def __init__(self, sparse):
        self.sparse = sparse

    def __getitem__(self, key):
        made = (np.ogrid if self.sparse else np.mgrid)[key]
        return [array(m) for m in made] if isinstance(made, (list, tuple)) else array(made)


class _Joined:
    def __init__(self, joined):
        self.joined = joined

    def __getitem__(self, key):
        parts = key if isinstance(key, tuple) else (key,)
        if builtins.any(isinstance(p, Array) and _core.is_traced(p) for p in parts):
            parts = [p if isinstance(p, Array) else array(p) for p in parts]
            return concatenate([_core.tn.reshape(p, (-1,)) for p in parts])
        return array(self.joined[key])


ogrid, mgrid = _Grid(True), _Grid(False)
r_, c_ = _Joined(np.r_), _Joined(np.c_)
