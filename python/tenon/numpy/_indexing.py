"""Elements by their places, masks, diagonals, sets."""

import builtins
import math
import operator

import numpy as np

from tenon import _core
from tenon._core import Array
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray, full, tri
from tenon.numpy._reductions import _bools
from tenon.numpy._shapes import _axis, broadcast_arrays, concatenate, ravel, shape, stack

__all__ = [
    "apply_along_axis", "apply_over_axes", "argwhere", "c_", "choose", "compress", "delete", "diag", "diag_indices",
    "diag_indices_from", "diagflat", "diagonal", "diff", "ediff1d", "extract", "fill_diagonal", "flatnonzero",
    "gradient", "insert", "interp", "intersect1d", "isin", "ix_", "mask_indices", "mgrid", "nonzero", "ogrid",
    "piecewise", "place", "put", "put_along_axis", "r_", "ravel_multi_index", "select", "setdiff1d", "setxor1d",
    "take", "take_along_axis", "tril", "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices",
    "triu_indices_from", "union1d", "unique", "unique_values", "unravel_index", "unwrap", "vectorize", "where",
]



def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """x where the condition holds, else y; with the condition alone, the indices of what is true."""
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("Either both or neither of the x and y arguments should be provided to where.")
    return _core.where(condition, x, y)


def nonzero(a, *, size=None, fill_value=None):
    """The indices of the elements that are not zero, an array for each axis. With `size` as many, `fill_value` (0)
    behind the last."""
    a = asarray(a)
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use atleast_1d(scalar).nonzero() instead.")
    kind = _dtypes.default("i")
    if size is None:
        return tuple(_core.convert(i, kind) for i in _core.nonzero(_bools(a)))
    flat = ravel(_bools(a))
    before = _core.cumsum(_core.convert(flat, kind), 0, False) if flat.size else full((0,), 0, kind)
    at = full((size,), 0, kind).at[_core.where(flat, before - 1, size)].set(_core.iota(kind, flat.shape, 0), mode="drop")
    count = before[-1] if flat.size else 0
    valid = _core.less(_core.iota(kind, (size,), 0), count)
    fills = fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * a.ndim
    return tuple(_core.where(valid, i, _core.convert(f, kind)) for i, f in zip(unravel_index(at, a.shape), fills))


def flatnonzero(a, *, size=None, fill_value=None):
    """The indices of the elements that are not zero, in a row."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a, *, size=None, fill_value=None):
    """The indices of the elements that are not zero, a row each."""
    a = asarray(a)
    if a.ndim == 0:
        return argwhere(_core.reshape(a, (1,)), size=size, fill_value=fill_value)[:, :0]
    return stack(nonzero(a, size=size, fill_value=fill_value), 1)


def _mode(mode, default):
    return {None: default, "raise": default}.get(mode, mode)


def take(a, indices, axis=None, out=None, mode=None, unique_indices=False, indices_are_sorted=False, fill_value=None):
    """The elements at indices along an axis. Outside: NaN, or what `fill_value` says; mode="clip": the nearest."""
    a, indices = asarray(a), asarray(indices)
    if axis is None:
        a, axis = ravel(a), 0
    axis = _axis(axis, a.ndim)
    mode = _mode(mode, "fill")
    if mode == "wrap":
        indices, mode = _core.remainder(indices, a.shape[axis]), "clip"
    elif mode == "clip":  # here a negative index lies before the beginning
        indices = _core.maximum(indices, 0)
    return _core.take(a, indices, axis, mode, fill_value, indices_are_sorted, unique_indices)


def take_along_axis(arr, indices, axis=-1, mode=None, fill_value=None):
    """result[…, i, …] = arr[…, indices[…, i, …], …]."""
    arr, indices = asarray(arr), asarray(indices)
    if axis is None:
        return take_along_axis(ravel(arr), ravel(indices), 0, mode, fill_value)
    if arr.ndim != indices.ndim:
        raise ValueError("indices and arr must have the same number of dimensions; "
                         f"{indices.ndim} vs. {arr.ndim}")
    return _core.take_along_axis(arr, indices, _axis(axis, arr.ndim), _mode(mode, "fill"), fill_value)


def put_along_axis(arr, indices, values, axis, inplace=True, *, mode=None):
    """The array with values at take_along_axis()'s places."""
    if inplace:
        raise ValueError("put_along_axis: arrays are immutable: say inplace=False and use the result.")
    arr, indices = asarray(arr), asarray(indices)
    axis = _axis(axis, arr.ndim)
    at = [_core.reshape(_core.iota("int32", (n,), 0), [n if k == i else 1 for k in range(arr.ndim)])
          for i, n in enumerate(arr.shape)]
    at[axis] = indices
    return arr.at[tuple(at)].set(values, mode=mode)


