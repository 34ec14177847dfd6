"""Ops by the names of jax.lax. Operands have one dtype; shapes are equal, or one of them has no axes."""

import builtins
import math
import operator

import numpy as np

from tenon import _core
from tenon._core import (
    abs, cos, cosh, erf, erf_inv, exp, imag,  # noqa: A004
    isfinite as is_finite, log, logistic, negative as neg, real, rsqrt, sign, sin, sinh, sqrt, square, tan, tanh)
from tenon import numpy as tnp
from tenon.numpy import acos, acosh, asin, asinh, atan, atanh, cbrt, ceil, exp2, expm1, floor, log1p
from tenon.numpy._special import bessel_i0e, bessel_i1e
from tenon.numpy._shapes import _axes, _axis, _of_one_dtype

__all__ = [
    "abs", "acos", "acosh", "add", "approx_max_k", "approx_min_k", "argmax", "argmin", "asin", "asinh", "atan",
    "atan2", "atanh", "batch_matmul", "bessel_i0e", "bessel_i1e", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "broadcast", "broadcast_in_dim", "broadcast_like", "broadcast_shapes", "broadcast_to_rank",
    "broadcasted_iota", "cbrt", "ceil", "clamp", "clz", "collapse", "complex", "concatenate", "conj",
    "convert_element_type", "cos", "cosh", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "div", "dot",
    "dot_general", "dtype", "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim", "empty", "eq", "erf",
    "erf_inv", "erfc", "exp", "exp2", "expand_dims", "expm1", "floor", "full", "full_like", "ge", "gt", "imag",
    "index_in_dim", "index_take", "integer_pow", "iota", "is_finite", "le", "log", "log1p", "logistic", "lt", "max",
    "min", "mul", "ne", "neg", "pad", "population_count", "pow", "real", "reciprocal", "reduce_and", "reduce_max",
    "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "rem", "reshape", "rev", "round", "RoundingMethod",
    "rsqrt", "select", "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sin",
    "sinh", "slice", "slice_in_dim", "sort", "sort_key_val", "split", "sqrt", "square", "squeeze", "stack",
    "sub", "tan", "tanh", "tile", "top_k", "transpose", "unstack",
]


def _of_two(name, f):
    def op(x, y):
        if type(x) in (int, float, builtins.complex) or type(y) in (int, float, builtins.complex):
            return f(x, y)
        x, y = tnp.asarray(x), tnp.asarray(y)
        if x.dtype != y.dtype and not (x.weak_type or y.weak_type):
            raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {x.dtype}, {y.dtype}. "
                            f"(tnp has functions that promote.)")
        if x.ndim != y.ndim and x.ndim and y.ndim:
            raise TypeError(f"lax.{name}: arrays must have same number of dimensions, got {x.ndim}, {y.ndim}.")
        return f(x, y)

    op.__name__, op.__doc__ = name, f.__doc__
    return op


add, sub, mul = _of_two("add", _core.add), _of_two("sub", _core.subtract), _of_two("mul", _core.multiply)
div = _of_two("div", _core.truncated_divide)
max, min = _of_two("max", _core.maximum), _of_two("min", _core.minimum)  # noqa: A001
pow, atan2 = _of_two("pow", _core.power), _of_two("atan2", tnp.arctan2)  # noqa: A001
eq, ne, lt = _of_two("eq", _core.equal), _of_two("ne", _core.not_equal), _of_two("lt", _core.less)
le, gt = _of_two("le", _core.less_equal), _of_two("gt", _core.greater)
ge = _of_two("ge", _core.greater_equal)
bitwise_and, bitwise_or = _of_two("and", _core.bitwise_and), _of_two("or", _core.bitwise_or)
bitwise_xor, shift_left = _of_two("xor", _core.bitwise_xor), _of_two("shift_left", _core.left_shift)
complex = _of_two("complex", _core.complex)  # noqa: A001
bitwise_not = _core.invert
dtype = tnp.dtype
broadcast_shapes = tnp.broadcast_shapes


def _remainder(x, y):
    """What division toward zero leaves, with the sign of x; x itself where integers are divided by 0."""
    rest = _core.fmod(x, y)
    return rest if rest.dtype.kind == "f" else _core.where(_core.equal(y, 0), x, rest)


rem = _of_two("rem", _remainder)


def conj(x):
    """The complex conjugate, complex also of real numbers."""
    x = tnp.asarray(x)
    return _core.conj(x) if x.dtype.kind == "c" else _core.complex(x, _core.multiply(x, 0))


