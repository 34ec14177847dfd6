"""The beta distribution of `a` and `b`, from `loc` to `loc + scale`; by the names of jax.scipy.stats.beta."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.25, 2.0, 3.0)), 6)
    0.523248
    """
    return _core.distribution("beta", "logpdf", x, a, b, loc, scale)


def pdf(x, a, b, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.25, 2.0, 3.0)), 6)
    1.6875
    """
    return _core.distribution("beta", "pdf", x, a, b, loc, scale)


def cdf(x, a, b, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.25, 2.0, 3.0)), 6)
    0.261719
    """
    return _core.distribution("beta", "cdf", x, a, b, loc, scale)


def logcdf(x, a, b, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.25, 2.0, 3.0)), 6)
    -1.340485
    """
    return _core.distribution("beta", "logcdf", x, a, b, loc, scale)


def sf(x, a, b, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.25, 2.0, 3.0)), 6)
    0.738281
    """
    return _core.distribution("beta", "sf", x, a, b, loc, scale)


def logsf(x, a, b, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.25, 2.0, 3.0)), 6)
    -0.30343
    """
    return _core.distribution("beta", "logsf", x, a, b, loc, scale)
