"""Trees as one vector, by the name of jax.flatten_util."""

import math

from tenon import _core, tree
from tenon import numpy as tnp
from tenon.numpy._creation import asarray

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree):
    """(the leaves one behind the other, a vector of their common dtype; a function from such vectors back to the tree).

    The function gives each leaf its dtype again; it throws ValueError for another length, and TypeError for another
    dtype than the vector has where leaves differ in dtype.

    >>> vector, back = ravel_pytree({"a": tnp.ones(2), "b": 3.0})
    >>> vector.tolist(), back(vector * 2)["b"].item()
    ([1.0, 1.0, 3.0], 6.0)
    """
    leaves, structure = tree.flatten(pytree)
    arrays = [asarray(leaf) for leaf in leaves]
    shapes, dtypes = [x.shape for x in arrays], [x.dtype for x in arrays]
    dtype = tnp.result_type(*arrays) if arrays else tnp.zeros(0).dtype
    vector = tnp.concatenate([tnp.ravel(x).astype(dtype) for x in arrays]) if arrays else tnp.zeros(0, dtype)
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + math.prod(shape))

    def unravel(flat):
        flat = asarray(flat)
        if flat.shape != vector_shape:
            raise ValueError(f"ravel_pytree: the function takes a vector of shape {vector_shape}, not {flat.shape}.")
        if flat.dtype != dtype and any(each != dtype for each in dtypes):
            raise TypeError(f"ravel_pytree: the function takes {dtype.name}, not {flat.dtype.name}: leaves differ in dtype.")
        parts = (_core.tn.reshape(flat[begin:end], shape) for begin, end, shape in zip(ends, ends[1:], shapes))
        mixed = any(each != dtype for each in dtypes)
        return structure.unflatten([_restored(part, each) if mixed else part for part, each in zip(parts, dtypes)])

    vector_shape = vector.shape
    return vector, unravel


def _restored(part, dtype):
    """Of a complex vector the real part, where the leaf was real."""
    return (_core.real(part) if part.dtype.kind == "c" and dtype.kind != "c" else part).astype(dtype)
