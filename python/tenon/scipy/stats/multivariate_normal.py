"""The normal distribution of vectors, of mean `mean` and covariance `cov`; by the names of jax.scipy.stats.multivariate_normal."""

from tenon import _core
from tenon import numpy as tnp  # noqa: F401, of the examples

__all__ = ["logpdf", "pdf"]


def logpdf(x, mean, cov, allow_singular=None):
    """The logarithm of the density at x: x and mean have the components along the last axis, cov is (…, n, n) or one variance; batches broadcast.

    >>> round(float(logpdf(tnp.array([0.5, 1.0]), tnp.array([0.0, 0.0]), tnp.array([[2.0, 0.5], [0.5, 1.0]]))), 6)
    -2.617685
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular is not here; cov is positive definite.")
    return _core.multivariate_normal_logpdf(x, mean, cov)


def pdf(x, mean, cov):
    """The density at x.

    >>> round(float(pdf(tnp.array([0.5, 1.0]), tnp.array([0.0, 0.0]), tnp.array([[2.0, 0.5], [0.5, 1.0]]))), 6)
    0.072972
    """
    return _core.exp(logpdf(x, mean, cov))
