"""Functions of each element by itself: those of the library by their names in NumPy, and what is made of them."""

import math
import operator

import numpy as np

from tenon import _core, _sizes
from tenon._checks import whole
from tenon._core import (
    abs, add, bitwise_and, bitwise_or, bitwise_xor, conj, cos, cosh, equal, exp, fmod, greater,  # noqa: A004
    greater_equal, imag, invert, isfinite, isnan, left_shift, less, less_equal, log,
    maximum, minimum, multiply, negative, not_equal, positive, power, real, remainder, sin, sinh,
    sqrt, square, subtract, tan, tanh, true_divide, floor_divide)
from tenon.errors import DTypeError
from tenon.numpy import _dtypes
from tenon.numpy._creation import asarray

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "allclose", "angle", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "around", "array_equal", "array_equiv", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil", "clip", "conj", "conjugate", "copysign", "cos", "cosh",
    "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1", "fabs", "fix", "float_power", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "frexp", "gcd", "greater", "greater_equal", "heaviside", "hypot", "imag", "invert",
    "isclose", "iscomplex", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "lcm", "ldexp",
    "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "modf", "multiply", "nan_to_num",
    "negative", "not_equal", "positive", "pow", "power", "rad2deg", "radians", "real", "reciprocal", "remainder",
    "right_shift", "rint", "round", "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "subtract", "tan",
    "tanh", "true_divide", "trunc",
]

absolute = abs
bitwise_invert = bitwise_not = invert
bitwise_left_shift = left_shift
conjugate = conj
divide = true_divide
mod = remainder
pow = power  # noqa: A001


def _is_integer(x):
    return not _dtypes.issubdtype(_dtypes._operand_type(x)[0], np.inexact)


def _is_complex(x):
    return np.issubdtype(_dtypes._operand_type(x)[0], np.complexfloating)


def sign(x, /):
    """-1, 0 or 1, as x is; of complex numbers x / |x|. Of both zeros 0, without a sign.

    >>> sign(np.array([-2.0, -0.0, 3.0])).tolist()
    [-1.0, 0.0, 1.0]
    """
    made = _core.sign(x)
    return made if _is_integer(x) else _core.where(equal(x, 0), 0, made)


def floor(x, /):
    """The largest integer not above x."""
    return positive(x) if _is_integer(x) else _core.floor(x)


def ceil(x, /):
    """The smallest integer not below x."""
    return positive(x) if _is_integer(x) else _core.ceil(x)


def trunc(x, /):
    """x rounded toward zero."""
    return positive(x) if _is_integer(x) else _core.trunc(x)


fix = trunc


def round(a, decimals=0, out=None):  # noqa: A001
    """a rounded to so many decimals, halves to even."""
    decimals = operator.index(decimals)
    if _dtypes._operand_type(a)[0].kind == "b":
        raise DTypeError("round: of bools there is nothing to round.")
    return rint(a) if decimals == 0 and not _is_integer(a) else _core.round(positive(a), decimals)


around = round


def log2(x, /):
    """The logarithm to base 2."""
    return _core.log2(x)


def log10(x, /):
    """The logarithm to base 10."""
    return _core.log10(x)


def exp2(x, /):
    """2 to the power x."""
    return _core.exp2(x)


def reciprocal(x, /):
    """1 / x."""
    return true_divide(1, _core.to_inexact(x))


def rint(x, /):
    """The nearest integer, halves to even, as a real number."""
    if _is_complex(x):
        return _core.complex(_core.rint(real(x)), _core.rint(imag(x)))
    return _core.convert(x, _dtypes.default("f")) if _is_integer(x) else _core.rint(x)


def _real_only(x, name):
    if _is_complex(x):
        raise DTypeError(f"{name} does not accept complex numbers.")
    return x


def cbrt(x, /):
    """The cube root. Its derivative at 0 is infinite."""
    return _core.tn.cbrt(_real_only(_core.to_inexact(x), "cbrt"))