def population_count(x):
    """How many bits are set, in the dtype of x; of negative numbers those of their two's complement.

    >>> population_count(tnp.array([3, -1], tnp.int8)).tolist()
    [2, 8]
    """
    x = tnp.asarray(x)
    if x.dtype.kind not in "iu":
        raise TypeError(f"population_count does not accept dtype {x.dtype}.")
    return _core.convert(tnp.bitwise_count(_core.convert(x, f"uint{8 * x.dtype.itemsize}")), x.dtype)


class RoundingMethod:
    """How round() takes halves."""

    AWAY_FROM_ZERO, TO_NEAREST_EVEN = 0, 1


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):  # noqa: A001
    """The nearest integer; halves away from zero, or to even."""
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return _core.rint(x)
    size = _core.floor(_core.abs(x))
    return _core.sign(x) * (size + _core.convert(_core.greater_equal(_core.abs(x) - size, 0.5), tnp.asarray(x).dtype))


def shift_right_arithmetic(x, y):
    """The bits of x moved y places down; the sign comes in from the left."""
    x = tnp.asarray(x)
    if x.dtype.kind == "i":
        return _core.right_shift(x, y)
    signed = _core.convert(x, f"int{8 * x.dtype.itemsize}")
    return _core.convert(_core.right_shift(signed, _core.convert(y, signed.dtype)), x.dtype)


def shift_right_logical(x, y):
    """The bits of x moved y places down; zeros come in from the left."""
    x = tnp.asarray(x)
    if x.dtype.kind == "u":
        return _core.right_shift(x, y)
    width = 8 * x.dtype.itemsize
    # Without the sign, then the bit of the sign where it goes.
    rest = _core.right_shift(x & int(np.iinfo(x.dtype).max), y)
    moved = _core.left_shift(_core.convert(1, x.dtype), width - 1 - y)
    y = _core.convert(y, x.dtype)
    made = _core.where(_core.less(x, 0), rest | _core.where(_core.equal(y, 0), int(np.iinfo(x.dtype).min), moved), rest)
    return _core.where(_core.greater_equal(y, width) | _core.less(y, 0), 0, made)


def clz(x):
    """How many bits before the first one that is set are not.

    >>> clz(tnp.array([0, 1, 255], tnp.uint8)).tolist()
    [8, 7, 0]
    """
    x = tnp.asarray(x)
    if x.dtype.kind not in "iu":
        raise TypeError(f"clz does not accept dtype {x.dtype}.")
    width = 8 * x.dtype.itemsize
    bits, shift = _core.convert(x, f"uint{width}"), 1
    while shift < width:  # every bit behind the first one set
        bits, shift = bits | _core.right_shift(bits, np.dtype(f"uint{width}").type(shift)), 2 * shift
    return _core.convert(width - _core.convert(population_count(bits), "int32"), x.dtype)


def integer_pow(x, y):
    """x to a power that is a Python int."""
    return _core.power(x, operator.index(y))


def reciprocal(x):
    """1 / x."""
    return _core.true_divide(1, x)


def erfc(x):
    """1 - erf(x), exact where that is small: within 4 units of the last place until it underflows.

    >>> float(erfc(6.0))
    2.1519736712498913e-17
    """
    return _core.erfc(x)


def clamp(min, x, max):  # noqa: A002
    """x limited to [min, max]; at the ends its derivative is 0."""
    x = tnp.asarray(x)
    min, max = _core.convert(min, x.dtype), _core.convert(max, x.dtype)
    inside = _core.less(min, x) & _core.less(x, max)
    return _core.where(inside, x, _core.clamp(min, _core.stop_gradient(x), max))


def select(pred, on_true, on_false):
    """on_true where the predicate holds, else on_false."""
    return _core.where(pred, on_true, on_false)


def select_n(which, *cases):
    """The case that `which` names, element by element."""
    which = tnp.asarray(which)
    if which.dtype.kind == "b":
        if len(cases) > 2:
            raise TypeError("select_n: a bool chooses of two cases.")
        return _core.where(which, cases[-1], cases[0])
    made = cases[-1]
    for i, case in reversed(list(enumerate(cases[:-1]))):
        made = _core.where(_core.less_equal(which, i), case, made)
    return tnp.asarray(made)


def convert_element_type(operand, new_dtype):
    """The values in another dtype."""
    return _core.convert(operand, new_dtype)


# --- shapes ---


def reshape(operand, new_sizes, dimensions=None):
    """The same elements in another shape."""
    operand = operand if dimensions is None else _core.transpose(operand, list(dimensions))
    return _core.reshape(operand, tuple(new_sizes))


