"""Values seen while compiled functions run: print and callback, as in jax.debug."""

import functools
import string
import sys

import numpy as np

from tenon._callbacks import call_for_effect
from tenon.errors import OptionError

__all__ = ["callback", "print"]


class _Check(string.Formatter):
    """Whether every argument has a place, before there are values."""

    def format_field(self, value, format_spec):
        return ""

    def check_unused_args(self, used_args, args, kwargs):
        unused = [arg for i, arg in enumerate(args) if i not in used_args]
        if unused:
            raise OptionError(f"debug.print: no place in the format for the arguments {unused}.")
        unused = [name for name in kwargs if name not in used_args]
        if unused:
            raise OptionError(f"debug.print: no place in the format for the keywords {unused}; the format is no f-string.")


_check = _Check()


def print(fmt=None, *args, ordered=False, partitioned=False, skip_format_check=False, **kwargs):  # noqa: A001
    """Prints fmt.format(*args, **kwargs) each time the program comes by: in compiled functions, loops, branches that are
    taken, and once a lane under vmap, in the order of the program. Derivatives print the values. The format is no
    f-string. Without `fmt` a function is returned that takes it, and the arguments.

    >>> import tenon as tn
    >>> tn.jit(lambda x: tn.debug.print("x = {x:.2f} {}", "m", x=x))(1.5)
    x = 1.50 m
    """
    if fmt is None:
        if args or kwargs:
            raise OptionError("debug.print: without a format there are no arguments.")
        return functools.partial(_print, skip_format_check)
    return _print(skip_format_check, fmt, *args, **kwargs)


def _print(skip_format_check, fmt, /, *args, **kwargs):
    if not isinstance(fmt, str):
        raise OptionError(f"debug.print: the format is a str, not {fmt!r:.60}.")
    if not skip_format_check:
        _check.format(fmt, *args, **kwargs)
    call_for_effect("debug.print", _printer(fmt, tuple(np.get_printoptions().items())), args, kwargs)


@functools.lru_cache(maxsize=512)
def _printer(fmt, options):
    places = any(field is not None for _, field, *_ in string.Formatter().parse(fmt))

    def line(*args, **kwargs):
        args, kwargs = tuple(map(_value, args)), {name: _value(arg) for name, arg in kwargs.items()}
        with np.printoptions(**dict(options)):
            text = fmt.format(*args, **kwargs) if places else " ".join((fmt, *map(str, args)))
        sys.stdout.write(text + "\n")

    return line


def _value(arg):
    """An array as NumPy's; those in containers stay as they are."""
    return np.asarray(arg) if hasattr(arg, "__array__") else arg


def callback(callback=None, *args, ordered=False, partitioned=False, **kwargs):
    """Calls callback(*args, **kwargs), with Arrays, each time the program comes by, as print() does; what it returns
    is not used, what it raises comes out of the call. Without `callback` a function is returned that takes it.

    >>> import tenon as tn
    >>> seen = []
    >>> tn.jit(lambda x: tn.debug.callback(seen.append, x))(2.0)
    >>> seen
    [Array(2., dtype=float64)]
    """
    if callback is None:
        if args or kwargs:
            raise OptionError("debug.callback: without a function there are no arguments.")
        return _call
    return _call(callback, *args, **kwargs)


def _call(callback, /, *args, **kwargs):
    if not callable(callback):
        raise OptionError(f"debug.callback: {callback!r:.60} is not callable.")
    call_for_effect("debug.callback", callback, args, kwargs)
