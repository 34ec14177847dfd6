"""Functions of single elements or vectors, over all others."""

import builtins
import functools

import numpy as np

from tenon import _core
from tenon.errors import ShapeError, TreeError
from tenon.numpy._creation import asarray
from tenon.numpy._shapes import _axis

__all__ = [
    "apply_along_axis", "apply_over_axes", "iterable", "vectorize",
]


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """A function of single elements (or of those that a signature such as "(n),(n)->()" names) over all others. Arguments
    that `excluded` says, by number or by name, and None are passed on as they are.

    >>> vectorize(lambda x, y: x @ y, signature="(n),(n)->()")([[1, 2], [3, 4]], [1, 1]).tolist()
    [3, 7]
    """
    if builtins.any(not isinstance(e, (int, str)) for e in excluded):
        raise _core.OptionError(f"vectorize: excluded={excluded!r}: arguments are excluded by their numbers or names.")
    if builtins.any(isinstance(e, int) and e < 0 for e in excluded):
        raise _core.OptionError(f"vectorize: excluded={excluded!r} contains negative numbers.")
    terms = None if signature is None else _signature(signature)

    @functools.wraps(pyfunc)
    def wrapped(*args, **kwargs):
        places = [i for i in range(len(args)) if i not in excluded]
        if terms is not None and len(terms[0]) != len(places):
            raise _core.OptionError(f"vectorize: wrong number of positional arguments: {len(places)} with signature={signature!r}.")
        cores = dict(zip(places, [()] * len(places) if terms is None else terms[0]))
        absent = {i for i in places if args[i] is None}
        if builtins.any(cores[i] for i in absent):
            raise _core.OptionError(f"vectorize: Cannot pass None at locations {absent} with signature={signature!r}.")
        cores = {i: letters for i, letters in cores.items() if i not in absent}
        args = [asarray(a) if i in cores else a for i, a in enumerate(args)]
        sizes = _core_sizes(args, cores, signature)
        function = functools.partial(pyfunc, **kwargs) if kwargs else pyfunc
        if terms is not None:
            function = functools.partial(_checked_results, function, terms[1], sizes, signature)
        return _looped(function, args, {i: len(letters) for i, letters in cores.items()})

    return wrapped


def _core_sizes(args, cores, signature):
    """The size that each letter of a signature stands for among the arguments."""
    sizes = {}
    for i, letters in cores.items():
        shape = args[i].shape
        if len(shape) < len(letters):
            raise ShapeError(f"vectorize: input with shape {shape} does not have enough dimensions for all of {letters} in "
                             f"signature={signature!r}.")
        _note_sizes(sizes, letters, shape[len(shape) - len(letters):], signature)
    return sizes


def _note_sizes(sizes, letters, shape, signature):
    for letter, n in zip(letters, shape):
        if sizes.setdefault(letter, n) != n:
            raise ShapeError(f"vectorize: inconsistent size for core dimension {letter!r} in signature={signature!r}: {n} and "
                             f"{sizes[letter]}.")


def _checked_results(function, terms, sizes, signature, *args):
    """The results of function(*args), which have the axes that a signature says."""
    made = function(*args)
    if len(terms) > 1 and not isinstance(made, tuple):
        raise TreeError(f"vectorize: output must be a tuple when signature={signature!r} has several: {made!r}.")
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != len(terms):
        raise TreeError(f"vectorize: wrong number of output arguments: {len(results)} with signature={signature!r}.")
    sizes = dict(sizes)
    for letters, x in zip(terms, results):
        if np.ndim(x) != len(letters):
            raise ShapeError(f"vectorize: output shape {np.shape(x)} does not match {letters} in signature={signature!r}.")
        _note_sizes(sizes, letters, np.shape(x), signature)
    return made


def _lanes(f, in_axes, out_axes=0):
    """tn.vmap() of a function of arrays."""
    return lambda *args: _core.vmap(f, in_axes, out_axes, None, "", args, {})


def _looped(f, args, core_ranks):
    """f over the axes in front of as many as it takes of each argument; arguments without a number are passed on."""
    outer = {i: args[i].ndim - rank for i, rank in core_ranks.items()}
    loops = np.broadcast_shapes(*(args[i].shape[:n] for i, n in outer.items()))
    for depth in range(1, len(loops) + 1):
        axes = tuple(0 if outer.get(i, 0) >= depth and args[i].shape[outer[i] - depth] != 1 else None for i in range(len(args)))
        if builtins.all(a is None for a in axes):
            f = (lambda g: lambda *xs: _expanded(g(*xs)))(f)
        else:
            f = _lanes(f, axes)
    squeezed = list(args)
    for i, n in outer.items():
        shape = args[i].shape
        squeezed[i] = _core.tn.reshape(args[i], tuple(m for m in shape[:n] if m != 1) + shape[n:])
    return f(*squeezed)


def _expanded(x):
    return tuple(e[None] for e in x) if isinstance(x, tuple) else asarray(x)[None]


_SIGNATURE = r"(\(\w*(,\w+)*\),)*\(\w*(,\w+)*\)->(\(\w*(,\w+)*\),)*\(\w*(,\w+)*\)"


def _signature(text):
    import re

    text = text.replace(" ", "")
    if not re.fullmatch(_SIGNATURE, text):
        raise _core.OptionError(f"vectorize: signature={text!r} is none such as '(n),(n,m)->(m)'.")
    left, right = text.split("->")

    def terms(side):
        return [tuple(t.strip("()").split(",")) if t.strip("()") else () for t in side.replace("),(", ");(").split(";")]

    return terms(left), terms(right)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function of vectors at all vectors along an axis."""
    arr = asarray(arr)
    axis = _axis(axis, arr.ndim)
    f = lambda x: func1d(x, *args, **kwargs)  # noqa: E731
    for i in range(arr.ndim - axis - 1):
        f = _lanes(f, i + 1, -1)
    for i in range(axis):
        f = _lanes(f, 0)
    return f(arr)


def apply_over_axes(func, a, axes):
    """A function func(a, axis) along one axis after another, their places kept."""
    a = asarray(a)
    for axis in axes:
        made = func(a, axis)
        a = made if made.ndim == a.ndim else _core.tn.expand_dims(made, _axis(axis, a.ndim))
    return a


def iterable(y):
    """Whether one can go through its elements.

    >>> iterable([1]), iterable(1), iterable(asarray(1))
    (True, False, False)
    """
    return np.iterable(y)
