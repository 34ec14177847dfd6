"""What a test's call of a function is: a strategy that draws it, and what NumPy says of the same call. The calls themselves are in
numpy_calls.py, shape_calls.py and lax_calls.py."""

from typing import Any, Callable, NamedTuple

import numpy as np
from drawn import Draw, inexact, real_part


class Call(NamedTuple):
    args: tuple
    options: dict = {}


class Case(NamedTuple):
    draw: Callable[[Draw], Call]
    reference: Callable
    rule: Any              # the result's dtype from those of the operands that meet; None: NumPy's, computed in the same dtypes
    operands: tuple        # which arguments meet in one dtype
    terms: int             # how large errors of rounding are beside the operands: 0 beside the result alone
    refuses: Callable      # calls that NumPy takes and JAX does not
    takes: Callable        # calls that JAX takes and NumPy does not


REAL, ANY = "biuhf", "biuhfc"
CASES = {}  # of tenon.numpy, by name


def case(names, *, reference=None, rule=None, operands=(), terms=0, refuses=lambda *a, **k: False,
         takes=lambda *a, **k: False, table=CASES):
    """Enters a strategy under several names; the reference is NumPy's function of that name where no other is given."""
    def enter(draw):
        for name in names.split():
            table[name] = Case(draw, reference or getattr(np, name), rule, operands, terms, refuses, takes)
        return draw

    return enter


def call(*args, **options):
    return Call(args, options)


def of(kinds, values="special", **shapes):
    return lambda d: call(d.array(kinds, values, **shapes))


def either(*draws):
    return lambda d: d.of(*draws)(d)


def same(dtype):
    return dtype


def to(name):
    return lambda dtype: np.dtype(name)


def counting(function):
    """NumPy's function, whose counts and places are i32, as JAX's."""
    return lambda *args, **options: np.int32(function(*args, **options))


def real_inexact(dtype):
    return real_part(inexact(dtype))


def flags(d, **more):
    """Options that are now and then given."""
    return {name: make() for name, make in more.items() if d.flag()}


def no_such_axis(x, *args, axis=None, **options):
    """NumPy's reductions take axis 0 of an array that has none."""
    return x.ndim == 0 and axis in (0, -1)


def dims(d, text):
    """Shapes by letters of axes, each with one size."""
    sizes = {c: d.number(0, 3) for c in set(text) if c.isalpha()}
    return [tuple(sizes[c] for c in part) for part in text.split(",")]
