"""Random numbers that are functions of a key, bit for bit those of jax.random.

A key is u32[2], of Threefry, or u32[4], of Philox. Nothing is consumed by drawing: use each key once, and split() it for more.

>>> from tenon import random
>>> random.uniform(random.key(0), (2,)).shape
(2,)
"""

from tenon.random._draws import *  # noqa: F403
from tenon.random._gammas import *  # noqa: F403
