"""Trees as one vector, by the name of jax.flatten_util."""

from tenon import _core

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree):
    """(the leaves one behind the other, a vector of their common dtype; a function from such vectors back to the tree).

    The function gives each leaf its dtype again; it throws ValueError for another length, and TypeError for another
    dtype than the vector has where leaves differ in dtype. Where they have one, it takes vectors of any.

    >>> import tenon.numpy as tnp
    >>> vector, back = ravel_pytree({"a": tnp.ones(2), "b": 3.0})
    >>> vector.tolist(), back(vector * 2)["b"].item()
    ([1.0, 1.0, 3.0], 6.0)
    """
    return _core.tree.ravel_pytree(pytree)
