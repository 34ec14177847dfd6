"""Inverse trigonometric and hyperbolic functions of complex numbers, and those that are exact near 0.

By the formulas of Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using exception
handling" (1997), and of Kahan, "Branch cuts for complex elementary functions" (1987). On a branch cut the sign of the zero
beside it says which side is meant.
"""

import functools
import math

import numpy as np

from tenon import _core


def is_far(x):
    """Where real numbers are so large that 1 beside their squares is less than rounding."""
    return _core.greater(x, {8: 1e8, 4: 1e4, 2: 64}[x.dtype.itemsize])


def _parts(z):
    return _core.real(z), _core.imag(z)


def with_sign(size, x):
    """size, which is not negative, with the sign of x."""
    return _core.where(_core.signbit(x), -size, size)


def _arcsine(x, y):
    """Of asin(x + iy): (what the real part is the arctangent of, as two sides of a triangle, |imaginary part|)."""
    a, b = _core.abs(x), _core.abs(y)
    far = is_far(_core.maximum(a, b)) | _core.isnan(a + b)
    a, b = _core.where(far, 1, a), _core.where(far, 1, b)
    r, s = _core.hypot(a + 1, b), _core.hypot(a - 1, b)
    middle = (r + s) / 2  # the half axis of the ellipse through the point, with the foci 1 and -1
    inside = _core.less(a, 1)
    to_focus = _core.where(inside, s + (1 - a), s + (a - 1))
    gap = _core.where(_core.equal(to_focus, 0), 0, b / _core.where(_core.equal(to_focus, 0), 1, to_focus))
    rest = b / (r + a + 1)
    # sqrt(middle² - a²) and middle - 1, without their differences.
    other = _core.where(_core.less_equal(a, 1), _core.sqrt((middle + a) / 2 * (b * rest + s + (1 - a))),
                        b * _core.sqrt((middle + a) / 2 * (1 / (r + a + 1) + 1 / _core.where(_core.greater(a, 1), s + (a - 1), 1))))
    slope = (rest + gap) / 2
    above = _core.where(inside, b * slope, (b * rest + to_focus) / 2)
    root = _core.where(inside, _core.sqrt(b) * _core.sqrt(slope * (middle + 1)), _core.sqrt(above * (middle + 1)))
    half = _core.hypot(x / 2, y / 2)
    large = _core.log(_core.where(far, half, 1)) + 2 * math.log(2)
    return _core.where(far, _core.abs(y), other), _core.where(far, large, _core.log1p(above + root))


def _odd(x, y, made):
    """A part that has the sign of x: the same zero where x is one, though y is NaN."""
    return _core.where(_core.equal(x, 0) & _core.isnan(y), x, made)


def _angle(other, x, y):
    """The arccosine's real part: a right angle where x is zero, though y is NaN."""
    return _core.where(_core.equal(x, 0) & _core.isnan(y), math.pi / 2, _core.arctan2(other, x))


def _arcsin(z):
    x, y = _parts(z)
    other, size = _arcsine(x, y)
    return _core.complex(_odd(x, y, _core.arctan2(x, other)), with_sign(size, y))


def _arccos(z):
    x, y = _parts(z)
    other, size = _arcsine(x, y)
    return _core.complex(_angle(other, x, y), -with_sign(size, y))


def _arccosh(z):
    x, y = _parts(z)
    other, size = _arcsine(x, y)
    return _core.complex(size, with_sign(_angle(other, x, y), y))


def _arcsinh(z):
    x, y = _parts(z)
    other, size = _arcsine(y, x)
    return _core.complex(with_sign(size, x), _odd(y, x, _core.arctan2(y, other)))


def _artanh(x, y):
    """The parts of atanh(x + iy)."""
    a, b = _core.abs(x), _core.abs(y)
    infinite, nan = _core.equal(a, math.inf) | _core.equal(b, math.inf), _core.isnan(a + b)
    no_size, no_angle = nan & _core.not_equal(a, 0) & ~infinite, nan & _core.not_equal(b, math.inf)
    far = is_far(_core.maximum(a, b)) | infinite
    size = _core.where(far, _core.hypot(a, b), 1)
    small, turn = (_core.where(_core.isfinite(size), part / size / size, 0) for part in (a, b))  # 1/z
    a, b = _core.where(far, 0, a), _core.where(far, 0, b)
    distance = _core.hypot(a - 1, b)
    least = math.sqrt(float(np.finfo(a.dtype).tiny)) * 4
    close = _core.less(distance, least)
    usable = _core.where(close, 1, distance)
    near = _core.where(close, (math.log(2) - _core.log(_core.where(close, distance, 1))) / 2,
                       _core.log1p(4 * a / usable / usable) / 4)
    angle = _core.where(far, math.pi / 2 - turn, _core.arctan2(2 * b, (1 - a) * (1 + a) - b * b) / 2)
    made = _core.where(far, small, _core.where(nan, a, near))
    return (with_sign(_core.where(no_size, math.nan, _core.where(infinite, 0, made)), x),
            with_sign(_core.where(no_angle, math.nan, _core.where(infinite, math.pi / 2, angle)), y))


