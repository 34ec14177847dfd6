"""Functions made by jit, ahead of calls: traced, lowered, compiled; with the names of jax.stages."""

import math

import numpy as np

from tenon import _core, numpy as tnp, tree
from tenon._extended import float0
from tenon._shape_dtype import ShapeDtypeStruct
from tenon.errors import TreeError

__all__ = ["Compiled", "Lowered", "Traced", "add_to_jit"]


_PAGE = 4096
_ARRAYS = (_core.Array, _core.Ref, np.ndarray, np.generic)


def _zeros(shape, dtype):
    """Zeros that take addresses and no memory: pages that nobody writes. What is only traced may be larger than it."""
    import mmap

    size = math.prod(shape) * dtype.itemsize
    if size < _PAGE:
        return tnp.zeros(shape, dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return tnp.asarray(np.frombuffer(mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ), np.uint8).view(dtype)
                       .reshape(shape))


def stand_ins(tree_of_shapes):
    """The tree with arrays of zeros in place of each ShapeDtypeStruct, and of whatever has a shape and a dtype alone."""

    def stand_in(leaf):
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype") or isinstance(leaf, _ARRAYS):
            return leaf
        if hasattr(leaf, "__array__") or hasattr(leaf, "__jax_array__"):
            return leaf
        return _zeros(tuple(leaf.shape), np.dtype(leaf.dtype))

    return tree.map(stand_in, tree_of_shapes)


def shapes(tree_of_arrays):
    """The tree with a ShapeDtypeStruct in place of each array or number."""

    def shape(leaf):
        if isinstance(leaf, ShapeDtypeStruct):
            return leaf
        kind = leaf.dtype if getattr(leaf, "dtype", None) == float0 else tnp.result_type(leaf)
        return ShapeDtypeStruct(tnp.shape(leaf), kind, weak_type=bool(getattr(leaf, "weak_type", False)))

    return tree.map(shape, tree_of_arrays)


class _Stage:
    """What is known at each of them."""

    def __init__(self, function, static, args, kwargs, specialisation):
        self._function, self._static, self._specialisation = function, static, specialisation
        self._args, self._kwargs = args, kwargs  # stand-ins may be large: of arrays, the shapes

    @property
    def out_info(self):
        """The result's tree, with a ShapeDtypeStruct for each array."""
        return self._specialisation.result(lambda shape, dtype, weak: ShapeDtypeStruct(shape, dtype, weak_type=weak))

    @property
    def args_info(self):
        """(arguments, those by keyword) that are not static, with a ShapeDtypeStruct for each array."""
        numbers, names = self._static
        return (tuple(a for i, a in enumerate(self._args) if i not in numbers),
                {name: a for name, a in self._kwargs.items() if name not in names})

    @property
    def in_tree(self):
        return tree.structure(self.args_info)

    @property
    def out_tree(self):
        return tree.structure(self.out_info)

    def _next(self, kind):
        return kind(self._function, self._static, self._args, self._kwargs, self._specialisation)


class Traced(_Stage):
    """A function traced at some arguments: what `trace` of a function made by jit returns."""

    @property
    def jaxpr(self):
        """The Program."""
        return self._specialisation.program

    @property
    def fun_name(self):
        return self._function.__name__

    def lower(self):
        """The next stage, at which there is nothing to do: a Program is what is compiled."""
        return self._next(Lowered)


class _Text(_Stage):
    def as_text(self):
        """The Program as text."""
        return self._specialisation.program.text()


class Lowered(_Text):
    """A Program that can be compiled: what `lower` of a function made by jit returns."""

    def compile(self):
        """Compiles to native code, which calls of the function with such arguments use too; nothing is run."""
        self._specialisation.prepare()
        return self._next(Compiled)


class Compiled(_Text):
    """Native code for one kind of arguments. It is called without the static ones; other shapes, dtypes or trees than
    those it was compiled for are a TypeError."""

    def __call__(self, *args, **kwargs):
        given, wanted = shapes((args, kwargs)), self.args_info
        if tree.structure(given) != self.in_tree or any(
                (a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(tree.leaves(given), tree.leaves(wanted))):
            raise TreeError(f"{self._function.__name__} was compiled for {wanted}, and is called with {given}.")
        numbers, names = self._static
        rest = iter(args)
        return self._function(*(a if i in numbers else next(rest) for i, a in enumerate(self._args)),
                              **{name: a for name, a in self._kwargs.items() if name in names}, **kwargs)


def _specialised(kind, function, args, kwargs):
    numbers, names = static = function._static
    fixed = {i: a for i, a in enumerate(args) if i in numbers}, {name: a for name, a in kwargs.items() if name in names}

    def each(convert):
        return (tuple(fixed[0][i] if i in fixed[0] else convert(a) for i, a in enumerate(args)),
                {name: fixed[1][name] if name in fixed[1] else convert(a) for name, a in kwargs.items()})

    specialisation = _core.specialise(function, *each(stand_ins))
    return kind(function, static, *each(shapes), specialisation)


def trace(self, /, *args, **kwargs):
    """The function traced at these arguments, in place of which a ShapeDtypeStruct may stand; a call with such
    arguments traces no more. Of the result: `jaxpr`, the Program; `out_info`, `args_info`; `lower()`.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.jit(lambda x: x + 1).trace(tnp.ones(3)).out_info
    ShapeDtypeStruct(shape=(3,), dtype=float64)
    """
    return _specialised(Traced, self, args, kwargs)


def lower(self, /, *args, **kwargs):
    """The same as `trace(...).lower()`, of which `as_text()` is the Program and `compile()` is called like the function.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> compiled = tn.jit(lambda x: x + 1).lower(tn.ShapeDtypeStruct((3,), tnp.float64)).compile()
    >>> compiled(tnp.ones(3))
    Array([2., 2., 2.], dtype=float64)
    """
    return _specialised(Lowered, self, args, kwargs)


def clear_cache(self, /):
    """Forgets what the function was traced and compiled to: the next call traces it again.

    >>> import tenon as tn
    >>> f = tn.jit(lambda x: print("traced") or x + 1)
    >>> f(1), f(2), f.clear_cache(), f(3)[()]
    traced
    traced
    (Array(2, dtype=int64, weak_type=True), Array(3, dtype=int64, weak_type=True), None, Array(4, dtype=int64, weak_type=True))
    """
    _core.clear_cache(self)


def eval_shape(self, /, *args, **kwargs):
    """The shapes and dtypes that a call would return; nothing is computed.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> tn.jit(tnp.sum).eval_shape(tnp.ones(3))
    ShapeDtypeStruct(shape=(), dtype=float64)
    """
    return trace(self, *args, **kwargs).out_info


def add_to_jit():
    """Gives the class of functions made by jit its methods."""
    for method in (trace, lower, eval_shape, clear_cache):
        setattr(_core.JitFunction, method.__name__, method)
