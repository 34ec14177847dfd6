"""The right-skewed Gumbel distribution, of maxima; by the names of jax.scipy.stats.gumbel_r."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5)), 6)
    -1.106531
    """
    return _core.distribution("gumbel_r", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5)), 6)
    0.330704
    """
    return _core.distribution("gumbel_r", "pdf", x, loc, scale)


def logcdf(x, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5)), 6)
    -0.606531
    """
    return _core.distribution("gumbel_r", "logcdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5)), 6)
    0.545239
    """
    return _core.distribution("gumbel_r", "cdf", x, loc, scale)


def ppf(p, loc=0, scale=1):
    """The x of which the cdf is p; NaN outside of [0, 1].

    >>> round(float(ppf(0.25)), 6)
    -0.326634
    """
    return _core.distribution("gumbel_r", "ppf", p, loc, scale)


def sf(x, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5)), 6)
    0.454761
    """
    return _core.distribution("gumbel_r", "sf", x, loc, scale)


def logsf(x, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5)), 6)
    -0.787984
    """
    return _core.distribution("gumbel_r", "logsf", x, loc, scale)
