"""Tenon: composable transformations of array programs, with the names of NumPy and JAX.

>>> import tenon as tn, tenon.numpy as tnp
>>> slope = tn.jit(tn.grad(lambda w: tnp.sum(tnp.tanh(w) ** 2)))
"""

from tenon import _core, _methods
from tenon._core import Array, Dim, List, Ref, freeze, new_ref
from tenon._methods import float0
from tenon._transforms import *  # noqa: F403
from tenon import errors  # noqa: E402
from tenon.errors import *  # noqa: F403

_methods.add_to_array()

from tenon._config import config  # noqa: E402
from tenon import lax, nn, numpy, optim, random, tree, tree_util  # noqa: E402
from tenon.files import load, save  # noqa: E402
from tenon.lax import stop_gradient, every, binomial  # noqa: E402
from tenon.numpy import linalg  # noqa: E402
from tenon.tree_util import register_dataclass  # noqa: E402

__version__ = _core.version

_methods.add_methods()


def block_until_ready(x):
    """x: what is called has been computed when it returns."""
    return x


def device_get(x):
    """The tree with NumPy's arrays as leaves."""
    import numpy

    return tree.map(numpy.asarray, x)


def device_put(x, device=None):
    """The tree with Arrays as leaves; there is one device."""
    return tree.map(numpy.asarray, x)
