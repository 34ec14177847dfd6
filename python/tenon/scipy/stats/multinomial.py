"""The multinomial distribution: how often each outcome, of probabilities `p`, comes in `n` trials; by the names of jax.scipy.stats.multinomial."""

from tenon import _core
from tenon import numpy as tnp  # noqa: F401, of the examples

__all__ = ["logpmf", "pmf"]


def logpmf(x, n, p):
    """The logarithm of the probability of x: x and p have the outcomes along the last axis; batches broadcast.

    >>> round(float(logpmf(tnp.array([1, 2]), 3, tnp.array([0.25, 0.75]))), 6)
    -0.863046
    """
    return _core.multinomial_logpmf(x, n, p)


def pmf(x, n, p):
    """The probability of x.

    >>> round(float(pmf(tnp.array([1, 2]), 3, tnp.array([0.25, 0.75]))), 6)
    0.421875
    """
    return _core.exp(logpmf(x, n, p))