def _of_real_or_complex(name, text):
    of_core = getattr(_core, name)

    def function(x, /):
        return of_core(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text + """

    Of complex numbers within 1e-15 of the result's size in double precision; on a branch cut the sign of the zero beside it
    says which side is meant, and infinities and NaN are as in C's Annex G.
    """
    return function


expm1 = _of_real_or_complex("expm1", "exp(x) - 1, exact near 0.")
log1p = _of_real_or_complex("log1p", "log(1 + x), exact near 0.")
arcsin = _of_real_or_complex("arcsin", "The inverse sine.")
arccos = _of_real_or_complex("arccos", "The inverse cosine.")
arctan = _of_real_or_complex("arctan", "The inverse tangent.")
arcsinh = _of_real_or_complex("arcsinh", "The inverse hyperbolic sine.")
arccosh = _of_real_or_complex("arccosh", "The inverse hyperbolic cosine.")
arctanh = _of_real_or_complex("arctanh", "The inverse hyperbolic tangent.")
acos, asin, atan, acosh, asinh, atanh = arccos, arcsin, arctan, arccosh, arcsinh, arctanh


def arctan2(x1, x2, /):
    """The angle of the point (x2, x1); of complex numbers -i·log((x2 + i·x1) / sqrt(x1² + x2²))."""
    if _is_complex(x1) or _is_complex(x2):
        x1, x2 = _inexact_together(x1, x2)
    return _core.arctan2(x1, x2)


atan2 = arctan2


def hypot(x1, x2, /):
    """sqrt(x1² + x2²), without overflow."""
    x1, x2 = _inexact_together(x1, x2)
    if _is_complex(x1):
        raise DTypeError("hypot is not defined of complex numbers: take their abs().")
    return _core.hypot(x1, x2)


def _inexact_together(*operands):
    """Operands in the real or complex dtype in which they meet."""
    met = _core.to_inexact(_core.full((), 0, _dtypes.result_type(*operands))).dtype
    return [_core.convert(x, met) for x in operands]


def logaddexp(x1, x2, /):
    """log(exp(x1) + exp(x2)), without overflow."""
    return _core.logaddexp(*_inexact_together(x1, x2))


def logaddexp2(x1, x2, /):
    """log2(2^x1 + 2^x2), without overflow."""
    return _core.logaddexp2(*_inexact_together(x1, x2))


@whole
def isinf(x, /):
    """Whether x is infinite."""
    return _core.isinf(x)


def _falses(x):
    return not_equal(x, x)


def isposinf(x, /, out=None):
    """Whether x is infinity."""
    return _falses(x) if _is_integer(x) else equal(_ordered(x), math.inf)


def isneginf(x, /, out=None):
    """Whether x is -infinity."""
    return _falses(x) if _is_integer(x) else equal(_ordered(x), -math.inf)


def _ordered(x):
    if _is_complex(x):
        raise DTypeError(f"isposinf/isneginf are not well defined for complex types. This is {_dtypes._operand_type(x)[0]}.")
    return x


def iscomplex(x):
    """Whether there is an imaginary part."""
    return not_equal(imag(x), 0)


def isreal(x):
    """Whether there is no imaginary part."""
    return equal(imag(x), 0)


def signbit(x, /):
    """Whether the sign is minus, also that of -0 and NaN."""
    return _core.signbit(_real_only(x, "signbit"))


def copysign(x1, x2, /):
    """x1 with the sign of x2."""
    x1, x2 = _inexact_together(x1, x2)
    return _core.copysign(_real_only(x1, "copysign"), x2)


def heaviside(x1, x2, /):
    """0 below 0, 1 above, x2 at 0."""
    x1, x2 = (_real_only(x, "heaviside") for x in _inexact_together(x1, x2))
    return _core.heaviside(x1, x2)


def deg2rad(x, /):
    """Degrees as radians."""
    return _core.deg2rad(x)


def rad2deg(x, /):
    """Radians as degrees."""
    return _core.rad2deg(x)


radians, degrees = deg2rad, rad2deg


def sinc(x, /):
    """sin(πx) / (πx), and 1 at 0."""
    return _core.sinc(x)


def fabs(x, /):
    """|x|, real."""
    return abs(_real_only(_core.to_inexact(x), "fabs"))


def fmax(x1, x2, /):
    """The larger of both; where one is NaN the other. The derivative in equal ones is half in each, as that of maximum."""
    return _core.fmax(x1, x2)


def fmin(x1, x2, /):
    """The smaller of both; where one is NaN the other. The derivative in equal ones is half in each, as that of minimum."""
    return _core.fmin(x1, x2)


def modf(x, /, out=None):
    """(the part behind the point, the part before it)."""
    x = _core.to_inexact(x)
    whole = trunc(x)
    return _core.where(isinf(x), copysign(0, x), x - whole), whole


def divmod(x1, x2, /):  # noqa: A001
    """(floor_divide, remainder)."""
    return floor_divide(x1, x2), remainder(x1, x2)


def float_power(x1, x2, /):
    """x1 to the power x2, with the widest precision."""
    return _core.power(*_inexact_together(x1, x2))


def ldexp(x1, x2, /):
    """x1 * 2^x2. Subnormal results are zeros where programs are compiled."""
    x1 = _core.to_inexact(x1)
    kind = _dtypes._operand_type(x2)[0]
    if x1.dtype.kind == "c" or kind.kind not in "biu":
        raise DTypeError(f"ldexp: of real numbers and integers, not of {x1.dtype} and {kind}.")
    return _core.ldexp(x1, x2)


def frexp(x, /):
    """(m, n) with x = m * 2^n and 0.5 <= |m| < 1; (x, 0) of zeros, infinities and NaN.

    >>> frexp(np.float32(-6.0))
    (Array(-0.75, dtype=float32), Array(3, dtype=int32))
    """
    return _core.frexp(_real_only(x, "frexp"))


def right_shift(x1, x2, /):
    """The bits of x1 moved x2 places down."""
    return _core.right_shift(x1, x2)


bitwise_right_shift = right_shift


def bitwise_count(x, /):
    """How many bits are set; of negative numbers those of |x|."""
    kind = _core.positive(x).dtype
    if kind.kind == "b":
        return _core.convert(x, "uint8")
    if kind.kind not in "iu":
        raise DTypeError(f"bitwise_count does not accept dtype {kind}.")
    # As unsigned numbers of the same width: the least number has no |x| of its own.
    return _core.convert(_core.popcount(_core.convert(abs(x), f"uint{8 * kind.itemsize}")), "uint8")


def _integers(name, *operands):
    met = _dtypes.result_type(*operands)
    if met.kind not in "iu":
        raise DTypeError(f"Arguments to {name} must be integers. They meet in {met}.")
    return met


def gcd(x1, x2, /):
    """The greatest common divisor, by Euclid."""
    met = _integers("gcd", x1, x2)
    return _core.gcd(_core.convert(x1, met), _core.convert(x2, met))


def lcm(x1, x2, /):
    """The least common multiple."""
    met = _integers("lcm", x1, x2)
    return _core.lcm(_core.convert(x1, met), _core.convert(x2, met))


def _truth(x):
    x = _core.positive(x)
    return x if x.dtype == np.bool_ else not_equal(x, 0)


def logical_and(x, y, /):
    """Both are true (not zero)."""
    return _truth(x) & _truth(y)


def logical_or(x, y, /):
    """One of both is true (not zero)."""
    return _truth(x) | _truth(y)


def logical_xor(x, y, /):
    """One of both is true (not zero), the other is not."""
    return _truth(x) ^ _truth(y)


def logical_not(x, /):
    """Whether x is zero."""
    return ~_truth(x)


def clip(arr, /, min=None, max=None):  # noqa: A002
    """arr limited to [min, max]; None is no limit."""
    if any(x is not None and _is_complex(x) for x in (arr, min, max)):
        raise DTypeError("clip: complex numbers have no limits; clip their real() and imag() parts.")
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return _core.positive(arr)


@whole
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Numbers in place of NaN and the infinities: the largest ones where none are given."""
    if _is_integer(x):
        return _core.positive(x)
    return _core.nan_to_num(x, nan, posinf, neginf)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """|a - b| <= atol + rtol * |b|."""
    return _core.isclose(a, b, rtol, atol, bool(equal_nan))


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether isclose() holds everywhere."""
    return _core.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1, a2, equal_nan=False):
    """Whether shapes and elements are equal."""
    a1, a2 = asarray(a1), asarray(a2)
    if np.shape(a1) != np.shape(a2):
        return _core.positive(False)
    same = equal(a1, a2)
    return _core.all(same | (isnan(a1) & isnan(a2)) if equal_nan else same)


def array_equiv(a1, a2):
    """Whether the shapes broadcast, and all elements are equal."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        _sizes.broadcast(np.shape(a1), np.shape(a2))
    except ValueError:
        return _core.positive(False)
    return _core.all(equal(a1, a2))


def angle(z, deg=False):
    """The angle of complex numbers."""
    z = _core.convert(z, _dtypes.default("f")) if _is_integer(z) else _core.positive(z)
    made = arctan2(imag(z), real(z)) if _is_complex(z) else _core.where(isnan(z), z, _core.where(
        signbit(z), _core.convert(math.pi, z.dtype), _core.convert(0, z.dtype)))
    return rad2deg(made) if deg else made

