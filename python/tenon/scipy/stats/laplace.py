"""The Laplace distribution; by the names of jax.scipy.stats.laplace."""

from tenon import _core

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5)), 6)
    -1.193147
    """
    return _core.distribution("laplace", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5)), 6)
    0.303265
    """
    return _core.distribution("laplace", "pdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.5)), 6)
    0.696735
    """
    return _core.distribution("laplace", "cdf", x, loc, scale)
