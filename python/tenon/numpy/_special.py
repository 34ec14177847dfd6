"""Functions of Bessel's of imaginary argument."""

from tenon import _core

__all__ = ["i0"]


def bessel_i0e(x):
    """exp(-|x|)·I₀(x).

    >>> float(bessel_i0e(0.0))
    1.0
    """
    return _core.i0e(x)


def bessel_i1e(x):
    """exp(-|x|)·I₁(x).

    >>> float(bessel_i1e(0.0))
    0.0
    """
    return _core.i1e(x)


def i0(x):
    """I₀(x), the function of Bessel's of imaginary argument and order 0.

    >>> round(float(i0(1.0)), 12)
    1.266065877752
    """
    return _core.i0(x)


def i1(x):
    """I₁(x), the function of Bessel's of imaginary argument and order 1.

    >>> round(float(i1(1.0)), 12)
    0.565159103992
    """
    return _core.i1(x)
