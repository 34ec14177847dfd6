"""The logistic distribution; by the names of jax.scipy.stats.logistic."""

from tenon import _core

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5)), 6)
    -1.448154
    """
    return _core.distribution("logistic", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5)), 6)
    0.235004
    """
    return _core.distribution("logistic", "pdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5)), 6)
    0.622459
    """
    return _core.distribution("logistic", "cdf", x, loc, scale)


def sf(x, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5)), 6)
    0.377541
    """
    return _core.distribution("logistic", "sf", x, loc, scale)


def ppf(x, loc=0, scale=1):
    """The number of which the cdf is x; NaN outside of [0, 1].

    >>> round(float(ppf(0.25)), 6)
    -1.098612
    """
    return _core.distribution("logistic", "ppf", x, loc, scale)


def isf(x, loc=0, scale=1):
    """The number of which the sf is x; NaN outside of [0, 1].

    >>> round(float(isf(0.25)), 6)
    1.098612
    """
    return _core.distribution("logistic", "isf", x, loc, scale)