def put(a, ind, v, mode=None, *, inplace=True):
    """The array with values at indices of its elements in a row."""
    if inplace:
        raise ValueError("put: arrays are immutable: say inplace=False and use the result.")
    a, ind = asarray(a), ravel(asarray(ind))
    v = ravel(asarray(v))
    v = v[_core.remainder(_core.iota("int32", ind.shape, 0), builtins.max(v.shape[0], 1))]
    mode = _mode(mode, "clip")
    ind = _core.remainder(ind, a.size) if mode == "wrap" else ind
    return _core.reshape(ravel(a).at[ind].set(v, mode="clip" if mode == "wrap" else mode), a.shape)


def place(arr, mask, vals, *, inplace=True):
    """The array with values, one after another, where the mask holds."""
    if inplace:
        raise ValueError("place: arrays are immutable: say inplace=False and use the result.")
    arr, flat = asarray(arr), ravel(_bools(mask))
    vals = ravel(asarray(vals))
    at = _core.remainder(_core.maximum(_core.cumsum(_core.convert(flat, "int32"), 0, False) - 1, 0), vals.shape[0])
    return _core.reshape(_core.where(flat, _core.convert(vals[at], arr.dtype), ravel(arr)), arr.shape)


def fill_diagonal(a, val, wrap=False, *, inplace=True):
    """The array with another diagonal."""
    if inplace:
        raise ValueError("fill_diagonal: arrays are immutable: say inplace=False and use the result.")
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap.")
    a = asarray(a)
    n = builtins.min(a.shape)
    at = _core.iota("int32", (n,), 0)
    val = ravel(asarray(val))
    return a.at[(at,) * a.ndim].set(val if val.shape[0] == 1 else val[_core.remainder(at, val.shape[0])])


def compress(condition, a, axis=None, *, size=None, fill_value=0, out=None):
    """The parts along an axis where the condition holds."""
    a, condition = asarray(a), _bools(condition)
    if axis is None:
        a, axis = ravel(a), 0
    a = a[(slice(None),) * _axis(axis, a.ndim) + (slice(0, condition.shape[0]),)]
    if size is None:
        moved = _core.move_axis(a, _axis(axis, a.ndim), 0)
        return _core.move_axis(_core.compress(moved, condition), 0, _axis(axis, a.ndim))
    at = nonzero(condition, size=size, fill_value=condition.shape[0])[0]
    return _core.take(a, at, _axis(axis, a.ndim), "fill", fill_value, False, False)


def extract(condition, arr, *, size=None, fill_value=0):
    """The elements where the condition holds."""
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def choose(a, choices, out=None, mode="raise"):
    """Of several arrays the element of the one that a names."""
    choices = stack(broadcast_arrays(*choices), 0)
    a = asarray(a)
    if mode == "raise" and _core.is_traced(a):
        raise ValueError("choose: in a compiled function say mode='wrap' or mode='clip'.")
    met = np.broadcast_shapes(a.shape, choices.shape[1:])
    a = _core.remainder(a, choices.shape[0]) if mode == "wrap" else _core.clamp(0, a, choices.shape[0] - 1)
    wide = _core.broadcast_to(choices, (choices.shape[0], *met))
    return _core.take_along_axis(wide, _core.broadcast_to(a, met)[None], 0, "clip", None)[0]


