"""Sizes as functions take them: ints, and tn.Dim, the size of an axis that a trace takes for any."""

import math

import numpy as np

from tenon import _core
from tenon._core import Dim
from tenon.errors import ShapeError

size = _core.size  # an int or a Dim; of an int among a jitted function's arguments, its value is asked for


def array_as_size(number):
    """A whole number, of what data say too, as a size: an int or a `tn.Dim`.

    Functions that take sizes take such an Array as it is; as a size one can compute with it, compare it and take it apart
    while a function is traced. Where data decide it, arrays of that size are as large as the number is when the function
    runs. A ValueError where it is negative then, and where it differs among the lanes of `vmap`; a TypeError of what is no
    single integer.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> def head(x):
    ...     n = tn.array_as_size((x > 0).sum())
    ...     return tnp.arange(2 * n)
    >>> tn.jit(head)(tnp.array([1.0, -1.0, 3.0]))
    Array([0, 1, 2, 3], dtype=int64)
    """
    return size(number)


def is_shape(x):
    """Whether it is several sizes, and not one."""
    return isinstance(x, (tuple, list)) or (not isinstance(x, Dim) and np.ndim(x) > 0)


def shape(sizes):
    """A shape as a tuple, of a size or several."""
    return tuple(map(size, sizes)) if is_shape(sizes) else (size(sizes),)


def known(*sizes):
    """Whether all of these are numbers."""
    return not any(isinstance(n, Dim) for n in sizes)


def elements(sizes):
    """How many there are."""
    return math.prod(sizes)


def ceil_div(a, b):
    """How many times b has to be taken to be a at least; b is positive."""
    return (a + (b - 1)) // b


def _apart(of, shapes):
    return ShapeError(f"{of}: the shapes {', '.join(map(str, shapes))} do not broadcast to one: along each axis sizes are "
                      "equal, or 1.")


def broadcast(*shapes, of="broadcast_shapes"):
    """The shape to which shapes broadcast; `of`: the function that asks. Sizes that may be equal are taken to be; that is looked
    at when it runs."""
    if all(known(*s) for s in shapes):
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            raise _apart(of, shapes) from None
    met = [1] * max(map(len, shapes))
    for s in shapes:
        for i, n in zip(range(len(met) - len(s), len(met)), s):
            if _core.same_size(n, 1):
                continue
            same = _core.same_size(met[i], n)
            if _core.same_size(met[i], 1):
                met[i] = n
            elif same is False:
                raise _apart(of, shapes)
            elif same is None and known(n):
                met[i] = n
    return tuple(met)


def agree(a, b):
    """Whether shapes are the same, or may be: sizes that a trace takes for any are compared when it runs."""
    return len(a) == len(b) and all(_core.same_size(m, n) is not False for m, n in zip(a, b))


def fits(narrow, wide):
    """Whether one shape broadcasts to the other, or may."""
    return len(narrow) <= len(wide) and all(_core.same_size(m, 1) or _core.same_size(m, n) is not False
                                            for m, n in zip(reversed(narrow), reversed(wide)))


def pad(a, value, low, high, interior=()):
    """`value` before, behind and between the elements of each axis."""
    low, high = list(map(size, low)), list(map(size, high))
    if known(*low, *high):
        return _core.tn.pad(a, value, low, high, list(interior))
    numbers = [[n if known(n) else 0 for n in side] for side in (low, high)]
    a = _core.tn.pad(a, value, *numbers, list(interior))
    for axis, sides in enumerate(zip(low, high)):
        before, behind = [] if known(sides[0]) else [sides[0]], [] if known(sides[1]) else [sides[1]]
        blocks = [[_core.broadcast_to(_core.convert(value, a.dtype), [n if i == axis else m for i, m in enumerate(a.shape)])
                   for n in side] for side in (before, behind)]
        a = _core.tn.concatenate([*blocks[0], a, *blocks[1]], axis) if before or behind else a
    return a
