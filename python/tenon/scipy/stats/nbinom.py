"""The negative binomial distribution: failures before `n` successes of probability `p`; by the names of jax.scipy.stats.nbinom."""

from tenon import _core

__all__ = ["logpmf", "pmf"]


def logpmf(k, n, p, loc=0):
    """The logarithm of the probability of k: -∞ of numbers that are none, NaN where a parameter is not one.

    >>> round(float(logpmf(2, 3, 0.25)), 6)
    -2.942488
    """
    return _core.distribution("nbinom", "logpmf", k, n, p, loc)


def pmf(k, n, p, loc=0):
    """The probability of k.

    >>> round(float(pmf(2, 3, 0.25)), 6)
    0.052734
    """
    return _core.distribution("nbinom", "pmf", k, n, p, loc)
