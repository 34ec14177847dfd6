"""The binomial distribution of `n` trials whose probability has the beta distribution of `a` and `b`; by the names of jax.scipy.stats.betabinom."""

from tenon import _core

__all__ = ["logpmf", "pmf"]


def logpmf(k, n, a, b, loc=0):
    """The logarithm of the probability of k: -∞ of numbers that are none, NaN where a parameter is not one.

    >>> round(float(logpmf(2, 5, 1.5, 2.0)), 6)
    -1.545899
    """
    return _core.distribution("betabinom", "logpmf", k, n, a, b, loc)


def pmf(k, n, a, b, loc=0):
    """The probability of k.

    >>> round(float(pmf(2, 5, 1.5, 2.0)), 6)
    0.21312
    """
    return _core.distribution("betabinom", "pmf", k, n, a, b, loc)
