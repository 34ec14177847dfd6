"""Reductions, cumulative sums, statistics."""

import builtins
import math
import operator

import numpy as np

from tenon import _core
from tenon._checks import whole
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray, full
from tenon.numpy._elementwise import _inexact_together, isnan, logical_not
from tenon.numpy._quantiles import positions, weighted_quantile
from tenon.numpy._shapes import _axes, _axis, ravel

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "bincount", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "max", "mean", "median", "min", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum",
    "nanvar", "percentile", "prod", "ptp", "quantile", "std", "sum", "var",
]


def _widened(dtype):
    """Of integers the dtype of their sums."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return _dtypes.default("i")
    return _dtypes.default("u") if dtype.kind == "u" else dtype


def _where(a, where, otherwise):
    if where is not None and asarray(where).dtype.kind != "b":
        raise ValueError(f"where must be None or a boolean array; got where.dtype={asarray(where).dtype}.")
    return a if where is None else _core.where(where, a, otherwise)


def _summed(f, a, axis, dtype, keepdims, initial, where, promote_integers, unit, combine):
    a = asarray(a)
    if dtype is not None:
        a = _core.convert(a, dtype)
    elif a.dtype.kind == "b" or (promote_integers and a.dtype.kind in "iu"):
        a = _core.convert(a, _widened(a.dtype))
    _need_number(initial)
    made = f(_where(a, where, _core.convert(unit, a.dtype)), _axis_of(axis, a.ndim), keepdims)
    made = made if initial is None else _core.convert(combine(made, _core.convert(initial, made.dtype)), made.dtype)
    return made if dtype is None else _core.convert(made, dtype)


def _need_number(initial):
    if initial is not None and np.ndim(initial):
        raise ValueError(f"initial value must be a scalar. Got array of shape {np.shape(initial)}")


def _axis_of(axis, rank):
    """The axis as the library takes it, checked."""
    if axis is None:
        return None
    return _axes(axis, rank)


def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None, promote_integers=True):  # noqa: A001
    """The sum along axes (None: of all elements). Small integers become 64-bit ones."""
    return _summed(_core.sum, a, axis, dtype, keepdims, initial, where, promote_integers, 0, _core.add)


def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None, promote_integers=True):
    """The product along axes. Small integers become 64-bit ones."""
    return _summed(_core.prod, a, axis, dtype, keepdims, initial, where, promote_integers, 1, _core.multiply)


def _extreme(f, a, axis, keepdims, initial, where, combine, name):
    a = asarray(a)
    _need_number(initial)
    if where is not None:
        if initial is None:
            raise ValueError(f"{name}: with `where` an initial value is needed.")
        a = _where(a, where, _core.convert(initial, a.dtype))
    axes = list(range(a.ndim)) if axis is None else _axes(axis, a.ndim)
    if builtins.any(_core.same_size(a.shape[i], 0) for i in axes):
        if initial is None:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        kept = [1 if i in axes else n for i, n in enumerate(a.shape) if keepdims or i not in axes]
        return full(kept, initial, a.dtype)
    made = f(a, axes, keepdims)
    return made if initial is None else combine(made, _core.convert(initial, made.dtype))


def max(a, axis=None, out=None, keepdims=False, initial=None, where=None):  # noqa: A001
    """The largest element along axes; NaN where any is."""
    return _extreme(_core.max, a, axis, keepdims, initial, where, _core.maximum, "max")


def min(a, axis=None, out=None, keepdims=False, initial=None, where=None):  # noqa: A001
    """The smallest element along axes; NaN where any is."""
    return _extreme(_core.min, a, axis, keepdims, initial, where, _core.minimum, "min")


amax, amin = max, min


def _bools(a):
    a = asarray(a)
    return a if a.dtype.kind == "b" else _core.not_equal(a, 0)


def all(a, axis=None, out=None, keepdims=False, *, where=None):  # noqa: A001
    """Whether all elements are true (not zero)."""
    a = _where(_bools(a), where, True)
    return _core.all(a, _axis_of(axis, a.ndim), keepdims)


def any(a, axis=None, out=None, keepdims=False, *, where=None):  # noqa: A001
    """Whether any element is true (not zero)."""
    a = _where(_bools(a), where, False)
    return _core.any(a, _axis_of(axis, a.ndim), keepdims)


def _arg(f, a, axis, keepdims):
    a = asarray(a)
    axis = None if axis is None else _axis(axis, a.ndim)
    if a.size == 0 and (axis is None or a.shape[axis] == 0):
        raise ValueError("attempt to get argmax of an empty sequence")
    made = _core.convert(f(a, None if axis is None else [axis], bool(keepdims) and axis is not None),
                         _dtypes.default("i"))
    return _core.reshape(made, (1,) * a.ndim) if keepdims and axis is None else made


def argmax(a, axis=None, out=None, keepdims=None):
    """Where the first largest element is; NaN counts as the largest."""
    return _arg(_core.argmax, a, axis, keepdims)


def argmin(a, axis=None, out=None, keepdims=None):
    """Where the first smallest element is; NaN counts as the smallest."""
    return _arg(_core.argmin, a, axis, keepdims)


def count_nonzero(a, axis=None, keepdims=False):
    """How many elements are not zero."""
    return sum(_bools(a), axis, keepdims=keepdims)


def _computed(a, dtype):
    return _core.to_inexact(a) if dtype is None else _core.convert(a, dtype)


def _counted(a, axis, where):
    """How many elements along axes count."""
    if where is None:
        axes = range(a.ndim) if axis is None else _axes(axis, a.ndim)
        return math.prod(a.shape[i] for i in axes)
    return _core.sum(_core.convert(_core.broadcast_to(where, a.shape), "int64" if _core.x64() else "int32"),
                     _axis_of(axis, a.ndim), True)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None):
    """The mean along axes."""
    a = asarray(a)
    if dtype is not None and _core.canonical_dtype(dtype).kind in "biu":
        return _core.convert(mean(a, axis, None, None, keepdims, where=where), dtype)
    a = _computed(a, dtype)
    if where is None:
        return _core.mean(a, _axis_of(axis, a.ndim), keepdims)
    total = _core.sum(_where(a, where, 0), _axis_of(axis, a.ndim), True) / _core.convert(_counted(a, axis, where), a.dtype)
    return total if keepdims else _core.reshape(total, _kept(a, axis))


def _kept(a, axis):
    axes = range(a.ndim) if axis is None else _axes(axis, a.ndim)
    return [n for i, n in enumerate(a.shape) if i not in axes]


def _too_few(a, axis, ddof):
    count = _counted(a, axis, None) if ddof else 1
    return isinstance(count, int) and count <= ddof


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None, correction=None):
    """The mean squared distance from the mean; divided by the count less `ddof`."""
    if correction is not None and ddof:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    ddof = ddof if correction is None else correction
    a = asarray(a)
    if dtype is not None:
        wanted = _core.canonical_dtype(dtype)
        if a.dtype.kind == "c" and wanted.kind != "c":
            raise ValueError(f"var: of {a.dtype} in dtype {wanted}, which has no imaginary parts: take real() of it, or of the result.")
        a = _core.to_inexact(_core.convert(a, wanted))
        return _core.convert(var(a, axis, None, None, ddof, keepdims, where=where, mean=mean), wanted)
    a = _core.to_inexact(a)
    if where is None and mean is None and isinstance(ddof, int) and not _too_few(a, axis, ddof):
        return _core.var(a, _axis_of(axis, a.ndim), ddof, keepdims)
    middle = globals()["mean"](a, axis, keepdims=True, where=where) if mean is None else mean
    square = _core.square(_core.abs(a - middle))
    total = _core.sum(_where(square, where, 0), _axis_of(axis, a.ndim), True)
    count = _core.convert(_core.subtract(_counted(a, axis, where), ddof), total.dtype)
    made = _core.where(_core.greater(count, 0), total / count, math.nan)  # NaN where `ddof` leaves no elements
    return made if keepdims else _core.reshape(made, _kept(a, axis))


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None, correction=None):
    """The square root of var(), whose `dtype` is real or complex."""
    if dtype is not None and _core.canonical_dtype(dtype).kind in "biu":
        raise ValueError(f"std: roots have a real or complex dtype, not {_core.canonical_dtype(dtype)}.")
    return _core.sqrt(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


def ptp(a, axis=None, out=None, keepdims=False):
    """The largest less the smallest element."""
    return _core.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def _of_elements(weights, a, axis):
    """Weights of the elements along an axis, or several, as those of all elements."""
    if weights.shape == a.shape:
        return weights
    if isinstance(axis, (tuple, list)) and weights.shape == tuple(a.shape[i] for i in _axes(axis, a.ndim)):
        axes = _axes(axis, a.ndim)
        order = [int(k) for k in np.argsort(axes)]
        return _core.reshape(_core.transpose(weights, order), [n if i in axes else 1 for i, n in enumerate(a.shape)])
    if axis is None or isinstance(axis, (tuple, list)) or weights.ndim != 1:
        raise ValueError("weights have the array's shape, or one axis, which `axis` names.")
    return _core.reshape(weights, [weights.shape[0] if i == _axis(axis, a.ndim) else 1 for i in range(a.ndim)])


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """The mean, of elements that count as much as their weights."""
    a = asarray(a)
    if weights is None:
        made = mean(a, axis, keepdims=keepdims)
        total = full(made.shape, a.size / builtins.max(made.size, 1), made.dtype)
        return (made, total) if returned else made
    weights = _of_elements(asarray(weights), a, axis)
    a, weights = _inexact_together(a, weights)
    weights = _core.broadcast_to(weights, a.shape)
    total = sum(weights, axis, keepdims=keepdims)
    made = sum(a * weights, axis, keepdims=keepdims) / total
    return (made, total) if returned else made


# --- without NaN ---


def _replaced(a, value):
    a = asarray(a)
    return a if a.dtype.kind in "biu" else _core.where(isnan(a), _core.convert(value, a.dtype), a)


def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """The sum of the elements that are not NaN."""
    return sum(_replaced(a, 0), axis, dtype, None, keepdims, initial, where)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """The product of the elements that are not NaN."""
    return prod(_replaced(a, 1), axis, dtype, None, keepdims, initial, where)


def _end(dtype, above):
    """What no number of this dtype lies beyond: the greatest, or the least."""
    if dtype.kind == "b":
        return above
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max if above else np.iinfo(dtype).min)
    end = math.inf if above else -math.inf
    return complex(end, end) if dtype.kind == "c" else end


def _nan_extreme(f, a, axis, keepdims, initial, where, above):
    """f() of the elements that are not NaN, in place of which the least or the greatest number stands."""
    a = asarray(a)
    made = f(_replaced(a, _end(a.dtype, above)), axis, None, keepdims, initial, where)
    if a.dtype.kind in "biu" or initial is not None:
        return made
    return _core.where(all(isnan(a), axis, keepdims=keepdims), math.nan, made)


def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The largest of the elements that are not NaN; NaN where none is."""
    return _nan_extreme(max, a, axis, keepdims, initial, where, above=False)


