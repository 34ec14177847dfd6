"""Ops of elements by the names of jax.lax. Operands have one dtype; shapes are equal, or one of them has no axes."""

import builtins
import operator

import numpy as np

from tenon import _core
from tenon._core import (
    abs, cosh, erf, erf_inv, isfinite as is_finite, negative as neg, sign, sinh, square)  # noqa: A004
from tenon import numpy as tnp
from tenon.errors import DTypeError, ShapeError
from tenon.numpy import acos, acosh, asin, asinh, atan, atanh, ceil, floor
from tenon._library.special import i0e as bessel_i0e, i1e as bessel_i1e

__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bessel_i0e", "bessel_i1e", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast_shapes", "cbrt", "ceil", "clamp", "clz", "complex", "conj",
    "convert_element_type", "cos", "cosh", "div", "dtype", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor",
    "ge", "gt", "imag", "integer_pow", "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne",
    "neg", "population_count", "pow", "real", "reciprocal", "rem", "round", "RoundingMethod", "rsqrt", "select",
    "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square",
    "sub", "tan", "tanh",
]


_NUMBERS = {bool: "b", int: "i", float: "f", builtins.complex: "c"}


def _is_weak(x):
    return type(x) in _NUMBERS or getattr(x, "weak_type", False)


def _as_weak_as(operands, made):
    """A result that is weakly typed where all operands are."""
    return _core.with_weak(made, True) if all(map(_is_weak, operands)) and made.dtype.kind != "b" else made


def _of_one(name, f, text):
    def op(x, *, accuracy=None):
        return _as_weak_as([x], f(x))

    op.__name__, op.__doc__ = name, f"{text}. `accuracy` is taken and has no effect."
    return op


def real(x):
    """The real part."""
    return _as_weak_as([x], _core.real(x))


def imag(x):
    """The imaginary part, 0 of real numbers."""
    return _as_weak_as([x], _core.imag(x))


exp, exp2 = _of_one("exp", _core.exp, "e to the power x"), _of_one("exp2", tnp.exp2, "2 to the power x")
expm1, log1p = _of_one("expm1", tnp.expm1, "exp(x) - 1"), _of_one("log1p", tnp.log1p, "log(1 + x)")
log, logistic = _of_one("log", _core.log, "The natural logarithm"), _of_one("logistic", _core.logistic, "1 / (1 + exp(-x))")
sin, cos = _of_one("sin", _core.sin, "The sine"), _of_one("cos", _core.cos, "The cosine")
tan, tanh = _of_one("tan", _core.tan, "The tangent"), _of_one("tanh", _core.tanh, "The hyperbolic tangent")
sqrt, rsqrt = _of_one("sqrt", _core.sqrt, "The square root"), _of_one("rsqrt", _core.rsqrt, "1 / sqrt(x)")
cbrt = _of_one("cbrt", tnp.cbrt, "The cube root")


def _kind(x):
    """What a number of Python's or an array is: b, i, f or c of a dtype, unsigned integers as signed ones."""
    kind = _NUMBERS.get(type(x)) or x.dtype.kind
    return {"u": "i", "V": "f"}.get(kind, kind)


def _of_one_kind(name, *operands):
    """The operands, arrays of one dtype; a weak one takes the dtype of the others, if that is of its kind."""
    operands = [x if type(x) in _NUMBERS else tnp.asarray(x) for x in operands]
    strong = {x.dtype for x in operands if not _is_weak(x)}
    if len(strong) > 1 or len({_kind(x) for x in operands}) > 1:
        kinds = ", ".join(str(tnp.result_type(x)) for x in operands)
        raise DTypeError(f"lax.{name} requires arguments to have the same dtypes, got {kinds}. (tnp has functions that "
                         "promote.)")
    return operands


def _of_two(name, f, kinds="bifc"):
    def op(x, y):
        x, y = _of_one_kind(name, x, y)
        if _kind(x) not in kinds:
            raise DTypeError(f"lax.{name} does not accept dtype {tnp.result_type(x, y)}.")
        ranks = tnp.ndim(x), tnp.ndim(y)
        if ranks[0] != ranks[1] and all(ranks):
            raise ShapeError(f"lax.{name}: arrays must have same number of dimensions, got {ranks[0]}, {ranks[1]}.")
        return _as_weak_as([x, y], f(x, y))

    op.__name__, op.__doc__ = name, f.__doc__
    return op


add, sub = _of_two("add", _core.add, "ifc"), _of_two("sub", _core.subtract, "ifc")
div, atan2 = _of_two("div", _core.truncated_divide, "ifc"), _of_two("atan2", tnp.arctan2)
max, min = _of_two("max", _core.maximum), _of_two("min", _core.minimum)  # noqa: A001
eq, ne = _of_two("eq", _core.equal), _of_two("ne", _core.not_equal)
lt, le = _of_two("lt", _core.less, "bif"), _of_two("le", _core.less_equal, "bif")
gt, ge = _of_two("gt", _core.greater, "bif"), _of_two("ge", _core.greater_equal, "bif")
bitwise_and, bitwise_or = _of_two("and", _core.bitwise_and), _of_two("or", _core.bitwise_or)
bitwise_xor, shift_left = _of_two("xor", _core.bitwise_xor), _of_two("shift_left", _core.left_shift, "i")
complex = _of_two("complex", _core.complex, "f")  # noqa: A001
_mul, _pow = _of_two("mul", _core.multiply, "ifc"), _of_two("pow", _core.power)


