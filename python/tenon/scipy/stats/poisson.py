"""The Poisson distribution of mean `mu`; by the names of jax.scipy.stats.poisson."""

from tenon import _core

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


def logpmf(k, mu, loc=0):
    """The logarithm of the probability of k: -∞ of numbers that are none, NaN where a parameter is not one.

    >>> round(float(logpmf(2, 1.5)), 6)
    -1.382217
    """
    return _core.distribution("poisson", "logpmf", k, mu, loc)


def pmf(k, mu, loc=0):
    """The probability of k.

    >>> round(float(pmf(2, 1.5)), 6)
    0.251021
    """
    return _core.distribution("poisson", "pmf", k, mu, loc)


def cdf(k, mu, loc=0):
    """The probability of numbers up to k.

    >>> round(float(cdf(2, 1.5)), 6)
    0.808847
    """
    return _core.distribution("poisson", "cdf", k, mu, loc)


def entropy(mu, loc=0):
    """-Σ p log p, in nats, to 1e-12 of the value; the same at every location.

    >>> round(float(entropy(1.5)), 6)
    1.539405
    """
    return _core.distribution("poisson", "entropy", mu, loc)
