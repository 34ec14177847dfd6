"""The normal distribution function, its logarithm and its inverse."""

import functools
import math

from tenon import _core
from tenon import numpy as tnp

__all__ = ["log_ndtr", "ndtr", "ndtri"]

_SERIES_BELOW = -20.0  # in 32 bits -10: there the series is exact to rounding
_TERMS = 8
_NEWTON_STEPS = 6      # each doubles the digits, and the first guess has one where it is worst


def _real(x, name):
    x = _core.to_inexact(tnp.asarray(x))
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: real numbers, not {x.dtype}.")
    return x


def ndtr(x):
    """The probability that a standard normal number is at most x.

    >>> float(ndtr(0.0))
    0.5
    """
    return _core.erfc(_real(x, "ndtr") * -math.sqrt(0.5)) / 2


def log_ndtr(x):
    """log(ndtr(x)), without underflow.

    >>> round(float(log_ndtr(-100.0)), 3)
    -5005.524
    """
    x = _real(x, "log_ndtr")
    limit = _SERIES_BELOW if x.dtype.itemsize == 8 else _SERIES_BELOW / 2
    far, near = _core.less(x, limit), _core.greater(x, 0)
    upper = _core.where(near, x, 1.0)
    middle = _core.where(far | near, -1.0, x)
    return _core.where(far, _of_the_tail(_core.where(far, x, 2 * limit)),
                       _core.where(near, _core.log1p(-ndtr(-upper)), _core.log(ndtr(middle))))


def _of_the_tail(x):
    # ndtr(x) = pdf(x) / -x · (1 - 1/x² + 3/x⁴ - 15/x⁶ + …): Abramowitz and Stegun, 26.2.12.
    square, total, term = x * x, 1.0, 1.0
    for n in range(1, _TERMS + 1):
        term = term * -(2 * n - 1) / square
        total = total + term
    return -square / 2 - _core.log(-x) - math.log(2 * math.pi) / 2 + _core.log(total)


def _inverse(p):
    middle = _core.less(_core.abs(p - 0.5), 0.25)
    central = _core.erf_inv(2 * _core.where(middle, p, 0.5) - 1) * math.sqrt(2)
    lower = _core.less(p, 0.5)
    tail = _core.where(lower, p, 1 - p)
    inside = _core.greater(tail, 0)
    goal = _core.log(_core.where(inside, tail, 0.5))
    # Newton's steps for log_ndtr(x) = log p, which is concave: from below none goes too far.
    x = -_core.sqrt(-2 * goal)
    for _ in range(_NEWTON_STEPS):
        reached = log_ndtr(x)
        slope = _core.exp(-x * x / 2 - math.log(2 * math.pi) / 2 - reached)
        x = x - (reached - goal) / slope
    made = _core.where(middle, central, _core.where(lower, x, -x))
    ends = _core.where(_core.equal(p, 0), -math.inf, _core.where(_core.equal(p, 1), math.inf, math.nan))
    return _core.where(inside, made, ends)


def _inverse_tangent(primals, tangents):
    x = _with_rule()(*primals)
    return x, tangents[0] * math.sqrt(2 * math.pi) * _core.exp(x * x / 2)


@functools.cache
def _with_rule():
    from tenon import custom_jvp

    rule = custom_jvp(_inverse)
    rule.defjvp(_inverse_tangent)
    return rule


def ndtri(p):
    """The x with ndtr(x) = p.

    >>> round(float(ndtri(1e-10)), 6)
    -6.361341
    """
    return _with_rule()(_real(p, "ndtri"))
