"""NumPy's functions by their names, as jax.numpy has them, on tenon's arrays."""

from math import e, inf, nan, pi

from tenon import _lazy, _repeated
from tenon._core import Array as ndarray
from tenon.numpy._dtypes import *  # noqa: F403
from tenon.numpy._dtypes import bool, bool_, dtype  # noqa: A004, F401
from tenon.numpy._devices import NamespaceInfo as _NamespaceInfo
from tenon.numpy._creation import *  # noqa: F403
from tenon.numpy._creation import shared as asarray
from tenon.numpy._shapes import *  # noqa: F403
from tenon.numpy._elementwise import *  # noqa: F403
from tenon.numpy._reductions import *  # noqa: F403
from tenon.numpy._sorting import *  # noqa: F403
from tenon.numpy._products import *  # noqa: F403
from tenon.numpy._indexing import *  # noqa: F403
from tenon.numpy._vectors import *  # noqa: F403
from tenon.numpy._functions import *  # noqa: F403
from tenon.numpy._padding import *  # noqa: F403
from tenon.numpy._ufuncs import *  # noqa: F403
from numpy import array_repr, array_str, get_printoptions, printoptions, save, savez, set_printoptions  # noqa: F401

__array_api_version__ = "2025.12"


def __array_namespace_info__():
    """What the array API standard asks of this namespace: devices, dtypes, capabilities."""
    return _NamespaceInfo()


euler_gamma = 0.5772156649015329
newaxis = None

__getattr__, __dir__ = _lazy.later(globals(), ("fft", "linalg"), ("_special", "_sets", "_histograms", "_bits", "_fits", "_windows"))

_repeated.public(globals(), ("array", "asarray", "copy", "shared"))
