"""Names of jax that say how programs are run: contexts, what a value is."""

import contextlib
import platform

from tenon import _core
from tenon._arguments import bind, from_front, numbers_of
from tenon._transforms import ShapeDtypeStruct, make_program

__all__ = ["check_tracer_leaks", "checking_leaks", "default_matmul_precision", "enable_x64", "make_jaxpr", "named_scope", "print_environment_info", "typeof"]


class enable_x64(contextlib.ContextDecorator):  # noqa: N801
    """A context, or a decorator, in which 64-bit data stays 64-bit, or becomes 32-bit.

    >>> import tenon.numpy as tnp
    >>> with enable_x64(False):
    ...     tnp.zeros(1).dtype
    dtype('float32')
    """

    def __init__(self, new_val=True):
        self.on, self.before = bool(new_val), []

    def __enter__(self):
        self.before.append(_core.x64())
        _core.set_x64(self.on)

    def __exit__(self, *_):
        _core.set_x64(self.before.pop())


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
    import numpy

    text = (f"tenon:  {_core.version}\nnumpy:  {numpy.__version__}\npython: {platform.python_version()}\n"
            f"system: {platform.platform()}")
    if return_string:
        return text
    print(text)
    return None


def typeof(x):
    """The shape and the dtype of a value.

    >>> typeof(1.5)
    ShapeDtypeStruct(shape=(), dtype=float64, weak_type=True)
    """
    from tenon import numpy as tnp

    x = tnp.asarray(x) if isinstance(x, (bool, int, float, complex)) or not hasattr(x, "dtype") else x
    return ShapeDtypeStruct(x.shape, tnp.result_type(x), weak_type=bool(getattr(x, "weak_type", False)))


def make_jaxpr(fun, static_argnums=(), axis_env=None, return_shape=False):
    """make_program() by its name in JAX.

    >>> print(make_jaxpr(lambda x: x * 2)(1.0))  # doctest: +ELLIPSIS
    program...
    """
    static = numbers_of(static_argnums, "make_jaxpr: static_argnums")[0]

    def program(*args, **kwargs):
        traced, others = bind(fun, from_front(static, len(args)), args)
        return make_program(traced, return_shape=return_shape)(*others, **kwargs)

    return program
