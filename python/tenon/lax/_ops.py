"""Shapes, slices, reductions and products by the names of jax.lax."""

import builtins
import math
import operator

import numpy as np

from tenon import _core, _sizes
from tenon import numpy as tnp
from tenon.errors import DTypeError, ShapeError
from tenon.lax._reduce import reduce as reduced
from tenon.numpy._shapes import _axes, _axis, _of_one_dtype

__all__ = [
    "approx_max_k", "approx_min_k", "argmax", "argmin", "batch_matmul", "broadcast", "broadcast_in_dim",
    "broadcast_like", "broadcast_to_rank", "broadcasted_iota", "collapse", "concatenate", "cumlogsumexp", "cummax",
    "cummin", "cumprod", "cumsum", "dot", "dot_general", "dynamic_index_in_dim", "dynamic_slice",
    "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice", "dynamic_update_slice_in_dim",
    "empty", "expand_dims", "full", "full_like", "index_in_dim", "index_take", "iota", "pad", "reduce_and",
    "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reshape", "rev", "scaled_dot", "slice", "slice_in_dim",
    "sort", "sort_key_val", "split", "squeeze", "stack", "tile", "top_k", "transpose", "unstack",
]


# --- shapes ---


def reshape(operand, new_sizes, dimensions=None):
    """The same elements in another shape."""
    operand = operand if dimensions is None else _core.tn.transpose(operand, list(dimensions))
    return _core.tn.reshape(operand, tuple(new_sizes))


def transpose(operand, permutation):
    """Axis i of the result is axis permutation[i]."""
    return _core.tn.transpose(operand, list(permutation))


def rev(operand, dimensions):
    """The elements the other way round along axes."""
    return _core.tn.reverse(operand, list(dimensions))


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
        operand, broadcast_dimensions = _core.tn.transpose(operand, order.tolist()), np.sort(broadcast_dimensions).tolist()
    return _core.tn.broadcast_in_dim(operand, shape, list(broadcast_dimensions))


def broadcast_to_rank(x, rank):
    """Axes of size 1 more in front, up to a rank."""
    return _core.tn.reshape(x, (1,) * (rank - tnp.ndim(x)) + tnp.shape(x))


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
    return _core.tn.reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))




def concatenate(operands, dimension):
    """Arrays one behind the other."""
    return _core.tn.concatenate(list(operands), operator.index(dimension))


