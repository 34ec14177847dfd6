"""Reductions, cumulative sums, statistics."""

import builtins
import operator

import numpy as np

from tenon import _core
from tenon._checks import whole
from tenon.errors import DTypeError, ShapeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray, full
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


def _need_mask(where):
    if where is not None and asarray(where).dtype.kind != "b":
        raise _core.OptionError(f"where must be None or a boolean array; got where.dtype={asarray(where).dtype}.")


def _need_number(name, initial):
    if initial is not None and np.ndim(initial):
        raise ShapeError(f"{name}: initial value must be a scalar. Got array of shape {np.shape(initial)}")


def _summed(f, a, axis, dtype, keepdims, initial, where, promote_integers):
    a = asarray(a)
    if dtype is not None:
        a = _core.convert(a, dtype)
    elif a.dtype.kind == "b" or (promote_integers and a.dtype.kind in "iu"):
        a = _core.convert(a, _widened(a.dtype))
    if initial is None and where is None:
        made = f(a, _axis_of(axis, a.ndim), keepdims=keepdims)
        return made if dtype is None else _core.convert(made, dtype)
    _need_number(f.__name__, initial)
    _need_mask(where)
    return f(a, _axis_of(axis, a.ndim), keepdims=keepdims, where=where, initial=initial, dtype=dtype)


def _axis_of(axis, rank):
    """The axis as the library takes it, checked."""
    if axis is None:
        return None
    return _axes(axis, rank)


def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None, promote_integers=True):  # noqa: A001
    """The sum along axes (None: of all elements). Small integers become 64-bit ones."""
    return _summed(_core.tn.sum, a, axis, dtype, keepdims, initial, where, promote_integers)


def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None, promote_integers=True):
    """The product along axes. Small integers become 64-bit ones."""
    return _summed(_core.tn.prod, a, axis, dtype, keepdims, initial, where, promote_integers)


def _extreme(f, masked, a, axis, keepdims, initial, where, name):
    a = asarray(a)
    axes = _axis_of(axis, a.ndim)
    _need_number(name, initial)
    if initial is not None:
        _need_mask(where)
        return masked(a, axes, keepdims=keepdims, where=where, initial=initial)
    if where is not None:
        raise _core.OptionError(f"{name}: with `where` an initial value is needed.")
    if builtins.any(_core.same_size(a.shape[i], 0) for i in (range(a.ndim) if axes is None else axes)):
        raise ShapeError(f"zero-size array to reduction operation {name} which has no identity")
    return f(a, axes, keepdims=keepdims)


def max(a, axis=None, out=None, keepdims=False, initial=None, where=None):  # noqa: A001
    """The largest element along axes; NaN where any is."""
    return _extreme(_core.tn.order.largest, _core.tn.amax, a, axis, keepdims, initial, where, "max")


def min(a, axis=None, out=None, keepdims=False, initial=None, where=None):  # noqa: A001
    """The smallest element along axes; NaN where any is."""
    return _extreme(_core.tn.order.smallest, _core.tn.amin, a, axis, keepdims, initial, where, "min")


amax, amin = max, min


def _bools(a):
    a = asarray(a)
    return a if a.dtype.kind == "b" else _core.not_equal(a, 0)


def all(a, axis=None, out=None, keepdims=False, *, where=None):  # noqa: A001
    """Whether all elements are true (not zero)."""
    a = _bools(a)
    _need_mask(where)
    return _core.all(a if where is None else _core.where(where, a, True), _axis_of(axis, a.ndim), keepdims=keepdims)


def any(a, axis=None, out=None, keepdims=False, *, where=None):  # noqa: A001
    """Whether any element is true (not zero)."""
    a = _bools(a)
    _need_mask(where)
    return _core.tn.any(a if where is None else _core.where(where, a, False), _axis_of(axis, a.ndim), keepdims=keepdims)


def _arg(f, a, axis, keepdims):
    a = asarray(a)
    axis = None if axis is None else _axis(axis, a.ndim)
    if a.size == 0 and (axis is None or a.shape[axis] == 0):
        raise ShapeError(f"attempt to get {f.__name__.removeprefix('nan')} of an empty sequence. Its shape is {a.shape}.")
    made = _core.convert(f(a, None if axis is None else [axis], keepdims=bool(keepdims) and axis is not None),
                         _dtypes.default("i"))
    return _core.tn.reshape(made, (1,) * a.ndim) if keepdims and axis is None else made


def argmax(a, axis=None, out=None, keepdims=None):
    """Where the first largest element is; NaN counts as the largest."""
    return _arg(_core.tn.argmax, a, axis, keepdims)


def argmin(a, axis=None, out=None, keepdims=None):
    """Where the first smallest element is; NaN counts as the smallest."""
    return _arg(_core.tn.argmin, a, axis, keepdims)


