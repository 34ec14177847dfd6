"""The geometric distribution: trials up to the first success of probability `p`; by the names of jax.scipy.stats.geom."""

from tenon import _core

__all__ = ["logpmf", "pmf"]


def logpmf(k, p, loc=0):
    """The logarithm of the probability of k: -∞ of numbers that are none, NaN where a parameter is not one.

    >>> round(float(logpmf(2, 0.25)), 6)
    -1.673976
    """
    return _core.distribution("geom", "logpmf", k, p, loc)


def pmf(k, p, loc=0):
    """The probability of k.

    >>> round(float(pmf(2, 0.25)), 6)
    0.1875
    """
    return _core.distribution("geom", "pmf", k, p, loc)