def stack(operands, axis=0):
    """Arrays of one shape and dtype along a new axis.

    >>> stack([tnp.zeros(2), tnp.ones(2)], axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    operands = [tnp.asarray(x) for x in operands]
    if not operands or any(x.shape != operands[0].shape for x in operands):
        raise ShapeError(f"lax.stack: arrays of one shape, not {[x.shape for x in operands]}.")
    return _core.tn.stack(operands, _axis(axis, operands[0].ndim + 1))


def unstack(x, axis=0):
    """The parts along an axis, a tuple.

    >>> [y.tolist() for y in unstack(tnp.arange(4).reshape(2, 2), axis=1)]
    [[0, 2], [1, 3]]
    """
    return tuple(tnp.unstack(x, axis=axis))


def pad(operand, padding_value, padding_config):
    """`padding_value` before (low), behind (high) and between (interior) the elements of each axis."""
    low, high, interior = ([c[i] for c in padding_config] for i in range(3))
    return _sizes.pad(tnp.asarray(operand), padding_value, low, high, interior)


def slice(operand, start_indices, limit_indices, strides=None):  # noqa: A001
    """The elements start, start + stride, … below limit of each axis."""
    return _core.tn.slice(operand, tuple(start_indices), tuple(limit_indices), [] if strides is None else list(strides))


def slice_in_dim(operand, start_index, limit_index, stride=1, axis=0):
    """The elements of one axis; negative indices count from the end."""
    operand = tnp.asarray(operand)
    axis = _axis(axis, operand.ndim)
    n = operand.shape[axis]
    start = 0 if start_index is None else start_index + n if start_index < 0 else start_index
    limit = n if limit_index is None else limit_index + n if limit_index < 0 else limit_index
    starts, limits, strides = [0] * operand.ndim, list(operand.shape), [1] * operand.ndim
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return _core.tn.slice(operand, starts, limits, strides)


def index_in_dim(operand, index, axis=0, keepdims=True):
    """One element of an axis."""
    n = tnp.shape(operand)[axis]
    at = index + n if index < 0 else index
    if not 0 <= at < n:
        raise ShapeError(f"lax.index_in_dim: index {index} is out of bounds for axis {axis} with size {n}")
    made = slice_in_dim(operand, at, at + 1, 1, axis)
    return made if keepdims else tnp.squeeze(made, axis)


def _wrapped(index, n):
    """An index that counts from the end where it is negative, as jax.lax has it for dynamic ones."""
    if isinstance(index, (int, np.integer)):
        return index + n if index < 0 else index
    return _core.where(_core.less(index, 0), _core.add(index, n), index)


def _starts(name, operand, indices):
    indices = list(indices)
    arrays = [i for i in indices if type(i) is not int]
    kinds = {tnp.asarray(i).dtype for i in arrays if not getattr(i, "weak_type", False)}
    if len(kinds) > 1 or any(tnp.asarray(i).dtype.kind not in "iu" for i in arrays):
        raise DTypeError(f"lax.{name}: index arguments to {name} are integers of one dtype, not "
                         f"{', '.join(str(tnp.result_type(i)) for i in indices)}.")
    indices = [i if type(i) is int or i.dtype.itemsize >= 4 else _core.convert(i, "int32")
               for i in (i if type(i) is int else tnp.asarray(i) for i in indices)]
    return [_wrapped(i, n) for i, n in zip(indices, tnp.shape(operand))]


def dynamic_slice(operand, start_indices, slice_sizes):
    """The part of these sizes that starts at indices, which may be traced; moved inside where it would reach out."""
    return _core.tn.dynamic_slice(operand, _starts("dynamic_slice", operand, start_indices), tuple(slice_sizes))


def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0):
    """The same along one axis."""
    shape = list(tnp.shape(operand))
    axis = _axis(axis, len(shape))
    starts = [0] * len(shape)
    starts[axis], shape[axis] = start_index, _sizes.size(slice_size)
    return dynamic_slice(operand, starts, shape)


def dynamic_index_in_dim(operand, index, axis=0, keepdims=True):
    """One element of an axis, at an index that may be traced."""
    made = dynamic_slice_in_dim(operand, index, 1, axis)
    return made if keepdims else tnp.squeeze(made, axis)


def dynamic_update_slice(operand, update, start_indices):
    """The array with a part replaced that starts at indices, which may be traced."""
    return _core.tn.dynamic_update_slice(operand, update, _starts("dynamic_update_slice", operand, start_indices))


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
    """The elements at indices along several axes, modulo their sizes: the axes of the indices come first.

    >>> index_take(tnp.arange(4), (tnp.array([-1, 5]),), (0,)).tolist()
    [3, 1]
    """
    src = tnp.asarray(src)
    axes = _axes(axes, src.ndim)
    moved = tnp.moveaxis(src, axes, list(range(len(axes))))
    return moved[tuple(tnp.remainder(i, n) for i, n in zip(map(tnp.asarray, idxs), moved.shape))]


def split(operand, sizes, axis=0):
    """Parts of these sizes along an axis. Throws ValueError where one is negative, or they are not all of it."""
    if any(n < 0 for n in sizes):
        raise ShapeError(f"lax.split: Sizes passed to split must be nonnegative, got {list(sizes)}")
    axis = _axis(axis, tnp.ndim(operand))
    if sum(sizes) != tnp.shape(operand)[axis]:
        raise ShapeError(f"split: sizes {list(sizes)} of an axis of {tnp.shape(operand)[axis]}.")
    ends = np.cumsum([0, *sizes])
    return [slice_in_dim(operand, int(a), int(b), 1, axis) for a, b in zip(ends, ends[1:])]


def tile(operand, reps):
    """The array again and again along each axis."""
    return tnp.tile(operand, tuple(reps))


def iota(dtype, size):
    """0, 1, 2, … below size."""
    return _core.tn.iota(dtype, (size,), 0)


def broadcasted_iota(dtype, shape, dimension):
    """0, 1, 2, … along one axis."""
    return _core.tn.iota(dtype, shape, operator.index(dimension))


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


def _reduction(name, f, text):
    def reduce(operand, axes):
        return f(operand, _axes(tuple(axes), tnp.ndim(operand)))

    reduce.__name__, reduce.__doc__ = name, text
    return reduce


reduce_sum = _reduction("reduce_sum", _core.tn.sum, "The sum along axes.")
reduce_prod = _reduction("reduce_prod", _core.tn.prod, "The product along axes.")
reduce_max = _reduction("reduce_max", _core.tn.order.largest, "The largest element along axes; NaN where any is.")
reduce_min = _reduction("reduce_min", _core.tn.order.smallest, "The smallest element along axes; NaN where any is.")


def _bitwise(name, of_bools, combine, unit):
    def reduce(operand, axes):
        operand = tnp.asarray(operand)
        if operand.dtype.kind == "b":
            return of_bools(operand, _axes(tuple(axes), operand.ndim))
        if operand.dtype.kind not in "iu":
            raise DTypeError(f"{name} does not accept dtype {operand.dtype}.")
        return reduced(operand, _core.convert(unit(operand.dtype), operand.dtype), combine, tuple(axes))

    reduce.__name__ = name
    reduce.__doc__ = f"{'And' if name == 'reduce_and' else 'Or'} of the bits of the elements along axes, or of bools."
    return reduce


reduce_and = _bitwise("reduce_and", _core.all, _core.bitwise_and, lambda dtype: -1 if dtype.kind == "i" else np.array(np.iinfo(dtype).max, dtype))
reduce_or = _bitwise("reduce_or", _core.tn.any, _core.bitwise_or, lambda dtype: 0)


def _extreme_index(name, f, which):
    def op(operand, axis, index_dtype):
        shape = tnp.shape(operand)
        if not 0 <= axis < len(shape):
            raise ShapeError(f"lax.{name}: Invalid axis {axis} for operand shape {shape}: it counts from the front.")
        kind = tnp.dtype(index_dtype)
        if kind.kind not in "iu":
            raise DTypeError(f"lax.{name}: index_dtype must be an integer type, but got {kind}.")
        return _core.convert(f(operand, axis), index_dtype)

    op.__name__, op.__doc__ = name, f"Where the first {which} element along an axis, counted from the front, is."
    return op


argmax, argmin = _extreme_index("argmax", _core.tn.argmax, "largest"), _extreme_index("argmin", _core.tn.argmin, "smallest")


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
        return tuple(_core.tn.sort_together(list(operand), num_keys, dimension))
    return _core.tn.sort(operand, _axis(dimension, tnp.ndim(operand)), descending=False)


def sort_key_val(keys, values, dimension=-1, is_stable=True):
    """Keys in order, and values in the keys' order."""
    return tuple(_core.tn.sort_together([keys, values], 1, dimension))


