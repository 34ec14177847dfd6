"""The functions of jax.lax: loops and branches, and ops without NumPy's promotion rules."""

from tenon import _lazy, _repeated
from tenon.lax._loops import *  # noqa: F403

__getattr__, __dir__ = _lazy.later(globals(), ("linalg",), (
    "_ops", "_elementwise", "_slices", "_reduce", "_windows", "_convolution", "_staging", "_bits", "_parallel", "_ragged", "_fourier",
    "_gamma"))

_repeated.public(globals())
