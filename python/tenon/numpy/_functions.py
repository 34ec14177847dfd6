"""Functions of single elements or vectors, over all others."""

import builtins
import functools

import numpy as np

from tenon import _core
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import _axis

__all__ = [
    "apply_along_axis", "apply_over_axes", "iterable", "vectorize",
]


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """A function of single elements (or of those that a signature such as "(n),(n)->()" names) over all others."""
    from tenon import vmap

    inner, outer = (None, None) if signature is None else _signature(signature)

    def wrapped(*args, **kwargs):
        fixed = {i for i in range(len(args)) if i in excluded or args[i] is None}
        return looped(fixed, functools.partial(pyfunc, **kwargs) if kwargs else pyfunc, *args)

    def looped(excluded, pyfunc, *args):
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
            if builtins.all(a is None for a in axes):
                f = (lambda g: lambda *xs: _expanded(g(*xs)))(f)
            else:
                f = vmap(f, in_axes=tuple(axes))
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
        f = vmap(f, in_axes=i + 1, out_axes=-1)
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


def iterable(y):
    """Whether one can go through its elements.

    >>> iterable([1]), iterable(1), iterable(asarray(1))
    (True, False, False)
    """
    return np.iterable(y)
