"""Random numbers that are functions of a key, bit for bit those of jax.random.

A key is u32[2], of Threefry, u32[4], of Philox, or u32[8], of PCG. Nothing is consumed by drawing: use each key once, and split() it for more.

>>> from tenon import random
>>> random.uniform(random.key(0), (2,)).shape
(2,)
"""

from tenon import _lazy, _repeated
from tenon.random._draws import *  # noqa: F403

__getattr__, __dir__ = _lazy.later(globals(), rooms=("_gammas",))

_repeated.public(globals())
