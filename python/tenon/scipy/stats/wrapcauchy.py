"""The Cauchy distribution of angles from 0 to 2π, of 0 < `c` < 1; by the names of jax.scipy.stats.wrapcauchy."""

from tenon import _core

__all__ = ["logpdf", "pdf"]


def logpdf(x, c, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, 0.25)), 6)
    -1.430344
    """
    return _core.distribution("wrapcauchy", "logpdf", x, c, loc, scale)


def pdf(x, c, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, 0.25)), 6)
    0.239227
    """
    return _core.distribution("wrapcauchy", "pdf", x, c, loc, scale)
