"""The normal distribution of mean `loc` and standard deviation `scale`; by the names of jax.scipy.stats.norm."""

from tenon import _core

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5)), 6)
    -1.043939
    """
    return _core.distribution("norm", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5)), 6)
    0.352065
    """
    return _core.distribution("norm", "pdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5)), 6)
    0.691462
    """
    return _core.distribution("norm", "cdf", x, loc, scale)


def logcdf(x, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5)), 6)
    -0.368946
    """
    return _core.distribution("norm", "logcdf", x, loc, scale)


def sf(x, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5)), 6)
    0.308538
    """
    return _core.distribution("norm", "sf", x, loc, scale)


def logsf(x, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5)), 6)
    -1.175912
    """
    return _core.distribution("norm", "logsf", x, loc, scale)


def ppf(q, loc=0, scale=1):
    """The x of which the cdf is q; NaN outside of [0, 1].

    >>> round(float(ppf(0.25)), 6)
    -0.67449
    """
    return _core.distribution("norm", "ppf", q, loc, scale)


def isf(q, loc=0, scale=1):
    """The x of which the sf is q; NaN outside of [0, 1].

    >>> round(float(isf(0.25)), 6)
    0.67449
    """
    return _core.distribution("norm", "isf", q, loc, scale)
