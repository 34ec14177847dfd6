"""The gamma function and its kin: lgamma, digamma, polygamma, and Hurwitz's zeta."""

import math  # noqa: F401, of the examples

from tenon import _core

__all__ = ["digamma", "lgamma", "polygamma", "zeta"]


def lgamma(x):
    """log |Γ(x)|. Infinite at 0, -1, -2, …

    >>> float(lgamma(1.0)), round(float(lgamma(0.5)) * 2, 12) == round(math.log(math.pi), 12)
    (0.0, True)
    """
    return _core.lgamma(x)


def digamma(x):
    """The derivative of lgamma. NaN at 0, -1, -2, …

    >>> round(float(digamma(1.0)), 12)
    -0.577215664902
    """
    return _core.digamma(x)


def zeta(x, q):
    """Hurwitz's Σ 1 / (q + k)^x over k = 0, 1, 2, …, for x > 1 and q > 0, and for q < 0 where x is an integer: by Euler's
    and Maclaurin's formula. Infinite at x = 1, and where a term is: at q = 0, -1, -2, …; NaN elsewhere. Derivatives of any
    order in q, and for q > 0 in x.

    >>> round(float(zeta(2.0, 1.0)) * 6 / math.pi ** 2, 12)
    1.0
    >>> round(float(zeta(2.0, -0.5) - zeta(2.0, 0.5)), 12)
    4.0
    """
    return _core.zeta(x, q)


def polygamma(m, x):
    """The derivative of digamma of order m = 1, 2, …, and digamma itself of m = 0. Infinite at x = 0, -1, -2, …

    >>> round(float(polygamma(1, 1.0)) * 6 / math.pi ** 2, 12)
    1.0
    """
    return _core.polygamma(m, x)