def top_k(operand, k, *, axis=-1):
    """(the k largest elements along an axis, where they are, i32)."""
    moved = tnp.moveaxis(operand, axis, -1)
    return tuple(tnp.moveaxis(made, -1, axis) for made in _core.tn.top_k(moved, k))


def _with_axes(name, x):
    if tnp.ndim(x) == 0:
        raise ShapeError(f"lax.{name}: a number has no axis.")
    return x


def approx_max_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1,
                 aggregate_to_topk=True):
    """(the k largest elements along an axis, where they are, i32): all of them are found, whatever the target.

    >>> approx_max_k(tnp.array([3.0, 1.0, 2.0]), 2)[1].tolist()
    [0, 2]
    """
    return top_k(_with_axes("approx_max_k", operand), k, axis=reduction_dimension)


def approx_min_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1,
                 aggregate_to_topk=True):
    """(the k smallest elements along an axis, where they are, i32): all of them are found, whatever the target.

    >>> approx_min_k(tnp.array([3.0, 1.0, 2.0]), 2)[0].tolist()
    [1.0, 2.0]
    """
    values, at = top_k(_core.negative(_with_axes("approx_min_k", operand)), k, axis=reduction_dimension)
    return _core.negative(values), at


# --- products ---


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *, out_sharding=None):
    """Sums over pairs of axes: dimension_numbers is ((contracted of lhs, of rhs), (batch of lhs, of rhs))."""
    (contract_l, contract_r), (batch_l, batch_r) = dimension_numbers
    return _core.tn.dot_general(lhs, rhs, (contract_l, contract_r, batch_l, batch_r), preferred_element_type)


def scaled_dot(lhs, rhs, *, lhs_scale=None, rhs_scale=None, dimension_numbers=None, preferred_element_type=None):
    """dot_general() of lhs · lhs_scale and rhs · rhs_scale, the elements of scales counting for blocks of theirs; in bfloat16 where
    preferred_element_type does not say otherwise. Without dimension_numbers of matrices, with a batch in front.

    >>> scaled_dot(tnp.ones((1, 4)), tnp.ones((4, 1)), lhs_scale=tnp.array([[1.0, 2.0]]), preferred_element_type="float32").tolist()
    [[6.0]]
    """
    if dimension_numbers is None:
        rank = tnp.ndim(lhs)
        if rank < 2:
            raise ShapeError(f"scaled_dot: of matrices, or batches of them, and lhs has {rank} axes.")
        dimension_numbers = ((rank - 1,), (rank - 2,)), (range(rank - 2), range(rank - 2))
    (contract_l, contract_r), (batch_l, batch_r) = dimension_numbers
    return _core.tn.scaled_dot(lhs, rhs, a_scale=lhs_scale, b_scale=rhs_scale, axes=(contract_l, contract_r, batch_l, batch_r),
                               dtype=preferred_element_type or "bfloat16")


def dot(lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None, out_sharding=None):
    """Vectors and matrices multiplied, or with `dimension_numbers` what dot_general() is."""
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    return tnp.dot(lhs, rhs, preferred_element_type=preferred_element_type)


def batch_matmul(lhs, rhs, precision=None):
    """Products of matrices in the last two axes; the others are a batch."""
    return _core.tn.matmul(lhs, rhs)
