"""Tenon: composable transformations of array programs, with the names of NumPy and JAX.

>>> import tenon as tn, tenon.numpy as tnp
>>> slope = tn.jit(tn.grad(lambda w: tnp.sum(tnp.tanh(w) ** 2)))
"""

from tenon import _core, _linear, _methods
from tenon._core import Array as Array, Dim as Dim, List as List
from tenon._methods import float0 as float0
from tenon._transforms import *  # noqa: F403
from tenon._custom_rules import *  # noqa: F403
from tenon._linear import *  # noqa: F403
from tenon._policies import *  # noqa: F403
from tenon._hoisting import *  # noqa: F403
from tenon._placement import *  # noqa: F403
from tenon._rewrites import *  # noqa: F403
from tenon._surroundings import *  # noqa: F403
from tenon import errors as errors  # noqa: E402
from tenon.errors import *  # noqa: F403

_methods.add_to_array()

from tenon._config import config as config  # noqa: E402
from tenon import lax as lax, nn as nn, numpy as numpy, optim as optim, random as random, scipy as scipy  # noqa: E402
from tenon import dtypes as dtypes, fft as fft, image as image, linalg as linalg, ops as ops, typing as typing  # noqa: E402
from tenon import ad as ad, ad_checkpoint as ad_checkpoint, custom_batching as custom_batching  # noqa: E402
from tenon import custom_derivatives as custom_derivatives  # noqa: E402
from tenon import tree as tree, tree_util as tree_util  # noqa: E402
from tenon import ref as ref  # noqa: E402
from tenon.ref import Ref as Ref, empty_ref as empty_ref, free_ref as free_ref, freeze as freeze, new_ref as new_ref  # noqa: E402
from tenon import flatten_util as flatten_util, test_util as test_util  # noqa: E402
from tenon.files import load as load, save as save  # noqa: E402
from tenon import debug as debug, export as export, ref as ref  # noqa: E402
from tenon._callbacks import HostSizes, effects_barrier, io_callback, pure_callback  # noqa: E402, F401
from tenon._sizes import array_as_size as array_as_size  # noqa: E402
from tenon.lax import stop_gradient as stop_gradient, every as every, binomial as binomial  # noqa: E402
from tenon.tree_util import register_dataclass as register_dataclass  # noqa: E402
from tenon._windows import ds as ds  # noqa: E402

__version__ = _core.version

from tenon.numpy._creation import asarray as _asarray  # noqa: E402

_methods.add_methods()
_linear.add_to_trees()


def block_until_ready(x):
    """x: what is called has been computed when it returns."""
    return x


def device_get(x):
    """The tree with NumPy's arrays as leaves."""
    import numpy

    return tree.map(numpy.asarray, x)


def device_put(x, device=None):
    """The tree with Arrays as leaves, copies of memory that others may write; there is one device."""
    return tree.map(_asarray, x)


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
