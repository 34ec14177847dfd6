"""Student's t distribution of `df` degrees of freedom; by the names of jax.scipy.stats.t."""

from tenon import _core

__all__ = ["logpdf", "pdf"]


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.5, 3.0)), 6)
    -1.160974
    """
    return _core.distribution("t", "logpdf", x, df, loc, scale)


def pdf(x, df, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.5, 3.0)), 6)
    0.313181
    """
    return _core.distribution("t", "pdf", x, df, loc, scale)
