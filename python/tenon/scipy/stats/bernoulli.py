"""The Bernoulli distribution: 1 with the probability `p`, else 0; by the names of jax.scipy.stats.bernoulli."""

from tenon import _core

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k, p, loc=0):
    """The logarithm of the probability of k: -∞ of numbers that are none, NaN where a parameter is not one.

    >>> round(float(logpmf(1, 0.25)), 6)
    -1.386294
    """
    return _core.distribution("bernoulli", "logpmf", k, p, loc)


def pmf(k, p, loc=0):
    """The probability of k.

    >>> round(float(pmf(1, 0.25)), 6)
    0.25
    """
    return _core.distribution("bernoulli", "pmf", k, p, loc)


def cdf(k, p, loc=0):
    """The probability of numbers up to k.

    >>> round(float(cdf(1, 0.25)), 6)
    1.0
    """
    return _core.distribution("bernoulli", "cdf", k, p, loc)


def ppf(q, p, loc=0):
    """The x of which the cdf is q; NaN outside of [0, 1].

    >>> round(float(ppf(0.25, 0.25)), 6)
    0.0
    """
    return _core.distribution("bernoulli", "ppf", q, p, loc)
