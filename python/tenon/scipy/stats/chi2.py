"""The chi-square distribution of `df` degrees of freedom; by the names of jax.scipy.stats.chi2."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, 3.0)), 6)
    -1.515512
    """
    return _core.distribution("chi2", "logpdf", x, df, loc, scale)


def pdf(x, df, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, 3.0)), 6)
    0.219696
    """
    return _core.distribution("chi2", "pdf", x, df, loc, scale)


def cdf(x, df, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5, 3.0)), 6)
    0.081109
    """
    return _core.distribution("chi2", "cdf", x, df, loc, scale)


def logcdf(x, df, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(0.5, 3.0)), 6)
    -2.511966
    """
    return _core.distribution("chi2", "logcdf", x, df, loc, scale)


def sf(x, df, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(0.5, 3.0)), 6)
    0.918891
    """
    return _core.distribution("chi2", "sf", x, df, loc, scale)


def logsf(x, df, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(0.5, 3.0)), 6)
    -0.084587
    """
    return _core.distribution("chi2", "logsf", x, df, loc, scale)