def transpose(operand, permutation):
    """Axis i of the result is axis permutation[i]."""
    return _core.transpose(operand, list(permutation))


def rev(operand, dimensions):
    """The elements the other way round along axes."""
    return _core.rev(operand, list(dimensions))


def squeeze(array, dimensions):
    """Axes of size 1 taken away."""
    return tnp.squeeze(array, tuple(dimensions))


def expand_dims(array, dimensions):
    """Axes of size 1 more."""
    return tnp.expand_dims(array, tuple(dimensions))


def broadcast(operand, sizes):
    """Axes of these sizes more, in front."""
    operand = tnp.asarray(operand)
    return _core.broadcast_to(operand, (*sizes, *operand.shape))


def broadcast_in_dim(operand, shape, broadcast_dimensions):
    """Axis i becomes axis broadcast_dimensions[i] of the shape."""
    order = np.argsort(broadcast_dimensions, kind="stable")
    if list(order) != list(range(len(order))):
        operand, broadcast_dimensions = _core.transpose(operand, order.tolist()), np.sort(broadcast_dimensions).tolist()
    return _core.broadcast_in_dim(operand, shape, list(broadcast_dimensions))


def broadcast_to_rank(x, rank):
    """Axes of size 1 more in front, up to a rank."""
    return _core.reshape(x, (1,) * (rank - tnp.ndim(x)) + tnp.shape(x))


def broadcast_like(arr, like_arr):
    """The array in the shape of another.

    >>> broadcast_like(1, tnp.zeros((2, 2))).tolist()
    [[1, 1], [1, 1]]
    """
    return _core.broadcast_to(arr, tnp.shape(like_arr))


def collapse(operand, start_dimension, stop_dimension=None):
    """Several axes as one."""
    shape = tnp.shape(operand)
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    return _core.reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))




def concatenate(operands, dimension):
    """Arrays one behind the other."""
    return _core.concatenate(list(operands), operator.index(dimension))


