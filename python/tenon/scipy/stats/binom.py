"""The binomial distribution: successes of probability `p` in `n` trials; by the names of jax.scipy.stats.binom."""

from tenon import _core

__all__ = ["logpmf", "pmf"]


def logpmf(k, n, p, loc=0):
    """The logarithm of the probability of k: -∞ of numbers that are none, NaN where a parameter is not one.

    >>> round(float(logpmf(2, 5, 0.25)), 6)
    -1.33305
    """
    return _core.distribution("binom", "logpmf", k, n, p, loc)


def pmf(k, n, p, loc=0):
    """The probability of k.

    >>> round(float(pmf(2, 5, 0.25)), 6)
    0.263672
    """
    return _core.distribution("binom", "pmf", k, n, p, loc)