def mul(x, y, *, out_dtype=None):
    """x · y; in the dtype `out_dtype` of operands converted to it.

    >>> mul(tnp.int8(100), tnp.int8(100), out_dtype="int32").tolist()
    10000
    """
    if out_dtype is None:
        return _mul(x, y)
    x, y = _of_one_kind("mul", x, y)
    return _mul(_core.convert(x, out_dtype), _core.convert(y, out_dtype))


def pow(x, y):  # noqa: A001
    """x to the power y, of one dtype; y may also be of integers.

    >>> pow(tnp.float32(1.5), 2)
    Array(2.25, dtype=float32)
    """
    of_integers = type(y) is int or type(y) not in _NUMBERS and tnp.asarray(y).dtype.kind in "iu"
    return _core.power(x, y) if of_integers else _pow(x, y)


bitwise_not = _core.invert
dtype = tnp.dtype


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes meet in.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    if any(type(n) is int and n < 0 for shape in shapes if isinstance(shape, (tuple, list)) for n in shape):
        raise ShapeError(f"lax.broadcast_shapes: sizes are not negative, but these are {shapes}.")
    return tnp.broadcast_shapes(*shapes)


def _remainder(x, y):
    """What division toward zero leaves, with the sign of x; x itself where integers are divided by 0."""
    rest = _core.fmod(x, y)
    return rest if rest.dtype.kind not in "iu" else _core.where(_core.equal(y, 0), x, rest)


rem = _of_two("rem", _remainder, "if")


def conj(x):
    """The complex conjugate, complex also of real numbers."""
    given, x = x, tnp.asarray(x)
    return _as_weak_as([given], _core.conj(x) if x.dtype.kind == "c" else _core.complex(x, tnp.zeros_like(x)))


def population_count(x):
    """How many bits are set, in the dtype of x; of negative numbers those of their two's complement.

    >>> population_count(tnp.array([3, -1], tnp.int8)).tolist()
    [2, 8]
    """
    given, x = x, tnp.asarray(x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"population_count does not accept dtype {x.dtype}.")
    return _as_weak_as([given], _core.popcount(x))


class RoundingMethod:
    """How round() takes halves."""

    AWAY_FROM_ZERO, TO_NEAREST_EVEN = 0, 1


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):  # noqa: A001
    """The nearest integer; halves away from zero, or to even."""
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return _core.rint(x)
    return _as_weak_as([x], _core.tn.round_half_away(x))


def _integers(name, x, y):
    """Both as arrays."""
    x, y = tnp.asarray(x), tnp.asarray(y)
    if x.dtype.kind not in "iu" or y.dtype.kind not in "iu":
        raise DTypeError(f"lax.{name} does not accept dtype {(y if x.dtype.kind in 'iu' else x).dtype}: it is of integers.")
    return x, y


def shift_right_arithmetic(x, y):
    """The bits of x moved y places down; the sign comes in from the left."""
    return _core.tn.shift_right_arithmetic(*_integers("shift_right_arithmetic", x, y))


def shift_right_logical(x, y):
    """The bits of x moved y places down; zeros come in from the left."""
    return _core.tn.shift_right_logical(*_integers("shift_right_logical", x, y))


def clz(x):
    """How many bits before the first one that is set are not.

    >>> clz(tnp.array([0, 1, 255], tnp.uint8)).tolist()
    [8, 7, 0]
    """
    given, x = x, tnp.asarray(x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"clz does not accept dtype {x.dtype}.")
    return _as_weak_as([given], _core.countl_zero(x))


def integer_pow(x, y):
    """x to a power that is a Python int."""
    return _core.power(x, operator.index(y))


def reciprocal(x):
    """1 / x."""
    return _core.true_divide(1, x)


def erfc(x):
    """1 - erf(x), exact where that is small: within 4 units of the last place until it underflows.

    >>> float(erfc(6.0))
    2.1519736712498913e-17
    """
    return _core.erfc(x)


def clamp(min, x, max):  # noqa: A002
    """x limited to [min, max]; at the ends its derivative is 0."""
    min, x, max = (tnp.asarray(v) for v in _of_one_kind("clamp", min, x, max))
    min, max = _core.convert(min, x.dtype), _core.convert(max, x.dtype)
    inside = _core.less(min, x) & _core.less(x, max)
    return _core.where(inside, x, _core.clamp(min, _core.stop_gradient(x), max))


def select(pred, on_true, on_false):
    """on_true where the predicate holds, else on_false."""
    return select_n(pred, *_of_one_kind("select", on_false, on_true))


def select_n(which, *cases):
    """The case that `which` names, element by element."""
    which, cases = tnp.asarray(which), _of_one_kind("select_n", *cases)
    if which.dtype.kind == "b":
        if len(cases) > 2:
            raise _core.OptionError(f"select_n: a bool chooses of two cases. There are {len(cases)}.")
        return _core.where(which, cases[-1], cases[0])
    made = cases[-1]
    for i, case in reversed(list(enumerate(cases[:-1]))):
        made = _core.where(_core.less_equal(which, i), case, made)
    return tnp.asarray(made)


def convert_element_type(operand, new_dtype):
    """The values in another dtype."""
    if type(operand) is int and _core.dtype(new_dtype).kind not in "iub":  # of any size: not through an integer of 64 bits
        operand = float(operand)
    return _core.convert(operand, new_dtype)


