"""Zeros that are known to be zero before anything is computed, and arguments that say whether they are differentiated:
what rules take that ask for `symbolic_zeros`."""

import functools

import numpy as np

from tenon import _core, _extended, numpy as tnp, tree, tree_util
from tenon._extended import float0
from tenon._shape_dtype import ShapeDtypeStruct
from tenon.errors import TreeError


class SymbolicZero:
    """A tangent or cotangent that is zero, of a shape and a dtype.

    >>> SymbolicZero((2,), "float32")
    SymbolicZero(shape=(2,), dtype=float32)
    """

    __slots__ = ("shape", "dtype")

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def aval(self):
        """The shape and dtype alone."""
        return ShapeDtypeStruct(self.shape, self.dtype)

    def __eq__(self, other):
        if not isinstance(other, SymbolicZero):
            return NotImplemented
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __repr__(self):
        return f"SymbolicZero(shape={self.shape}, dtype={self.dtype})"


class CustomVJPPrimal:
    """An argument of a forward function: its `value`, and whether it is `perturbed`, that is differentiated."""

    __slots__ = ("value", "perturbed")

    def __init__(self, value, perturbed):
        self.value, self.perturbed = value, perturbed

    def __repr__(self):
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree):
    """The tree with the values in place of CustomVJPPrimals, which all of its leaves are."""

    def value(leaf):
        if not isinstance(leaf, CustomVJPPrimal):
            raise TreeError(f"custom_vjp_primal_tree_values: a leaf is {leaf!r}, no CustomVJPPrimal.")
        return leaf.value

    return tree_util.tree_map(value, tree)


def has_tangent(dtype):
    """Whether values of a dtype have derivatives."""
    return dtype.kind in "fc" or _extended.is_extended(dtype)


def _kind_of_tangent(dtype):
    return dtype if has_tangent(dtype) else float0


def zero_from_primal(x, symbolic_zeros=False):
    """The zero tangent of a value: zeros, of dtype float0 where it has no tangents; with `symbolic_zeros` a SymbolicZero.

    >>> zero_from_primal(2.0)
    Array(0., dtype=float64)
    """
    shape, dtype = tnp.shape(x), _kind_of_tangent(tnp.result_type(x))
    if symbolic_zeros:
        return SymbolicZero(shape, dtype)
    return np.zeros(shape, float0) if dtype == float0 else tnp.zeros(shape, dtype)


def with_symbolic_zeros(tangents, perturbed):
    """A tree of tangents with SymbolicZeros where a leaf is not perturbed."""
    leaves, structure = tree.flatten(tangents)
    return structure.unflatten([leaf if of else SymbolicZero(leaf.shape, leaf.dtype)
                                for leaf, of in zip(leaves, perturbed, strict=True)])


def as_primals(arguments, perturbed):
    """The arguments with a CustomVJPPrimal in place of each leaf."""
    leaves, structure = tree.flatten(arguments)
    return structure.unflatten([CustomVJPPrimal(*both) for both in zip(leaves, perturbed, strict=True)])


def without_symbolic_zeros(tangents):
    """The tree with zeros of dtype float0, which count for any zero, in place of SymbolicZeros."""
    return tree.map(lambda t: np.zeros(t.shape, float0) if isinstance(t, SymbolicZero) else t, tangents)


def filled(cotangents, like):
    """Cotangents of the tree `like`: what stands for a subtree is that of each of its leaves, and zeros of dtype float0
    stand for None and for SymbolicZeros. A reference has none."""

    def put(x, leaf):
        if isinstance(x, _core.Ref):
            return x
        return np.zeros(tnp.shape(x), float0) if leaf is None else leaf

    leaves, structure = tree.flatten(without_symbolic_zeros(cotangents), is_leaf=lambda x: x is None)
    try:
        parts = structure.flatten_up_to(like)
    except (TypeError, ValueError):
        return structure.unflatten(leaves)  # of another structure, which the caller tells
    return structure.unflatten(
        [tree.map(functools.partial(put, leaf=leaf), part) for leaf, part in zip(leaves, parts, strict=True)])
