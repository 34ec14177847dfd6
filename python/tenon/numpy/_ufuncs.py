"""Functions of single elements with reductions: ufunc and frompyfunc."""

import functools

import numpy as np

from tenon import _core
from tenon._repeated import repeated
from tenon.errors import ShapeError
from tenon.numpy import _elementwise, _reductions
from tenon.numpy._creation import asarray, full
from tenon.numpy._functions import vectorize
from tenon.numpy._shapes import _axis, moveaxis, ravel

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "subtract", "ufunc",
]


class ufunc:  # noqa: N801
    """A function of `nin` single elements with `nout` results, over all elements of arrays, and what it makes of many:
    reduce(), accumulate(), outer(), reduceat() and at(), in the elements' order. `identity` is what reduce() of nothing is.

    >>> f = ufunc(lambda x, y: x + 2 * y, 2, 1)
    >>> f(asarray([1, 2]), 10).tolist(), int(f.reduce(asarray([1, 2, 3])))
    ([21, 22], 11)
    """

    def __init__(self, func, /, nin, nout, *, name=None, nargs=None, identity=None, call=None, reduce=None,
                 accumulate=None, at=None, reduceat=None):
        self._said, self._nargs = (func, nin, nout, identity), nin if nargs is None else nargs
        self.__name__, self.__doc__ = getattr(func, "__name__", "ufunc") if name is None else name, func.__doc__
        self._call = vectorize(func) if call is None else call
        for method, given in {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}.items():
            if given is not None:
                setattr(self, method, functools.partial(given, self))

    _func = property(lambda self: self._said[0])
    nargs = property(lambda self: self._nargs)
    nin = property(lambda self: self._said[1])
    nout = property(lambda self: self._said[2])
    identity = property(lambda self: self._said[3])

    def __eq__(self, other):
        return type(self) is type(other) and self._said == other._said

    def __hash__(self):
        return hash(self._said)

    def __repr__(self):
        return f"<ufunc {self.__name__!r}>"

    def __call__(self, *args):
        """The function of each element."""
        if len(args) != self.nin:
            raise _core.OptionError(f"{self.__name__} takes {self.nin} arguments, not {len(args)}.")
        return self._call(*map(asarray, args))

    def _need_two(self, method):
        if self.nin != 2 or self.nout != 1:
            raise _core.OptionError(f"{self.__name__}.{method}: {method} is of functions of two elements with one result.")

    def _fold(self, start, elements, counts):
        """(the last, all) of f(f(start, element 0), element 1), …; elements that do not count are left out."""

        def step(made, each):
            element, counted = each
            made = _core.where(counted, _core.convert(self(made, element), made.dtype), made)
            return made, made

        return _core.scan(step, start, (elements, counts), None, False, 1, None)

    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
        """f(f(element 0, element 1), …) along an axis (None: of all in a row), beginning with `initial`."""
        self._need_two("reduce")
        a = asarray(a, dtype)
        if where is not None and initial is None and self.identity is None:
            raise _core.OptionError(f"reduction operation {self.__name__} does not have an identity, so to use a where mask "
                                    "one has to specify 'initial'.")
        counts = full((), True, "bool") if where is None else asarray(where)
        counts = _core.broadcast_to(counts, a.shape)
        kept = [1] * a.ndim if axis is None else [1 if i == _axis(axis, a.ndim) else n for i, n in enumerate(a.shape)]
        a, counts = (ravel(x) if axis is None else moveaxis(x, axis, 0) for x in (a, counts))
        start = self.identity if initial is None and (a.shape[0] == 0 or where is not None) else initial
        if start is None and a.shape[0] == 0:
            raise ShapeError(f"zero-size array to reduction operation {self.__name__} which has no identity")
        if start is None:
            start, a, counts = a[0], a[1:], counts[1:]
        made = self._fold(_core.broadcast_to(_core.convert(start, a.dtype), a.shape[1:]), a, counts)[0]
        return _core.tn.reshape(made, kept) if keepdims else made

    def accumulate(self, a, axis=0, dtype=None, out=None):
        """element 0, f(element 0, element 1), … along an axis."""
        self._need_two("accumulate")
        a = asarray(a, dtype)
        axis = _axis(axis, a.ndim)
        a = moveaxis(a, axis, 0)
        if a.shape[0] == 0:
            return moveaxis(a, 0, axis)
        made = self._fold(a[0], a[1:], full((a.shape[0] - 1,), True, "bool"))[1]
        return moveaxis(_core.tn.concatenate([a[:1], made], 0), 0, axis)

    def outer(self, A, B, /):
        """f of each element of the one with each of the other."""
        self._need_two("outer")
        A, B = asarray(A), asarray(B)
        return self(_core.tn.reshape(A, A.shape + (1,) * B.ndim), B)

    def reduceat(self, a, indices, axis=0, dtype=None, out=None):
        """reduce() of the parts of an axis that begin at the indices: each ends before the next index, the last at the
        end; one element where the next index is not larger."""
        self._need_two("reduceat")
        a, indices = asarray(a, dtype), asarray(indices)
        axis = _axis(axis, a.ndim)
        a, n = moveaxis(a, axis, 0), a.shape[axis]
        ends = _core.tn.concatenate([indices[1:], full((1,), n, indices.dtype)], 0)
        at = _core.tn.iota(indices.dtype, (n,), 0)[:, None]
        counts = _core.greater(at, indices) & _core.less(at, ends)
        wide = counts.shape + (1,) * (a.ndim - 1)
        elements = _core.broadcast_to(a[:, None], (n, indices.shape[0], *a.shape[1:]))
        return moveaxis(self._fold(a[indices], elements, _core.tn.reshape(counts, wide))[0], 0, axis)

    def at(self, a, indices, b=None, /, *, inplace=True):
        """The array with f(element, element of b) at the indices, one after the other: as often as they are named."""
        if inplace:
            raise NotImplementedError(f"{self.__name__}.at: arrays are immutable: say inplace=False and use the result.")
        a = asarray(a)
        indices = tuple(asarray(i) for i in (indices if isinstance(indices, tuple) else (indices,)))
        shape = np.broadcast_shapes(*(i.shape for i in indices))
        indices = tuple(ravel(_core.broadcast_to(i, shape)) for i in indices)
        others = () if b is None else (asarray(b),)
        others = tuple(_core.tn.reshape(_core.broadcast_to(x, shape + a.shape[len(indices):]), (-1, *a.shape[len(indices):]))
                       for x in others)

        def step(made, each):
            place, more = each
            return made.at[place].set(self(made[place], *more)), ()

        return _core.scan(step, a, (indices, others), None, False, 1, None)[0]