def stack(operands, axis=0):
    """Arrays of one shape and dtype along a new axis.

    >>> stack([tnp.zeros(2), tnp.ones(2)], axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    operands = [tnp.asarray(x) for x in operands]
    if not operands or any(x.shape != operands[0].shape for x in operands):
        raise TypeError(f"lax.stack: arrays of one shape, not {[x.shape for x in operands]}.")
    return _core.stack(operands, _axis(axis, operands[0].ndim + 1))


def unstack(x, axis=0):
    """The parts along an axis, a tuple.

    >>> [y.tolist() for y in unstack(tnp.arange(4).reshape(2, 2), axis=1)]
    [[0, 2], [1, 3]]
    """
    return tuple(tnp.unstack(x, axis=axis))


def pad(operand, padding_value, padding_config):
    """`padding_value` before (low), behind (high) and between (interior) the elements of each axis."""
    low, high, interior = ([c[i] for c in padding_config] for i in range(3))
    return _core.pad(operand, padding_value, low, high, interior)


def slice(operand, start_indices, limit_indices, strides=None):  # noqa: A001
    """The elements start, start + stride, … below limit of each axis."""
    return _core.slice(operand, tuple(start_indices), tuple(limit_indices), [] if strides is None else list(strides))


def slice_in_dim(operand, start_index, limit_index, stride=1, axis=0):
    """The elements of one axis; negative indices count from the end."""
    operand = tnp.asarray(operand)
    axis = _axis(axis, operand.ndim)
    n = operand.shape[axis]
    start = 0 if start_index is None else start_index + n if start_index < 0 else start_index
    limit = n if limit_index is None else limit_index + n if limit_index < 0 else limit_index
    starts, limits, strides = [0] * operand.ndim, list(operand.shape), [1] * operand.ndim
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return _core.slice(operand, starts, limits, strides)


def index_in_dim(operand, index, axis=0, keepdims=True):
    """One element of an axis."""
    n = tnp.shape(operand)[axis]
    at = index + n if index < 0 else index
    if not 0 <= at < n:
        raise ValueError(f"index {index} is out of bounds for axis {axis} with size {n}")
    made = slice_in_dim(operand, at, at + 1, 1, axis)
    return made if keepdims else tnp.squeeze(made, axis)


def _wrapped(index, n):
    """An index that counts from the end where it is negative, as jax.lax has it for dynamic ones."""
    if isinstance(index, (int, np.integer)):
        return index + n if index < 0 else index
    return _core.where(_core.less(index, 0), _core.add(index, n), index)


def _starts(operand, indices):
    indices = list(indices)
    kinds = [tnp.asarray(i).dtype for i in indices]
    if any(k.kind not in "iu" for k in kinds):
        raise TypeError("index arguments to dynamic_slice must be integers")
    indices = [_core.convert(i, "int32") if k.itemsize < 4 else i for i, k in zip(indices, kinds)]
    return [_wrapped(i, n) for i, n in zip(indices, tnp.shape(operand))]


def dynamic_slice(operand, start_indices, slice_sizes):
    """The part of these sizes that starts at indices, which may be traced; moved inside where it would reach out."""
    return _core.dynamic_slice(operand, _starts(operand, start_indices), tuple(slice_sizes))


def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0):
    """The same along one axis."""
    shape = list(tnp.shape(operand))
    axis = _axis(axis, len(shape))
    starts = [0] * len(shape)
    starts[axis], shape[axis] = start_index, operator.index(slice_size)
    return dynamic_slice(operand, starts, shape)


def dynamic_index_in_dim(operand, index, axis=0, keepdims=True):
    """One element of an axis, at an index that may be traced."""
    made = dynamic_slice_in_dim(operand, index, 1, axis)
    return made if keepdims else tnp.squeeze(made, axis)


def dynamic_update_slice(operand, update, start_indices):
    """The array with a part replaced that starts at indices, which may be traced."""
    return _core.dynamic_update_slice(operand, update, _starts(operand, start_indices))


def dynamic_update_slice_in_dim(operand, update, start_index, axis):
    """The same along one axis."""
    starts = [0] * tnp.ndim(operand)
    starts[_axis(axis, len(starts))] = start_index
    return dynamic_update_slice(operand, update, starts)


def dynamic_update_index_in_dim(operand, update, index, axis):
    """The array with one element of an axis replaced."""
    axis = _axis(axis, tnp.ndim(operand))
    if tnp.ndim(update) != tnp.ndim(operand):
        update = tnp.expand_dims(update, axis)
    return dynamic_update_slice_in_dim(operand, update, index, axis)


def index_take(src, idxs, axes):
    """The elements at indices along several axes: the axes of the indices come first. Indices from the size of an axis
    on are the last element, those below minus the size the first."""
    src = tnp.asarray(src)
    axes = _axes(axes, src.ndim)
    moved = tnp.moveaxis(src, axes, list(range(len(axes))))
    return moved.at[tuple(idxs)].get(mode="clip")


def split(operand, sizes, axis=0):
    """Parts of these sizes along an axis. Throws ValueError where one is negative, or they are not all of it."""
    if any(n < 0 for n in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != tnp.shape(operand)[axis]:
        raise ValueError(f"split: sizes {list(sizes)} of an axis of {tnp.shape(operand)[axis]}.")
    ends = np.cumsum([0, *sizes])
    return [slice_in_dim(operand, int(a), int(b), 1, axis) for a, b in zip(ends, ends[1:])]


def tile(operand, reps):
    """The array again and again along each axis."""
    return tnp.tile(operand, tuple(reps))


def iota(dtype, size):
    """0, 1, 2, … below size."""
    return _core.iota(dtype, (size,), 0)


def broadcasted_iota(dtype, shape, dimension):
    """0, 1, 2, … along one axis."""
    return _core.iota(dtype, shape, operator.index(dimension))


def full(shape, fill_value, dtype=None):
    """An array of one value."""
    return _of_weak(tnp.full(shape, fill_value, dtype), fill_value if dtype is None else None)


def _of_weak(made, like):
    """Weakly typed where a number or array is."""
    return made if like is None else _core.with_weak(made, tnp.result_type(like, return_weak_type_flag=True)[1])


def full_like(x, fill_value, dtype=None, shape=None):
    """One value, in the shape and dtype of another array."""
    return _of_weak(tnp.full_like(x, fill_value, dtype, shape), x if dtype is None else None)


def empty(shape, dtype):
    """An array of zeros."""
    return tnp.zeros(shape, dtype)


# --- reductions ---


def _reduction(name, f):
    def reduce(operand, axes):
        return f(operand, _axes(tuple(axes), tnp.ndim(operand)), False)

    reduce.__name__, reduce.__doc__ = name, f.__doc__
    return reduce


reduce_sum, reduce_prod = _reduction("reduce_sum", _core.sum), _reduction("reduce_prod", _core.prod)
reduce_max, reduce_min = _reduction("reduce_max", _core.max), _reduction("reduce_min", _core.min)


def _bitwise(name, of_bools, combine, unit):
    def reduce(operand, axes):
        operand = tnp.asarray(operand)
        if operand.dtype.kind == "b":
            return of_bools(operand, _axes(tuple(axes), operand.ndim), False)
        if operand.dtype.kind not in "iu":
            raise TypeError(f"{name} does not accept dtype {operand.dtype}.")
        from tenon.lax._reduce import reduce as reduced

        return reduced(operand, _core.convert(unit(operand.dtype), operand.dtype), combine, tuple(axes))

    reduce.__name__ = name
    reduce.__doc__ = f"{'And' if name == 'reduce_and' else 'Or'} of the bits of the elements along axes, or of bools."
    return reduce


reduce_and = _bitwise("reduce_and", _core.all, _core.bitwise_and, lambda dtype: -1 if dtype.kind == "i" else np.iinfo(dtype).max)
reduce_or = _bitwise("reduce_or", _core.any, _core.bitwise_or, lambda dtype: 0)


def argmax(operand, axis, index_dtype):
    """Where the first largest element is."""
    return _core.convert(_core.argmax(operand, axis, False), index_dtype)


def argmin(operand, axis, index_dtype):
    """Where the first smallest element is."""
    return _core.convert(_core.argmin(operand, axis, False), index_dtype)


def _cumulative(name, f):
    def cumulative(operand, axis=0, reverse=False):
        return f(operand, _axis(axis, tnp.ndim(operand)), reverse)

    cumulative.__name__, cumulative.__doc__ = name, f.__doc__
    return cumulative


cumsum, cumprod = _cumulative("cumsum", _core.cumsum), _cumulative("cumprod", _core.cumprod)
cummax, cummin = _cumulative("cummax", _core.cummax), _cumulative("cummin", _core.cummin)
cumlogsumexp = _cumulative("cumlogsumexp", _core.cumlogsumexp)


def sort(operand, dimension=-1, is_stable=True, num_keys=1):
    """The elements in order along an axis; of several arrays all in the order of the first."""
    if isinstance(operand, (tuple, list)):
        return tuple(_core.sort_together(list(operand), num_keys, dimension))
    return _core.sort(operand, _axis(dimension, tnp.ndim(operand)), False)


def sort_key_val(keys, values, dimension=-1, is_stable=True):
    """Keys in order, and values in the keys' order."""
    return tuple(_core.sort_together([keys, values], 1, dimension))