def count_nonzero(a, axis=None, keepdims=False):
    """How many elements are not zero."""
    return sum(_bools(a), axis, keepdims=keepdims)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None):
    """The mean along axes."""
    a = asarray(a)
    if dtype is not None and _core.canonical_dtype(dtype).kind in "biu":
        return _core.convert(mean(a, axis, None, None, keepdims, where=where), dtype)
    _need_mask(where)
    if where is not None:
        return _core.tn.mean(a, _axis_of(axis, a.ndim), keepdims=keepdims, where=where, dtype=dtype)
    return _core.tn.mean(a if dtype is None else _core.convert(a, dtype), _axis_of(axis, a.ndim), keepdims=keepdims)


def _spread(f, a, axis, dtype, ddof, keepdims, where, mean, correction=None):
    if correction is not None and ddof:
        raise _core.OptionError("ddof and correction can't be provided simultaneously.")
    a, wanted = asarray(a), None
    if dtype is not None:
        wanted = _core.canonical_dtype(dtype)
        if a.dtype.kind == "c" and wanted.kind != "c":
            raise DTypeError(f"var: of {a.dtype} in dtype {wanted}, which has no imaginary parts: take real() of it, or of the result.")
        a = _core.convert(a, wanted)
    _need_mask(where)
    made = f(a, _axis_of(axis, a.ndim), keepdims=keepdims, where=where, mean=mean, ddof=ddof if correction is None else correction)
    return made if wanted is None else _core.convert(made, wanted)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None, correction=None):
    """The mean squared distance from the mean; divided by the count less `ddof`."""
    return _spread(_core.tn.var, a, axis, dtype, ddof, keepdims, where, mean, correction)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None, correction=None):
    """The square root of var(), whose `dtype` is real or complex."""
    if dtype is not None and _core.canonical_dtype(dtype).kind in "biu":
        raise _core.OptionError(f"std: roots have a real or complex dtype, not {_core.canonical_dtype(dtype)}.")
    return _core.sqrt(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


def ptp(a, axis=None, out=None, keepdims=False):
    """The largest less the smallest element."""
    a = asarray(a)
    return _core.tn.ptp(a, _axis_of(axis, a.ndim), keepdims=bool(keepdims))


def _of_elements(name, weights, a, axis):
    """Weights of the elements along an axis, or several, as those of all elements."""
    if weights.shape == a.shape:
        return weights
    if isinstance(axis, (tuple, list)) and weights.shape == tuple(a.shape[i] for i in _axes(axis, a.ndim)):
        axes = _axes(axis, a.ndim)
        order = [int(k) for k in np.argsort(axes)]
        return _core.tn.reshape(_core.tn.transpose(weights, order), [n if i in axes else 1 for i, n in enumerate(a.shape)])
    if axis is None or isinstance(axis, (tuple, list)) or weights.ndim != 1:
        raise ShapeError(f"{name}: weights have the array's shape, or one axis, which `axis` names. "
                         f"Their shape is {weights.shape}, the array's {a.shape}, and axis={axis}.")
    return _core.tn.reshape(weights, [weights.shape[0] if i == _axis(axis, a.ndim) else 1 for i in range(a.ndim)])


def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """The mean, of elements that count as much as their weights."""
    a = asarray(a)
    if weights is None:
        made = mean(a, axis, keepdims=keepdims)
        total = full(made.shape, a.size / builtins.max(made.size, 1), made.dtype)
        return (made, total) if returned else made
    made = _core.tn.weighted_mean(a, _of_elements("average", asarray(weights), a, axis), _axis_of(axis, a.ndim), keepdims=keepdims)
    return made if returned else made[0]


# --- without NaN ---


def _has_no_nan(a):
    return a.dtype.kind in "biu"


def _without_nan(f, of_all, a, axis, dtype, keepdims, initial, where):
    a = asarray(a)
    if _has_no_nan(a):
        return of_all(a, axis, dtype, None, keepdims, initial, where)
    _need_number(f.__name__, initial)
    _need_mask(where)
    return f(a, _axis_of(axis, a.ndim), keepdims=keepdims, where=where, initial=initial, dtype=dtype)


def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """The sum of the elements that are not NaN."""
    return _without_nan(_core.tn.nansum, sum, a, axis, dtype, keepdims, initial, where)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """The product of the elements that are not NaN."""
    return _without_nan(_core.tn.nanprod, prod, a, axis, dtype, keepdims, initial, where)


def _nan_extreme(f, of_all, a, axis, keepdims, initial, where, name):
    a = asarray(a)
    if _has_no_nan(a):
        return of_all(a, axis, None, keepdims, initial, where)
    return _extreme(f, f, a, axis, keepdims, initial, where, name)


def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The largest of the elements that are not NaN; NaN where none is."""
    return _nan_extreme(_core.tn.nanmax, max, a, axis, keepdims, initial, where, "max")


def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The smallest of the elements that are not NaN; NaN where none is."""
    return _nan_extreme(_core.tn.nanmin, min, a, axis, keepdims, initial, where, "min")


def nanargmax(a, axis=None, out=None, keepdims=None):
    """Where the largest element that is not NaN is; -1 where none is."""
    return _arg(_core.tn.nanargmax, a, axis, keepdims)


def nanargmin(a, axis=None, out=None, keepdims=None):
    """Where the smallest element that is not NaN is; -1 where none is."""
    return _arg(_core.tn.nanargmin, a, axis, keepdims)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """The mean of the elements that are not NaN."""
    a = asarray(a)
    if _has_no_nan(a) or (dtype is not None and _core.canonical_dtype(dtype).kind in "biu"):
        made = mean(a, axis, None, None, keepdims, where=where) if _has_no_nan(a) else nanmean(a, axis, None, None, keepdims, where)
        return made if dtype is None else _core.convert(made, dtype)
    _need_mask(where)
    return _core.tn.nanmean(a, _axis_of(axis, a.ndim), keepdims=keepdims, where=where, dtype=dtype)


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None, mean=None):
    """var() of the elements that are not NaN."""
    return _spread(_core.tn.nanvar, a, axis, dtype, ddof, keepdims, where, mean)


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
    return _cumulative(lambda a, axis, reverse: _core.tn.nancumsum(a, axis), a, axis, dtype)