def select(condlist, choicelist, default=0):
    """The element of the first choice whose condition holds."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("select: as many conditions as choices, at least one.")
    met = _dtypes.result_type(*choicelist, default)
    made = _core.convert(default, met)
    for condition, choice in zip(condlist[::-1], choicelist[::-1]):
        made = _core.where(condition, _core.convert(choice, met), made)
    return made


def piecewise(x, condlist, funclist, *args, **kw):
    """Where the k-th condition holds (the last that does) the k-th function of x; one more function: elsewhere."""
    x = asarray(x)
    condlist = [condlist] if not isinstance(condlist, (list, tuple)) else list(condlist)
    made = full(x.shape, 0, x.dtype)
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
    i, j = _axis(axis1, a.ndim), _axis(axis2, a.ndim)
    rest = [k for k in range(a.ndim) if k not in (i, j)]
    a = _core.transpose(a, [*rest, i, j])
    n, m = a.shape[-2:]
    length = builtins.max(0, builtins.min(n + builtins.min(offset, 0), m - builtins.max(offset, 0)))
    at = np.arange(length)
    return a[..., at - builtins.min(offset, 0), at + builtins.max(offset, 0)]


def diag(v, k=0):
    """The diagonal of a matrix; of a vector, the matrix with that diagonal."""
    v = asarray(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    n = v.shape[0] + builtins.abs(k)
    at = np.arange(v.shape[0])
    return full((n, n), 0, v.dtype).at[at - builtins.min(k, 0), at + builtins.max(k, 0)].set(v)


def diagflat(v, k=0):
    """The matrix with the elements of v as its diagonal."""
    return diag(ravel(v), k)


def _matrices(m, name):
    m = asarray(m)
    if m.ndim < 2:
        raise ValueError(f"Argument to {name} must be at least 2D")
    return m


def tril(m, k=0):
    """The matrices with zeros above a diagonal."""
    m = _matrices(m, "tril")
    return _core.where(tri(*m.shape[-2:], k=k, dtype="bool"), m, _core.convert(0, m.dtype))


def triu(m, k=0):
    """The matrices with zeros below a diagonal."""
    m = _matrices(m, "triu")
    return _core.where(tri(*m.shape[-2:], k=k - 1, dtype="bool"), _core.convert(0, m.dtype), m)


def _indices(f, *args):
    return tuple(array(i, _dtypes.default("i")) for i in f(*args))


def tril_indices(n, k=0, m=None):
    """The indices of the elements on and below a diagonal."""
    return _indices(np.tril_indices, n, k, m)


def triu_indices(n, k=0, m=None):
    """The indices of the elements on and above a diagonal."""
    return _indices(np.triu_indices, n, k, m)


def tril_indices_from(arr, k=0):
    """tril_indices() of a matrix."""
    return tril_indices(shape(arr)[-2], k, shape(arr)[-1])


def triu_indices_from(arr, k=0):
    """triu_indices() of a matrix."""
    return triu_indices(shape(arr)[-2], k, shape(arr)[-1])


def mask_indices(n, mask_func, k=0, *, size=None):
    """The indices of what mask_func leaves of a matrix of ones."""
    return nonzero(mask_func(full((n, n), 1, "int32"), k), size=size)


def diag_indices(n, ndim=2):
    """The indices of a diagonal."""
    return (_core.iota(_dtypes.default("i"), (n,), 0),) * ndim


def diag_indices_from(arr):
    """diag_indices() of an array of equal axes."""
    if len({*shape(arr)}) != 1 or np.ndim(arr) < 2:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape(arr)[0], np.ndim(arr))


def unravel_index(indices, shape):
    """The index along each axis of numbers of elements in a row."""
    indices, made = asarray(indices), []
    shape = (shape,) if not isinstance(shape, (tuple, list)) else shape
    total = math.prod(shape)
    indices = _core.clamp(-total, indices, builtins.max(total - 1, 0))
    indices = _core.where(_core.less(indices, 0), indices + total, indices)
    for n in reversed(shape):
        made.append(_core.remainder(indices, builtins.max(n, 1)))
        indices = _core.floor_divide(indices, builtins.max(n, 1))
    return tuple(made[::-1])


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """The numbers of elements in a row of indices along each axis."""
    if order == "F":
        multi_index, dims = tuple(multi_index)[::-1], tuple(dims)[::-1]
    made = 0
    for i, n in zip(multi_index, dims):
        if mode == "clip":
            i = _core.clamp(0, i, n - 1)
        elif mode == "wrap":
            i = _core.remainder(i, n)
        made = _core.add(_core.multiply(made, n), i)
    return made


def ix_(*args):
    """Vectors for all combinations of their elements: x[ix_(rows, columns)]."""
    made = []
    for i, a in enumerate(args):
        a = asarray(a)
        a = nonzero(a)[0] if a.dtype.kind == "b" else a
        made.append(_core.reshape(a, [a.shape[0] if k == i else 1 for k in range(len(args))]))
    return tuple(made)


# --- parts of vectors ---


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The differences of neighbours along an axis, n times."""
    a = asarray(a)
    axis = _axis(axis, a.ndim)
    parts = []
    for edge in (prepend, a, append):
        if edge is None:
            continue
        edge = asarray(edge)
        parts.append(edge if edge.ndim else _core.broadcast_to(edge, [1 if i == axis else s for i, s in enumerate(a.shape)]))
    a = concatenate(parts, axis) if len(parts) > 1 else a
    before = (slice(None),) * axis
    for _ in range(operator.index(n)):
        high, low = a[(*before, slice(1, None))], a[(*before, slice(None, -1))]
        a = _core.not_equal(high, low) if a.dtype.kind == "b" else high - low
    return a


