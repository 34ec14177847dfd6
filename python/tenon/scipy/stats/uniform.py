"""The uniform distribution from `loc` to `loc + scale`; by the names of jax.scipy.stats.uniform."""

from tenon import _core

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x: -∞ outside of the support, NaN where a parameter is not one.

    >>> round(float(logpdf(0.25)), 6)
    0.0
    """
    return _core.distribution("uniform", "logpdf", x, loc, scale)


def pdf(x, loc=0, scale=1):
    """The density at x.

    >>> round(float(pdf(0.25)), 6)
    1.0
    """
    return _core.distribution("uniform", "pdf", x, loc, scale)


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x.

    >>> round(float(cdf(0.25)), 6)
    0.25
    """
    return _core.distribution("uniform", "cdf", x, loc, scale)


def ppf(q, loc=0, scale=1):
    """The x of which the cdf is q; NaN outside of [0, 1].

    >>> round(float(ppf(0.25)), 6)
    0.25
    """
    return _core.distribution("uniform", "ppf", q, loc, scale)