def nancumprod(a, axis=None, dtype=None, out=None):
    """cumprod(), where NaN counts as 1."""
    return _cumulative(lambda a, axis, reverse: _core.tn.nancumprod(a, axis), a, axis, dtype)


def _with_initial(f, x, axis, dtype, include_initial, unit):
    x = asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"cumulative_{f.__name__.removeprefix('cum')}: `axis` is needed of arrays with more axes than one.")
        axis = 0
    made = f(x, axis, dtype)
    if not include_initial:
        return made
    edge = list(made.shape)
    edge[axis] = 1
    return _core.tn.concatenate([full(edge, unit, made.dtype), made], _axis(axis, made.ndim))


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
    a = _ordered(a)
    return _core.tn.median(a, _axis_of(axis, a.ndim), keepdims=keepdims)


def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """quantile() of q / 100."""
    return _quantile(_core.tn.percentile, a, q, axis, method, keepdims, weights)


def _ordered(a):
    a = asarray(a)
    if a.dtype.kind == "c":
        raise DTypeError("quantile does not support complex input, as the operation is poorly defined.")
    return a


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """The value below which a part q of the elements lies. `method` says where between elements: all of NumPy's. With
    `weights` (the array's shape, or that of the one axis) elements count so much, method "inverted_cdf" alone.

    >>> a = asarray([1.0, 2.0, 4.0])
    >>> quantile(a, 0.5, weights=asarray([1, 1, 3]), method="inverted_cdf")
    Array(4., dtype=float64)
    """
    return _quantile(_core.tn.quantile, a, q, axis, method, keepdims, weights)


def _quantile(f, a, q, axis, method, keepdims, weights):
    a = _ordered(a)
    if weights is not None:
        if method != "inverted_cdf":
            raise NotImplementedError(f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights.")
        weights = _of_elements("quantile", asarray(weights), a, axis)
    return f(a, asarray(q), _axis_of(axis, a.ndim), keepdims=keepdims, method=method, weights=weights)


@whole
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """quantile() of the elements that are not NaN."""
    return _quantile(_core.tn.nanquantile, a, q, axis, method, keepdims, weights)


@whole
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """median() of the elements that are not NaN."""
    a = _ordered(a)
    return _core.tn.nanmedian(a, _axis_of(axis, a.ndim), keepdims=keepdims)


@whole
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """percentile() of the elements that are not NaN."""
    return _quantile(_core.tn.nanpercentile, a, q, axis, method, keepdims, weights)


def bincount(x, weights=None, minlength=0, *, length=None):
    """How often each number occurs, or the sum of its weights. `length` says of how many numbers in a compiled function."""
    x = asarray(x)
    if x.ndim != 1:
        raise ShapeError(f"bincount: only 1-dimensional input supported. Its shape is {x.shape}.")
    if length is None:
        length = builtins.max(operator.index(minlength), (int(_core.tn.order.largest(x)) + 1) if x.size > 0 else 0)
    made = _core.tn.bincount(x, weights=None if weights is None else asarray(weights), length=length)
    return _core.convert(made, _dtypes.default("i")) if weights is None else made
