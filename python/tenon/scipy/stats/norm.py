"""The normal distribution of mean `loc` and standard deviation `scale`, by the names of jax.scipy.stats.norm."""

import math

from tenon import numpy as tnp
from tenon.scipy import special

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _standard(x, loc, scale):
    return (x - tnp.asarray(loc)) / scale


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x.

    >>> round(float(logpdf(0.0)), 6)
    -0.918939
    """
    z = _standard(x, loc, scale)
    return -(z * z) / 2 - (math.log(2 * math.pi) / 2 + tnp.log(scale))


def pdf(x, loc=0, scale=1):
    """The density at x."""
    return tnp.exp(logpdf(x, loc, scale))


def cdf(x, loc=0, scale=1):
    """The probability of numbers up to x."""
    return special.ndtr(_standard(x, loc, scale))


def logcdf(x, loc=0, scale=1):
    """The logarithm of cdf(), without underflow."""
    return special.log_ndtr(_standard(x, loc, scale))


def sf(x, loc=0, scale=1):
    """The probability of numbers above x."""
    return special.ndtr(-_standard(x, loc, scale))


def logsf(x, loc=0, scale=1):
    """The logarithm of sf(), without underflow."""
    return special.log_ndtr(-_standard(x, loc, scale))


def ppf(q, loc=0, scale=1):
    """The x with cdf(x, loc, scale) = q.

    >>> round(float(ppf(0.975)), 6)
    1.959964
    """
    return loc + scale * special.ndtri(q)


def isf(q, loc=0, scale=1):
    """The x with sf(x, loc, scale) = q."""
    return loc - scale * special.ndtri(q)
