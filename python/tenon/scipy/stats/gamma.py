"""The gamma distribution of shape `a`; by the names of jax.scipy.stats.gamma."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x, a, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, 2.0)), 6)
    -1.193147
    """
    return _core.distribution("gamma", "logpdf", x, a, loc, scale)


def pdf(x, a, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, 2.0)), 6)
    0.303265
    """
    return _core.distribution("gamma", "pdf", x, a, loc, scale)


def cdf(x, a, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5, 2.0)), 6)
    0.090204
    """
    return _core.distribution("gamma", "cdf", x, a, loc, scale)


def logcdf(x, a, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5, 2.0)), 6)
    -2.405681
    """
    return _core.distribution("gamma", "logcdf", x, a, loc, scale)


def sf(x, a, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5, 2.0)), 6)
    0.909796
    """
    return _core.distribution("gamma", "sf", x, a, loc, scale)


def logsf(x, a, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5, 2.0)), 6)
    -0.094535
    """
    return _core.distribution("gamma", "logsf", x, a, loc, scale)
