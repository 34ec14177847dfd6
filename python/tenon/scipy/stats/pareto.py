"""The Pareto distribution of exponent `b`, from `loc + scale` on; by the names of jax.scipy.stats.pareto."""

from tenon import _core

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x, b, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(2.5, 1.5)), 6)
    -1.885262
    """
    return _core.distribution("pareto", "logpdf", x, b, loc, scale)


def pdf(x, b, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(2.5, 1.5)), 6)
    0.151789
    """
    return _core.distribution("pareto", "pdf", x, b, loc, scale)


def cdf(x, b, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(2.5, 1.5)), 6)
    0.747018
    """
    return _core.distribution("pareto", "cdf", x, b, loc, scale)


def logcdf(x, b, loc=0, scale=1):
    """log(cdf(…)), without underflow where the distribution allows.

    >>> round(float(logcdf(2.5, 1.5)), 6)
    -0.291666
    """
    return _core.distribution("pareto", "logcdf", x, b, loc, scale)


def sf(x, b, loc=0, scale=1):
    """The probability of numbers above x.

    >>> round(float(sf(2.5, 1.5)), 6)
    0.252982
    """
    return _core.distribution("pareto", "sf", x, b, loc, scale)


def logsf(x, b, loc=0, scale=1):
    """log(sf(…)), without underflow where the distribution allows.

    >>> round(float(logsf(2.5, 1.5)), 6)
    -1.374436
    """
    return _core.distribution("pareto", "logsf", x, b, loc, scale)


def ppf(q, b, loc=0, scale=1):
    """The x of which the cdf is q; NaN outside of [0, 1].

    >>> round(float(ppf(0.25, 1.5)), 6)
    1.211414
    """
    return _core.distribution("pareto", "ppf", q, b, loc, scale)