def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours of all elements in a row."""
    made = diff(ravel(ary))
    parts = [ravel(to_begin)] if to_begin is not None else []
    parts += [made, ravel(to_end)] if to_end is not None else [made]
    return concatenate(parts) if len(parts) > 1 else made


def gradient(f, *varargs, axis=None, edge_order=None):
    """The slopes along axes, by central differences inside and one-sided ones at the ends."""
    f = _core.to_inexact(asarray(f))
    axes = list(range(f.ndim)) if axis is None else [_axis(a, f.ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    spacing = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    if len(spacing) != len(axes):
        raise TypeError("gradient: a distance for all axes, or one for each.")
    made = [_slope(f, a, h) for a, h in zip(axes, spacing)]
    return made[0] if len(made) == 1 else made


def _slope(f, axis, h):
    if f.shape[axis] < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least two elements are required.")

    def part(x, start, stop):
        return x[(slice(None),) * axis + (slice(start, stop),)]

    if np.ndim(h) == 0:
        inside = (part(f, 2, None) - part(f, None, -2)) * 0.5
        ends = part(f, 1, 2) - part(f, 0, 1), part(f, -1, None) - part(f, -2, -1)
        return concatenate([ends[0], inside, ends[1]], axis) / h
    h = _core.reshape(diff(asarray(h)), [-1 if i == axis else 1 for i in range(f.ndim)])
    steps = (part(f, 1, None) - part(f, None, -1)) / h
    low, high = part(h, None, -1), part(h, 1, None)
    inside = (part(steps, None, -1) * high + part(steps, 1, None) * low) / (low + high)
    return concatenate([part(steps, 0, 1), inside, part(steps, -1, None)], axis)


def interp(x, xp, fp, left=None, right=None, period=None):
    """Values between those at the points xp, by straight lines."""
    from tenon.numpy._reductions import argsort, searchsorted

    x, xp, fp = _core.to_inexact(asarray(x)), _core.to_inexact(asarray(xp)), _core.to_inexact(asarray(fp))
    if period is not None:
        x, xp = _core.remainder(x, period), _core.remainder(xp, period)
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    i = _core.clamp(1, searchsorted(xp, x, "right"), builtins.max(xp.shape[0] - 1, 1))
    low, high = xp[i - 1], xp[i]
    width = high - low
    flat = _core.equal(width, 0)
    slope = (fp[i] - fp[i - 1]) / _core.where(flat, 1, width)
    made = _core.where(flat, fp[i - 1], fp[i - 1] + (x - low) * slope)
    if period is None:
        made = _core.where(_core.less(x, xp[0]), fp[0] if left is None else left, made)
        made = _core.where(_core.greater(x, xp[-1]), fp[-1] if right is None else right, made)
    return made


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """The array without parts along an axis: known when the function is traced."""
    arr = asarray(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = _axis(axis, arr.ndim)
    keep = np.delete(np.arange(arr.shape[axis]), obj if isinstance(obj, slice) else np.asarray(obj))
    return _core.take(arr, array(keep, _dtypes.default("i")), axis, "clip", None, True, True)


def insert(arr, obj, values, axis=None):
    """The array with values before elements along an axis: known when the function is traced."""
    arr = asarray(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = _axis(axis, arr.ndim)
    values = _core.convert(values, arr.dtype)
    n = arr.shape[axis]
    at = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    if at.ndim == 0:
        if values.ndim == arr.ndim:
            values = _core.move_axis(values, 0, axis) if axis else values
        else:
            values = _core.expand_dims(values, axis) if values.ndim == arr.ndim - 1 else values
    at = at.reshape(-1)
    at = np.where(at < 0, at + n, at)
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


def trim_zeros(filt, trim="fb"):
    """A vector without the zeros at its ends: values must be known."""
    at = np.nonzero(np.asarray(filt))[0]
    if at.size == 0:
        return asarray(filt)[:0]
    first = at[0] if "f" in trim.lower() else 0
    last = at[-1] + 1 if "b" in trim.lower() else np.shape(filt)[0]
    return asarray(filt)[int(first):int(last)]


def unwrap(p, discont=None, axis=-1, period=2 * math.pi):
    """Angles without jumps: multiples of the period are added."""
    p = asarray(p)
    axis = _axis(axis, p.ndim)
    if p.shape[axis] == 0:
        return p
    steps = diff(p, axis=axis)
    half = period / 2
    moved = _core.remainder(steps + half, period) - half
    moved = _core.where(_core.equal(moved, -half) & _core.greater(steps, 0), half, moved)
    fix = _core.where(_core.less(_core.abs(steps), half if discont is None else builtins.max(discont, half)), 0, moved - steps)
    fix = _core.cumsum(_core.convert(fix, _dtypes.result_type(p, fix)), axis, False)
    before = (slice(None),) * axis
    return concatenate([p[(*before, slice(0, 1))], p[(*before, slice(1, None))] + fix], axis)


# --- sets ---


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


# --- functions along axes ---


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """A function of single elements (or of those that a signature such as "(n),(n)->()" names) over all others."""
    from tenon import vmap

    inner, outer = (None, None) if signature is None else _signature(signature)

    def wrapped(*args):
        args = [a if i in excluded else asarray(a) for i, a in enumerate(args)]
        given = [i for i in range(len(args)) if i not in excluded]
        core = {i: 0 if inner is None else len(inner[k]) for k, i in enumerate(given)}
        loops = np.broadcast_shapes(*(args[i].shape[:args[i].ndim - core[i]] for i in given))
        f = pyfunc
        for depth in range(len(loops)):
            axes = []
            for i, a in enumerate(args):
                rank = 0 if i in excluded else a.ndim - core[i]
                axes.append(0 if i not in excluded and rank >= depth + 1 and a.shape[rank - depth - 1] != 1 else None)
            if all_none := builtins.all(a is None for a in axes):
                f = (lambda g: lambda *xs: _expanded(g(*xs)))(f)
            else:
                f = vmap(f, in_axes=tuple(axes))
            del all_none
        squeezed = []
        for i, a in enumerate(args):
            if i in excluded:
                squeezed.append(a)
                continue
            rank = a.ndim - core[i]
            squeezed.append(_core.reshape(a, tuple(n for n in a.shape[:rank] if n != 1) + a.shape[rank:]))
        return f(*squeezed)

    return wrapped


def _expanded(x):
    return tuple(e[None] for e in x) if isinstance(x, tuple) else asarray(x)[None]


def _signature(text):
    left, right = text.replace(" ", "").split("->")

    def terms(side):
        return [tuple(t.strip("()").split(",")) if t.strip("()") else () for t in side.replace("),(", ");(").split(";")]

    return terms(left), terms(right)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function of vectors at all vectors along an axis."""
    from tenon import vmap

    arr = asarray(arr)
    axis = _axis(axis, arr.ndim)
    f = lambda x: func1d(x, *args, **kwargs)  # noqa: E731
    for i in range(arr.ndim - axis - 1):
        f = vmap(f, in_axes=1, out_axes=-1)
    for i in range(axis):
        f = vmap(f, in_axes=0, out_axes=0)
    return f(arr)


def apply_over_axes(func, a, axes):
    """A function func(a, axis) along one axis after another, their places kept."""
    a = asarray(a)
    for axis in axes:
        made = func(a, axis)
        a = made if made.ndim == a.ndim else _core.expand_dims(made, _axis(axis, a.ndim))
    return a


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
            return concatenate([_core.reshape(p, (-1,)) for p in parts])
        return array(self.joined[key])


ogrid, mgrid = _Grid(True), _Grid(False)
r_, c_ = _Joined(np.r_), _Joined(np.c_)
