"""Shapes, and elements that move and never change."""

import builtins
import math
import operator

import numpy as np

from tenon import _core, _sizes
from tenon._core import Array
from tenon.errors import ShapeError, TreeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import array, asarray

__all__ = [
    "append", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate", "dsplit", "dstack", "expand_dims",
    "flip", "fliplr", "flipud", "hsplit", "hstack", "index_exp", "matrix_transpose", "moveaxis", "ndim", "newaxis",
    "permute_dims", "ravel", "repeat", "reshape", "resize", "roll", "rollaxis", "rot90", "s_", "shape", "size",
    "split", "squeeze", "stack", "swapaxes", "tile", "transpose", "unstack", "vsplit", "vstack",
]

newaxis = None
index_exp, s_ = np.index_exp, np.s_


def shape(a):
    """The sizes of the axes."""
    return a.shape if isinstance(a, Array) else np.shape(a)


def ndim(a):
    """The number of axes."""
    return a.ndim if isinstance(a, Array) else np.ndim(a)


def size(a, axis=None):
    """The number of elements, or the size of an axis or of several together."""
    if axis is None:
        return asarray(a).size
    return math.prod(shape(a)[i] for i in _axes(axis, ndim(a)))


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that is not there: NumPy's kind of it, too."""


def _axis(axis, rank, name="axis"):
    at = operator.index(axis)
    if not -rank <= at < rank:
        raise AxisError(f"{name} {axis} is out of bounds for array of dimension {rank}")
    return at % rank


def _axes(axes, rank):
    axes = axes if isinstance(axes, (tuple, list)) or np.ndim(axes) == 1 else (axes,)
    made = [_axis(a, rank) for a in axes]
    if len({*made}) != len(made):
        raise ShapeError(f"an axis is named twice: {tuple(map(operator.index, axes))} of {rank} axes")
    return made


def reshape(a, shape, order="C", *, copy=None):
    """The same elements in another shape; one size may be -1."""
    if order == "F":
        if not isinstance(shape, (tuple, list)):
            shape = (shape,)
        return _core.tn.transpose(_core.tn.reshape(asarray(a).T, tuple(shape)[::-1]), list(range(len(shape)))[::-1])
    return _core.tn.reshape(a, shape)


def ravel(a, order="C"):
    """All elements along one axis."""
    return reshape(asarray(a), -1, order)


def transpose(a, axes=None):
    """The axes in another order; reversed where none is given."""
    a = asarray(a)
    if axes is not None and len({i % builtins.max(a.ndim, 1) for i in map(operator.index, axes)}) != len(axes):
        raise ShapeError(f"transpose: the axes {tuple(axes)} are no permutation.")
    return a.T if axes is None else _core.tn.transpose(a, _axes(axes, a.ndim))


permute_dims = transpose


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    return swapaxes(x, -1, -2)


def _adjoint(x):
    """Matrices transposed, of the conjugate numbers."""
    return _core.conj(matrix_transpose(x))


def swapaxes(a, axis1, axis2):
    """Two axes exchanged."""
    a = asarray(a)
    order = list(range(a.ndim))
    i, j = _axis(axis1, a.ndim), _axis(axis2, a.ndim)
    order[i], order[j] = j, i
    return _core.tn.transpose(a, order)


def moveaxis(a, source, destination):
    """Axes moved to other places."""
    a = asarray(a)
    source, destination = _axes(source, a.ndim), _axes(destination, a.ndim)
    if len(source) != len(destination):
        raise ShapeError("moveaxis: Inconsistent number of elements: source and destination name as many axes. "
                         f"They are {source} and {destination}.")
    order = [i for i in range(a.ndim) if i not in source]
    for to, at in sorted(zip(destination, source)):
        order.insert(to, at)
    return _core.tn.transpose(a, order)