def _arctanh(z):
    return _core.complex(*_artanh(*_parts(z)))


def _arctan(z):
    x, y = _parts(z)
    im, re = _artanh(y, x)
    return _core.complex(re, im)


def _expm1(z):
    x, y = _parts(z)
    half, whole = _core.sin(y / 2), _core.exp(z)
    large = _core.greater(x, 1)
    near = _core.where(large, 0, x)
    re = _core.where(large, _core.real(whole) - 1, _core.expm1(near) * _core.cos(y) - 2 * half * half)
    plain, vanishes = _core.equal(y, 0), _core.equal(x, -math.inf) & ~_core.isfinite(y)
    return _core.complex(_core.where(plain & _core.not_equal(x, 0), _core.expm1(x), _core.where(vanishes, -1, _core.where(plain, 0, re))),
                         _core.where(plain, y, _core.where(vanishes, 0, _core.imag(whole))))


def _log1p(z):
    x, y = _parts(z)
    far = _core.greater(_core.maximum(_core.abs(x), _core.abs(y)), 0.5)
    whole = _core.log(_core.complex(1 + x, y))
    u, v = _core.where(far, 0, x), _core.where(far, 0, y)
    size = _core.where(far, _core.real(whole), _core.log1p(u * (2 + u) + v * v) / 2)
    infinite = _core.equal(_core.abs(x), math.inf) | _core.equal(_core.abs(y), math.inf)
    return _core.complex(_core.where(infinite, math.inf, size), _core.imag(whole))


def _beside(z, sign):
    """1 + z or 1 - z, with the sign of a zero as it is beside the branch cut."""
    x, y = _parts(z)
    return _core.complex(1 + sign * x, sign * y)


def _turned(z):
    """i·z."""
    x, y = _parts(z)
    return _core.complex(-y, x)


def _root_of_product(z):
    """sqrt(1 - z²), accurate where z is near 1 or -1."""
    return _core.sqrt(_beside(z, -1)) * _core.sqrt(_beside(z, 1))


def _slope_of_arccosh(z):
    x, y = _parts(z)
    return 1 / (_core.sqrt(_core.complex(x - 1, y)) * _core.sqrt(_beside(z, 1)))


_FORMULAS = {
    "arcsin": (_arcsin, lambda z: 1 / _root_of_product(z)), "arccos": (_arccos, lambda z: -1 / _root_of_product(z)),
    "arcsinh": (_arcsinh, lambda z: 1 / _root_of_product(_turned(z))), "arccosh": (_arccosh, _slope_of_arccosh),
    "arctanh": (_arctanh, lambda z: 1 / (_beside(z, -1) * _beside(z, 1))),
    "arctan": (_arctan, lambda z: 1 / (_beside(_turned(z), -1) * _beside(_turned(z), 1))),
    "expm1": (_expm1, _core.exp), "log1p": (_log1p, lambda z: 1 / _beside(z, 1)),
}


@functools.cache
def of_complex(name):
    """The function of this name, of complex arrays: within 1e-15·|result| in double precision, with the derivative that
    continues the side of a branch cut on which it is."""
    from tenon import custom_jvp

    value, slope = _FORMULAS[name]
    f = custom_jvp(value)
    f.defjvp(lambda primals, tangents: (f(*primals), slope(*primals) * tangents[0]))
    return f


def arctan2(y, x):
    """-i·log((x + iy) / sqrt(x² + y²)) of complex arrays: the arctangent of y / x, and half turns."""
    steep = _core.greater(_core.abs(y), _core.abs(x))
    one = _core.where(steep, x, y) / _core.where(steep, y, x)
    angle = of_complex("arctan")(one)
    angle = _core.where(steep, math.pi / 2 - angle, angle)
    turned = _core.complex(_core.real(x) - _core.imag(y), _core.imag(x) + _core.real(y))
    branch = _core.imag(_core.log(turned / _core.sqrt(x * x + y * y)))
    turns = _core.rint((branch - _core.real(angle)) / math.pi)
    return angle + math.pi * _core.stop_gradient(turns)


def logaddexp(a, b):
    """log(exp(a) + exp(b)) of complex arrays, without overflow, its imaginary part between -π and π."""
    larger = _core.stop_gradient(_core.maximum(a, b))
    larger = _core.where(_core.isfinite(larger), larger, 0)
    made = larger + _core.log(_core.exp(a - larger) + _core.exp(b - larger))
    angle = _core.imag(made)
    return _core.complex(_core.real(made), angle - 2 * math.pi * _core.rint(angle / (2 * math.pi)))
