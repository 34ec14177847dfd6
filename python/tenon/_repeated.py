"""Public functions of arrays, of which calls that come again and again are compiled (python/src/repeated.cpp)."""

import functools
import importlib
import types
from typing import Any, Callable

from tenon import _core

_made: dict[Callable[..., Any], _core.Function] = {}  # by the functions that they are made of
_FUNCTIONS = (types.FunctionType, type(_core.abs))


def repeated(f):
    """What is public of a function of arrays, of Python's or the library's; anything else as it is."""
    if type(f) not in _FUNCTIONS or not f.__module__.startswith("tenon"):
        return f
    if f not in _made:
        _made[f] = functools.update_wrapper(_core.repeated(f), f)
    return _made[f]


def written(f):
    """The function that a public one is made of; another as it is."""
    return f.__wrapped__ if type(f) is _core.Function else f


def of_name(module, name):
    """What is public of the function of this name in a module: how one is unpickled."""
    return repeated(getattr(importlib.import_module(module), name))


def public(namespace, but=()):
    """Puts what is public in the places of a module's functions, but for some."""
    for name, f in namespace.items():
        if not name.startswith("_") and name not in but:
            namespace[name] = repeated(f)