def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The smallest of the elements that are not NaN; NaN where none is."""
    return _nan_extreme(min, a, axis, keepdims, initial, where, above=True)


def _nan_arg(f, a, axis, keepdims, above):
    a = asarray(a)
    made = f(_replaced(a, _end(a.dtype, above)), axis, None, keepdims)
    return made if a.dtype.kind in "biu" else _core.where(all(isnan(a), axis, keepdims=bool(keepdims)), -1, made)


def nanargmax(a, axis=None, out=None, keepdims=None):
    """Where the largest element that is not NaN is; -1 where none is."""
    return _nan_arg(argmax, a, axis, keepdims, above=False)


def nanargmin(a, axis=None, out=None, keepdims=None):
    """Where the smallest element that is not NaN is; -1 where none is."""
    return _nan_arg(argmin, a, axis, keepdims, above=True)


def _numbers(a, where):
    there = logical_not(isnan(a))
    return there if where is None else there & where


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """The mean of the elements that are not NaN."""
    a = asarray(a)
    return mean(a, axis, dtype, None, keepdims, where=where if a.dtype.kind in "biu" else _numbers(a, where))


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """var() of the elements that are not NaN."""
    a = asarray(a)
    return var(_replaced(a, 0), axis, dtype, None, ddof, keepdims, mean=mean,
               where=where if a.dtype.kind in "biu" else _numbers(a, where))


def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """std() of the elements that are not NaN."""
    return _core.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


# --- cumulative ---


def _cumulative(f, a, axis, dtype):
    a = asarray(a)
    a = ravel(a) if axis is None or a.ndim == 0 else a
    axis = 0 if axis is None else _axis(axis, a.ndim)
    if dtype is not None:
        a = _core.convert(a, dtype)
    if a.dtype.kind != "b":
        return f(a, axis, False)
    made = f(_core.convert(a, _dtypes.default("i")), axis, False)
    return made if dtype is None else _core.not_equal(made, 0)


def cumsum(a, axis=None, dtype=None, out=None):
    """The sums of the elements up to each (axis None: of all of them in a row)."""
    return _cumulative(_core.cumsum, a, axis, dtype)


def cumprod(a, axis=None, dtype=None, out=None):
    """The products of the elements up to each."""
    return _cumulative(_core.cumprod, a, axis, dtype)


def nancumsum(a, axis=None, dtype=None, out=None):
    """cumsum(), where NaN counts as 0."""
    return cumsum(_replaced(a, 0), axis, dtype)


def nancumprod(a, axis=None, dtype=None, out=None):
    """cumprod(), where NaN counts as 1."""
    return cumprod(_replaced(a, 1), axis, dtype)


def _with_initial(f, x, axis, dtype, include_initial, unit):
    x = asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError("cumulative_sum: `axis` is needed of arrays with more axes than one.")
        axis = 0
    made = f(x, axis, dtype)
    if not include_initial:
        return made
    edge = list(made.shape)
    edge[axis] = 1
    return _core.concatenate([full(edge, unit, made.dtype), made], _axis(axis, made.ndim))


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """cumsum(), with 0 in front where it is asked for."""
    x = asarray(x)
    return _with_initial(cumsum, x, axis, _widened(x.dtype) if dtype is None else dtype, include_initial, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """cumprod(), with 1 in front where it is asked for."""
    x = asarray(x)
    return _with_initial(cumprod, x, axis, _widened(x.dtype) if dtype is None else dtype, include_initial, 1)


# --- quantiles ---


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle of the elements in order; the mean of both where there are two."""
    return quantile(a, 0.5, axis, keepdims=keepdims)


