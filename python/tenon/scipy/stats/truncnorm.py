"""The normal distribution between `loc + a scale` and `loc + b scale`; a and b may be infinite; by the names of jax.scipy.stats.truncnorm."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, -1.0, 2.0)), 6)
    -0.843772
    """
    return _core.distribution("truncnorm", "logpdf", x, a, b, loc, scale)


def pdf(x, a, b, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, -1.0, 2.0)), 6)
    0.430085
    """
    return _core.distribution("truncnorm", "pdf", x, a, b, loc, scale)


def cdf(x, a, b, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5, -1.0, 2.0)), 6)
    0.65088
    """
    return _core.distribution("truncnorm", "cdf", x, a, b, loc, scale)


def logcdf(x, a, b, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5, -1.0, 2.0)), 6)
    -0.429429
    """
    return _core.distribution("truncnorm", "logcdf", x, a, b, loc, scale)


def sf(x, a, b, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5, -1.0, 2.0)), 6)
    0.34912
    """
    return _core.distribution("truncnorm", "sf", x, a, b, loc, scale)


def logsf(x, a, b, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5, -1.0, 2.0)), 6)
    -1.052341
    """
    return _core.distribution("truncnorm", "logsf", x, a, b, loc, scale)
