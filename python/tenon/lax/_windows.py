"""Reductions over windows, by the names of jax.lax."""

import functools

import numpy as np

from tenon import _core, tree
from tenon import numpy as tnp
from tenon.errors import ShapeError, TreeError
from tenon.lax._convolution import _integers, _padding
from tenon.lax._reduce import _of_elements, library_name

__all__ = ["reduce_window", "reduce_window_shape_tuple"]


def _known(computation, array):
    """The library's name of a reduction of such elements."""
    name = library_name(computation)
    kind = array.dtype.kind
    taken = {"add": "iufcV", "mul": "iufcV", "max": "biufV", "min": "biufV"}.get(name, "biu")
    return name if kind in taken else None


def _is_start(name, init, dtype):
    """Whether it changes nothing that a reduction by this name begins with `init`, as far as is known."""
    try:
        value = np.asarray(init)
    except Exception:  # a traced number  # noqa: BLE001
        return False
    if value.dtype == object or value.ndim:
        return False
    if name in ("max", "min"):
        kind = np.dtype(dtype).kind
        if kind == "b":
            return bool(value) == (name == "min")
        if kind in "iu":
            return int(value) == getattr(np.iinfo(dtype), "min" if name == "max" else "max")
        return float(value) == (-np.inf if name == "max" else np.inf)
    return name in ("add", "or", "xor") and value == 0 or name == "mul" and value == 1


def reduce_window(operand, init_value, computation, window_dimensions, window_strides=None, padding="VALID", base_dilation=None,
                  window_dilation=None):
    """The elements of windows of window_dimensions, combined by `computation` beginning with init_value; trees of arrays of one
    shape are combined together. `computation` takes two elements (trees of them) and is associative: in which pairs it is applied
    is not said. Padding is "VALID", "SAME", "SAME_LOWER" or pairs; nothing is combined there, nor between the elements that
    base_dilation moves apart. Derivatives of max and min go to the first element that is it.

    >>> from tenon import lax
    >>> reduce_window(tnp.array([1.0, 5.0, 2.0, 3.0]), -tnp.inf, lax.max, (2,), (2,)).tolist()
    [5.0, 3.0]
    >>> reduce_window(tnp.arange(1, 5), 1, lambda x, y: x * y, (3,), padding="SAME").tolist()
    [2, 6, 24, 12]
    """
    leaves, structure = tree.flatten(operand)
    arrays = [tnp.asarray(x) for x in leaves]
    if not arrays or tree.structure(init_value) != structure:
        raise TreeError("lax.reduce_window: the operands and the initial values are trees of one structure, not "
                        f"{structure} and {tree.structure(init_value)}.")
    inits = tree.leaves(init_value)
    if any(np.shape(v) != () for v in inits):
        raise ShapeError(f"lax.reduce_window: the initial values are numbers, not of shapes {[np.shape(v) for v in inits]}.")
    options = (_integers(window_dimensions), _integers(window_strides), _padding(padding), _integers(base_dilation),
               _integers(window_dilation))
    name = _known(computation, arrays[0]) if len(arrays) == 1 else None
    if name is not None:
        window, strides, pads, base, dilation = options
        made = _core.tn.reduce_window(name, arrays[0], window, strides=strides, padding=pads, base_dilation=base, window_dilation=dilation)
        if not _is_start(name, inits[0], arrays[0].dtype):
            made = computation(_core.broadcast_to(_core.convert(inits[0], made.dtype), made.shape), made)
        return structure.unflatten([made])
    inits = [_core.convert(v, x.dtype) for v, x in zip(inits, arrays)]
    combine = functools.partial(_of_elements, computation, structure)
    return structure.unflatten(_core.reduce_window_by(combine, arrays, inits, *options))


def reduce_window_shape_tuple(operand_shape, window_dimensions, window_strides, padding, base_dilation=None, window_dilation=None):
    """The shape of reduce_window's result; padding is pairs.

    >>> reduce_window_shape_tuple((8, 5), (2, 3), (2, 1), [(0, 0), (1, 1)])
    (4, 5)
    """
    ones = (1,) * len(operand_shape)

    def apart(sizes, dilation):
        return [0 if n == 0 else (n - 1) * d + 1 for n, d in zip(sizes, ones if dilation is None else dilation)]

    return tuple(max((n + low + high - span) // stride + 1, 0) for n, span, stride, (low, high) in zip(
        apart(operand_shape, base_dilation), apart(window_dimensions, window_dilation), window_strides, padding))