def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """quantile() of q / 100."""
    return quantile(a, _core.true_divide(asarray(q), 100), axis, None, False, method, keepdims, weights=weights)


def _flattened(a, axis):
    """The axes that are meant as one, the last; and the shape that is left, with and without them."""
    axes = list(range(a.ndim)) if axis is None else _axes(axis, a.ndim)
    rest = [i for i in range(a.ndim) if i not in axes]
    kept = [1 if i in axes else n for i, n in enumerate(a.shape)]
    moved = _core.transpose(a, rest + axes)
    return _core.reshape(moved, [a.shape[i] for i in rest] + [math.prod(a.shape[i] for i in axes)]), kept


def _ordered(a):
    a = _core.to_inexact(asarray(a))
    if a.dtype.kind == "c":
        raise ValueError("quantile does not support complex input, as the operation is poorly defined.")
    return a


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The value below which a part q of the elements lies. `method` says where between elements: all of NumPy's. With
    `weights` (the array's shape, or that of the one axis) elements count so much, method "inverted_cdf" alone.

    >>> a = asarray([1.0, 2.0, 4.0])
    >>> quantile(a, 0.5, weights=asarray([1, 1, 3]), method="inverted_cdf")
    Array(4., dtype=float64)
    """
    a = _ordered(a)
    flat, kept = _flattened(a, axis)
    if weights is not None:
        made = _weighted(a, flat, weights, q, axis, method)
        spoiled = _core.where(_core.any(isnan(flat), [flat.ndim - 1], False), math.nan, made)
        return _core.reshape(spoiled, np.shape(q) + tuple(kept)) if keepdims else spoiled
    count = flat.shape[-1]
    count = _core.convert(count, flat.dtype) if isinstance(count, _core.Dim) else float(count)
    return _quantile(flat, kept, q, method, keepdims, count, isnan)


def _weighted(a, flat, weights, q, axis, method):
    if method != "inverted_cdf":
        raise NotImplementedError(f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights.")
    wide = _core.broadcast_to(_of_elements(asarray(weights), a, axis), a.shape)
    return weighted_quantile(flat, _flattened(_core.convert(wide, flat.dtype), axis)[0], q)


@whole
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """quantile() of the elements that are not NaN."""
    a = _ordered(a)
    flat, kept = _flattened(a, axis)
    if weights is not None:
        made = _weighted(a, flat, _core.where(isnan(a), 0, _of_elements(asarray(weights), a, axis)), q, axis, method)
        return _core.reshape(made, np.shape(q) + tuple(kept)) if keepdims else made
    count = _core.sum(_core.convert(logical_not(isnan(flat)), flat.dtype), -1, False)
    return _quantile(flat, kept, q, method, keepdims, count, None)


def _quantile(flat, kept, q, method, keepdims, count, nan_spoils):
    q = _core.convert(asarray(q), flat.dtype)
    if _core.same_size(flat.shape[-1], 0):  # of no elements there is no value
        flat = full((*flat.shape[:-1], 1), math.nan, flat.dtype)
    ordered = _core.sort(flat, flat.ndim - 1, False)
    if nan_spoils is not None:
        ordered = _core.where(_core.any(nan_spoils(flat), -1, True), math.nan, ordered)
    lead = flat.ndim - 1
    parts = _core.broadcast_to(_core.reshape(q, q.shape + (1,) * lead), q.shape + flat.shape[:-1])
    below, above, weight = positions(method, parts, count)

    def pick(where):
        last = _core.max_size(flat.shape[-1] - 1, 0)
        where = _core.clamp(0, _core.convert(where, "int32"), last)
        wide = _core.broadcast_to(ordered, q.shape + ordered.shape)
        return _core.squeeze(_core.take_along_axis(wide, _core.expand_dims(where, where.ndim), where.ndim, "clip", None), -1)

    low = pick(below)
    if below is above:
        made = low
    elif method == "midpoint":
        made = (low + pick(above)) / 2
    else:
        made = _core.where(_core.equal(weight, 0), low, low * (1 - weight) + pick(above) * weight)
    return _core.reshape(made, q.shape + tuple(kept)) if keepdims else made


@whole
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """median() of the elements that are not NaN."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """percentile() of the elements that are not NaN."""
    return nanquantile(a, _core.true_divide(asarray(q), 100), axis, None, False, method, keepdims, weights=weights)


def bincount(x, weights=None, minlength=0, *, length=None):
    """How often each number occurs, or the sum of its weights. `length` says of how many numbers in a compiled function."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    if length is None:
        length = builtins.max(operator.index(minlength), (int(_core.max(x, None, False)) + 1) if x.size > 0 else 0)
    kind = _dtypes.default("i") if weights is None else asarray(weights).dtype
    ones = full(x.shape, 1, kind) if weights is None else weights
    return full((length,), 0, kind).at[_core.maximum(x, 0)].add(ones)