def rollaxis(a, axis, start=0):
    """An axis moved before another."""
    a = asarray(a)
    axis, start = _axis(axis, a.ndim), start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def expand_dims(a, axis):
    """Axes of size 1 more, at these places of the result."""
    a = asarray(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for at in sorted(_axes(axes, a.ndim + len(axes))):
        a = _core.tn.expand_dims(a, at)
    return a


def squeeze(a, axis=None):
    """Axes of size 1 taken away: those named, or all."""
    a = asarray(a)
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else _axes(axis, a.ndim)
    for at in sorted(axes, reverse=True):
        a = _core.tn.squeeze(a, at)
    return a


def broadcast_to(array, shape, *, out_sharding=None):
    """The array in a larger shape."""
    return _core.broadcast_to(array, shape)


def broadcast_shapes(*shapes):
    """The shape in which shapes meet."""
    return _sizes.broadcast(*(s if isinstance(s, (tuple, list)) else (s,) for s in shapes))


def broadcast_arrays(*args):
    """Arrays in the shape in which they meet, a tuple."""
    met = broadcast_shapes(*(shape(a) for a in args))
    return tuple(_core.broadcast_to(a, met) for a in args)


def atleast_1d(*arys):
    """Arrays with one axis at least."""
    made = [a if a.ndim > 0 else _core.tn.reshape(a, (1,)) for a in map(asarray, arys)]
    return made[0] if len(made) == 1 else made


def atleast_2d(*arys):
    """Arrays with two axes at least."""
    made = [a if a.ndim > 1 else _core.tn.reshape(a, (1, -1)) for a in map(asarray, arys)]
    return made[0] if len(made) == 1 else made


def atleast_3d(*arys):
    """Arrays with three axes at least."""
    made = []
    for a in map(asarray, arys):
        made.append(_core.tn.reshape(a, (1, -1, 1)) if a.ndim < 2 else _core.tn.expand_dims(a, 2) if a.ndim == 2 else a)
    return made[0] if len(made) == 1 else made


def _of_one_dtype(parts, dtype=None):
    met = _dtypes.result_type(*parts) if dtype is None else dtype
    return [p if p.dtype == met else _core.convert(p, met) for p in map(asarray, parts)]


def concatenate(arrays, axis=0, dtype=None):
    """Arrays one behind the other along an axis (None: all of their elements)."""
    if isinstance(arrays, (Array, np.ndarray)):
        arrays = list(arrays)
    if len(arrays) == 0:
        raise ShapeError("concatenate: Need at least one array to concatenate.")
    parts = _of_one_dtype(arrays, dtype)
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    return _core.with_weak(_core.tn.concatenate(parts, _axis(axis, parts[0].ndim)), dtype is None and _dtypes._meet(arrays)[1])


def concat(arrays, /, *, axis=0):
    """As concatenate."""
    return concatenate(arrays, axis)


def stack(arrays, axis=0, out=None, dtype=None):
    """Arrays of one shape along a new axis."""
    if isinstance(arrays, (Array, np.ndarray)):
        arrays = list(arrays)
    if len(arrays) == 0:
        raise ShapeError("stack: Need at least one array to stack.")
    parts = _of_one_dtype(arrays, dtype)
    return _core.with_weak(_core.tn.stack(parts, _axis(axis, parts[0].ndim + 1)), dtype is None and _dtypes._meet(arrays)[1])


def unstack(x, /, *, axis=0):
    """The parts along an axis, a tuple."""
    x = moveaxis(x, axis, 0)
    return tuple(x[i] for i in range(x.shape[0]))


def vstack(tup, dtype=None):
    """Arrays one below the other."""
    return concatenate([atleast_2d(a) for a in tup], 0, dtype)


def hstack(tup, dtype=None):
    """Arrays side by side."""
    parts = [atleast_1d(a) for a in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def dstack(tup, dtype=None):
    """Arrays one behind the other along the third axis."""
    return concatenate([atleast_3d(a) for a in tup], 2, dtype)


def column_stack(tup):
    """Vectors as columns."""
    return concatenate([_core.tn.reshape(a, (-1, 1)) if a.ndim < 2 else a for a in map(asarray, tup)], 1)


def block(arrays):
    """Arrays out of nested lists of blocks."""

    def depth(x):
        if isinstance(x, list) and not x:
            raise TreeError("block: List depths are mismatched: a list is empty.")
        if not isinstance(x, list):
            return 0
        depths = {depth(e) for e in x}
        if len(depths) > 1:
            raise TreeError(f"block: List depths are mismatched. There are {sorted(depths)}.")
        return 1 + depths.pop()

    levels = depth(arrays)
    rank = max([levels, *(ndim(leaf) for leaf in _flat(arrays))])

    def made(x, level):
        if not isinstance(x, list):
            x = asarray(x)
            return _core.tn.reshape(x, (1,) * (rank - x.ndim) + x.shape)
        return concatenate([made(e, level - 1) for e in x], axis=-level)

    return made(arrays, levels)


def _flat(x):
    if isinstance(x, list):
        for e in x:
            yield from _flat(e)
    else:
        yield x


def append(arr, values, axis=None):
    """`values` behind the array."""
    return concatenate([arr, values], axis)


def _whole(x):
    """The int that a number is, a real one too where it is whole."""
    return int(x) if getattr(x, "dtype", None) is not None and x.dtype.kind == "f" and x == int(x) else _sizes.size(x)


def _bounds(n, indices_or_sections, equal):
    name = "split" if equal else "array_split"
    if not _sizes.is_shape(indices_or_sections):
        parts = operator.index(_whole(indices_or_sections))
        if parts <= 0:
            raise _core.OptionError(f"{name}: number sections must be larger than 0. It is {parts}.")
        if equal and _core.same_size(n % parts, 0) is False:
            raise ShapeError(f"{name}: array split does not result in an equal division: {n} elements in {parts} parts")
        # The first parts have one element more, as many as are left over.
        return [n // parts * i + (0 if equal else _core.min_size(n % parts, i)) for i in range(parts + 1)]
    return [0, *map(_whole, indices_or_sections), n]


def _split(ary, indices_or_sections, axis, equal):
    ary = asarray(ary)
    axis = _axis(axis, ary.ndim)
    n = ary.shape[axis]
    if equal and not _sizes.is_shape(indices_or_sections) and not _sizes.known(n):
        parts = operator.index(_whole(indices_or_sections))
        if parts > 0 and _core.same_size(n % parts, 0) is None:  # that none is left over is looked at when it runs
            return list(_core.tn.split(ary, parts, axis))
    bounds = _bounds(n, indices_or_sections, equal)
    index = (slice(None),) * axis
    return [ary[(*index, slice(a, b))] for a, b in zip(bounds, bounds[1:])]


def split(ary, indices_or_sections, axis=0):
    """Equal parts along an axis, or those between indices."""
    return _split(ary, indices_or_sections, axis, True)


def array_split(ary, indices_or_sections, axis=0):
    """Parts along an axis, of sizes that differ by one at most."""
    return _split(ary, indices_or_sections, axis, False)


def vsplit(ary, indices_or_sections):
    """split() along the first axis."""
    return split(ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections):
    """split() along the second axis, or the only one."""
    return split(ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


def dsplit(ary, indices_or_sections):
    """split() along the third axis."""
    return split(ary, indices_or_sections, 2)


def flip(m, axis=None):
    """The elements the other way round along axes (None: all)."""
    m = asarray(m)
    return _core.tn.reverse(m, list(range(m.ndim)) if axis is None else _axes(axis, m.ndim))


def fliplr(m):
    """The columns the other way round."""
    return flip(m, 1)


def flipud(m):
    """The rows the other way round."""
    return flip(m, 0)


def rot90(m, k=1, axes=(0, 1)):
    """The array turned k times by a right angle."""
    m = asarray(m)
    a, b = _axes(axes, m.ndim)
    return _core.tn.rot90(m, k, a, b)


def roll(a, shift, axis=None):
    """The elements moved along axes, those that fall out at the end coming in at the beginning."""
    a = asarray(a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    axes = [_axis(i, a.ndim) for i in (axis if isinstance(axis, (tuple, list)) else [axis])]
    several = isinstance(shift, (tuple, list)) or np.ndim(shift) == 1
    shifts = [s for s in shift] if several else [shift] * len(axes)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    for by, at in zip(shifts, axes):
        a = _core.tn.roll(a, by if isinstance(by, Array) and _core.is_traced(by) else _sizes.size(by), at)
    return a


def tile(A, reps):
    """The array again and again along each axis."""
    return _core.tn.tile(asarray(A), _sizes.shape(reps))


def repeat(a, repeats, axis=None, *, total_repeat_length=None):
    """Each element several times."""
    a = asarray(a)
    a = ravel(a) if axis is None or a.ndim == 0 else a
    axis = 0 if axis is None else _axis(axis, a.ndim)
    repeats = np.asarray(repeats) if isinstance(repeats, (list, tuple)) else repeats
    if isinstance(repeats, Array) and _core.is_traced(repeats) and repeats.ndim == 0 and total_repeat_length is None:
        repeats = _sizes.size(repeats)
    total_repeat_length = None if total_repeat_length is None else _sizes.size(total_repeat_length)
    if total_repeat_length is not None and ndim(repeats) == 1 and repeats.shape[0] == 1:
        repeats = repeats[0]
    if ndim(repeats) == 0 and total_repeat_length is not None and isinstance(repeats, Array):
        repeats = _core.broadcast_to(repeats, (a.shape[axis],))
    if isinstance(repeats, _core.Dim) or ndim(repeats) == 0 and not (isinstance(repeats, Array) and _core.is_traced(repeats)):
        made = _core.tn.repeat(a, _sizes.size(repeats), axis)
        return made if total_repeat_length is None else _fit(made, axis, total_repeat_length)
    if total_repeat_length is None:
        repeats = np.asarray(repeats) if np.size(repeats) else np.zeros(0, int)
        where = np.repeat(np.arange(a.shape[axis]), repeats)
        return _core.take(a, array(where), axis, "clip", None, True, False)
    return _core.tn.repeat(a, asarray(repeats), total_repeat_length, axis)


def _fit(a, axis, n):
    if a.shape[axis] == 0:
        return a
    at = _core.minimum(_core.tn.iota("int32", (n,), 0), a.shape[axis] - 1)
    return _core.take(a, at, axis, "clip", None, True, False)


def resize(a, new_shape):
    """The elements again and again, as many as the shape has."""
    new_shape = _sizes.shape(new_shape)
    a, n = ravel(a), _sizes.elements(new_shape)
    if n == 0 or a.size == 0:
        return _core.full(new_shape, 0, a.dtype)
    return reshape(tile(a, _sizes.ceil_div(n, a.size))[:n], new_shape)
