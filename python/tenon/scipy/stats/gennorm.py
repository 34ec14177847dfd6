"""The generalised normal distribution, of density proportional to exp(-|x|^beta); by the names of jax.scipy.stats.gennorm."""

from tenon import _core

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x, beta, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, 1.5)), 6)
    -0.944386
    """
    return _core.distribution("gennorm", "logpdf", x, beta, loc, scale)


def pdf(x, beta, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, 1.5)), 6)
    0.388918
    """
    return _core.distribution("gennorm", "pdf", x, beta, loc, scale)


def cdf(x, beta, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5, 1.5)), 6)
    0.741749
    """
    return _core.distribution("gennorm", "cdf", x, beta, loc, scale)
