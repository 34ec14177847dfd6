"""Reductions by functions of the user's."""

import functools
import math

import numpy as np

from tenon import _core, tree
from tenon import numpy as tnp
from tenon._repeated import written
from tenon._transforms import vmap
from tenon.errors import DTypeError, ShapeError, TreeError
from tenon.lax._elementwise import add, bitwise_and, bitwise_or, bitwise_xor, max, min, mul  # noqa: A004
from tenon.numpy._shapes import _axes

__all__ = ["reduce", "reduce_xor"]


def _pairwise(combine, arrays):
    """The elements along the first axis combined with their neighbours, then those, and so on, in order."""
    n = arrays[0].shape[0]
    while n > 1:
        half = n // 2
        made = combine([x[0:2 * half:2] for x in arrays], [x[1:2 * half:2] for x in arrays])
        arrays = [_core.tn.concatenate([m, x[2 * half:]], 0) if n % 2 else m for m, x in zip(made, arrays)]
        n -= half
    return [x[0] for x in arrays]


def _gathered(x, axes):
    """The axes as one, the first."""
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = _core.tn.transpose(x, list(axes) + rest)
    return _core.tn.reshape(moved, (math.prod(x.shape[i] for i in axes), *(x.shape[i] for i in rest)))


# Functions whose reductions the library has, by its names of them.
_NAMES = {written(f): name for name, functions in {
    "add": (add, tnp.add, _core.add), "mul": (mul, tnp.multiply, _core.multiply), "max": (max, tnp.maximum, _core.maximum),
    "min": (min, tnp.minimum, _core.minimum), "and": (bitwise_and, tnp.bitwise_and, _core.bitwise_and),
    "or": (bitwise_or, tnp.bitwise_or, _core.bitwise_or), "xor": (bitwise_xor, tnp.bitwise_xor, _core.bitwise_xor)}.items()
    for f in functions}
_REDUCTIONS = {"add": _core.tn.sum, "mul": _core.tn.prod, "max": _core.tn.order.largest, "min": _core.tn.order.smallest}


def library_name(computation):
    """What the library calls the reduction by a function of two elements, or None."""
    try:
        return _NAMES.get(written(computation))
    except TypeError:  # not hashable
        return None


def reduce(operands, init_values, computation, dimensions, out_sharding=None):
    """The elements along axes combined by `computation`, beginning with `init_values`; trees of arrays of one shape, and
    of numbers, are combined together. `computation` takes two elements (trees of them) and is associative: in which
    pairs it is applied is not said.

    >>> from tenon import lax
    >>> reduce(tnp.array([[1, 5], [7, 3]]), 4, lax.max, (1,)).tolist()
    [5, 7]
    >>> largest = reduce((tnp.array([2.0, 9.0, 4.0]), tnp.arange(3)), (-tnp.inf, -1),
    ...                  lambda x, y: tuple(tnp.where(x[0] >= y[0], p, q) for p, q in zip(x, y)), (0,))
    >>> [float(x) for x in largest]
    [9.0, 1.0]
    """
    leaves, structure = tree.flatten(operands)
    arrays = [tnp.asarray(x) for x in leaves]
    inits = tree.leaves(init_values)
    if not arrays or tree.structure(init_values) != structure:
        raise TreeError("lax.reduce: the operands and the initial values are trees of one structure, not "
                        f"{structure} and {tree.structure(init_values)}.")
    if any(x.shape != arrays[0].shape for x in arrays):
        raise ShapeError(f"lax.reduce: operands have one shape, not {[x.shape for x in arrays]}.")
    if any(np.shape(v) for v in inits):
        raise ShapeError(f"lax.reduce: each initial value is one number, not of shapes {[np.shape(v) for v in inits]}.")
    inits = [_core.convert(v, x.dtype) for v, x in zip(inits, arrays)]
    axes = _axes(tuple(dimensions), arrays[0].ndim)
    flat = [_gathered(x, axes) for x in arrays]
    shape = flat[0].shape[1:]
    starts = [_core.broadcast_to(v, shape) for v in inits]
    if 0 in flat[0].shape:
        return structure.unflatten(starts)
    known = _REDUCTIONS.get(library_name(computation)) if len(arrays) == 1 and arrays[0].dtype.kind != "b" else None
    if known is not None:
        return structure.unflatten([_core.convert(computation(starts[0], known(flat[0], 0)), arrays[0].dtype)])
    combine = functools.partial(_of_elements, computation, structure)
    made = combine(starts, _pairwise(combine, flat))
    return structure.unflatten(made)


def _of_elements(computation, structure, a, b):
    """`computation`, of single elements, for all elements."""

    def one(x, y):
        made = computation(structure.unflatten(x), structure.unflatten(y))
        if tree.structure(made) != structure:
            raise TreeError(f"lax.reduce: the computation returns a tree like its arguments, {structure}, not "
                            f"{tree.structure(made)}.")
        return [_core.convert(m, v.dtype) for m, v in zip(tree.leaves(made), x)]

    shape = a[0].shape
    made = vmap(one)([_core.tn.reshape(x, (-1,)) for x in a], [_core.tn.reshape(x, (-1,)) for x in b])
    return [_core.tn.reshape(m, shape) for m in made]


def reduce_xor(operand, axes):
    """The bits that are set in an odd number of the elements along axes; of bools whether an odd number is true.

    >>> reduce_xor(tnp.array([[1, 3], [6, 6]]), (1,)).tolist()
    [2, 0]
    """
    x = tnp.asarray(operand)
    if x.dtype.kind not in "biu":
        raise DTypeError(f"reduce_xor does not accept dtype {x.dtype}.")
    flat = _gathered(x, _axes(tuple(axes), x.ndim))
    if 0 in flat.shape:
        return tnp.zeros(flat.shape[1:], x.dtype)
    return _pairwise(lambda a, b: [_core.bitwise_xor(a[0], b[0])], [flat])[0]
