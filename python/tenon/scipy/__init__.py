"""The rooms of jax.scipy that are here; each is imported when it is first named."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenon.scipy import (
        cluster, fft, integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, special, stats)

__all__ = ["cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
           "stats"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__():
    return __all__
