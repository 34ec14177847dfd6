"""Arrays and functions that come from elsewhere, or go there."""

from tenon import tree
from tenon.numpy._creation import asarray

__all__ = ["block_until_ready", "device_get", "device_put", "from_jax"]


def block_until_ready(x):
    """x: what is called has been computed when it returns."""
    return x


def device_get(x):
    """The tree with NumPy's arrays as leaves."""
    import numpy

    return tree.map(numpy.asarray, x)


def device_put(x, device=None):
    """The tree with Arrays as leaves, copies of memory that others may write; there is one device."""
    return tree.map(asarray, x)


def from_jax(fun):
    """A function of JAX as one of tenon: it takes and returns tenon's arrays, in the trees of `fun`.

    JAX traces `fun` once for each kind of arguments; its program is bound here, op by op, and compiled. What comes out is
    a function like any other: grad, vmap, jit and the other transformations take it, and custom_jvp and custom_vjp of JAX
    keep their rules. jax.grad(fun) and its kin can be given as well. Arrays that `fun` captures are constants of it.
    Arguments are arrays of any library, and trees, also of classes that are registered with JAX; typed keys of JAX are
    taken, and come out as their two u32. Which dtypes numbers have inside is decided by JAX's own setting of 64 bits.

    A primitive that has no counterpart here raises NotImplementedError with its name and the line that bound it.

    >>> import jax.numpy as jnp  # doctest: +SKIP
    >>> from_jax(lambda x: jnp.sum(jnp.sin(x) ** 2))(jnp.zeros(3))  # doctest: +SKIP
    Array(0., dtype=float32)
    """
    from tenon import foreign

    return foreign.from_jax(fun)
