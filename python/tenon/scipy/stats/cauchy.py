"""The Cauchy distribution; by the names of jax.scipy.stats.cauchy."""

from tenon import _core

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5)), 6)
    -1.367873
    """
    return _core.distribution("cauchy", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5)), 6)
    0.254648
    """
    return _core.distribution("cauchy", "pdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5)), 6)
    0.647584
    """
    return _core.distribution("cauchy", "cdf", x, loc, scale)


def logcdf(x, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5)), 6)
    -0.434507
    """
    return _core.distribution("cauchy", "logcdf", x, loc, scale)


def sf(x, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5)), 6)
    0.352416
    """
    return _core.distribution("cauchy", "sf", x, loc, scale)


def logsf(x, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5)), 6)
    -1.042942
    """
    return _core.distribution("cauchy", "logsf", x, loc, scale)


def ppf(q, loc=0, scale=1):
    """The x of which the cdf is q; NaN outside of [0, 1].

    >>> round(float(ppf(0.25)), 6)
    -1.0
    """
    return _core.distribution("cauchy", "ppf", q, loc, scale)


def isf(q, loc=0, scale=1):
    """The x of which the sf is q; NaN outside of [0, 1].

    >>> round(float(isf(0.25)), 6)
    1.0
    """
    return _core.distribution("cauchy", "isf", q, loc, scale)