def frompyfunc(func, /, nin, nout, *, identity=None):
    """The ufunc of a function of single elements.

    >>> frompyfunc(lambda x, y: x * y, 2, 1).outer(asarray([1, 2]), asarray([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    return ufunc(func, nin, nout, identity=identity)


def _folds(name):
    """The reduction of tenon.numpy of that name as a ufunc's."""

    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
        options = {} if dtype is None else {"dtype": dtype}
        if name in ("sum", "prod"):
            options["promote_integers"] = False
        a = asarray(a)
        if name in ("all", "any"):
            made = getattr(_reductions, name)(a, axis, None, keepdims, where=where)
            return made if initial is None else self(made, initial)
        return getattr(_reductions, name)(a, axis, keepdims=keepdims, initial=initial, where=where, **options)

    return reduce


def _accumulates(f):
    return lambda self, a, axis=0, dtype=None, out=None: f(asarray(a), axis, dtype)


def _updates(method):
    def at(self, a, indices, b=None, /, *, inplace=True):
        if inplace:
            raise NotImplementedError(f"{self.__name__}.at: arrays are immutable: say inplace=False and use the result.")
        return getattr(asarray(a).at[indices], method)(b)

    return at


class _Direct(ufunc):
    """A function of the library's with the methods of a ufunc: it is called with what it is given."""

    def __call__(self, *args, **options):
        """The function of each element."""
        if options.pop("out", None) is not None or options.pop("where", None) is not None or options:
            raise NotImplementedError(f"{self.__name__}: arrays are immutable: no `out` and no `where`.")
        return self._func(*args)


def _direct(name, nin, identity, **methods):
    return _Direct(repeated(getattr(_elementwise, name)), nin, 1, name=name, identity=identity, **methods)


add = _direct("add", 2, 0, reduce=_folds("sum"), accumulate=_accumulates(_reductions.cumsum), at=_updates("add"))
multiply = _direct("multiply", 2, 1, reduce=_folds("prod"), accumulate=_accumulates(_reductions.cumprod), at=_updates("multiply"))
maximum = _direct("maximum", 2, None, reduce=_folds("max"), at=_updates("max"))
minimum = _direct("minimum", 2, None, reduce=_folds("min"), at=_updates("min"))
subtract = _direct("subtract", 2, None, at=_updates("subtract"))
bitwise_and, bitwise_or = _direct("bitwise_and", 2, -1), _direct("bitwise_or", 2, 0)
bitwise_xor, negative = _direct("bitwise_xor", 2, 0), _direct("negative", 1, None)
logaddexp, logaddexp2 = _direct("logaddexp", 2, -np.inf), _direct("logaddexp2", 2, -np.inf)
logical_and = _direct("logical_and", 2, True, reduce=_folds("all"))
logical_or = _direct("logical_or", 2, False, reduce=_folds("any"))
logical_xor = _direct("logical_xor", 2, False)
