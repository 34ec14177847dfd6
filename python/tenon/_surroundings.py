"""Names of jax that say how programs are run: contexts, what a value is."""

import contextlib
from typing import NamedTuple

from tenon import _core
from tenon._arguments import bind, from_front, numbers_of
from tenon._config import config
from tenon._shape_dtype import typeof
from tenon._transforms import _named, make_program

__all__ = ["cache_info", "check_tracer_leaks", "checking_leaks", "clear_caches", "debug_infs", "debug_nans", "default_matmul_precision",
           "enable_x64", "make_jaxpr", "named_scope", "print_environment_info", "typeof"]


class _Setting(contextlib.ContextDecorator):
    """A context, or a decorator, in which a setting of tn.config is another one."""

    def __init__(self, new_val=True):
        self.on, self.before = bool(new_val), []

    def __enter__(self):
        self.before.append(getattr(config, self.name))
        setattr(config, self.name, self.on)

    def __exit__(self, *_):
        setattr(config, self.name, self.before.pop())


class enable_x64(_Setting):  # noqa: N801
    """A context, or a decorator, in which 64-bit data stays 64-bit, or becomes 32-bit.

    >>> import tenon.numpy as tnp
    >>> with enable_x64(False):
    ...     tnp.zeros(1).dtype
    dtype('float32')
    """

    name = "x64"


class debug_nans(_Setting):  # noqa: N801
    """A context, or a decorator, in which a NaN in a result is a FloatingPointError (tn.errors.NonFiniteError): of every
    op that runs by itself, and of the results of compiled functions. It names the op in which the NaN began, its
    operands' types and the line that called it: a compiled function runs again for that, op by op, and its callbacks
    with it. What a function of tenon makes and leaves out again is not looked at. Meanwhile nothing is donated.
    tn.config.debug_nans says so for all that follows.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> with tn.debug_nans(True):
    ...     tn.jit(lambda x: tnp.log(x) * 2)(-1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tenon.errors.NonFiniteError: jit (debug_nans): invalid value (nan) encountered in log of f64[].
    ...
    """

    name = "debug_nans"


class debug_infs(_Setting):  # noqa: N801
    """The same of infinities.

    >>> import tenon as tn, tenon.numpy as tnp
    >>> with tn.debug_infs(True):
    ...     1 / tnp.zeros(2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tenon.errors.NonFiniteError: debug_infs: invalid value (inf) encountered in div of f64[2], f64[2].
    ...
    """

    name = "debug_infs"


class _NoEffect(contextlib.ContextDecorator):
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


class named_scope(_NoEffect):  # noqa: N801
    """A context, or a decorator: taken, and of no effect. Ops know the user's line."""

    def __init__(self, name):
        self.name = name


class default_matmul_precision(_NoEffect):  # noqa: N801
    """A context: taken, and of no effect. Products are always as exact as the operands' dtype."""

    def __init__(self, new_val=None):
        self.precision = new_val


class check_tracer_leaks(_NoEffect):  # noqa: N801
    """A context: taken, and of no effect. A traced array that outlives its trace is always found, where it is used."""

    def __init__(self, new_val=True):
        self.on = new_val


checking_leaks = check_tracer_leaks


def print_environment_info(return_string=False):
    """Prints, or returns, the versions of what runs."""
    import platform

    import numpy

    text = (f"tenon:  {_core.version}\nnumpy:  {numpy.__version__}\npython: {platform.python_version()}\n"
            f"system: {platform.platform()}")
    if return_string:
        return text
    print(text)
    return None


class CacheInfo(NamedTuple):
    """What a kind of cache holds; see cache_info()."""

    entries: int
    bound: int
    hits: int
    misses: int
    bytes: int


def cache_info():
    """What the caches of the process hold: a dict of (entries, bound, hits, misses, bytes).

    "traces": of functions made by jit, each at most as many as its part of the bound; "transformations": derivatives,
    batches and passes of Programs; "executables": what was compiled; "ops": those that ran outside of jit; "code": of
    functions that may differ in numbers; "fourier": plans of Fourier transforms, once there was one. Where a cache is full,
    what was asked for least recently goes. Bytes are an estimate, and 0 where nobody counts them.

    >>> cache_info()["executables"].bound
    4096
    """
    return {name: CacheInfo(*counts) for name, *counts in _core.cache_infos()}


def clear_caches():
    """Forgets what all functions made by jit, and all ops, were traced and compiled to.

    >>> import tenon as tn
    >>> f = tn.jit(lambda x: print("traced") or x + 1)
    >>> [f(1)[()], tn.clear_caches(), f(1)[()]]
    traced
    traced
    [Array(2, dtype=int64, weak_type=True), None, Array(2, dtype=int64, weak_type=True)]
    """
    _core.clear_caches()


def make_jaxpr(fun, static_argnums=(), axis_env=None, return_shape=False):
    """make_program() by its name in JAX.

    >>> print(make_jaxpr(lambda x: x * 2)(1.0))  # doctest: +ELLIPSIS
    program...
    """
    static = numbers_of(static_argnums, "make_jaxpr: static_argnums")[0]

    def program(*args, **kwargs):
        traced, others = bind(fun, from_front(static, len(args)), args)
        return make_program(traced, return_shape=return_shape)(*others, **kwargs)

    return _named(program, fun, "make_jaxpr")
