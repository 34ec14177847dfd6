"""The left-skewed Gumbel distribution, of minima; by the names of jax.scipy.stats.gumbel_l."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5)), 6)
    -1.148721
    """
    return _core.distribution("gumbel_l", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5)), 6)
    0.317042
    """
    return _core.distribution("gumbel_l", "pdf", x, loc, scale)


def logcdf(x, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5)), 6)
    -0.213559
    """
    return _core.distribution("gumbel_l", "logcdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5)), 6)
    0.807704
    """
    return _core.distribution("gumbel_l", "cdf", x, loc, scale)


def ppf(p, loc=0, scale=1):
    """The x of which the cdf is p; NaN outside of [0, 1].

    >>> round(float(ppf(0.25)), 6)
    -1.245899
    """
    return _core.distribution("gumbel_l", "ppf", p, loc, scale)


def sf(x, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5)), 6)
    0.192296
    """
    return _core.distribution("gumbel_l", "sf", x, loc, scale)


def logsf(x, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5)), 6)
    -1.648721
    """
    return _core.distribution("gumbel_l", "logsf", x, loc, scale)
