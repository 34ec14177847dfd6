"""Tenon: composable transformations of array programs, with the names of NumPy and JAX.

>>> import tenon as tn, tenon.numpy as tnp
>>> slope = tn.jit(tn.grad(lambda w: tnp.sum(tnp.tanh(w) ** 2)))
"""

from tenon import _core, _lazy, _linear, _methods
from tenon._core import Array as Array, Dim as Dim, List as List, binomial as binomial, every as every
from tenon._methods import float0 as float0
from tenon._transforms import *  # noqa: F403
from tenon._custom_rules import *  # noqa: F403
from tenon._linear import *  # noqa: F403
from tenon._policies import *  # noqa: F403
from tenon._hoisting import *  # noqa: F403
from tenon._placement import *  # noqa: F403
from tenon._rewrites import *  # noqa: F403
from tenon._surroundings import *  # noqa: F403
from tenon import errors as errors
from tenon.errors import *  # noqa: F403
from tenon._config import config as config
from tenon import numpy as numpy, ref as ref, tree as tree, tree_util as tree_util
from tenon.ref import Ref as Ref, empty_ref as empty_ref, free_ref as free_ref, freeze as freeze, new_ref as new_ref
from tenon._sizes import array_as_size as array_as_size
from tenon._transfers import *  # noqa: F403

__version__ = _core.version

_methods.add_to_array()
_methods.add_methods()
_linear.add_to_trees()

__getattr__, __dir__ = _lazy.later(globals(), (
    "ad", "ad_checkpoint", "custom_batching", "custom_derivatives", "debug", "dtypes", "export", "fft", "files", "flatten_util", "image", "lax",
    "linalg", "nn", "ops", "optim", "random", "scipy", "test_util", "typing"), names={
    "_callbacks": "HostSizes effects_barrier io_callback pure_callback", "_windows": "ds", "files": "load save",
    "lax": "stop_gradient", "tree_util": "register_dataclass"})