def top_k(operand, k, *, axis=-1):
    """(the k largest elements along an axis, where they are, i32)."""
    moved = tnp.moveaxis(operand, axis, -1)
    return tuple(tnp.moveaxis(made, -1, axis) for made in _core.top_k(moved, operator.index(k)))


def approx_max_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1,
                 aggregate_to_topk=True):
    """(the k largest elements along an axis, where they are, i32): all of them are found, whatever the target.

    >>> approx_max_k(tnp.array([3.0, 1.0, 2.0]), 2)[1].tolist()
    [0, 2]
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1,
                 aggregate_to_topk=True):
    """(the k smallest elements along an axis, where they are, i32): all of them are found, whatever the target.

    >>> approx_min_k(tnp.array([3.0, 1.0, 2.0]), 2)[0].tolist()
    [1.0, 2.0]
    """
    values, at = top_k(_core.negative(operand), k, axis=reduction_dimension)
    return _core.negative(values), at


# --- products ---


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *, out_sharding=None):
    """Sums over pairs of axes: dimension_numbers is ((contracted of lhs, of rhs), (batch of lhs, of rhs))."""
    (contract_l, contract_r), (batch_l, batch_r) = dimension_numbers
    lhs, rhs = _of_one_dtype([lhs, rhs])
    if preferred_element_type is not None:
        # Summed in the wider dtype of both.
        met = tnp.promote_types(lhs.dtype, preferred_element_type)
        lhs, rhs = _core.convert(lhs, met), _core.convert(rhs, met)
    made = _core.dot_general(lhs, rhs, list(contract_l), list(contract_r), list(batch_l), list(batch_r))
    return made if preferred_element_type is None else _core.convert(made, preferred_element_type)


def dot(lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None, out_sharding=None):
    """Vectors and matrices multiplied, or with `dimension_numbers` what dot_general() is."""
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    return tnp.dot(lhs, rhs, preferred_element_type=preferred_element_type)


def batch_matmul(lhs, rhs, precision=None):
    """Products of matrices in the last two axes; the others are a batch."""
    return _core.matmul(lhs, rhs)
